"""Words that make a yes doubtful: what narrows, what asks, what gives a reason."""

from typing import Final

__all__ = ["LEANING", "QUESTIONS", "REASONS", "SCOPES", "SEASONS", "TODAY"]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


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
