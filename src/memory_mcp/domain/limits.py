"""Every limit, named once with its reason."""

from typing import Final

CONTENT_CHARS_MAX: Final = 8_000
"""Longest text of one memory: about 2,000 tokens. Longer material is a document, not a memory."""

TITLE_CHARS_MAX: Final = 200
"""A title is one line of a listing."""

CATEGORY_CHARS_MAX: Final = 64
KEY_CHARS_MAX: Final = 512
"""Ours are made of a project, a session and a time; a longer one names nothing."""
TAG_CHARS_MAX: Final = 64
TAGS_MAX: Final = 32
"""Beyond this, tags stop telling memories apart."""

LINKS_MAX: Final = 32
"""How many memories one memory may supersede or be derived from."""

SOURCES_MAX: Final = 256
"""How many a record may be made of, or take the place of by a merge: far more than ever meet."""

NAMED_MAX: Final = 100_000
"""How many records one step may erase or hide, or segments it may leave: a whole project."""

NAME_CHARS_MAX: Final = 500
"""What a client, a session, a branch of git, a user or a project is called; it is cut there."""


TIMELINE_SEGMENTS_MAX: Final = 100_000
"""Segments, checkpoints, moves and left lines that a head may list: a checkpoint an hour, for
eleven years."""

REVISION_MAX: Final = 2**53
"""What every JSON reader takes for a whole number."""

JSON_VALUES_MAX: Final = 1_500_000
"""Values in one file: read, the emptiest take 64 bytes each, so that none takes 100 MB."""

RECORD_BYTES_MAX: Final = 4_500_000
"""A record that names all it erases, 43 bytes each; every other one is below 200 kB."""


IMPORTANCE_MIN: Final = 1
IMPORTANCE_MAX: Final = 5
IMPORTANCE_USUAL: Final = 3

SUMMARY_CHARS_MAX: Final = 2_000
"""A checkpoint is read at the start of every session after it, so it stays short."""

DECISIONS_MAX: Final = 20
ARTIFACTS_MAX: Final = 50
ISSUES_MAX: Final = 20
AGENTS_MAX: Final = 20
"""What closes a phase is told in a few lines each; more belongs into several checkpoints."""

DECISION_CHARS_MAX: Final = 1_000
RATIONALE_CHARS_MAX: Final = 2_000
ISSUE_CHARS_MAX: Final = 1_000
ARTIFACT_CHARS_MAX: Final = 150
"""A path or a name: all of them together are one memory."""
AGENT_CHARS_MAX: Final = 300
"""Who it was and what they did, in a line: all of them together are one memory."""

HISTORY_CHARS_MAX: Final = 2_000
"""An entry of the history is a paragraph."""

INSIGHTS_MAX: Final = 15
INSIGHT_CHARS_MAX: Final = 500
"""All insights of a session are one memory."""

SESSION_CHARS_MAX: Final = 128
"""The name of a session is an id; UUIDs have 36."""

TURN_CHARS_MAX: Final = 8_000
"""Of a longer turn of a conversation the beginning and the end are read."""

LESSON_CHARS_MAX: Final = 1_000
"""A lesson is carried into every later session."""

REASON_CHARS_MAX: Final = 500

BRANCH_CHARS_MAX: Final = 64

PHASE_MAX: Final = 9_999
"""Keeps checkpoint ids short; no pipeline has more phases."""

RESULTS_MAX: Final = 10
RESULTS_DEFAULT: Final = 5

QUERY_CHARS_MAX: Final = 10_000
"""Longer queries are cut: nothing beyond this changes which memory is meant."""

QUERY_TERMS_MAX: Final = 32
"""The rarest terms decide; more only cost time."""

CANDIDATES_MAX: Final = 80
"""How many visible matches are ranked: on the sets of benchmarks/ twice as many find no more."""

SESSION_PAUSE_SECONDS_MAX: Final = 1_800.0
"""What was written half an hour later belongs to another matter."""

CONTEXT_TOKENS_DEFAULT: Final = 500
CONTEXT_TOKENS_MIN: Final = 60
"""Below this the fence alone would not fit."""
CONTEXT_TOKENS_MAX: Final = 8_000
"""Clients store anything much larger in a file instead of showing it."""

HISTORY_PAGE_CHARS_MAX: Final = 24_000
"""Of the history in one read: about 6,000 tokens, well below what clients pass to a model."""

HISTORY_RECORDS_MAX: Final = 200

LISTED_CHECKPOINTS_MAX: Final = 10
"""Of the checkpoints that clients list beside the other resources: people choose from it."""

COMPLETIONS_MAX: Final = 100
"""What the protocol allows."""

WATCHED_MAX: Final = 100
"""Resources that one client may have watched: each is read again whenever something is written."""

CHARS_PER_TOKEN: Final = 4
"""The usual estimate; the budget is stated in these tokens everywhere."""

CHAIN_SEGMENTS_WARN: Final = 1_000
"""A visible chain this deep still answers quickly; much deeper ones deserve a word."""

LINEAGE_SEGMENTS_MAX: Final = 200
"""A record names so many segments that were given up on its branch, the newest: 8 kB at most."""

TITLES_REPORTED_MAX: Final = 10
"""A backtrack counts everything it hides and names this many."""

HEAD_MOVES_RETRY_MAX: Final = 20
"""How often a move is planned again because another session moved first."""

LOCK_SECONDS_MAX: Final = 10.0
"""A head move takes milliseconds; a lock held this long belongs to a hung process."""

LITTER_SECONDS_MIN: Final = 3_600.0
"""A write takes milliseconds; its temporary file is litter once it is this old."""

INDEX_BUSY_SECONDS_MAX: Final = 5.0
"""How long SQLite waits for another writer."""

STATEMENT_SECONDS_MAX: Final = 30.0
"""How long SQLite may work at one statement; on 100,000 memories none takes a tenth of it."""

DATABASE_BYTES_MAX: Final = 8_000_000_000
"""Of an index or an outbox: a million memories with their vectors are half of it."""

INDEX_CATCH_UP_SECONDS_MAX: Final = 20.0
"""How long a search waits for an index that is being made anew before it says so."""

BATCH_ADDS_MAX: Final = 20
"""Documents handed to the cloud in one request (it takes 600): one that is refused delays few."""

BATCH_IDS_MAX: Final = 100
"""Ids in one request of the cloud, which takes no more."""

LEASE_SECONDS: Final = 60.0
"""How long a session has for the parcels it claimed: a few requests, each with its timeout."""

REMOTE_SEARCH_SECONDS_DEFAULT: Final = 4.0
"""How long a search waits for the cloud: 3 s cost others 7.5 % of their recalls."""

REMOTE_SEARCH_SECONDS_MAX: Final = 20.0
"""Whoever searches is waiting, and a call that reads has half a minute for all that it does."""

READ_CALL_SECONDS_MAX: Final = 30.0
"""How long a call that reads may take: an index made anew (20 s), and what is local beside it."""

WRITE_CALL_SECONDS_MAX: Final = 50.0
"""As long as a call that writes may take: many clients give up after 60 s, and hear nothing."""

REMOTE_CONNECT_SECONDS_MAX: Final = 2.0
REMOTE_DELIVERY_SECONDS_MAX: Final = 15.0
"""How long a delivery waits for an answer; nobody waits for the delivery."""

REMOTE_ANSWER_BYTES_MAX: Final = 8_000_000
"""The longest answer, on the wire and unpacked: a page of 100 memories is 1 to 5 MB."""

REMOTE_ANSWER_PARTS_MAX: Final = 500_000
"""Objects and lists in one answer: each costs 20 times the memory of its two brackets."""

REMOTE_ERROR_CHARS_MAX: Final = 200
"""How much of the cloud's own words an error repeats."""

REMOTE_FACT_CHARS_MAX: Final = 500
"""The longest fact of the cloud's profile: one sentence."""

LISTED_PAGES_MAX: Final = 2_000
"""Pages of one look around: 200,000 records. A listing that is longer may never end."""

REMOTE_QUERY_CHARS_MAX: Final = 2_000
"""What is sent of a longer query: a task's description, not a document."""

REMOTE_HITS_MAX: Final = 100
"""Passages in one answer of the cloud, which gives no more."""

REMOTE_OVERFETCH: Final = 4
"""Passages asked for per result: some are of one memory, some are not visible."""

REMOTE_EXCLUDED_MAX: Final = 150
"""Abandoned segments that a remote search excludes (the newest): a filter takes 200."""

PAUSE_SECONDS_MIN: Final = 1.0
PAUSE_SECONDS_MAX: Final = 300.0
"""The pauses after failures double from the one to the other."""

RETRY_AFTER_SECONDS_MAX: Final = 3_600.0
"""The longest pause that the cloud may ask for: milliseconds taken for seconds would be weeks."""

PROBE_SECONDS: Final = 300.0
"""How often a key that was refused is tried again; `memory-mcp sync` tries at once."""

CONFIRM_SECONDS: Final = (2.0, 10.0, 60.0)
"""When to ask whether the cloud is done with what it took; from then on at the last of them."""

CONFIRM_ATTEMPTS_MAX: Final = 30
"""After so many looks (half an hour) a document that is still not done counts as lost."""

LOST_MAX: Final = 1
"""How often a document that the cloud lost is sent anew before it is called undeliverable."""

TOGETHER_ATTEMPTS_MAX: Final = 3
"""After so many failures a document travels alone, so that it keeps no others back."""

SYNC_WAIT_SECONDS_MAX: Final = 20.0
"""How long `memory-mcp sync` waits for the cloud to be ready again before it leaves."""

LOOK_SECONDS_MIN: Final = 60.0
"""How often a session that searches the cloud looks what other machines did there."""

LISTED_LATE_SECONDS_MAX: Final = 600.0
"""How long after it was taken a document may be missing in the cloud's listings."""

DELIVERY_IDLE_SECONDS_MAX: Final = 30.0
"""How often a session looks into an outbox that other sessions fill too."""

ENCODE_CHARS_MAX: Final = 4_000
"""Text encoded in one go: about a tenth of a second, so that ending never takes much longer."""

ENCODE_IDLE_SECONDS_MAX: Final = 30.0
"""How often a session looks whether others left something to be encoded."""

EMBEDDER_UNUSED_DAYS_MAX: Final = 7
"""For how long the vectors of an embedder are kept that no session uses: one may come back."""

PIECES_MAX: Final = 256
"""Word pieces in one chunk, the two marks around it included: what MiniLM was trained for."""

PIECES_OVERLAP: Final = 32
"""Pieces that two neighbouring chunks share, so that no sentence is cut in both."""

EMBEDDER_IDLE_SECONDS: Final = 600.0
"""How long a model that nobody asks stays in memory; loading it again takes half a second."""

FETCH_CONNECT_SECONDS_MAX: Final = 10.0
FETCH_STALL_SECONDS_MAX: Final = 30.0
"""How long a download may stand still; what has come so far is kept for the next try."""

EMBED_SECONDS_MAX: Final = 15.0
"""How long a server may take for one batch of texts; a local one may have to load its model."""

EMBED_QUESTION_SECONDS_MAX: Final = 4.0
"""Whoever searches is waiting, and is found something by words meanwhile."""

EMBED_BATCH_MAX: Final = 32
"""Texts in one request: about 64,000 characters, below what any of these servers takes."""

EMBED_CHUNK_CHARS: Final = 2_000
EMBED_OVERLAP_CHARS: Final = 200
"""The stretches that a server gets: about 500 tokens, what small embedding models can take."""

EMBED_PAUSE_SECONDS_MIN: Final = 5.0
EMBED_PAUSE_SECONDS_MAX: Final = 300.0
"""How long a server that did not answer is left alone, doubling: nobody waits meanwhile."""

EMBED_ANSWER_BYTES_MAX: Final = 16_000_000
"""The longest answer: a batch of the widest vectors is 6 MB as JSON."""

EMBED_DIMENSIONS_MAX: Final = 8_192
"""No known model gives more; an answer that does is none."""

EMBED_RETRY_SECONDS: Final = 1.0
"""The pause before the only second try."""

LANGUAGE_SECONDS_MAX: Final = 10.0
"""How long a language model may take for one question, second tries included: a write waits."""

LANGUAGE_ANSWER_BYTES_MAX: Final = 1_000_000
"""The longest answer: a memory, every letter of it escaped, is 50 kB; models think aloud too."""

LANGUAGE_TURNS_CHARS_MAX: Final = 24_000
"""What is sent of the turns to be summed up, the newest first: a dozen long ones."""

HTTP_BODY_BYTES_MAX: Final = 4 * 1024 * 1024
"""The longest request over HTTP: hundreds of the longest memories."""

HTTP_BODY_SECONDS_MAX: Final = 10.0
HTTP_HEADER_SECONDS_MAX: Final = 10.0
"""How long the head and the body of a request may take to come, on one and the same machine."""

HTTP_SESSIONS_MAX: Final = 100
"""Sessions of one server: each keeps some hundred kB. Where there is one more, an idle one goes."""

HTTP_CONNECTIONS_MAX: Final = 1_000
"""Connections at once, a stream for each session included."""

NUDGE_CHARS_MAX: Final = 300
"""One or two sentences: a nudge stands whole on one line of the context."""

NUDGE_PRIORITY_MIN: Final = 1
NUDGE_PRIORITY_MAX: Final = 10
NUDGE_PRIORITY_USUAL: Final = 5

NUDGE_BY_CHARS_MAX: Final = 100
"""Who left it is a program's name, not a text."""

NUDGE_BYTES_MAX: Final = 8_192
"""A nudge as JSON is a tenth of it; what is larger is not read at all."""

NUDGES_MAX: Final = 1_000
"""How many wait for a user: to take one of them, and remove the rest, is a matter of 0.15 s."""

NUDGE_FILES_MAX: Final = 20_000
"""How many files of a drop-box are opened to find them; most of so many are no nudges."""

NUDGE_SECONDS_MAX: Final = 2.0
"""How long the start of a session waits for a queue to find one: it is a courtesy, no memory."""

NUDGE_TAKE_SECONDS_MAX: Final = 1.5
"""When a queue gives up looking: soon enough to say why to the session that waits."""

NUDGE_QUIET_SECONDS: Final = 0.5
"""A file that another program touched within this time may still be growing: it is watched."""

IMPORT_BYTES_MAX: Final = 10_000_000
"""What is read of a source at once: read and weighed, it takes up to twenty times the room."""

IMPORT_VALUES_MAX: Final = 500_000
"""Values of JSON, or lines, in a source: each takes a hundred times the room that it has there."""

IMPORT_ITEMS_MAX: Final = 20_000
"""Memories in a source, with what is none; all of them are held until the last one is checked."""

IMPORT_OWN_TIMES: Final = 10
"""So many times as much is read of what lies in no repository: the user's own backup, say."""

IMPORT_FILES_MAX: Final = 50_000
"""Files of a folder that is imported: a larger one is no folder of notes."""

IMPORT_NOTE_BYTES_MAX: Final = 4_000_000
"""A Markdown file that is larger is no note."""

ITEM_CHARS_MAX: Final = 80_000
"""What is split into memories: ten of them. More is a document, which belongs beside the code."""

HEAD_BYTES_MAX: Final = 16_777_216
"""A head of 20,000 checkpoints has about so many; a larger file is none of ours."""

HISTORY_BYTES_MAX: Final = 33_554_432
"""Some 60,000 moves. More cannot be looked through between two calls."""


VIEW_BYTES_MAX: Final = 4_194_304
"""Far more than any page that is rendered; a larger one was written by somebody else."""

STRANGERS_SEARCHED_MAX: Final = 5_000
"""Records of a project that is not trusted that are indexed: two seconds for a first call."""


EVENT_BYTES_MAX: Final = 262_144
"""An event in the inbox: the summary of a compaction with room to spare."""

EVENT_NAME_CHARS_MAX: Final = 256
"""A client's name for a session, or why it ended."""

EVENT_PATH_CHARS_MAX: Final = 4_096

EVENTS_AT_ONCE_MAX: Final = 100
"""Of a full inbox so many are worked off in one go: a command that does so must end."""

EVENT_DAYS_MAX: Final = 30
"""What could not be worked off in a month will not be: its transcript is gone by then."""

SUMMARY_DAYS_MAX: Final = 7
"""The summary of a compaction lies in the inbox as it was said, secrets and all: not for long."""

REWOUND_HOURS_MAX: Final = 24
"""A conversation that is not gone on with in a day needs no word about where it went back."""

TRANSCRIPT_BYTES_MAX: Final = 1_048_576
"""Of a longer transcript the end is read: an episode is made of a dozen turns."""

PROMPT_TOKENS_MAX: Final = 300
"""What goes with a prompt, and is paid for with each one after it."""

PROMPT_SCORE_MIN: Final = 0.5
"""More likely meant than not. On the set `agent` of benchmarks/ 97 % of what is shown belongs there
(95 % with the model), and of 393 prompts about other things 1 is shown any (2)."""

PROMPT_TERMS_MIN: Final = 3
"""Fewer words that carry a meaning ("what does this function do?") fit too many memories."""

PROMPT_TERMS_FEW: Final = 2
PROMPT_FEW_MIN: Final = 0.75
"""A whole question of two such words ("When do we deploy to staging?") must fit one memory this
well, and no other as well as `PROMPT_SCORE_MIN`."""

PROMPT_CHARS_MAX: Final = 4_000
"""Of a longer prompt the beginning is looked at: what follows is mostly pasted."""

PROMPT_HITS_MAX: Final = 3

PROMPT_SECONDS_MAX: Final = 1.5
"""Nobody may feel that a prompt waits for memory."""

PROMPT_NUDGE_SECONDS_MAX: Final = 0.3
"""A queue far away that takes longer is asked again with the next prompt."""
