"""The run of a comparison: it computes and collects all rows, audits, attacks and examples of rewrites.

A row is computed in these steps: release records, write texts, train and test a classifier. Its
*recipe* says how (``adept.comparison.config``). A decoder, which writes texts, reads only the releases, the released
labels, public texts and public numbers.

Mechanisms that turn text into text are not attacked, because the attacks need latents. If the data are not public,
every rewrite on a page is a release to all readers of the page. So examples are shown only on request
(``examples=true``), and never with ``protocol=paper``, where the models are trained on the private records. Even if
examples are shown, the page omits the original records and the texts of any mechanism whose claim is false. The page
also omits rewrites that repeat a text on which the model was trained. The page does not mark rewrites that equal
their record, because the mark would reveal the record.
"""

import math
import multiprocessing
import os
import random
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import cached_property, partial
from itertools import accumulate, cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from adept import audit
from adept.attacks.attack_game import AttackGame
from adept.attacks.reconstruction import play
from adept.audit import AuditResult
from adept.comparison.config import ALTERNATIVES, STAND_INS, CompareConfig, ModelKind, Recipe, Schedule, plan_comparison
from adept.comparison.results import (
    AttackedRelease,
    AuditVerdict,
    Example,
    ReleasedLabels,
    ResultRow,
    Results,
    Store,
    Stored,
    WrittenTexts,
    exceeds,
    pack_hits,
)
from adept.data.corpus import Corpus, hold_out, load
from adept.data.writing import write_table
from adept.errors import ConfigurationError, DataError, ModelError
from adept.evaluation import metrics
from adept.evaluation.classifiers import Evaluation, check_files_fit, evaluate, score
from adept.mechanisms import Codebook, Description, JointResponse, L1Laplace, RandomizedResponse, Votes
from adept.mechanisms.guarantee import Guarantee
from adept.models.config import TrainingData, TrainSpec
from adept.models.decoding import Pair
from adept.models.label_names import label_by_names
from adept.models.saved_model import Autoencoder
from adept.models.sentences.sentence_list import SentenceList
from adept.models.tokenizer import Tokenizer
from adept.rewriting import alternatives
from adept.rewriting.alternatives import PromptSampling, Redaction, TokenExponential, TokenResponse, WordVectors
from adept.rewriting.expectation import enough_epsilon
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter
from adept.synthesis.labels import draw_by_names
from adept.synthesis.synthesizer import Synthesizer, choose_rows

AUDIT_TRIALS = 4000
SECRETS, CANDIDATES = 1000, 10_000  # secrets, and what they may be, as in ``adept attack``
ATTACK_CONFIDENCE = 0.9999  # of each interval: a page has dozens
WITHHELD = "(withheld: the model was trained on it)"
Columns = dict[str, Any]  # of a row: the budget spent on its texts
# These columns, and the function that writes the texts; a label beside a text replaces the released one
Source = tuple[Columns, Callable[[], list[Pair]]]


class Trial:
    """One seed of a comparison, with the data, labels, models and rewriters of its rows.

    If ``unseen`` is False, models were trained on the private records, so no privacy claim holds. ``examples`` are
    pairs of text and label to which the model was adapted.
    """

    def __init__(
        self, store: Store, splits: dict[str, Corpus], seed: int, examples: Sequence[tuple[str, str]] = ()
    ) -> None:
        self.store, self.config, self.seed = store, store.config, seed
        self.examples = Corpus([text for text, _ in examples], [label for _, label in examples])
        self.validation, self.test, train = splits["validation"], splits["test"], splits["train"]
        self.unseen = self.config.protocol != "paper"
        self.public, self.private = hold_out(train, share=0.5, seed=seed) if self.unseen else (train, train)
        self.label_set = sorted(set(train.labels or []))
        self._models: dict[ModelKind, tuple[Autoencoder, Tokenizer]] = {}

    def obtain(self, kind: type[Stored], recipe: Recipe, make: Callable[["Trial", Recipe], Stored]) -> Stored:
        """Return the result for a row of the table; if it is not stored, compute and store it."""
        kept = self.store.find(kind, self.seed, recipe)
        return self.store.keep(make(self, recipe), self.seed, recipe) if kept is None else kept

    def labels(self, recipe: Recipe) -> list[str]:
        """Return the private records' labels, randomised if the row has a budget for labels."""
        own = self.private.labels or []
        if recipe.label_epsilon is None:
            return own
        response = RandomizedResponse(epsilon=recipe.label_epsilon, labels=tuple(self.label_set))
        return self.obtain(ReleasedLabels, recipe, lambda *_: ReleasedLabels(response.privatize(own))).values

    def rewriter(self, recipe: Recipe) -> Rewriter:
        """Return the rewriter for a row of the table, which must be a row with a model."""
        config, (model, tokenizer), decoding = self.config, self.model(recipe), self.config.decoding
        if decoding.strategy == "auto" and model_kind(recipe).content != "none" and config.model_dir is None:
            decoding = replace(decoding, strategy="sample")
        if recipe.mechanism == "by_label":
            plain = Rewriter.for_measurement(model, tokenizer, mechanism=Description(epsilon=recipe.text_epsilon))
            if plain.by_label() is plain:
                raise ConfigurationError(
                    "model_dir must be a model of broad text that was not adapted for label_codewords=auto: use off"
                )
            return plain.by_label()
        text = config.mechanism(recipe.mechanism, math.inf if recipe.budget is None else recipe.text_epsilon)
        mechanism = JointResponse.of(text, self.label_set) if recipe.labels == "joint_response" else text
        return Rewriter.for_measurement(model, tokenizer, mechanism=mechanism, decoding=decoding)

    def model(self, recipe: Recipe) -> tuple[Autoencoder, Tokenizer]:
        """Return the model and the tokenizer for a row of the table; train the model if necessary."""
        kind = model_kind(recipe)
        if kind not in self._models:
            run = self.store.model(self.seed, kind)
            if self.config.model_dir is None and not (run / "done").exists():
                self._train(kind, run)
            self._models[kind] = load_model(self.config.model_dir or run)
        return self._models[kind]

    def _train(self, model: ModelKind, run: Path) -> None:
        from adept.models.training import train_model  # a trainer takes seconds to import

        config, joint = self.config, self.config.labels == "joint"
        noise = L1Laplace if model.clip == "l1" else Codebook
        spec = TrainSpec(
            clip=model.clip,
            training_data=TrainingData(config.data.name, config.data.public, len(self.public)),
            model=config.model,
            tokenizer=config.tokenizer,
            training=replace(config.training, content=replace(config.training.content, kind=model.content)),
            trainer=config.trainer,
            mechanism=lambda epsilon: noise(epsilon=epsilon, clip_norm=config.model.clip_norm),
            seed=self.seed,
            joint_labels=joint,
        )
        public, held_out = Corpus(self.public.texts), Corpus(self.validation.texts)
        if joint:
            known = set(self.public.labels or [])
            places = [place for place, label in enumerate(self.validation.labels or []) if label in known]
            public, held_out = self.public, self.validation.take(places)
        train_model(public, held_out, spec, output_dir=run)
        (run / "done").touch()

    @cached_property
    def broad_sentences(self) -> SentenceList:
        """The packaged model's sentences, which come from public text about many topics."""
        model, _ = load_model()
        if model.sentences is None:
            raise ModelError("the packaged model must list sentences: install adept again")
        return model.sentences

    @cached_property
    def words(self) -> WordVectors:
        """Frequent words of the public text, with vectors computed from this text."""
        return alternatives.learn_word_vectors(self.public.texts, size=1000, dim=64)


def model_kind(recipe: Recipe) -> ModelKind:
    """Return the kind of a row's model; raise ValueError if the row has no model."""
    if recipe.model is None:
        raise ValueError(f"the recipe must have a model, got {recipe.mechanism} without one")
    return recipe.model


def obtain_row(trial: Trial, recipe: Recipe) -> ResultRow:
    """Return a row of the table; compute the row unless it is stored."""
    row = trial.obtain(ResultRow, recipe, _make_row)
    if recipe.measured and row.words is None:
        rewrites = trial.obtain(WrittenTexts, recipe, _write).texts[:: recipe.samples]  # the first of each record
        other = [*trial.validation.texts, *trial.test.texts]
        quality: Columns = metrics.measure(trial.private, rewrites, trained_on=trial.public.texts, other=other)
        row = trial.store.keep(replace(row, **quality), trial.seed, recipe)
    return row


def _make_row(trial: Trial, recipe: Recipe) -> ResultRow:
    evaluation, spent = _evaluate(trial, recipe)
    defaults: Columns = {"delta": 0.0, "dim": trial.config.model.latent_dim, "records_per_second": None}
    [(commonest, _)] = Counter(trial.private.labels).most_common(1)
    by_majority = np.array([label == commonest for label in trial.test.labels or []])
    return ResultRow(
        data=trial.config.data.name,
        protocol=trial.config.protocol,
        mechanism=recipe.mechanism,
        decoder=recipe.decoder,
        claimed_epsilon=recipe.budget,
        label_epsilon=recipe.label_epsilon,
        seed=trial.seed,
        classifier=recipe.classifier,
        labels=recipe.labels,
        samples=recipe.samples,
        clip=recipe.model.clip if recipe.model else None,
        content=recipe.model.content if recipe.model else None,
        accuracy=evaluation.accuracy.value,
        macro_f1=evaluation.macro_f1.value,
        majority_accuracy=evaluation.majority_accuracy,
        train_records=evaluation.train_records,
        test_records=evaluation.test_records,
        hits=pack_hits(evaluation.hits),
        majority_hits=pack_hits(by_majority) if recipe.mechanism == "none" else "",
        **defaults | spent,
    )


def _evaluate(trial: Trial, recipe: Recipe) -> tuple[Evaluation, Columns]:
    if recipe.mechanism == "names_directly":
        predicted = label_by_names(trial.label_set, trial.test.texts) or trial.label_set[:1] * len(trial.test)
        return score(predicted, trial.test, learned=[], majority=trial.private.labels or []), {"epsilon": 0.0}
    corpus, spent = _learn_from(trial, recipe)
    options: Columns = {"classifier": recipe.classifier, "seed": trial.seed, "samples": recipe.samples}
    options["epsilon"] = math.inf if recipe.decoder is None else spent["epsilon"]  # without a decoder: people's text
    return evaluate(corpus, trial.test, **options, noisy_labels=recipe.labels not in ("copy", "vote")), spent


def _learn_from(trial: Trial, recipe: Recipe) -> tuple[Corpus, Columns]:
    if recipe.mechanism == "none":
        return trial.private, {"epsilon": math.inf}
    if recipe.mechanism == "names":
        labels = _copy_or_cycle_labels(trial)
        return Corpus(draw_by_names(trial.broad_sentences, labels, seed=trial.seed), labels), {"epsilon": 0.0}
    if recipe.decoder is None:
        return trial.examples if recipe.mechanism == "examples" else trial.public, {"epsilon": 0.0}
    written = trial.obtain(WrittenTexts, recipe, _write)
    return Corpus(written.texts, written.labels), written.spent


def _copy_or_cycle_labels(trial: Trial) -> list[str]:
    """Return the private records' labels or, if labels are private, the label set over and over."""
    own, config = trial.private.labels or [], trial.config
    copied = config.labels == "copy" and config.trust != "central"
    return own if copied else list(islice(cycle(trial.label_set), choose_rows(len(own), labelled=True)))


def _write(trial: Trial, recipe: Recipe) -> WrittenTexts:
    opened = _open_alternative if recipe.mechanism in ALTERNATIVES else _open_rewriter
    opened = _open_synthesizer if recipe.decoder == "public" else opened
    spent, write = opened(trial, recipe)  # trains a model, unless an earlier run did
    begin = time.monotonic()
    pairs = write()
    speed = len(trial.private) / (time.monotonic() - begin)
    if recipe.labels == "vote":
        labels = [str(label) for _, label in pairs]
    else:
        beside = [label for label in trial.labels(recipe) for _ in range(recipe.samples)]
        labels = [given if own is None else own for (_, own), given in zip(pairs, beside, strict=True)]
    return WrittenTexts([text for text, _ in pairs], labels, {**spent, "records_per_second": speed})


def _list_promise(trial: Trial, recipe: Recipe, promise: Guarantee) -> Columns:
    return {
        "epsilon": promise.epsilon + (recipe.label_epsilon or 0.0),
        "delta": promise.delta,
        "holds": promise.holds and trial.unseen,
    }


def _open_alternative(trial: Trial, recipe: Recipe) -> Source:
    mechanism = build_alternative(trial, recipe)
    spent = _list_promise(trial, recipe, mechanism.guarantee())
    return spent, lambda: [(text, None) for text in mechanism.privatize(trial.private.texts)]


def build_alternative(trial: Trial, recipe: Recipe) -> TokenResponse | TokenExponential | PromptSampling | Redaction:
    """Build an alternative to a rewriter: a mechanism that turns text into text."""
    texts, epsilon = trial.public.texts, recipe.text_epsilon
    if recipe.mechanism == "redaction":
        return Redaction.from_public(texts)
    if recipe.mechanism == "prompt_sampling":
        model, tokenizer = trial.model(recipe)
        rows = tokenizer.encode(texts, max_length=model.config.max_length)
        length = min(alternatives.common_length([len(row) for row in rows]), model.config.max_length)
        logits = alternatives.public_logits(model, tokenizer, texts)
        return PromptSampling(epsilon=epsilon, model=model, tokenizer=tokenizer, length=length, logits=logits)
    kind = TokenResponse if recipe.mechanism == TokenResponse.name else TokenExponential
    length = alternatives.common_length([len(text.split()) for text in texts])
    return kind(epsilon=epsilon, public=trial.words, length=length)


def _open_rewriter(trial: Trial, recipe: Recipe) -> Source:
    rewriter, texts, samples = trial.rewriter(recipe), trial.private.texts, recipe.samples

    def write() -> list[Pair]:
        labels: list[str | None] | None = None
        if recipe.labels in ("joint", "joint_response"):
            known = rewriter.alphabet.labels
            labels = [label if label in known else None for label in trial.labels(recipe)]
        if recipe.mechanism == "by_label":
            labels = list(trial.labels(recipe))
        if recipe.mechanism == "random":  # its texts know of no record: 2,000 serve them all
            few = slice(-(-2000 // samples))
            pool = rewriter.rewrite_pairs(texts[few], labels and labels[few], samples=samples)
            return random.choices(pool, k=len(texts) * samples)
        return rewriter.rewrite_pairs(texts, labels, samples=samples)

    spent = _list_promise(trial, recipe, rewriter.guarantee)
    return {**spent, "dim": rewriter.model.config.latent_dim, "enough": enough_epsilon(rewriter)}, write


def _open_synthesizer(trial: Trial, recipe: Recipe) -> Source:
    private = trial.private
    synthesizer = Synthesizer(
        *trial.model(recipe),
        votes=Votes(epsilon=recipe.budget or max(trial.config.epsilons)),
        label_set=trial.label_set,
        texts=trial.public.texts if trial.config.model_dir is None else None,
        accept_private_model=True,
    )

    def write() -> list[Pair]:
        if recipe.mechanism == "random":
            return synthesizer.synthesize([], [], rows=choose_rows(len(private), labelled=True))
        if recipe.mechanism == "synthesizer":
            return synthesizer.synthesize(private.texts, private.labels)
        exact = synthesizer.choose_codewords(len(private))
        tally = exact.tally()
        tally.add(exact.vote(private.texts, private.labels))
        return list(exact.write(tally.counts.reshape(exact.cells.size, -1)))

    return {"epsilon": 0.0 if recipe.mechanism == "random" else recipe.budget or math.inf}, write


# --- Audits, attacks and examples


def judge(trial: Trial, recipe: Recipe) -> AuditVerdict:
    """Audit the privacy claim of the mechanism in one row of the table."""
    result, guarantee = (_audit_text if recipe.mechanism in ALTERNATIVES else _audit)(trial, recipe)
    strongest = result.strongest if result.violated else None
    evidence = f"{strongest.evidence} ({strongest.kind})" if strongest else ""
    return AuditVerdict(
        recipe.mechanism, recipe.text_epsilon, result.violated, result.certified_epsilon, evidence, guarantee
    )


def _audit(trial: Trial, recipe: Recipe) -> tuple[AuditResult, str]:
    mechanism, dim = trial.config.mechanism(recipe.mechanism, recipe.text_epsilon), trial.config.model.latent_dim
    guarantee = mechanism.guarantee(dim).text
    if recipe.labels == "joint_response":
        return audit.run(JointResponse.of(mechanism, STAND_INS), trials=AUDIT_TRIALS), guarantee
    if mechanism.randomises == "description":
        mechanism = trial.rewriter(recipe).mechanism  # with the model's descriptions
    return audit.run(mechanism, dim=dim, trials=AUDIT_TRIALS), guarantee


def _audit_text(trial: Trial, recipe: Recipe) -> tuple[AuditResult, str]:
    """Audit a mechanism that turns text into text, on the shortest and the longest public text.

    Texts that are too long for the mechanism are skipped, unless all texts are too long.
    """
    mechanism = build_alternative(trial, recipe)
    lengths = {text: len(text.split()) for text in trial.public.texts}
    whole = [text for text in lengths if lengths[text] <= getattr(mechanism, "length", 0)] or list(lengths)
    pair = min(whole, key=lengths.__getitem__), max(whole, key=lengths.__getitem__)
    return audit.run(mechanism, pairs=[pair], trials=AUDIT_TRIALS), mechanism.guarantee().text


def attack(trial: Trial, recipe: Recipe) -> AttackedRelease:
    """Draw new releases by the mechanism in one row of the table, and attack these releases."""
    rewriter = trial.rewriter(recipe)
    texts: dict[str, Any] = {"private": trial.private, "public": trial.public, "seed": trial.seed}
    game = AttackGame(rewriter=rewriter, records=SECRETS, confidence=ATTACK_CONFIDENCE, **texts)
    rows, _ = play(game, candidates=CANDIDATES, read_text=False)
    spent = {name: getattr(rewriter.guarantee, name) for name in ("claimed_epsilon", "epsilon", "delta")}
    return AttackedRelease(mechanism=recipe.mechanism, model=model_kind(recipe), rows=rows, **spent)


def choose_examples(trial: Trial, rows: list[tuple[Recipe, ResultRow]]) -> list[Example]:
    """Return rewrites of some private records, chosen by their places and not by their content."""
    config, records, public = trial.config, trial.private.texts, trial.config.data.public
    if not (public or (config.examples and config.protocol != "paper")):
        return []
    written = [
        (row, kept.texts[:: row.samples])
        for recipe, row in _choose_shown(rows, public=public)
        if (kept := trial.store.find(WrittenTexts, trial.seed, recipe))
    ]
    secret = set() if public else set(map(bare, [*trial.public.texts, *trial.validation.texts]))
    return [
        Example(
            records[index] if public else None,
            [(row, WITHHELD if bare(texts[index]) in secret else texts[index]) for row, texts in written],
        )
        for index in spread(len(records), 6)
    ]


def bare(text: str) -> str:
    """Return the words of a text in lower case and without punctuation."""
    return " ".join(re.findall(r"\w+", text.lower()))


def spread(total: int, count: int) -> list[int]:
    """Return up to ``count`` indices below ``total``, at nearly equal distances."""
    count = min(count, total)
    return [(2 * part + 1) * total // (2 * count) for part in range(count)]


def _choose_shown(rows: list[tuple[Recipe, ResultRow]], *, public: bool) -> list[tuple[Recipe, ResultRow]]:
    """Return the rows of which the page shows examples.

    These are rows of the reference ``random``, and rows with the smallest or the largest epsilon.
    """
    budgets = {row.claimed_epsilon for _, row in rows if row.claimed_epsilon is not None}
    outermost = {min(budgets), max(budgets)} if budgets else set()
    first = rows[0][1]
    return [
        (recipe, row)
        for recipe, row in rows
        if (row.seed, row.classifier) == (first.seed, first.classifier)
        and (row.decoder in ("lstm", "codec") or (row.decoder is not None and row.clip is None))
        and (row.mechanism == "random" or row.claimed_epsilon in outermost)
        and (public or (row.clip is not None and not exceeds(row.epsilon, row.claimed_epsilon or 0.0)))
    ]


# --- The run


class Comparison:
    """A comparison and its directory; an interrupted comparison resumes where it stopped.

    Raises:
        DataError: the train or test split has no labels, they have no label in common, or the directory holds another
            comparison.
    """

    def __init__(self, config: CompareConfig) -> None:
        self.splits = load(config.data, config)
        if "test" not in self.splits:
            raise DataError("the data must have a labelled test split to compare on: add one")
        train, test = (self.splits[name] for name in ("train", "test"))
        self.notes = check_files_fit({"the train split": train}, test, name="the test split")
        self.config, self.store = config, Store(config)
        given = load_model(config.model_dir)[0].label_examples if config.model_dir else {}
        self.examples = [(text, label) for label, texts in given.items() for text in texts]
        self.schedule = plan_comparison(config, examples=bool(given))

    @property
    def size(self) -> int:
        return len(self.schedule.recipes) * len(self.config.seeds)

    def run(self) -> Iterator[int]:
        """Compute all missing results; after each step, yield the number of finished rows."""
        models = self.schedule.models
        here = (one for trial in self.trials() for model in models for one in _make(trial, self.schedule, model))
        yield from accumulate(self._run_aside() if self.config.processes > 1 else here)

    def trials(self) -> Iterator[Trial]:
        return (Trial(self.store, self.splits, seed, self.examples) for seed in self.config.seeds)

    def _run_aside(self) -> Iterator[int]:
        trials = list(self.trials())
        for trial in trials:
            for recipe in self.schedule.recipes:
                trial.labels(recipe)  # drawn once, whatever reads them
        models = reversed(self.schedule.models)
        jobs = [partial(_make_aside, trial, self.schedule, model) for model in models for trial in trials]
        yield from in_processes(jobs, processes=self.config.processes)

    def collect(self) -> Results:
        """Return all results, and write the rows and the results of attacks into csv files."""
        trials, directory = list(self.trials()), self.store.directory
        rows = [(recipe, obtain_row(trial, recipe)) for trial in trials for recipe in self.schedule.recipes]
        write_table([row.columns() for _, row in rows], directory / "results.csv")
        verdicts = [trials[0].obtain(AuditVerdict, recipe, judge) for recipe in self.schedule.audited]
        attacks = [trials[0].obtain(AttackedRelease, recipe, attack) for recipe in self.schedule.attacked]
        if attacks:
            write_table([line for attacked in attacks for line in attacked.lines()], directory / "attacks.csv")
        return Results(self.config, [row for _, row in rows], verdicts, attacks, choose_examples(trials[0], rows))


def _make(trial: Trial, schedule: Schedule, model: ModelKind | None) -> Iterator[int]:
    for recipe in schedule.recipes:
        if recipe.model == model:
            obtain_row(trial, recipe)
            yield 1
    if trial.seed == trial.config.seeds[0]:
        for recipe in (recipe for recipe in schedule.attacked if recipe.model == model):
            trial.obtain(AttackedRelease, recipe, attack)
        for recipe in (recipe for recipe in schedule.audited if recipe.model == model):
            trial.obtain(AuditVerdict, recipe, judge)


def _make_aside(trial: Trial, schedule: Schedule, model: ModelKind | None) -> int:
    return sum(_make(trial, schedule, model))


def in_processes(jobs: Sequence[Callable[[], int]], *, processes: int) -> Iterator[int]:
    """Run jobs in several processes; yield each job's result as soon as the job ends."""
    threads, others = max(1, torch.get_num_threads() // processes), multiprocessing.active_children()
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, spawn, initializer=_begin_process, initargs=(threads,)) as pool:
        try:
            asked = [pool.submit(job) for job in jobs]
            pool.submit(int)  # a pool watches a new process from the next job on that it is given
            yield from (done.result() for done in as_completed(asked))
        except BaseException as error:
            for worker in set(multiprocessing.active_children()) - set(others):
                worker.kill()  # training would go on after a SIGTERM, for Lightning handles it
            if isinstance(error, BrokenProcessPool):
                raise DataError(
                    "a process was killed, perhaps for lack of memory: run the same command with processes=1"
                ) from None
            raise


def _begin_process(threads: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)


def _end_with_parent() -> None:
    """Wait for the end of the parent process, and then end this process."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)
