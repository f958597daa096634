"""Do rewrites by the packaged model read like what people say, under models of text that it does not write?

    python benchmarks/fluency.py 300 DIR DIR2 ../shared/data/atis ../shared/data/snips ../shared/data/hwu64

For so many records of each corpus and for each budget: the perplexity of rewrites over that of their records, the words that are
kept, and the share of records of six words or more that are answered by one or two. One language model has read the *other*
corpora, one has read public text of DIR and DIR2 that thinning leaves out of the packaged model. In brackets the same of words that
the language model knows: records have more names that it has not read than rewrites have. Marks between words do not count, and no
label is read. A ratio below 1 is no praise: rewrites say commoner things, and short phrases are all that trigrams see.
"""

import json
import math
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from adept import Rewriter
from adept.data.corpus import read_public_texts, thin_texts
from adept.evaluation.metrics import NgramModel
from adept.mechanisms import Description, LearnedCodebook
from adept.models.saved_model import mean_word_f1
from adept.models.sentences.sentence_list import words_of

EPSILONS = (4, 8, 12, 16, 24, 32, 40)
LEFT_OUT = 100_000  # texts that a language model reads
LONG, SHORT = 6, 3  # words


def only_words(texts: Sequence[str]) -> list[str]:
    """Texts in lower case without marks."""
    return [" ".join(word for word in words_of(text) if word[0].isalnum()) for text in texts]


def read(corpus: str, split: str) -> list[str]:
    """The texts of a split."""
    lines = (Path(corpus) / f"{split}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


def left_out(directories: Sequence[str]) -> list[str]:
    """Public texts that the packaged model lacks, as words."""
    every = read_public_texts(directories)
    kept = set(only_words([text.text for text in thin_texts(every)]))
    rest = [text for text in dict.fromkeys(only_words([text.text for text in every])) if text and text not in kept]
    return random.Random(0).sample(rest, min(LEFT_OUT, len(rest)))


class Reader:
    """A language model, and the words that it knows."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.model, self.known = NgramModel(texts, order=3), {"", *(word for text in texts for word in text.split())}

    def ratios(self, written: Sequence[str], records: Sequence[str]) -> str:
        """The perplexity of texts over that of others, of all words and of known ones."""
        return f"{self._ratio(written, records, every=True):.2f} ({self._ratio(written, records, every=False):.2f})"

    def _ratio(self, written: Sequence[str], records: Sequence[str], *, every: bool) -> float:
        return math.exp(self._loss(written, every=every) - self._loss(records, every=every))

    def _loss(self, texts: Sequence[str], *, every: bool) -> float:
        words = [["", "", *text.split(), ""] for text in texts]
        triples = [triple for row in words for triple in zip(row, row[1:], row[2:], strict=False)]
        return -fmean(math.log(self.model.probability(u, v, w)) for u, v, w in triples if every or w in self.known)


def main(count: int, directories: Sequence[str], corpora: Sequence[str]) -> None:
    """Print a line for each corpus and budget."""
    broad = Reader(left_out(directories))
    others = {
        own: Reader(only_words([text for other in corpora if other != own for text in read(other, "train")]))
        for own in corpora
    }
    for epsilon in EPSILONS:
        kind = LearnedCodebook if epsilon < 10 else Description
        rewriter = Rewriter.from_pretrained("utterances", mechanism=kind(epsilon=float(epsilon)))
        for corpus in corpora:
            validation = read(corpus, "validation")
            records = random.Random(0).sample(validation, min(count, len(validation)))
            said, written = only_words(records), only_words(rewriter.rewrite(records))
            short = fmean(len(b.split()) < SHORT for a, b in zip(said, written, strict=True) if len(a.split()) >= LONG)
            print(f"{Path(corpus).name} epsilon {epsilon}: words {mean_word_f1(said, written):.2f}, short {short:.3f}")
            print("  perplexity over that of the records, other corpora", others[corpus].ratios(written, said))
            print("  public text left out", broad.ratios(written, said), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:4], sys.argv[4:])
