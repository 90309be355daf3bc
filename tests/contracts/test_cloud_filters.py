"""The filters of the fake cloud: what the service promises of them, operator by operator."""

from typing import Any

import pytest
from cloud_views import View

METADATA: dict[str, Any] = {
    "category": "Fact",
    "seq": 3,
    "valid": True,
    "tags": ["deploy", "ops"],
    "a.b": "dotted",
    "sm_source": "ours",
}


YES = True


def leaf(field: str, operator: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value, **more}


@pytest.mark.parametrize(
    ("wanted", "matches"),
    [
        (leaf("category", "eq", "Fact"), True),
        (leaf("category", "eq", "fact"), False),
        (leaf("category", "eq", "fact", caseSensitive=False), True),
        (leaf("category", "neq", "Fact"), False),
        (leaf("category", "neq", "taste"), True),
        (leaf("category", "contains", "ac"), True),
        (leaf("category", "notContains", "ac"), False),
        (leaf("category", "gt", 1), False),
        (leaf("seq", "eq", 3), True),
        (leaf("seq", "eq", "3"), False),
        (leaf("seq", "neq", 3), False),
        (leaf("seq", "gt", 3), False),
        (leaf("seq", "gte", 3), True),
        (leaf("seq", "lt", 3), False),
        (leaf("seq", "lte", 3), True),
        (leaf("seq", "contains", "3"), False),
        (leaf("valid", "eq", YES), True),
        (leaf("valid", "eq", 1), False),
        (leaf("tags", "arrayContains", "deploy"), True),
        (leaf("tags", "arrayContains", "dep"), False),
        (leaf("tags", "arrayNotContains", "deploy"), False),
        (leaf("tags", "arrayNotContains", "tea"), True),
        (leaf("tags", "contains", "deploy"), False),
        (leaf("a.b", "eq", "dotted"), True),
        (leaf("sm_source", "eq", "ours"), False),
        (leaf("missing", "eq", "x"), False),
        (leaf("missing", "arrayContains", "x"), False),
    ],
)
def test_each_operator_decides(wanted: dict[str, Any], matches: bool) -> None:  # noqa: FBT001  # parametrised
    """A fake that lets too much through would hide a filter that the client wrote wrong."""
    assert View().matches(wanted, METADATA) is matches


@pytest.mark.parametrize("operator", ["neq", "notContains", "arrayNotContains"])
def test_whether_a_negation_matches_what_is_missing_is_open(operator: str) -> None:
    """The vendor does not say, so a client must write every key that it filters on."""
    wanted = leaf("missing", operator, "x")
    assert View(neq_matches_missing=True).matches(wanted, METADATA) is True
    assert View(neq_matches_missing=False).matches(wanted, METADATA) is False


def test_groups_nest() -> None:
    """`and` and `or` down to the last level."""
    yes, no = leaf("seq", "eq", 3), leaf("seq", "eq", 4)

    def group(operator: str, *operands: dict[str, Any]) -> dict[str, Any]:
        return {"operator": operator, "operands": list(operands)}

    matches = View().matches
    assert matches(group("and", yes, group("or", no, group("and", yes, yes))), METADATA)
    assert not matches(group("and", yes, group("or", no, group("and", yes, no))), METADATA)
    assert matches(None, {})
