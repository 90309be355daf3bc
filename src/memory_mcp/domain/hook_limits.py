"""The limits of what hooks leave behind, and of what is given to a prompt."""

from typing import Final

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
