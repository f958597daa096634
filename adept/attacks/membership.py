r"""Membership: was a record rewritten to train a classifier, or is it part of released counts?

*Among rewrites.* Private records with the same label are paired. For each pair, a coin decides which of the two
records is rewritten. A classifier is trained on all rewrites with their labels. The attacker sees the classifier,
knows both texts of a pair, and guesses which text was rewritten. The attacker uses the offline attack of LiRA
(Carlini et al. 2022), and trains *shadow classifiers* on rewrites of public text. To compute a text's score, take the
classifier's confidence in the text's label, and subtract the mean confidence of the shadow classifiers in this label.
Then divide by the standard deviation of the shadow classifiers' confidence, averaged over texts. Of each pair, the
attacker names the text with the larger score.

*Claim*: consider the number of right answers to "which of the two", over all N pairs of all classifiers. If the claim
of pure eps-LDP is true, this number is stochastically at most Binomial(N, e^eps / (1 + e^eps)). So Clopper and
Pearson's interval for the share of right answers is valid.
*Proof* (Steinke, Nasr and Jagielski 2023, Theorem 5.2): given the classifier and the coins of the earlier pairs, a
pair's coin has odds between e^-eps and e^eps, because the classifier depends on this coin only through one release.
So every answer is right with probability at most e^eps / (1 + e^eps), whatever the earlier coins are. QED.

*In a file.* The noisy counts of a file are released. The attacker knows one person's rows and all other rows of the
file. From the counts, the attacker guesses whether the person's rows are in the file. The score of the attack is the
likelihood of the counts if the file has the person's rows, divided by the likelihood of the counts if the file does
not have these rows. At the same rate of false alarms, no other attack finds the person more often (Neyman and Pearson
1933).
"""

import random
from collections import defaultdict
from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from scipy.special import logit
from scipy.stats import mannwhitneyu

from adept.attacks.attack_game import AttackGame, AttackRow, Rate
from adept.audit.stats import Floats
from adept.data.texts import text_list
from adept.errors import DataError
from adept.studies.limits import membership_auc, membership_power
from adept.synthesis.synthesizer import NeighbouringFiles

Pairs = list[tuple[int, int]]


class TextReader:
    """A classifier of texts: logistic regression on TF-IDF weights of words and word pairs."""

    def __init__(self, texts: Sequence[str], values: Sequence[str], *, seed: int = 0) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer  # slow to import
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        texts = text_list(texts)
        self.classes = sorted(set(values))
        self._model = make_pipeline(
            TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\S+"),
            LogisticRegression(C=10.0, max_iter=300, random_state=seed),  # C: chosen once, on public text
        )
        if len(self.classes) > 1:
            self._model.fit(texts, list(values))

    def confidence(self, texts: Sequence[str], values: Sequence[str]) -> Floats:
        """Return the classifier's confidence that each text has the class given in ``values``.

        The confidence is the logit of the probability that the classifier gives to this class.
        """
        texts = text_list(texts)
        chances = np.full(len(texts), 1e-6)  # probability of a class that no training text has
        places = {value: i for i, value in enumerate(self.classes)}
        if len(self.classes) > 1:
            table = self._model.predict_proba(texts)
            known = [row for row, value in enumerate(values) if value in places]
            chances[known] = table[known, [places[values[row]] for row in known]]
        return np.asarray(logit(np.clip(chances, 1e-9, 1 - 1e-9)))


def pair_records(labels: Sequence[str], draw: random.Random) -> Pairs:
    """Pair records of the same label at random; a record without a partner is left out."""
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for place, label in enumerate(labels):
        groups[label].append(place)
    pairs: Pairs = []
    for members in groups.values():
        draw.shuffle(members)
        pairs += list(zip(members[::2], members[1::2], strict=False))
    draw.shuffle(pairs)
    return pairs


def play(game: AttackGame, *, models: int) -> list[AttackRow]:
    """Attack ``models`` classifiers of rewrites, with the help of ``models`` shadow classifiers."""
    private, draw = game.private, random.Random(game.seed)
    game.public.require_labels("the public split")
    own_labels = private.require_labels("the private split")
    pairs = pair_records(own_labels, draw)[: max(1, game.records // 2)]
    if not pairs:
        raise DataError("the private split must have two records of one label: it has none")
    labels = [own_labels[first] for first, _ in pairs]
    texts = ([private.texts[first] for first, _ in pairs], [private.texts[second] for _, second in pairs])
    shadows = _train_shadows(game, texts, labels, models, draw)
    right = []
    for _ in range(models):
        coins = np.array([draw.random() < 0.5 for _ in pairs])
        chosen = [texts[0 if coin else 1][place] for place, coin in enumerate(coins)]
        target = TextReader(game.rewriter.rewrite(chosen), labels, seed=game.seed)
        first, second = (
            (target.confidence(some, labels) - side.mean(axis=0)) / max(side.std(axis=0).mean(), 1e-9)
            for some, side in zip(texts, shadows, strict=True)
        )
        right.append(torch.from_numpy((first > second) == coins))
    detail = {"classifiers": models, "pairs": len(pairs)}
    return [
        game.row("membership", "shadows", "which of the two", torch.cat(right), torch.tensor([0.5, 0.5]), detail=detail)
    ]


def _train_shadows(
    game: AttackGame, texts: tuple[list[str], list[str]], labels: list[str], models: int, draw: random.Random
) -> tuple[Floats, Floats]:
    """Return the confidence of each shadow classifier (row) in the label of each text (column)."""
    by_label: defaultdict[str, list[str]] = defaultdict(list)
    for text, label in zip(game.public.texts, game.public.labels or [], strict=True):
        by_label[label].append(text)
    known = [label for label in labels if by_label[label]]
    shadows = [
        TextReader(game.rewriter.rewrite([draw.choice(by_label[label]) for label in known]), known, seed=number)
        for number in range(models)
    ]
    first, second = (np.array([shadow.confidence(side, labels) for shadow in shadows]) for side in texts)
    return first, second


def play_file(files: NeighbouringFiles, *, rounds: int, confidence: float = 0.999) -> list[AttackRow]:
    """Attack two files, with and without a person's rows, in ``rounds`` releases of each file."""
    without, among = files.pairs[0]
    outside, inside = (
        np.array(
            [files.supports(row, among) - files.supports(row, without) for row in files.privatize([name] * rounds)]
        )
        for name in (without, among)
    )
    half = rounds // 2
    threshold = float(np.quantile(outside[:half], 0.99))
    false = Rate.of(int((outside[half:] > threshold).sum()), rounds - half, confidence=confidence)
    power = Rate.of(int((inside > threshold).sum()), rounds, confidence=confidence)
    curve = Rate(area(inside, outside), 0.0, 1.0, rounds, confidence)  # without an interval
    most, best = membership_auc(epsilon=files.epsilon), membership_power(false.high, epsilon=files.epsilon)
    detail = {"rounds": rounds, "false_positives": false.value}
    row = partial(AttackRow, attack="membership", knows="all other rows", detail=detail)
    return [
        row(success="area under the curve", rate=curve, without_release=0.5, bound=most, claimed_bound=most),
        row(
            success="true positives at 1 % false ones",
            rate=power,
            without_release=false.value,
            bound=best,
            claimed_bound=best,
        ),
    ]


def area(inside: Floats, outside: Floats) -> float:
    """Return the area under a score's ROC curve, from scores of members and of non-members.

    Compare each score in ``inside`` (members) with each score in ``outside`` (non-members). The area is the share of
    these comparisons in which the member's score is larger. Two equal scores count as half a comparison won.
    """
    if not len(inside) or not len(outside):
        return 0.5
    return float(mannwhitneyu(inside, outside, method="asymptotic").statistic) / (len(inside) * len(outside))
