"""Splits a sentence into the statements it joins, and finds the one that a newer text contradicts.

"The server has 4 GB RAM and sits in Oslo" says two things; "since the upgrade the server has 8 GB
RAM, which is enough" contradicts one of them. Clauses are compared by the rule that compares whole
sentences. Only clauses with a verb of their own are split: "tea and coffee" is one statement.

A conflict is reported and hides nothing, so it may be found a little more often than a merge.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Final

from memory_mcp.domain.deduplication import Updated
from memory_mcp.text.merge.compare import compare_sentences
from memory_mcp.text.merge.lexicon import lexicon
from memory_mcp.text.merge.reading import Sentence, Word, read_sentence
from memory_mcp.text.sentences import split_sentences

_JOIN: Final = re.compile(r"\s*(?:;|,?\s+(?:and|but|while|und|aber))\s+", re.IGNORECASE)
_ENDS: Final = " .!;,"
_STATEMENTS_MAX: Final = 40
_PAIRS_MAX: Final = 400
_WITHIN_MAX: Final = 8
"""A memory holds a few statements; what could be a thousand is a list, and not worth a second."""
_DETERMINERS: Final = r"(?:the|our|my|its|their|der|die|das|den|dem|unser\w*|mein\w*)"
_DETERMINER: Final = re.compile(rf"{_DETERMINERS}\s+", re.IGNORECASE)
_ONE: Final = re.compile(rf"{_DETERMINERS}\s|\w+['\u2019]s?\s", re.IGNORECASE)
"""What is spoken of is known, and there is one of it."""
_IS: Final = re.compile(r"\b(?:is|ist)\b", re.IGNORECASE)
_PATH: Final = re.compile(r"[/\\@:]|\w\.[a-z]")
_BOUNDARY: Final = re.compile(r"[,;:]\s|\s(?:and|so|but|that|und|dass|also)\s", re.IGNORECASE)
_OPENS: Final = re.compile(
    r"(?:[,;:]|\b(?:and|so|but|that|now|und|dass|also|jetzt))\s*$", re.IGNORECASE
)
_NARROWS: Final = re.compile(
    r"(?:in|on|at|for|under|inside|outside|within|per|an|auf|bei|im|am|für|unter)\b", re.IGNORECASE
)
"""Where, for whom, in which case it holds: what holds elsewhere is not contradicted."""
_PHRASE_WORDS_MAX: Final = 4
"""With more before its comma, it says something by itself."""
_SUPPOSED: Final = re.compile(
    r"\b(?:if|whether|unless|would|could|should|might|may|maybe|perhaps|when|until|not|never"
    r"|no longer"
    r"|nobody|suppose\w*|let us|provided|once|next|will|shall|plan\w*|hop(?:e|es|ing)|wants?|how"
    r"|false|believ\w+|claim\w*|sa(?:y|ys|id)|asks?|asked|old|docs?"
    r"|wenn|falls|ob|vielleicht|nicht|bis|sagt\w*|behauptet\w*|laut|angeblich|nächste\w*)\b",
    re.IGNORECASE,
)
"""What makes a question, a plan or hearsay of the statement behind it, or denies it."""
_BELONGS: Final = re.compile(
    r"\b(?:of|to|for|from|with|by|in|on|at|and|or|von|zu|für|mit|bei|in|auf|und|oder)\s*$",
    re.IGNORECASE,
)
"""What is named behind it is only a part of another subject."""
_ENDS_OF_CLAUSE: Final = re.compile(
    r"[,;:]?\s+(?=(?:and|but|because|so|since|as|which|where|while|who|for|from|in|on|at|with|by"
    r"|until|behind|starting|everywhere|two|instead|now|und|weil|seit|ab|für|mit)\b)"
    r"|[,;:.!]?\s*$|[,;:]\s",
    re.IGNORECASE,
)


def split_clauses(sentence: str) -> list[str]:
    """What a sentence says, each as a sentence of its own; the sentence itself if it is one."""
    parts = _JOIN.split(sentence.strip().rstrip(_ENDS))
    subject = _find_subject(parts[0])
    if len(parts) == 1 or not subject:
        return [sentence]
    found = [f"{parts[0]}."]
    for part in parts[1:]:
        first = read_sentence(f"{subject} {part}.")
        said = part.split(maxsplit=1)[0].casefold() if part else ""
        begins = first.predicate is not None and first.predicate < len(first.words)
        verb = first.words[first.predicate] if begins and first.predicate is not None else None
        if verb is None or verb.kind != "verb" or not said.startswith(verb.said.casefold()[:3]):
            return [sentence]
        found.append(f"{subject} {part}.")
    return found


def find_contradicted(new: str, old: str) -> tuple[str, tuple[str, ...]] | None:
    """The statement of the old text that the new one contradicts, and what else the old one says.

    None if the old text says nothing that the rule calls an older value. Of long texts only the
    beginnings are compared.
    """
    parts = [clause for said in split_sentences(old) for clause in split_clauses(said)]
    told = split_sentences(new)[:_STATEMENTS_MAX]
    pairs = (
        (clause, at)
        for said in told
        for at, part in enumerate(parts[:_STATEMENTS_MAX])
        for clause in (*split_clauses(said), *_find_statements_within(said, part))
    )
    for clause, at in islice(pairs, _PAIRS_MAX):
        if _takes_back(clause, parts[at]):
            return parts[at], tuple(parts[:at] + parts[at + 1 :])
    return None


def find_conflict(new: str, old: str) -> str | None:
    """What the old text says that the new one contradicts, whichever of them says it at length."""
    if found := find_contradicted(new, old):
        return found[0]
    told = [
        clause for said in split_sentences(new)[:_STATEMENTS_MAX] for clause in split_clauses(said)
    ]
    pairs = (
        (clause, older)
        for said in split_sentences(old)[:_STATEMENTS_MAX]
        for clause in told[:_STATEMENTS_MAX]
        for older in _find_statements_within(said, clause)
    )
    return next(
        (older for clause, older in islice(pairs, _PAIRS_MAX) if _takes_back(clause, older)), None
    )


def _takes_back(clause: str, part: str) -> bool:
    """Whether one statement has the newer value of the other one."""
    new, old = read_sentence(clause), read_sentence(part)
    return isinstance(compare_sentences(new, old), Updated) or _has_other_value(new, old)


def _has_other_value(new: Sentence, old: Sentence) -> bool:
    """Whether "the queue is this" became "the queue is that": there is one such queue.

    Too little to hide the older one by, and enough to name the two to whoever can tell.
    """
    if not (_ONE.match(old.text) and _ONE.match(new.text)) or new.past or new.event:
        return False
    if len(old.words) != len(new.words) or old.keys[:-1] != new.keys[:-1] or old.keys == new.keys:
        return False
    said, now = old.words[-1], new.words[-1]
    if said.article or now.article or said.measures != now.measures:
        return False
    if said.copula:
        return _is_name(said) and _is_name(now) and bool(_IS.search(f"{old.text} {new.text}"))
    before = tuple(old.keys[:-1])
    held = any(before[-len(form) :] == form for form in lexicon().one_at_a_time)
    placed = before[-1:] == ("in",) and old.words[-2].copula
    named = _is_name(said) and _is_name(now)
    return (held or placed) and (named or said.kind == "value")


def _is_name(word: Word) -> bool:
    """Whether it names somebody or something, and is no path, host or address."""
    return word.said[:1].isupper() and not _PATH.search(word.said)


def _find_statements_within(said: str, part: str) -> Iterator[str]:
    """The statements about what `part` is about, cut out of a longer sentence.

    "After the move the API listens on port 9090 behind the gateway" has "the API listens on port
    9090" in it. What stands before must not narrow it ("on staging the API listens …") or make a
    wish of it ("if the API listens …").
    """
    told = read_sentence(part)
    subject = _DETERMINER.sub("", _before_predicate(part, told))
    if not subject:
        return
    words = r"\s+".join(map(re.escape, subject.split()))
    about = re.compile(rf"(?<![\w-])(?:{_DETERMINERS}\s+)?{words}(?![\w-])", re.IGNORECASE)
    for found in islice(about.finditer(said), _WITHIN_MAX):
        before, rest = said[: found.start()], said[found.start() :]
        if not _may_lead_in(before, determined=bool(_DETERMINER.match(found.group()))):
            continue
        ends = _ENDS_OF_CLAUSE.finditer(rest, found.end() - found.start() + 1)
        for end in islice(ends, _WITHIN_MAX):
            after = rest[end.end() :].split(maxsplit=1)
            if not after or after[0].casefold() not in told.keys:
                yield f"{rest[: end.start()]}."


def _before_predicate(clause: str, sentence: Sentence) -> str:
    """The words before the verb or the copula, as they were said."""
    if sentence.predicate is None or sentence.predicate >= len(sentence.words):
        return ""
    word = sentence.words[sentence.predicate]
    said = [copula for copula in lexicon().copulas if word.copula] or [word.said]
    ends = [found.start() for each in said if (found := _word_pattern(each).search(clause))]
    return clause[: min(ends)].strip() if ends else ""


def _may_lead_in(before: str, *, determined: bool) -> bool:
    """Whether a statement may begin behind these words and hold as it stands."""
    *earlier, last = (piece.strip() for piece in _BOUNDARY.split(before))
    phrase = last or (earlier[-1] if earlier else "")
    bare = bool(last) or len(phrase.split()) <= _PHRASE_WORDS_MAX
    if _SUPPOSED.search(before) or (bare and _NARROWS.match(phrase)):
        return False
    opens = bool(_OPENS.search(before))
    return opens or not last or (determined and not _BELONGS.search(before))


def _find_subject(clause: str) -> str:
    """The words before a verb."""
    sentence = read_sentence(clause)
    subject = _before_predicate(clause, sentence)
    verb = sentence.words[sentence.predicate] if subject and sentence.predicate else None
    return subject if verb and verb.kind == "verb" and not verb.copula else ""


@cache
def _word_pattern(said: str) -> re.Pattern[str]:
    return re.compile(rf"(?<=\s){re.escape(said)}(?!\w)", re.IGNORECASE)
