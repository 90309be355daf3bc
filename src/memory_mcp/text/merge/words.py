"""Words."""

import re
from typing import Final


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _map(groups: str) -> dict[str, str]:
    """The first word of each group, for all words of the group."""
    return {word: group.split()[0] for group in groups.split(";") for word in group.split()}


def _groups(groups: str) -> dict[str, frozenset[int]]:
    """In which groups each word is."""
    found: dict[str, frozenset[int]] = {}
    for number, group in enumerate(groups.split(";")):
        for word in group.split():
            found[word] = found.get(word, frozenset()) | {number}
    return found


PAST: Final = _set("was were war waren")
"""Copulas that tell of then."""
DROPPED: Final = _set(
    """
    a an the now currently still already just also very really please to-date nowadays actually
    do does did been being there ago
    der die das den dem des ein eine einen einem einer eines jetzt nun aktuell derzeit inzwischen
    mittlerweile schon noch auch bitte sehr
    """
)
"""What tells no two statements apart."""
ARTICLES: Final = _set("a an the der die das den dem des ein eine einen einem einer eines")
COPULAS: Final = _set("is are am was were be has-been ist sind war waren bin sei wird werden")
"""Left out too, but a subject ends there."""
WE: Final = _set("we our us ours wir unser unsere unseren unserem unserer uns")
"""Who speaks for the project; "our API" and "the API" are one."""
ALIASES: Final = _map(
    """
    @i i me my mine myself ich mein meine meinen meinem meiner mir mich;
    database db; production prod; development dev; repository repo; configuration config cfg;
    environment env; postgresql postgres pg; kubernetes k8s; javascript js; typescript ts;
    documentation docs; administrator admin; application app; favourite favorite; colour color;
    use utilise utilize; every all; mother mum mom; father dad; bicycle bike; phone telephone;
    nutzen verwenden benutzen nutzt verwendet benutzt nutze verwende;
    run ran; write wrote written; keep kept; build built; send sent; hold held; child children;
    have has had hat haben habe; wohnen wohnt wohne; arbeiten arbeitet arbeite; laufen läuft laufe;
    like likes; on-call oncall; email e-mail mail; data-centre data-center; call called named
    """
)
"""Words that mean the same wherever they stand."""
LABELS: Final = _set(
    """
    note fact decision decided goal preference todo info update reminder remember lesson convention
    rule important memory fyi notiz ziel entscheidung hinweis merke wichtig
    """
)
"""What may stand before a colon at the beginning and adds nothing."""
NEGATIONS: Final = _set(
    """
    not never no cannot stop stopped quit nicht nie niemals kein keine keinen keinem keiner keines
    """
)
LIMITS: Final = _set(
    """
    only except unless if until without instead rather but however although outside apart other
    another former previous when while where once unlike nur außer falls wenn sofern ohne aber
     sondern statt ander wann wo
    """
)
"""What is added after one of these takes something away from what stood before."""
PREPOSITIONS: Final = _set(
    """
    in on at by for with from to of into onto over under after before since until within during via
    per about around between through behind above below than as against without
    im am an auf aus bei mit nach von vom zu zum zur für über unter vor seit bis durch gegen ohne
    beim ins
    """
)
STARTERS: Final = PREPOSITIONS | _set("every each when while because last next jeden jede jedes")
"""What begins a phrase that may stand elsewhere in its sentence."""
JOINS: Final = _set(
    """
    and or because since so which that who where when while using especially such plus including as
    und oder weil da damit denn sodass welche welcher
    """
)
"""What begins an addition, besides a comma and a preposition."""
ORDERED: Final = _set(
    """
    then first second order sequence steps priority priorities rank ranking stages before after
    respectively dann zuerst danach reihenfolge prioritäten
    """
)
"""In a list with one of these the order tells something."""
VERBS: Final = _set(
    """
    accept add aim allow apply arrive ask belong block bring call catch change check close come
    contain convert cost cover create deny depend deploy die drink drive earn eat end enjoy expire
    fail fix flow follow forbid generate get go grow handle hash hate have help hold host import
    include keep know last launch learn leave like limit link list listen live log love make manage
    mean meet merge move must need open own page pay pin plan play point poll prefer print promise
    put raise reach read receive refer reject remain remove replace report require reset respond
    return review rotate run save say scale see sell send serve set should can ship sign sleep
    attend back cap charge coach compile compress consume cook count cycle default deliver depart
    emit encrypt enforce equal exceed execute expose fall flush heat hire invest notify offer
    outlive owe parse process produce provide publish raise rate refresh rely render renew reside
    restart retain rise scan schedule sit span subscribe swim sync target throttle total trigger
    upgrade validate weigh smoke speak spend squash start stay store study supply support take
    talk teach tell terminate try turn use visit wait walk want warn weigh work write hurt goal
    wohnen arbeiten laufen nutzen heißen heißt hat beträgt kostet mag mögen trinken trinkt raucht
    spielt fährt isst geht kommt liegt liegen bevorzugt will wollen möchte deployen startet endet
    studiert lernt führen trinke
    """
)
"""As the stem of a verb: a subject ends where the first one stands."""
EVENTS: Final = _set(
    """
    went bought sold met lost won ran ate drank paid broke wrote talked saw flew drove left lent
    gave got spent sent made took came heard told said spoke stood rose fell began chose cost had
    lived worked liked loved hated wanted knew thought
    ging kaufte traf hatte wohnte
    """
)
"""What happened once, or was so: with another figure it happened twice. So is what ends in -ed."""
STATES: Final = _set("moved changed switched turned increased reduced raised grew set named agreed")
"""What happened, and is so since."""
SCHEDULED: Final = _set(
    "start end begin expire launch close open leave arrive due meet beginnen starten enden starte"
)
"""Verbs of what has one day or hour: a newer one takes the place of the old one."""
RECURRING: Final = _set(
    """
    meeting meet appointment call flight trip interview party visit exam concert lesson class course
    lecture shift sprint iteration bus train tram ferry pill medication medicine dose alarm feeding
    meal breakfast lunch dinner mass match game practice training yoga vacation
    holiday delivery pickup collection open closed free available free gym shop store library
    termin sitzung besprechung kurs stunde bus zug flug prüfung konzert wecker tablette urlaub
    offen geöffnet geschlossen frei verfügbar next nächste nächster
    """
)
"""Of these there is one on Monday and another one on Thursday."""
ONE_DAY: Final = _set(
    """
    release launch deadline due birthday wedding anniversary standup stand-up retro retrospective
    bedtime freeze cutover go-live window best planned scheduled move kickoff christening
    frist abgabe geburtstag hochzeit umzug
    """
)
"""What has one day or hour, without a verb that says so."""
LABELLED: Final = _set("use run require need target listen pin nutzen laufen upgrade set")
"""Verbs whose object is one: "we use Python 3.11", but "we support Python 3.11" and 3.12 too."""
REFERENCES: Final = _set(
    """
    ticket issue pr bug story epic commit task step chapter case # rfc adr line page room section
    paragraph row question figure table invoice order flight gate seat slide item
    """
)
"""A number behind one of these is a name."""
FUNCTIONAL: Final = (
    ("live", "in"), ("live", "at"), ("work", "at"), ("work", "for"), ("move", "to"),
    ("report", "to"), ("wohnen", "in"), ("arbeiten", "bei"),
)  # fmt: skip
FUNCTIONAL_IF_IS: Final = (
    ("married", "to"), ("based", "in"), ("located", "in"),
    ("hosted", "on"), ("hosted", "at"), ("hosted", "in"), ("employed", "by"),
)  # fmt: skip
"""Of whom this is said it is said of one place or employer at a time; a cat may have a sister."""
RANKED: Final = _set("favourite default preferred current main primary chosen standard official")
"""There is one of these at a time."""
ROLES: Final = _set(
    """
    branch editor manager database language broker framework provider host hostname name password
    address city employer capital status owner lead contact maintainer domain region registry
    datenbank sprache chef arbeitgeber boss teacher doctor dentist bank landlord
    """
)
"""Whoever has one has one at a time."""
ADJECTIVE: Final = re.compile(r".*(?:ed|able|ible|ing|ful|ous|ive|al|ic|less|y|en|ent|ant|bar|ig)$")
TOGGLES: Final = _groups(
    """
    enabled disabled; allowed forbidden; permitted forbidden; on off; open closed; required
     optional;
    active inactive; true false; yes no; an aus; erlaubt verboten; aktiv inaktiv; allowed
     prohibited;
    married divorced; alive dead; mandatory optional; available unavailable
    """
)
"""What is the one is not the other."""
_PLACES: Final = """
    staging production development test qa uat live sandbox local preview canary ci demo prelive
     entwicklung produktion testumgebung produktivumgebung;
    frontend backend; linux windows macos ios android freebsd; client server;
    mobile desktop web tablet; arm x86 amd64; debug release
"""
PLACES: Final = frozenset(_groups(_PLACES))
"""Where something holds; what holds here may not hold there."""
OPPOSITES: Final = _groups(
    _PLACES
    + """;
    read write connect; maximum minimum average;
    left right; inbound outbound; first second third fourth fifth last; soft hard;
    public internal private external; primary replica secondary; unit integration e2e acceptance;
    morning afternoon evening night noon; before after; input output;
    source target destination; old new; upper lower; front back; request response; producer
     consumer;
    work home; brother sister mother father wife husband son daughter uncle aunt grandmother
     grandfather boss colleague friend cousin; bruder schwester mutter vater sohn tochter onkel
     tante;
    cpu memory disk gpu; day week month year; daily weekly monthly hourly;
    create delete update; upload download; push pull; horizontal vertical; from to; breakfast lunch
     dinner; spring summer autumn winter; ram storage; linksseitig rechtsseitig; blue green red
    """
)
"""Words of one group name different things: what holds for one says nothing of the other."""
MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar", "february feb februar", "march mar märz", "april apr", "may mai",
            "june jun juni", "july jul juli", "august aug", "september sep sept",
            "october oct oktober okt", "november nov", "december dec dezember dez",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
WEEKDAYS: Final = _map(
    """
    monday mondays montag; tuesday tuesdays dienstag; wednesday wednesdays mittwoch;
    thursday thursdays donnerstag; friday fridays freitag; saturday saturdays samstag;
    sunday sundays sonntag
    """
)
NUMBERS: Final = {
    word: number
    for number, words in enumerate(
        (
            "zero null", "one eins", "two zwei", "three drei", "four vier", "five fünf",
            "six sechs", "seven sieben", "eight acht", "nine neun", "ten zehn", "eleven elf",
            "twelve zwölf",
        )
    )
    for word in words.split()
}  # fmt: skip
UNITS: Final = {
    unit: dimension
    for dimension, units in {
        "time": "ms s sec secs second seconds sekunde sekunden min mins minute minutes minuten h"
        " hour hours stunde stunden day days tag tage tagen week weeks woche wochen month months"
        " monat monate year years jahr jahre",
        "size": "b kb mb gb tb kib mib gib byte bytes kilobytes megabytes gigabytes",
        "mass": "mg g kg t gram grams kilo kilos lb lbs pounds",
        "length": "mm cm m km mile miles feet foot inch inches kilometre kilometres meter metre",
        "money": "€ $ £ euro euros eur dollar dollars usd pound gbp cents chf",
        "share": "% percent prozent",
        "rate": "mbit gbit mbit/s gbit/s rps qps fps hz mhz ghz",
        "heat": "°c celsius fahrenheit",
    }.items()
    for unit in units.split()
}
"""Units and what they measure: 30 seconds may become 2 minutes, never 2 kilobytes."""


SCOPES: Final = _set(
    """
    need needs needed require requires required brauchen braucht benötigt
    not never no cannot nobody none nothing neither nor only just may can could might must shall
    should all every any each always everyone everybody everything anyone anybody anything
    without except unless avoid avoids refuse refuses forbid forbids forbidden allow allows
    allowed deny stop stops stopped quit free hardly rarely both whoever whatever everywhere
    anywhere nicht nie niemals kein keine keinen keinem keiner keines nur darf dürfen kann
    können könnte muss müssen soll sollen sollte alle allen aller alles jeder jede jedes jeden
    jedem immer ohne außer niemand nichts überall
    """
)
"""Beside one of these less said is more meant, and more said less."""
SEASONS: Final = _set(
    """
    weekend weekends weekday weekdays spring summer autumn winter morning mornings afternoon
    evening evenings night nights noon midnight daily weekly monthly wochenende wochenenden
    sommer abends morgens nachts mittags werktags
    """
)
"""When something is so, and by that when not."""
REASONS: Final = _set(
    """
    because since so weil denn da damit sodass
    """
)
"""What is added behind one of these takes nothing back."""
QUESTIONS: Final = _set(
    """
    is are am was were does did would why what who whom whose which where how ist sind war waren
    warum wieso wer wen wem welche welcher welches wo wie
    """
)
"""What begins a question, with or without its mark."""
LEANING: Final = _set(
    """
    he she it they this that these those his her hers its their theirs him them there here er
    sie es ihr sein seine dies diese dieser dieses dort hier
    """
)
"""A subject that means what was said before."""
TODAY: Final = _set("today tonight tomorrow yesterday heute morgen gestern")
"""What is said of such a day says nothing of the next one."""
