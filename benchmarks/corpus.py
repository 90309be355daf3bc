"""Text that behaves like memories: seeded, so that every run asks the same of the same.

Words follow Zipf's law, as words do: a few are everywhere, most are rare. Each memory belongs to
one domain, whose own words crowd in it, so that questions have both common and telling words.
"""

import itertools
import random
from dataclasses import dataclass
from typing import Final

from memory_mcp.domain.record import Draft, Kind

__all__ = ["Corpus", "Question"]

_FUNCTION_WORDS: Final = (
    "the of to and we a in is for that with as it be on not this by are or was from at have which "
    "but all when if has can will because only after one no so than also must should"
)
_EVERYWHERE: Final = "service data request project error user version file config api"
"""The words of every project, in a tenth to a third of its memories: no stop words, yet telling
little. They are what makes a search look at many memories."""

_DOMAINS: Final = {
    "auth": "token session login password cookie expiry refresh scope role permission user key "
    "signature tenant audit provider redirect claim secret rotation",
    "database": "table index query migration column transaction lock replica schema constraint "
    "backup pool vacuum partition cursor isolation trigger join row timestamp",
    "frontend": "component button form layout theme router state hook render style modal bundle "
    "image font locale focus keyboard contrast grid animation",
    "delivery": "pipeline build release container image cluster rollout probe artifact registry "
    "stage canary secret volume ingress metric alert log node quota",
    "billing": "invoice payment refund currency tax plan coupon ledger customer receipt webhook "
    "subscription proration statement balance dispute card account export period",
    "testing": "fixture assertion coverage mock snapshot property fuzz flake timeout parallel "
    "contract regression seed harness report baseline stub matrix retry oracle",
}
_KINDS: Final[tuple[tuple[Kind, float], ...]] = (
    ("fact", 0.5), ("decision", 0.22), ("event", 0.16), ("lesson", 0.05), ("preference", 0.03),
    ("convention", 0.03), ("pattern", 0.01),
)  # fmt: skip
_RARE_WORDS: Final = 20_000
_QUESTIONS: Final = (
    "what did we decide about the {} and {}?",
    "why is {} not used for {}",
    "how should the {} be done when {} fails?",
    "which {} does the user prefer for {}",
    "where is the {} of the {} configured?",
)


@dataclass(frozen=True)
class Question:
    """A query, and of what sort it is."""

    text: str
    sort: str


class Corpus:
    """An endless supply of drafts and questions, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._rare = _invented_words(random.Random(0), _RARE_WORDS)
        self._rare_weights = _zipf(len(self._rare))
        self._function_words = _FUNCTION_WORDS.split()
        self._everywhere = _EVERYWHERE.split()
        self._domains = {name: words.split() for name, words in _DOMAINS.items()}
        self._kinds, self._kind_weights = zip(*_KINDS, strict=True)

    def draft(self) -> Draft:
        """One memory of 10 to 60 words, with what describes it."""
        chance = self._random
        domain = chance.choice(list(self._domains))
        words = self._words(domain, chance.randint(10, 60))
        return Draft(
            content=" ".join(words).capitalize() + ".",
            kind=chance.choices(self._kinds, self._kind_weights)[0],
            title=" ".join(self._words(domain, chance.randint(2, 6)))
            if chance.random() < 0.6
            else "",
            category=domain,
            tags=tuple(chance.sample(self._domains[domain], chance.randint(0, 4))),
            importance=chance.choice((2, 3, 3, 3, 4, 5)),
        )

    def question(self) -> Question:
        """2 to 6 words of mixed rarity; some are sentences, some hold only common words."""
        chance = self._random
        domain = self._domains[chance.choice(list(self._domains))]
        match chance.choices(("mixed", "sentence", "common"), (5, 3, 2))[0]:
            case "sentence":
                named = (self._telling(domain), chance.choice(domain))
                return Question(chance.choice(_QUESTIONS).format(*named), "sentence")
            case "common":
                words = chance.sample(self._everywhere, 1) + domain[: chance.randint(1, 3)]
                return Question(" ".join(words), "common")
            case _:
                words = [self._telling(domain) for _ in range(chance.randint(2, 6))]
                return Question(" ".join(words), "mixed")

    def _words(self, domain: str, count: int) -> list[str]:
        chance = self._random
        own = self._domains[domain]
        found: list[str] = []
        for source in chance.choices((0, 1, 2, 3), (0.4, 0.2, 0.06, 0.34), k=count):
            bank = (self._function_words, own, self._everywhere)[source] if source < 3 else None
            if bank is None:
                found.extend(chance.choices(self._rare, cum_weights=self._rare_weights))
            else:  # squared: the first words of a list come more often than the last
                found.append(bank[int(chance.random() ** 2 * len(bank))])
        return found

    def _telling(self, domain: list[str]) -> str:
        if self._random.random() < 0.4:
            return self._random.choice(domain)
        return self._random.choices(self._rare, cum_weights=self._rare_weights)[0]


def _zipf(count: int) -> list[float]:
    return list(itertools.accumulate(1 / (rank + 2.7) for rank in range(count)))


def _invented_words(chance: random.Random, count: int) -> list[str]:
    """Words that nobody uses, of two to four syllables, the short ones first, as in life."""
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    words: dict[str, None] = {}
    while len(words) < count:
        size = 2 if len(words) < count // 10 else chance.choice((3, 4))
        words["".join(chance.choices(syllables, k=size)) + chance.choice("nrst")] = None
    return list(words)
