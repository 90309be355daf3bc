"""Measures how likely a sentence of the user's says something worth keeping, and of which category.

A sentence is described by the beginnings of its words, the classes of words that stand side by
side, its form and the words of its whole message, and by what its words mean (`words.table`). The
figures of `data/keeping.json` say what each of these speaks for; `tools/keeping.py` learns them
from the talk that was looked at.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Final, get_args

from memory_mcp.domain.captures import CaptureCategory
from memory_mcp.frozen import frozen
from memory_mcp.learnt import Features, load_figures, weigh
from memory_mcp.patterns import compile_later
from memory_mcp.text.tables import load_table, matches
from memory_mcp.words.table import Direction, load_word_table, make_direction, measure_along

_WORD: Final = compile_later(r"[^\W\d_][\w']*")
_STEM_CHARS: Final = 5
_MESSAGE_WEIGHT: Final = 0.7
"""What is said beside a sentence tells less of it than its own words."""
_MESSAGE_SHARE: Final = 0.35
"""How much of a sentence's logit is that of its message."""
_LENGTH_STEP: Final = 10
_LENGTH_MAX: Final = 3.0
_DOUBT: Final = "doubt "
_BRIEF_WORDS: Final = (4, 7)
_FORMS: Final[Mapping[str, re.Pattern[str]]] = {
    "number": compile_later(r"\d"),
    "identifier": compile_later(r"[a-z][A-Z]|_|\w\.\w|\w/\w"),
    "name": compile_later(r"(?<=[a-z,:] )[A-Z]\w"),
    "comma": compile_later(","),
    "colon": compile_later(":"),
    "exclamation": compile_later("!"),
    "dots": compile_later(r"\.\."),
    "quote": compile_later("\ufffc"),
}
_PATTERNS: Final = (
    "lasting", "moment", "broken", "announces", "order", "everywhere", "anaphoric",
    *get_args(CaptureCategory),
)  # fmt: skip


@frozen
class Kept:
    """A sentence that is worth keeping. `sure`: without a question to the user."""

    category: CaptureCategory
    sure: bool


@frozen
class TextWeights:
    """How much each feature of a text, and what its words mean, speaks for keeping it."""

    weights: Mapping[str, float]
    direction: Direction

    def weigh(self, features: Features, terms: Sequence[str]) -> float:
        """The logit of a text with these features and terms."""
        along = measure_along(self.direction, terms, load_word_table())
        return weigh(features, self.weights) + along


@frozen
class Learnt:
    """The learnt figures. From `sure_from` on nobody is asked.

    The `named` ones hold where a pattern knows the category and none speaks against it.
    """

    keep: TextWeights
    message: TextWeights
    categories: Mapping[CaptureCategory, Mapping[str, float]]
    from_: float
    named_from: float
    sure_from: float
    sure_named_from: float


def judge_sentence(
    features: Features, terms: Sequence[str], message: float, named: CaptureCategory | None
) -> Kept | None:
    """Whether a sentence of a message is likely enough to be worth keeping, and of which category.

    `message` is the logit of the whole (`weigh_message`), `named` the category that a pattern
    knows.
    """
    learnt = load_learnt()
    own = learnt.keep.weigh(features, terms)
    logit = own + _MESSAGE_SHARE * (message - own)
    plain = named and not any(name.startswith(_DOUBT) for name in features)
    if logit < (learnt.named_from if plain else learnt.from_):
        return None
    categories = learnt.categories
    best = named or max(categories, key=lambda each: weigh(features, categories[each]))
    return Kept(best, logit >= (learnt.sure_named_from if plain else learnt.sure_from))


def weigh_message(sentences: Sequence[tuple[Features, Sequence[str]]]) -> float:
    """The logit of a whole message, each of its sentences as its features and its terms."""
    terms = [term for _, own in sentences for term in own]
    return load_learnt().message.weigh(join_features([each for each, _ in sentences]), terms)


def join_features(message: Sequence[Features]) -> Features:
    """What a whole message is judged by: each feature as much as the sentence that has it most."""
    found: dict[str, float] = {}
    for features in message:
        for name, value in features.items():
            found[name] = max(value, found.get(name, 0.0))
    return found


def describe_sentence(
    place: int,
    sentences: Sequence[str],
    *,
    asked: bool,
    told: bool,
    lasts: bool = False,
    pasted: bool = False,
    doubts: Sequence[str] = (),
    named: CaptureCategory | None = None,
) -> Features:
    """What a sentence is judged by.

    `asked`: it answers a question; `told`: it says who one is; `lasts`: the gate knows it to last;
    `pasted`: something beside it was not the user's own; `doubts` are the patterns that speak
    against it, and `named` is the category of the one that speaks for it.
    """
    said = sentences[place]
    low = said.lower()
    words = _WORD.findall(low)
    found: dict[str, float] = {f"near {w[:_STEM_CHARS]}": _MESSAGE_WEIGHT
                               for w in _WORD.findall(" ".join(sentences).lower())}  # fmt: skip
    found |= dict.fromkeys(_list_word_features(words), 1.0)
    found |= {f"has {name}": 1.0 for name, form in _FORMS.items() if form.search(said)}
    found |= {f"says {name}": 1.0 for name in _PATTERNS if matches("capture", name, low)}
    found |= {f"under {most} words": 1.0 for most in _BRIEF_WORDS if len(words) < most}
    found["length"] = min(len(words) / _LENGTH_STEP, _LENGTH_MAX)
    found["sentences"] = min(len(sentences) / 3, 2.0)
    forms = {
        "first": place == 0, "last": place == len(sentences) - 1, "alone": len(sentences) == 1,
        "asked": asked, "told": told, "lasts": lasts, "pasted": pasted,
        "beside a question": any(each.rstrip().endswith("?") for each in sentences),
        "before an order": any(map(begins_with_order, sentences[place + 1 :])),
    }  # fmt: skip
    found |= {f"{_DOUBT}{name}": 1.0 for name in doubts}
    found |= {"named": 1.0, f"named {named}": 1.0} if named else {}
    return found | {name: 1.0 for name, holds in forms.items() if holds}


def _list_word_features(words: Sequence[str]) -> Iterator[str]:
    classes = _load_classes()
    kinds = [classes.get(word, "") for word in words]
    for word, kind in zip(words, kinds, strict=True):
        yield f"stem {word[:_STEM_CHARS]}"
        yield f"class {kind}"
    yield from (f"classes {one} {other}" for one, other in pairwise(kinds) if one or other)
    if words:
        yield f"begins {words[0]}"
        yield f"begins with {kinds[0]}"


def begins_with_order(said: str) -> bool:
    """Whether it begins as an order for a step of the work does."""
    first = _WORD.search(said.lower())
    return first is not None and _load_classes().get(first.group()) == "order"


@cache
def _load_classes() -> Mapping[str, str]:
    rows: Mapping[str, str] = load_table("capture")["classes"]
    return {word: name for name, words in rows.items() for word in words.split()}


@cache
def load_learnt() -> Learnt:
    """The learnt figures."""
    return read_learnt(load_figures("memory_mcp.text", "keeping"))


def read_learnt(figures: Any) -> Learnt:
    """The figures that `tools/keeping.py` writes."""
    keep, message = (
        TextWeights(figures[name], make_direction(figures[f"{name} meaning"]))
        for name in ("keep", "message")
    )
    return Learnt(
        keep,
        message,
        figures["categories"],
        from_=figures["from"],
        named_from=figures["named_from"],
        sure_from=figures["sure_from"],
        sure_named_from=figures["sure_named_from"],
    )
