"""The plan of a release: what it is expected to be worth at each budget, before any private record is read.

*Claim*: a plan and its page are a function of the options and of files declared public. *Proof*. ``make_plan`` gets
the label set, public corpora and numbers, and ``adept plan`` has no option for a private file. QED.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist, fmean

from scipy.optimize import isotonic_regression

from adept.data.corpus import Corpus
from adept.data.texts import note_labels
from adept.evaluation import record_free
from adept.evaluation.classifiers import check_files_fit
from adept.evaluation.record_free import COMMONEST_LABEL, FreeRow, PublicTexts, find_hits, measure_free_rows
from adept.mechanisms import curves
from adept.mechanisms.curves import REWRITE, SYNTHESIZE, Known, Range, Rehearsal, expect_accuracy, expected_names
from adept.mechanisms.guarantee import QUESTION, risk, words
from adept.mechanisms.policy import WORTH_MARGIN
from adept.models.label_names import spell_name, spell_out
from adept.models.saved_model import Autoencoder
from adept.models.sentence_encoder import SentenceEncoder, reads_as_english
from adept.models.tokenizer import Tokenizer
from adept.pages import render
from adept.rewriting.rewriter import Rewriter, best_exact

BUDGETS = {REWRITE: (4.0, 8.0, 12.0, 16.0), SYNTHESIZE: (1.0, 2.0, 4.0)}  # in nats
MAX_ROWS = 10**6  # of a file, up to which a plan looks for the rows that would be worth it
UNMEASURED = (
    "no rewrites of public texts were measured, so these accuracies are guesses{}: give test=FILE or examples=FILE with "
    "public=true, and at least two texts of each label"
)
PUBLIC_ROWS = "what you type here counts as public: give a round number known without the file"
HEADINGS = [
    "command", "epsilon", "for a person", QUESTION, "accuracy", "range of one release", "the rows add", "verdict",
]  # fmt: skip
FOREIGN = (
    "No estimate: the names or texts do not look like English, in which alone the curves were measured. If they are English, "
    "give texts with test=FILE public=true. Otherwise train a model of your language with adept train, and measure it with "
    "adept compare."
)
Model = tuple[Autoencoder, Tokenizer]


@dataclass(frozen=True)
class Offer:
    """A command with a budget, and what one release is expected to be worth."""

    command: str
    epsilon: float
    person_epsilon: float
    risk: str
    expected: Range
    added: float  # expected accuracy above the best free row
    verdict: str

    @property
    def cells(self) -> list[str]:
        low, middle, high, _ = self.expected
        return [
            f"adept {self.command}", f"{self.epsilon:g}", words(self.person_epsilon), self.risk, f"{middle:.2f}",
            f"{low:.2f} to {high:.2f}", f"{round(middle, 2) - round(middle - self.added, 2):+.2f}", self.verdict,
        ]  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """The offers for a file that nobody has read, the free rows beside them, and what to do."""

    labels: int
    rows: int
    most: int  # records of a person that the budgets for a person hold for
    free: list[FreeRow]  # the best one first
    offers: list[Offer] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # on what is special about labels, texts or rows
    advice: list[str] = field(default_factory=list)  # the first sentence says what to do

    @property
    def title(self) -> str:
        return f"Labels: {self.labels:,}. Rows: {self.rows:,}, at most {self.most:,} of a person. No private record was read."


def make_plan(
    labels: Sequence[str],
    model: Model,
    *,
    rows: int,
    examples: Corpus | None = None,
    test: Corpus | None = None,
    about: Mapping[str, Sequence[str]] | None = None,
    most: int = 1,
    is_packaged: bool = True,
    shared: Mapping[str, str] | None = None,
) -> Plan:
    """Compute the plan of a release.

    Args:
        labels: all labels, which are public.
        model: the model that will make the release.
        rows: expected number of rows of the private file. examples, test: public texts with labels.
        about: public sentences about labels.
        most: largest number of records of a person.
        is_packaged: False for a model other than the packaged one.
        shared: options of each command as they are typed, by its name: those that the plan was made with.
    """
    said, count = about or {}, len(labels)
    if count < 2:
        nothing = "Do not release for a classifier: every text has the same label, so there is nothing to learn."
        return Plan(count, rows, most, [], advice=[nothing])
    public = PublicTexts.of(examples, test, labels=count)
    english = reads_as_english(public.read.texts) if public else _are_english_names(labels)
    notes = _notes(labels, said, rows, packaged=is_packaged)
    notes += check_files_fit({"examples": examples}, test) if examples and test else note_labels(labels)
    free = measure_free_rows(labels, public, said, has_examples=examples is not None) if public else []
    free.sort(key=lambda row: -row.accuracy)
    if free and free[0].texts < curves.MIN_TEXTS:
        notes.append(f"fewer than {curves.MIN_TEXTS} public texts were judged: a guess")
    if not english:
        return Plan(count, rows, most, free, notes=notes, advice=[FOREIGN])
    names = _find_names(free, labels, said)
    free = sorted(dict.fromkeys([names, *free]), key=lambda row: -row.accuracy)
    best, rehearsal = free[0], rehearse(model, labels, public, said, rows) if public else None
    known = Known(count, names.accuracy, rehearsal)
    offers = [
        _offer(command, epsilon, known, best, rows, most) for command in BUDGETS for epsilon in BUDGETS[command] if rows
    ]
    name = f"your {len(examples or []):,} public examples" if best.name == record_free.EXAMPLES else best.cells[0]
    advice = _doubt_labels(free, known.rehearsal) + _advise(offers, known, name, best.accuracy, most, shared or {})
    return Plan(count, rows, most, free, offers, notes, advice)


def _are_english_names(labels: Sequence[str]) -> bool:
    """Return True if half of the names' words have at most two tokens, and a quarter one, as English words have."""
    encoder, words = SentenceEncoder.load(), [word for label in labels for word in spell_out(label) if word.isalpha()]
    tokens = [encoder.count_tokens(word) for word in words if word.isascii()]
    return 2 * sum(count <= 2 for count in tokens) >= len(words) <= 4 * tokens.count(1)


def rehearse(
    model: Model, labels: Sequence[str], public: PublicTexts, about: Mapping[str, Sequence[str]], rows: int
) -> Rehearsal | None:
    """Release the public texts, and measure classifiers of as many as the file has rows; None if there are too few."""
    pool, judged, most = public.pool, public.rehearsed, max(rows, len(labels))
    if len(labels) > 300 or not record_free.can_deal(pool):  # more labels take minutes
        return None
    count, folds = (1, 4) if len(pool) >= 300 else (3, record_free.FOLDS)

    def release(epsilon: float) -> float:
        mechanism = best_exact(model[0], epsilon=epsilon)(epsilon=epsilon)
        writer = Rewriter(*model, mechanism=mechanism).by_label(about, label_set=labels)
        released = (writer.rewrite_pairs(pool.texts, pool.labels) for _ in range(count))
        trained = (Corpus([text for text, _ in pairs], pool.labels) for pairs in released)
        found = (find_hits(own, pool, judged, epsilon=epsilon, most=most, folds=folds) for own in trained)
        return fmean(fmean(hits or [0.0]) for hits in found)

    released = isotonic_regression([*map(release, curves.REHEARSED)]).x.tolist()  # sorted noise would look like growth
    each = min(most, round(len(pool) * (folds - 1) / folds)) / len(labels)
    return Rehearsal(dict(zip(curves.REHEARSED, released, strict=True)), each, len(judged))


def _notes(labels: Sequence[str], about: Mapping[str, Sequence[str]], rows: int, *, packaged: bool) -> list[str]:
    """Return what is special about the labels, the number of rows and the model."""
    count = len(labels)
    nameless = [label for label in labels if not spell_name(label) and label not in about]
    notes = {
        f"no public sentence is found by the names of {len(nameless)} of {count} labels, such as {next(iter(nameless), '')!r}: "
        "give better names, or a sentence about each label with label_descriptions=": nameless,
        f"{count:,} labels: the curves were measured with 3 to {curves.MAX_MEASURED_LABELS} labels: elsewhere they are a guess": (
            not 3 <= count <= curves.MAX_MEASURED_LABELS
        ),
        f"the curves were measured with 2 to {curves.MAX_MEASURED_ROWS} rows for each label: elsewhere they are a guess": (
            rows and not 2 * count <= rows <= curves.MAX_MEASURED_ROWS * count
        ),
        "without rows nothing can be added to what is free": rows == 0,
        "there are fewer rows than labels, so most labels have no row": 0 < rows < count,
        "synthesize reads no label_descriptions, so its accuracies can be lower than expected": about,
        "the curves were measured with the packaged model: another model can be better or worse": not packaged,
    }
    return [note for note, holds in notes.items() if holds]


def _find_names(free: list[FreeRow], labels: Sequence[str], about: Mapping[str, Sequence[str]]) -> FreeRow:
    """Return the accuracy of label names as it was measured, or the usual one, or a guess if no name has a meaning."""
    usual = FreeRow(record_free.NEAREST_NAME, expected_names(len(labels)), 0)
    if not about and not any(map(spell_name, labels)):
        usual = FreeRow("any label at random, as no name has a meaning", 1 / len(labels), 0)
    return next((row for row in free if row.name == record_free.NEAREST_NAME), usual)


def _offer(command: str, epsilon: float, known: Known, best: FreeRow, rows: int, most: int) -> Offer:
    one, all_own = _divide(command, epsilon, most)
    expected = expect_accuracy(command, known, epsilon=one, rows=rows)
    attacked = 2 * epsilon if command == SYNTHESIZE else epsilon  # replacing one record moves two counts
    added, verdict = expected.middle - best.accuracy, expected.judge(best.accuracy)
    return Offer(command, epsilon, all_own, risk(attacked), expected, added, verdict)


def _divide(command: str, epsilon: float, most: int) -> tuple[float, float]:
    """Return the epsilon of a record and of a person: that of synthesize is for all records of a person."""
    return (epsilon / most, epsilon) if command == SYNTHESIZE else (epsilon, epsilon * most)


def _doubt_labels(free: list[FreeRow], rehearsal: Rehearsal | None) -> list[str]:
    """Return a sentence that nothing measured on public texts is clearly better than their commonest label, if so."""
    hopes = [row.accuracy for row in free if row.texts and row.name != COMMONEST_LABEL]
    reached = max([0.0, *hopes, *(rehearsal.released.values() if rehearsal else [])])
    return [
        "The public texts do not show that texts tell their labels: nothing that was measured is clearly better than "
        f"{record_free.TITLES[row.name]} ({row.accuracy:.2f}), so more rows may not help either."
        for row in free
        if row.name == COMMONEST_LABEL and row.texts >= curves.MIN_TEXTS and reached <= row.accuracy + 2 * row.doubt
    ]


def _advise(
    offers: list[Offer], known: Known, name: str, accuracy: float, most: int, shared: Mapping[str, str]
) -> list[str]:
    """Return sentences on what to do: the first says what to release, or that nothing is worth it."""
    worth, floor, lines = (
        [offer for offer in offers if offer.verdict == curves.WORTH],
        f"{name} ({accuracy:.2f})",
        list[str](),
    )
    if not worth and any(offer.verdict == curves.TOO_CLOSE for offer in offers):
        lines = [f"too close to call: no budget is expected to be clearly better than what is free, {floor}"]
    elif any(offer.added > 0 for offer in offers) and not worth:
        lines = [f"do not release: no budget is likely enough to be better than what is free, {floor}"]
    elif not worth:
        lines = [f"do not release: no budget is expected to be better than what is free, {floor}"]
    if offers and known.rehearsal is None:
        lines.append(UNMEASURED.format(", and one in four such recommendations is wrong" if worth else ""))
    lines += _count_rows(accuracy, known, most, released={offer.command for offer in worth})
    sentences = [f"{line[0].upper()}{line[1:]}." for line in lines] + [record_free.LARGER_ENCODER]
    return _recommend(worth, shared, guessed=known.rehearsal is None) + sentences


def _recommend(worth: list[Offer], shared: Mapping[str, str], *, guessed: bool) -> list[str]:
    """Return each command that is worth a release, with its smallest such budget, after a line that says when."""
    needs = {SYNTHESIZE: "If nobody needs rows one by one", REWRITE: "If each row is needed on its own"}
    lines = []
    for command, need in needs.items():
        if own := next((offer for offer in worth if offer.command == command), None):
            low, middle, high, error = own.expected
            gaining = int(100 * (1 - NormalDist(own.added, error).cdf(WORTH_MARGIN)))
            sure = f", by which {gaining} of 100 such files gain {WORTH_MARGIN:g} or more over what is free"
            kind, sure = ("guessed", sure) if guessed else ("expected", "")
            lines += [
                f"{need}, use the next command. Its {kind} accuracy is {middle:.2f} ({low:.2f} to {high:.2f}){sure}, and "
                f"{QUESTION} {own.risk}:",
                f"adept {command} input=FILE output=NEWFILE epsilon={own.epsilon:g}{shared.get(command, '')}",
            ]
    return lines


def _count_rows(floor: float, known: Known, most: int, *, released: set[str]) -> list[str]:
    """Say from how many rows on each command would be worth it that is not recommended."""
    lines = []
    for command, epsilon in {REWRITE: 8.0, SYNTHESIZE: 2.0}.items():
        if command in released:
            continue
        one, _ = _divide(command, epsilon, most)
        needed = curves.rows_needed(command, known, epsilon=one, floor=floor, most=MAX_ROWS) or 0
        guess = " (beyond what was measured)" if needed > curves.MAX_MEASURED_ROWS * known.labels else ""
        never = f"no number of rows up to {MAX_ROWS:,} is expected to make {command} at epsilon {epsilon:g} worth it"
        found = f"{command} at epsilon {epsilon:g} is expected to be worth it from about {needed:,} rows on{guess}"
        lines.append(found if needed else never)
    return lines


def write_page(plan: Plan, directory: Path) -> Path:
    """Write ``plan.html``, which needs no network, and return its path."""
    said, path = {"plan": plan, "headings": HEADINGS, "public_rows": PUBLIC_ROWS}, directory / "plan.html"
    path.write_text(render("adept.report", "plan.html.jinja", said), "utf-8")
    return path
