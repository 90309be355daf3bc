"""How people say what is true of themselves, and how agents note it of "the user".

Each phrase is matched where a clause begins and only if the clause ends where its value ends: what
is merely like a statement does not match. `v` is the value of the phrase's field, `org` and
`place` are values that may come along.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from memory_mcp.domain.profile import Field
from memory_mcp.text.profile.words import JOBS, LANGUAGES, TONES

__all__ = [
    "AGAIN",
    "APPOSED",
    "BARE_NAME",
    "BE",
    "CAP",
    "COMPLEMENTS",
    "DENIED_BE",
    "DENIED_VERB",
    "END",
    "I_AM",
    "LANGS",
    "LAST",
    "NAME",
    "ORG",
    "OWN",
    "PLACE",
    "SUBJECT",
    "TONED",
    "VERBS",
    "ZONE",
    "Phrase",
    "one_of",
    "phrase",
]


@dataclass(frozen=True)
class Phrase:
    """A pattern and the field of its value. `moves`: what was said of the place before is over."""

    field: Field
    pattern: str
    holds: bool = True
    moves: bool = False

    @property
    def compiled(self) -> re.Pattern[str]:
        """Compiled when a text first asks for it: most processes never do."""
        return _compiled(self.pattern)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def phrase(field: Field, pattern: str, *, holds: bool = True, moves: bool = False) -> Phrase:
    """A phrase; `(?i:…)` stands in the pattern itself, for names are told by their capitals."""
    return Phrase(field, pattern, holds, moves)


def one_of(words: "frozenset[str] | dict[str, str]") -> str:
    """Any of these words, the longest first."""
    return "(?i:" + "|".join(sorted(map(re.escape, words), key=lambda w: (-len(w), w))) + ")"


_UP: Final = "[A-ZÀ-ÖØ-ÞĀĆČĎĐĒĘĚĞĢĪİĶĹĻĽŁŃŅŇŌŐŒŔŘŚŞŠŢŤŪŮŰŲŹŻŽȘȚ]"
CAP: Final = rf"(?:St\.|{_UP}[\w]*(?:['-]\w+)*)"
_GIVEN: Final = rf"(?:{_UP}[^\W\d_]*[a-zß-ÿā-ž](?:['-][^\W\d_]+)*|{_UP}\.)"
NAME: Final = (
    rf"(?:{_GIVEN}(?: (?:van|von|de|da|del|der|la|le|bin|al|zu))*(?: {_GIVEN}){{0,2}}|"
    rf"{_UP}{{2,3}}\b)"
    rf"(?! {_UP})(?!['\w-])"
)
PLACE: Final = (
    rf"(?:the )?{CAP}(?:[ -](?:(?:am|an der|de|del|la|of|upon|on|do|da|les|le|sur|im) "
    rf")?{CAP}){{0,3}}"
)
ORG: Final = rf"(?:the )?{CAP}(?:(?: |-| & | (?:of|and|for|de|für|der) ){CAP}|\.\w+){{0,4}}"
LANG: Final = one_of(dict(LANGUAGES)) + r"\b"
LANGS: Final = rf"{LANG}(?:(?:,? (?:and|und|as well as|sowie) |, ){LANG})*"
_TONE: Final = one_of(dict(TONES)) + r"\b"
TONED: Final = rf"{_TONE}(?:(?:,? (?:and|but|und|aber) |, | ){_TONE}){{0,3}}"
JOB: Final = rf"(?:(?!(?:as|an?|the|of)\b)[\w-]+ ){{0,3}}?{one_of(JOBS)}\b"

_UNSURE: Final = (
    r"(?:if|unless|provided|assuming|in my dreams|in theory|on paper|right\b|until|till|soon|"
    r"(?:some|one) day|next \w+|in spirit|in (?:the|a) (?:game|story|novel|film|simulation)|"
    r"wenn|falls|sofern|bis|bald|sobald)\b"
)
END: Final = (
    r"(?=\s*(?:$|[.!;)]|\(|,(?!\s*" + _UNSURE + r")|\s[-\u2013\u2014]\s|"
    r"\s(?i:and|but|with|since|now|because|so|which|who|near|again|currently|too|please|though|"
    r"right now|these days|at the moment|for (?:now|good|(?!the\b)[\w ]{1,12} (?:years|decades))|"
    r"as (?:an?|well)|und|aber|mit|seit|jetzt|weil|denn|wo|bitte|"
    r"(?:any ?more|any longer)(?=[.,;!]|$))\b))"
)
LAST: Final = r"(?=\s*(?:$|[.!]|,? (?i:please|from now on|always|by default|thanks|bitte)\b))"
"""An order ends with its value: what follows would say when it holds."""
_JOB_END: Final = rf"(?={END}|\s(?:at|for|with|in|on|from)\b)"
_ORG_END: Final = rf"(?={END}|\s(?:as|in|on|from)\b)"

_SPOKEN: Final = r"(?:said|says|mentioned|stated|shared|confirmed|told me|noted|explained)"
I_AM: Final = re.compile(r"I(?:'m| am)(?: (?:currently|now|still|just|also))* ")
SUBJECT: Final = re.compile(
    r"(?:I\b|(?i:(?:the |this |our )?user\b)"
    rf"(?: {_SPOKEN}(?: that)? (?:he|she|they|he/she|s/he|they)\b)?)(?!-|'s? \w+ (?:is|are)\b)"
)
_ADVERB: Final = (
    r"(?:(?: (?:currently|now|still|just|recently|also|actually|really|usually|generally|mostly|"
    r"always|typically|strongly|finally|already|presently|mainly|normally|officially|do|does))*)"
)
BE: Final = re.compile(rf"(?:'m| am|'s| is|'re| are){_ADVERB} ")
DENIED_BE: Final = re.compile(
    rf"(?:'m| am|'s| is|'re| are){_ADVERB} (?:no longer|not)(?: \w+ly)? |"
    r" (?:isn't|aren't)(?: \w+ly)? "
)
DENIED_VERB: Final = re.compile(
    r"(?: (?:have|has))? (?:no longer|don't|doesn't|do not|does not|never)(?: (?:really|"
    r"actually))? "
)
AGAIN: Final = re.compile(rf"{_ADVERB} ")

_AT: Final = rf"(?: (?:at|for|with) (?P<org>{ORG}){_ORG_END})?"
_HAS: Final = r"(?:(?:have|has)(?: (?:just|recently|now|finally))? )?"
_QUIT: Final = rf"{_HAS}(?:quit|left|lost|gave up|resigned from) "
ZONE: Final = (
    r"(?P<v>(?:[A-Z][A-Za-z]+(?:/[A-Z][A-Za-z_]+(?:-[A-Za-z]+)*){1,2}|(?:UTC|GMT)"
    r"(?:\s?[+-]\d{1,2}(?::[0-5]\d)?)?|CET|EET|WET)(?![\w/+]))"
)
_MONTHS: Final = (
    "(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    "Jan|"
    "Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)"
)
_DAY: Final = (
    r"(?P<v>(?:\d{1,2}(?:st|nd|rd|th)?(?: of)? (?:MON)|(?:MON) \d{1,2}(?:st|nd|rd|th)?)"
    r"(?:,? (?:19|20)\d\d)?|(?:19|20)\d\d-\d\d-\d\d)(?!\w)"
).replace("MON", _MONTHS)
_PRONOUNS: Final = (
    r"(?P<v>(?i:(?:she|he|they|xe|ze|it|sie|er)/(?:her|him|them|they|xem|hir|its|ihr|ihm|she|he)"
    r"(?:/\w+)?))(?!/)"
)
_REPLIES: Final = (
    r"(?:answers?|replies|responses?|explanations?|communication|style|tone|language|output|"
    r"messages|summaries|writing|feedback|conversations?|writing style|communication style)\b"
)
_TOPIC: Final = (
    r"(?P<v>(?!(?i:hear|know|learn|see|try|us|buy|find|discuss|get|mak|hav|read|do|work|build|"
    r"writ|understand|explor|hir|join|sell|chang|mov|improv|add)\w*ing\b)"
    r"(?!(?i:whether|how|what|why|who|when|where|if|the|this|that|these|those|your|our|his|her|"
    r"it|"
    r"an?|more|any|all|some|both|either|feedback|details|updates)\b)"
    r"[\w'-]+(?: [\w'-]+){0,3}(?:, [\w'-]+(?: [\w'-]+){0,2})*(?:,? (?:and|und) [\w'-]+(?: "
    r"[\w'-]+){0,2})?)"
    r"(?=\s*(?:$|[.!;(]))"
)
_AIM: Final = (
    r"(?P<v>(?!to be (?:defined|decided|determined))(?:to (?=\w)|\w+ing\b|(?=\S+ \S+ \S+)"
    r"(?!not\b))"
    r"[^.!?;\n]{4,140}?)(?<!today)(?<!tonight)(?<!now)(?<!session)(?<!\bhere)"
    r"(?=\s*(?:$|[.!;]))"
)

VERBS: Final = (
    phrase("city", rf"(?:lives?|resides?)(?: and works?)?(?: (?:together )?with my [\w "
           rf"]{{1,20}}?)? in (?P<v>{PLACE})(?:, (?P<place>{PLACE}))?"
           rf"(?:,? but (?:now )?in (?P<instead>{PLACE}))?{END}"),
    phrase("city", rf"(?:have|has) (?:lived|been living) in (?P<v>{PLACE})(?:, "
           rf"(?P<place>{PLACE}))?"
           r"(?= (?:since|for|all)\b)"),
    phrase("city", rf"{_HAS}(?:moved|relocated)(?: back| over)?(?: from (?P<left>{PLACE}))? to "
           rf"(?P<v>{PLACE})(?:, (?P<place>{PLACE}))?(?={END}| (?:(?:in|since) (?:early |late |"
           rf"mid-)?(?:{_MONTHS}|20\d\d|spring|summer|"
           r"autumn|winter|fall)|last|this|for (?:good|work|(?:a|my|the) (?:new )?(?:job|partner|"
           r"wife|husband|girlfriend|boyfriend|family|studies|work))|a (?:few|year|month)|\w+ "
           r"(?:years|months) ago)\b)",
           moves=True),
    phrase("city", rf"{_HAS}moved (?:away|out) (?:from|of) (?P<v>{PLACE})(?={END}| "
           rf"(?:for good|in|last)\b)",
           holds=False),
    phrase("city", rf"{_HAS}left(?P<left>) (?P<v>{PLACE})(?={END}| (?:for good|in|last)\b)",
           holds=False),
    phrase("occupation", rf"{_QUIT}(?:my|his|her|their|the) "
           rf"(?:job|work|position) as an? (?P<v>{JOB})(?={END}| (?:at|in|last)\b)", holds=False),
    phrase("employer", rf"{_QUIT}(?:my|his|her|their|the) "
           rf"(?:job|work|position) (?:at|with) (?P<v>{ORG})(?={END}| (?:in|last)\b)", holds=False),
    phrase("occupation", rf"works? as (?:an? |the |our )(?P<v>[\w-]+(?: "
           rf"[\w-]+){{0,3}}?){_JOB_END}{_AT}"),
    phrase("occupation", rf"works? as (?P<v>{JOB}){_JOB_END}{_AT}"),
    phrase("employer", rf"works? (?:at|for) (?P<v>{ORG}){_ORG_END}(?: as (?:an? |the )"
           rf"(?P<job>{JOB}){_JOB_END})?"),
    phrase("name", rf"go(?:es)? by (?:the name (?:of )?)?(?P<v>{NAME})(?P<said>){END}"),
    phrase("name", rf"(?:prefers?|likes?|wants?) to be (?:called|addressed as) (?P<v>{NAME}){END}"),
    phrase("name", rf"introduced (?:him|her|them)(?:self|selves) as (?P<v>{NAME}){END}"),
    phrase("speaks", rf"speaks? (?:fluent |native |both )?(?P<v>{LANGS}){END}"),
    phrase("pronouns", rf"uses? (?:the pronouns )?{_PRONOUNS}(?: pronouns)?{END}"),
    phrase("birthday", rf"was born on (?:the )?{_DAY}(?={END}| in\b)"),
    phrase("tone", rf"(?:prefers?|likes?|wants?|would like|appreciates?) (?:to get |to have |my |"
           rf"your |its? |"
           rf"their |the |an? )?(?P<v>{TONED}) {_REPLIES}{END}"),
    phrase("tone", rf"(?:prefers?|likes?|wants?|would like) (?:my |your |the |all )?(?:answers|"
           rf"replies|responses|"
           rf"explanations) (?:to be |kept |that are |which are )?(?P<v>{TONED}){END}"),
    phrase("language", r"(?:prefers?|wants?|would like) (?:to (?:communicate|speak|talk|chat|"
           r"converse)|"
           r"(?:all )?(?:answers|replies|responses|communication|conversations?|messages)|to be "
           r"(?:answered|addressed)|"
           r"(?:me|you|us|the assistant) to (?:answer|reply|respond|write|speak)(?: to (?:me|"
           r"them))?)(?: to be)? "
           rf"(?:in )?(?P<v>{LANG}){END}"),
)  # fmt: skip
"""What follows "I" or "the user" as a verb."""

COMPLEMENTS: Final = (
    phrase("city", rf"(?:living|based|located|residing)(?: and working)? (?:in|out of) "
           rf"(?P<v>{PLACE})"
           rf"(?:, (?P<place>{PLACE}))?{END}"),
    phrase("name", rf"(?:called|named|known as) (?P<v>{NAME}){END}"),
    phrase("occupation", rf"(?:an? )(?P<v>{JOB}){_JOB_END}{_AT}"),
    phrase("occupation", rf"working as an? (?P<v>[\w-]+(?: [\w-]+){{0,3}}?){_JOB_END}{_AT}"),
    phrase("speaks", rf"fluent in (?P<v>{LANGS}){END}"),
    phrase("employer", rf"(?:employed (?:at|by)|working (?:at|for)) (?P<v>{ORG}){_ORG_END}"),
    phrase("interest", rf"(?:very |really |deeply |quite )?interested in {_TOPIC}"),
    phrase("time_zone", rf"(?:in|on) (?:the )?{ZONE}(?: time ?zone)?{END}"),
)  # fmt: skip
"""What follows "I am" or "the user is"."""

BARE_NAME: Final = phrase(
    "name",
    rf"(?P<v>{NAME})(?P<said>)(?P<bare>)"
    r"(?=\s*(?:$|[.!;(]|,(?! through)| (?:and|from|by the way)\b))",
)
"""What may follow "I am" alone: a user can be Premium."""

APPOSED: Final = tuple(p for p in COMPLEMENTS if p.field in ("city", "occupation"))
"""What may follow a name: "I'm Ada, a nurse"."""

_NEW: Final = (
    r"(?:(?:full|first|given|real|preferred|actual|current|new|present|main|home|native|own) )?"
)
_OF: Final = rf"(?i:my|(?:the |this |our )?user's|users') {_NEW}"
_IS: Final = r"(?:'s| is| are|:| =)(?: now| currently| still)? "
_BY_NAME: Final = r"(?i:(?:the )?name of the user)"


def _own(field: Field, labels: str, value: str, *, end: str = END) -> tuple[Phrase, Phrase]:
    """`My city is …` and `My city is not …`."""
    what = rf"(?:{_OF}(?i:{labels}))"
    other = value.replace("?P<v>", "?P<instead>").replace("?P<place>", "?:")
    return (
        phrase(field, rf"{what}{_IS}{value}{end}"),
        phrase(
            field,
            rf"{what}(?: is| are)(?: no longer|n't| not)(?: actually)? {value}"
            rf"(?:,? (?:it's|it is|but) {other})?{end}",
            holds=False,
        ),
    )


OWN: Final = (
    *_own("name", "name|nickname", rf"(?P<v>{NAME})"),
    phrase("name", rf"{_BY_NAME}{_IS}(?P<v>{NAME}){END}"),
    *_own("pronouns", "pronouns", _PRONOUNS),
    *_own("city", "city|town|place of residence|(?:current )?location", rf"(?:in )?"
           rf"(?P<v>{PLACE})(?:, (?P<place>{PLACE}))?"),
    *_own("country", "country(?: of residence)?", rf"(?P<v>{PLACE})"),
    *_own("time_zone", r"time[ -]?zone", rf"(?:in )?(?:the )?{ZONE}"),
    *_own("occupation", "occupation|job|profession|job title", rf"(?:an? )?(?P<v>{JOB})",
          end=_JOB_END),
    *_own("employer", "employer", rf"(?P<v>{ORG})"),
    *_own("birthday", "birthday|date of birth|birth date", rf"(?:on )?(?:the )?{_DAY}"),
    *_own("speaks", "mother tongue|(?:native|first) (?:language|tongue)", rf"(?P<v>{LANGS})"),
    *_own("language", "preferred language|language preference|language of choice",
          rf"(?P<v>{LANG})"),
    *_own("tone", "tone|style|communication style|preferred (?:tone|style)", rf"(?P<v>{TONED})"),
    *_own("goal", r"(?:(?:long-term|biggest|personal|career|top|big) )?(?:goals?|ambition)(?: "
           r"for (?:20\d\d|this year|the year|next year))?(?: for (?:20\d\d))?",
          _AIM, end=""),
    *_own("interest", "hobby|hobbies(?: include)?|interests(?: include)?", _TOPIC, end=""),
    phrase("interest", rf"{_OF}(?i:hobbies|interests) include {_TOPIC}"),
)  # fmt: skip
