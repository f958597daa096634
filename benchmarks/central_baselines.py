"""Compare other methods with `adept synthesize`, at the same budget, on the same public texts and encoder; labels private.

    python benchmarks/central_baselines.py corpus.jsonl test.jsonl [seeds [epsilon ...]]

One half of the corpus is public and unlabelled, the other half private. Add-or-remove; test accuracy and macro-F1 of

- `synthesizer`: ours, pure epsilon.
- `plain histogram`: the same counts, without the model of texts. Cells in which noise alone would hardly have so many votes keep
  them, and as many texts of their codeword are written with their label.
- `votes, Gaussian, 10 rounds`: the vote of Private Evolution (Lin et al. 2024; Xie et al. 2024, Aug-PE). In each round every record
  votes for the candidate of its own label that is nearest to it, votes get Gaussian noise, candidates are drawn again in
  proportion to what of them is above a threshold, and each is varied. Candidates are pairs of a public text and a label; a
  candidate becomes one of the public texts nearest to it. (epsilon, delta)-DP with delta 1e-6, as ten Gaussian releases of l2
  sensitivity 1 are one of sensitivity sqrt(10); in floating point, so that `exact` is false. Theirs use class shares without noise;
  here labels are voted for.
- `decoder, DP-SGD` (`benchmarks/dp_sgd.py`, where the extra dp-sgd is installed): a decoder of the public texts learns from the
  private ones what each label says, and writes texts by label. (epsilon, delta)-DP with delta 1e-6, in floating point.
- `released counts`: no text. A test record has the label of most released votes in its cell.

A research script: nothing of it is an option of the tool, and its seeded noise guarantees nothing.
"""

import json
import sys
from collections.abc import Callable
from importlib.util import find_spec
from statistics import mean

import numpy as np
from numpy.typing import NDArray

from adept.data.corpus import Corpus, hold_out, read_corpus
from adept.evaluation.classifiers import evaluate
from adept.evaluation.metrics import accuracy, codes, macro_f1
from adept.mechanisms import Votes
from adept.mechanisms.gaussian import analytic_scale
from adept.rewriting.loading import load_model
from adept.synthesis.synthesizer import Synthesizer, least_standing_out

EPSILONS, DELTA, ROUNDS = (0.5, 1.0, 2.0, 4.0), 1e-6, 10
CANDIDATES, NEIGHBOURS = 40, 10  # candidates of each label; public texts that a candidate may become
Score = tuple[float, float]
Floats = NDArray[np.float64]


def main() -> None:
    train, test = read_corpus(sys.argv[1]), read_corpus(sys.argv[2])
    loaded, labels = load_model(), sorted(set(train.labels or []))
    kinds: dict[str, Callable[[Synthesizer, Corpus, Corpus, int], Score]] = {
        "synthesizer": ours,
        "plain histogram": plain,
        "votes, Gaussian, 10 rounds": evolved,
        **({"decoder, DP-SGD": taught} if find_spec("opacus") else {}),
        "released counts": counted,
    }
    for epsilon in map(float, sys.argv[4:] or EPSILONS):
        found: dict[str, list[Score]] = {name: [] for name in kinds}
        for seed in range(int(sys.argv[3]) if len(sys.argv) > 3 else 1):
            public, private = hold_out(train, share=0.5, seed=seed)
            made = Synthesizer(*loaded, votes=Votes(epsilon=epsilon), label_set=labels, texts=public.texts)
            for name, kind in kinds.items():
                found[name].append(kind(made, private, test, seed))
        for name, scores in found.items():
            both = " / ".join(f"{mean(score[place] for score in scores):.3f}" for place in (0, 1))
            print(json.dumps({"epsilon": epsilon, "what": name, "accuracy / macro-F1": both}), flush=True)


def learned(texts: list[str], labels: list[str], test: Corpus) -> Score:
    found = evaluate(Corpus(texts, labels), test)
    return found.accuracy.value, found.macro_f1.value


def ours(made: Synthesizer, private: Corpus, test: Corpus, seed: int) -> Score:
    pairs = made.synthesize(private.texts, private.labels)
    return learned([text for text, _ in pairs], [str(label) for _, label in pairs], test)


def plain(made: Synthesizer, private: Corpus, test: Corpus, seed: int) -> Score:
    made = made.choose_codewords(len(private))
    draw, tally = np.random.default_rng(seed), made.tally()
    tally.add(made.vote(private.texts, private.labels))
    counts = made.release(tally)
    kept = np.where(counts >= least_standing_out(made.votes, counts.size), counts, 0)
    texts: list[str] = []
    labels: list[str] = []
    for codeword, label in zip(*np.nonzero(kept), strict=True):
        own = np.flatnonzero(made.cells.places == codeword)
        chosen = draw.choice(own if len(own) else len(made.cells.texts), size=kept[codeword, label])
        texts += [made.cells.texts[place] for place in chosen]
        labels += [str(made.labels[label])] * len(chosen)
    return learned(texts, labels, test)


def counted(made: Synthesizer, private: Corpus, test: Corpus, seed: int) -> Score:
    made = made.choose_codewords(len(private))
    tally = made.tally()
    tally.add(made.vote(private.texts, private.labels))
    best = made.release(tally).argmax(axis=1)
    found = [str(made.labels[best[place]]) for place in made.cells.vote(test.texts)]
    truth, guesses = codes(test.labels or [], found)
    return float(accuracy(truth, guesses)), float(macro_f1(truth, guesses))


def taught(made: Synthesizer, private: Corpus, test: Corpus, seed: int) -> Score:
    from dp_sgd import CHOSEN, Public, synthetic

    labels = [str(label) for label in made.labels]
    found = synthetic(Public(made, seed), private, labels, CHOSEN, epsilon=made.votes.epsilon)
    return learned(found.texts, found.labels or [], test)


def evolved(made: Synthesizer, private: Corpus, test: Corpus, seed: int) -> Score:
    """Ten rounds of votes; the records that are written are the last candidates, as often as they were drawn."""
    draw = np.random.default_rng(seed)
    sigma = ROUNDS**0.5 * analytic_scale(made.votes.epsilon, delta=DELTA)  # per unit of sensitivity
    public, own = made.cells.features, made.cells.of(private.texts)
    nearest = neighbours(public)
    known = {label: place for place, label in enumerate(made.labels)}
    beside = np.array([known[label] for label in private.labels or []])
    labels = np.repeat(np.arange(len(known)), CANDIDATES)
    texts = draw.integers(len(public), size=len(labels))
    for _ in range(ROUNDS):
        votes = np.zeros(len(labels))
        for label in range(len(known)):
            candidates, records = np.flatnonzero(labels == label), own[beside == label]
            if len(candidates) and len(records):
                chosen = (records @ public[texts[candidates]].T).argmax(axis=1)
                np.add.at(votes, candidates[chosen], 1.0)
        noisy = np.maximum(
            votes + draw.normal(0.0, sigma, len(votes)) - sigma, 0.0
        )  # the threshold: one standard deviation
        if not noisy.sum():
            noisy[:] = 1.0
        drawn = draw.choice(len(labels), size=len(labels), p=noisy / noisy.sum())
        texts, labels = nearest[texts[drawn], draw.integers(NEIGHBOURS, size=len(drawn))], labels[drawn]
    rows = draw.choice(len(labels), size=len(private))
    return learned(
        [made.cells.texts[place] for place in texts[rows]], [str(made.labels[place]) for place in labels[rows]], test
    )


def neighbours(features: Floats) -> NDArray[np.int64]:
    """The public texts nearest to each (n, NEIGHBOURS), itself the first."""
    parts = [features[start : start + 1000] @ features.T for start in range(0, len(features), 1000)]
    return np.concatenate([np.argsort(-part, axis=1)[:, :NEIGHBOURS] for part in parts])


if __name__ == "__main__":
    main()
