"""Frozen classes behave as frozen dataclasses do, except for what pyright checks in their place."""

from dataclasses import dataclass, field, fields, replace

import pytest

from memory_mcp.frozen import frozen, mutable


@frozen
class Point:
    x: int
    tags: tuple[str, ...] = field(default_factory=tuple)


@frozen
class Place(Point):
    name: str = ""


@frozen
class Nothing:
    pass


@frozen
class Basket:
    goods: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Model:
    x: int
    tags: tuple[str, ...] = field(default_factory=tuple)


@pytest.mark.parametrize(("x", "tags"), [(1, ()), (1, ("a",)), (-2, ("a", "b"))])
def test_values_are_equal_and_shown_as_those_of_a_dataclass(x: int, tags: tuple[str, ...]) -> None:
    assert Point(x, tags) == Point(x, tags)
    assert hash(Point(x, tags)) == hash(Point(x, tags))
    assert Point(x, tags) != Point(x + 1, tags)
    assert Point(x, tags) != Model(x, tags)
    assert repr(Point(x, tags)) == repr(Model(x, tags)).replace("Model", "Point")
    assert replace(Point(x, tags), x=7) == Point(7, tags)


def test_a_class_is_not_equal_to_the_one_it_is_made_of() -> None:
    assert Place(1) != Point(1)
    assert Place(1, (), "here") != Place(1, (), "there")
    assert {Place(1), Place(1), Point(1)} == {Point(1), Place(1)}


def test_a_value_gets_its_own_defaults_and_wrong_arguments_are_refused() -> None:
    """As by the `__init__` of a dataclass."""
    assert [Basket().goods, Basket(goods=["tea"]).goods, Basket().goods] == [[], ["tea"], []]
    assert Basket.__init__ is not Place.__init__
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match=r"Place.__init__\(\) got an unexpected keyword"):
        Place(1, size=2)  # pyright: ignore[reportCallIssue]


def test_the_first_values_are_made_as_all_later_ones_are_and_compile_nothing() -> None:
    """To compile what makes a value takes as long as making twenty, and most classes make fewer."""

    @frozen
    class Box:
        size: int
        label: str = "none"
        goods: list[str] = field(default_factory=list[str])

    compiles = Box.__init__
    assert Box(1) == Box(1, "none", [])
    assert (Box(2, goods=["tea"]).goods, Box(size=3).label) == (["tea"], "none")
    assert Box.__init__ is compiles

    boxes = [Box(size, label=str(size)) for size in range(30)]

    assert [(box.size, box.label, box.goods) for box in boxes] == [
        (n, str(n), []) for n in range(30)
    ]
    assert Box.__init__ is not compiles


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), ((1, (), 3), {}), ((1,), {"x": 1}), ((1,), {"size": 2}), ((), {"tags": ()})],
)
def test_wrong_arguments_are_refused_by_the_first_value_in_the_words_of_all_later_ones(
    values: tuple[object, ...], named: dict[str, object]
) -> None:
    @frozen
    class Dot:
        x: int
        tags: tuple[str, ...] = ()

    with pytest.raises(TypeError) as first:
        Dot(*values, **named)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError) as later:
        Dot(*values, **named)  # pyright: ignore[reportArgumentType]
    assert str(first.value) == str(later.value)
    assert "Dot.__init__()" in str(first.value)


def test_a_value_without_fields_is_equal_to_another() -> None:
    assert Nothing() == Nothing()
    assert len({Nothing(), Nothing()}) == 1


@mutable
class Counter:
    name: str
    counted: list[int] = field(default_factory=list[int])
    total: int = 0

    def count(self, number: int) -> None:
        self.counted.append(number)
        self.total += number


def test_what_changes_has_fields_of_its_own_and_is_equal_to_itself_alone() -> None:
    """As a dataclass without `eq`: it can be a key, whatever becomes of its fields."""
    one, other = Counter("a"), Counter("a")
    one.count(3)

    assert (one.counted, one.total, other.counted) == ([3], 3, [])
    assert one != other
    assert {one: 1}[one] == 1
    assert replace(one, name="b").counted == [3]
    assert [each.name for each in fields(Counter)] == ["name", "counted", "total"]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        Counter()  # pyright: ignore[reportCallIssue]
