"""The exhibits that release a sentence's latent, or write with a language model."""

import numpy as np

from adept.data.corpus import DataConfig, load
from adept.studies.zoo import sentence_level
from adept.studies.zoo.exhibit import BUDGET, LONG, SHORT, Exhibit, Reading
from adept.studies.zoo.words import public_words

CANDIDATES = 400  # public sentences among which the pair with the farthest latents is looked for
SEED = "epsilon itself by its formula; none for who knows the program's seed, which is 12345 unless it is set"


def exhibits() -> tuple[Exhibit, ...]:
    """Return them, latents first."""
    return _adept(), _dptext(), _dp_bart(), _dp_rewrite(), _dp_prompt(), _dp_prompt_with_length()


def _far_sentences() -> tuple[str, str]:
    """Return the two public sentences whose latents are farthest apart in the l1 norm."""
    texts = sorted(set(load(DataConfig())["test"].texts))[:CANDIDATES]
    latents = np.stack([public_words().encode(text) for text in texts])
    distances = np.abs(latents[:, None] - latents).sum(axis=2)
    place = int(distances.argmax())
    return texts[place // len(texts)], texts[place % len(texts)]


def _l1(first: str, second: str) -> float:
    words = public_words()
    return float(np.abs(words.encode(first) - words.encode(second)).sum())


def _adept() -> Exhibit:
    pair, dim = _far_sentences(), public_words().vectors.shape[1]
    return Exhibit(
        name="ADePT",
        make=lambda: sentence_level.ADePT(BUDGET),
        source="Krishna, Gupta and Dupuy, EACL 2021; Habernal, EMNLP 2021",
        claim=f"epsilon = {BUDGET:g} for any two records",
        per_record=f"sqrt(n) times as much: {BUDGET * dim**0.5:g} at n = {dim}",
        readings=(
            Reading(
                unit="record",
                epsilon=BUDGET,
                holds=False,
                why="the l1 sensitivity of the clipped latent is sqrt(n) times the assumed one",
                true_epsilon=f"{BUDGET * _l1(*pair) / 2:.3g}",
                pair=pair,
            ),
        ),
    )


def _dptext() -> Exhibit:
    return Exhibit(
        name="DPText",
        make=lambda: sentence_level.DPTextLatents(BUDGET),
        source="Beigi et al. 2019a and 2019b; Habernal, ACL 2022",
        claim=f"epsilon = {BUDGET:g} for any two records",
        per_record="infinite",
        readings=(
            Reading(
                unit="record",
                epsilon=BUDGET,
                holds=False,
                why="the noise is never negative, so an output below a record's latent is not that record's",
                true_epsilon="inf",
                pair=_far_sentences(),
            ),
        ),
    )


def _dp_bart() -> Exhibit:
    return Exhibit(
        name="DP-BART",
        make=lambda: sentence_level.DPBart(BUDGET),
        source="Igamberdiev and Habernal, Findings of ACL 2023; code trusthlt/dp-bart-private-rewriting",
        claim=f"({BUDGET:g}, 1e-5) for any two records",
        per_record="the same: the record is the unit",
        readings=(
            Reading(
                unit="record",
                epsilon=BUDGET,
                holds=True,
                why="2 C sqrt(n) is the l2 diameter of the clipped outputs",
                true_epsilon=f"{BUDGET:g} at most",
                pair=_far_sentences(),
            ),
        ),
    )


def _dp_rewrite() -> Exhibit:
    return Exhibit(
        name="DP-Rewrite, program",
        make=lambda: sentence_level.DPRewrite(BUDGET),
        source="Igamberdiev, Arannil and Habernal, COLING 2022; code trusthlt/dp-rewrite with its defaults",
        claim=f"epsilon = {BUDGET:g} for any two records",
        per_record=SEED,
        readings=(
            Reading(
                unit="record",
                epsilon=BUDGET,
                holds=False,
                why="the scale is right, but one seed gives one noise, which can be subtracted",
                true_epsilon=f"{BUDGET:g} by its formula",
                pair=_far_sentences(),
            ),
        ),
    )


def _dp_prompt() -> Exhibit:
    epsilon = 6 * BUDGET
    word = epsilon / sentence_level.TOKENS
    return Exhibit(
        name="DP-Prompt",
        make=lambda: sentence_level.DPPrompt(epsilon),
        source="Utpala, Hooker and Chen, Findings of EMNLP 2023",
        claim=f"epsilon = 2 (b2 - b1) / T = {word:g} for each of n = {sentence_level.TOKENS} words",
        per_record=f"n times as much, {epsilon:g}; the length of the text is drawn with it and costs nothing more",
        readings=(
            Reading(
                unit="record",
                epsilon=epsilon,
                holds=True,
                why="n exponential mechanisms, one after the other",
                true_epsilon=f"{epsilon:g} at most",
                pair=(SHORT, LONG),
            ),
        ),
    )


def _dp_prompt_with_length() -> Exhibit:
    return Exhibit(
        name="DP-Prompt, length of the record",
        make=lambda: sentence_level.DPPrompt(BUDGET, length_of_record=True),
        source="`DPPrompt` in LLMDP.py of sjmeis/DPMLM, where max_new_tokens is the number of the record's own tokens",
        claim=f"epsilon = {BUDGET / sentence_level.TOKENS:.3g} for each word written",
        per_record="infinite: as many words are written as the record has",
        readings=(
            Reading(
                unit="record",
                epsilon=BUDGET,
                holds=False,
                why="the length of the output is bounded by that of the record",
                true_epsilon="inf",
                pair=(SHORT, LONG),
            ),
        ),
    )
