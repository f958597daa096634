"""``mechanism=MODULE:ATTRIBUTE``: trained, released, swept and compared, and named by the user's own command line alone."""

import csv
import json
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from tiny import Run

from adept.release.ledger.claims import Ledger
from adept.rewriting.unproved import NOT_CHECKED, import_kind

CODE = """
from pathlib import Path

import numpy as np

with Path(__file__).with_name("imports.txt").open("a") as log:
    log.write("imported\\n")


class Mine:
    clip, delta = "l1", 1e-9

    def __init__(self, epsilon):
        self.epsilon = epsilon

    def privatize(self, latents):
        return latents + np.random.default_rng().laplace(scale=2 / self.epsilon, size=latents.shape)
"""
NAME = "mechanism=mine_63:Mine"
TINY = ("model.hidden_dim=16", "model.embedding_dim=8", "model.latent_dim=8", "trainer.max_epochs=1")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current directory, with a mechanism that notes each import of its module."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_63.py").write_text(CODE)
    (tmp_path / "in.txt").write_text("show me flights to boston\nwhat is the fare\n")
    yield tmp_path
    sys.modules.pop("mine_63", None)
    import_kind.cache_clear()


def is_imported(here: Path) -> bool:
    return (here / "imports.txt").exists()


def forget(here: Path) -> None:
    sys.modules.pop("mine_63", None)
    import_kind.cache_clear()
    (here / "imports.txt").unlink(missing_ok=True)


def test_it_is_trained_for_and_released_by_and_every_answer_says_not_checked(
    adept_here: Run, here: Path, tiny_l1_run: Path
) -> None:
    done = adept_here("train", NAME, "data.sizes=[40,10,10]", *TINY, "output_dir=own")
    assert done.returncode == 0, done.stderr
    assert "for mechanism=mine_63:Mine on 40 records" in done.stdout
    assert json.loads(Path("own/result.json").read_text())["clip"] == "l1"
    rewrite = ["rewrite", "input=in.txt", f"model_dir={tiny_l1_run}", NAME, "epsilon=4"]
    done = adept_here(*rewrite, "output=out.txt")
    assert (done.returncode, done.stderr.count("\n"), Path("out.txt").exists()) == (2, 1, False)
    assert NOT_CHECKED in done.stderr
    assert "accept_unproved=true" in done.stderr
    for option in ("accept_broken_claim=true", "accept_inexact=true"):
        assert adept_here(*rewrite, "output=out.txt", option).returncode == 2
    done = adept_here(*rewrite, "output=out.txt", "accept_unproved=true", "card=true", "report=true")
    assert done.returncode == 0, done.stderr
    assert f"guaranteed: nothing; epsilon 4 is {NOT_CHECKED}" in done.stdout
    assert "nobody checked the claim of mine_63:Mine" in done.stderr
    said = json.loads(Path("out.txt.privacy.json").read_text())
    assert (said["mechanism"], said["holds"], said["epsilon"], said["claimed_epsilon"]) == (
        "mine_63:Mine",
        None,
        "inf",
        4,
    )
    assert said["unproved"]["delta"] == 1e-9
    assert "tags: [synthetic]" in Path("out.txt.card.md").read_text()
    page = Path("out.txt.report.html").read_text()
    assert "Nothing is proved" in page
    assert "the claim of the mechanism, which nobody checked" in page
    assert "which is false" not in page
    done = adept_here("verify", "out.txt.privacy.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "not checked" in done.stderr
    assert "imply" not in done.stderr


def test_a_ledger_sums_it_apart_and_a_limit_refuses_it(adept_here: Run, here: Path, tiny_l1_run: Path) -> None:
    rewrite = ["rewrite", "input=in.txt", f"model_dir={tiny_l1_run}", "epsilon=4", "ledger=l.db", "again=true"]
    own = [NAME, "accept_unproved=true"]
    done = adept_here(*rewrite, *own, "output=refused.txt", "ledger_limit=100")
    assert done.returncode == 2
    assert "nobody checked the claim of a mechanism (that of this release)" in done.stderr
    assert not Path("refused.txt").exists()
    assert adept_here(*rewrite, "mechanism=l1", "output=0.txt").returncode == 0
    for number in (1, 2):
        assert adept_here(*rewrite, *own, f"output={number}.txt").returncode == 0
    done = adept_here("ledger", "l.db")
    assert "4, delta 0, in all proved releases together" in done.stdout
    assert "8 for one record, in no other sum: the authors' own claims" in done.stdout
    assert "4 (not checked)" in done.stdout
    with closing(Ledger("l.db")) as ledger:
        assert (ledger.sum().epsilon, ledger.sum().unproved) == (4, 8)
        assert [entry.unproved for entry in ledger.entries()] == [None, 4, 4]
    done = adept_here(*rewrite, "mechanism=l1", "output=3.txt", "ledger_limit=100")
    assert done.returncode == 2
    assert "that of an earlier release, 1.txt" in done.stderr
    done = adept_here(*rewrite, "mechanism=l1", "output=3.txt", "ledger_limit=100", "dry_run=true")
    assert "the ledger would refuse this release" in done.stderr
    done = adept_here(*rewrite[:-1], *own, "output=3.txt")
    assert "this release adds a claim that nobody checked: leave them out" in done.stderr


def test_an_interrupted_release_goes_on_with_the_same_code_alone(
    adept_here: Run, here: Path, tiny_l1_run: Path
) -> None:
    rewrite = ["rewrite", "input=in.txt", f"model_dir={tiny_l1_run}", NAME, "epsilon=4", "accept_unproved=true"]
    assert adept_here(*rewrite, "output=out.txt").returncode == 0
    assert adept_here(*rewrite, "output=out.txt", "resume=true").returncode == 0
    forget(here)
    Path("mine_63.py").write_text(CODE + "\n# changed\n")
    done = adept_here(*rewrite, "output=out.txt", "resume=true")
    assert done.returncode == 2
    assert "other options" in done.stderr
    assert "unproved was" in done.stderr


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("shuffle=true", "no bound for shuffling it is proved"),
        ("engine=ray", "engine must be local for mechanism=mine_63:Mine"),
        ("mechanism.delta=1", "has no option mechanism.delta"),
    ],
)
def test_what_needs_a_proof_is_refused(
    adept_here: Run, here: Path, tiny_l1_run: Path, option: str, message: str
) -> None:
    common = ["rewrite", "input=in.txt", "output=out.txt", f"model_dir={tiny_l1_run}", NAME, "epsilon=4"]
    done = adept_here(*common, "accept_unproved=true", option)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert message in done.stderr


def test_no_file_of_a_run_names_it(adept_here: Run, here: Path) -> None:
    """Neither a run that is resumed nor its saved configuration imports the code again by itself."""
    train = ["train", "data.sizes=[40,10,10]", *TINY]
    assert adept_here(*train, NAME, "output_dir=own").returncode == 0
    assert is_imported(here)
    saved = ["train", "--config-dir", "own", "--config-name", "config", "output_dir=again"]
    for command in (["train", "resume_from=own", "trainer.max_epochs=2"], saved):
        forget(here)
        done = adept_here(*command)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert "mechanism must be given" in done.stderr
        assert not is_imported(here)
        assert adept_here(*command, NAME).returncode == 0


@pytest.mark.parametrize(
    ("command", "content"),
    [
        ("train", {"mechanism": "mine_63:Mine"}),
        ("train", {"in_defaults": "mine_63:Mine"}),
        ("train", {"foreign": "mine_63:Mine"}),
        ("compare", {"mechanisms": ["l1", "mine_63:Mine"]}),
        ("audit", {"foreign": "mine_63:Mine"}),
        ("audit", {"mechanism": "mine_63:Mine"}),
    ],
)
def test_no_yaml_file_names_it(adept_here: Run, here: Path, command: str, content: dict[str, object]) -> None:
    defaults = [f"schema_{command}", {"data": "air_travel"}] if command != "audit" else [f"schema_{command}"]
    content = dict(content)
    defaults += [{"mechanism": content.pop("in_defaults", None)}] if command != "compare" else []
    text = yaml.safe_dump({"defaults": [*defaults, "_self_"]} | content)
    Path("file.yaml").write_text(text)
    given = ("epsilon=1", "trials=200") if command == "audit" else ("output_dir=out",)
    done = adept_here(command, "--config-dir", ".", "--config-name", "file", *given)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert not is_imported(here)


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "mechanism=@names.txt", "output_dir=out"],
        ["train", "mechanism=@mine_63:Mine", "output_dir=out"],
        ["compare", "mechanisms=@names.txt", "output_dir=out"],
        ["compare", "mechanisms=[@mine_63:Mine]", "output_dir=out"],
        ["attack", NAME, "model_dir=MODEL", "output_dir=out"],
        ["synthesize", NAME, "input=in.txt", "output=out.txt", "epsilon=1"],
        ["rewrite", "foreign=mine_63:Mine", "input=in.txt", "output=out.txt", "epsilon=1"],
        ["rewrite", "model_dir=mine_63:Mine", "input=in.txt", "output=out.txt", "epsilon=1"],
        ["verify", "statement.json"],
    ],
)
def test_no_other_option_names_it(adept_here: Run, here: Path, arguments: list[str]) -> None:
    specimens = Path(__file__).parents[1] / "specimens"
    said = json.loads((specimens / "local-3.privacy.json").read_text())
    Path("statement.json").write_text(json.dumps(said | {"mechanism": "mine_63:Mine"}))
    Path("names.txt").write_text("mine_63:Mine\n")
    done = adept_here(*arguments)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert not is_imported(here)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mine_63:np", "mechanism mine_63:np must have a method privatize, got none: add it"),
        ("mine_63:Nothing", "must be MODULE:ATTRIBUTE that can be imported"),
        ("mine_63:", "must be a name or MODULE:ATTRIBUTE, got mine_63:"),
    ],
)
def test_a_line_says_what_is_wrong_with_a_name(adept_here: Run, here: Path, name: str, message: str) -> None:
    done = adept_here("train", f"mechanism={name}", "output_dir=out")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert message in done.stderr


@pytest.mark.parametrize(
    ("code", "options", "message"),
    [
        ("def __init__(self, epsilon, more):\n        self.epsilon = epsilon", [], "must take epsilon, and nothing else that is"),
        ("def simulate(self, latents):\n        return latents", ["training.epsilon=8"], "adept: mine_63:Mine failed (TypeError: "),
    ],
)  # fmt: skip
def test_a_class_that_does_not_fit_is_one_line_before_anything_is_trained(
    adept_here: Run, here: Path, code: str, options: list[str], message: str
) -> None:
    (here / "mine_63.py").write_text(f"{CODE}\n    {code}\n")
    done = adept_here("train", NAME, *TINY, *options, "data.sizes=[100,20,20]", "output_dir=run")
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (here / "run").exists()


def test_noise_in_training_needs_a_method_of_its_own(adept_here: Run, here: Path) -> None:
    done = adept_here("train", NAME, "training.epsilon=4", "output_dir=out")
    assert "training.epsilon must be null for mine_63:Mine, which has no method simulate" in done.stderr
    added = "\n    def simulate(self, latents, generator):\n        return latents + 0.1\n"
    forget(here)
    Path("mine_63.py").write_text(CODE + added)
    done = adept_here("train", NAME, "training.epsilon=4", "data.sizes=[40,10,10]", *TINY, "output_dir=out")
    assert done.returncode == 0, done.stderr


def test_a_sweep_trains_it_together_with_a_mechanism_of_the_same_clip(adept_here: Run, here: Path) -> None:
    done = adept_here("train", "-m", f"{NAME},l1", "data.sizes=[40,10,10]", *TINY, "sweep_dir=s")
    assert done.returncode == 0, done.stderr
    assert "the same training as run 0" in done.stdout


@pytest.mark.slow
def test_a_comparison_shows_it_and_recommends_it_never(adept_here: Run, here: Path) -> None:
    """The mechanism adds no noise to speak of, and would win by far if its claim counted."""
    Path("mine_63.py").write_text(CODE.replace("2 / self.epsilon", "1e-6"))
    compare = ["compare", "mechanisms=[l1,mine_63:Mine]", "epsilons=[2]", "seeds=[0]", "data.sizes=[300,40,40]", *TINY]
    compare.append("classifiers=[tfidf]")
    done = adept_here(*compare, "output_dir=c")
    assert done.returncode == 0, done.stderr
    assert "mine_63:Mine (claim not checked)" in done.stdout
    with Path("c/results.csv").open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["mechanism"] == "mine_63:Mine"]
    assert [(row["epsilon"], row["holds"], row["claimed_epsilon"]) for row in rows] == [("inf", "", "2.0")]
    page = Path("c/report.html").read_text()
    assert "What to use: nothing of this. Even l1" in page or "What to use: l1" in page
    forget(here)
    Path("mine_63.py").write_text(CODE)
    assert adept_here(*compare, "output_dir=c").returncode == 0
    assert len(list(Path("c/rows").glob("mine_63*"))) == 2, "rows of code that has changed are computed again"
