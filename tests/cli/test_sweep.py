"""`-m` runs a command once for each combination of values: a grid, numbered directories, one table; a release never."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any, NoReturn

import hydra
import pytest
from tiny import TINY_MODEL, Run

from adept.cli import audit, evaluate, overrides, process, sweep, train
from adept.errors import ConfigurationError
from adept.models import training

TINY = [
    "data.sizes=[200,40,40]",
    "trainer.max_epochs=1",
    *(f"model.{name}={value}" for name, value in TINY_MODEL.items()),
]


def table(directory: Path) -> list[dict[str, str]]:
    """The rows of a sweep's table."""
    with (directory / sweep.TABLE).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def measured(command: str, directory: Path) -> set[str]:
    """The names of all numbers that a run measured."""
    with pytest.raises(ConfigurationError, match="objective must be one of") as told:
        sweep.read_score(command, directory, "nonsense")
    return set(str(told.value).removeprefix("objective must be one of ").removesuffix(", got nonsense").split(", "))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two files of labelled texts, `a.jsonl` and `b.jsonl`."""
    rows = [{"text": f"{noun} {i}", "intent": noun} for i in range(12) for noun in ("play", "stop")]
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0,1", ["0", "1"]),
        ("0, 1", ["0", "1"]),
        ("choice(a,b)", ["a", "b"]),
        ("range(1,4)", ["1", "2", "3"]),
        ("range(3)", ["0", "1", "2"]),
        ("range(0,1,0.25)", ["0", "0.25", "0.5", "0.75"]),
        ("range(3,0,-1)", ["3", "2", "1"]),
        ("[a,b],[c]", ["[a,b]", "[c]"]),
        ("'a,b',c", ["'a,b'", "c"]),
        ("'a,b'", ["'a,b'"]),
        ("user's id,don't", ["user's id", "don't"]),
        ("${x}", ["${x}"]),
        ("a[,b", ["a[,b"]),
        (" a b ", [" a b "]),
        ("", [""]),
    ],
)
def test_values_are_listed_as_in_hydra_and_quotes_keep_a_comma(text: str, values: list[str]) -> None:
    runs = list(sweep.expand("train", [f"text_column={text}"]))
    assert [run[0] for run in runs] == [[f"text_column={value}"] for value in values]


def test_files_in_conf_are_composed_once_for_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    composed, compose = list[str](), hydra.compose

    def counted(name: str, *given: Any, **options: Any) -> object:
        composed.append(name)
        return compose(name, *given, **options)

    monkeypatch.setattr(hydra, "compose", counted)
    overrides._compose_ours.cache_clear()
    assert len(sweep.plan("train", ["-m", "seed=range(5)", "experiment=atis_l1"])[1]) == 5
    assert composed == ["train"]


def test_a_pattern_names_the_files_of_a_group() -> None:
    runs = [run for run, _ in sweep.expand("train", ["data=glob([a*,s*])"])]
    assert runs == [["data=air_travel"], ["data=atis"], ["data=snips"]]
    with pytest.raises(ConfigurationError, match="data must fit a file in conf/data, got exclude=atis, x:"):
        list(sweep.expand("train", ["data=glob(a*,exclude=atis,x)"]))


def test_the_last_option_varies_fastest_and_only_what_varies_is_in_the_table() -> None:
    runs = list(sweep.expand("train", ["seed=0,1", "labels=drop", "model.latent_dim=8,16"]))
    assert [chosen for _, chosen in runs] == [
        {"seed": seed, "model.latent_dim": dim} for seed in "01" for dim in ("8", "16")
    ]


@pytest.mark.parametrize(
    "text", ["range(0)", "range(1,2,0)", "range(a)", "range(1,1e9)", "range(1,2,3,4)", "range(inf)"]
)
def test_an_impossible_range_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"seed must be range\(start,stop,step\)"):
        list(sweep.expand("train", [f"seed={text}"]))


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a finished sweep over three mechanisms, of which two share one training."""
    return tmp_path_factory.mktemp("sweep") / "runs"


def test_mechanisms_that_differ_in_the_release_alone_are_trained_once(
    adept_here: Run, swept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ["train", "-m", "mechanism=original,l1,sqrt_n", *TINY, f"sweep_dir={swept}"]
    done = adept_here(*line)
    assert done.returncode == 0, done.stderr
    rows = table(swept)
    assert [row["mechanism"] for row in rows] == ["original", "l1", "sqrt_n"]
    losses = [float(row["validation_loss"]) for row in rows]
    assert losses[0] == losses[2] != losses[1]
    assert [row["note"] for row in rows] == ["", "", "the same training as run 0"]
    assert "run 2 (mechanism=sqrt_n): the same training as run 0" in done.stderr
    assert all((swept / f"{number}" / "model" / "config.json").is_file() for number in range(3))
    assert "validation_loss" in done.stdout

    with monkeypatch.context() as patch:
        patch.setattr(train, "main", _fail)  # the repeated command trains nothing
        again = adept_here(*line)
    assert (again.returncode, table(swept)) == (0, rows)
    other = adept_here("train", "-m", "mechanism=original,l1", *TINY, f"sweep_dir={swept}")
    assert (other.returncode, "holds another sweep" in other.stderr) == (2, True)
    exchanged = adept_here("train", "-m", "mechanism=sqrt_n,l1,original", *TINY, f"sweep_dir={swept}")
    assert (exchanged.returncode, "holds another sweep" in exchanged.stderr) == (2, True)
    assert measured("train", swept / "0") == set(sweep.MEASURED["train"])
    assert adept_here(*line, "objective=vocabulary_size").returncode == 0
    assert len({row["vocabulary_size"] for row in table(swept)}) == 1


def _fail(*_: object, **__: object) -> NoReturn:
    raise AssertionError


def test_with_noise_in_training_mechanisms_of_one_clip_are_trained_apart() -> None:
    options, runs = sweep.plan("train", ["-m", "mechanism=original,sqrt_n", "training.epsilon=8"])
    assert [run.same_as for run in runs] == [None, None]
    assert options.sweep_dir
    _, runs = sweep.plan("train", ["-m", "mechanism=sqrt_n,learned_codebook,original"])
    assert [run.same_as for run in runs] == [None, None, 0]  # topics are another content


@pytest.mark.parametrize("option", ["trainer.limit_val_batches=0", "trainer.check_val_every_n_epoch=2"])
def test_a_run_without_validation_leaves_the_objective_empty(adept_here: Run, tmp_path: Path, option: str) -> None:
    done = adept_here("train", "-m", "mechanism=l1", "seed=0,1", *TINY, option, f"sweep_dir={tmp_path}/s")
    assert done.returncode == 0, done.stderr
    found = [(row["validation_loss"], row["note"]) for row in table(tmp_path / "s")]
    assert found == 2 * [("", "no validation_loss was measured")]
    assert "objective" not in done.stderr


def test_a_failed_run_is_named_and_the_others_are_finished(adept_here: Run, files: Path) -> None:
    line = [
        "evaluate",
        "-m",
        f"train={files}/gone.jsonl,{files}/a.jsonl",
        f"test={files}/b.jsonl",
        f"sweep_dir={files}/s",
    ]
    done = adept_here(*line)
    assert done.returncode == 2
    assert f"adept: run 0 (train={files}/gone.jsonl) failed: cannot read" in done.stderr
    assert [bool(row["accuracy"]) for row in table(files / "s")] == [False, True]
    assert table(files / "s")[0]["note"].startswith("failed: ")
    shutil.copy(files / "a.jsonl", files / "gone.jsonl")
    again = adept_here(*line)
    assert (again.returncode, "run 1" in again.stderr) == (0, True), again.stderr
    assert [float(row["accuracy"]) for row in table(files / "s")] == [1.0, 1.0]
    assert measured("evaluate", files / "s" / "1") == set(sweep.MEASURED["evaluate"])


def test_an_interrupted_sweep_ends_with_130_and_is_continued(
    adept_here: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ["evaluate", "-m", f"train={files}/a.jsonl", f"test={files}/b.jsonl", "seed=0,1", f"sweep_dir={files}/s"]
    whole, ran = evaluate.main, list[int]()

    def stop(config: Any) -> None:
        if config.seed == 1 and not ran:
            ran.append(config.seed)
            raise KeyboardInterrupt
        whole(config)

    monkeypatch.setattr(evaluate, "main", stop)
    done = adept_here(*line)
    assert done.returncode == 130
    assert f"the same command continues the sweep in {files}/s" in done.stderr
    again = adept_here(*line)
    assert again.returncode == 0
    assert "run 0 (seed=0): finished before" in again.stderr
    assert len(table(files / "s")) == 2


def test_an_interrupted_training_goes_on_where_it_was(
    adept_here: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    line = ["train", "-m", "mechanism=sqrt_n", *TINY, f"sweep_dir={tmp_path}/s"]
    with monkeypatch.context() as patch:
        patch.setattr(training, "learn_codes", stop)  # after the last epoch
        assert adept_here(*line).returncode == 130
    before = (tmp_path / "s/0/checkpoints/last.ckpt").read_bytes()
    done = adept_here(*line)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "s/0/checkpoints/last.ckpt").read_bytes() == before


def test_a_training_that_diverged_says_so_also_if_the_sweep_is_repeated(adept_here: Run, tmp_path: Path) -> None:
    line = ["train", "-m", "mechanism=l1", "training.learning_rate=1e30", *TINY, f"sweep_dir={tmp_path}/s"]
    for _ in range(2):
        assert adept_here(*line).returncode == 2
        assert table(tmp_path / "s")[0]["note"].startswith("failed: training diverged (loss ")
    alone = adept_here("train", f"resume_from={tmp_path}/s/0", "trainer.max_epochs=2")
    assert (alone.returncode, "training diverged: begin a new run" in alone.stderr) == (2, True), alone.stderr


def test_a_run_with_a_damaged_checkpoint_begins_anew_in_its_sweep(
    adept_here: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ["train", "-m", "mechanism=l1", *TINY, f"sweep_dir={tmp_path}/s"]
    with monkeypatch.context() as patch:
        patch.setattr(train, "reconstruction", _fail)  # after the last epoch
        assert adept_here(*line).returncode == process.INTERNAL_ERROR
    (tmp_path / "s/0/checkpoints/last.ckpt").write_bytes(b"damage")
    (tmp_path / "s/0/checkpoints/mine.txt").write_text("mine")
    done = adept_here(*line)
    assert (done.returncode, table(tmp_path / "s")[0]["note"]) == (0, ""), done.stderr
    (aside,) = tmp_path.glob("s/0.before-*")
    assert f"run 0 begins anew; what was in {tmp_path}/s/0 is in {aside}\n" in done.stderr
    assert (aside / "checkpoints" / "mine.txt").read_text() == "mine"


def test_files_in_the_directory_of_a_run_that_wrote_nothing_are_kept(adept_here: Run, files: Path) -> None:
    line = ["evaluate", "-m", f"train={files}/a.jsonl", f"test={files}/b.jsonl", f"sweep_dir={files}/s"]
    assert adept_here(*line, "text_column=text").returncode == 0
    (files / "s/0/result.json").unlink()
    (files / "s/0/output.txt").write_text("mine")
    done = adept_here(*line, "text_column=text")
    (aside,) = files.glob("s/0.before-*")
    assert (done.returncode, (aside / "output.txt").read_text()) == (0, "mine"), done.stderr
    assert (files / "s/0/result.json").is_file()
    (files / "s/0/result.json").unlink()
    (files / "s/0/output.txt").unlink()
    again = adept_here(*line, "text_column=text")
    assert (again.returncode, "begins anew" in again.stderr) == (0, False), again.stderr


@pytest.mark.parametrize(("mechanism", "status"), [("original,l1", 1), ("l1,sqrt_n", 0), ("original,dptext", 2)])
def test_the_status_tells_a_violation_but_first_of_all_a_failure(
    adept_here: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mechanism: str, status: int
) -> None:
    def judge(config: Any) -> int:
        if config.mechanism.kind.name == "dptext":
            raise ConfigurationError("no judgement")
        Path(config.output_dir).mkdir()
        violated = config.mechanism.kind.name == "original"
        (Path(config.output_dir) / "result.json").write_text(
            json.dumps({"violated": violated, "certified_epsilon": 3.99999})
        )
        return int(violated)

    monkeypatch.setattr(audit, "main", judge)
    swept = adept_here("audit", "-m", "epsilon=4", f"mechanism={mechanism}", f"sweep_dir={tmp_path}/s")
    assert swept.returncode == status
    assert "3.999" in swept.stdout  # a lower bound is rounded down


@pytest.mark.slow
def test_audits_are_swept_also_of_a_mechanism_from_elsewhere(adept_here: Run, tmp_path: Path) -> None:
    line = ["audit", "-m", "epsilon=4", "dim=16", "trials=1000"]
    found = adept_here(*line, "mechanism=original,l1", f"sweep_dir={tmp_path}/a")
    assert found.returncode == 1, found.stderr
    assert [row["note"] for row in table(tmp_path / "a")] == ["violation found", ""]
    assert measured("audit", tmp_path / "a" / "0") == set(sweep.MEASURED["audit"])
    both = adept_here(*line, "mechanism=original,nowhere:Thing", f"sweep_dir={tmp_path}/b")
    assert both.returncode == 2
    assert [row["note"].split(":")[0] for row in table(tmp_path / "b")] == ["violation found", "failed"]
    again = adept_here(*line, "mechanism=original,l1", f"sweep_dir={tmp_path}/a")
    assert again.returncode == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("rewrite -m input=a output=b epsilon=1,2", "rewrite takes no -m: each run is a release, and the epsilons"),
        ("synthesize --multirun input=a output=b epsilon=1,2", "synthesize takes no -m: each run is a release"),
        ("attack -m epsilon=1,2", "attack takes no -m: only train, evaluate, compare, audit"),
        ("train -m seed=0,1 objective=validation", "objective must be one of epoch, epochs, latent_dim"),
        ("audit -m mechanism=l1 epsilon=1,2 objective=accuracy", "objective must be one of certified_epsilon"),
        ("train -m seed=0,1 objective=train_loss logger=none", "objective must not be train_loss with logger=none"),
        (
            "train -m logger=csv,none objective=step",
            "objective must not be step with logger=none, which writes no metr",
        ),
        ("train -m seed=0,1 output_dir=x", "output_dir must be left out with -m"),
        ("train -m seed=0,1 resume_from=x", "resume_from must be left out with -m"),
        ("train -m seed=0,1 --cfg job", "leave -m out"),
        ("train -m sede=0,1", "train has no option sede: did you mean seed?"),
        ("train -m seed=0,1 seed=2", "seed must be given once"),
        ("train -m seed=0,x", "seed must be a whole number, got x"),
        ("train -m mechanism=l1,l3", "mechanism must be one of"),
        ("train -m mechanism=glob(z*)", "mechanism must fit a file in conf/mechanism"),
        ("train -m mechanism=l1 model.latent_dim=16,-1", "model.latent_dim must be an integer between 1"),
        ("train -m seed=range(0,9000) model.latent_dim=1,2", "at most 10,000 runs, got 18,000"),
        ("train -m seed=0,1 sweep_dir=x/${seed}", "sweep_dir must be written out, got x/${seed}"),
        ("train -m seed=0,1 sweep_dir=", "sweep_dir must have one value, got none"),
        ("train seed=0,1 output_dir=x", "to run once for each value, add -m"),
        ("train mechanism=l1,sqrt_n output_dir=x", "to run once for each value, add -m"),
        ("train training.learning_rate=0.1,0.2 output_dir=x", "to run once for each value, add -m"),
        ("train model.encoder=lstm,topics output_dir=x", "to run once for each value, add -m"),
        ("train logger=csv,tensorboard output_dir=x", "for several at once, write logger=[A,B]; to run once"),
        ("audit mechanism=l1 epsilon=1,2", "to run once for each value, add -m"),
        ("train sweep_dir=x output_dir=x", "train has no option sweep_dir"),
    ],
)
def test_a_mistake_is_one_line_before_anything_runs(
    adept_here: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = adept_here(*line.split())
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_release_with_a_list_is_not_told_to_sweep(adept_here: Run, tmp_path: Path) -> None:
    done = adept_here("rewrite", "input=a", f"output={tmp_path}/b", "epsilon=1,2,3")
    assert (done.returncode, "-m" in done.stderr) == (2, False)


def test_a_directory_of_something_else_is_refused_and_left(adept_here: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    done = adept_here("train", "-m", "seed=0,1", f"sweep_dir={tmp_path}")
    assert (done.returncode, "holds no sweep" in done.stderr) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.slow
def test_comparisons_are_swept_too(adept_here: Run, tmp_path: Path) -> None:
    done = adept_here(
        "compare", "-m", "mechanisms=[original],[l1]", "epsilons=[8]", "seeds=[0]", *TINY, f"sweep_dir={tmp_path}/s"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [0 <= float(row["accuracy"]) <= 1 for row in table(tmp_path / "s")] == [True, True]
    assert (tmp_path / "s/1/report.html").is_file()
    assert measured("compare", tmp_path / "s" / "1") == set(sweep.MEASURED["compare"])
