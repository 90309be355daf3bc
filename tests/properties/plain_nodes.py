"""Nodes as plain sets of what was written on them, copied when a node is forked.

A node is the set of the writes that it knows. A fork copies the set, a join unites two, and a way
back takes the set of before. What a node sees are the writes that no other one of its set hides.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

What = Literal["core", "event", "archive", "exclusion", "tombstone"]


@dataclass(frozen=True)
class Wrote:
    """One write. It hides others, and holds as long as what it was made `because` of."""

    number: int
    node: str
    what: What
    text: str = ""
    key: str = ""
    id: str = ""
    hides: frozenset[int] = frozenset()
    because: frozenset[int] = frozenset()


@dataclass(frozen=True)
class State:
    """What a node knows, and the joins that it can take back, each with what it knew before."""

    known: frozenset[int] = frozenset()
    joins: tuple[tuple[str, frozenset[int]], ...] = ()


@dataclass
class PlainTree:
    """Every write by its number, and each node's state, parent and beginning."""

    writes: dict[int, Wrote] = field(default_factory=dict[int, Wrote])
    states: dict[str, State] = field(default_factory=lambda: {"main": State()})
    parents: dict[str, str] = field(default_factory=dict[str, str])
    begun: dict[str, State] = field(default_factory=dict[str, State])
    left: list[tuple[str, str, State]] = field(default_factory=list[tuple[str, str, State]])

    def fork(self, parent: str, node: str) -> None:
        self.parents[node] = parent
        self.states[node] = self.begun[node] = State(self.states[parent].known)

    def write(self, node: str, what: What, **fields: object) -> Wrote:
        made = replace(Wrote(len(self.writes), node, what), **fields)  # pyright: ignore[reportArgumentType]
        self.writes[made.number] = made
        state = self.states[node]
        self.states[node] = replace(state, known=state.known | {made.number})
        return made

    def erase(self, number: int) -> None:
        """Nobody ever knew it."""
        del self.writes[number]
        self.writes[number] = Wrote(number, "", "exclusion", because=frozenset({-1}))

    def sees(self, node: str, what: What) -> list[Wrote]:
        """What holds on the node, in the order in which it was written."""
        known = self.states[node].known
        return [
            self.writes[n] for n in sorted(self.find_seen(known)) if self.writes[n].what == what
        ]

    def core(self, node: str) -> dict[str, str]:
        return {each.key: each.text for each in self.sees(node, "core") if each.text}

    def inherited(self, node: str) -> list[Wrote]:
        return [each for each in self.sees(node, "event") if each.node != node]

    def find_seen(self, known: frozenset[int]) -> set[int]:
        buried = self._list_buried(known)
        holding = {n for n in known if self._holds(n, known, buried)}
        return holding - {hidden for n in holding for hidden in self.writes[n].hides}

    def _list_buried(self, known: frozenset[int]) -> frozenset[int]:
        stones = [self.writes[n] for n in known if self.writes[n].what == "tombstone"]
        return frozenset(hidden for each in stones for hidden in each.hides)

    def _holds(self, number: int, known: frozenset[int], buried: frozenset[int]) -> bool:
        return all(
            n in known and n not in buried and self._holds(n, known, buried)
            for n in self.writes[number].because
        )

    def find_losers(self, parent: str, node: str, prefer: str | None) -> list[int] | None:
        """What a join hides of the two; None if both changed the same and nobody is preferred."""
        mine, theirs = self._list_changes(parent, node), self._list_changes(node, parent)
        losers: list[int] = []
        for name in mine.keys() & theirs.keys():
            parents, nodes = self._say(parent, mine[name]), self._say(node, theirs[name])
            if parents == nodes:
                losers += theirs[name] if nodes and isinstance(name, int) else []  # told once
            elif prefer is None:
                return None
            else:
                losers += theirs[name] if prefer == "parent" else mine[name]
        return losers

    def join(self, parent: str, node: str, move: str, losers: Iterable[int]) -> None:
        losers = frozenset(losers)
        stones = frozenset(n for n in losers if self.writes[n].because)  # summaries
        before = {each: self.states[each] for each in (parent, node)}
        known = before[parent].known | before[node].known
        for each, state in before.items():
            self.states[each] = State(known, (*state.joins, (move, state.known)))
            self.write(each, "tombstone", hides=stones)
            self.write(each, "exclusion", hides=losers - stones)

    def leave(self, node: str, line: str | None, state: State) -> None:
        """The node goes on from another state; the one that it had can be restored."""
        if line is not None:
            self.left.append((node, line, self.states[node]))
        self.states[node] = state

    def go_back(self, node: str, line: str | None, at: int, before: frozenset[int]) -> None:
        """The node goes back to before the join at this place of its joins."""
        self.leave(node, line, State(before, self.states[node].joins[:at]))

    def _list_changes(self, node: str, other: str) -> dict[str | int, list[int]]:
        """What the node put in the place of keys and of writes since it parted from the other."""
        own = [self.writes[n] for n in sorted(self.states[node].known - self.states[other].known)]
        seen = self.find_seen(self.states[node].known)
        changes: dict[str | int, list[int]] = {}
        for each in own:
            if each.what == "core":
                changes.setdefault(each.key, []).append(each.number)
            elif each.what != "exclusion" or each.number in seen:
                for hidden in each.hides:
                    changes.setdefault(hidden, []).extend(self._follow(each, own))
        return changes

    def _follow(self, made: Wrote, own: Sequence[Wrote]) -> list[int]:
        """What a write put in the place of others, and what was put in the place of that."""
        place = made.because if made.what == "exclusion" else {made.number}
        if made.what == "tombstone":
            return []
        later = [each for each in own if each.hides & place]
        return [*place, *(n for each in later for n in self._follow(each, own))]

    def _say(self, node: str, numbers: Sequence[int]) -> str:
        """What the newest of them that holds says."""
        seen = self.find_seen(self.states[node].known).intersection(numbers)
        return self.writes[max(seen)].text if seen else ""
