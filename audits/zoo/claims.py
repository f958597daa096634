"""The zoo: claims of papers, and likely misreadings of these claims, tested by `adept.audit`.

A *reading* is one way to understand a claimed epsilon: as the paper means it, or as a user may
misread it, for example as the epsilon of a whole record. An *exhibit* is one reading with its
mechanism, a pair of records, and the verdict that we wrote down before the audit.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from wild.claims import VERDICT_COLOURS
from zoo import mechanisms as published
from zoo.mechanisms import TOKENS, WordByWord, encode_sentence, public_words

from adept import audit
from adept.audit import Claim, NotJudged
from adept.data.corpus import DataConfig, load
from adept.errors import check_choice
from adept.mechanisms import DPText, OriginalLaplace
from adept.plotting import INK, Table, drawing

TRIALS = 20_000
NAMES = (
    *("ADePT", "DPText", "DP-BART", "DP-Rewrite, program", "DP-Prompt", "DP-Prompt, length of the record"),
    *("SanText", "CMP", "Mahalanobis", "Vickrey", "TEM", "CusText", "RANTEXT"),
)
CONFIDENCE = 0.999
SHOWN_CHARACTERS = 44  # characters of a record that the table shows
BUDGET = 4.0  # epsilon that most readings claim for their pair of records
SHORT, LONG = "show me flights", "i need a flight from boston to denver on monday morning please"
CANDIDATES = 400  # public sentences to search for the pair whose latents are farthest apart
SEED = "epsilon itself by its formula; none for who knows the program's seed, which is 12345 unless it is set"
SUM = "the sum over words where records have equally many, infinite elsewhere: the number of words is released"


@dataclass(frozen=True, kw_only=True)
class ClaimReading:
    """One way to understand a published claim: the epsilon that it promises a pair of records."""

    mechanism: str
    source: str  # the paper, and the public code in which we looked up details
    claim: str  # what the paper claims, in words
    unit: str = "record"
    claimed: bool = True  # False if nobody claims this, but a user might understand it so
    epsilon: float = BUDGET  # claimed for this pair of records
    true_epsilon: str = f"{BUDGET:g} at most"  # for this pair of records, as far as it is known
    per_record: str  # epsilon that follows from the claim for a whole record
    why: str  # reason for the verdict that we expect


@dataclass(frozen=True, kw_only=True)
class Exhibit(ClaimReading):
    """A reading of a claim, with a mechanism, a pair of records, and the verdict that we expect."""

    make: Callable[[], Any]
    pair: tuple[str, str]
    holds: bool = True


def exhibits() -> tuple[Exhibit, ...]:
    """Return all exhibits: first those about sentences, then those about words."""
    return (
        *_latents(),
        *_prompts(),
        *_metric(published.SanText, "Yue et al., Findings of ACL 2021; code xiangyue9607/SanText"),
        *_metric(published.CMP, "Feyisetan et al., WSDM 2020; code Kekkodf/pypantera"),
        *_metric(published.Mahalanobis, "Xu et al., PrivateNLP 2020; code Kekkodf/pypantera"),
        *_metric(published.Vickrey, "Xu et al., arXiv 2104.11838; code Kekkodf/pypantera"),
        *_metric(published.TEM, "Carvalho et al., SDM 2023; code Kekkodf/pypantera"),
        *_output_sets(),
        _candidates(),
    )


def _far_sentences() -> tuple[str, str]:
    texts = sorted(set(load(DataConfig())["test"].texts))[:CANDIDATES]
    latents = np.stack([encode_sentence(text) for text in texts])
    distances = np.abs(latents[:, None] - latents).sum(axis=2)
    first, second = np.unravel_index(distances.argmax(), distances.shape)
    return texts[int(first)], texts[int(second)]


def _latents() -> Iterator[Exhibit]:
    pair, words = _far_sentences(), public_words()
    dim, distance = words.vectors.shape[1], np.abs(encode_sentence(pair[0]) - encode_sentence(pair[1])).sum()
    common: dict[str, Any] = {"claim": f"epsilon = {BUDGET:g} for any two records", "pair": pair}
    yield Exhibit(
        mechanism="ADePT",
        make=lambda: published.SentenceLatents(OriginalLaplace(epsilon=BUDGET)),
        source="Krishna, Gupta and Dupuy, EACL 2021; Habernal, EMNLP 2021",
        per_record=f"sqrt(n) times as much: {BUDGET * dim**0.5:g} at n = {dim}",
        holds=False,
        why="the l1 sensitivity of the clipped latent is sqrt(n) times the assumed one",
        true_epsilon=f"{BUDGET * distance / 2:.3g}",
        **common,
    )
    yield Exhibit(
        mechanism="DPText",
        make=lambda: published.SentenceLatents(DPText(epsilon=BUDGET)),
        source="Beigi et al. 2019a and 2019b; Habernal, ACL 2022",
        per_record="infinite",
        holds=False,
        why="the noise is never negative, so an output below a record's latent is not that record's",
        true_epsilon="inf",
        **common,
    )
    yield Exhibit(
        mechanism="DP-BART",
        make=lambda: published.DPBart(BUDGET),
        source="Igamberdiev and Habernal, Findings of ACL 2023; code trusthlt/dp-bart-private-rewriting",
        per_record="the same: the record is the unit",
        why="2 C sqrt(n) is the l2 diameter of the clipped outputs",
        **{**common, "claim": f"({BUDGET:g}, 1e-5) for any two records"},
    )
    yield Exhibit(
        mechanism="DP-Rewrite, program",
        make=lambda: published.SentenceLatents(published.SeededLaplace(BUDGET)),
        source="Igamberdiev, Arannil and Habernal, COLING 2022; code trusthlt/dp-rewrite with its defaults",
        per_record=SEED,
        holds=False,
        why="the scale is right, but one seed gives one noise, which can be subtracted",
        true_epsilon=f"{BUDGET:g} by its formula",
        **common,
    )


def _prompts() -> tuple[Exhibit, Exhibit]:
    epsilon = 6 * BUDGET
    own = Exhibit(
        mechanism="DP-Prompt",
        make=lambda: published.DPPrompt(epsilon),
        source="Utpala, Hooker and Chen, Findings of EMNLP 2023",
        claim=f"epsilon = 2 (b2 - b1) / T = {epsilon / TOKENS:g} for each of n = {TOKENS} words",
        per_record=f"n times as much, {epsilon:g}; the length of the text is drawn with it and costs nothing more",
        why="n exponential mechanisms, one after the other",
        true_epsilon=f"{epsilon:g} at most",
        pair=(SHORT, LONG),
        epsilon=epsilon,
    )
    return own, replace(
        own,
        mechanism="DP-Prompt, length of the record",
        make=lambda: published.DPPrompt(BUDGET, length_of_record=True),
        source="`DPPrompt` in LLMDP.py of sjmeis/DPMLM, where max_new_tokens is the number of the record's own tokens",
        claim=f"epsilon = {BUDGET / TOKENS:.3g} for each word written",
        per_record="infinite: as many words are written as the record has",
        holds=False,
        why="the length of the output is bounded by that of the record",
        true_epsilon="inf",
        epsilon=BUDGET,
    )


def _metric(kind: type[WordByWord], source: str) -> tuple[Exhibit, Exhibit]:
    """Return two readings of a metric claim: one for a pair of words, one for whole records.

    In a metric claim, the epsilon of two words is proportional to their distance.
    """
    words = public_words()
    order = np.argsort(words.distances()[2])
    pair = words.names[2], words.names[int(order[len(order) // 2])]  # at the median distance
    epsilon = BUDGET / kind(epsilon=1.0).distance(*pair)
    own = Exhibit(
        mechanism=kind.__name__,
        make=lambda: kind(epsilon=epsilon),
        source=source,
        claim=f"epsilon = {epsilon:.3g} times the distance of two words, for each word",
        per_record=SUM,
        why="weights or noise change by at most epsilon times the distance",
        pair=pair,
        unit="word",
    )
    why = "the number of words comes out as it went in"
    return own, replace(_not_claimed(own, "record", why, (SHORT, LONG)), epsilon=epsilon)


def _not_claimed(own: Exhibit, unit: str, why: str, pair: tuple[str, str]) -> Exhibit:
    return replace(own, unit=unit, holds=False, why=why, true_epsilon="inf", pair=pair, claimed=False)


def _output_sets() -> tuple[Exhibit, Exhibit]:
    groups, names = published.CusText(epsilon=BUDGET).groups, public_words().names
    inside, outside = np.flatnonzero(groups == groups[0]), np.flatnonzero(groups != groups[0])
    own = Exhibit(
        mechanism="CusText",
        make=lambda: published.CusText(epsilon=BUDGET),
        source="Chen et al., Findings of ACL 2023; code sai4july/CusText",
        claim=f"epsilon = {BUDGET:g} for each word, among words that share an output set",
        per_record="infinite: words of different output sets have no output in common, and the number of words is released",
        why="the exponential mechanism with scores in [0, 1] over one common set",
        pair=(names[int(inside[0])], names[int(inside[-1])]),
        unit="word, same output set",
    )
    pair = (names[0], names[int(outside[0])])
    return own, _not_claimed(own, "word, any", "the two words have disjoint output sets", pair)


def _candidates() -> Exhibit:
    names, distances = public_words().names, public_words().distances()
    first, second = np.unravel_index(distances.argmax(), distances.shape)
    return Exhibit(
        mechanism="RANTEXT",
        make=lambda: published.RanText(epsilon=BUDGET),
        source="Tong et al., InferDPT, arXiv 2310.12214; code mengtong0110/InferDPT",
        claim=f"epsilon = {BUDGET:g} for each token, any two tokens",
        per_record="no finite epsilon was proved: the set of candidates depends on the token",
        holds=False,
        why="candidates lie within a random radius of the word itself, so far words hardly ever replace it",
        true_epsilon="above the claim",
        pair=(names[int(first)], names[int(second)]),
        unit="word",
    )


@dataclass(frozen=True, kw_only=True)
class ZooRow(ClaimReading):
    """One reading of a claim, and the verdict of its audit."""

    expected: str  # "holds" or "false", written down before the audit
    verdict: str  # "violated", "not refuted" or "not judged"
    certified_epsilon: float
    failed: str  # names of the checks that found a violation
    first: str
    second: str
    seconds: float

    @property
    def as_expected(self) -> bool:
        return self.verdict == ("not refuted" if self.expected == "holds" else "violated")


def run(*, mechanisms: tuple[str, ...] = NAMES, trials: int = TRIALS) -> Iterator[ZooRow]:
    """Audit every reading of the chosen mechanisms, with ``trials`` releases of each record."""
    found = exhibits()
    for name in mechanisms:
        check_choice(NAMES, only=name)
        yield from (_row(exhibit, trials) for exhibit in found if exhibit.mechanism == name)


def _row(exhibit: Exhibit, trials: int) -> ZooRow:
    started, mechanism = time.monotonic(), exhibit.make()
    try:
        claim = Claim(mechanism, epsilon=exhibit.epsilon)
        result = audit.run(claim, pairs=[exhibit.pair], trials=trials, confidence=CONFIDENCE)
    except NotJudged as failure:
        result = failure.result
    return ZooRow(
        **{field.name: getattr(exhibit, field.name) for field in fields(ClaimReading)},
        expected="holds" if exhibit.holds else "false",
        verdict=result.outcome,
        certified_epsilon=result.certified_epsilon,
        failed=" ".join(check.name for check in result.failed),
        first=exhibit.pair[0],
        second=exhibit.pair[1],
        seconds=time.monotonic() - started,
    )


def tables(rows: Sequence[ZooRow]) -> list[Table]:
    """Return up to two tables: the papers' own claims, and readings that no paper claims."""
    headings = ["mechanism", "unit", "claimed", "true", "verdict", "certified", "pair that was tried", "why"]
    titles = {
        True: "Claims, each for its own unit (confidence 0.999)",
        False: "What nobody claims: the same number, read as epsilon of a whole record, or of any two words",
    }
    return [
        (title, headings, [_line(row) for row in rows if row.claimed is claimed])
        for claimed, title in titles.items()
        if any(row.claimed is claimed for row in rows)
    ]


def _line(row: ZooRow) -> list[str]:
    shown = [text[:SHOWN_CHARACTERS] + "..." * (len(text) > SHOWN_CHARACTERS) for text in (row.first, row.second)]
    found = [row.verdict, f"{row.certified_epsilon:.2f}", " / ".join(shown), row.why]
    return [row.mechanism, row.unit, f"{row.epsilon:.3g}", row.true_epsilon, *found]


def draw(rows: Sequence[ZooRow]) -> str:
    """Draw a bar for the epsilon that each audit certified, and a line for the claimed epsilon."""
    shown = sorted(rows, key=lambda row: (not row.claimed, row.verdict != "violated"))
    with drawing(1, 1, size=(9.5, 0.36 * len(shown) + 1.4)) as opened:
        axis = opened.axes[0][0]
        for place, row in enumerate(reversed(shown)):
            style = {"color": VERDICT_COLOURS[row.verdict], "alpha": 1.0 if row.claimed else 0.45}
            axis.barh(place, row.certified_epsilon, height=0.62, **style)
            axis.plot([row.epsilon] * 2, [place - 0.4, place + 0.4], color=INK, lw=1.6)
        labels = [f"{row.mechanism} ({row.unit}{'' if row.claimed else '; not claimed'})" for row in reversed(shown)]
        axis.set_yticks(range(len(shown)), labels, fontsize=9)
        axis.set_xlabel("epsilon: certified by the audit (bar), claimed (line)")
        for verdict, colour in VERDICT_COLOURS.items():
            if any(row.verdict == verdict for row in shown):
                axis.barh(0, 0, color=colour, label=verdict)
        axis.legend(frameon=False, loc="lower right")
    return opened.svg
