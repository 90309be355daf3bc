"""Gate."""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from memory_mcp.domain.record import Kind
from memory_mcp.text.recalled import apart, not_echoed
from memory_mcp.text.sentences import plain_quotes, sentences, without_code


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


_POLITE: Final = (
    r"^(?:(?:and|also|so|then|now|next|first|ok|okay|great|please|pls|just|quickly|"
    r"go ahead and|try to|"
    r"help me(?: to)?|let's|let us|i(?:'d like| want| need) you to|you (?:can|could|"
    r"should)(?: now)?|"
    r"(?:can|could|would|will) you(?: please| also| just| quickly)*|feel free to|time to|"
    r"bitte|und|jetzt|dann|nun|mal|kurz|noch|(?:kannst|könntest|würdest) du(?: bitte| mir| mal|"
    r" kurz| auch)*|lass uns)[,:]? )*"
)
_ACTION: Final = (
    r"(?:re-?run|run|execute|cancel|abort|re-?open|open|close|re-?read|read|show|list|print|"
    r"display|explain|describe|"
    r"summari[sz]e|(?:double-)?check|verify|look|inspect|review|find|search|grep|locate|fix|"
    r"repair|correct|"
    r"rename|move|delete|remove|add|create|re-?write|write|implement|re-?factor|extract|inline|"
    r"change|"
    r"update|upgrade|downgrade|bump|edit|modify|replace|revert|undo|redo|rollback|roll back|"
    r"install|"
    r"uninstall|commit|push|pull|merge|rebase|squash|cherry-pick|stash|check ?out|clone|fetch|"
    r"re-?build|"
    r"build|compile|test|lint|re-?format|format|deploy|re-?start|start|stop|kill|re-?try|try|"
    r"continue|"
    r"proceed|generate|draft|translate|convert|parse|compare|count|calculate|compute|download|"
    r"upload|send|"
    r"give|tell|help|debug|trace|profile|investigate|analy[sz]e|paste|copy|click|scroll|select|"
    r"save|load|"
    r"skip|clean|clear|reset|sort|tidy|finish|remind|make(?= (?:it|that|this|the|a |an |sure))|"
    r"use(?= (?:it|that|this|the (?:first|second|third|other|same|new|old)\b))|put(?= (?:it|"
    r"that|this|them|the ))|"
    r"set(?= (?:it|that|this|them|up))|take(?= (?:a look|another))|do(?= (?:it|that|this|"
    r"the (?:same|rest|next|other)))|go(?= (?:back|on|to the))|"
    r"have a look|pick|let me|turn(?= (?:it|that|this|the))|ping|tweak|swap|split(?= (?:it|"
    r"that|this|the)))"
)
_OBJECT: Final = (
    r"(?:(?:the|this|that|these|those|it|them|me|us|my|your|our|a|an|another|one|all|both|some|"
    r"any|line|lines|"
    r"file|files|function|class|method|variable|step|again|up|out|into|at|for|through|back|on|"
    r"over|"
    r"everything|him|her|only|onto|off|what|why|how|where|which)\b|`|\"|[\w./-]+\.\w{1,5}\b|"
    r"\w+/\w+|\d)"
)
_GERMAN_ACTION: Final = (
    r"(?:führe?|starte?|öffne|schließe?|zeige?|lies|lösche?|entferne?|füge?|benenne?|ändere?|"
    r"korrigiere?|"
    r"behebe?|fixe?|prüfe?|schau(?:e)?|suche?|finde?|erstelle?|schreibe?|installiere?|"
    r"committe?|pushe?|merge?|"
    r"baue?|teste?|erkläre?|fasse?|übersetze?|mach(?:e)? (?:weiter|das|es|den|die|mal)|"
    r"versuch(?:e)?|hilf|gib|sag)"
)
_GERMAN_OBJECT: Final = (
    r"(?:die|der|das|den|dem|diese[nrsm]?|es|mir|mich|uns|eine?[nrsm]?|alle|beide|bitte|mal|"
    r"nochmal|noch|"
    r"kurz|jetzt|nach|zeile|datei|in|an|auf|zurück|weiter|[\w./-]+\.\w{1,5}\b)"
)

REQUEST: Final = Rule(
    rf"{_POLITE}{_ACTION}(?:ly)?(?: and {_ACTION})?(?:[.!?]*$| (?:and |now |just |please |"
    rf"also |then )*{_OBJECT})",
    rf"{_POLITE}{_ACTION}(?: down| up)?(?: \S+){{1,2}}[.!]*$(?<!\bis)(?<!\bare)",
    rf"{_POLITE}{_ACTION}(?: \S+){{1,3}} (?:to|in|from|of|on) (?:this|that|my|"
    rf"[\w/-]+\.\w{{1,4}})\b",
    rf"{_POLITE}(?:continue|proceed|carry on|keep going|go on|try again|let me|let's see|"
    rf"let's try)\b",
    r"^(?:please |pls )?(?:don't|do not) (?:\w+ ){1,6}(?:yet|now|for now|for the moment)[.!]*$",
    r"^(?:git|npm|pnpm|yarn|pip|make|ls|cd|docker|kubectl|cargo|pytest|"
    r"npx)(?: [\w./:@-]+){0,4}(?: please)?[.!]*$",
    rf"{_POLITE}{_GERMAN_ACTION}(?:[.!?]*$| {_GERMAN_OBJECT}\b)",
    r"^(?:can|could|would|will) you\b|^(?:kannst|könntest|würdest) du\b",
)
"""Something to be done once, now."""

STANDS: Final = Rule(
    r"\b(?:when|whenever|if|before|after|unless|until|rather than|instead of|only|at (?:least|"
    r"most)|per)\b",
    r"\b(?:this|next|each|a) (?:day|week|month|quarter|year|season|spring|summer|autumn|"
    r"winter)\b",
    r"\b(?:wenn|falls|bevor|vor|nach|außer|nur|statt|höchstens|mindestens|pro)\b",
)
"""A condition or a measure: what is asked for so may be asked for good."""

HERE: Final = Rule(
    r"\b(?:please|pls|can you|could you|would you|let's|bitte|kannst du|könntest du)\b",
    r"\b(?:this (?!year|month|week|quarter|season)|that|these|those|it|here|above|below|now|"
    r"again|line \d+)\b",
    r"\b(?:dies\w*|das hier|hier|oben|unten|jetzt|nochmal|zeile \d+)\b|[\w-]+\.(?:py|ts|js|go|"
    r"rs|md|java|c|h|html|css|json|ya?ml)\b",
)
"""What is asked for is before the eyes of both, or is asked of one of them."""

_SUBJECT: Final = (
    r"^(?:(?:ok|okay|now|so|then|first|next|and|also|alright|great|sure|good|done|"
    r"perfect)[,.:]? )*"
)
_DOING: Final = (
    r"(?:running|executing|opening|closing|reading|checking|verifying|looking|inspecting|"
    r"reviewing|"
    r"searching|grepping|fixing|correcting|renaming|deleting|removing|adding|creating|writing|"
    r"rewriting|"
    r"implementing|refactoring|changing|updating|editing|installing|committing|pushing|pulling|"
    r"merging|"
    r"rebasing|building|compiling|testing|formatting|deploying|restarting|starting|stopping|"
    r"retrying|"
    r"trying|continuing|generating|downloading|uploading|sending|debugging|investigating|"
    r"analy[sz]ing|"
    r"waiting|loading|working on|going to|about to|making|exploring|applying|examining)"
)
_DID: Final = (
    r"(?:ran|re-?ran|run|executed|opened|closed|read|checked|double-checked|verified|looked|"
    r"inspected|"
    r"reviewed|found|searched|grepped|fixed|corrected|renamed|moved|deleted|removed|added|"
    r"created|wrote|"
    r"written|rewrote|implemented|refactored|extracted|changed|updated|bumped|edited|modified|"
    r"replaced|"
    r"reverted|undid|installed|uninstalled|committed|pushed|pulled|merged|rebased|"
    r"cherry-picked|stashed|"
    r"cloned|fetched|built|rebuilt|compiled|tested|formatted|linted|deployed|restarted|started|"
    r"stopped|killed|"
    r"retried|tried|generated|drafted|downloaded|uploaded|sent|debugged|investigated|pasted|"
    r"copied|saved|"
    r"cleaned|cleared|finished|applied|tweaked|listed|viewed|sorted|made (?=it|that|this|the))"
)

DONE: Final = Rule(
    rf"{_SUBJECT}(?:i'm|i am|we're|we are|currently|still)(?: now| just| still| currently|"
    rf" also)* {_DOING}\b",
    rf"{_SUBJECT}{_DOING}(?: \S+){{0,2}}(?: now)?(?:\.\.\.|…|[.!]*$)",
    rf"{_SUBJECT}(?:now )?(?!.* (?:\w+ed|is|are|was|were|makes?|made|takes?|took|breaks?|broke|"
    rf"costs?|hides?|saves?|needs?|requires?|leads?|led|means?|helps?|will|can|must|"
    rf"should)\b){_DOING} (?:the|this|that|your|my|all|for|at|into|a|`|[\w./-]+\.\w{{1,5}}\b|"
    rf"\w+/\w+)",
    rf"{_SUBJECT}(?:i'll|i will|i'm going to|i am going to|let me|we'll now|going to)(?: now|"
    rf" just| also| quickly| first| then)* {_ACTION}\b",
    rf"{_SUBJECT}(?:i|i've|i have|we've just|we just)(?: now| just| already| also| quickly|"
    rf" then)* {_DID} (?:the|this|that|it|them|your|my|all|both|two|three|four|five|some|line|"
    rf"file|into|at|through|for|back|up|out|tests?\b|`|[\w./-]+\.\w{{1,5}}\b|\w+/\w+|\d)",
    rf"{_SUBJECT}(?:i|i've|i have)(?: just| already)+ {_DID}(?: \S+){{0,3}}[.!]*$",
    rf"{_SUBJECT}{_DID}(?:[.!]*$| (?:the|this|that|it|them|a|an|all|both|two|three|four|some|"
    rf"line|file|files|tests?|imports?|again|`|[\w./-]+\.\w{{1,5}}\b|\w+/\w+|\d))",
    r"^(?:all )?(?:\d+ )?(?:the )?(?:tests?|checks?|specs?) (?:now )?(?:pass|passed|passing|"
    r"are (?:passing|green)|are all green|succeeded|failed)\b(?: now| again| locally)*[.!]*$",
    rf"{_SUBJECT}(?:i've|i have|i|we've|we)(?: now| just| already| also)* {_DID} (?:an?|"
    rf"another|two|three|some|new) (?:\w+ )?(?:(?:null |type )?checks?|pull requests?|prs?|"
    rf"branch|tickets?|issues?|files?|tests?|functions?|commits?|helpers?|patch|draft|stubs?|"
    rf"scripts?|docstrings?|comments?|methods?|migrations?|buttons?|imports?|typos?|"
    rf"lines?)\b(?: \S+){{0,6}}[.!]*$",
    rf"{_SUBJECT}(?:i )?(?:ran|run|applied|tried|used|executed) \w+ (?:on|in|across|over|"
    rf"against|for|from) (?:the|this|all|your|it|both)\b",
    r"^the \w+(?: \w+)? (?:has been|have been|is|are) (?:now )?(?:saved|updated|created|"
    r"deleted|renamed|added|removed|fixed|committed|pushed|merged|formatted|sent|"
    r"uploaded)[.!]*$",
    r"^(?:re-?deployed|deployed|pushed|merged|uploaded|published)(?: it| them)? (?:to|into|"
    r"on) (?:the )?(?:staging|production|prod|main|master|develop|test|dev)\b[^,:;]*$",
    r"^(?:step|part|task|phase) \w+ (?:is |of \w+ )?(?:done|complete|finished)\b|"
    r"^i (?:can )?(?:now )?see (?:the|your|it|that)\b|^that (?:fixed|did|solved|broke|worked)\b",
    r"^(?:the )?(?:build|tests?|ci|lint(?:er|ing)?|type ?check(?:er)?|compiler|"
    r"install(?:ation)?|upload|deploy(?:ment)?) (?:succeeded|passed|failed|finished|completed|"
    r"crashed|(?:is|are) happy)\b[^,:;]*$",
    r"^(?:i'll|i will|let me|i'm going to) (?:first |now |then |just )*(?:start|begin|go|see|"
    r"think|get|take|wait|do|have|continue|proceed)\b",
    r"^(?:all )?(?:done|finished|ready|complete|completed|fixed|committed|pushed|merged|"
    r"deployed)\b[.!]*$",
    r"^ich (?:habe|hab) (?:\S+ ){0,8}(?:behoben|geöffnet|gefixt|gelöscht|gelesen|geändert|"
    r"gestartet|gepusht|committet|umbenannt|korrigiert|ausgeführt|angeschaut|angesehen|"
    r"hinzugefügt|entfernt|geprüft|getestet|aktualisiert)[.!]*$",
    r"^ich (?:schaue?|prüfe|teste|öffne|lese|starte|führe|suche|ändere|behebe|"
    r"korrigiere) (?:mir |das |die |den |es |jetzt |gerade |mal |kurz |nun )+",
    r"^here(?:'s| is| are) (?:the|your|an?)\b[^.]*:$|^let me know\b",
    r"^(?:erledigt|fertig|behoben|gepusht)[.!]*$",
)  # fmt: skip
"""Somebody says what they are doing or have just done."""


ASKS: Final = Rule(
    r"[?？؟][\"')\]]*\s*[!?]*$",  # noqa: RUF001
    r"^¿",
    r"^(?:can|could|would|will|do|did|have|are) you\b(?! (?:always|never))",
    r"^(?:do|does|did|is|are|was|should|shall|may|can|could) (?:i|we|it|this|that|there|these|"
    r"they)\b(?! (?:same|is why))",
    r"^(?:what|where|who|when|how)(?:'s| is| are| do| does| did| can| could| should| would|"
    r" was| were) (?:i|we|you|it|this|that|the|there|your|my|a|wrong|up|new|next|"
    r"going)\b(?!.*\b(?:is|are|must|matters)\b)",
    r"^which \w+ (?:are|is|was|do|does|did|should|can) (?:we|you|i|it|the|this|that)\b[^.,;:]*$",
    r"^why (?:is|are|do|does|did|can't|won't|not|isn't|doesn't)\b|^how (?:much|many|long|come|"
    r"about)\b|^any (?:idea|ideas|thoughts|suggestions|chance)\b|^what(?:'s| is| do you|"
    r" about)\b|^what can\b",
    r"^(?:kannst|könntest|weißt|hast|bist|magst) du\b|^(?:wie|warum|wieso|was|wo|wann|"
    r"wer) (?:kann|geht|ist|sind|macht|kommt|soll|muss|funktioniert)\b[^.,:;]*$",
)  # fmt: skip

CAPABILITY: Final = Rule(
    r"\b(?:can|could|do|are|will|would) you (?:be able|able|read|see|open|browse|access|"
    r"support|understand|speak|know|remember|draw|generate|handle|search|use|run|execute|write|"
    r"do|have)\b",
    r"\bwhat (?:can|do|are) you\b|\bare you (?:able|an?)\b|\b(?:who|what) (?:made|built|"
    r"trained) you\b|\bdo you (?:know|support|have|remember|speak|understand)\b",
    r"\b(?:kannst|könntest|weißt|hast|verstehst|sprichst|bist) du\b|\bwas kannst du\b",
    r"^¿?puedes\b|\bpeux-tu\b|\bsais-tu\b",
)  # fmt: skip

SMALL_TALK: Final = frozenset(
    # a text that wraps reads better than a list of quotes
    """
    ok okay k kk okey yes yep yeah yup ya no nope nah sure thanks thank thankyou thx ty tysm
    cheers great good nice cool awesome perfect excellent wonderful fantastic brilliant lovely
    amazing sweet neat hi hello hey hiya howdy yo bye goodbye cya lol haha hahaha hehe hmm hm
    huh uh um oh ah wow welcome sorry apologies np fine right exactly indeed agreed understood
    noted alright lgtm nevermind whatever interesting true correct absolutely definitely bravo
    congrats congratulations sounds appreciated appreciate pleasure goodnight works worked done
    gotcha roger continue maybe perhaps yay oops ouch danke dankeschön bitte super toll prima
    perfekt ja nein nö doch genau stimmt hallo moin servus tschüss passt verstanden gerne klasse
    wunderbar alles gut guten schön dank gracias merci hola bonjour ciao grazie obrigado salut
    adios bien beaucoup vale oui non si tak nie dzięki arigato sense fair enough exactly happy
    night sgtm nada rien mille prego bitteschön thumbs 👍 🙏 🎉 😀 😂 👌
    """.split()  # noqa: SIM905
)
"""Words that greet, thank, agree or wonder; one of them must be there."""

SMALL_TALK_BESIDE: Final = frozenset(
    """
    a again all also and any are as at be best both but by course day did do don't enough
    evening everyone everything lieben feel for from fun get go got guys have help here hope how
    i i'm i'll idea if in is it it's its job just keep know let's like little looks lot love
    luck make makes mate me mind moment more morning much my need never next not now of off on
    one out point problem proceed question quick rather really said same see sense ship since so
    some soon still stuff talk team than that that's the their them then there they thing think
    this those time to today tomorrow tonight too try up us very wait was way we well were what
    while will with work working worries would wrong you you're your a plan about new year bad
    that's what needed just why take de later catch afternoon night going doing ahead please
    ready carry evening weekend enjoy klar vielen sehr freut mich dir euch das ist so weiter
    mach machen wir schon dann morgen tag abend nacht bis später bald klingt kein problem cool
    funny hilarious asking kidding joke nicht ganz auch noch mal die der und für ich
    """.split()  # noqa: SIM905
)
"""Words that may stand beside those, and say nothing by themselves."""

OUTPUT: Final = re.compile(
    r"^(?:"
    r"Traceback \(most recent call last\)|\s+at [\w.$<>/]+\s?\(|\s*File \".*\", line \d+"
    r"|(?:[\w.]+(?:Error|Exception|Warning))(?:: |$)|Exception in thread|panic: |goroutine \d+|"
    r"error\[E\d+"
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d|\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?\s"
    r"|\[?(?:INFO|DEBUG|WARN|WARNING|ERROR|TRACE|FATAL)\]?(?::|\s{2,}| \[)|(?:FAILED|PASSED|"
    r"ERROR|SKIPPED) \S+"
    r"|=+ .* =+$|-{5,}|E {3,}|collected \d+ items?|npm (?:ERR|WARN)|make(?:\[\d\])?: |\$ \S|"
    r"drwx|-rw|total \d+$"
    r"|On branch |Your branch is |nothing to commit|Cloning into|Successfully installed|"
    r"Requirement already"
    r"|\s*\d+ files? changed|commit [0-9a-f]{40}|HTTP/\d|\d+ (?:passed|failed|"
    r"errors?)\b.* in [\d.]+ ?s"
    r"|test \S+ \.\.\. (?:ok|FAILED)|\s*(?:✓|✗|✔|✖|PASS|FAIL)\s|\[\d+/\d+\]|\+{3} |-{3} |@@ |"
    r"diff --git|index [0-9a-f]{7,}\.\."
    r"|Author: .*<|Date:   |(?:Changes (?:not )?staged|Untracked files)|\tmodified:|"
    r"modified:   |Compiling \S+ v|Finished \w+ \["
    r"|thread '.*' panicked|(?:docker|git|curl|ssh|tar|gcc|ld|rsync|psql|kubectl|terraform|"
    r"node|java|python3?): .*(?:[Ee]rror|[Ff]ailed|denied|not found)|\s*\^+\s*$|\s*\|? *\d+ \|"
    r" |added \d+ packages|found \d+ vulnerabilities|sh: |bash: |zsh: |fatal: |warning: "
    r")"
)  # fmt: skip
"""A line that a program wrote. With capitals as they are."""

STRUCTURE: Final = re.compile(
    r"(?:"
    r".*[;{}]\s*$|\s*[)}\]]+[;,]?\s*$|\s*(?:async )?def \w+\(.*|\s*class \w+.*:\s*$|"
    r"import [\w.{}, ]+(?: from .*)?;?$"
    r"|from [\w.]+ import .*|(?:export )?(?:const|let|var) \w+.*=.*|\s*(?:function|fn|"
    r"func) \w*\(.*|\s*return\b.*\S|\s*#include\b.*"
    r"|\s*(?:if|for|while|elif|except|with|try|else)\b.*:\s*$|\s*(?:public|private|"
    r"protected) .*\(.*|SELECT\b.*|INSERT INTO\b.*|UPDATE \w+ SET\b.*|CREATE TABLE\b.*"
    r"|</?\w+[^>]*>.*|\s*(?:#|//|/\*|\*).*|\s+\S.*|[+-]\s*[\w<#/{}].*|\s*[\w.\[\]\"']+\s*(?:\+|"
    r"-|\*)?=\s*\S.*|\s*[\w.]+\([^ ]*\)?;?$|[{\[].*|@\w+.*|>>> .*"
    r")"
)  # fmt: skip
"""A line of code, of a diff or of data, if it stands among others."""

CODE: Final = re.compile(
    r"\s*(?:(?:async )?def \w+\(.*\).*:.*|class \w+(?:\(.*\))?:\s*|from [\w.]+ import \w.*"
    r"|import [\w.]+(?: as \w+)?;?|import .* from ['\"].*"
    r"|(?:export )?(?:const|let|var) \w+(?:: \w+)? ?=.*"
    r"|(?:public |private |static |async )*(?:function|fn|func) \w+ ?\(.*|#include ?[<\"].*"
    r"|return\b.*;"
    r"|(?:if|for|while) ?\(.*\) ?\{.*|SELECT\b.+\bFROM\b.*;?|<\w+[^>]*>.*</\w+>|[\w.]+\(.*\);"
    r"|(?:diff --git|@@ -\d).*|(?:for|while|if|elif) .+:\s*|\$ \w.*|\w+ = .*;|print\(.*\))\s*"
)
"""A line of code, known as such by itself."""


Sort = Literal["empty", "recalled", "output", "small talk", "question", "passing", "action"]


@dataclass(frozen=True)
class Keep:
    """Worth a memory. `sure`: a rule said so; else no rule knew better."""

    sure: bool


@dataclass(frozen=True)
class Chatter:
    """Not worth one; `reason` is the rest of a sentence that begins with "It"."""

    reason: str
    sort: Sort


Worth = Keep | Chatter

Verdict = Sort | Literal["lasts"] | None
"""What a sentence is; None if no rule knows it."""

_CHOSEN: Final[frozenset[Kind]] = frozenset(
    {"preference", "convention", "pattern", "decision", "lesson", "identity"}
)
"""Kinds that nobody gives by the way."""
_NEVER: Final[frozenset[Sort]] = frozenset(
    {"empty", "recalled", "output", "small talk", "question"}
)
"""What no memory of any kind can be."""

_REASONS: Final[dict[Sort, str]] = {
    "empty": "holds no words.",
    "recalled": "came out of this memory's own recall.",
    "output": "is output, code or data, not a statement about it.",
    "small talk": "is small talk: a greeting, thanks or an acknowledgement.",
    "question": "is a question; what is worth keeping is the answer.",
    "passing": "holds for the moment only.",
    "action": "is about something done once; what is worth keeping is what it means from now on.",
}
_CAPABILITY: Final = "is a question about what the assistant can do."

_DATA: Final = re.compile(r"\s*(?:\{.*\}|\[[^\]\w]*[\"'{\[\d].*\])\s*", re.DOTALL)
_CLAUSE: Final = re.compile(r";\s+")
_WORD: Final = re.compile(r"[^\W\d_][\w']*|[👍🙏🎉😀😂👌]")
_GREETING: Final = re.compile(
    r"(?:hi|hello|hey|hallo|moin|servus|(?:good )?(?:morning|afternoon|evening)"
    r"|guten (?:morgen|tag|abend)),?"
    r"(?: \w+){1,2}[.!, ]*"
)
"""A greeting by name."""
_PROSE_WORDS_MIN: Final = 5
"""So many words, beside code or small talk, may say something that lasts."""
_OUTPUT_SHARE: Final = 0.5
"""So much of the lines must be a program's for the whole to be its output."""
_SMALL_TALK_WORDS_MAX: Final = 12
_REQUEST_WORDS_MAX: Final = 7
"""A longer one may be a rule in the same mood: "Report to Dana, not to Miro, when …"."""
_MOOD_WORDS_MAX: Final = 8
"""Longer than this a chosen kind is given the benefit of the doubt."""


def should_create(text: str, kind: Kind = "fact") -> Worth:
    """Whether a new memory of this text is worth having, and why not."""
    if whole := _sort_of_whole(text):
        return _chatter(whole)
    found: list[tuple[Verdict, str]] = [
        (_sort_of(said, kind), said) for said in _own_sentences(text)
    ]
    if any(sort == "lasts" for sort, _ in found):
        return Keep(sure=True)
    passing: Counter[Sort] = Counter()
    unknown = [0]
    for sort, said in found:
        if sort is None:
            unknown.append(len(said.split()))
        elif sort != "lasts":
            passing[sort] += len(said.split())
    if max(unknown) >= _PROSE_WORDS_MIN or sum(unknown) >= sum(passing.values()):
        return Keep(sure=False)
    most = max(passing, key=lambda each: passing[each])
    if most == "question" and any(CAPABILITY.search(_plain(said)) for _, said in found):
        return Chatter(_CAPABILITY, most)
    return _chatter(most)


def _chatter(sort: Sort) -> Chatter:
    return Chatter(_REASONS[sort], sort)


def _plain(said: str) -> str:
    return plain_quotes(said).strip().lower()


def _sort_of_whole(text: str) -> Sort | None:
    """What can be told of the text without reading its sentences."""
    if not _WORD.search(text):
        return "output" if any(c.isdigit() for c in text) else "empty"
    own = apart(text)
    left = " ".join(_own_sentences(text)) if own.recalled else ""
    if own.recalled and len(_WORD.findall(left)) < _PROSE_WORDS_MIN:
        return "recalled"
    prose = _prose(text)
    if len(_WORD.findall(prose)) < _PROSE_WORDS_MIN and len(prose) < len(own.own):
        return "output"
    return "output" if _is_output(prose) else None


def _prose(text: str) -> str:
    """The text without what is fenced as code, or as recalled."""
    return without_code(apart(text).own)


def _own_sentences(text: str) -> list[str]:
    """Its sentences without those that say again what was recalled in it."""
    return not_echoed(sentences(_prose(text)), apart(text).recalled)


def _is_output(text: str) -> bool:
    if _DATA.fullmatch(text):
        return True
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return False
    written = sum(1 for line in lines if OUTPUT.match(line))
    if len(lines) == 1:
        return written == 1 or _is_code(lines[0])
    shaped = sum(1 for line in lines if STRUCTURE.fullmatch(line) or OUTPUT.match(line))
    telling = written + sum(1 for line in lines if _is_code(line))
    return bool(telling) and shaped >= _OUTPUT_SHARE * len(lines)


def _is_code(line: str) -> bool:
    """Whether a line is code by itself, not only among other lines of it."""
    return bool(CODE.fullmatch(line))


def _sort_of(said: str, kind: Kind) -> Verdict:
    """What one sentence is. A chosen kind is harder to refuse."""
    sort = _of_clauses([_rule(_plain(clause)) for clause in _CLAUSE.split(said)])
    if kind not in _CHOSEN or sort is None or sort == "lasts" or sort in _NEVER:
        return sort
    brief = len(said.split()) <= _MOOD_WORDS_MAX
    return "passing" if brief and MOOD.search(_plain(said)) else None


def _of_clauses(
    sorts: list[Verdict],
) -> Verdict:
    """One clause that lasts, or that no rule knows, is worth the sentence."""
    if "lasts" in sorts:
        return "lasts"
    return None if None in sorts else sorts[0]


def _rule(said: str) -> Verdict:
    """The first rule that knows a sentence."""
    if _is_small_talk(said):
        return "small talk"
    if STANDING_REQUEST.search(said) and REQUEST.search(said):
        return "lasts"
    if not ASKS.search(said):
        return _statement(said)
    polite = REQUEST.search(said) and not CAPABILITY.search(said)
    return "action" if polite else "question"


def _statement(said: str) -> Verdict:
    if LASTS.search(said):
        return "lasts"
    if MOOD.search(said):
        return "passing"
    if REASON.search(said):
        return None
    if STATE.search(said):
        return "passing"
    return "action" if _is_once(said) else None


def _is_once(said: str) -> bool:
    """Whether something is to be done once, is being done, or was."""
    done = DONE.search(said)
    if not done and not REQUEST.search(said):
        return False
    brief = done or len(said.split()) <= _REQUEST_WORDS_MAX
    return HERE.search(said) or (brief and not STANDS.search(said))


def _is_small_talk(said: str) -> bool:
    heard = _WORD.findall(said)
    return _GREETING.fullmatch(said) is not None or (
        0 < len(heard) <= _SMALL_TALK_WORDS_MAX
        and any(word in SMALL_TALK for word in heard)
        and all(word in SMALL_TALK or word in SMALL_TALK_BESIDE for word in heard)
    )
