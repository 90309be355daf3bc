"""Every limit, named once with its reason."""

from typing import Final

CONTENT_CHARS_MAX: Final = 8_000
"""Longest text of one memory: about 2,000 tokens. Longer material is a document, not a memory."""

TITLE_CHARS_MAX: Final = 200
"""A title is one line of a listing."""

CATEGORY_CHARS_MAX: Final = 64
TAG_CHARS_MAX: Final = 64
TAGS_MAX: Final = 32
"""Beyond this, tags stop telling memories apart."""

LINKS_MAX: Final = 32
"""How many memories one memory may supersede or be derived from."""

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

REMOTE_SEARCH_SECONDS_MAX: Final = 60.0
"""Whoever searches is waiting."""

REMOTE_CONNECT_SECONDS_MAX: Final = 2.0
REMOTE_DELIVERY_SECONDS_MAX: Final = 15.0
"""How long a delivery waits for an answer; nobody waits for the delivery."""

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

IMPORT_BYTES_MAX: Final = 256_000_000
"""What is read of a source: a quarter of a million memories with all that was ever said of them."""

IMPORT_FILES_MAX: Final = 50_000
"""Files of a folder that is imported: a larger one is no folder of notes."""

IMPORT_NOTE_BYTES_MAX: Final = 4_000_000
"""A Markdown file that is larger is no note."""

ITEM_CHARS_MAX: Final = 80_000
"""What is split into memories: ten of them. More is a document, which belongs beside the code."""
