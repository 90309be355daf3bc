"""The words that a statement about the user is recognised by: closed lists, so that we can say no.

A list holds what is certain. What is missing in one costs a fact; what is wrong in one makes a
false fact.
"""

from typing import Final

__all__ = [
    "CITIES",
    "COUNTRIES",
    "JOBS",
    "JOBS_GERMAN",
    "LANGUAGES",
    "NO_NAME",
    "NO_ORG",
    "NO_PLACE",
    "TONES",
]

_COUNTRIES: Final = """
argentina|australia|austria|bangladesh|belgium|brazil|bulgaria|cameroon|canada|chile|china|colombia
costa rica|croatia|cuba|cyprus|czech republic|czechia|denmark|ecuador|egypt|england|estonia|ethiopia
finland|france|germany|ghana|great britain|greece|hungary|iceland|india|indonesia|iran|iraq|ireland
israel|italy|jamaica|japan|kazakhstan|kenya|latvia|lebanon|lithuania|luxembourg|malaysia|malta
mexico|moldova|morocco|nepal|netherlands|new zealand|nigeria|northern ireland|norway|pakistan|panama
peru|philippines|poland|portugal|qatar|romania|russia|saudi arabia|scotland|senegal|serbia|slovakia
slovenia|south africa|south korea|spain|sri lanka|sweden|switzerland|taiwan|tanzania|thailand
tunisia|turkey|uganda|uk|ukraine|united arab emirates|united kingdom|united states|uruguay|us|usa
venezuela|vietnam|wales|zambia|deutschland|österreich|schweiz|frankreich|italien|spanien|niederlande
niederlanden|belgien|polen|tschechien|dänemark|schweden|norwegen|finnland|griechenland|türkei
großbritannien|england|irland|schottland|kanada|japan|china|indien|brasilien|russland|ungarn
"""

_CITIES: Final = """
amsterdam|ankara|antwerp|athens|atlanta|auckland|augsburg|austin|bangalore|bangkok|barcelona|basel
beijing|belgrade|bengaluru|berlin|bern|bielefeld|bochum|bogotá|bogota|bologna|bonn|bordeaux|boston
bratislava|bremen|brisbane|bristol|brno|brussels|bucharest|budapest|buenos aires|cairo|calgary
cambridge|cape town|caracas|cardiff|chemnitz|chennai|chicago|cologne|copenhagen|cork|dallas
darmstadt|delhi|denver|detroit|dortmund|dresden|dubai|dublin|duisburg|düsseldorf|edinburgh|eindhoven
essen|florence|frankfurt|frankfurt am main|freiburg|gdańsk|gdansk|geneva|genf|genoa|ghent|glasgow
gothenburg|göteborg|göttingen|granada|graz|hamburg|hannover|hanoi|heidelberg|helsinki|hong kong
houston|hyderabad|innsbruck|istanbul|jakarta|jena|jerusalem|johannesburg|kaiserslautern|karachi
karlsruhe|kassel|kiel|kobe|koblenz|kolkata|köln|kraków|krakow|kyiv|kyoto|lagos|lausanne|leeds
leipzig|lille|lima|linz|lisbon|liverpool|ljubljana|london|los angeles|lübeck|lucerne|luzern|lyon
madrid|magdeburg|mainz|malaga|málaga|malmö|manchester|mannheim|marburg|marseille|melbourne
mexico city|miami|milan|minneapolis|montreal|moscow|mumbai|munich|münchen|münster|nagoya|nairobi
nantes|naples|new orleans|new york|new york city|newcastle|nice|nuremberg|nürnberg|oldenburg|osaka
oslo|osnabrück|ottawa|oxford|paris|perth|philadelphia|pittsburgh|portland|porto|potsdam|poznań
poznan|prague|prag|quebec|regensburg|reykjavik|riga|rio de janeiro|rome|rostock|rotterdam
saarbrücken|salzburg|san diego|san francisco|santiago|sao paulo|são paulo|seattle|seoul|seville
shanghai|shenzhen|singapore|sofia|st. gallen|st. louis|st. petersburg|stockholm|strasbourg|stuttgart
sydney|taipei|tallinn|tampere|tel aviv|the hague|tokyo|toronto|toulouse|trieste|trondheim|tübingen
turin|ulm|uppsala|utrecht|valencia|vancouver|venice|vienna|vilnius|warsaw|washington|wien|wiesbaden
winterthur|wrocław|wroclaw|wuppertal|würzburg|york|zagreb|zurich|zürich
"""

_JOBS: Final = """
accountant|actor|actress|administrator|analyst|anthropologist|archaeologist|architect|artist
astronomer|baker|banker|barber|barista|bartender|biochemist|biologist|bookkeeper|botanist|butcher
carpenter|cashier|chef|chemist|cinematographer|clerk|coach|composer|consultant|cook|copywriter
counsellor|counselor|curator|dancer|dentist|designer|developer|diplomat|doctor|economist|editor
electrician|engineer|entrepreneur|farmer|filmmaker|firefighter|fisherman|florist|gardener|geographer
geologist|goldsmith|hairdresser|historian|illustrator|instructor|interpreter|janitor|journalist
judge|lawyer|lecturer|librarian|linguist|locksmith|machinist|mathematician|mechanic|meteorologist
midwife|musician|neurologist|novelist|nurse|nutritionist|optician|painter|paralegal|paramedic
pathologist|pediatrician|pharmacist|philosopher|photographer|physician|physicist|physiotherapist
pianist|pilot|plumber|podcaster|poet|potter|professor|programmer|psychiatrist|psychologist
psychotherapist|publisher|realtor|receptionist|recruiter|researcher|salesperson|scientist|sculptor
secretary|singer|sociologist|solicitor|statistician|statistician|surgeon|surveyor|tailor|teacher
technician|therapist|translator|tutor|veterinarian|violinist|waiter|waitress|welder|writer
"""

_JOBS_GERMAN: Final = """
anwalt|anwältin|apotheker|apothekerin|architekt|architektin|arzt|ärztin|autor|autorin|bäcker
bäckerin|berater|beraterin|bibliothekar|bibliothekarin|biologe|biologin|buchhalter|buchhalterin
chemiker|chemikerin|designer|designerin|dolmetscher|dolmetscherin|elektriker|elektrikerin|entwickler
entwicklerin|softwareentwickler|softwareentwicklerin|ergotherapeut|ergotherapeutin|erzieher
erzieherin|fotograf|fotografin|friseur|friseurin|gärtner|gärtnerin|grafiker|grafikerin|hebamme
historiker|historikerin|informatiker|informatikerin|ingenieur|ingenieurin|journalist|journalistin
jurist|juristin|kaufmann|kauffrau|koch|köchin|krankenpfleger|krankenschwester|künstler|künstlerin
landwirt|landwirtin|lehrer|lehrerin|logopäde|logopädin|maler|malerin|mathematiker|mathematikerin
mechaniker|mechanikerin|musiker|musikerin|pfleger|pflegerin|physiker|physikerin|physiotherapeut
physiotherapeutin|pilot|pilotin|polizist|polizistin|professor|professorin|programmierer
programmiererin|psychologe|psychologin|redakteur|redakteurin|richter|richterin|schreiner|schreinerin
schriftsteller|schriftstellerin|steuerberater|steuerberaterin|tierarzt|tierärztin|tischler
tischlerin|übersetzer|übersetzerin|zahnarzt|zahnärztin
"""

_LANGUAGES: Final = {
    "Arabic": "arabisch", "Bengali": "", "Bulgarian": "bulgarisch", "Catalan": "katalanisch",
    "Chinese": "chinesisch", "Croatian": "kroatisch", "Czech": "tschechisch", "Danish": "dänisch",
    "Dutch": "niederländisch", "English": "englisch", "Estonian": "estnisch",
    "Finnish": "finnisch", "French": "französisch", "German": "deutsch", "Greek": "griechisch",
    "Hebrew": "hebräisch", "Hindi": "", "Hungarian": "ungarisch", "Icelandic": "isländisch",
    "Indonesian": "indonesisch", "Italian": "italienisch", "Japanese": "japanisch",
    "Korean": "koreanisch", "Latvian": "lettisch", "Lithuanian": "litauisch", "Mandarin": "",
    "Norwegian": "norwegisch", "Persian": "persisch", "Polish": "polnisch",
    "Portuguese": "portugiesisch", "Romanian": "rumänisch", "Russian": "russisch",
    "Serbian": "serbisch", "Slovak": "slowakisch", "Slovenian": "slowenisch",
    "Spanish": "spanisch", "Swahili": "", "Swedish": "schwedisch", "Tamil": "", "Thai": "",
    "Turkish": "türkisch", "Ukrainian": "ukrainisch", "Urdu": "", "Vietnamese": "vietnamesisch",
}  # fmt: skip

_TONES: Final = {
    "concise": "concise concisely knappe knapp", "brief": "brief briefly",
    "short": "short kurze kurz", "terse": "terse tersely",
    "detailed": "detailed ausführliche ausführlich detaillierte detailliert",
    "thorough": "thorough gründliche gründlich", "formal": "formal formally formelle formell",
    "informal": "informal informally informelle informell", "casual": "casual casually lockere",
    "friendly": "friendly freundliche freundlich", "direct": "direct directly direkte direkt",
    "blunt": "blunt bluntly", "playful": "playful", "humorous": "humorous",
    "technical": "technical technische technisch", "simple": "simple einfache einfach",
    "plain": "plain", "polite": "polite politely höfliche höflich", "precise": "precise präzise",
    "straightforward": "straightforward", "warm": "warm", "encouraging": "encouraging",
}  # fmt: skip

_NO_NAME: Final = """
african|albanian|american|arab|argentinian|asian|australian|austrian|bavarian|belgian|berliner
brazilian|british|bulgarian|canadian|chilean|chinese|colombian|croatian|cuban|czech|danish|dutch
egyptian|english|estonian|european|finnish|french|german|greek|hungarian|indian|indonesian|iranian
iraqi|irish|israeli|italian|japanese|kenyan|korean|latvian|lebanese|lithuanian|mexican|moroccan
nigerian|norwegian|pakistani|persian|peruvian|polish|portuguese|romanian|russian|scottish|serbian
slovak|slovenian|spanish|swedish|swiss|syrian|thai|tunisian|turkish|ukrainian|vietnamese|welsh
christian|catholic|protestant|muslim|jewish|hindu|buddhist|atheist|vegan|vegetarian|ok|okay|done
back|here|sorry|happy|glad|sure|ready|fine|good|great|tired|busy|new|old|late|maybe|tomorrow|today
tonight|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may
june|july|august|september|october|november|december|head|senior|junior|lead|chief|director|vice
co|cto|ceo|cfo|phd|team|team lead|admin|root|batman|everyone|nobody|no|not|not sure|now|then|the|on
tech|qa|it|sre|pm|dev|ops|devops|support|sales|marketing|hr|legal|finance|premium|gold|vip|staff
guest|owner|member|user|required|optional|empty|crazy|please|captain|boss|chef|mad|weird|curious
confused|stuck|lost|free|pro|student|dad|mom|mum|mama|papa|father|mother|single|married|pregnant
later|soon|anytime|again|sometime|whenever|afterwards|tmrw|directly|first|collect
bus|train|car|bike|bicycle|foot|tram|plane|boat|taxi|subway|ferry
autistic|introvert|extrovert|legion|groot|spartacus|claude|chatgpt|gpt|copilot|siri|assistant|bot|ai
pisces|sagittarius|aries|taurus|gemini|virgo|libra|scorpio|capricorn|aquarius|cancer|kotlin|swift
scala|perl|haskell|golang|elixir|php|cobol|lua|iron|agent|online|offline|off|afk|remote|project|product
customer|client|tester|reviewer|maintainer|beginner|newbie|human|earth|chief|hungry|sick|ill|right
in|a|an|my|your|unknown|none|null|mr|mrs|ms|dr|anonymous|redacted|full|only|just|also|either|neither
"""

_NO_PLACE: Final = """
airtable|anger|bash|chaos|chrome|cloud|confluence|constant|css|debt|discord|docker|doubt|eclipse
emacs|english|excel|fear|figma|firefox|git|github|gitlab|go|google docs|harmony|hope|html|intellij
java|javascript|jira|kubernetes|linux|luxury|macos|markdown|may|messenger|neovim|node|notion|obsidian
outlook|peace|postgres|postgresql|powerpoint|python|react|redis|ruby|rust|salesforce|sheets|slack
sin|spreadsheets|sql|sublime|teams|terminal|the cloud|the terminal|tmux|trello|typescript|vim
optional|required|empty|unknown|null|none|undefined|hell|narnia|minecraft|building|room|floor|poverty|exile|limbo|bliss|denial|squalor|retirement
hiding|isolation|sims|fortnite|roblox|hogwarts|trennung|scheidung|saus|miete|untermiete|angst|armut
frieden|sünde|hoffnung|harmonie|wohlstand|luxus|not|furcht|partnerschaft|ehe|beziehung|ungewissheit
eintracht|gefahr|isolation|quarantäne|vs code|vscode|windows|word|xcode|zoom|january|february
march|april|june|july|august|september
october|november|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday|spring|summer|winter
"""

_NO_ORG: Final = """
christmas|easter|night|noon|home|monday|tuesday|wednesday|thursday|friday|saturday|sunday|weekends
january|february|march|april|may|june|july|august|september|october|november|december|once|least
hire|myself|fun|money|god|free|peanuts|food|me|you|us|them|him|her|nothing|pay|cash|peace|rain
pleasure|anyone|everyone|profit|pennies|myself|geld|frieden|euch|dich|mich|uns|ihn|sie|regen|spaß|gott
freunde|familie|lau|ruhm|ehre|kälte|hitze|licht|kerzenlicht|freude|niemanden|alle|andere
hause|zuhause|tag|nacht|weihnachten|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag
"""


def _set(words: str) -> frozenset[str]:
    return frozenset(word for line in words.split("\n") for word in line.split("|") if word)


COUNTRIES: Final = _set(_COUNTRIES)
CITIES: Final = _set(_CITIES)
"""Large enough to be meant where "moved to" could also name a tool."""
JOBS: Final = _set(_JOBS)
JOBS_GERMAN: Final = _set(_JOBS_GERMAN)
LANGUAGES: Final = {
    folded: name
    for name, german in _LANGUAGES.items()
    for folded in (name.casefold(), german)
    if folded
}
TONES: Final = {word: tone for tone, words in _TONES.items() for word in words.split()}
NO_NAME: Final = _set(_NO_NAME)
"""What stands where a name could and is none: "I'm German", "Call me Tomorrow"."""
NO_PLACE: Final = _set(_NO_PLACE)
"""What people live in without living there: "I live in Excel"."""
NO_ORG: Final = _set(_NO_ORG)
