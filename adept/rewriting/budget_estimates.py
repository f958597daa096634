"""A table of estimates on public texts: how much a rewrite keeps of a text at each epsilon."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from adept.data.corpus import Corpus
from adept.mechanisms.guarantee import Guarantee
from adept.mechanisms.odds import CANDIDATES
from adept.rewriting.cells import NO_NAME, Cells
from adept.rewriting.expectation import Expectation, choose_probes, expectation
from adept.rewriting.rewriter import Rewriter

TABLE_BUDGETS = (1.0, 2.0, 4.0, 8.0, 12.0, 16.0)  # in nats
TABLE_EXAMPLES = 2  # public sentences that the table shows with their rewrites
APPROVAL_EXAMPLES = 5  # such sentences on a page for approval
EXAMPLE_WORDS = range(6, 13)  # numbers of words of a sentence that is quickly read
ADVICE = (
    "for training a classifier: 4 to 8; for reading single sentences: 12 to 16, with little protection; "
    "if nobody needs rows one by one, use synthesize at 1 to 2"
)

QUESTION = f"an attacker picks the right one of {CANDIDATES:,} candidates in"  # answered by ``odds.risk``
SHARE_HEADINGS = ("topic kept (by chance)", "words kept (by chance)", "word for word")


@dataclass(frozen=True)
class Budget:
    """An epsilon, how much a rewrite keeps (None if there are too few public texts), and examples with their rewrites."""

    epsilon: float
    guarantee: Guarantee
    kept: Expectation | None
    examples: list[tuple[str, str]]

    @property
    def shares(self) -> list[str]:
        """One string for each column in SHARE_HEADINGS; all are empty if ``kept`` is None."""
        if (kept := self.kept) is None:
            return [""] * len(SHARE_HEADINGS)
        topic = "" if kept.topic is None else f"{kept.topic:.0%} ({kept.topic_of_others:.0%})"
        return [topic, f"{kept.words:.0%} ({kept.words_of_others:.0%})", f"{kept.exact:.0%}"]


def preview_budgets(open_rewriter: Callable[[float], Rewriter], public: Corpus | None = None) -> Iterator[Budget]:
    """Yield a line for each epsilon in TABLE_BUDGETS; ``public`` texts replace those held out from training."""
    for epsilon in TABLE_BUDGETS:
        rewriter = open_rewriter(epsilon)
        yield Budget(epsilon, rewriter.guarantee, expectation(rewriter, public), rewrite_examples(rewriter, public))


def rewrite_examples(
    rewriter: Rewriter, public: Corpus | None = None, *, count: int = TABLE_EXAMPLES
) -> list[tuple[str, str]]:
    """Return at most ``count`` pairs of a public sentence (and its label, in a release by label) and its rewrite."""
    probes = choose_probes(rewriter, public)
    chosen = short_texts(probes.texts, count)
    labels = probes.labels and [probes.labels[probes.texts.index(text)] for text in chosen]
    written = rewriter.rewrite_pairs(chosen, labels) if chosen else []
    if labels and isinstance(rewriter.alphabet, Cells):
        chosen = [text if label == NO_NAME else f"{text} ({label})" for text, label in zip(chosen, labels, strict=True)]
    return [(text, rewrite) for text, (rewrite, _) in zip(chosen, written, strict=True)]


def short_texts(texts: Sequence[str], count: int) -> list[str]:
    """Return ``count`` short texts or, if there are not enough short ones, texts of any length."""
    short = [text for text in texts if len(text.split()) in EXAMPLE_WORDS]
    return list((short if len(short) >= count else texts)[:count])
