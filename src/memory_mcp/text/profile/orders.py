"""What the user wants to be called and how to be answered, said as an order."""

from typing import Final

from memory_mcp.text.profile.phrases import END, LANG, LAST, NAME, TONED, phrase

__all__ = ["IMPERATIVES"]

_PLEASE: Final = r"(?i:(?:please |always |from now on,? |kindly )*)"
_REFUSE: Final = r"(?i:(?:please )?(?:don't|do not|stop|never) )"
IMPERATIVES: Final = (
    phrase("name", rf"(?i:(?:please |just |you can |you may |feel free to )*(?:call|address) me "
           rf"(?:as )?)(?P<v>{NAME})(?P<said>){END}"),
    phrase("name", rf"(?i:every(?:one|body)|people|friends) calls? me (?P<v>{NAME})"
           rf"(?P<said>){END}"),
    phrase("name", rf"{_REFUSE}(?i:call(?:ing)? me )(?P<v>{NAME}){END}", holds=False),
    phrase("language", rf"{_PLEASE}(?i:answer|reply|respond|write|speak|talk|communicate)(?i:(?: "
           rf"to| with)? me)?"
           rf"(?i: only| always| exclusively)? in (?P<v>{LANG})(?i: only)?{LAST}"),
    phrase("language", rf"{_PLEASE}(?i:speak|use) (?P<v>{LANG})(?i: (?:with|to) me){LAST}"),
    phrase("language", rf"{_REFUSE}(?i:answer|reply|respond|write|speak|talk)(?i:ing)?(?i:(?: to|"
           rf" with)? me)? in (?P<v>{LANG}){END}",
           holds=False),
    phrase("tone", rf"{_PLEASE}(?i:keep (?:it |your |the |all |all your )?(?:answers|replies|"
           rf"responses|explanations) )(?P<v>{TONED}){LAST}"),
    phrase("tone", rf"{_PLEASE}(?i:be )(?P<v>{TONED})(?i: with me| in your (?:answers|replies|"
           rf"responses))?{LAST}"),
    phrase("tone", rf"{_PLEASE}(?i:answer|reply|respond|write)(?i: to me| me)? "
           rf"(?P<v>{TONED}){LAST}"),
    phrase("tone", rf"{_PLEASE}(?i:use an? )(?P<v>{TONED}) (?i:tone|style){LAST}"),
)  # fmt: skip
