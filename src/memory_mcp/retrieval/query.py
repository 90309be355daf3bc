"""A question becomes terms: words without the ones that say nothing.

Nothing of the caller's text is ever syntax: only letters and digits are kept, so quotes, operators
and emoji cannot reach the index's query language.
"""

import re
from typing import Final

from memory_mcp.domain import limits
from memory_mcp.domain.views import LexicalQuery

__all__ = ["lexical_query"]

_WORD: Final = re.compile(r"[^\W_](?:[^\W_]|[\u0300-\u036f])*")
"""Letters and digits, with the accents that stand by themselves (as in decomposed text)."""

_STOP_WORDS: Final = frozenset(
    # a text that wraps reads better than a list of quotes
    """
    a about after again all also am an and any are as at be because been before being but by
    can could did do does doing don down during each few for from further had has have
    having he her here hers him his how i if in into is it its itself just let me more most
    my no nor not now of off on once only or other our ours out over own please re s same
    she should so some such t tell than that the their theirs them then there these they
    this those through to too under until up us very was we were what when where which while
    who whom why will with would you your yours
    """.split()  # noqa: SIM905
)


def lexical_query(text: str) -> LexicalQuery:
    """The distinct words of the text, in order; stop words only if there is nothing else.

    The index folds case, accents and endings itself, its own way (to it, ß is not ss): a word
    that was folded here would no longer be found. Here words are only told apart.
    """
    found = _WORD.findall(text[: limits.QUERY_CHARS_MAX])
    words = {word.casefold(): word for word in reversed(found)}
    order = dict.fromkeys(word.casefold() for word in found)
    telling = [folded for folded in order if folded not in _STOP_WORDS]
    return LexicalQuery(terms=tuple(words[folded] for folded in telling or order))
