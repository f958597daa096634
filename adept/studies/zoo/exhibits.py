"""What each exhibit claims, per what unit, what that is worth per record, and the pair of records on which it is tried.

A *reading* is one way to read a claim: the paper's own, or the one that a user makes who takes the number as "epsilon per record".
Each has an epsilon for one pair of records, so that it can be audited, and says whether it is the paper's. What is expected is
stated here beforehand, with the reason; the audit does not see it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adept.studies.zoo import sentence_level, word_level
from adept.studies.zoo.words import public_words

SHORT, LONG = "show me flights", "i need a flight from boston to denver on monday morning please"
SAME_LENGTH = ("flights from boston to denver", "what does first class cost")
BUDGET = 4.0  # of every reading of one word, and of every record


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One claim about one pair of records.

    Attributes:
        unit: what the claim protects: a word, a record.
        epsilon: what it says of this pair.
        claimed: is it the paper's claim; if not, it is what the number would mean per record, and nobody's fault.
        holds: what is expected, with the reason in ``why``.
        true_epsilon: of this pair, where it is known: "inf", a sum over words.
        pair: two records.
        why: one sentence.
    """

    unit: str
    epsilon: float
    claimed: bool
    holds: bool
    true_epsilon: str
    pair: tuple[str, str]
    why: str


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """A published mechanism.

    Attributes:
        make: builds it.
        source: paper, and the public code that was read for details.
        claim: what the paper says, in words.
        per_record: what that is worth for a whole record.
    """

    name: str
    make: Callable[[], Any]
    source: str
    claim: str
    per_record: str
    readings: tuple[Reading, ...]


def _far_words() -> tuple[str, str]:
    """Two words at the median distance, a common one and a rare one: neither synonyms nor the worst case."""
    words = public_words()
    distances = words.distances()[2]
    order = np.argsort(distances)
    return words.names[2], words.names[int(order[len(order) // 2])]


def _distance(first: str, second: str) -> float:
    words = public_words()
    a, b = (words.vectors[int(words.indices(word)[0])] for word in (first, second))
    return float(np.linalg.norm(a - b))


def _metric(name: str, kind: Callable[..., Any], source: str) -> Exhibit:
    """A mechanism with d-privacy for single words."""
    first, second = _far_words()
    unit = kind(epsilon=1.0)
    epsilon = BUDGET / (unit.distance(first, second) if hasattr(unit, "distance") else _distance(first, second))
    return Exhibit(
        name=name,
        make=lambda: kind(epsilon=epsilon),
        source=source,
        claim=f"epsilon = {epsilon:.3g} times the distance of two words, for each word",
        per_record="the sum over words for records with equally many words; infinite for others, as the number of words is released",
        readings=(
            Reading(
                unit="word",
                epsilon=BUDGET,
                claimed=True,
                holds=True,
                true_epsilon=f"{BUDGET:g} at most",
                pair=(first, second),
                why="the exponential weights (or the noise) change by at most epsilon times the distance",
            ),
            _length_leaks(epsilon),
        ),
    )


def _length_leaks(epsilon: float) -> Reading:
    return Reading(
        unit="record",
        epsilon=epsilon,
        claimed=False,
        holds=False,
        true_epsilon="inf",
        pair=(SHORT, LONG),
        why="the number of words comes out as it went in",
    )


def _sentence(holds: bool, true_epsilon: str, why: str, *, epsilon: float = BUDGET) -> tuple[Reading, ...]:
    pair = (SHORT, SAME_LENGTH[1])
    return (
        Reading(
            unit="record", epsilon=epsilon, claimed=True, holds=holds, true_epsilon=true_epsilon, pair=pair, why=why
        ),
    )


def _l1(first: str, second: str) -> float:
    words = public_words()
    return float(np.abs(words.encode(first) - words.encode(second)).sum())


def _output_sets() -> Exhibit:
    mechanism = word_level.CusText(epsilon=BUDGET)
    groups, names = mechanism.groups, public_words().names
    inside = np.flatnonzero(groups == groups[0])
    other = int(np.flatnonzero(groups != groups[0])[0])
    return Exhibit(
        name="CusText",
        make=lambda: word_level.CusText(epsilon=BUDGET),
        source="Chen et al., Findings of ACL 2023; code sai4july/CusText",
        claim=f"epsilon = {BUDGET:g} for each word, among words that share an output set",
        per_record="infinite: words of different output sets never have an output in common, and the number of words is released",
        readings=(
            Reading(
                unit="word, same set",
                epsilon=BUDGET,
                claimed=True,
                holds=True,
                true_epsilon=f"{BUDGET:g} at most",
                pair=(names[int(inside[0])], names[int(inside[-1])]),
                why="the exponential mechanism with scores in [0, 1] over one common set",
            ),
            Reading(
                unit="word, any",
                epsilon=BUDGET,
                claimed=False,
                holds=False,
                true_epsilon="inf",
                pair=(names[0], names[other]),
                why="the two words have disjoint output sets",
            ),
        ),
    )


def _kept_words() -> Exhibit:
    names = public_words().names
    first, second = names[2], names[word_level.SENSITIVE_FROM + 20]
    epsilon = BUDGET / _distance(first, second)
    rare = names[word_level.SENSITIVE_FROM + 5], second
    return Exhibit(
        name="SanText+",
        make=lambda: word_level.SanTextPlus(epsilon=epsilon),
        source="Yue et al., Findings of ACL 2021; code xiangyue9607/SanText",
        claim=f"epsilon = {epsilon:.3g} times the distance, between sensitive words; the others may show themselves",
        per_record="infinite: words that are not sensitive are kept seven times of ten, and the number of words is released",
        readings=(
            Reading(
                unit="word, both sensitive",
                epsilon=epsilon * _distance(*rare),
                claimed=True,
                holds=True,
                true_epsilon="as claimed at most",
                pair=rare,
                why="SanText among the sensitive words",
            ),
            Reading(
                unit="word, any",
                epsilon=BUDGET,
                claimed=False,
                holds=False,
                true_epsilon="inf",
                pair=(first, second),
                why="no other word is ever replaced by this one",
            ),
        ),
    )


def _candidates() -> Exhibit:
    return Exhibit(
        name="RANTEXT",
        make=lambda: word_level.RanText(epsilon=BUDGET),
        source="Tong et al., InferDPT, arXiv 2310.12214; code mengtong0110/InferDPT",
        claim=f"epsilon = {BUDGET:g}-LDP for each token",
        per_record="no finite epsilon was proved: the candidates depend on the token",
        readings=(
            Reading(
                unit="word",
                epsilon=BUDGET,
                claimed=True,
                holds=False,
                true_epsilon="above the claim",
                pair=_farthest_words(),
                why="candidates lie within a random radius of the word itself, so far words hardly ever replace it",
            ),
        ),
    )


def _farthest_words() -> tuple[str, str]:
    words = public_words()
    place = int(words.distances().argmax())
    return words.names[place // len(words.names)], words.names[place % len(words.names)]


def _prompted(length_of_record: bool) -> Exhibit:
    epsilon = BUDGET if length_of_record else 6 * BUDGET
    word = epsilon / sentence_level.TOKENS
    if length_of_record:
        return Exhibit(
            name="DP-Prompt, length of the record",
            make=lambda: sentence_level.DPPrompt(epsilon, length_of_record=True),
            source="`DPPrompt` of sjmeis/DPMLM, LLMDP.py: max_new_tokens is the number of the record's tokens",
            claim=f"epsilon = {word:.3g} for each of the words written",
            per_record="infinite: as many words are written as the record has",
            readings=(
                Reading(
                    unit="record",
                    epsilon=epsilon,
                    claimed=True,
                    holds=False,
                    true_epsilon="inf",
                    pair=(SHORT, LONG),
                    why="the length of the output is that of the record",
                ),
            ),
        )
    return Exhibit(
        name="DP-Prompt",
        make=lambda: sentence_level.DPPrompt(epsilon),
        source="Utpala, Hooker and Chen, Findings of EMNLP 2023",
        claim=f"epsilon = 2 (b2 - b1) / T = {word:.3g} for each of n = {sentence_level.TOKENS} words",
        per_record=f"n times as much, {epsilon:g}: whatever the end of the text, n words are drawn",
        readings=(
            Reading(
                unit="record",
                epsilon=epsilon,
                claimed=True,
                holds=True,
                true_epsilon=f"{epsilon:g} at most",
                pair=(SHORT, LONG),
                why="n exponential mechanisms, one after the other; where the text ends is part of them",
            ),
            Reading(
                unit="record, number of one word",
                epsilon=word,
                claimed=False,
                holds=False,
                true_epsilon=f"{epsilon:g} at most",
                pair=(SHORT, LONG),
                why="the epsilon of one word is not that of the record",
            ),
        ),
    )


def exhibits() -> tuple[Exhibit, ...]:
    """Return all exhibits."""
    dim = public_words().vectors.shape[1]
    pair = (SHORT, SAME_LENGTH[1])
    adept_epsilon = BUDGET * _l1(*pair) / 2
    return (
        Exhibit(
            name="ADePT",
            make=lambda: sentence_level.ADePT(BUDGET),
            source="Krishna, Gupta and Dupuy, EACL 2021; Habernal, EMNLP 2021",
            claim=f"epsilon = {BUDGET:g} for any two records",
            per_record=f"sqrt(n) times as much, {BUDGET * dim**0.5:g} at n = {dim}",
            readings=_sentence(False, f"{adept_epsilon:.3g}", "the l1 sensitivity is sqrt(n) times the assumed one"),
        ),
        Exhibit(
            name="DPText",
            make=lambda: sentence_level.DPTextLatents(BUDGET),
            source="Beigi et al. 2019a, 2019b; Habernal, ACL 2022",
            claim=f"epsilon = {BUDGET:g} for any two records",
            per_record="infinite: the noise is never negative",
            readings=_sentence(False, "inf", "an output below a record's latent cannot be that record's"),
        ),
        Exhibit(
            name="DP-BART",
            make=lambda: sentence_level.DPBart(BUDGET),
            source="Igamberdiev and Habernal, Findings of ACL 2023; code trusthlt/dp-bart-private-rewriting",
            claim=f"({BUDGET:g}, 1e-5) for any two records",
            per_record="the same: the record is the unit",
            readings=_sentence(True, f"{BUDGET:g} at most", "2 C sqrt(n) is the l2 diameter of the clipped outputs"),
        ),
        Exhibit(
            name="DP-Rewrite, program",
            make=lambda: sentence_level.DPRewrite(BUDGET),
            source="Igamberdiev, Arannil and Habernal, COLING 2022; code trusthlt/dp-rewrite with its defaults",
            claim=f"epsilon = {BUDGET:g} for any two records",
            per_record="the formula keeps it; the program's noise follows its seed, 12345 by default, so who knows it removes the noise",
            readings=_sentence(False, "inf for who knows the seed", "the same seed gives the same noise"),
        ),
        _metric("SanText", word_level.SanText, "Yue et al., Findings of ACL 2021; code xiangyue9607/SanText"),
        _kept_words(),
        _output_sets(),
        _metric("CMP", word_level.CMP, "Feyisetan et al., WSDM 2020; code Kekkodf/pypantera"),
        _metric("Mahalanobis", word_level.Mahalanobis, "Xu et al., PrivateNLP 2020; code Kekkodf/pypantera"),
        _metric("Vickrey", word_level.Vickrey, "Xu et al., arXiv 2104.11838; code Kekkodf/pypantera"),
        _metric("TEM", word_level.TEM, "Carvalho et al., SDM 2023; code Kekkodf/pypantera"),
        _candidates(),
        _prompted(False),
        _prompted(True),
    )
