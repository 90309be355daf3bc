"""Stored values are checked by pydantic's core, as pydantic itself would check them."""

from dataclasses import field
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import pytest
from fakes import Scribe
from pydantic import BaseModel, TypeAdapter, ValidationError

from memory_mcp.domain.checked import (
    FrozenModel,
    build_validator,
    check_with,
    constrain,
    write_with,
)
from memory_mcp.domain.record import Record
from memory_mcp.domain.timeline import Head

Short = Annotated[str, constrain(max_length=3)]
Time = Annotated[datetime, constrain(tz_constraint="aware"), write_with(datetime.isoformat)]


def refuse_odd(number: int) -> int:
    if number % 2:
        raise ValueError("is odd")
    return number


class Leaf(FrozenModel):
    """A part of a value."""

    name: Short
    kind: Literal["a", "b"] = "a"


class Tree(FrozenModel):
    """A value of every form that a field may have."""

    even: Annotated[int, constrain(strict=True), check_with(refuse_odd)] = 0
    leaves: tuple[Leaf, ...] = ()
    names: Annotated[frozenset[Short], constrain(max_length=2)] = frozenset()
    by_name: dict[Short, Leaf] = field(default_factory=dict[str, Leaf])
    best: Leaf | None = None
    at: Time | Literal[""] = ""
    more: dict[str, Any] = field(default_factory=dict[str, Any])

    def check(self) -> None:
        """Require that the best leaf is one of them."""
        if self.best is not None and self.best not in self.leaves:
            raise ValueError("its best leaf is none of its leaves")


def explain(fields: dict[str, Any]) -> list[tuple[str, str]]:
    """Where each fault is, and of which type, by pydantic's own word for it."""
    with pytest.raises(ValidationError) as refused:
        Tree.model_validate(fields)
    return [(".".join(map(str, each["loc"])), each["type"]) for each in refused.value.errors()]


def test_a_value_is_read_from_fields_and_written_back() -> None:
    leaf = {"name": "x", "kind": "b"}
    fields = {
        "even": 2, "leaves": [leaf], "names": ["n"], "by_name": {"x": leaf}, "best": leaf,
        "at": "2026-01-31T14:30:22+00:00", "more": {"a": [None]}, "of_a_later_version": 1,
    }  # fmt: skip
    tree = Tree.model_validate(fields)

    assert tree.best == Leaf(name="x", kind="b")
    assert tree.at == datetime(2026, 1, 31, 14, 30, 22, tzinfo=UTC)
    written = {name: value for name, value in fields.items() if name != "of_a_later_version"}
    assert tree.list_json() == tree.model_dump(mode="json") == written
    assert Tree().list_json() == Tree().model_dump(mode="json")
    for each in (tree, Tree(), Tree(even=4, leaves=(Leaf(name="x"),), best=Leaf(name="x"))):
        sparse = each.model_dump(mode="json", exclude_defaults=True)
        assert each.list_json(exclude_defaults=True) == sparse
    assert Tree.model_validate_json(tree.model_dump_json()) == tree


FAULTS: list[tuple[dict[str, Any], tuple[str, str]]] = [
    ({"even": "2"}, ("even", "int_type")),
    ({"even": 3}, ("even", "value_error")),
    ({"leaves": [{"name": "x"}, {"name": "long"}]}, ("leaves.1.name", "string_too_long")),
    ({"leaves": [{}]}, ("leaves.0.name", "missing")),
    ({"leaves": [{"name": "x", "kind": "c"}]}, ("leaves.0.kind", "literal_error")),
    ({"names": ["a", "b", "c"]}, ("names", "too_long")),
    ({"by_name": {"long": {"name": "x"}}}, ("by_name.long.[key]", "string_too_long")),
    ({"best": {"name": "x"}}, ("", "value_error")),
]


@pytest.mark.parametrize(("fields", "fault"), FAULTS)
def test_what_is_wrong_is_refused_where_it_is(
    fields: dict[str, Any], fault: tuple[str, str]
) -> None:
    assert explain(fields) == [fault]


def test_values_are_equal_by_their_fields_and_each_has_defaults_of_its_own() -> None:
    one, other = Tree(), Tree()

    assert one == other
    assert hash(Leaf(name="x")) == hash(Leaf(name="x"))
    assert Leaf(name="x") != Leaf(name="y")
    assert one.by_name is not other.by_name
    assert repr(Leaf(name="x")) == "Leaf(name='x', kind='a')"


def test_a_copy_and_a_construction_are_not_checked_anew() -> None:
    leaf = Leaf(name="x").model_copy(update={"name": "longer"})

    assert (leaf.name, leaf.kind) == ("longer", "a")
    assert Leaf.model_construct(name="longer") == leaf
    with pytest.raises(TypeError, match="name is missing"):
        Leaf.model_construct(kind="b")


def test_a_model_of_pydantics_may_hold_them_and_their_annotations() -> None:
    class Form(BaseModel):
        leaf: Leaf
        short: Short

    form = Form.model_validate({"leaf": {"name": "x"}, "short": "abc"})

    assert form.leaf == Leaf(name="x")
    assert form.model_dump(mode="json") == {"leaf": {"name": "x", "kind": "a"}, "short": "abc"}
    with pytest.raises(ValidationError, match="at most 3 characters"):
        Form.model_validate({"leaf": {"name": "x"}, "short": "abcd"})
    assert TypeAdapter(tuple[Leaf, ...]).validate_python([{"name": "x"}]) == (Leaf(name="x"),)


def test_one_of_several_classes_is_known_by_its_fields() -> None:
    found = build_validator(tuple[Leaf | Tree, ...]).validate_python([{"name": "x"}, {"even": 2}])

    assert [type(each) for each in found] == [Leaf, Tree]


def test_an_error_names_the_class() -> None:
    for model in (Record, Head):
        with pytest.raises(ValidationError) as refused:
            model.model_validate({})
        assert refused.value.title == model.__name__


def test_all_share_the_value_that_a_field_has_by_default() -> None:
    """The core copies a default that cannot be hashed, deeply: a sixth of reading a record."""
    fields = Scribe().record("Tabs, not spaces.").as_json()
    one, other = (Record.model_validate(fields) for _ in range(2))

    assert one == other
    assert one.lineage is other.lineage
