"""The same statements in German, where the verb comes first as often as second."""

import re
from typing import Final

from memory_mcp.text.profile.phrases import (
    CAP,
    END,
    LANG,
    LANGS,
    LAST,
    NAME,
    ORG,
    PLACE,
    TONED,
    ZONE,
    one_of,
    phrase,
)
from memory_mcp.text.profile.words import JOBS_GERMAN

__all__ = ["GERMAN", "GERMAN_AFTER", "GERMAN_SUBJECT"]

GERMAN_SUBJECT: Final = re.compile(
    r"(?i:ich|(?:der|die) (?:user|nutzer|nutzerin|benutzer|benutzerin|anwender|anwenderin))"
    r"(?=[ ,])"
)

_YET: Final = (
    r"(?: (?:jetzt|nun|seit [^,.]{2,20}?|aktuell|derzeit|zurzeit|momentan|inzwischen|"
    r"mittlerweile|"
    r"gerade|noch|noch immer|immer noch|weiterhin|hier|auch|übrigens|heute))*"
)
_ART: Final = r"(?:(?:der|dem|den|die|das) )?"
_JOB: Final = rf"(?P<v>(?:[a-zäöü]+e[rn]? )?{one_of(JOBS_GERMAN)}\b)"
_AS: Final = rf"(?P<v>(?:[a-zäöü]+e[rn]? )?{CAP}(?: {CAP})?)"
_DAY: Final = (
    r"(?P<v>\d{1,2}\. ?(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|"
    r"November|"
    r"Dezember)(?: (?:19|20)\d\d)?)(?!\w)"
)
_LIVE: Final = r"(?:wohne|lebe|wohnt|lebt)"
_WORK: Final = r"(?:arbeite|arbeitet)"
_AM: Final = r"(?:bin|ist)"
_JOB_END: Final = rf"(?={END}|\s(?:bei|für|in|im|an|am|auf)\b)"
_ORG_END: Final = rf"(?={END}|\s(?:als|in|im)\b)"
_AT: Final = rf"(?: (?:bei|für) {_ART}(?P<org>{ORG}){_ORG_END})?"
_NO: Final = r" (?:nicht|nicht mehr|nicht länger|seit [^,.]{2,20}? nicht mehr)"
_TOPIC: Final = rf"(?P<v>{CAP}(?: {CAP})?(?:, {CAP})*(?: und {CAP})?)(?=\s*(?:$|[.!;(]))"
_STYLE: Final = r"(?:antworten|erklärungen|texte|sprache)\b"

GERMAN_AFTER: Final = (
    phrase("city", rf" {_LIVE}{_YET} in (?P<v>{PLACE}){END}"),
    phrase("city", rf" {_LIVE}{_NO} in (?P<v>{PLACE})(?:,? sondern (?:jetzt )?in "
           rf"(?P<instead>{PLACE}))?{END}", holds=False),
    phrase("city", rf" {_AM}{_YET}(?: (?!nie|nicht|fast|beinahe)\w+){{0,3}}?(?: von {PLACE})? "
           rf"nach (?P<v>{PLACE}) (?:um)?gezogen{END}", moves=True),
    phrase("city", rf" {_AM}{_YET}(?: \w+)? aus (?P<v>{PLACE}) weggezogen{END}", holds=False),
    phrase("name", rf" (?:heiße|heisse|heißt){_YET} (?P<v>{NAME}){END}"),
    phrase("name", rf" (?:heiße|heisse|heißt) nicht(?: mehr)? (?P<v>{NAME})(?:,? sondern "
           rf"(?P<instead>{NAME}))?{END}", holds=False),
    phrase("occupation", rf" {_WORK}{_YET} als {_AS}{_JOB_END}{_AT}"),
    phrase("occupation", rf" {_WORK}{_NO} als {_AS}{_JOB_END}", holds=False),
    phrase("employer", rf" {_WORK}{_YET} (?:bei|für) {_ART}(?P<v>{ORG}){_ORG_END}"),
    phrase("employer", rf" {_WORK}{_NO} (?:bei|für) {_ART}(?P<v>{ORG})(?:,? sondern "
           rf"(?:jetzt )?(?:bei|für) {_ART}(?P<instead>{ORG}))?{_ORG_END}", holds=False),
    phrase("occupation", rf" {_AM}{_YET}(?: von Beruf| eine?)? {_JOB}(?: von "
           rf"Beruf)?{_JOB_END}{_AT}"),
    phrase("occupation", rf" {_AM} (?:kein|keine|nicht mehr) {_JOB}(?: mehr)?{_JOB_END}",
           holds=False),
    phrase("birthday", rf" (?:bin|wurde|ist) am {_DAY}(?: in {PLACE})? geboren{END}"),
    phrase("speaks", rf" (?:spreche|spricht)(?: fließend| gut)? (?P<v>{LANGS}){END}"),
    phrase("tone", rf" (?:bevorzuge|bevorzugt|mag|möchte|will|wünsche mir|wünscht sich) "
           rf"(?P<v>{TONED}) (?i:{_STYLE}){END}"),
    phrase("language", rf" (?:möchte|will)(?: bitte| lieber)? auf (?P<v>{LANG}) (?:sprechen|"
           rf"schreiben|kommunizieren){END}"),
    phrase("language", rf" (?:bevorzuge|bevorzugt|möchte|will|wünsche mir) antworten auf "
           rf"(?P<v>{LANG}){END}".replace(
        "antworten", "(?i:antworten)")),
    phrase("interest", rf" (?:interessiere mich|interessiert sich)(?: sehr)? für {_TOPIC}"),
)  # fmt: skip
"""What follows "ich" or "der Nutzer"."""

_MY: Final = r"(?i:mein|meine|(?:der|die)(?= \w+ des nutzers| \w+ der nutzerin))"
_OF: Final = r"(?i: des nutzers| der nutzerin)?"
_WHEN: Final = (
    r"(?:Seit [^,.]{2,25}?|Inzwischen|Mittlerweile|Jetzt|Nun|Aktuell|Derzeit|Zurzeit|Momentan|"
    r"Gerade|Übrigens|Heute)"
)

GERMAN: Final = (
    phrase("city", rf"{_WHEN} {_LIVE} (?:ich|der Nutzer|die Nutzerin){_YET} in "
           rf"(?P<v>{PLACE}){END}"),
    phrase("city", rf"{_WHEN} {_LIVE} ich{_NO} in (?P<v>{PLACE}){END}", holds=False),
    phrase("employer", rf"{_WHEN} {_WORK} ich{_YET} (?:bei|für) {_ART}(?P<v>{ORG}){_ORG_END}"),
    phrase("occupation", rf"{_WHEN} {_WORK} ich{_YET} als {_AS}{_JOB_END}{_AT}"),
    phrase("name", rf"{_MY} Name{_OF} ist (?P<v>{NAME}){END}"),
    phrase("name", rf"{_MY} Name{_OF} ist nicht (?P<v>{NAME})(?:,? sondern "
           rf"(?P<instead>{NAME}))?{END}", holds=False),
    phrase("name", rf"(?i:(?:bitte )?(?:nenn|nenne|nennt|nennen sie) mich (?:bitte |einfach )?)"
           rf"(?P<v>{NAME})(?P<said>){END}"),
    phrase("city", rf"{_MY} (?:Wohnort|Stadt){_OF} ist (?P<v>{PLACE}){END}"),
    phrase("time_zone", rf"{_MY} Zeitzone{_OF} ist {ZONE}{END}"),
    phrase("occupation", rf"{_MY} Beruf{_OF} ist {_JOB}{END}"),
    phrase("employer", rf"{_MY} Arbeitgeber{_OF} ist {_ART}(?P<v>{ORG}){END}"),
    phrase("birthday", rf"{_MY} Geburtstag{_OF} ist (?:am |der ){_DAY}{END}"),
    phrase("birthday", rf"(?:Ich habe|ich habe) am {_DAY} Geburtstag{END}"),
    phrase("speaks", rf"{_MY} Muttersprache{_OF} ist (?P<v>{LANG}){END}"),
    phrase("language", rf"(?i:(?:bitte )?(?:antworte|antworten sie|sprich|schreib|schreibe)(?: "
           rf"mir| mit mir)?(?: bitte)?"
           rf"(?: immer| nur| ab jetzt| künftig)*(?: bitte)? (?:auf |in )?)(?P<v>{LANG})(?i: mit "
           rf"mir)?{LAST}"),
    phrase("language", rf"(?i:bitte (?:immer |nur )?auf )(?P<v>{LANG})(?i: antworten| "
           rf"schreiben){LAST}"),
    phrase("language", rf"(?i:(?:bitte )?(?:antworte|sprich|schreib|schreibe)(?: mir)? (?:bitte "
           rf")?nicht (?:mehr )?auf )(?P<v>{LANG}){END}",
           holds=False),
    phrase("tone", rf"(?i:(?:bitte )?antworte(?: mir)?(?: bitte)?(?: immer)? )"
           rf"(?P<v>{TONED}){LAST}"),
    phrase("tone", rf"(?i:(?:bitte )?(?:fasse dich|fass dich) )(?P<v>(?i:kurz)){LAST}"),
    phrase("tone", rf"(?i:bitte )(?P<v>{TONED}) (?i:antworten){LAST}"),
    phrase("goal", rf"{_MY} (?:Ziel|Jahresziel){_OF}(?: für 20\d\d)? ist(?: es)?,? (?P<v>(?=\S+ "
           rf"\S+ \S+)(?!(?:nicht|heute|hier|nur)\b)[^.!?;\n]{{4,140}}?)(?<!heute)(?=\s*(?:$|"
           rf"[.!;]))"),
    phrase("interest", rf"{_MY} (?:Hobbys|Hobbies|Hobby|Interessen){_OF} (?:sind|ist) {_TOPIC}"),
)  # fmt: skip
"""What stands by itself, at the start of a clause."""
