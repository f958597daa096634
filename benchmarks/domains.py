"""Measure how even the packaged public text is, and what a model loses of subjects that it has not read.

    python benchmarks/domains.py balance DIR DIR2
    python benchmarks/domains.py without DIR DIR2 OUT
    adept train experiment=utterances data.broad=OUT output_dir=runs/without
    python benchmarks/domains.py measure runs/without/model DIR DIR2 unseen.json

``balance`` prints shares and effective numbers of sources and subjects before and after thinning (``adept.data.corpus``); an
effective number is the exponential of the shares' entropy: so many equal shares would be as uneven. ``without`` writes the text
less the sources of DOMAINS, subjects that no other source has much of. ``measure`` releases and rewrites texts of each subject by
the model that has not read them.
"""

import json
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean

from adept import Rewriter
from adept.data.corpus import Corpus, read_public_texts, thin_texts
from adept.mechanisms import Description, LearnedCodebook
from adept.rewriting.expectation import MAX_PROBES, Expectation, expectation

DOMAINS = {
    "health": {"medquad", "meqsum", "covid_faq", "vira"},
    "programming": {"staqc", "sede", "ubuntu_irc", "sebis"},
    "a shop's customers": {"bitext", "ibm_store"},
    "home devices": {"home_assistant", "ohf"},
    "university courses": {"text2sql"},
}
EPSILONS = (4, 8, 12, 16)
TEXTS = 200  # of each subject
ASKS = re.compile(
    r"(who|what|when|where|which|why|how|is|are|do|does|did|can|could|will|would|should)\b", re.IGNORECASE
)


def effective(names: Iterable[object]) -> float:
    """The effective number of different names."""
    counts = Counter(names)
    return math.exp(-sum(n / counts.total() * math.log(n / counts.total()) for n in counts.values()))


def balance(directories: list[str]) -> None:
    """Print what is measured of the text before and after thinning."""
    texts = read_public_texts(directories)
    kept = thin_texts(texts)
    for heading, part in (("before", texts), ("after", kept)):
        sources = Counter(text.source for text in part)
        subjects = {(text.source, text.subject) for text in part}
        largest = ", ".join(f"{name} {count / len(part):.1%}" for name, count in sources.most_common(5))
        asked = fmean(text.text.rstrip().endswith("?") or bool(ASKS.match(text.text)) for text in part)
        print(f"{heading}: {len(part)} texts, {len(sources)} sources, {len(subjects)} subjects; largest: {largest}")
        numbers = [effective(text.source for text in part), effective((text.source, text.subject) for text in part)]
        print(f"  effective sources {numbers[0]:.1f}, effective subjects {numbers[1]:.1f}, questions {asked:.0%}")


def without(directories: list[str], out: Path) -> None:
    """Write the text of all sources that are in no domain."""
    left_out = set().union(*DOMAINS.values())
    out.mkdir(parents=True)
    with (out / "train.jsonl").open("w", encoding="utf-8") as file:
        for text in read_public_texts(directories):
            if text.source not in left_out:
                file.write(json.dumps({"text": text.text, "source": text.source, "domain": text.subject}) + "\n")


def measure(model_dir: str, directories: list[str], out: Path) -> None:
    """Write and print what survives of each domain by the model that has not read it."""
    kept = thin_texts(read_public_texts(directories))
    table: dict[str, dict[str, list[float]]] = {}
    for epsilon in EPSILONS:
        kind = LearnedCodebook if epsilon < 10 else Description
        unseen = Rewriter.from_pretrained(model_dir, mechanism=kind(epsilon=float(epsilon)))
        for name, sources in DOMAINS.items():
            own = [text.text for text in kept if text.source in sources]
            found = survives(unseen, random.Random(0).sample(own, TEXTS))
            kept_of_it = (found.topic or 0.0, found.topic_of_others or 0.0, found.words, found.words_of_others)
            table.setdefault(name, {})[str(epsilon)] = [round(share, 2) for share in kept_of_it]
            print(epsilon, name, *found.lines, flush=True)
    lists = re.sub(
        r"\[\s+(.*?)\s+\]",
        lambda found: f"[{' '.join(found[1].split())}]",
        json.dumps(table, indent=1),
        flags=re.DOTALL,
    )
    out.write_text(lists + "\n", "utf-8")


def survives(rewriter: Rewriter, texts: list[str]) -> Expectation:
    """Return what rewrites keep of texts, in the mean over parts."""
    parts = [texts[start : start + MAX_PROBES] for start in range(0, len(texts), MAX_PROBES)]
    found = [one for part in parts if (one := expectation(rewriter, Corpus(part)))]

    def mean(name: str) -> float:
        return sum(one.texts * float(getattr(one, name) or 0) for one in found) / sum(one.texts for one in found)

    return Expectation(
        sum(one.texts for one in found), *map(mean, ("topic", "topic_of_others", "words", "words_of_others", "exact"))
    )


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    match command:
        case "balance":
            balance(rest)
        case "without":
            without(rest[:-1], Path(rest[-1]))
        case "measure":
            measure(rest[0], rest[1:-1], Path(rest[-1]))
