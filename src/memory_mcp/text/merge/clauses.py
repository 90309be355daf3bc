"""Splits a sentence into the clauses it joins, and cuts out of it what it says of a subject.

"The server has 4 GB RAM and sits in Oslo" says two things; "since the upgrade the server has 8 GB
RAM, which is enough" contradicts one of them. Clauses are compared as whole sentences are. Only
clauses with a verb of their own are split: "tea and coffee" is one statement.
"""

import re
from collections.abc import Iterator
from functools import cache, partial
from itertools import islice
from typing import Final

from memory_mcp.text.merge.reading import Sentence, Word, read_sentence, words
from memory_mcp.text.tables import load_pattern, load_table

_pattern = partial(load_pattern, "merge")

_ENDS: Final = " .!;,"
_PLACES_MAX: Final = 8
"""A memory holds a few statements; what could be a thousand is a list, and not worth a second."""
_PHRASE_WORDS_MAX: Final = 4
"""A longer phrase before a comma says something by itself."""


def split_clauses(sentence: str) -> list[str]:
    """The clauses, each as a sentence with its subject; the sentence itself if it is one."""
    parts = _pattern("clause_join").split(sentence.strip().rstrip(_ENDS))
    if len(parts) == 1 or not (subject := _find_subject(parts[0])):
        return [sentence]
    clauses = [f"{parts[0]}."]
    for part in parts[1:]:
        clause = f"{subject} {part}."
        verb = _find_first_of_predicate(read_sentence(clause))
        begins = part.split(maxsplit=1)[0].casefold() if part else ""
        led = verb and verb.kind == "verb" and begins.startswith(verb.text.casefold()[:3])
        if not led and not _follows_figure(clauses[-1], part):
            return [sentence]
        clauses.append(clause)
    return clauses


def _follows_figure(before: str, part: str) -> bool:
    """Whether a verb that is in no list begins it: "… on port 3128 and caches for an hour"."""
    first, *behind = part.split(maxsplit=2)
    governed = behind and behind[0].casefold() in words("articles") | words("prepositions") - {"of"}
    return bool(governed and first.islower() and first.endswith("s") and before[-2:-1].isdigit())


def cut_out_statements(sentence: str, part: str) -> Iterator[str]:
    """The statements about the subject of `part`, cut out of a longer sentence.

    "After the move the API listens on port 9090 behind the gateway" holds "the API listens on port
    9090". What stands before must not narrow it ("on staging the API listens …") or make a wish of
    it ("if the API listens …").
    """
    about = read_sentence(part)
    subject = _pattern("determiner").sub("", _find_words_before_predicate(part, about))
    folded = sentence.casefold()
    if not subject or not all(word.casefold() in folded for word in subject.split()):
        return  # nearly always, and a pattern takes longer to compile than all the rest
    spaced = r"\s+".join(map(re.escape, subject.split()))
    determiner = load_table("merge")["parts"]["determiner"]
    pattern = re.compile(rf"(?<![\w-])(?:{determiner}\s+)?{spaced}(?![\w-])", re.IGNORECASE)
    for found in islice(pattern.finditer(sentence), _PLACES_MAX):
        before, rest = sentence[: found.start()], sentence[found.start() :]
        if not _may_lead_in(before, determined=bool(_pattern("determiner").match(found.group()))):
            continue
        ends = _pattern("clause_ends").finditer(rest, found.end() - found.start() + 1)
        for end in islice(ends, _PLACES_MAX):
            after = rest[end.end() :].split(maxsplit=1)
            if not after or after[0].casefold() not in about.keys:
                yield f"{rest[: end.start()]}."


def _may_lead_in(before: str, *, determined: bool) -> bool:
    """Whether a statement may begin behind these words and hold as it stands."""
    *earlier, last = (piece.strip() for piece in _pattern("clause_begins").split(before))
    phrase = last or (earlier[-1] if earlier else "")
    bare = bool(last) or len(phrase.split()) <= _PHRASE_WORDS_MAX
    if _pattern("supposed").search(before) or (bare and _pattern("narrows").match(phrase)):
        return False
    opens = bool(_pattern("clause_opens").search(before))
    return opens or not last or (determined and not _pattern("belongs").search(before))


def _find_subject(clause: str) -> str:
    """The words before a verb, or ""."""
    sentence = read_sentence(clause)
    subject = _find_words_before_predicate(clause, sentence)
    verb = _find_first_of_predicate(sentence) if sentence.predicate else None
    return subject if verb and verb.kind == "verb" and not verb.after_copula else ""


def _find_first_of_predicate(sentence: Sentence) -> Word | None:
    if sentence.predicate is None or sentence.predicate >= len(sentence.words):
        return None
    return sentence.words[sentence.predicate]


def _find_words_before_predicate(clause: str, sentence: Sentence) -> str:
    """The words before the verb or the copula, as they are written."""
    first = _find_first_of_predicate(sentence)
    if first is None:
        return ""
    verbs = words("copulas") if first.after_copula else [first.text]
    starts = [found.start() for each in verbs if (found := _compile_word(each).search(clause))]
    return clause[: min(starts)].strip() if starts else ""


@cache
def _compile_word(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<=\s){re.escape(word)}(?!\w)", re.IGNORECASE)
