"""The exhibits that replace word by word."""

from collections.abc import Callable
from typing import Any

import numpy as np

from adept.studies.zoo import word_level
from adept.studies.zoo.exhibit import BUDGET, LONG, SHORT, Exhibit, Reading
from adept.studies.zoo.words import public_words

SUM = "the sum over words where records have equally many, infinite elsewhere: the number of words is released"


def exhibits() -> tuple[Exhibit, ...]:
    """Return them, those with metric privacy first."""
    return (
        _metric("SanText", word_level.SanText, "Yue et al., Findings of ACL 2021; code xiangyue9607/SanText"),
        _metric("CMP", word_level.CMP, "Feyisetan et al., WSDM 2020; code Kekkodf/pypantera"),
        _metric("Mahalanobis", word_level.Mahalanobis, "Xu et al., PrivateNLP 2020; code Kekkodf/pypantera"),
        _metric("Vickrey", word_level.Vickrey, "Xu et al., arXiv 2104.11838; code Kekkodf/pypantera"),
        _metric("TEM", word_level.TEM, "Carvalho et al., SDM 2023; code Kekkodf/pypantera"),
        _kept_words(),
        _output_sets(),
        _candidates(),
    )


def _distance(first: str, second: str) -> float:
    words = public_words()
    a, b = (words.vectors[int(words.indices(word)[0])] for word in (first, second))
    return float(np.linalg.norm(a - b))


def _median_words() -> tuple[str, str]:
    """Two words at the median distance: neither synonyms nor the worst case."""
    words = public_words()
    order = np.argsort(words.distances()[2])
    return words.names[2], words.names[int(order[len(order) // 2])]


def _farthest_words() -> tuple[str, str]:
    words = public_words()
    place = int(words.distances().argmax())
    return words.names[place // len(words.names)], words.names[place % len(words.names)]


def _metric(name: str, kind: Callable[..., Any], source: str) -> Exhibit:
    """A mechanism with metric privacy for single words; its epsilon is such that the pair of words has the usual budget."""
    pair, unit = _median_words(), kind(epsilon=1.0)
    epsilon = BUDGET / (unit.distance(*pair) if hasattr(unit, "distance") else _distance(*pair))
    return Exhibit(
        name=name,
        make=lambda: kind(epsilon=epsilon),
        source=source,
        claim=f"epsilon = {epsilon:.3g} times the distance of two words, for each word",
        per_record=SUM,
        readings=(
            Reading(
                unit="word",
                epsilon=BUDGET,
                holds=True,
                why="weights or noise change by at most epsilon times the distance",
                true_epsilon=f"{BUDGET:g} at most",
                pair=pair,
            ),
            Reading(
                unit="record",
                epsilon=epsilon,
                holds=False,
                why="the number of words comes out as it went in",
                true_epsilon="inf",
                pair=(SHORT, LONG),
                claimed=False,
            ),
        ),
    )


def _kept_words() -> Exhibit:
    names = public_words().names
    common, rare, other = names[2], names[word_level.SENSITIVE_FROM + 20], names[word_level.SENSITIVE_FROM + 5]
    epsilon = BUDGET / _distance(rare, other)
    return Exhibit(
        name="SanText+",
        make=lambda: word_level.SanTextPlus(epsilon=epsilon),
        source="Yue et al., Findings of ACL 2021; code xiangyue9607/SanText",
        claim=f"epsilon = {epsilon:.3g} times the distance between sensitive words; the others may show themselves",
        per_record="infinite: words that are not sensitive are mostly kept, and the number of words is released",
        readings=(
            Reading(
                unit="word, both sensitive",
                epsilon=BUDGET,
                holds=True,
                why="SanText among the sensitive words",
                true_epsilon=f"{BUDGET:g} at most",
                pair=(other, rare),
            ),
            Reading(
                unit="word, any",
                epsilon=BUDGET,
                holds=False,
                why="no other word is ever replaced by the first one",
                true_epsilon="inf",
                pair=(common, rare),
                claimed=False,
            ),
        ),
    )


def _output_sets() -> Exhibit:
    groups, names = word_level.CusText(epsilon=BUDGET).groups, public_words().names
    inside, outside = np.flatnonzero(groups == groups[0]), np.flatnonzero(groups != groups[0])
    return Exhibit(
        name="CusText",
        make=lambda: word_level.CusText(epsilon=BUDGET),
        source="Chen et al., Findings of ACL 2023; code sai4july/CusText",
        claim=f"epsilon = {BUDGET:g} for each word, among words that share an output set",
        per_record="infinite: words of different output sets have no output in common, and the number of words is released",
        readings=(
            Reading(
                unit="word, same output set",
                epsilon=BUDGET,
                holds=True,
                why="the exponential mechanism with scores in [0, 1] over one common set",
                true_epsilon=f"{BUDGET:g} at most",
                pair=(names[int(inside[0])], names[int(inside[-1])]),
            ),
            Reading(
                unit="word, any",
                epsilon=BUDGET,
                holds=False,
                why="the two words have disjoint output sets",
                true_epsilon="inf",
                pair=(names[0], names[int(outside[0])]),
                claimed=False,
            ),
        ),
    )


def _candidates() -> Exhibit:
    return Exhibit(
        name="RANTEXT",
        make=lambda: word_level.RanText(epsilon=BUDGET),
        source="Tong et al., InferDPT, arXiv 2310.12214; code mengtong0110/InferDPT",
        claim=f"epsilon = {BUDGET:g} for each token, any two tokens",
        per_record="no finite epsilon was proved: the set of candidates depends on the token",
        readings=(
            Reading(
                unit="word",
                epsilon=BUDGET,
                holds=False,
                why="candidates lie within a random radius of the word itself, so far words hardly ever replace it",
                true_epsilon="above the claim",
                pair=_farthest_words(),
            ),
        ),
    )
