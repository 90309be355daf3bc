"""Every limit, named once, with its reason."""

from typing import Final

# Memories and records

CONTENT_CHARS_MAX: Final = 8_000  # about 2,000 tokens; longer material is a document
TITLE_CHARS_MAX: Final = 200  # one line of a listing
CATEGORY_CHARS_MAX: Final = 64  # one word, or a few
KEY_CHARS_MAX: Final = 512  # ours hold a project, a session and a time
TAG_CHARS_MAX: Final = 64  # one word, or a few
CITES_MAX: Final = 16  # places in the code that one memory rests on
TAGS_MAX: Final = 32  # more of them tell no memories apart
LINKS_MAX: Final = 32  # memories that one memory may supersede or be derived from
SOURCES_MAX: Final = 4_096  # sources of one record, 43 bytes each: below 200 kB
REPLACED_MAX: Final = 256  # that one memory takes the place of: far more than ever meet
REFERENCES_MAX: Final = 100_000  # records that one step may erase or hide: a whole project
NAME_CHARS_MAX: Final = 500  # a client, session, git branch, user or project is cut here
IMPORTANCE_MIN: Final = 1  # a scale of five
IMPORTANCE_MAX: Final = 5
IMPORTANCE_DEFAULT: Final = 3
ITEM_CHARS_MAX: Final = 80_000  # text split into memories: ten of them; more is a document

RECORD_BYTES_MAX: Final = 4_500_000  # names all it erases, 43 bytes each; others stay below 200 kB
JSON_VALUES_MAX: Final = 1_500_000  # values in one file: parsed, at most about 100 MB
REVISION_MAX: Final = 2**53  # what every JSON reader takes for an integer

# The timeline

TIMELINE_SEGMENTS_MAX: Final = 100_000  # in one head: a checkpoint an hour, for eleven years
CHAIN_SEGMENTS_WARN: Final = 1_000  # a deeper visible chain deserves a warning
LINEAGE_SEGMENTS_MAX: Final = 200  # abandoned segments that a record names, newest: 8 kB
PHASE_MAX: Final = 9_999  # keeps checkpoint ids short; no pipeline has more phases
BRANCH_CHARS_MAX: Final = 200  # an agent's id of a node of its tree, at full length
HEAD_MOVES_RETRY_MAX: Final = 20  # replans of a move because another session moved first
HEAD_PAUSE_SECONDS_MIN: Final = 0.002  # before the first replan at most; doubles with each
HEAD_PAUSE_SECONDS_MAX: Final = 0.25  # to here: with all replans 4 s at most, of 30 for a call
HEAD_BYTES_MAX: Final = 16_777_216  # a head of 20,000 checkpoints
HEAD_ENTRIES_MAX: Final = 256  # of a timeline in the head itself: 30 kB, written twice a move
HISTORY_BYTES_MAX: Final = 33_554_432  # 60,000 moves; more cannot be read between two calls
LOCK_SECONDS_MAX: Final = 10.0  # a move takes milliseconds; this long, a process hangs
ADD_TRIES_MAX: Final = 20  # each means that somebody else has just stored the same statement
TEMPORARY_FILE_SECONDS_MAX: Final = 3_600.0  # a write takes milliseconds; older files are litter

# Layers

CORE_KEYS_MAX: Final = 200  # the core of a node is always in view
PREFERENCES_SHOWN: Final = 50  # beside the core of a node, pinned and important first
CORE_KEY_CHARS_MAX: Final = 200  # a name
EVENT_SUMMARY_CHARS_MAX: Final = 2_000  # a paragraph; the rest of an event is its text
EVENT_TAGS_MAX: Final = TAGS_MAX - 2  # phase and kind are tags, too
META_BYTES_MAX: Final = 4_096  # of JSON: labels and references, no second text
META_DEPTH_MAX: Final = 16  # nobody nests labels deeper
RECALL_WINDOW_DEFAULT: Final = 50  # newest events in view (MEMORY_RECALL_WINDOW)
EVENTS_MAX: Final = SOURCES_MAX  # that one summary takes the place of, or one search lists
NODE_DEPTH_MAX: Final = 1_000  # nodes on one chain
NODES_SHOWN_MAX: Final = 10  # of the branches in a report: who asks is on one of thousands

# Checkpoints, closeouts, sessions

SUMMARY_CHARS_MAX: Final = 2_000  # read at the start of every later session
DECISIONS_MAX: Final = 20  # of a closeout; more belongs into several checkpoints
ARTIFACTS_MAX: Final = 50
ISSUES_MAX: Final = 20
AGENTS_MAX: Final = 20
DECISION_CHARS_MAX: Final = 1_000  # a paragraph
RATIONALE_CHARS_MAX: Final = 2_000  # two paragraphs
ISSUE_CHARS_MAX: Final = 1_000  # a paragraph
ARTIFACT_CHARS_MAX: Final = 150  # a path or a name; all of them are one memory
AGENT_CHARS_MAX: Final = 300  # a line; all of them are one memory
HISTORY_CHARS_MAX: Final = 2_000  # an entry of the history is a paragraph
INSIGHTS_MAX: Final = 15  # all insights of a session are one memory
INSIGHT_CHARS_MAX: Final = 500
LESSON_CHARS_MAX: Final = 1_000  # carried into every later session
REASON_CHARS_MAX: Final = 500  # a sentence or two
SESSION_CHARS_MAX: Final = 128  # an id; a UUID has 36 characters
SESSION_PAUSE_SECONDS_MAX: Final = 1_800.0  # what is written later is about another matter
TURN_CHARS_MAX: Final = 8_000  # of a longer turn the beginning and the end are read
AUTHORS_COUNTED_MAX: Final = 200  # a backtrack looks at who wrote so many of the newest it hides
TITLES_REPORTED_MAX: Final = 10  # a backtrack counts all it hides and names this many

# Search and context

RESULTS_MAX: Final = 10  # more would cost the model's context more than it helps
RESULTS_DEFAULT: Final = 5
QUERY_CHARS_MAX: Final = 10_000  # the rest does not change which memory is meant
RARE_TERM_RECORDS_MAX: Final = 20  # a count of so few could tell of a hidden record
QUOTE_TERMS_MIN: Final = 3  # fewer words stand in a row by chance
QUERY_TERMS_MAX: Final = 32  # the rarest terms decide; more only cost time
CANDIDATES_MAX: Final = 80  # ranked matches: on the sets of benchmarks/ more find nothing new
STRANGERS_SEARCHED_MAX: Final = 5_000  # untrusted records indexed: two seconds for a first call

CONTEXT_TOKENS_DEFAULT: Final = 500
CONTEXT_TOKENS_MIN: Final = 60  # below this the fence alone would not fit
CONTEXT_TOKENS_MAX: Final = 8_000  # clients store anything much larger in a file
CHARS_PER_TOKEN: Final = 4  # the usual estimate, used for every budget
HISTORY_PAGE_CHARS_MAX: Final = 24_000  # 6,000 tokens, well below what clients show a model
HISTORY_RECORDS_MAX: Final = 200  # of the history in one read
LISTED_MEMORIES_MAX: Final = 1_000
LISTED_CHECKPOINTS_MAX: Final = 10  # among a client's resources: people choose from the list
COMPLETIONS_MAX: Final = 100  # what the protocol allows
WATCHED_MAX: Final = 100  # resources watched by one client: each is read after every write
PAGE_BYTES_MAX: Final = 4_194_304  # far more than any page we render

PROMPT_TOKENS_MAX: Final = 300  # added to a prompt, and paid for with each one after it
PROMPT_CHARS_MAX: Final = 4_000  # of a longer prompt the beginning: the rest is mostly pasted
PROMPT_HITS_MAX: Final = 3  # a prompt is helped by the best, not by a list
# `python benchmarks/prompt_recall.py` says how much of what is shown belongs there.
PROMPT_SCORE_MIN: Final = 0.5
PROMPT_TERMS_MIN: Final = 3  # fewer words with a meaning fit too many memories
# A whole question of two such words ("When do we deploy to staging?") must fit one memory this
# well, and no other as well as `PROMPT_SCORE_MIN`.
PROMPT_TERMS_FEW: Final = 2
PROMPT_FEW_MIN: Final = 0.75
# An instruction may be about to break a rule. One of the first so many is shown that likely bears
# on it (benchmarks/TRIALS.md).
PROMPT_COMPARED_MAX: Final = 16
PROMPT_SECONDS_MAX: Final = 1.5  # nobody may notice that a prompt waits
PROMPT_NUDGE_SECONDS_MAX: Final = 0.3  # a slower queue is asked again with the next prompt

# The index, and calls

INDEX_BUSY_SECONDS_MAX: Final = 5.0  # wait for another writer of SQLite
STATEMENT_SECONDS_MAX: Final = 30.0  # on 100,000 memories none takes a tenth of it
DATABASE_BYTES_MAX: Final = 8_000_000_000  # a million memories with their vectors are half of it
DATABASE_CONNECTIONS_MAX: Final = 8  # of one process to PostgreSQL, which takes 100 in all
DATABASE_CONNECTIONS_OF_TENANT_MAX: Final = 2  # of each user and project served over HTTP
DATABASE_IDLE_SECONDS_MAX: Final = 30.0  # until a connection that nobody uses is closed
DATABASE_CONNECT_SECONDS_MAX: Final = 5.0  # an answering server takes a fraction of it
DATABASE_LOOK_SECONDS_MAX: Final = 90.0  # that a rendered text counts without another look
DATABASE_POOL_SECONDS_MAX: Final = 10.0  # until one of these connections is free
DATABASE_LOCK_SECONDS_MAX: Final = 10.0  # a transaction takes milliseconds
INDEX_CATCH_UP_SECONDS_MAX: Final = 20.0  # then a search says that the index is being rebuilt
INDEX_PAUSE_SECONDS_MAX: Final = 0.5  # per batch, that making it anew leaves to a reader
INDEX_ASIDE_RECORDS_MAX: Final = 20_000  # of branches that git has away: newest, 2 kB each
INDEX_FOLLOW_SECONDS_MAX: Final = 1.0  # a reader then gets what is there, and is told
READ_CALL_SECONDS_MAX: Final = 30.0  # a rebuilt index (20 s), and the local work beside it
WRITE_CALL_SECONDS_MAX: Final = 50.0  # many clients give up after 60 s, and hear nothing

# The cloud

REMOTE_SEARCH_SECONDS_DEFAULT: Final = 4.0  # 3 s cost others 7.5 % of their recalls
REMOTE_SEARCH_SECONDS_MAX: Final = 20.0  # a call that reads has 30 s for all that it does
REMOTE_CONNECT_SECONDS_MAX: Final = 2.0  # an answering host accepts in a fraction of it
REMOTE_DELIVERY_SECONDS_MAX: Final = 15.0  # nobody waits for a delivery
REMOTE_ANSWER_BYTES_MAX: Final = 8_000_000  # on the wire and unpacked: 100 memories are 1 to 5 MB
REMOTE_ANSWER_PARTS_MAX: Final = 500_000  # objects and lists: each costs 20 times its brackets
REMOTE_ERROR_CHARS_MAX: Final = 200  # of the cloud's own words in an error
REMOTE_FACT_CHARS_MAX: Final = 500  # a fact of the cloud's profile is one sentence
REMOTE_QUERY_CHARS_MAX: Final = 2_000  # of a query: a task's description, not a document
REMOTE_HITS_MAX: Final = 100  # passages in one answer: the cloud gives no more
REMOTE_OVERFETCH: Final = 4  # passages per result: some share a memory, some are not visible
REMOTE_EXCLUDED_MAX: Final = 150  # abandoned segments in a filter, newest: it takes 200
REMOTE_PAUSE_SECONDS_MIN: Final = 1.0  # pauses after failures double from here
REMOTE_PAUSE_SECONDS_MAX: Final = 300.0  # to here
RETRY_AFTER_SECONDS_MAX: Final = 3_600.0  # milliseconds taken for seconds would be weeks
KEY_PROBE_SECONDS: Final = 300.0  # until a refused key is tried again; `sync` tries at once

BATCH_ADDS_MAX: Final = 20  # documents in a request (of 600 allowed): a refusal delays few
BATCH_IDS_MAX: Final = 100  # ids in a request: the cloud takes no more
BATCH_ATTEMPTS_MAX: Final = 3  # then a document is sent alone, to keep no others back
LEASE_SECONDS: Final = 60.0  # for claimed outbox entries: a few requests with their timeouts
CONFIRM_SECONDS: Final = (2.0, 10.0, 60.0)  # until it is asked whether a document is done
CONFIRM_ATTEMPTS_MAX: Final = 30  # half an hour; then the document counts as lost
LOST_RESENDS_MAX: Final = 1  # of a document that the cloud lost, until it is undeliverable
DELIVERY_IDLE_SECONDS_MAX: Final = 30.0  # between looks into an outbox that others fill too
SYNC_WAIT_SECONDS_MAX: Final = 20.0  # that `memory-mcp cloud sync` waits for a paused cloud
PULL_INTERVAL_SECONDS_MIN: Final = 60.0  # between two looks at what other machines wrote
LISTED_PAGES_MAX: Final = 2_000  # 200,000 records; a longer listing may never end
LISTING_LAG_SECONDS_MAX: Final = 600.0  # that an accepted document may be missing in listings

# Models

ENCODE_CHARS_MAX: Final = 4_000  # encoded at once: a tenth of a second, which shutdown waits for
ENCODE_IDLE_SECONDS_MAX: Final = 30.0  # between looks for records that others left to encode
EMBEDDER_UNUSED_DAYS_MAX: Final = 7  # that vectors of an unused embedder are kept
EMBEDDER_IDLE_SECONDS: Final = 600.0  # then a model is unloaded; loading takes half a second
CHUNK_PIECES_MAX: Final = 256  # word pieces and two marks: what MiniLM was trained for
CHUNK_PIECES_OVERLAP: Final = 32  # so that no sentence is cut in both of two chunks

FETCH_CONNECT_SECONDS_MAX: Final = 10.0  # a host that is there accepts in a fraction of it
FETCH_STALL_SECONDS_MAX: Final = 30.0  # of a download; what has come is kept for the next try

EMBED_SECONDS_MAX: Final = 15.0  # for a batch: a local server may have to load its model
EMBED_QUESTION_SECONDS_MAX: Final = 4.0  # somebody waits, and words find something meanwhile
EMBED_BATCH_MAX: Final = 32  # texts in a request: 64,000 characters, which every server takes
EMBED_CHUNK_CHARS: Final = 2_000  # 500 tokens, what small embedding models take
EMBED_OVERLAP_CHARS: Final = 200  # so that no sentence is cut in both of two chunks
EMBED_ANSWER_BYTES_MAX: Final = 16_000_000  # a batch of the widest vectors is 6 MB of JSON
EMBED_DIMENSIONS_MAX: Final = 8_192  # no known model gives more

LANGUAGE_SECONDS_MAX: Final = 10.0  # for one question with its retries: a write waits
LANGUAGE_ANSWER_BYTES_MAX: Final = 1_000_000  # an escaped memory is 50 kB; models think aloud
RESOURCE_ITEMS_MAX: Final = 1_000  # of a list of resources: each is looked at
RESOURCE_FILE_BYTES_MAX: Final = 1_000_000  # of that list
RESOURCE_FILES_SHOWN: Final = 50  # of a resource's folder
RESOURCE_EXCERPT_CHARS: Final = 2_000  # a description's first page
RENDER_CHARS_DEFAULT: Final = 24_000  # of a node in a prompt: some 6,000 tokens
PROMPT_HITS: Final = 10  # texts of the archive that a prompt has for its task
LESSONS_SHOWN: Final = 10  # first in the archive of a prompt: as many as it has for its task
COMPRESS_ROUNDS_DEFAULT: Final = 5  # in which a model may shorten a text
COMPRESS_PIECES_MAX: Final = 8  # of a text to shorten, of 24,000 characters: asked for at once
LANGUAGE_TURNS_CHARS_MAX: Final = 24_000  # of the turns to sum up, newest: a dozen long ones

MODEL_RETRY_SECONDS: Final = 1.0  # before the only second try
MODEL_PAUSE_SECONDS_MIN: Final = 5.0  # a failing server is left alone, doubling from here
MODEL_PAUSE_SECONDS_MAX: Final = 300.0  # to here

# HTTP

HTTP_BODY_BYTES_MAX: Final = 4 * 1024 * 1024  # hundreds of the longest memories
HTTP_BODY_SECONDS_MAX: Final = 10.0  # client and server are on the same machine
HTTP_HEADER_SECONDS_MAX: Final = 10.0
HTTP_SESSIONS_MAX: Final = 100  # of one tenant; each keeps some hundred kB
HTTP_TENANTS_MAX: Final = 64  # each has its databases open; beyond this an idle one is closed
HTTP_TENANTS_OF_ONE_MAX: Final = 16  # nobody may close everybody else's
HTTP_TENANT_IDLE_SECONDS_MAX: Final = 900.0
HTTP_REQUESTS_OF_ONE_MAX: Final = 64  # streams included: a client has one or two
HTTP_RATE_PER_MINUTE_DEFAULT: Final = 600  # an agent at work makes less than one call a second
HTTP_RATE_PER_MINUTE_MAX: Final = 1_000_000
HTTP_FAILURES_PER_MINUTE_MAX: Final = 30  # from one address
HTTP_REVOKED_SECONDS_MAX: Final = 1.0  # until what a revoked token has open is ended
HTTP_DRAIN_SECONDS_DEFAULT: Final = 5.0  # half of what containers are given to end
HTTP_DRAIN_SECONDS_MAX: Final = 300.0
HTTP_CONNECTIONS_MAX: Final = 1_000  # at once, a stream for each session included
HTTP_CONNECTIONS_OF_ONE_MAX: Final = 250  # from one address, so that others get in, too

# Nudges and inbox events

NUDGE_CHARS_MAX: Final = 300  # one or two sentences, on one line of the context
NUDGE_PRIORITY_MIN: Final = 1
NUDGE_PRIORITY_MAX: Final = 10
NUDGE_PRIORITY_DEFAULT: Final = 5
NUDGE_BY_CHARS_MAX: Final = 100  # the name of a program
NUDGE_BYTES_MAX: Final = 8_192  # a nudge as JSON is a tenth of it
NUDGES_MAX: Final = 1_000  # waiting for a user: taking one of so many takes 0.15 s
NUDGE_FILES_MAX: Final = 20_000  # opened in a drop-box to find them
NUDGE_SECONDS_MAX: Final = 2.0  # that a session's start waits for a queue: a courtesy, no memory
NUDGE_TAKE_SECONDS_MAX: Final = 1.5  # then a queue gives up, in time to tell the session why
NUDGE_SETTLE_SECONDS: Final = 0.5  # a file touched within this time may still be growing

EVENT_BYTES_MAX: Final = 262_144  # the summary of a compaction, with room to spare
EVENT_NAME_CHARS_MAX: Final = 256  # a client's name for a session, or why it ended
EVENT_PATH_CHARS_MAX: Final = 4_096  # the longest path on Linux
EVENTS_AT_ONCE_MAX: Final = 100  # a command that empties the inbox must end
EVENT_DAYS_MAX: Final = 30  # after a month its transcript is gone
COMPACTION_DAYS_MAX: Final = 7  # a compaction's summary may hold secrets: not for long
REWOUND_HOURS_MAX: Final = 24  # a conversation not continued in a day needs no reminder
TRANSCRIPT_BYTES_MAX: Final = 1_048_576  # the end is read: an episode has a dozen turns

# Captures

SUGGESTIONS_MAX: Final = 200  # open and decided: a busy month of a talkative user
SUGGESTIONS_BYTES_MAX: Final = 1_000_000  # so many of the longest statements
SUGGESTION_DAYS_MAX: Final = 7  # nobody remembers what was said a week ago
SUGGESTION_MEMORY_DAYS_MAX: Final = 60  # that the same statement is not asked about again

# Imports

IMPORT_BYTES_MAX: Final = 10_000_000  # read and parsed it takes up to twenty times the memory
IMPORT_VALUES_MAX: Final = 500_000  # of JSON, or lines: each takes a hundred times its size
IMPORT_ITEMS_MAX: Final = 20_000  # all are held until the last one is checked
IMPORT_OWN_FACTOR: Final = 10  # so much more of what lies in no repository: the user's backup
IMPORT_FILES_MAX: Final = 50_000  # a larger folder is no folder of notes
IMPORT_NOTE_BYTES_MAX: Final = 4_000_000  # a larger Markdown file is no note
