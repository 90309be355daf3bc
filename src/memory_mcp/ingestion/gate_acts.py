"""What is done once: what somebody asks for, is doing, or has just done."""

from typing import Final

from memory_mcp.ingestion.gate_words import Rule

__all__ = ["DONE", "HERE", "REQUEST", "STANDS"]

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
