"""What git says of a work tree, and what this machine remembers of it: values alone."""

from collections.abc import Collection, Mapping
from dataclasses import field
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal

from memory_mcp.domain.checked import Change, FrozenModel, Schema, constrain
from memory_mcp.domain.fields import Commit, Name, RecordIdField, RecordIds, SegmentField
from memory_mcp.domain.ids import RecordId, SegmentId, parse_id_time
from memory_mcp.domain.record import format_time
from memory_mcp.frozen import frozen

GitMode = Literal["off", "mark", "follow"]
"""Git is not looked at; or memories say where they stand; or those that stand elsewhere hide."""

Pause = Literal[
    "", "no repository", "no commit", "detached", "operation", "locked", "no reflog",
    "reftable",
]  # fmt: skip
"""Why git is not followed at the moment; '' if it is."""

BRANCHES_SEEN_MAX: Final = 256
"""Branches of git whose place is remembered; the ones that were looked at last."""

STEPS_MAX: Final = 2_000
"""Lines of a reflog that are read after one another; of more, the newest."""

Loss = Literal["dropped", "reverted"]
"""What a branch did to a commit: a rebase left it out, or a reset left it and its revert."""
SHORT: Final = 8
"""Digits of a commit in a name or a sentence."""

_Many = constrain(max_length=100_000)


def _take_one(schema: Schema) -> Schema:
    """A text is a tuple of one: so states were written before a commit was reverted twice."""

    def take(value: object) -> object:
        return (value,) if isinstance(value, str) else value

    return {"type": "function-before", "function": {"type": "no-info", "function": take},
            "schema": schema}  # fmt: skip


def name_detached(commit: str, tree: str) -> str:
    """The owner of what is written at a detached HEAD there. No branch can have such a name."""
    return f"{commit} {tree}"


def find_detached(owner: str) -> str:
    """The commit at which HEAD was detached; '' if the owner is a branch."""
    commit, space, _ = owner.partition(" ")
    return commit if space else ""


@frozen
class GitPlace:
    """Where a work tree stands: its branch and commit, or why that is not followed now.

    A branch without a commit is an orphan: nothing was committed on it yet. While git is in the
    middle of something, it is where that began; without a commit, git is not followed at all then.

    `moves` is how long the reflog of HEAD is: it grows even if HEAD comes back to where it was.
    `cuts` is the same of the list of commits at which the history of a shallow clone ends. `named`
    is when git's settings changed, which it writes anew whenever any branch is renamed.
    """

    branch: str = ""
    commit: str = ""
    pause: Pause = ""
    moves: int = 0
    cuts: int = 0
    named: int = 0

    @property
    def rests(self) -> bool:
        """Whether git is in the middle of nothing: what was committed here can be told."""
        return self.pause in ("", "detached")

    @property
    def followed(self) -> bool:
        """Whether it is known to whom what is written now belongs."""
        return self.rests or bool(self.commit and self.pause in ("operation", "locked"))

    def find_owner(self, tree: str) -> str:
        """Whose is what is written in that work tree now: the branch's, or a detached HEAD's."""
        return self.branch or name_detached(self.commit, tree)


@frozen
class Unfinished:
    """What git is in the middle of, or was left in: `since` when, and the command that ends it.

    The command touches no file of the work tree.
    """

    what: str
    since: datetime
    ends: str


@frozen
class RefStep:
    """A line of a branch's reflog; `at` is when, as git writes it."""

    old: str
    new: str
    message: str
    at: str = ""

    @property
    def creates(self) -> bool:
        return not self.old.strip("0")

    def begins_work(self, branch: str) -> bool:
        """Whether it created the branch for new work, and not as a copy of a remote's."""
        made, remote = "branch: Created from ", "refs/remotes/"
        source = self.message.removeprefix(made)
        copied = source.startswith(remote) and source.endswith(f"/{branch}")
        return self.creates and self.message.startswith(made) and not copied

    @property
    def begins(self) -> bool:
        """Whether it made the branch and no commit with it."""
        return self.creates and not self.closes

    @property
    def closes(self) -> bool:
        """Whether a commit was made here, of what was worked on before it."""
        made = ("commit", "revert", "cherry-pick", "am", "merge")
        name = self.message.partition(":")[0].split(" ")[0]
        return name in made and "Fast-forward" not in self.message

    @property
    def makes(self) -> bool:
        """Whether `new` was made for this branch, and came from no other as it is."""
        if self.message.startswith(("rebase", "pull")):  # one without commits of its own is moved
            return "(finish)" in self.message and not self.message.endswith(f" onto {self.new}")
        return self.closes

    @property
    def commits_work(self) -> bool:
        """Whether it added a commit of what was worked on here, and of nothing else."""
        return self.message.startswith(("commit:", "commit (amend)", "commit (initial)"))

    @property
    def picks(self) -> bool:
        return self.message.startswith("cherry-pick")

    @property
    def visits(self) -> str:
        """The branch to which HEAD went, if it did."""
        went = self.message.startswith("checkout: moving from ")
        return self.message.rpartition(" to ")[2] if went else ""

    @property
    def leaves(self) -> str:
        """The branch from which HEAD went, if it did."""
        went = self.message.startswith("checkout: moving from ")
        return self.message.split(" ")[3] if went else ""

    @property
    def resets(self) -> bool:
        return self.message.startswith(("reset:", "branch: Reset"))

    @property
    def rebases(self) -> bool:
        act = self.message.partition(":")[0]
        return act.startswith(("rebase", "pull")) and act.endswith(")")

    @property
    def onto(self) -> str:
        """The commit onto which a rebase put the branch, if it was one."""
        return self.message.rpartition(" onto ")[2] if self.rebases else ""

    @property
    def renames(self) -> str:
        """The old name of the branch, if it was renamed."""
        head = "Branch: renamed refs/heads/"
        return self.message.removeprefix(head).partition(" to ")[0] if (
            self.message.startswith(head)) else ""  # fmt: skip


@frozen
class Reversal:
    """A commit that another one reverts; of a merge, all that it brought to `onto`."""

    commit: str
    onto: str = ""


@frozen
class NewCommit:
    """A commit that came to a branch; what it reverts, by its own words."""

    commit: str
    parents: tuple[str, ...]
    reverts: tuple[Reversal, ...] = ()


@frozen
class GitTip:
    """Where a line of work ends: its branch, '' if none, its commit, and what git finds it by."""

    branch: str
    commit: str
    name: str


@frozen
class CommittedRecords:
    """The records whose files a commit has `beyond` another, and `lacks`, each with its object.

    The `folder` is that of the first which it has beyond.
    """

    beyond: Mapping[RecordId, str]
    lacks: Mapping[RecordId, str]
    folder: str


@frozen
class SeenFiles:
    """The records that lay here at the last look of this process, and where HEAD was then."""

    commit: str
    moves: int
    at: datetime
    ids: frozenset[RecordId]

    def precedes(self, id_: RecordId) -> bool:
        """Whether the record was made since that look; ids know milliseconds."""
        return parse_id_time(id_) > self.at - timedelta(milliseconds=1)


class SeenTree(FrozenModel):
    """Where a work tree stood at the last look; which of the commits `asked` about are `away`.

    While HEAD is `detached`, the branch and commit are those that it left; '' if there were none.
    """

    branch: Name = ""
    commit: Commit = ""
    detached: Commit = ""
    moves: int = 0
    cuts: int = 0
    named: int = 0
    asked: Annotated[frozenset[Commit], _Many] = frozenset()
    away: Annotated[frozenset[Commit], _Many] = frozenset()

    @property
    def heads(self) -> tuple[str, ...]:
        """The commits of which one must reach what stands here."""
        return tuple(commit for commit in (self.commit, self.detached) if commit)

    @property
    def here(self) -> tuple[str, str]:
        """The branch on which HEAD is, '' if it is detached, and the commit."""
        return ("", self.detached) if self.detached else (self.branch, self.commit)

    def is_at(self, place: GitPlace) -> bool:
        """Whether that place was seen: while git is in the middle of something, where it began."""
        if not place.rests:
            return self.here == (place.branch, place.commit)
        now = place.branch, place.commit, place.moves, place.cuts, place.named
        return (*self.here, self.moves, self.cuts, self.named) == now

    @property
    def orphan(self) -> str:
        """The branch on which HEAD is, if it has no commit yet."""
        return "" if self.commit or self.detached else self.branch

    def find_owner(self, tree: str) -> str:
        """Whose is what is written in that work tree now."""
        return name_detached(self.detached, tree) if self.detached else self.branch


class SeenBranch(FrozenModel):
    """A branch of git at the last look: its commit, how long its reflog was, and when it changed.

    What came after `since`, while HEAD was elsewhere, is still to be looked at. `begun` is the
    commit and time at which the branch was made, if its reflog tells. `own`: the commit was made
    for this branch.
    """

    commit: Commit
    size: int = 0
    changed: int = 0
    since: Commit = ""
    begun: str = ""
    own: bool = False


class RenamedBranch(FrozenModel):
    """A branch of git that has a new name: what was anchored on it until `last` has that, too."""

    old: Name
    new: Name
    last: RecordIdField


class GitEvent(FrozenModel):
    """The last thing of git's that changed what is recalled, so that it can be undone.

    A rewind hides the memories `rewound`, until the records `lifts` are buried; without these it
    has been undone. The choice of a mode says which one there `was`.
    """

    at: str
    text: str
    hides: tuple[SegmentField, ...] = ()
    rewound: RecordIds = ()
    lifts: RecordIds = ()
    was: GitMode | None = None


class ToldTree(FrozenModel):
    """What was told last of a work tree: where HEAD was, and what is not recalled there.

    `own` was its open segment, and `at` is when. The `event` is the last that hid memories there.
    """

    branch: Name = ""
    commit: Commit = ""
    cuts: int = 0
    hides: Annotated[frozenset[SegmentField], _Many] = frozenset()
    own: SegmentField | None = None
    at: str = ""
    event: GitEvent | None = None

    @property
    def place(self) -> tuple[str, str, int]:
        """What changes only if git moves."""
        return self.branch, self.commit, self.cuts

    def had(self, segment: SegmentId, records: Collection[RecordId]) -> bool:
        """Whether some of these records may have been recalled here then; else others wrote them.

        What was written since then was written in its own segment, or it would have been told.
        """
        return segment == self.own or any(
            format_time(parse_id_time(id_)) <= self.at for id_ in records
        )


class GitState(FrozenModel):
    """What this machine remembers of git between two looks.

    `claims` names the branches of git, or the detached HEADs, on which each segment was written
    that no commit has closed yet; `closed` are open segments in which nothing more is written,
    because git has their records. `reverts` maps a commit to those that reverted it, `lost` one
    that its branch left to what became of it there. `offered` is what was offered before. `rewound`
    are the memories that are marked as written in turns that the user took back. `unproved` are
    commits of a history in whose place there is another: that HEAD does not reach them says
    nothing. `renamed` are branches that have another name, in this order. `with_code`: records were
    committed with the code at some look. `told` is by work tree, while git is followed.
    """

    trees: dict[str, SeenTree] = field(default_factory=dict[str, SeenTree])
    branches: dict[str, SeenBranch] = field(default_factory=dict[str, SeenBranch])
    claims: dict[SegmentField, tuple[str, ...]] = field(
        default_factory=dict[SegmentId, tuple[str, ...]]
    )
    closed: Annotated[frozenset[SegmentField], _Many] = frozenset()
    reverts: dict[str, Annotated[tuple[str, ...], Change(_take_one)]] = field(
        default_factory=dict[str, tuple[str, ...]]
    )
    lost: dict[str, Literal["dropped", "reverted"]] = field(default_factory=dict[str, Loss])
    renamed: tuple[RenamedBranch, ...] = ()
    unproved: Annotated[frozenset[Commit], _Many] = frozenset()
    offered: tuple[str, ...] = ()
    rewound: RecordIds = ()
    event: GitEvent | None = None
    told: dict[str, ToldTree] = field(default_factory=dict[str, ToldTree])
    mode: GitMode | None = None
    with_code: bool = False

    def may_write(self, segment: SegmentId, owner: str) -> bool:
        """Whether the open segment is this owner's alone, and no commit has it."""
        return self.claims.get(segment) == (owner,) and segment not in self.closed


@frozen
class Mark:
    """Where a memory stands that does not stand on this commit."""

    why: Literal["elsewhere", "detached", "reset", "dropped", "undone", "reverted", "rewound"]
    branch: str = ""
    commit: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """What brings such memories: the branch for what was written elsewhere, else the commit."""
        if self.why in ("reverted", "rewound"):
            return ()
        commit = (self.commit[:SHORT], self.commit) if self.commit else ()
        return (self.branch, *commit) if self.why == "elsewhere" else commit

    def __str__(self) -> str:
        return self.describe("written")

    def describe(self, how: str) -> str:
        """Where it stands, of something that was `written` or made."""
        match self.why:
            case "elsewhere":
                said = f"{how} on {self.branch or 'another branch'}, not merged here"
            case "detached":
                said = f"{how} on a detached HEAD, not merged here"
            case "rewound":
                said = "written in a turn that was taken back"
            case "reset":
                said = "its commit was reset away"
            case "dropped":
                said = "its commit was dropped"
            case "undone":
                said = "its commit was reverted, and then reset away"
            case "reverted":
                said = "its commit was reverted"
        return said


@frozen
class Standing:
    """Where the segments stand, seen from one work tree. What has no mark stands here.

    `hides` are those that `follow` does not show; `own` is the open segment of this branch of git.
    """

    marks: dict[SegmentId, Mark]
    hides: frozenset[SegmentId] = frozenset()
    own: SegmentId | None = None


EVERYWHERE: Final = Standing({})
"""Nothing is known of git: everything stands here."""
