"""README and docs say what is there: every command composes or runs, every option, link, number and line of Python is right."""

import json
import math
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import fields
from functools import cache, partial
from html import unescape
from pathlib import Path

import pytest
import torch
from audit.asking import make_cheap
from hydra.core.global_hydra import GlobalHydra
from notebooks import NOTEBOOKS, command_lines, read
from tiny import Run, tiny_config

from adept.__main__ import COMMANDS
from adept.cli import sweep, train
from adept.cli.help import OWN_FLAGS, check_options, config_directory, configuration, help_text, write_out
from adept.cli.overrides import configure
from adept.data.corpus import DataConfig, load
from adept.errors import AdeptError
from adept.lightning import AdeptModule
from adept.mechanisms import BY_NAME, LearnedCodebook
from adept.mechanisms.base import MechanismChoice
from adept.mechanisms.guarantee import good_enough
from adept.models.config import ModelConfig
from adept.models.sentences.meanings import words_of
from adept.models.tokenizer import Tokenizer
from adept.models.training import quiet_lightning
from adept.rewriting.loading import load_model

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *(page for folder in ("docs", "docs/tutorials") for page in sorted((ROOT / folder).glob("*.md"))),
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
OPTION = re.compile(r"[a-z_]+(\.[a-z_0-9]+)*=\S+")
SMALL = [
    "data.sizes=[300,60,60]",
    "model.hidden_dim=32",
    "model.embedding_dim=16",
    "trainer.max_epochs=1",
]


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    return [text for kind, text in BLOCK.findall(page.read_text("utf-8")) if kind == language]


def lines(page: Path) -> list[str]:
    """Return the command lines of a page's blocks, without comments; a backslash joins a line to the next."""
    joined = [re.sub(r" *\\\n *", " ", text) for text in blocks(page, "sh")]
    found = [line.split("  #")[0].split("   #")[0].strip() for text in joined for line in text.splitlines()]
    return [line for line in found if line and not line.startswith("#")]


def spans(page: Path) -> list[str]:
    """The inline code of a page."""
    return SPAN.findall(BLOCK.sub("", page.read_text("utf-8")))


def stages(line: str) -> list[list[str]]:
    """The commands of a pipeline, as words."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|>")
    lexer.whitespace_split = True
    found: list[list[str]] = [[]]
    for word in lexer:
        if word == "|":
            found.append([])
        else:
            found[-1].append(word)
    return [words[: words.index(">")] if ">" in words else words for words in found]


def commands() -> list[tuple[Path, str]]:
    """Every command line, of blocks, of inline code and of notebooks, and those with which the YAML files begin."""
    yaml = [
        (path, line[2:].split("   (")[0].strip())
        for path in sorted(config_directory().rglob("*.yaml"))
        for line in path.read_text("utf-8").splitlines()
        if line.startswith("# adept ")
    ]
    inline = [(page, span) for page in PAGES for span in spans(page) if re.match(r"(adept|make|pip|python) ", span)]
    notebooks = [(path, line) for path in NOTEBOOKS for line in command_lines(read(path))]
    return [(page, line) for page in PAGES for line in lines(page)] + inline + yaml + notebooks


def compose_line(words: list[str]) -> object:
    """Compose a command's configuration, exactly as the command line does: what must be given must be there."""
    command = words[1]
    GlobalHydra.instance().clear()
    words = [word for word in words if word not in (*OWN_FLAGS, "runs/mine", "config")]  # files of a run
    if sweep.FLAGS & set(words):
        return sweep.plan(command, words[2:])
    arguments = write_out(command, words[2:])
    check_options(command, arguments)
    return configure(command, arguments)


def check(words: list[str]) -> None:
    """Check one command of a pipeline."""
    match words:
        case ["adept", "COMMAND" | "--version", *_] | ["cat" | "head", *_]:
            pass
        case ["adept", command] if command in COMMANDS:
            pass  # the command's name in a sentence
        case ["adept", command, *arguments] if "--help" in arguments:
            assert help_text(command, COMMANDS[command], arguments)
        case ["adept", *_]:
            assert words[1] in COMMANDS, words
            compose_line(words)
        case ["make", target]:
            assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE), target
        case ["pip", "install", "."]:
            assert (ROOT / "pyproject.toml").exists()
        case ["pip", "install", extra] if extra.startswith(".["):
            declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
            assert extra[2:-1] in declared["project"]["optional-dependencies"], extra
        case ["ssh-keygen" | "minisign", *_]:
            pass  # run below, if it is installed
        case ["python", "-m", "adept"]:
            pass
        case ["python", script, *_]:
            assert (ROOT / script).exists(), script
        case _:
            raise AssertionError(f"no check is known for {words}")


@pytest.mark.parametrize(
    ("page", "line"), commands(), ids=lambda value: value.name if isinstance(value, Path) else value
)
def test_every_command_line_composes(page: Path, line: str) -> None:
    assert line, page
    for words in stages(line):
        check(words)


@pytest.mark.parametrize(
    "line",
    [
        "adept train data=nonsense output_dir=d",
        "adept rewrite model_dir=d input=a output=b epsilon=8 label=drop",
        "adept rewrite model_dir=d input=a epsilon=8",
        "adept compare mechanisms=[l3] output_dir=d",
        "adept nonsense",
        "make nonsense",
        "rm nonsense",
    ],
)
def test_a_wrong_command_line_would_be_seen(line: str) -> None:
    with pytest.raises((AssertionError, AdeptError)):
        check(stages(line)[0])


@cache
def composes_somewhere(*options: str) -> bool:
    """Return True if some command knows these options."""
    if all(option.split("=")[0] in sweep.OWN for option in options):
        return True  # they stand beside -m
    for command in sorted(COMMANDS, key=("rewrite", "train", "compare", "study").__contains__, reverse=True):
        schema = configuration(command)
        known = {field.name for field in fields(schema)} | {"experiment"}
        if not {re.split(r"[.=]", option)[0] for option in options} <= known:
            continue  # composing would say the same, and takes long
        given = ("model_dir", "input", "output", "train", "test", "output_dir", "statement")
        required = [f"{key}=x" for key in given if key in schema.__dataclass_fields__ and command != "audit"]
        required += ["examples=x"] * (command == "adapt")
        drops = {"excess=drop", "over_limit=drop"}
        required += ["person_column=x", "max_records_per_person=5"] * bool(drops & set(options))
        words = {word.partition("=")[0]: word for word in (*required, *options)}
        try:
            compose_line(["adept", command, *words.values()])
        except AdeptError:
            continue
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_option_named_in_passing_is_one_that_a_command_knows(page: Path) -> None:
    named = [span.split() for span in spans(page) if all(OPTION.fullmatch(word) for word in span.split())]
    unknown = [options for options in named if not composes_somewhere(*options)]
    assert unknown == [] or page.name == "decisions.md"  # which says why options are gone


def test_an_option_that_no_command_knows_would_be_seen() -> None:
    assert not composes_somewhere("lables=drop")
    assert not composes_somewhere("training.content.kind=nonsense")


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the files that the pages name."""
    verbs = ("show", "list", "what are", "is there")
    rows = [
        {"text": text, "utterance": text, "topic": noun, "intent": noun, "user": f"user {place}", "time": "noon"}
        for place in range(20)
        for noun in ("flight", "airfare", "airline")
        for text in [f"{verbs[place % 4]} the {noun} to city {place % 7}"]
    ]
    for name in ("in.jsonl", "utterances.jsonl", "test.jsonl", "train.jsonl", "validation.jsonl"):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    table = "".join(f"{row['text']},{row['intent']}\n" for row in rows)
    for name in ("examples.csv", "heldout.csv", "in.csv"):
        (tmp_path / name).write_text(f"text,intent\n{table}", "utf-8")
    for name in ("tickets.csv", "new.csv", "august.csv"):
        shutil.copy(ROOT / "examples" / name, tmp_path)
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "utterances.txt", tmp_path / "examples")
    (tmp_path / "utterances.txt").write_text("which airlines fly to lisbon\nwhat does fare code q mean\n", "utf-8")
    (tmp_path / "examples.txt").write_text("".join(f"my {row['text']}\n" for row in rows[:30]), "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained model with codebooks: what the pages call DIR, or have trained before."""
    config = tiny_config(tmp_path_factory.mktemp("given") / "run", epochs=1)
    config.mechanism, config.training.content.kind = MechanismChoice(LearnedCodebook), "words"
    train.run(config)
    return Path(config.output_dir or "")


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        pytest.param("docs/recipes.md", marks=pytest.mark.slow),
        pytest.param("docs/operation.md", marks=pytest.mark.slow),
        pytest.param("docs/training.md", marks=pytest.mark.slow),
        pytest.param("docs/tutorials/vendor.md", marks=pytest.mark.slow),
        "docs/mechanisms.md",
    ],
)
def test_the_commands_of_a_page_run_one_after_the_other(
    name: str, adept_here: Run, workplace: Path, given: Path, topic_run: Path
) -> None:
    for line in lines(ROOT / name):
        for words in stages(line):
            if words[0] != "adept" or words[1] in ("compare", "play") or "input=-" in words:
                continue  # pipes, comparisons and the page have tests of their own
            if words[1] == "adapt" and {"label_set=[lost_card,change_pin,exchange_rate]", "examples=help.md"} & set(
                words
            ):
                continue  # and so have names, which only the packaged model can be adapted to: it takes half a minute
            words = [{"data.path=DIR": "data.path=.", "model_dir=DIR": f"model_dir={given}"}.get(w, w) for w in words]
            for word in words:
                if word.startswith("output="):
                    for old in workplace.glob(word.removeprefix("output=") + "*"):
                        old.unlink()  # a reader would choose another name
            topics = [f"model_dir={topic_run}"]
            further = {"train": SMALL, "adapt": topics, "synthesize": topics}.get(words[1], [])  # what takes no time
            further = [] if any(word.startswith("resume_from=") for word in words) else further
            if any(word.startswith("data.path=") for word in words):
                further = [option for option in further if not option.startswith("data.sizes=")]
            small = {option.partition("=")[0] for option in further}
            done = adept_here(*(word for word in words[1:] if word.partition("=")[0] not in small), *further)
            assert done.returncode == 0, (line, done.stderr)


def test_the_second_month_goes_as_the_tutorial_says(adept_here: Run, workplace: Path, topic_run: Path) -> None:
    """The refusal, the numbers of those who are left out, the totals and the approval are those on the page."""
    page = ROOT / "docs" / "tutorials" / "vendor.md"
    july, *_ = [
        line for line in lines(page) if "input=tickets.csv output=private.csv" in line and "dry_run" not in line
    ]
    month = [line for line in lines(page) if "august" in line or line == "adept ledger limit=64"]
    told = ""
    for line in (july, *month, "adept ledger"):
        (words,) = stages(line)
        small = [f"model_dir={topic_run}", "mechanism=learned_codebook"] if words[1] == "rewrite" else []
        done = adept_here(*words[1:], *small)
        assert done.returncode == 0, (line, done.stderr)
        told += f" {done.stderr} {done.stdout}"
    told += re.sub(r"<[^>]+>", "", (workplace / "august-private.csv.report.html").read_text("utf-8"))
    told = " ".join(unescape(told).split())
    last = page.read_text("utf-8").partition("## Next month")[2]
    shown = [text for kind, text in BLOCK.findall(last) if not kind]
    assert len(shown) == 4
    assert [block for block in shown if " ".join(block.split()) not in told] == []
    assert "most for one person 64" in told
    assert "by J. Doe, " in told
    small = [f"model_dir={topic_run}", "mechanism=learned_codebook"]
    again = [
        re.sub("^output=.*", "output=again.csv", word) for word in stages(month[1])[0][1:] if word != "dry_run=true"
    ]
    refused = adept_here(*again, *small)
    assert (refused.returncode, "the ledger's limit is epsilon 64" in refused.stderr) == (2, True)
    (workplace / "home" / "adept" / "key").unlink()
    ledger = next(Path(os.environ["XDG_STATE_HOME"]).rglob("ledger-*.db"))
    lost = adept_here(*again, *small, f"ledger={ledger}")
    assert (lost.returncode, "was written with another key" in lost.stderr) == (2, True)
    assert "2 releases" in adept_here("ledger", ledger).stdout
    anew = adept_here(*again, *small)
    assert "the default ledger of another key has a limit, which does not hold for this release" in anew.stderr


def test_the_plan_of_the_tutorial_is_that_of_the_program(adept_here: Run) -> None:
    """The page had the accuracies of an earlier classifier."""
    page = ROOT / "docs" / "tutorials" / "vendor.md"
    [line] = [line for line in lines(page) if line.startswith("adept plan")]
    printed = " ".join(adept_here(*stages(line)[0][1:]).stdout.split())
    rows = re.findall(
        r"^\| `rewrite` \| (\d+) \| (.+) \| (\.\d+) \| (\.\d+ to .+) \|$", page.read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) == 4
    for epsilon, risk, accuracy, spread in rows:
        assert f"rewrite {epsilon} {5 * int(epsilon)} {risk} 0{accuracy} 0{spread} " in printed
    assert "the label with the nearest name 0.63 (usual" in printed
    [notebook] = [read(path) for path in NOTEBOOKS if path.stem == "a_private_file_for_a_vendor"]
    shown = [cell["outputs"] for cell in notebook["cells"] if "adept plan" in cell["source"] and "outputs" in cell]
    assert " ".join("".join(shown[0][0]["text"]).split()) == printed


def test_the_sizes_of_the_models_are_those_of_the_page() -> None:
    """Its default model was an LSTM, with the number of weights of the packaged model."""
    page = " ".join((ROOT / "docs" / "operation.md").read_text("utf-8").split())
    tokens = len(Tokenizer.train(load(DataConfig())["train"].texts))
    network = AdeptModule(vocabulary_size=tokens, clip="l1")
    said = f"With the {tokens} tokens of the bundled text, it has {count_weights(network) / 1e6:.1f} million weights."
    assert said in page
    sizes = ModelConfig()
    assert f"embedding size {sizes.embedding_dim}, hidden size {sizes.hidden_dim} and latent size" in page
    packaged = load_model(None)[0]
    own = f"computes {packaged.config.latent_dim} topics of a text, and has {count_weights(packaged) / 1e6:.1f} million"
    assert own in page


def count_weights(network: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


def test_the_house_has_the_layers_that_lint_checks() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = [re.findall(r"adept\.(\w+)", layer) for layer in contracts[0]["layers"]]
    drawn = re.split(r"^ [1-8]   ", text[text.index("\n 8   cli") : text.index("## Tests")], flags=re.MULTILINE)[1:]
    assert [[name for name in names if name not in floor] for names, floor in zip(layers, drawn, strict=True)] == [
        [] for _ in layers
    ]
    rooms = {part for contract in contracts for part in contract.get("containers", [])}
    assert [name for name in sorted(rooms) if f"`{name}`" not in text.partition("## Tests")[0]] == []


def test_the_rewrites_in_readme_are_sentences_of_the_packaged_model() -> None:
    """Two were written by a compiler that the package no longer has."""
    listed = load_model(None)[0].sentences
    assert listed is not None
    text = (ROOT / "README.md").read_text("utf-8")
    table = text[text.index("| epsilon 4 |") : text.index("\n\n", text.index("| epsilon 4 |"))]
    rewrites = {tuple(words_of(cell.strip())) for row in table.splitlines() for cell in row.split("|")[2:4]}
    assert len(rewrites) == 6
    assert rewrites <= {tuple(listed[place]) for place in range(len(listed))}


def test_the_first_pages_keep_examples_apart_and_the_readers_own_files_in_a_ledger() -> None:
    """An example in the default ledger stands in the way of all releases with persons, once there is a limit."""
    first = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]
    commands = [
        line for page in first for line in lines(page) if line.startswith(("adept rewrite", "adept synthesize"))
    ]
    assert len(commands) > 2
    assert not [line for line in commands if "ledger=none" in line]
    examples = [line for line in commands if "input=examples/" in line and "dry_run=true" not in line]
    assert examples
    assert all("ledger=examples.db" in line for line in examples)


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
def test_a_statement_is_signed_and_checked_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".ssh").mkdir(mode=0o700)
    run = partial(subprocess.run, shell=True, capture_output=True, text=True, check=False)
    assert run("ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519").returncode == 0
    statement = tmp_path / "approved.txt.privacy.json"
    statement.write_text("{}\n")
    sign, verify = (line for line in lines(ROOT / "docs" / "recipes.md") if line.startswith("ssh-keygen"))
    assert run(sign).returncode == 0
    assert "you@example.org ssh-ed25519 AAAA..." in (ROOT / "docs" / "recipes.md").read_text("utf-8")
    (tmp_path / "allowed_signers").write_text(f"you@example.org {(tmp_path / '.ssh/id_ed25519.pub').read_text()}")
    assert 'Good "adept" signature' in run(verify).stdout
    statement.write_text("{ }\n")
    assert run(verify).returncode != 0


def python_blocks() -> list[tuple[str, str]]:
    """The Python of all pages."""
    return [(page.name, text) for page in PAGES for text in blocks(page, "python")]


@pytest.mark.parametrize(("page", "text"), python_blocks())
def test_every_line_of_python_runs_and_says_what_it_shows(
    page: str, text: str, given: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_cheap(monkeypatch)
    shutil.copytree(given, workplace / "runs" / "first")
    names: dict[str, object] = {}
    with quiet_lightning():
        exec(compile(text, page, "exec"), names)
    if "rewriter" in names:
        assert names["rewriter"].guarantee.epsilon == 8.0  # type: ignore[attr-defined]
    if "result" in names:
        assert names["result"].violated  # type: ignore[attr-defined]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_named_in_the_text_exists(page: Path) -> None:
    named = [span for span in spans(page) if re.fullmatch(r"(adept|tests|conf|docs|examples)/[\w/.]+", span)]
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_page_and_every_package_is_in_the_built_docs() -> None:
    listed = (ROOT / "mkdocs.yml").read_text("utf-8")
    written = [str(page.relative_to(ROOT / "docs")) for page in PAGES if page.is_relative_to(ROOT / "docs")]
    assert [name for name in written if f": {name}" not in listed] == []
    pages = sorted((ROOT / "docs" / "api").glob("*.md"))
    assert [page.name for page in pages if f": api/{page.name}" not in listed] == []
    described = {
        name for page in pages for name in re.findall(r"^::: adept\.(\w+)$", page.read_text("utf-8"), re.MULTILINE)
    }
    packages = {path.parent.name for path in (ROOT / "adept").glob("*/__init__.py")}
    assert described >= packages


@pytest.mark.slow
def test_the_docs_build_without_a_warning(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert "privatize" in (tmp_path / "api" / "mechanisms.html").read_text("utf-8")


def test_tuned_numbers_and_paper_proofs_stand_under_the_titles_that_the_code_names() -> None:
    pages = "".join(page.read_text("utf-8") for page in sorted((ROOT / "docs").rglob("*.md")))
    sources = {path.name: path.read_text("utf-8") for path in sorted((ROOT / "adept").rglob("*.py"))}
    decisions = re.findall(r"^# (.+)$", sources["policy.py"], re.MULTILINE)
    named = [name for text in sources.values() for name in re.findall(r'``docs/[\w/]+.md``,\s+"([^"]+)"', text)]
    titles = {" ".join(name.split()) for name in [*decisions, *named]}
    assert (len(decisions) >= 20, len(named) >= 10) == (True, True)
    assert [title for title in sorted(titles) if not re.search(rf"^#+ {re.escape(title)}$", pages, re.MULTILINE)] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.name)
def test_lines_are_short_and_paragraphs_have_at_most_five(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    free = ("|", "![")  # tables and pictures cannot be wrapped
    for line in text.splitlines():
        assert len(line) <= (120 if line.startswith(free) or "](" in line else 100), line
    for paragraph in re.split(r"\n\s*\n|\n(?= *[-*] | *\d+\. )", text):
        wrapped = [line for line in paragraph.strip().splitlines() if not line.startswith(("|", "#"))]
        assert len(wrapped) <= 5, paragraph


@pytest.mark.parametrize(("page", "most"), [("README.md", 120), ("docs/results.md", 240), ("docs/decisions.md", 350)])
def test_a_page_that_is_to_be_short_is(page: str, most: int) -> None:
    assert len((ROOT / page).read_text("utf-8").splitlines()) <= most


def test_the_version_is_the_same_wherever_it_is_stated() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    cited = re.findall(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    released = re.findall(r"^## (\S+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert [project] == cited == released[:1]


def test_each_change_is_one_line() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines()
    assert [line for line in changes if line[:2] not in ("", "- ", "# ", "##") or len(line) > 100] == []


def test_the_odds_are_those_of_epsilon() -> None:
    text = (ROOT / "docs" / "guarantees.md").read_text("utf-8")
    rows = [
        [cell.strip() for cell in line.strip("| ").split("|")]
        for line in text.splitlines()
        if re.match(r"\| [\d.]+ \| [\d.,]+ \|", line)
    ]
    assert len(rows) == 6
    for epsilon, odds, _, of_two, of_many in rows:
        assert float(odds.replace(",", "")) == pytest.approx(math.exp(float(epsilon)), rel=2e-3)
        assert float(of_two) == pytest.approx(good_enough(1 / 2, epsilon=float(epsilon)), abs=1e-3)
        assert float(of_many) == pytest.approx(good_enough(1 / 1000, epsilon=float(epsilon)), abs=1e-3)
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert f"a factor of {math.exp(8):,.0f} (at 4: 55, at 2: 7.4, at 1: 2.8)" in readme


def test_the_errors_of_the_mechanisms_are_their_closed_forms() -> None:
    text = (ROOT / "docs" / "mechanisms.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| [^|]* \| (yes|no) \| ([\d.]+)?", text, re.MULTILINE)
    assert {name for name, _, error in rows if error} == set(BY_NAME) - {
        "learned_codebook",
        "description",
        "dptext",
        "identity",
        "random",
    }
    for name, exact, error in rows:
        mechanism = BY_NAME[name](epsilon=8.0)
        if name != "learned_codebook":
            assert mechanism.guarantee(64).exact == (exact == "yes"), name
        if error:
            assert mechanism.expected_squared_error(64) == pytest.approx(float(error), rel=6e-3), name


def test_the_mechanisms_of_the_table_are_those_of_the_library() -> None:
    text = (ROOT / "docs" / "mechanisms.md").read_text("utf-8")
    table = text[text.index("| `mechanism=`") : text.index("\n\n", text.index("| `mechanism=`"))]
    assert all(f"`{name}`" in table for name in BY_NAME)


def test_the_example_rewrites_with_a_given_model(
    given: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["rewrite.py", str(given)])
    runpy.run_path(str(ROOT / "examples" / "rewrite.py"), run_name="__main__")
    shown = capsys.readouterr().out
    assert shown.count("    -> ") == 12
    assert "move by up to 2,981.0" in shown
