"""Finds in the user's own words what is worth keeping: facts, preferences, decisions, goals.

It is careful to say no, because nobody asked for it. What a program printed, what was recalled,
what is quoted and what ends in a question mark is never kept. Everything else is judged sentence by
sentence, by figures that were learnt of labelled talk (`text.keeping`): the patterns of
`data/capture.toml` say what speaks for a category, and what speaks against a sentence (it supposes,
jokes, has a text written, tells of a moment), and how much each of them tells was learnt, too. A
statement is cut out of the message, with the sentences that it needs to be understood. The
assistant's words count in two places only: the question that an answer leaves out, and the one
proposal to which the user agrees.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import chain
from typing import Final, Literal

from memory_mcp.domain.captures import Capture, CaptureCategory
from memory_mcp.domain.profile import ProfileFact
from memory_mcp.domain.sessions import Turn
from memory_mcp.frozen import frozen
from memory_mcp.learnt import Features
from memory_mcp.patterns import compile_later
from memory_mcp.text.gate import Chatter, Keep, is_program_line, judge_worth
from memory_mcp.text.keeping import (
    Kept,
    begins_with_order,
    describe_sentence,
    judge_sentence,
    weigh_message,
)
from memory_mcp.text.recalled import separate_recalled
from memory_mcp.text.sentences import drop_code, split_sentences, straighten_quotes
from memory_mcp.text.tables import load_pattern, matches
from memory_mcp.text.user_facts import find_facts
from memory_mcp.words.terms import extract_terms

pattern = partial(load_pattern, "capture")

TURNS_MAX: Final = 3
"""The user's last turns that are looked at: what was said before was looked at before."""
MESSAGE_CHARS_MAX: Final = 6_000
"""A longer message is mostly pasted: only its beginning is read."""
_SENTENCE_CHARS_MAX: Final = 400
"""A longer sentence is a document's."""
_STATEMENT_CHARS_MAX: Final = 400
_STATEMENT_WORDS_MIN: Final = 4
_ORDERED_WORDS_MIN: Final = 3
"""Of what the user says to keep: "Remember that we use pnpm."."""
_SENTENCES_MAX: Final = 3
"""Of one statement: the one that was recognised, and what belongs to it."""
_CONTEXT_CHARS_MAX: Final = 200
"""Of the question to which a statement answers."""
_QUOTE_WORDS_MIN: Final = 5
"""So many words in quotes are somebody's sentence; fewer are a name or an example."""
_ANNOUNCEMENT_WORDS_MAX: Final = 7
"""A lesson in fewer words only says that there is one: "Found it after five hours!"."""

_CATEGORIES: Final[tuple[CaptureCategory, ...]] = (
    "decision", "goal", "lesson", "convention", "preference", "fact",
)  # fmt: skip
"""In the order in which they are tried."""

_OTHER: Final[CaptureCategory] = "fact"
"""The category of what is announced to be known and says nothing of its own."""

_STATES: Final[frozenset[CaptureCategory]] = frozenset({"convention", "preference", "fact"})
"""What is also said of a state that passes: "our tests are red"."""

_AS_REASON: Final[tuple[CaptureCategory, ...]] = ("convention", "fact")

Reading = Literal["stated", "announced", "plain", "question", "refused"]
"""What a sentence is: `stated` is worth keeping, `announced` says only that something follows."""


@frozen
class ReadSentence:
    """A sentence of the message, its quotes masked, what it is, and of which category.

    `doubts` are the patterns that speak against it; `lasts`: the gate knows it to last; `never`: it
    may not be kept, whatever speaks for it; `ordered`: the user says to keep it. `named`: the
    category that a pattern marks it with. `features` and `terms` are what it is judged by; `sure`:
    nobody need be asked about it.
    """

    text: str
    reading: Reading
    category: CaptureCategory | None = None
    named: CaptureCategory | None = None
    sure: bool = False
    doubts: tuple[str, ...] = ()
    lasts: bool = False
    never: bool = False
    ordered: bool = False
    features: Features = field(default_factory=dict[str, float])
    terms: tuple[str, ...] = ()


_QUOTED: Final = compile_later(
    r"\"([^\"\n]{0,600})\"|[»«]([^»«\n]{0,600})[»«]|(?<!\w)'([^'\n]{3,400})'(?!\w)|`([^`\n]{0,400})`"
)
_MASK: Final = 0xE000
"""Private characters from here on stand for the quotes of a message, in their order."""
_MASKS: Final = compile_later("[\ue000-\uf8ff]")
_OPEN_QUOTE: Final = compile_later(r"[\"«»]")
_WORD: Final = compile_later(r"[^\W_][\w'.+#-]*")
_ORDER_AHEAD: Final = compile_later(r"(?:,| -| \u2013) (?:(?:so|please|pls|bitte|also) )*")
_DASS_CLAUSE: Final = compile_later(
    r"(?P<subject>(?:wir|ich|ihr|man|es|(?:(?i:de[rmn]|die|das|unsere?\w*|meine?\w*|alle|jede\w*|keine?)"
    r" )?(?:[a-zäöüß]+[enr] )?[A-ZÄÖÜ][\w-]*)(?: (?:alle|beide))?)"
    r"(?P<middle>(?: [^\s,;:.!?]+)+) (?P<verb>[a-zäöüß]{3,})(?=\s*(?:[,;.!]|$))"
)
_SEPARABLE: Final = compile_later(
    r"(?P<prefix>ab|an|auf|aus|ein|fest|frei|hoch|los|mit|nach|raus|rein|vor|statt|teil|weg|zurück|zusammen|zu)"
    r"(?P<stem>(?!ge|zu)[bdfghjklmnprstwz](?!\w*ier(?:en|t)$)\w{3,})"
)
_ENDS: Final = ".!?:;"
_COMMANDS: Final = ("/", "!", "#")
_MARKS: Final = ("?", "\uff1f")
_AFTER_MARK: Final = "\"')]}*_ "
_NOT_MEANT: Final = frozenset({"message", "question", "never"})
"""What speaks against a sentence that the user says is to be kept."""
_NEVER: Final = frozenset({"quotation", "output", "recalled", "empty", "long"})
"""What nothing speaks for: it is not the user's own word."""


def find_captures(turns: Sequence[Turn], turns_max: int = TURNS_MAX) -> tuple[Capture, ...]:
    """What the user's last turns say that is worth keeping, the oldest first, each once."""
    places = [place for place, turn in enumerate(turns) if turn.role == "user"][-turns_max:]
    found: list[tuple[Capture, ...]] = []
    for place in places:
        if found and retracts(turns[place].content):
            found.pop()
        found.append(tuple(_find_in_turn(turns[place].content, turns[:place])))
    each_once: dict[str, Capture] = {}
    for capture in chain(*found):
        each_once.setdefault(capture.statement.casefold(), capture)
    return tuple(each_once.values())


def find_retracted(turns: Sequence[Turn]) -> tuple[Capture, ...]:
    """What the user's last turn takes back of the one before it, the likeliest first.

    Whoever looked at that one may have seen it without what was said before.
    """
    places = [place for place, turn in enumerate(turns) if turn.role == "user"][-2:]
    if len(places) < 2 or not retracts(turns[places[-1]].content):  # noqa: PLR2004  # two turns
        return ()
    before = turns[: places[0] + 1]
    judged = (Capture(text, _OTHER) for text in list_candidates(before))
    return (*find_captures(before, 1), *find_captures(before[-1:], 1), *judged)


def retracts(text: str) -> bool:
    """Whether it begins by taking back what the user said before it."""
    _, from_ = _cut_retracted(straighten_quotes(text[:MESSAGE_CHARS_MAX]).strip())
    return from_ == 0


def list_candidates(turns: Sequence[Turn]) -> tuple[str, ...]:
    """The sentences of the user's last turn that nothing speaks against, for a model to judge."""
    own = [turn.content for turn in turns if turn.role == "user"][-1:]
    return tuple(
        _finish([sentence.text], quotes)
        for text in own
        for sentences, quotes in [read_message(text)]
        for sentence in sentences
        if not sentence.doubts
        and sentence.reading != "announced"
        and not pattern("anaphoric").search(sentence.text)
    )


def is_typed_command(text: str) -> bool:
    """Whether it is a command, a shell's line or a note for CLAUDE.md, and no talk."""
    return text.lstrip().startswith(_COMMANDS)


def needs_context(text: str) -> bool:
    """Whether it may be understood only with what was said before."""
    first = next(iter(split_sentences(straighten_quotes(text[:_CONTEXT_CHARS_MAX]))), "")
    answers = any(pattern(name).search(first.lower()) for name in ("assent", "it_is", "picks"))
    return answers or retracts(text) or pattern("anaphoric").search(_drop_lead(first)) is not None


def _find_in_turn(text: str, before: Sequence[Turn]) -> Iterator[Capture]:
    """What one message of the user says; `before` is what was said until then."""
    if is_typed_command(text):
        return
    if pattern("assent").search(straighten_quotes(text).strip().lower()):
        if proposal := _find_proposal(before):
            yield Capture(proposal, "decision")
        return
    if picked := _read_answer(text, before):
        yield picked
        return
    asked = before[-1:] and before[-1].role == "assistant" and _asks(before[-1].content)
    sentences, quotes = read_message(text, asked=bool(asked))
    place = 0
    while place < len(sentences):
        reading = sentences[place].reading
        if reading in ("plain", "question", "refused"):
            place += 1
            continue
        start, end = _find_extent(sentences, place)
        if capture := _make_capture(sentences, (start, place, end), quotes, before):
            yield capture
        place = end


def _make_capture(
    sentences: Sequence[ReadSentence],
    extent: tuple[int, int, int],
    quotes: Sequence[str],
    before: Sequence[Turn],
) -> Capture | None:
    """The statement of these sentences, if it can be understood by itself."""
    start, place, end = extent
    if sentences[place].reading == "announced" and end - place == 1:
        return None
    marked = [each for each in sentences[place:end] if each.reading == "stated"]
    category = (marked[0].category if marked else None) or _OTHER
    said = [sentence.text for sentence in sentences[start:end]]
    asked = ""
    if pattern("anaphoric").search(_drop_lead(said[0])):
        _, colon, named = said[0].partition(": ")
        asked = _find_question(before) if start == 0 else ""
        if colon and len(_WORD.findall(named)) > _STATEMENT_WORDS_MIN:
            said[0], asked = named, ""
        elif not asked:
            return None
    statement = f"{asked} {_finish(said, quotes)}".strip()
    whole = statement.lower()
    personal = bool(find_facts(statement, supposed=True))
    ordered = any(each.ordered for each in marked)
    words_min = _ORDERED_WORDS_MIN if ordered else _STATEMENT_WORDS_MIN
    brief = len(_WORD.findall(statement)) < words_min and not personal
    trivial = category == "lesson" and pattern("trivial").search(whole) is not None
    if brief or (trivial and not ordered):
        return None
    return Capture(
        statement[: _STATEMENT_CHARS_MAX + _CONTEXT_CHARS_MAX],
        category,
        everywhere=personal or pattern("everywhere").search(whole) is not None,
        sure=any(each.sure for each in marked),
    )


def _find_extent(sentences: Sequence[ReadSentence], place: int) -> tuple[int, int]:
    """From where to where a statement goes whose mark is the sentence at `place`."""
    start, end = place, place + 1
    first = sentences[place]
    vague = pattern("anaphoric").search(_drop_lead(first.text))
    if vague and place and sentences[place - 1].reading not in ("question", "refused"):
        start -= 1
    brief = len(_WORD.findall(first.text)) <= _ANNOUNCEMENT_WORDS_MAX
    wanted = 1 if first.reading == "announced" or (first.category == "lesson" and brief) else 0
    while end < len(sentences) and end - start < _SENTENCES_MAX:
        following = sentences[end]
        if following.reading in ("question", "refused") or _is_order(following.text):
            break
        goes_on = pattern("continues").search(following.text.lower())
        if not goes_on and not wanted:
            break
        wanted = max(0, wanted - 1)
        end += 1
    return start, end


# What the message consists of


def read_message(text: str, *, asked: bool = False) -> tuple[list[ReadSentence], list[str]]:
    """The sentences of a message, each with what it is, and its quotes.

    `asked`: it follows a question of the assistant's.
    """
    own = straighten_quotes(drop_code(separate_recalled(text[:MESSAGE_CHARS_MAX]).own))
    own, _ = _cut_retracted(_MASKS.sub("", _drop_pasted(own)))
    quotes: list[str] = []

    def mask(found: re.Match[str]) -> str:
        quotes.append(found.group())
        return chr(_MASK + len(quotes) - 1)

    masked = _QUOTED.sub(mask, own)
    if lone := _OPEN_QUOTE.search(masked):  # a quote that is never closed holds all that follows
        masked = masked[: lone.start()]
    doubts = ("message",) if pattern("message").search(masked.lower()) else ()
    parts = _join_orders_to_keep(
        part
        for said in split_sentences(masked)
        for clause in _split_question(said)
        for part in _split_order(clause)
    )
    reasons = len(parts) > 1 or pattern("consequence").search(masked.lower()) is not None
    read = [_read_sentence(said, quotes, doubts, reasons=reasons) for said in parts]
    pasted = len(own.split()) < len(text.split())
    return _mark_stated(_describe(read, asked=asked, pasted=pasted)), quotes


def _describe(read: Sequence[ReadSentence], *, asked: bool, pasted: bool) -> list[ReadSentence]:
    """The sentences with what each of them is judged by."""
    texts = [_MASKS.sub("\ufffc", each.text) for each in read]
    return [
        replace(
            sentence,
            features=describe_sentence(
                place,
                texts,
                asked=asked,
                told=bool(find_facts(sentence.text, supposed=True)),
                lasts=sentence.lasts,
                pasted=pasted,
                doubts=sentence.doubts,
                named=sentence.named,
            ),
            terms=tuple(extract_terms(texts[place])),
        )
        for place, sentence in enumerate(read)
    ]


def _mark_stated(read: Sequence[ReadSentence]) -> list[ReadSentence]:
    """The sentences, those marked that are likely to be worth keeping."""
    marked: list[ReadSentence] = []
    message = weigh_message([(each.features, each.terms) for each in read])
    for sentence in read:
        fit = not sentence.never and sentence.reading != "announced"
        told = sentence.features, sentence.terms
        kept = judge_sentence(*told, message, sentence.named) if fit else None
        if fit and sentence.ordered and _NOT_MEANT.isdisjoint(sentence.doubts):
            category = (kept and kept.category) or sentence.named or _OTHER
            kept = Kept(category, sure=not sentence.doubts)
        if kept:
            stated = replace(sentence, reading="stated", category=kept.category, sure=kept.sure)
            marked.append(stated)
        else:
            marked.append(sentence)
    return marked


def _join_orders_to_keep(parts: Iterable[str]) -> list[str]:
    """The sentences, "remember that" as a part of the one before it, which it is about."""
    joined: list[str] = []
    for part in parts:
        if joined and pattern("keep_that").fullmatch(part.lower()):
            joined[-1] = f"{joined[-1].rstrip(_ENDS)}, {part}"
        else:
            joined.append(part)
    return joined


def _split_question(said: str) -> tuple[str, ...]:
    """A statement that ends in a question, as two sentences."""
    if not _asks(said):
        return (said,)
    turn = pattern("turns_to_ask").search(said.lower())
    if not turn or _asks(said[: turn.start()]) or pattern("supposes").search(said.lower()):
        return (said,)
    return said[: turn.start()], said[turn.start() + 1 :].strip()


def _split_order(said: str) -> tuple[str, ...]:
    """A statement that ends in an order, as two sentences."""
    if _asks(said) or begins_with_order(said) or pattern("supposes").search(said.lower()):
        return (said,)
    for found in _ORDER_AHEAD.finditer(said):
        brief = len(_WORD.findall(said[: found.start()])) < _STATEMENT_WORDS_MIN
        if not brief and begins_with_order(said[found.end() :]):
            return said[: found.start()], said[found.end() :]
    return (said,)


def _asks(said: str) -> bool:
    """Whether it is a question, by its sign or its form."""
    sign = said.rstrip(_AFTER_MARK).endswith(_MARKS)
    return sign or pattern("asks").search(said.lower()) is not None


def _cut_retracted(text: str) -> tuple[str, int | None]:
    """What follows the last word of the user's that takes something back, and where the first is.

    A correction ("no wait, we rebase") takes something back only where a statement follows.
    """
    lowered = text.lower()
    found = [*pattern("retracts").finditer(lowered)] or [
        each
        for each in pattern("corrects").finditer(lowered)
        if not begins_with_order(text[each.end() :])
    ]
    return (text[found[-1].end() :], found[0].start()) if found else (text, None)


def _drop_pasted(text: str) -> str:
    """The text without what a program or somebody else wrote, as far as its words show."""
    if announced := pattern("hands_over").search(text.lower()):
        text = text[: announced.start()]
    lines = text.splitlines()
    kept: list[str] = []
    for place, line in enumerate(lines):
        if line.lstrip().startswith((">", "|")):
            continue
        if len(lines) > 1 and (is_program_line(line) or pattern("label").match(line.strip())):
            break  # what follows is of a piece with it
        if line[:1].isspace() and line.strip() and kept and not _is_item(line):
            break
        kept.append(line)
        follows = "".join(lines[place + 1 : place + 2]).strip()
        if (
            follows
            and pattern("pasted").fullmatch(line.lower())
            and not pattern("own_list").search(line.lower())
        ):
            break
    return "\n".join(kept)


def _is_item(line: str) -> bool:
    return line.lstrip()[:1] in "-*•"


def _read_sentence(
    said: str, quotes: Sequence[str], doubts: Sequence[str], *, reasons: bool
) -> ReadSentence:
    """What a sentence is, and what speaks against it, beside the doubts about the whole message.

    `reasons`: it may be the reason for something else in the message.
    """
    text = _MASKS.sub("\ufffc", said).lower()
    plain = _drop_lead(said)
    lasts = matches("capture", "lasting", text) or _tells_home(find_facts(said, supposed=True))
    worth = judge_worth(plain)
    sort = worth.sort if isinstance(worth, Chatter) else ""
    speaks = {
        "question": _asks(said),
        "never": matches("capture", "never", text),
        "moment": matches("capture", "moment", text) and not lasts,
        "quotation": _holds_quotation(said, quotes) or matches("capture", "borrowed", text),
        "long": len(said) > _SENTENCE_CHARS_MAX,
        sort: bool(sort) and (not lasts or sort in ("question", "output")),
    }
    against = (*doubts, *(name for name, holds in speaks.items() if holds))
    never = said.rstrip(_AFTER_MARK).endswith(_MARKS) or not _NEVER.isdisjoint(against)
    ordered = pattern("ordered").search(text) is not None
    named = _find_category(plain if ordered else said, reasons=reasons)
    reading: Reading = "question" if "question" in against else "refused" if against else "plain"
    brief = len(_WORD.findall(plain)) < (_ORDERED_WORDS_MIN if ordered else _STATEMENT_WORDS_MIN)
    announces = ordered or matches("capture", "announces", text)
    if not against and announces and (brief or said.endswith(":")):
        reading = "announced"
    sure = isinstance(worth, Keep) and worth.sure
    return ReadSentence(
        said, reading, None, named, doubts=against, lasts=sure, never=never, ordered=ordered
    )


def _tells_home(told: Iterable[ProfileFact]) -> bool:
    """Whether it is said where the user lives, which outlasts the moment."""
    return any(fact.field == "city" and fact.holds for fact in told)


def _find_category(said: str, *, reasons: bool) -> CaptureCategory | None:
    """The category of a sentence that nothing speaks against, by what marks it in so many words."""
    text = _MASKS.sub("\ufffc", said).lower()
    announces = matches("capture", "announces", text)
    reports = matches("capture", "broken", text)
    told = find_facts(said, supposed=True)
    if _tells_home(told):  # to move house decides nothing for others
        return "fact"
    for category in _CATEGORIES:
        if not (reports and category in _STATES) and matches("capture", category, text):
            return category
    if told or (announces and not reports):
        return "fact"
    weak = _AS_REASON if reasons and not reports else ()
    return next((each for each in weak if matches("capture", f"{each}_as_reason", text)), None)


def _holds_quotation(said: str, quotes: Sequence[str]) -> bool:
    """Whether it quotes a sentence rather than a name or an example."""
    return any(
        len(_WORD.findall(quote)) >= _QUOTE_WORDS_MIN
        for mark in _MASKS.findall(said)
        for quote in quotes[ord(mark) - _MASK : ord(mark) - _MASK + 1]
        if not quote.startswith("`")
    )


# What is only understood with what was said before


def _read_answer(text: str, before: Sequence[Turn]) -> Capture | None:
    """The decision in an answer that picks one of several options."""
    if not before or before[-1].role != "assistant":
        return None
    offered = before[-1].content
    sentences, quotes = read_message(text)
    if not sentences or sentences[0].reading in ("question", "refused"):
        return None
    first = sentences[0].text
    found = pattern("it_is").search(first.lower()) or pattern("picks").search(first.lower())
    if not found or not _is_option(found[found.lastgroup or 0], offered):
        return None
    end = 1
    while end < min(len(sentences), _SENTENCES_MAX):
        if sentences[end].reading in ("question", "refused") or _is_order(sentences[end].text):
            break
        end += 1
    reason = " ".join([first[found.end() :], *(each.text for each in sentences[1:end])])
    if len(_WORD.findall(reason)) < _STATEMENT_WORDS_MIN:  # without one it may be for this once
        return None
    asked = _find_topic(before)
    statement = _finish([sentence.text for sentence in sentences[:end]], quotes)
    return Capture(f"{asked} {statement}".strip(), "decision")


def _is_order(said: str) -> bool:
    """Whether it asks for something to be done now."""
    return pattern("order").search(said.lower()) is not None or isinstance(
        judge_worth(said), Chatter
    )


def _is_option(value: str, offered: str) -> bool:
    """Whether what is picked is among several things that were offered to be chosen from."""
    if pattern("no_option").search(value):
        return False
    choice = re.search(r"\b(?:or|oder|either|entweder|both|beide)\b|;", offered.lower())
    named = "|".join(re.escape(word) for word in _WORD.findall(value) if len(word) > 2)  # noqa: PLR2004
    if not choice or not named:
        return False
    # a thing has a capital or an article before it; a step of the work has neither
    capital = rf"(?:(?<![.!?] )|^)\b(?=[A-ZÄÖÜ])(?i:{named})\b"
    article = (
        rf"(?i:\b(?:an?|by|at|with|via|for|on|in|eine?[nmr]?|mit|bei|per) +(?:\w+ +)?(?:{named})\b)"
    )
    return re.search(f"{capital}|{article}", offered) is not None


def _find_topic(before: Sequence[Turn]) -> str:
    """The question to which the options were offered: the user's, else the assistant's own."""
    asked = [turn.content for turn in before[-2:] if turn.role == "user"]
    for text in asked:
        if text.rstrip().endswith("?") and len(text) <= _CONTEXT_CHARS_MAX:
            return " ".join(text.split())
    return _find_question(before)


def _find_question(before: Sequence[Turn]) -> str:
    """The question with which the assistant ended, if it is no longer than a context may be."""
    if not before or before[-1].role != "assistant":
        return ""
    last = split_sentences(separate_recalled(before[-1].content).own)[-1:]
    return next(
        (said for said in last if said.endswith("?") and len(said) <= _CONTEXT_CHARS_MAX), ""
    )


def _find_proposal(before: Sequence[Turn]) -> str:
    """The one proposal of the assistant, if there is one alone and it is a choice for good."""
    offered = [turn.content for turn in before[-1:] if turn.role == "assistant"]
    own = straighten_quotes(drop_code(separate_recalled("".join(offered)).own))
    proposals = [said for said in split_sentences(own) if pattern("proposal").search(said.lower())]
    if len(proposals) != 1 or len(proposals[0]) > _CONTEXT_CHARS_MAX:
        return ""
    lowered = proposals[0].lower()
    if re.search(r"\b(?:or|oder)\b", lowered) or not pattern("choice").search(lowered):
        return ""
    agreed = "Vereinbart" if pattern("german").search(lowered) else "Agreed"
    return f"{agreed}: {pattern('proposes').sub(lambda found: found['what'] or '', proposals[0])}"


# How it reads


def _finish(said: Sequence[str], quotes: Sequence[str]) -> str:
    """The sentences as one statement: without what leads in, with the quotes, about the user."""
    text = " ".join([_drop_lead(said[0]), *said[1:]])
    if order := pattern("keep_that").search(text.lower()):
        text = text[: order.start()]
    text = _MASKS.sub(lambda mark: quotes[ord(mark.group()) - _MASK], text).strip()
    text = _name_user(text[:1].upper() + text[1:])
    return text if text[-1:] in _ENDS else f"{text}."


def _name_user(text: str) -> str:
    """The text about "the user", if only its beginning speaks in the first person."""
    found = pattern("first_person").match(text)
    if not found or pattern("speaker").search(text, found.end()):
        return text
    says = f"{found['adverb']}{found['verb']}s"
    says = "is" if found["am"] is not None else "has" if found["have"] else says
    return f"The user {says}{text[found.end() :]}"


def _drop_lead(said: str) -> str:
    lead = pattern("lead").match(said)
    rest = said[lead.end() :].lstrip(" ,:-") if lead else said
    return _make_main_clause(rest) if lead and lead.group().endswith("dass ") else rest


def _make_main_clause(clause: str) -> str:
    """A German clause behind "dass" as a sentence: its verb goes behind its subject.

    It stays as it is where its subject or its verb cannot be told.
    """
    found = _DASS_CLAUSE.match(clause)
    if not found:
        return clause
    verb = _SEPARABLE.fullmatch(found["verb"])
    stem, prefix = (verb["stem"], f" {verb['prefix']}") if verb else (found["verb"], "")
    return f"{found['subject']} {stem}{found['middle']}{prefix}{clause[found.end() :]}"
