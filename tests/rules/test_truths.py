"""Two statements: the later one brings the earlier one up to date, contradicts it, or neither."""

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final

import pytest
from paths import DATA

from memory_mcp.domain.comparisons import Comparisons
from memory_mcp.domain.ids import RecordId
from memory_mcp.domain.record import Kind, Record, Scope
from memory_mcp.domain.search import Hit
from memory_mcp.engine.fields import make_fields
from memory_mcp.ranking.analysis import make_encoder_text
from memory_mcp.search.truths import mark_hits
from memory_mcp.text.truths import (
    Disputes,
    Independent,
    Outdates,
    Related,
    answers_anew,
    compare_statements,
    describe_answers,
    drop_outdated,
    list_other_values,
    mark_truths,
    may_bear,
    may_relate,
    pack_outline,
    says_change,
    tells_change,
    weigh_answers,
    weigh_most,
)

OUTDATES: Final = [
    ("Our web framework is Flask", "Switched to FastAPI"),
    ("The team meeting is at 10:00 on Mondays.", "The team meeting is at 14:00 on Wednesdays."),
    ("The fee is 6 euros from October.", "The fee is 7 euros from January."),
    ("I use Emacs.", "I moved to Neovim."),
    ("The kiosk is open from April.", "The kiosk is now open from October."),
    ("The fee is 5 euros.", "The fee is 6 euros from October."),
    # a name of a tool that is another word, too, where it is the name
    ("The importer is written in Go.", "Migrated the importer to Rust."),
    ("The importer is written in go.", "Migrated the importer to Rust."),
    ("We use Express for the API.", "We switched the API to Fastify."),
    ("We use express.", "Switched to Fastify."),
    ("The database is oracle.", "Upgraded to PostgreSQL 16."),
    ("Minimum Node is 18.", "Bumped minimum Node to 22."),
    # what is no longer done with it is what was said
    ("We mail backups to Ann.", "We no longer mail backups."),
    ("Contracts are scanned by Ida.", "We no longer scan contracts."),
    ("Photos live in S3.", "We no longer store photos in S3."),
    ("Wir drucken Tickets im Büro.", "Wir drucken keine Tickets mehr."),
    ("The exam is in lecture hall A.", "The exam is now in lecture hall B."),
    ("The unit tests of the gear sensor run on QEMU.",
     "We no longer run the gear sensor's unit tests on QEMU, Renode does that."),
    # one value stands where another one stood
    ("The repo uses yarn.", "The repo uses pnpm."),
    ("My dentist is Dr Okafor.", "My dentist is Dr Lindqvist."),
    ("The capital of Tarn is Vell.", "The capital of Tarn is Osk."),
    ("Karen is affiliated with the religion of Old Church.",
     "Karen is affiliated with the religion of Church of Tarn."),
    ("Die Fachschaft tagt montags um 18 Uhr.", "Die Fachschaft tagt dienstags um 19 Uhr."),
    ("Dark mode is enabled by default.", "Dark mode is disabled by default."),
    ("The default branch is called master.", "The default branch is called main."),
    ("We deploy with Helm.", "We no longer deploy with Helm."),
    # where it is, whatever verb and preposition say so
    ("Sessions are kept in Redis.", "Sessions are kept in Postgres."),
    ("Sessions are kept in Redis.", "Sessions are kept in signed cookies."),
    ("Uploads are kept on disk.", "Uploads are kept in S3."),
    ("We keep secrets in Vault.", "We keep secrets in Doppler for 30 days."),
    ("Die Sitzungen liegen in Redis.", "Die Sitzungen liegen in Postgres."),
    ("Die Belege gehen an Frau Meier.", "Die Belege gehen an Herrn Vogt."),
    ("Die Belege werden im Archiv geführt.", "Die Belege werden in DATEV geführt."),
    ("Charts are rendered on the client.", "Charts are rendered on the server."),
    ("We track bugs in Jira.", "Bugs are in Linear since last week, Jira is read-only."),
    ("Commits are written in German.", "From now on commits are written in English."),
    # the value stands there twice
    ("The repo uses yarn, installs go through yarn install.",
     "The repo uses pnpm, installs go through pnpm install."),
    ("The repo uses yarn.", "The repo uses deno."),
    # what it is of has the name of its kind, or of the bound that it is
    ("Database is MySQL 5.7.", "We upgraded to PostgreSQL 16."),
    ("Die Datenbank ist MySQL.", "Wir sind auf Postgres umgestiegen."),
    ("Coverage must be at least 80 %.", "The coverage threshold was lowered to 70 %."),
    # who has a role that one has
    ("Alice is the tech lead of the payments team.",
     "After the reorganisation Bob is the tech lead of the payments team."),
    ("Freya leads the choir.", "Olu leads the choir."),
    # the statement stands in a longer sentence
    ("The API listens on port 8080.",
     "After the move the API listens on port 9090 behind the gateway."),
    # it says that something changed, and has another value of the same kind
    ("Standup is at 9:30.", "Standup moved to 10:00."),
    ("Database is MySQL 5.7", "Upgraded to PostgreSQL 16"),
    ("I live in Bergen", "moved to Trondheim last week"),
    ("The board meets quarterly.", "Starting this year the board comes together every month."),
    ("Our office is above the chemist's.", "The office has moved into the old fire station."),
    ("The algae group is led by Prof. Brannigan.", "Dr Achterberg took over the algae group."),
    # it says that the old value, or what it is about, is over
    ("The warehouse jobs run on Airflow.", "Airflow is gone. Dagster does it since March."),
    ("I take the train to the office.", "I cycle to work now instead of going by train."),
    ("Our architect is Mr Zeman.", "Parted ways with Zeman; Ms Halloway draws the plans now."),
    ("Freezer 3 is for RNA.", "Freezer 3 is being thrown out."),
    # what it is over for is what the older one speaks of
    ("The Lambda functions run on Node 18.", "The Lambda functions went from Node 18 to Node 20."),
    ("The metrics pipeline runs on Kafka.", "The metrics pipeline moved from Kafka to NATS."),
    ("The parser is made by ANTLR.", "We replaced the ANTLR parser by one written by hand."),
    ("Die Suche nutzt Solr.", "Wir haben die Suche von Solr auf OpenSearch umgestellt."),
    ("Der Build läuft mit Maven.", "Wir haben von Maven auf Gradle umgestellt."),
    ("The dashboard is on Heroku.", "The dashboard was moved off Heroku."),
    ("Der Server steht in Frankfurt.", "Der Server ist nach Helsinki umgezogen."),
    # the same sentence, but for one place, and it is so now
    ("Banners are WebP.", "Banners are now AVIF."),
    ("Kunde Schulz zahlt per Rechnung.", "Kunde Schulz zahlt jetzt per Lastschrift."),
    ("The tone is relaxed.", "The tone is now formal."),
    ("Drafts are kept for 90 days.", "From now on drafts are deleted after 30 days."),
    ("The pool has 4 machines.", "The pool was upgraded to 9 machines."),
    # one is the opposite of the other
    ("Always squash commits.", "Never squash commits."),
    ("Tabs, not spaces.", "Spaces, not tabs."),
    ("Prices include VAT.", "Prices exclude VAT."),
    ("I prefer short answers.", "I prefer long answers."),
    ("I prefer dark mode.", "I use light mode now."),
    ("One approval is required.", "Two approvals are required."),
    ("Use 4 spaces in YAML.", "Use 2 spaces in YAML."),
    # over what it goes, and as what it is stored
    ("Sensor data is sent over MQTT.", "Sensor data is sent over HTTP."),
    ("Headstone photos are stored as JPEG.", "Actually headstone photos are stored as WebP."),
    ("Varroa counts are entered in the app.", "Varroa counts are entered on paper."),
    # what opens or closes a sentence that tells of a change
    ("Libretti are kept in Dropbox.", "Turns out the libretti are in Nextcloud, not Dropbox."),
    ("The chapel seats 80 people.", "After the renovation the chapel seats 64 people."),
    ("The wall brightness is capped at 60 percent.",
     "Wall brightness cap is 45 percent from Monday."),
    ("The pedal debounce is 40 ms.", "Pedal debounce had to go up to 65 ms."),
    ("Tide tables are edited in LibreOffice.", "Tide tables get edited in Grist these days."),
    ("Ausgerollt wird mittwochs.", "Ausgerollt wird ab Montag nur noch donnerstags."),
    ("The default pen camera codec is H.264.", "Default pen camera codec: AV1."),
    # what took its place is no topic
    ("We use Sentry for crash reports.", "We use GlitchTip instead of Sentry."),
    ("Our linter is flake8.", "We dropped flake8 for ruff."),
    ("The cue editor autosaves every 10 seconds.", "We disabled autosave in the cue editor."),
    # a list of all, and another one
    ("Supported vendors are Capaz, BeeWise and Wolf.", "Supported vendors are Capaz and Wolf."),
    ("The surtitler supports English, German and French.",
     "The surtitler supports English, German and Italian."),
]  # fmt: skip

INDEPENDENT: Final = [
    ("I live in Bergen.", "I moved to Vim."),
    ("We use GitLab.", "We moved to GitHub Actions."),
    ("Web is served by nginx.", "Switched the API to Caddy."),
    ("The backend is written in Go.", "Migrated to Rust."),
    ("Anton leads the team.", "Anton is on holiday; Silke leads the team."),
    ("The pool opens at 9:00.", "The pool opens at 10:00 on Sundays."),
    ("The café opens at 9 from April.", "The café opens at 10 from October."),
    ("Lasse writes the firmware tests.", "Bronagh writes the hardware tests."),
    ("The exporter writes CSV, says Jan.", "The tool now writes XLSX."),
    ("Staging runs on Python 3.11.", "Bumped Python to 3.13."),
    # no names of tools
    ("Never let the pumps go below 20 percent.", "Bumped Python to 3.13."),
    ("Check the anchor for rust every month.", "Bumped Python to 3.13."),
    ("Visitors express interest by mail.", "Upgraded to Fastify 5."),
    ("The oracle bee hive is the one near the chapel.", "Upgraded to PostgreSQL 16."),
    ("The chef of the canteen is Luc.", "Switched to Ansible."),
    ("Sound descriptions are stripped of square brackets.", "Switched to Stripe."),
    ("go faster", "Switched to Rust."),
    ("Das Signal ist rot.", "Wir sind auf Slack umgestiegen."),
    ("We use go, and react fast.", "Switched to Vue."),
    # a tool's version is nothing of what another one is
    ("Svelte 5 with runes; stores are only left in legacy/.", "Upgraded to Vue 4."),
    ("We never go past 3 retries.", "Bumped Python to 3.13."),
    ("The importer is written in Perl.", "Migrated the exporter to Rust."),
    # counts of two things
    ("Staging has three fake pens.", "Staging was upgraded to 8 cores."),
    (
        "Staging is a container park in Bergen with three fake pens.",
        "Staging was moved from room 2 to room 5.",
    ),
    # something else is done with it
    ("Backups are encrypted with age.", "We no longer mail backups."),
    ("Tests live in spec/.", "We no longer skip tests."),
    ("Vouchers are valid for three years.", "We don't print vouchers any more."),
    ("Logs are rotated every night.", "We stopped mailing logs."),
    ("Proben werden nach Charge beschriftet.", "Wir frieren Proben nicht mehr ein."),
    ("Exports are named by title.", "We don't run nightly exports any more."),
    # siblings by a letter, and by an option
    (
        "Graves in section A are leased for 25 years.",
        "Graves in section B are leased for 15 years.",
    ),
    ("The CLI prints JSON with --json.", "The CLI prints YAML with --yaml."),
    ("Sorting is by date with sort=date.", "Sorting is by name with sort=name."),
    ("The invoice service listens on port 8081.", "The tax service listens on port 8082."),
    ("Releases are cut on Tuesday.", "Firmware releases are now cut on Thursday."),
    ("Staging runs three replicas.", "Production runs twelve replicas."),
    ("The config is config/dev.yaml.", "The config is config/prod.yaml."),
    ("In v1, amounts are floats.", "In v2, amounts are integer cents."),
    ("We accept payments by card.", "We accept payments by bank transfer too."),
    ("The importer can read CSV.", "The importer can read Parquet."),
    ("The winch can carry sand.", "The winch can carry timber."),
    ("Plans can be exported as PNG.", "Plans can be exported as SVG."),
    ("I'm allergic to cats.", "I'm allergic to birch pollen."),
    # of something else, of one of several, in a list, or not where it is but how, when, for whom
    ("Sessions are kept in Redis.", "Carts are kept in Postgres."),
    ("Sessions are cached in Redis.", "Sessions are stored in Postgres."),
    ("Sessions are kept in Redis and Postgres.", "Sessions are kept in Postgres."),
    ("Sessions are kept in Redis.", "Sessions are kept in sync."),
    ("Sessions are kept in Redis.", "Sessions are kept in Postgres for guests."),
    ("The contracts are kept in the safe.", "The contracts are kept in German."),
    ("Recordings are kept on the NAS.", "Recordings are kept in Frankfurt."),
    ("A copy of the key is kept in the safe.", "A copy of the key is kept with the notary."),
    ("Vaccines are kept in fridge 2.", "Vaccines are kept at 4 °C."),
    ("Charts are rendered in the browser.", "Charts are rendered in WebGL."),
    ("The mail job calls mail.", "The sync job calls sync."),
    ("We use Redis.", "We use Postgres."),
    ("The billing database is MySQL.", "We migrated to Postgres last week."),
    ("Coverage is 84 %.", "The coverage threshold was lowered to 70 %."),
    ("If the queue is full, mail is dropped.", "Mail is sent at once."),
    # one is made like the other, as in a list
    ("The panel shows pressure.", "The panel shows the water level."),
    ("Dr. Imhof wants letters in French.", "Dr. Quist wants letters in Danish."),
    ("Edition 3 of the guide lists six huts.", "Edition 4 of the guide lists nine huts."),
    # two things differ: of what it is, and when
    ("Cron rotates the tapes on the 1st.", "Cron rotates the disks on the 20th."),
    ("The public API is REST.", "The public API is REST, with errors as documents."),
    ("I'm a vegetarian.", "I'm a vegetarian, and I don't eat eggs either."),
    ("All services are written in Go.", "The renderer is the one service in Python."),
    ("The code is kept in git.", "In 2019 the code was kept in Subversion."),
    ("The office is in Berlin.", "If we grew, the office would be in Hamburg."),
    ("I paid 20 euros for lunch.", "I paid 25 euros for lunch."),
    ("Ticket 12 is fixed.", "Ticket 13 is fixed."),
    ("Rule 3 of the house.", "Rule 4 of the house."),
    ("He lives in Berlin.", "He lives in Bonn."),
    ("The counter is 240 cm long.", "The counter comes out at 94 inches now."),
    ("The maximum is 5 replicas.", "The minimum is now 2 replicas."),
    ("Emma's birthday is on 4 March.", "Emma's birthday party is on 9 March now."),
    ("Shop: the limit is 5.", "Blog: the limit is 7."),
    # two of a kind: another part, owner, place, version, language
    ("The worker timeout is 30 seconds.", "The API timeout is now 60 seconds."),
    ("The mail worker retries 3 times.", "The webhook worker now retries 8 times."),
    ("Die Filiale Nord schließt um 18 Uhr.", "Die Filiale Süd schließt jetzt um 20 Uhr."),
    ("Der Testserver hat 8 GB RAM.", "Der Produktionsserver hat jetzt 32 GB RAM."),
    ("Ward 3 has 12 beds.", "Ward 5 now has 20 beds."),
    ("GET requests are cached.", "POST requests are no longer cached."),
    ("Guests can read the wiki.", "Guests can no longer edit the wiki."),
    ("Node 18 is required for builds.", "The Lambda functions were upgraded to Node 20."),
    ("Acme gets weekly reports.", "Globex now gets monthly reports."),
    ("Release 4 caches for 60 seconds.", "Release 5 now caches for 10 seconds."),
    ("The EU cluster runs Kubernetes 1.27.", "The US cluster was upgraded to Kubernetes 1.30."),
    ("Use snake_case for Python functions.", "Use camelCase for JavaScript functions."),
    # it is over for something else
    ("Redis holds the sessions.", "The rate limiter no longer uses Redis."),
    ("The subscriptions use Stripe.", "The checkout moved from Stripe to Adyen."),
    ("Das Wiki liegt auf dem Server Fuchs.", "Der Buildserver ist nicht mehr auf Fuchs."),
    ("The main branch is protected.", "We deploy from release now, not from main anymore."),
    ("Airflow costs 80 EUR a month.", "We dropped Airflow."),
    # one of several is over
    ("The beta testers are Marta, Jonas and Pete.", "Jonas is no longer a beta tester."),
    ("We support Chrome, Firefox and Safari.", "We no longer support Safari."),
    ("The linters are ruff, mypy and codespell.", "codespell was removed from the linters."),
    # another statement of the older one still holds
    ("Deploys run from GitHub; nobody deploys on Fridays.", "Deploys now run from Buildkite."),
    ("Standup is at 9:15. Minutes are kept in the wiki.", "Standup is now at 10:00."),
    ("Logs go through Promtail; never log names.", "We switched from Promtail to Alloy."),
    # it says more of the thing, and no other value of the kind that was stated
    ("The oven is a Wiesheu Minimat.", "The oven is now started by a timer."),
    ("The tide tables are published as PDF.", "The tide tables are now checked by the harbour."),
    ("Die Waage ist eine Kern FKB.", "Die Waage ist jetzt ans Netz angeschlossen."),
    ("The API returns JSON.", "The API now returns gzip-compressed responses."),
    # the same value in another form
    ("The regatta is on 2026-09-12.", "The regatta is on September 12, 2026."),
    ("The fee is 50 €.", "The fee is 50 EUR."),
    # what happens to each ends none of them
    ("Parking tickets are printed.", "Parking tickets are deleted after a month."),
    ("Loans are renewed online.", "Loans are closed when the book is back."),
    ("Berths are numbered.", "Berths are cancelled without a deposit."),
    # the version of another thing, or a count of what is not that thing
    ("Staging uses Postgres 14.", "Staging was upgraded to Kubernetes 1.31."),
    ("The pool has 4 machines.", "The pool was upgraded to Kubernetes 1.31."),
    ("The shop uses Vue 2.", "The shop was switched to Vite 5."),
    # code does something else with another literal
    ("SELECT id FROM reefs WHERE depth > 10;", "SELECT id FROM reefs WHERE depth > 20;"),
    ("git rebase -i HEAD~3", "git rebase -i HEAD~5"),
    ("The roof is tin.", "The cat is asleep."),
    ("!?", "The cat is asleep."),
    ("Buoys send their position over LTE.", "Buoys send their images over UMTS."),
    ("Varroa counts are entered in the app.", "Varroa counts are entered on Sundays."),
    ("The crane load is limited to 900 kg.", "Winch load limit is 750 kg from Monday."),
    ("Known issue: KeyError.", "Known issue: OSError."),
    ("The planner autosaves every minute.", "We disabled autosave in the editor."),
    ("The planner autosaves every minute.", "We disabled spell checking in the planner."),
    ("We use Sentry for the backend.", "We dropped Sentry for mobile."),
    ("We use Postgres for the ledger.", "Tests use SQLite instead of Postgres."),
    ("Members are Ada, Ben and Cleo.", "Members are Ada and Ben in the north group."),
    ("I like tea, coffee and wine.", "I like tea, coffee and beer."),
    ("The reading room holds 40 people.", "After the rebuild the reading room has two doors."),
    ("Logs are stored as text.", "Logs are stored as long as the contract runs."),
]

NARROWED: Final = [
    "The backup of the server has 8 GB RAM.",
    "The test lab next to the server has 8 GB RAM.",
    "Suppose the server has 8 GB RAM.",
    "Provided the budget is approved, the server has 8 GB RAM.",
    "Nobody believes the server has 8 GB RAM.",
    "In the diagram, the server has 8 GB RAM.",
]


@pytest.mark.parametrize(("old", "new"), OUTDATES)
def test_a_newer_value_of_the_same_thing_outdates_the_older_one(old: str, new: str) -> None:
    """By its skeleton, by a word of change, or because it says that something is over."""
    found = compare_statements(old, new)

    assert isinstance(found, Outdates), found
    assert found.reason


@pytest.mark.parametrize(("old", "new"), INDEPENDENT)
def test_what_is_said_of_something_else_outdates_nothing(old: str, new: str) -> None:
    """Another subject, place, version, time; one of several; the past; a rule and an exception."""
    assert isinstance(compare_statements(old, new), Independent | Related)


@pytest.mark.parametrize("said", NARROWED)
def test_what_is_only_supposed_is_no_newer_value(said: str) -> None:
    """The statement stands in the sentence, and is not what the sentence states."""
    assert not isinstance(compare_statements("The server has 4 GB RAM.", said), Outdates)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("According to the wiki, uploaded files are kept for 30 days.",
         "The handbook gives 90 days as the time we keep uploaded files."),
        ("My passport is in the desk drawer, I think.", "Maybe the passport is in the suitcase."),
        ("The gym's app shows my contract running until March.",
         "The gym's letter says my contract goes on to the end of August."),
        ("According to Petra the backup runs hourly.", "According to Jan the backup runs daily."),
        ("Laut Petra läuft die Sicherung stündlich.", "Laut Jan läuft die Sicherung täglich."),
    ],
)  # fmt: skip
def test_what_stands_on_other_words_disputes(one: str, other: str) -> None:
    """Later is not newer where each only repeats what somebody else says."""
    assert isinstance(compare_statements(one, other), Disputes)


def test_what_is_over_is_named_as_it_is_written() -> None:
    """A reader does not know the stems that are compared."""
    found = compare_statements("Invoices are sent by post.", "Invoices are abolished.")

    assert found == Outdates("it says that Invoices is over")


def test_a_change_of_the_same_thing_without_its_value_is_related() -> None:
    """Too little for a mark, and worth a question to the caller."""
    assert isinstance(compare_statements("The wiki has 4 pages.", "The wiki changed."), Related)


def test_who_says_that_something_changed_is_recognised() -> None:
    """Then what is near in meaning may be what changed."""
    assert says_change("We switched to Linear.")
    assert says_change("I eat bread again.")
    assert says_change("Wiped the machine over Easter.")
    assert says_change("Nights have become shorter: 22:00 until 6:30.")
    assert says_change("I got a new laptop, a Framework.")
    assert not says_change("The importer reads CSV.")
    assert not says_change("Should we switch to Linear?")


def test_other_values_of_a_kind_are_looked_for() -> None:
    """ "Upgraded to PostgreSQL" shares no word with "Our database is MySQL"."""
    assert "mysql" in list_other_values("Upgraded to PostgreSQL 16.")
    assert list_other_values("The cat is asleep.") == []


@pytest.mark.parametrize(("told", "least", "wrong"), [("kept", 34, 1), ("free", 10, 1)])
def test_newer_values_in_longer_sentences(told: str, least: int, wrong: int) -> None:
    """How many of forty are seen, and of forty near misses; two wrote them who knew no rule."""
    pairs = json.loads((DATA / "newer_values.json").read_text("utf-8"))[told]
    seen = [new for old, new in pairs["newer"] if _is_marked(old, new)]
    near = [new for old, new in pairs["near"] if _is_marked(old, new)]

    assert len(pairs["newer"]) == len(pairs["near"]) == 40
    assert len(seen) >= least
    assert len(near) <= wrong


def test_the_fields_that_were_held_out() -> None:
    """Of 24 newer values and 24 near misses of three fields that no rule was made for."""
    held_out = json.loads((DATA / "truths_held_out.json").read_text("utf-8"))
    fields = [held_out[name] for name in ("kitchen", "ward", "studio")]
    seen = [new for field in fields for old, new in field["newer"] if _is_marked(old, new)]
    near = [new for field in fields for old, new in field["near"] if _is_marked(old, new)]

    assert len(seen) >= 19
    assert near == []


def _is_marked(old: str, new: str) -> bool:
    return isinstance(compare_statements(old, new), Outdates | Disputes)


NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)


def _record(number: int, content: str, kind: Kind = "fact", title: str = "") -> Record:
    return Record(
        id=RecordId(f"019c1476-4898-7000-8000-{number:012}"),
        kind=kind,
        content=content,
        title=title,
        scope=Scope(user="u"),
        created_at=NOW + timedelta(days=number),
    )


def test_the_last_of_a_line_outdates_all_before_it() -> None:
    """However they are handed in; who asks wants the one that holds."""
    first, second, third = (
        _record(number, f"The API listens on port {port}.")
        for number, port in enumerate((80, 81, 82))
    )
    marks = mark_truths([third, first, second])

    assert marks.outdated == {first.id: third.id, second.id: third.id}
    assert not marks.disputed


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("up to what amount can I order?", "Orders up to 200 euros can be placed by anybody.",
         "Accounting cut the free limit: anything above 75 euros is signed."),
        ("who is our stage manager?", "The stage manager is Beatrix Lund.",
         "Beatrix is off to film school, Tomasz calls the show now."),
        ("how often do we release?", "Releases are made on a whim.",
         "There's a release on the first of each month from now on."),
        ("when do lessons start?", "School starts at 8:10.",
         "The bell was moved: lessons begin at 8:30."),
        ("which maths book do we use?", "The maths department uses the textbook Lambda.",
         "Maths has switched to Numeria for all years."),
        ("how many vans do we have?", "We have one van, a white one.",
         "There are two vans: the old white one and an electric one."),
    ],
)  # fmt: skip
def test_a_question_tells_that_two_statements_are_about_one_thing(
    question: str, old: str, new: str
) -> None:
    """Alone they share hardly a word; both answer it, and the later one says that it changed."""
    older, newer = _record(1, old), _record(2, new)

    def replaces(one: Record, other: Record) -> bool:
        return answers_anew(question, one.content, other.content)

    assert mark_truths([older, newer], replaces).outdated == {older.id: newer.id}
    assert not mark_truths([older, newer]).outdated


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("when is the cryostat serviced?", "The cryostat is serviced every March.",
         "The spectrometer is serviced every October now."),
        ("who likes reviews in writing?", "Kemal prefers reviews in writing.",
         "Birte prefers reviews face to face now."),
        ("which database does staging use?", "Staging holds a copy of the shop's data.",
         "The shop's data was moved to PostgreSQL."),
        ("what does the importer read?", "The importer can read CSV.",
         "The importer can read Parquet now."),
        ("which tools do we use?", "We use pytest for the tests.",
         "We have switched from npm to pnpm for the tests."),
        ("when do lessons start?", "School starts at 8:10.",
         "The bell of the school was painted over."),
        ("how long is the lease?", "The lease of the office runs for five years.",
         "The lease of the office is in the safe now."),
        ("when are releases cut?", "Releases are cut on Tuesday.",
         "Firmware releases are now cut on Thursday."),
        ("worker timeout", "The worker timeout is 30 seconds.",
         "The API timeout was raised to 60 seconds."),
        ("how long is the act?", "The act runs 70 minutes.", "The act is fun, all 58 minutes."),
        ("what does the portal run on?", "The old portal runs on PHP.",
         "The new portal runs on Go now."),
        ("wer leitet die Imkerei?", "Marta leitet die Imkerei Nord.",
         "Marta leitet die Imkerei Süd nicht mehr."),
    ],
)  # fmt: skip
def test_a_question_makes_no_one_thing_of_two(question: str, old: str, new: str) -> None:
    """Another subject, place or kind, one of several, no value of its own, nothing changed."""
    assert not answers_anew(question, old, new)


def test_those_who_dispute_name_each_other() -> None:
    """Neither is right by being later."""
    one = _record(1, "According to the wiki, uploads are kept for 30 days.")
    other = _record(2, "According to the handbook, uploads are kept for 90 days.")

    assert mark_truths([one, other]).disputed == {one.id: (other.id,), other.id: (one.id,)}


def test_what_happened_is_never_outdated() -> None:
    """An event stays true, whatever happened later."""
    one = _record(1, "The API listens on port 80.", kind="event")
    other = _record(2, "The API listens on port 81.")

    assert not mark_truths([one, other]).outdated


@pytest.mark.sampled(2)
@pytest.mark.parametrize("title", ["", "Shop"])
def test_outlines_say_no_only_where_a_comparison_would(title: str) -> None:
    """A search compares no two memories whose outlines say no, and must not miss a mark by that."""
    pairs = json.loads((DATA / "fact_pairs.json").read_text("utf-8"))
    texts = [(pair["old"], pair["new"]) for pair in pairs] + OUTDATES
    held_out = json.loads((DATA / "truths_held_out.json").read_text("utf-8"))
    told = json.loads((DATA / "newer_values.json").read_text("utf-8")) | held_out
    for name in ("kept", "free", "kitchen", "ward", "studio"):
        texts += [(old, new) for old, new in told[name]["newer"]]
    tried = [(_record(1, old, title=title), _record(2, new, title=title)) for old, new in texts] + [
        (_record(1, one, title=title), _record(2, other, title=title))
        for (_, one), (other, _) in pairwise(texts)
    ]
    found = [mark_truths(each) for each in tried]
    glanced = [mark_truths(each, outlines={r.id: pack_outline(r) for r in each}) for each in tried]

    assert sum(bool(marks.outdated) for marks in found) > 100
    assert glanced == found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("title", ["", "Shop", "We use"])
@pytest.mark.parametrize("day", ["", "[2024-05-03] "])
def test_outlines_hide_no_candidate_that_has_to_do_with_a_new_memory(title: str, day: str) -> None:
    """A write reads no memory whose outline says no; the receipt must name the same ones."""
    pairs = json.loads((DATA / "fact_pairs.json").read_text("utf-8"))
    texts = [(day + pair["old"], day + pair["new"]) for pair in pairs] + OUTDATES
    texts += [(one, other) for (_, one), (other, _) in pairwise(texts)]
    compared = 0
    for old, new in texts:
        one, other = _record(1, old, title=title), _record(2, new, title=title)
        forms = (make_encoder_text(each) if title else each.content for each in (one, other))
        if isinstance(compare_statements(*forms), Independent):
            continue
        compared += 1
        assert may_relate(make_fields(one).outline, make_fields(other).outline), (old, new)

    assert compared > 200


def test_outlines_of_two_subjects_say_no() -> None:
    """Else every two of what a search finds were compared word by word."""
    one = pack_outline(_record(1, "The invoice service listens on port 8081."))
    other = pack_outline(_record(2, "Standup moved to 10:00."))

    assert not may_bear(one, other)
    assert not may_relate(one, other)
    assert pack_outline(_record(3, "The API listens on port 80.", kind="event")) == b""
    assert not may_bear(one[:-3], b"\x07")  # a broken page may hold anything


def test_outlines_of_one_of_several_say_no() -> None:
    """What is said of one of them leaves the others as they are."""
    every = pack_outline(_record(1, "The workers run on Hetzner."))
    some = pack_outline(_record(2, "One of the workers runs on AWS."))
    other = pack_outline(_record(3, "The workers now run on AWS."))

    assert not may_bear(every, some)
    assert not may_relate(every, some)
    assert may_bear(every, other)


def test_titles_name_what_is_meant() -> None:
    """ "Limit: 5" under two titles is said of two things."""
    one = _record(1, "The limit is 5.", title="Shop")
    other = _record(2, "The limit is 7.", title="Blog")

    assert not mark_truths([one, other]).outdated


def test_an_outdated_memory_takes_no_place_in_any_section() -> None:
    """Its successor may stand in another one."""
    old, new = _record(1, "The repo uses yarn."), _record(2, "The repo uses pnpm.", "decision")

    assert drop_outdated({"facts": [old], "decisions": [new]}) == {"facts": [], "decisions": [new]}


def test_an_outline_that_is_known_is_not_made_anew() -> None:
    """The index has it of every memory, and to make it takes longer than all the rest."""
    old, new = _record(1, "The shop uses yarn."), _record(2, "The shop uses pnpm.")
    of_new = pack_outline(new)

    assert drop_outdated({"": [old, new]}, (), {old.id: b"", new.id: of_new}) == {"": [old, new]}
    old, new = _record(3, "The farm uses yarn."), _record(4, "The farm uses pnpm.")
    assert drop_outdated({"": [old, new]}, (), {new.id: pack_outline(new)}) == {"": [new]}


def test_what_was_compared_before_is_not_compared_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown is rendered after each write: of its memories one is new."""
    texts = [text for pair in OUTDATES for text in pair]
    records = [_record(at, text) for at, text in enumerate(texts, 1)]
    glances: list[bytes] = []

    def glance(one: bytes, other: bytes) -> bool:
        glances.append(one)
        return may_bear(one, other)

    monkeypatch.setattr("memory_mcp.text.truths.marks.may_bear", glance)
    compared = Comparisons()
    for many in (len(records) - 1, len(records), len(records)):
        glances.clear()
        some = records[:many]
        outdated = mark_truths(some).outdated
        holding = [r for r in some if r.id not in outdated]
        assert drop_outdated({"": some}, comparisons=compared) == {"": holding}
        assert outdated
    assert not glances
    others = [*records[:-1], _record(len(records), "Nothing of all that.")]
    assert drop_outdated({"": others}, comparisons=compared)[""]
    assert len(glances) == len(records) - 1


def test_what_another_process_compared_is_not_compared_again() -> None:
    """A command renders after one write, and has compared nothing before."""
    old, new = _record(1, "The repo uses yarn."), _record(2, "The repo uses pnpm.")
    first, second = Comparisons(), Comparisons()
    assert not first.used
    assert drop_outdated({"": [old, new]}, comparisons=first) == {"": [new]}
    drop_outdated({"": [new]}, comparisons=first)
    assert [len(each.keys) for each in first.used] == [2, 1]
    second.load(first.used)

    nothing = {old.id: b"", new.id: b""}  # by which they would not be compared
    assert second.loaded
    assert drop_outdated({"": [old, new]}, (), nothing, second) == {"": [new]}
    assert drop_outdated({"": [old, new]}, (), nothing) == {"": [old, new]}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Uploads larger than 20 MB are refused.", "Uploads larger than 75 MB are refused."),
        ("Orders above 50 euros ship free.", "Orders above 75 euros ship free."),
    ],
)
def test_a_figure_that_bounds_the_subject_is_a_value(old: str, new: str) -> None:
    """It is one limit that moved, and no second subject."""
    assert isinstance(compare_statements(old, new), Outdates)


def test_a_hint_of_change_counts_only_near_to_the_question() -> None:
    """A word of change counts anywhere; a hint may be part of a name: "Back to Black".

    Neither counts against what happened, nor where both have the same value, nor where both have
    nothing in common but the subject.
    """
    plain = {"happened": 0.0, "siblings": 0.0, "same value": 0.0, "linked": 1.0}
    changed = plain | {"changes": 1.0, "hints": 0.0, "of one thing": 0.0}
    hinted = plain | {"changes": 0.0, "hints": 1.0, "of one thing": 1.0}
    near = {"old of best": 1.0, "new of best": 0.6}
    far = {"old of best": 1.0, "new of best": 0.2}

    assert tells_change(changed | far)
    assert tells_change(hinted | near)
    assert not tells_change(hinted | far)
    assert not tells_change(hinted | near | {"of one thing": 0.0})
    assert not tells_change(changed | near | {"happened": 1.0})
    assert not tells_change(changed | near | {"siblings": 1.0})
    assert not tells_change(changed | near | {"same value": 1.0})
    assert not tells_change(changed | near | {"linked": 0.0})


def test_no_words_weigh_more_than_the_most_that_they_may() -> None:
    """What a search settles without reading is settled as it would be by reading."""
    near = {"old of best": 0.4, "new of best": 0.3, "new score": 0.2, "shared": 0.1}
    most = weigh_most(near)

    assert weigh_answers(near) < most
    for old, new in OUTDATES:
        assert weigh_answers(describe_answers("what is it now?", old, new) | near) <= most


def test_two_of_which_one_hardly_answers_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of what a question finds does not answer it, and to read two takes long."""
    old = _record(1, "Malt comes from Sedlmaier.")
    new = _record(2, "Our malt supplier is Weyland & Sons since the new year.")
    other = _record(3, "The parrot eats seeds.")
    fields = {record.id: make_fields(record) for record in (other, old, new)}
    outlines = {id_: each.outline for id_, each in fields.items()}
    asked = "who delivers our malt?"

    def mark(agreement: float) -> list[RecordId | None]:
        best = Hit(other, 0.9, agreement=0.9)
        hits = [best, *(Hit(each, agreement, agreement=agreement) for each in (new, old))]
        return [hit.outdated_by for hit in mark_hits(hits, asked, outlines, fields)]

    assert mark(0.9) == [None, None, new.id]
    monkeypatch.delattr("memory_mcp.search.truths.describe_answers")
    assert mark(0.1) == [None, None, None]


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("what must operators see", "The operator view must be dark theme only.",
         "We switched the operator view to Qt."),
        ("who is the dramaturg", "Merging a translation needs a review from the dramaturg.",
         "Paul Ehrke is the dramaturg now."),
        ("where are feed tables edited", "Ingrid approves every change of the feeding tables.",
         "Feed tables get edited in the web editor these days."),
        ("how are lice reports submitted",
         "Lice counts are reported to the authority every Monday before noon.",
         "Lice reports have to be uploaded in the portal instead."),
        ("how does the weather station report", "The weather station sends readings over MQTT.",
         "The weather station was moved to the south roof."),
        ("wo stehen die DVDs", "DVDs stehen im Keller.",
         "Die DVDs haben jetzt gelbe Etiketten."),
        ("when are playtests", "Playtests are on Thursday evenings.",
         "Playtests are held online now."),
    ],
)  # fmt: skip
def test_what_is_said_further_of_one_thing_answers_nothing_anew(
    question: str, old: str, new: str
) -> None:
    """Both are near to the question, and the later one says that something changed."""
    near = {"old of best": 1.0, "new of best": 1.0}

    assert not tells_change(describe_answers(question, old, new) | near)


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("who delivers our malt", "Malt comes from Sedlmaier.",
         "Our malt supplier is Weyland & Sons since the new year."),
        ("until when can lunch be ordered", "Orders for lunch close at 9:30.",
         "Lunch orders are now accepted until 10:15."),
        ("was kostet eine Seite", "Drucken kostet 10 Cent pro Seite.",
         "Eine Seite zu drucken kostet ab sofort 15 Cent."),
        ("which engine do we use", "The game is made with Unity 2022.",
         "We dropped Unity; it is Godot from now on."),
    ],
)  # fmt: skip
def test_another_value_of_what_is_asked_for_answers_anew(question: str, old: str, new: str) -> None:
    """Or what ends the older one."""
    near = {"old of best": 1.0, "new of best": 1.0}

    assert tells_change(describe_answers(question, old, new) | near)
