"""Notices that another history has taken the place of the one that was seen.

A repository that was removed and made anew, or whose commits were all rewritten, has none of the
commits that memories are anchored to. That proves nothing: each may have a copy, of which git says
nothing. As long as a history goes on, git removes no commit at which HEAD or a branch stands.
"""

from collections.abc import Sequence

from memory_mcp.domain.git import GitState, find_detached
from memory_mcp.domain.timeline import Anchor
from memory_mcp.ports import GitHistory


def forget_replaced(git: GitHistory, state: GitState, anchors: Sequence[Anchor]) -> GitState:
    """The state without what was seen of branches that have another history by now.

    Their commits that git does not know prove nothing, until it knows them again. What was not
    committed on them stands everywhere, as if nothing had been seen.

    Raises:
        GitSilentError: git does not say which commits it knows.
    """
    tree = state.trees.get(git.name)
    seen = {branch: each.commit for branch, each in state.branches.items()
            if not _goes_on(git, branch, state)}  # fmt: skip
    if tree and tree.here[1] and not _is_left_here(git, state):
        seen[""] = tree.here[1]
    replaced = git.find_replaced(seen) if seen else set[str]()
    doubted = set(state.unproved)
    doubted |= {each.commit for each in anchors
                if replaced and ("" in replaced or each.git_branch in replaced)}  # fmt: skip
    unproved = frozenset(doubted - git.find_known(doubted) if doubted else ())
    if not replaced:
        return state.model_copy(update={"unproved": unproved})
    trees, branches = dict(state.trees), dict(state.branches)
    if "" in replaced:
        del trees[git.name]
    for branch in replaced:
        branches.pop(branch, None)
    claims = {
        segment: kept
        for segment, owners in state.claims.items()
        if (kept := tuple(o for o in owners
                          if o not in replaced and not ("" in replaced and find_detached(o))))
    }  # fmt: skip
    update = {"trees": trees, "branches": branches, "claims": claims, "unproved": unproved}
    return state.model_copy(update=update)


def _goes_on(git: GitHistory, branch: str, state: GitState) -> bool:
    """Whether the branch's reflog says what became of the commit at which it was seen."""
    seen = state.branches[branch]
    found = git.read_branch(branch, seen)
    if found is None:
        return False
    steps, now = found
    return now.commit == seen.commit or bool(steps and steps[0].old == seen.commit)


def _is_left_here(git: GitHistory, state: GitState) -> bool:
    """Whether the reflog of HEAD says how it left the commit at which it was seen."""
    tree = state.trees[git.name]
    steps = git.list_steps(tree.moves)
    return bool(steps) and steps[0].old == tree.here[1]
