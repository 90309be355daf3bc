"""One order out of several lists."""

from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from memory_mcp.domain.ids import RecordId
from memory_mcp.ranking.order import fuse_ranks

IDS = st.integers(0, 30).map(lambda n: RecordId(f"r{n}"))
LISTS = st.lists(st.lists(IDS, max_size=30), max_size=4)


def ids(names: str) -> list[RecordId]:
    return [RecordId(name) for name in names.split()]


def test_nothing_and_one_list_stay_as_they_are() -> None:
    """Where the cloud found nothing, the local order holds."""
    assert fuse_ranks() == fuse_ranks([]) == fuse_ranks([], []) == []
    assert (
        fuse_ranks(ids("c a b"))
        == fuse_ranks(ids("c a b"), [])
        == fuse_ranks([], ids("c a b"))
        == ids("c a b")
    )


def test_what_several_lists_name_comes_before_what_one_names() -> None:
    """Two opinions count for more than a first place."""
    assert fuse_ranks(ids("a b c"), ids("d e c")) == ids("c a d b e")
    assert fuse_ranks(ids("a b"), ids("b a")) == ids("a b")


def test_of_equals_the_earlier_list_comes_first() -> None:
    """What is here before what is there; the same in every run."""
    assert fuse_ranks(ids("a b"), ids("c d")) == ids("a c b d")
    assert fuse_ranks(ids("c d"), ids("a b")) == ids("c a d b")
    assert fuse_ranks(ids("a b c"), ids("b c a"), ids("c a b")) == ids("a b c")


def test_a_name_twice_in_a_list_counts_once() -> None:
    """A long memory is several passages of the cloud; that makes it no better."""
    assert fuse_ranks(ids("a b b b"), ids("c")) == ids("a c b")
    assert fuse_ranks(ids("a a b"), ids("c d")) == ids("a c b d"), "nor does it push others down"


@example(lists=[ids("a b c d e f g"), ids("b c d e f h a"), ids("c a d e f g b")])
@given(lists=LISTS)
def test_the_order_is_that_of_exact_arithmetic(lists: list[list[RecordId]]) -> None:
    """Rounding must not decide who is first."""
    once = [list(dict.fromkeys(names)) for names in lists]
    seen = list(dict.fromkeys(name for names in once for name in names))

    def earned(name: RecordId) -> Fraction:
        ranks = (names.index(name) + 1 for names in once if name in names)
        return sum((Fraction(1, 60 + rank) for rank in ranks), Fraction())

    assert fuse_ranks(*lists) == sorted(seen, key=lambda name: -earned(name))
