"""What stands under the tables of a comparison's page, in HTML: what their lines and columns mean, and what is not shown."""

from adept.comparison.config import CompareConfig
from adept.comparison.results import DENOISED, NEAREST, Row
from adept.report.table import LIGHT_SUPERVISION, latent_rows

SHOWN_WORDS = 25  # of an example
REPEATS_NOTE = (
    "The share of rewrites that are, word for word, <b>their own record</b>; what that share would be <b>by chance</b>, if the "
    "same texts were dealt to the records at random, as short and common utterances are written often; and the share that are "
    "<b>a public text</b>, which the decoder has learned by heart or the look-up gave back. Only what lies above chance comes "
    "from the record."
)


def glossary(rows: list[Row]) -> str:
    """What the lines and columns of the fair table mean, of those that are there."""
    present = {row.mechanism for row in rows}
    notes = [
        "<b>none</b>: the text itself.",
        "<b>public_only</b>: the rewriter's public half with its labels." * ("public_only" in present),
        "<b>lookup</b>: linear latents, a random codebook, the nearest public utterances." * ("lookup" in present),
        "<b>identity</b>: the rewriter without noise. <b>random</b>: the same decoder on latents that know nothing.",
        "<b>above random</b>: accuracy above the random line of the same model, decoder and classifier, seed by seed.",
        "<b>latents</b>: logistic regression on the released latents themselves, which shows what decoding loses."
        * bool(latent_rows(rows)),
        "<b>denoised</b>: the same decoder, after the noise was taken out of all releases together, released labels included: "
        "no text speaks of its own record alone then, each tells its released label too, and none costs more budget."
        * any(row.decoder == DENOISED for row in rows),
        "<b>nearest</b>: the public utterances nearest to the released latent, not the decoder's."
        * any(row.decoder == NEAREST and row.clip for row in rows),
        "<b>content</b>: what the latents were trained to say, beside spelling their text back.",
    ]
    if any(row.content in LIGHT_SUPERVISION for row in rows):
        notes.append(
            "<b>Light supervision</b>: the rewriter saw public labels, so its lines are not those of one that saw none."
        )
    if any(row.overlap is not None for row in rows):
        notes.append(
            "<b>overlap</b>: Jaccard index of the words of record and rewrite. <b>BLEU</b> against the record, 0 to 100. "
            "<b>distinct</b>: share of different texts. <b>perplexity</b>: under a bigram model of the original records; low for "
            "their own style, and for one sentence over and over."
        )
    notes.append("± is half a 95 % interval over seeds." * (len({row.seed for row in rows}) > 1))
    return " ".join(note for note in notes if note)


def labels_note(config: CompareConfig) -> str:
    """What is guaranteed of the labels."""
    if config.label_epsilon is None:
        return "Labels are copied, and so not private: these guarantees compare records with the same label."
    return (
        f"Each label is randomised once with an epsilon of {config.label_epsilon:g}, which every budget of this page includes; the "
        "audits are of the rest, which the text spends."
    )


def examples_note(config: CompareConfig, count: int) -> str:
    """How the examples were chosen, and what is missing where the data are not public."""
    rule = (
        f"{count} records, evenly spread over the private ones of seed {config.seeds[0]}, whatever they say; the first rewrite of "
        f"each, cut off after {SHOWN_WORDS} words."
    )
    if config.data.public:
        return rule
    return (
        f"{rule} The originals are not shown, because these data are not public (<code>data.public=false</code>); nor is any text "
        "that repeats a record, nor what was written by the look-up or under a false claim. Whoever passes this page on "
        "releases these texts, and their budgets add up; the figures of this page are averages over private records and have no "
        "guarantee."
    )
