"""Tells what sort of turn a prompt is, as far as memory may bear on it.

An instruction may be about to break a convention, and nobody will ask before it is done: so less
speaks for a memory there than where a question is asked, which can be searched for. A courtesy, an
edit of a letter or two, and what the conversation or the code itself answers need none. English
and German; what is in doubt counts as an instruction, and so does what only ends as a question:
"upgrade npm, ok?".
"""

import re
from typing import Final, Literal

from memory_mcp.patterns import compile_later

PromptSort = Literal["instruction", "question", "aside"]

_COURTESY: Final = compile_later(
    r"\W*(?:thanks|thank you|thx|cheers|great|perfect|nice|cool|good|fine|yes|yep|yeah|no|nope|ok"
    r"|okay|sure|right|alright|go on|go ahead|continue|carry on|next|lgtm|danke|super|gut|prima|ja"
    r"|nein|weiter|mach weiter|passt)\b",
    re.IGNORECASE,
)
_COURTESY_WORDS_MAX: Final = 8
"""A longer prompt says something after its courtesy."""
_ASIDE: Final = compile_later(
    # what the conversation knows
    r"\b(?:undo|revert|redo|repeat|take back)\b[^.\n]{0,20}\b(?:last|previous|latest|your)\b"
    r"|\b(?:summary|summari[sz]e|recap|zusammenfass\w*|fass\w*\b[^.\n]{0,30}\bzusammen)\b"
    # what anybody knows, or the text itself
    r"|^\W*(?:please |can you |could you )?(?:explain|translate|define)\b"
    r"|^\W*(?:bitte )?(?:erkl\u00e4r\w*|\u00fcbersetz\w*)\b"
    # what the code says, or its history
    r"|^\W*(?:please )?(?:show|list|print|display)\b[^.\n]{0,30}"
    r"\b(?:diff|log|commits?|branch\w*|status)\b"
    r"|^\W*(?:git (?:diff|log|blame|show|status)|diff|blame)\b"
    r"|\bhow many (?:lines|files|functions|classes|tests|commits)\b"
    r"|\bwhat (?:does|is|are)\b[^?\n]{0,60}(?:\(\)|\bgood for\b|\bmean\b)"
    # what changes no meaning
    r"|\b(?:typos?|misspell\w*|spelling|tippfehler|rechtschreib\w*)\b"
    r"|\b(?:sort|order|sortier\w*)\b[^.\n]{0,60}\balphabeti\w*",
    re.IGNORECASE,
)
_POLITE: Final = compile_later(
    r"\W*(?:can|could|would|will) you\b|\W*(?:k\u00f6nntest|kannst|w\u00fcrdest) du\b",
    re.IGNORECASE,
)
_QUESTION: Final = compile_later(
    r"\W*(?:what|how|why|when|where|which|who|whose|is|are|was|were|do|does|did|has|have|should|shall"
    r"|was|wie|warum|wieso|wann|wo|wohin|welche\w*|wer|wem|wessen|ist|sind|hat|haben|soll\w*)\b",
    re.IGNORECASE,
)
_NORM: Final = compile_later(
    r"\b(?:never|always|only|must(?:n't)?|may not|not allowed|do not|don't|can't|cannot"
    r"|should(?:n't)?|has to|have to|fails?|breaks?"
    r"|nie|niemals|immer|nur|muss|m\u00fcssen|darf|d\u00fcrfen|soll\w*)\b",
    re.IGNORECASE,
)
_MARKS: Final = ("\uff1f", "\u061f")
"""In these scripts nothing else shows a question."""


def sort_prompt(text: str) -> PromptSort:
    """What sort of turn this is."""
    if _COURTESY.match(text) and len(text.split()) <= _COURTESY_WORDS_MAX:
        return "aside"
    if _ASIDE.search(text):
        return "aside"
    if _POLITE.match(text):
        return "instruction"
    asks = text.startswith("\u00bf") or text.endswith(_MARKS) or _QUESTION.match(text)
    return "question" if asks else "instruction"


def states_norm(content: str) -> bool:
    """Whether a memory says in words of its own how something is to be done: "never", "must"."""
    return _NORM.search(content) is not None
