"""What lasts and what passes: a rule, a preference, a decision, a goal; a mood, a state.

English first, German too. Each rule of the gate is matched against one sentence in lower case with
plain quotes. What no rule here knows, a sentence of another language above all, is nothing the
gate has a say on.
"""

import re
from functools import cached_property
from typing import Final

__all__ = ["LASTS", "MOOD", "REASON", "STANDING_REQUEST", "STATE", "Rule"]


class Rule:
    """Patterns of which one must be found. Compiled when first asked: most commands never do."""

    def __init__(self, *patterns: str) -> None:
        self._patterns = patterns

    def search(self, said: str) -> bool:
        """Whether one of them is in the sentence."""
        return self._compiled.search(said) is not None

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{pattern})" for pattern in self._patterns))


_MONTH: Final = (
    r"(?:jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz|apr(?:il)?|ma[yi]|june?|juni|july?|"
    r"juli|aug(?:ust)?|sep(?:t(?:ember)?)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?)"
)
_DAY: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"

LASTS: Final = Rule(
    # rules
    r"\b(?:always|never(?! mind)|from now on|going forward|in (?:the )?future|whenever|"
    r"by default|as a rule|for good|permanently|forever)\b",
    r"\b(?:every time|each time|no longer|must(?:n't)?|mandatory|forbidden|not allowed|unless)\b",
    r"\b(?:before|after|on|for|with|in) (?:each|every) \w+",
    r"\bwithout asking\b",
    # preferences
    r"\b(?:prefers?|preferred|preferences?|favou?rites?|allergic|allergy|vegetarian|vegan)\b",
    r"\b(?:i|we|he|she|they|user|[a-z]+) (?:really |also |still )?(?:dislikes?|hates?|loves|"
    r"likes|enjoys)\b",
    r"\b(?:i|we|they) (?:really |also )?(?:like|love|hate|enjoy) (?!it\b|that\b|this\b|you\b|"
    r"the (?:idea|new|look))",
    # decisions
    r"\b(?:decided|decisions?|agreed (?:to|that|on|with)|chose|chosen|settled on|opted|"
    r"ruled out|rejected)\b",
    r"\b(?:went|go|going) (?:with|for) (?!it\b|that\b|this\b)|\b(?:we|we'll|we will|will|"
    r"let's) use (?!it\b|that\b|this\b|the (?:first|second|other)\b)",
    r"\b(?:switch|migrat|mov)(?:ed|es|ing) (?:\w+ ){0,3}(?:from|over to)\b",
    r"\b(?:dropped support|deprecated|standardi[sz]ed? on|adopted|policy|convention|signs? off|"
    r"approved by)\b",
    # goals
    r"\b(?:goals?|objectives?|deadlines?|milestones?|roadmap|budget|launch date|"
    r"due date)\b(?! is to see)",
    rf"\b(?:by|before|until|due|on|in) (?:the end of |end of |mid-?|early |"
    rf"late )?(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?)?{_MONTH}\b",
    r"\b(?:by|before|until|within) (?:the )?(?:next|coming) (?:week|month|year|quarter|spring|"
    r"summer|autumn|fall|winter|season|christmas)\b",
    r"\b(?:plans?|planning|planned|aims?|hopes?|intends?) to (?!grab|have|get|eat|go (?:home|"
    r"now))",
    r"\b(?:he|she|they|user|customers?|clients?|team|who|"
    r"[a-z]+) wants? to\b(?<!i want to)(?<!you want to)",
    # lessons
    r"\b(?:learn(?:ed|t) (?!that file)|lessons?\b|gotcha|pitfall|beware|root cause|turn(?:s|"
    r"ed) out|workaround)",
    r"\b(?:caused by|breaks? .{3,60}\b(?:because|when|if)|next time)\b",
    # who somebody is
    r"\b(?:my name(?: is|'s)|call me (?!back|later|when|if)|i(?:'m| am) (?:called|from|based)|"
    r"born|birthdays?|anniversary)\b",
    r"\bi(?:'m| am) an? (?!bit|little|tad|moment|idiot|mess|fan of (?:it|that|this))",
    r"\bi (?:live|work|speak|study|teach|lead|own|run an?) (?!on (?:it|that|this)\b)",
    r"\b(?:lives in|works (?:at|for|as)|speaks|is married|got married|expires (?:in|on))\b",
    rf"\b(?:every|each) (?:day|week|month|year|quarter|night|morning|{_DAY})\b|\bon {_DAY}s\b",
    # German
    r"\b(?:immer(?! noch)|niemals|nie|ab (?:jetzt|sofort|heute)|von nun an|künftig|zukünftig|"
    r"in zukunft)\b",
    r"\b(?:grundsätzlich|standardmäßig|entschieden|beschlossen|entscheidung|vereinbart|"
    r"geeinigt|statt|anstatt)\b",
    r"\b(?:bevorzug\w*|am liebsten|lieblings\w+|nenn(?:e|t)? mich|ich heiße|mein name|"
    r"ich wohne|ich arbeite (?:jetzt |nun |wieder )?(?:als|bei|für|in))\b",
    r"\bich bin (?:ein|eine|von beruf)\b|\b(?:geboren|geburtstag|hochzeitstag|allergisch|"
    r"vegetarier\w*)\b",
    r"\b(?:ziel|ziele|frist|fristen|stichtag|verboten|pflicht|vorgabe|regel)\b|\b(?:darf|"
    r"dürfen|soll|sollen) (?:nicht|nie|kein\w*)\b",
    rf"\b(?:bis|am|ab|vor) (?:zum |dem |ende |anfang |mitte )*(?:\d{{1,2}}\. ?)?{_MONTH}\b",
    r"\b(?:gelernt|erkenntnis|stellte sich heraus|ursache|jeden \w+|jede woche|jedes (?:mal|"
    r"jahr))\b",
)  # fmt: skip
"""A rule, a preference, a decision, a goal, a lesson, who somebody is."""

REASON: Final = Rule(
    r"\b(?:because|since|so that|due to|otherwise|which is why|therefore|in order to|to avoid|"
    r"causes?|instead of|rather than|or else)\b",
    r"\b(?:weil|damit|sonst|denn|deshalb|wegen|daher)\b",
    r"\b(?:19|20)\d\d\b",
    r"\bby \w+ing\b|: \w+(?: \S+){5,}",
)  # fmt: skip
"""What was done, with the why or the year: worth more than that it was done."""

STANDING_REQUEST: Final = Rule(
    r"\b(?:always|never|from now on|in (?:the )?future|going forward|every time|whenever|"
    r"by default)\b",
    r"\b(?:immer|nie|niemals|ab (?:jetzt|sofort)|von nun an|künftig|in zukunft|jedes mal)\b",
)
"""A question by its form, an instruction for good by what it says: can you always …?"""

MOOD: Final = Rule(
    r"^(?:brb|bbl|gtg|g2g|afk|ttyl)\b",
    r"\b(?:be right back|back in (?:a|an|\d+|ten|five|half)\b|(?:be |i'm )?back (?:soon|later|"
    r"shortly|now)|running (?:a bit |a little )?late)\b",
    r"\b(?:one|just an?|give me an?|wait an?|gimme an?) (?:sec|second|moment|min|"
    r"minute)\b(?! factor)|^an? (?:sec|second|moment)\b|\b(?:hold|hang) on\b|^wait\b(?! for|"
    r" until)",
    r"\b(?:on my way|in a (?:meeting|call|hurry|rush)|on a call|gotta (?:go|run)|(?:have|"
    r"need) to (?:go|run|leave|head out)|heading (?:out|home|off|to)|stepping (?:out|away)|"
    r"off to)\b",
    r"\b(?:grab|get|getting|grabbing|having|making|need)(?: some| a| my| another)? (?:water|"
    r"food|coffee|lunch|dinner|breakfast|tea|snack|bite|break|nap)\b|\b(?:lunch|coffee|"
    r"tea) break\b",
    r"\b(?:i'm|i am|we're|feeling|i feel|i'm feeling)(?: still| so| very| really| a bit|"
    r" a little| kind of| kinda| pretty| just| too)* (?:tired|hungry|thirsty|sleepy|bored|busy|"
    r"late|sick today|exhausted|cold|hot|stuck|confused|lost|back|done|ready|here|off|out of|"
    r"excited|happy|glad|sorry|afraid|frustrated|annoyed|good|fine|okay|ok|in a|on my|about to|"
    r"almost|nearly)\b",
    r"\b(?:i was|was|i'm|i am|i'll be|will be) (?:away|afk|offline|out for)\b|\b(?:so|too|"
    r"really|pretty) (?:cold|hot|loud|noisy|dark|late|early) (?:in |out )?(?:here|there|today|"
    r"outside)\b",
    r"^my (?:internet|wi-?fi|phone|laptop|battery|computer|screen|mic|microphone|headset|zoom|"
    r"connection)(?: \w+)? (?:dropped|died|froze|crashed|is|ringing|rings|went|broke|needs? to|"
    r"keeps?)\b",
    r"\b(?:grab|get|eat|have) something to (?:eat|drink)\b|\b(?:phone|doorbell|somebody|"
    r"someone)(?: is|'s)? (?:ringing|at the door|rings|calling)\b",
    r"^(?:it's|it is|he's|she's) \w+ing(?: (?:up|now|again))?[.!]*$|^it's (?:almost|nearly|"
    r"already|just) \w+(?: \w+)?(?: here)?[.!]*$",
    r"\b(?:under the weather|feeling (?:a bit |a little )?\w+ today|sun is (?:out|shining|"
    r"finally)|halfway (?:through|there))\b",
    r"\bi have (?:a|an) (?:headache|cold|meeting|call|dentist|appointment)\b|\bmy (?:head|back|"
    r"eyes) hurts?\b",
    r"\bit(?:'s| is)(?: still| so| really| getting| already| almost)* (?:raining|snowing|"
    r"pouring|sunny|hot|cold|windy|late|dark|lunchtime|monday|tuesday|wednesday|thursday|"
    r"friday|saturday|sunday|the weekend|\d+ ?(?:am|pm))\b",
    r"\bwhat a (?:day|week|morning|mess)\b|\bnice weather\b|\b(?:have|enjoy) (?:a|"
    r"your) (?:nice|good|great|lovely)? ?(?:day|evening|weekend|night|one)\b",
    r"\b(?:talk|see you|catch you|speak|be back) (?:soon|later|tomorrow|tonight|then|"
    r"after lunch)\b",
    r"^ich \w+ (?:mir |dir |uns |das |den |die )*(?:kurz|schnell|gleich|eben|mal kurz)\b",
    r"\bbin (?:gleich|kurz|gerade|noch|mal|bald)\b.*|\bkomme (?:heute )?(?:etwas |"
    r"ein bisschen )?später\b|\b(?:muss|müssen) (?:jetzt |gleich |kurz )?(?:los|weg|gehen)\b",
    r"\b(?:müde|hungrig|mittagspause|kaffeepause|feierabend|es regnet|es schneit|kopfschmerzen|"
    r"(?:einen )?(?:moment|augenblick)(?: mal)?[.!]*$|warte (?:kurz|mal))\b",
)  # fmt: skip
"""How somebody is, where they are going, what the weather does: over by tomorrow."""

STATE: Final = Rule(
    r"^(?:(?:looks like|it looks like|it seems|seems like|seems|ok|okay|so|hm+|ah|"
    r"oh),? )*(?:the |our |my |all )?(?:ci|build|tests?|test suite|pipeline|deploy(?:ment)?|"
    r"server|site|staging|wi-?fi|internet|vpn|connection|download|install(?:ation)?|upload|"
    r"migration|job|script|app|page|container|emulator|laptop|machine|fan)(?: (?:is|are|seems?|"
    r"looks?|keeps?|was)|'s)(?: \w+){0,2}? (?:running|red|green|down|up|slow|broken|failing|"
    r"passing|compiling|building|loading|stuck|finished|done|back|hanging|in progress|"
    r"at \d+ ?%|spinning)(?!\w)",
    r"^(?:everything|it|that|this|all)(?: \w+)? (?:compiles|works|passes|builds|runs|"
    r"is (?:fixed|back|fine|good|green|working))(?: again| now| fine| locally)*[.!]*$",
    r"\b(?:still|currently|almost|nearly) (?:running|waiting|loading|compiling|building|"
    r"downloading|installing|working on|there|done|finished|going|stuck)\b",
    r"^(?:waiting|wait) (?:for|on|until)\b|\bin progress\b(?=[.!]*$)",
    r"\b(?:right now|at the moment|just now|at this moment|for the moment)\b",
    r"^(?:der|die|das) (?:build|ci|server|test|tests|download|deployment|pipeline|"
    r"update) (?:\w+ ){0,2}(?:noch|wieder|gerade|jetzt)\b[^.,]*[.!]*$",
    r"\b(?:gerade|momentan|im moment|im augenblick)\b",
)  # fmt: skip
"""How something is at this moment."""
