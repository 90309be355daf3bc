"""Match."""

import re
from collections.abc import Iterator
from typing import Final

from memory_mcp.domain.profile import MANY, ProfileFact
from memory_mcp.text.profile.german import GERMAN, GERMAN_AFTER, GERMAN_SUBJECT
from memory_mcp.text.profile.orders import IMPERATIVES
from memory_mcp.text.profile.phrases import (
    AGAIN,
    APPOSED,
    BARE_NAME,
    BE,
    COMPLEMENTS,
    DENIED_BE,
    DENIED_VERB,
    I_AM,
    OWN,
    SUBJECT,
    VERBS,
    Phrase,
)
from memory_mcp.text.profile.values import facts_of
from memory_mcp.text.sentences import plain_quotes, sentences, without_code

_SENTENCE_CHARS_MAX: Final = 400
"""A longer one is a document's, and would take the patterns long."""

_STAGED: Final = re.compile(
    r"\b(?:translat(?:e|ion)|übersetz\w*|sample text|example sentences?|lyrics|role-?play\w*|"
    r"pretend\w*|imagine|fictional|persona|test data|fixtures?|placeholder|dummy|lorem|"
    r"beispielsatz|stell dir vor|rollenspiel|testdaten)\b",
    re.IGNORECASE,
)
_HEARSAY: Final = re.compile(
    r"\b(?:said|says|told|tells|wrote|writes|asked|asks|claim(?:s|ed)|replied|reads|sings?|sang|"
    r"quot(?:e|es|ed)|for example|for instance|sagte?|meinte|schrieb|fragte|behauptete?|erzählte?|"
    r"zum beispiel|lautet)\b|\be\.g\.|\bz\.b\.|\ufffc",
    re.IGNORECASE,
)
_OURS: Final = re.compile(
    r"\b(?:that said|(?:the |this |our )?user (?:said|says|told me|mentioned)(?: that)?)\b",
    re.IGNORECASE,
)
_SPEAKER: Final = re.compile(r"[A-ZÀ-Þ]\w*(?: [A-ZÀ-Þ]\w*)?(?: \([^)]*\))?:\s")
_FRAMED: Final = re.compile(
    r"[^.!?:]{0,60}\b(?:prompts?|signatures?|templates?|e-?mails?|mails?|messages?|scripts?|"
    r"characters?|examples?|quotes?|outputs?|inputs?|drafts?|novel|story|scene|dialogue|chapter|"
    r"demo|vorlage|signatur|beispiel|roman|geschichte|figur)\b[^.!?:]{0,40}:(?=\s|$)\s*",
    re.IGNORECASE,
)
"""What a text is announced as that speaks for nobody, or for somebody else."""
_TITLES: Final = re.compile(
    r"(?:note|user|human|me|update|remember|fyi|important|info|profile|correction|news|hinweis|"
    r"about me|reminder|wichtig|merke|background|personal|preference|preferences|summary|nutzer):"
    r"\s",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(
    r"\"([^\"\n]{0,400})\"|[»«]([^»«\n]{0,400})[»«]"
    r"|(?<!\w)'([^'\n]{3,400})'(?!\w)|`([^`\n]{0,400})`"
)
_PROPER: Final = re.compile(r"[A-ZÀ-Þ][\w-]*(?: [A-ZÀ-Þ][\w-]*)?")
_HOLE: Final = "\ufffc"  # stands for what was said by somebody else


def said_outright(text: str) -> Iterator[str]:
    """The sentences said outright: no code, no quote, no other speaker's turn, no question."""
    if _STAGED.search(text):
        return
    plain = plain_quotes(without_code(text))
    plain = plain.replace("I've ", "I have ").replace("I'd ", "I would ")
    plain = _QUOTED.sub(_unquoted, plain)
    for line in plain.splitlines():
        stripped = line.strip()
        if stripped.startswith(">"):
            continue
        if framed := _FRAMED.match(stripped):
            if framed.end() == len(stripped):  # all that follows is in it
                return
            continue
        if _SPEAKER.match(stripped) and not _TITLES.match(stripped):
            continue
        for whole in sentences(stripped):
            if len(whole) > _SENTENCE_CHARS_MAX or whole.rstrip("\"')]}*_").endswith("?"):
                continue
            if not _HEARSAY.search(_OURS.sub("", whole)):
                yield whole


def _unquoted(found: re.Match[str]) -> str:
    """A name in quotes is a name; anything longer was said by somebody, or is code."""
    inside = next((part for part in found.groups() if part is not None), "")
    return inside if _PROPER.fullmatch(inside) else _HOLE


_Told = tuple[list[ProfileFact], int]
"""Facts, and where in the sentence what says them ends."""

_HINT: Final = re.compile(
    r"\b(?:i|i'm|my|me|users?|user's|be|keep|answer(?:ing)?|reply(?:ing)?|respond|write|speak|"
    r"talk|use|communicate|ich|meine?|mich|mir|nutzer(?:s|in)?|benutzer(?:s|in)?|anwender(?:s|in)?|bitte|antworten?|"
    r"sprich|schreibe?|fass|fasse)\b",
    re.IGNORECASE,
)
_DOUBT: Final = re.compile(
    r"(?i:\b(?:if|unless|when|whenever|whether|suppos\w+|would|could|might|maybe|perhaps|possibly|"
    r"probably|wish\w*|hop(?:e|es|ing)|dream\w*|plan\w*|want|wants|will|thinks?|believes?|guess|"
    r"(?:not|un)sure|(?:not|un)true|false|wrong|lie|joke|kidding|until|before|once|some ?day|"
    r"one day|what|how|why|where|like when|as though|according|wenn|falls|ob|vielleicht|"
    r"angenommen|würde\w*|könnte\w*|hätte\w*|wäre\w*|möglicherweise|wahrscheinlich|eines tages|"
    r"bevor|bis|als|dass)\b)"
    r"|\bmay\b"
)
_LEAD: Final = re.compile(
    r"(?i:(?:(?:hi|hello|hey|yes|well|ok|okay|actually|btw|by the way|"
    r"fyi|for your information|for the record|for (?:context|reference)|note|note to self|"
    r"remember|please note|please remember|keep in mind|just so you know|as of (?:now|today|\d{4})|"
    r"currently|now|nowadays|these days|at the moment|since \w+(?: \d{4})?(?=,| I\b)|"
    r"since [^,]{1,30}(?=,)|in fact|update|also|and|but|no|"
    r"so|correction|important|news|about me|user|me|profile|that said|"
    r"(?:in (?:\w+ )?\d{4}|last \w+|this \w+)(?=,? (?:I|(?:the )?user) (?:have |has |just |"
    r"finally )*"
    r"(?:moved|relocated|left|quit))|recently|übrigens|hallo|ja|also|zur info|info|merke|"
    r"merk dir|wichtig|hinweis)"
    r"(?:[,:!]|\b)\s*(?:(?:that|dass)\s)?)*)"
)
_CONNECTED: Final = re.compile(
    r"(?:,\s*(?:and|but|so|und|aber|denn)\s+|[,;]\s*|\s(?:and|but|so|because|since|und|aber|weil|"
    r"denn)\s+|\s[-\u2013\u2014]\s|\s\()(?:also\s|now\s|currently\s)?"
)
_VERB: Final = re.compile(
    r"(?:(?:have|has)\s.{0,12})?(?:li[vk]|resid|mov|relocat|left|work|go(?:es)? by|introduc|"
    r"speak|use|was born|prefer|want|would|appreciat|been liv|quit|lost|gave up|resign)"
)
_BY_THEMSELVES: Final = (
    (
        re.compile(r"(?:my|(?:the |this |our )?users?'|(?:the )?name of)\b|users'", re.IGNORECASE),
        OWN,
    ),
    (
        re.compile(
            r"(?:please|always|from|kindly|every(?:one|body)|people|friends|just|you|feel|call|address|"
            r"answer|reply|respond|write|speak|talk|communicate|use|keep|be|don't|do|stop|never)\b",
            re.IGNORECASE,
        ),
        IMPERATIVES,
    ),
    (
        re.compile(
            r"(?:seit|inzwischen|mittlerweile|jetzt|nun|aktuell|derzeit|zurzeit|momentan|gerade|"
            r"übrigens|heute|meine?|der|die|bitte|nenn\w*|ich|antworten?|sprich|schreibe?|fasse?)\b",
            re.IGNORECASE,
        ),
        GERMAN,
    ),
)
"""Phrases with no subject of their own, and what they begin with."""
_GOES_ON: Final = re.compile(
    r",?\s*(?:and|but|und)(?: (?:she|he|they|also|now|currently))*|,(?: who)?"
)
_TRADE: Final = re.compile(r",? ")


_OF_THE_USER: Final = re.compile(
    r"(?:I|I'm|I am|my|we|our|(?:the |this |our )?user(?:'s)?|call|answer|reply|respond|ich|wir|"
    r"meine?|(?:der|die) (?:nutzer|nutzerin|benutzer|benutzerin|anwender|anwenderin))\b"
    r"|(?:born|after (?:\w+ ){1,3}in|thanks|thank you|nice to meet you|good (?:morning|evening|"
    r"day)|"
    r"(?:for|after) (?:\w+ ){1,3}years?|guten (?:tag|morgen|abend)|danke)\b",
    re.IGNORECASE,
)
"""What may stand before a statement without being a frame for it, as a novel or a demo would be."""
_TAKEN_BACK: Final = re.compile(
    r"\b(?:or at least|kidding|joking|jokes?|haha\w*|lol|jk|came back|and back|moved back|until|"
    r"till|"
    r"no more|not really|hypothetically|theoretically|in theory|on paper|for the sake|at heart|"
    r"no,? wait|then (?:back )?to|figuratively|metaphorically|so to speak|half the time|"
    r"on (?:weekends|weekdays)|in (?:my|the|this|a|an|our) (?:novel|story|game|dreams?|book|film|"
    r"movie|play|examples?|simulation|role|sketch|mind|head)|"
    r"for (?:a|one|two|three|four|the|this) (?:few |couple of )?(?:days?|nights?|weeks?|weekend|"
    r"months?|summer|winter|semester|conference|project|holidays?|trip|while|visit)|"
    r"im (?:spiel|roman|traum|film|beispiel)|scherz|spaß|quatsch)\b|\((?:test|demo|dummy|example)",
    re.IGNORECASE,
)
"""What follows a statement and takes it back, or says that it was never for long."""


def facts_in(text: str) -> tuple[ProfileFact, ...]:
    """What the text says of the user; of a field with one value the last, denials included."""
    if not _HINT.search(text):
        return ()
    found: list[ProfileFact] = []
    for sentence in said_outright(text):
        for fact in _said(sentence):
            found = [f for f in found if not _replaced(f, fact)]
            found.append(fact)
    return tuple(found)


def _replaced(old: ProfileFact, new: ProfileFact) -> bool:
    """Whether the later statement takes the place of the earlier one."""
    if old.field != new.field:
        return False
    if old.same_as(new) or not (new.holds or new.value):
        return True
    return old.holds and new.holds and old.field not in MANY


def _said(sentence: str) -> Iterator[ProfileFact]:
    """The facts of a sentence, clause by clause."""
    lead = _LEAD.match(sentence)
    starts = [lead.end() if lead else 0, *(m.end() for m in _CONNECTED.finditer(sentence))]
    reached = 0
    for start in dict.fromkeys([0, *starts]):
        if start < reached or _DOUBT.search(sentence, 0, start):
            continue
        begun = lead.end() if lead else 0
        if start > begun and not reached and not _OF_THE_USER.match(sentence, begun):
            return  # what stands before it may be a frame: a novel, a demo, another time
        for facts, end in _clause(sentence, start):
            if _TAKEN_BACK.search(sentence, end):
                return
            yield from facts
            reached = end


def _clause(sentence: str, start: int) -> Iterator[_Told]:
    """What the clause that begins here says, and where that ends; then what it goes on to say."""
    if german := GERMAN_SUBJECT.match(sentence, start):
        told = _first(GERMAN_AFTER, sentence, german.end())
        while told:
            yield told
            more = _GOES_ON.match(sentence, told[1])
            told = _first(GERMAN_AFTER, sentence, more.end()) if more else None
        return
    subject = SUBJECT.match(sentence, start)
    told = _predicate(sentence, subject.end()) if subject else None
    if not told and (begun := I_AM.match(sentence, start)):
        told = _first((BARE_NAME,), sentence, begun.end())
    for cue, phrases in _BY_THEMSELVES:
        if not told and cue.match(sentence, start):
            told = _first(phrases, sentence, start)
    while told:
        yield told
        more = _GOES_ON.match(sentence, told[1])
        trade = _TRADE.match(sentence, told[1])
        told = _predicate(sentence, more.end()) if more else None
        told = told or (_first(APPOSED, sentence, trade.end()) if trade else None)


def _predicate(sentence: str, start: int) -> _Told | None:
    """A verb with its value after a subject, denied or not."""
    for opening, phrases, holds in (
        (DENIED_BE, COMPLEMENTS, False),
        (DENIED_VERB, VERBS, False),
        (BE, COMPLEMENTS, True),
        (AGAIN, VERBS, True),
    ):
        begun = opening.match(sentence, start)
        if begun is None or (phrases is VERBS and not _VERB.match(sentence, begun.end())):
            continue
        if told := _first(phrases, sentence, begun.end(), holds=holds):
            return told
    return None


def _first(
    phrases: tuple[Phrase, ...], sentence: str, start: int, *, holds: bool = True
) -> _Told | None:
    """The first phrase that matches here and makes sense."""
    for phrase in phrases:
        found = phrase.compiled.match(sentence, start)
        if found and (facts := facts_of(phrase, found, holds=holds)):
            return facts, found.end()
    return None
