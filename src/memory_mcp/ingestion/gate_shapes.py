"""Questions, small talk, and what a program wrote: known by their form."""

import re
from typing import Final

from memory_mcp.ingestion.gate_words import Rule

__all__ = ["ASKS", "CAPABILITY", "CODE", "OUTPUT", "SMALL_TALK", "SMALL_TALK_BESIDE", "STRUCTURE"]

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
