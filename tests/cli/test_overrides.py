"""The commands as a user meets them: in a process of their own, with files, mistakes and exit statuses."""

import importlib
import inspect
import json
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import hydra
import pytest
import torch
from hypothesis import assume, example, given, settings
from hypothesis.strategies import lists, text
from tiny import Run

from adept.__main__ import COMMANDS
from adept.cli import sweep
from adept.cli.config import REQUIRED
from adept.cli.help import check_options, groups, options
from adept.cli.overrides import FILES, QUOTED_STRING, configure, read_value, read_values
from adept.errors import ConfigurationError, typed_as

HARMLESS = "epsilon=8"


def test_train_rewrite_evaluate_from_the_command_line(adept: Run, tmp_path: Path) -> None:
    data = [
        json.dumps({"text": f"{verb} {i % 7} {noun}", "intent": noun, "slots": "SECRET"})
        for i in range(40)
        for verb in ("show", "list")
        for noun in ("flights", "fares", "meals")
    ]
    for split in ("train", "validation", "test"):
        (tmp_path / f"{split}.jsonl").write_text("\n".join(data) + "\n")
    sizes = ["model.hidden_dim=32", "model.embedding_dim=16", "model.latent_dim=8", "trainer.max_epochs=2"]
    trained = adept(
        "train", "data=files", f"data.path={tmp_path}", "mechanism=l1", f"output_dir={tmp_path}/run", *sizes
    )
    assert trained.returncode == 0, trained.stderr
    assert json.loads((tmp_path / "run" / "result.json").read_text())["fit"]["epochs"] == 2

    rewritten = adept(
        "rewrite",
        f"model_dir={tmp_path}/run/model",
        f"input={tmp_path}/train.jsonl",
        f"output={tmp_path}/private.jsonl",
        HARMLESS,
        "accept_private_model=true",  # the weights come from the user's own files
    )
    assert rewritten.returncode == 0, rewritten.stderr
    assert "trained on text declared private" in rewritten.stderr
    assert "SECRET" not in (tmp_path / "private.jsonl").read_text()
    assert json.loads((tmp_path / "private.jsonl.privacy.json").read_text())["epsilon"] == 8.0

    evaluated = adept(
        "evaluate",
        f"train={tmp_path}/private.jsonl",
        f"test={tmp_path}/test.jsonl",
        f"output_dir={tmp_path}/evaluation",
    )
    assert evaluated.returncode == 0, evaluated.stderr
    result = json.loads((tmp_path / "evaluation" / "result.json").read_text())
    assert {"accuracy", "macro_f1", "accuracy_interval", "macro_f1_interval"} <= set(result)
    assert f"{result['accuracy']:.3f}" in evaluated.stdout


def test_standard_streams_carry_records_and_nothing_else(adept: Run, tiny_l1_run: Path, tmp_path: Path) -> None:
    done = adept(
        "rewrite", f"model_dir={tiny_l1_run}", "input=-", "output=-", "format=jsonl", f"statement={tmp_path}/s.json", HARMLESS,
        input='{"text": "flights to boston"}\n{"text": ""}\n',
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [set(json.loads(line)) for line in done.stdout.splitlines()] == [{"text"}, {"text"}]
    assert json.loads((tmp_path / "s.json").read_text())["records"] == 2


def test_a_failure_half_way_leaves_whole_rows_on_standard_output_and_a_journal(
    adept: Run, tiny_l1_run: Path, tmp_path: Path
) -> None:
    done = adept(
        "rewrite", f"model_dir={tiny_l1_run}", "input=-", "output=-", "format=jsonl", f"statement={tmp_path}/s.json", HARMLESS,
        "flush_every=256", input='{"text": "a"}\n' * 300 + "{}\n",
    )  # fmt: skip
    assert done.returncode == 2
    assert "record 301" in done.stderr
    assert [set(json.loads(line)) for line in done.stdout.splitlines()] == [{"text"}] * 256
    assert [path.name for path in tmp_path.iterdir()] == ["s.json.journal"]


def test_no_privacy_is_warned_about(adept_here: Run, tiny_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("flights\n")
    done = adept_here(
        "rewrite",
        f"model_dir={tiny_run}",
        f"input={tmp_path}/in.txt",
        f"output={tmp_path}/out.txt",
        "mechanism=identity",
        "accept_broken_claim=true",
    )
    assert done.returncode == 0
    assert "identity protects nothing" in done.stderr


JSONL = ("typed.jsonl", "input.jsonl", "output.jsonl")
REWRITE = "rewrite model_dir={model} input={input} output={output}"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("dance", "unknown command 'dance'"),
        (f"{REWRITE} epsilon=8 mechanism=magic", "mechanism must be one of clamped_gaussian, codebook, "),
        (REWRITE, "epsilon must be given"),
        (f"{REWRITE} epsilon=0", "epsilon must be positive and finite, got 0.0"),
        (f"{REWRITE} epsilon=-1", "epsilon must be positive and finite, got -1.0"),
        (f"{REWRITE} epsilon=nan", "epsilon must be positive and finite, got nan"),
        (f"{REWRITE} epsilon=inf", "epsilon must be positive and finite, got inf"),
        (f"{REWRITE} epsilon=1 mechanism=l1 mechanism.epsilon=100", "epsilon must be given once"),
        (f"{REWRITE} mechanism=identity", "accept_broken_claim=true"),
        (f"{REWRITE} epsilon=8,5", "epsilon must have a decimal point, got 8,5: write 8.5; a list is written [A,B]"),
        (f"{REWRITE} epsilon=much", "epsilon must be a number, got much: write epsilon=0.5, for example\n"),
        (f"{REWRITE} epsilon=", "epsilon must be a number, got nothing: write epsilon=0.5, for example\n"),
        (f"{REWRITE} epsilon=8 key=", "key must be given, got nothing: add key=..., or leave it out\n"),
        (f"{REWRITE} epsilon=8 label_column=", "label_column must be given, got nothing: add label_column=..."),
        ("synthesize input=a.csv output=b.csv epsilon=1 person_column=", "person_column must be given, got nothing"),
        ("evaluate train= test=a.csv", "train must be given, got nothing"),
        (f"{REWRITE} epsilon=8,9", "epsilon must have a decimal point, got 8,9: write 8.9; a list is written [A,B]\n"),
        (f"{REWRITE} epsilon=8,9,1", "epsilon must be one value, got 3 (8,9,1): give one of them\n"),
        (
            f"{REWRITE} epsilon='0,5'",
            "epsilon must have a decimal point, got 0,5: write 0.5; a list is written [A,B]\n",
        ),
        (f"{REWRITE} epsilon=8 label_epsilon=0,5", "label_epsilon must have a decimal point, got 0,5: write 0.5"),
        (f"{REWRITE} epsilon=8 decoding.temperature=0,5", "decoding.temperature must have a decimal point"),
        ("compare output_dir={output} epsilons=0,5", "epsilons must have a decimal point, got 0,5: write 0.5"),
        (
            "compare output_dir={output} epsilons=[0,5]",
            "epsilons must be positive, got 0: numbers are written with a decimal",
        ),
        (f"{REWRITE} epsilon=8 labels=joint_response label_set=@{{nowhere}}.txt", "cannot read"),
        (f"{REWRITE} epsilon=abc", "epsilon must be a number, got abc: write epsilon=0.5, for example\n"),
        (f"{REWRITE} epsilon=8 samples=1001", "samples must be an integer between 1 and 1000, got 1001\n"),
        (f"{REWRITE} epsilon=8 statement={{output}}.partial", "must be different files"),
        (f"{REWRITE} epsilon=8 samples=few", "samples must be a whole number, got few: write samples=1, for example\n"),
        (f"{REWRITE} epsilon=8 shuffle=perhaps", "shuffle must be true or false, got perhaps"),
        ("compare epsilons=8 output_dir={nowhere}", "epsilons must be a list: write epsilons=[...]"),
        (f"{REWRITE} epsilon=8 mechanism=sqrt_n", "trained for clip l1"),
        (f"{REWRITE} epsilon=8 text_column=utterance", "no column named 'utterance' in record 1"),
        (f"{REWRITE} epsilon=8 colour=red", "rewrite has no option colour: "),
        ("rewrite output={output} epsilon=8", "input must be given"),
        ("train data=atsi output_dir={nowhere}", "data must be one of air_travel, atis, files, snips, got atsi"),
        (
            "train experiment=demonstration output_dir={nowhere}",
            "experiment must be one of atis_l1, atis_original, atis_sqrt_n, large, utterances, got demonstration",
        ),
        (
            "train modle.latent_dim=3 output_dir={nowhere}",
            "train has no option modle.latent_dim: did you mean model.latent_dim?",
        ),
        ("compare mechanism=l1 output_dir={nowhere}", "compare has no option mechanism: did you mean mechanisms?"),
        (
            "train training.codec.likely=0 output_dir={nowhere}",
            "training.codec.likely was removed in 0.3.0: leave it out",
        ),
        (
            "train +training.codec.texts=5 output_dir={nowhere}",
            "training.codec.texts was removed in 0.3.0: leave it out",
        ),
        (
            "compare training.codec.learn=now output_dir={nowhere}",
            "training.codec.learn was removed in 0.3.0: leave it",
        ),
        ("rewrite model_dir={nowhere} input={input} output={output} epsilon=8", "not a model directory"),
        ("rewrite model_dir={corrupt} input={input} output={output} epsilon=8", "corrupt"),
        ("rewrite model_dir={model} input={nowhere}.txt output={output} epsilon=8", "cannot read"),
        ("rewrite model_dir={model} input={empty} output={output} epsilon=8", "has no records"),
        ("rewrite model_dir={model} input={latin} output={output} epsilon=8", "not UTF-8"),
        (
            "rewrite model_dir={model} input={wide} output={output} epsilon=8",
            "in record 1 (NUL in the text, as UTF-16 has",
        ),
        (
            "rewrite model_dir={model} input={typed} output={output} epsilon=8",
            "got list in record 3: turn it into text",
        ),
        (
            "rewrite model_dir={model} input={input} output={output}.docx epsilon=8",
            "is a document, which cannot be read or written",
        ),
        ("rewrite model_dir={model} input={input} output={input} epsilon=8", "must be different files"),
        ("train data.most=0 output_dir={nowhere}", "data.most must be at least 1, got 0"),
        ("train data.sizes=[6001,1,1] output_dir={nowhere}", "at most [6000, 600, 1000], got [6001, 1, 1]"),
        (
            "train trainer.accelerator=tpu output_dir={nowhere}",
            "trainer.accelerator must be one of auto, cpu, gpu, got tpu",
        ),
        (
            "adapt trainer.accelerator=tpu examples={input} output_dir={nowhere}",
            "must be one of auto, cpu, gpu, got tpu",
        ),
        (
            "train training.weight_decay=-1 output_dir={nowhere}",
            "training.weight_decay must be at least 0 and finite, got -1",
        ),
        (
            "train training.learning_rate=inf output_dir={nowhere}",
            "training.learning_rate must be positive and finite, got inf",
        ),
        ("train seed=-1 output_dir={nowhere}", "seed must be an integer between 0 and 4294967295, got -1"),
        (
            "compare seeds=[0,4294967296] output_dir={nowhere}",
            "seeds must be an integer between 0 and 4294967295, got 42",
        ),
        ("study study=sensitivity seed=99999999999 output_dir={nowhere}", "seed must be an integer between 0 and 42"),
        ("evaluate data.seed=-1 train={input} test={input}", "evaluate has no option data.seed"),
        ("train data.seed=-1 output_dir={nowhere}", "data.seed must be an integer between 0 and 4294967295, got -1"),
        ("train trainer.max_epochs=0 output_dir={nowhere}", "trainer.max_epochs must be at least 1"),
        ("train output_dir={model}", "is not empty"),
        ("evaluate train={input} test={empty}", "has no records"),
    ],
)
def test_bad_input_is_one_line_with_status_2_and_leaves_nothing(
    adept_here: Run, tiny_l1_run: Path, tmp_path: Path, command: str, message: str
) -> None:
    names = {
        name: tmp_path / name
        for name in ("nowhere", "corrupt", *(f"{name}.txt" for name in ("empty", "latin", "wide")), *JSONL)
    }
    row = '{"text": "a secret", "intent": "x"}\n'
    names["wide.txt"].write_bytes("a secret\n".encode("utf-16-le"))
    names["typed.jsonl"].write_text(2 * row + '{"text": "a secret", "intent": ["secret"]}\n')
    names["empty.txt"].touch()
    names["latin.txt"].write_bytes("sécret\n".encode("latin-1"))
    names["input.jsonl"].write_text(3 * row)
    names["corrupt"].mkdir()
    for file in (tiny_l1_run / "model").iterdir():
        (names["corrupt"] / file.name).write_bytes(file.read_bytes()[:100])
    before = sorted(tmp_path.rglob("*"))
    places = {name.split(".")[0]: str(path) for name, path in names.items()}
    done = adept_here(*command.format(model=tiny_l1_run / "model", **places).split())
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert done.stderr.startswith("adept: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr
    assert done.stdout == ""
    assert sorted(tmp_path.rglob("*")) == before


def test_a_broken_claim_is_refused_and_can_be_accepted(adept_here: Run, tiny_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("flights\n")
    arguments = [
        "rewrite",
        f"model_dir={tiny_run}",
        f"input={tmp_path}/in.txt",
        f"output={tmp_path}/out.txt",
        HARMLESS,
        "mechanism=original",
    ]
    refused = adept_here(*arguments)
    assert refused.returncode == 2
    assert "accept_broken_claim=true" in refused.stderr
    accepted = adept_here(*arguments, "accept_broken_claim=true")
    assert accepted.returncode == 0, accepted.stderr
    assert json.loads((tmp_path / "out.txt.privacy.json").read_text())["holds"] is False


HOSTILE = [
    *(
        "x=y",
        "a,b",
        "it's",
        "don't know",
        "'tis",
        "tickets_${usd}",
        "${x}",
        "\\${x}",
        "a#b",
        "# b",
        "[x]",
        "[x].txt",
        "{x: y}",
    ),
    *(
        "a b",
        " a",
        "b ",
        "c\\d",
        "C:\\x\\",
        "~x.txt",
        "a~/b",
        "~~/",
        "null",
        "true",
        "8",
        "1e3",
        "???",
        "@x",
        "-d",
        "--x",
        "+y",
        "n\nl",
    ),
    *(
        "b\udcff",
        "ü (1)#?%",
        '"',
        "'",
        'a"b',
        "range(1,3)",
        "$HOME",
        "%s",
        "*",
        ":",
        "a:b",
        "!",
        "&a",
        "|",
        "é",
        "😀",
        "\x1b[31m",
        ".",
    ),
]
TEXTS = [
    (command, option.name, kind)
    for command in COMMANDS
    for option in options(command)
    if "str" in (kind := inspect.formatannotation(option.kind)) or option.name == "train"
]


def read(command: str, name: str, kind: str, *items: str) -> Any:
    """Return what an option of texts gets from a command line with one or more items."""
    hint = {"str": str, "str | None": str | None, "list[str]": list[str], "list[str] | None": list[str] | None}.get(
        kind, Any
    )
    return read_value(name, hint, f"[{','.join(items)}]" if len(items) > 1 or "list" in kind else items[0])


@pytest.mark.parametrize(("command", "name", "kind"), TEXTS)
def test_hostile_names_are_taken_as_typed_in_every_option_of_text(command: str, name: str, kind: str) -> None:
    optional, in_list = kind.endswith("None"), "list" in kind
    for typed in HOSTILE:
        if in_list and ("," in typed or typed.strip() != typed):
            assert read(command, name, kind, f'"{typed}"', "b") == [typed, "b"]
        elif in_list and typed.startswith("@"):
            assert read(command, name, kind, typed, "b") == [typed, "b"]
        elif in_list:
            assert read(command, name, kind, typed) == [typed]
        elif kind == "Any" and typed == "[x]":
            assert read(command, name, kind, typed) == ["x"]
        else:
            assert read(command, name, kind, typed) == (None if typed == "null" and optional else typed)


def test_hostile_names_reach_the_configuration_of_a_command() -> None:
    labels = [name for name in HOSTILE if "," not in name and name.strip() == name and name[0] not in "'\""]
    given = [
        "output=x=y.txt",
        "input=a,b.jsonl",
        "text_column=${usd}",
        "label_column=user's id",
        f"label_set=[{','.join(labels)}]",
    ]
    config = configure("rewrite", [*given, "epsilon=8", "keep_columns=[user's id,k=2,price_${usd}]", "ledger=???"])
    assert (config.input, config.output, config.ledger) == ("a,b.jsonl", "x=y.txt", "???")
    assert (config.text_column, config.label_column) == ("${usd}", "user's id")
    assert config.keep_columns == ["user's id", "k=2", "price_${usd}"]
    assert config.label_set == labels
    assert configure("evaluate", ["train=x=y,z.csv", "test=it's"]).train == "x=y,z.csv"
    assert configure("evaluate", ["train=[it's.csv,don't.csv]", "test=x"]).train == ["it's.csv", "don't.csv"]


@pytest.mark.parametrize(("command", "group"), [(command, group) for command in COMMANDS for group in groups(command)])
def test_null_is_no_file_of_a_group_that_needs_none_and_an_empty_name_is_refused(command: str, group: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"{group} must be one of .*, got nothing"):
        check_options(command, [f"{group}="])
    if groups(command)[group] is not None:
        with pytest.raises(ConfigurationError, match=rf"{group} must be one of .*, got null"):
            check_options(command, [f"{group}=null"])
        return
    check_options(command, [f"{group}=null"])
    assert read_values(command, [f"{group}=null"]) == read_values(command, [])


@settings(deadline=None)  # a busy machine is no failure
@given(text())
@example("\\'")
@example("'a'b'")
@example('a"b')
def test_any_text_reaches_its_option_and_any_list_of_texts_as_it_is_quoted(value: str) -> None:
    assume(value.strip() and value.lower() != "null" and not QUOTED_STRING.fullmatch(value))
    assert read_value("label", str | None, value) == value
    quoted = typed_as(f"{value},")
    assert read_value("label", str, quoted) == f"{value},"
    assert read_value("texts", list[str], f"[{quoted}, {quoted}]") == [f"{value},"] * 2


@settings(deadline=None)  # a busy machine is no failure
@given(
    lists(text().filter(lambda item: item.strip() == item and "," not in item and item[:1] not in "'\""), min_size=2)
)
@example(["~/", "~/x"])
@example(["user's id", "don't know"])
def test_lists_of_text_need_quotes_only_for_commas_and_outer_spaces(values: list[str]) -> None:
    assert read_value("texts", list[str], f"[{','.join(values)}]") == values


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("[]", []),
        ("[ ]", []),
        (" [a, b] ", ["a", "b"]),
        ("['','a,b',\"it's\"]", ["", "a,b", "it's"]),
        ("['tis the season,'twas]", ["'tis the season", "'twas"]),
        ("[rock 'n' roll,a\"b\"]", ["rock 'n' roll", 'a"b"']),
        ("[a[0],b]", ["a[0]", "b"]),
        ("[a,]", ["a", ""]),
        ("@a,b", ["@a,b"]),
    ],
)
def test_items_of_a_list_are_separated_by_commas_outside_quotes(text: str, items: list[str]) -> None:
    assert read_value("texts", list[str], text) == items


@pytest.mark.parametrize(("command", "name", "kind"), TEXTS)
def test_the_home_directory_is_found_in_names_of_files_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, command: str, name: str, kind: str
) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    expected = ["/home/someone/a b.txt", "/home/someone"] if name in FILES else ["~/a b.txt", "~"]
    found = [read(command, name, kind, value) for value in ("~/a b.txt", "~")]
    assert [one[0] if isinstance(one, list) else one for one in found] == expected
    assert read_value(name, str, "'~/x'") == "~/x"
    assert read_value(name, str, "~root/x") == (f"{Path('~root').expanduser()}/x" if name in FILES else "~root/x")
    assert read_value(name, str, "~nobody.txt") == "~nobody.txt"  # no user has this name


@pytest.mark.parametrize("address", ["s3://bucket/a.txt", "file:///tmp/a.txt", "https://example.org/a.csv"])
@pytest.mark.parametrize("name", sorted(FILES))
def test_an_address_is_no_path_as_a_directory_of_its_name_would_be_made(name: str, address: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} must be a path on this machine, got the address {address}"):
        read_value(name, str, address)
    assert read_value(name, str, f"./{address}") == f"./{address}"
    assert read_value("text_column", str, address) == address


def test_every_option_that_is_described_as_a_file_finds_the_home_directory() -> None:
    begins = re.compile(
        r"(An? )?(new |New |existing )*([Ff]ile|[Dd]irectory)\b|The (released file|privacy statement|directory)"
    )
    described = {
        option.name
        for command, name, _ in TEXTS
        for option in options(command)
        if name == option.name and begins.match(option.sentence)
    }
    assert described <= FILES


@pytest.mark.parametrize(
    ("hint", "text", "value"),
    [
        (int, "1_000", 1000),
        (float, "'8'", 8.0),
        (float | None, "NULL", None),
        (bool, "Yes", True),
        (bool | None, "0", False),
        (list[float], "[0.5, 1]", [0.5, 1.0]),
        (list[int] | None, "[]", []),
        (Any, "4", 4),
        (Any, "[4,6.5]", [4.0, 6.5]),
    ],
)
def test_numbers_are_read_as_numbers(hint: Any, text: str, value: Any) -> None:
    assert read_value("training.epsilon", hint, text) == value


@pytest.mark.parametrize(
    ("hint", "text", "message"),
    [
        (int, "16,32", "model.latent_dim must be one value, got 2 (16,32): give one of them"),
        (int, "[16,32]", "must be one value, got 2"),
        (int, "${seed}", "must be a whole number, got ${seed}: write model.latent_dim=8, for example"),
        (int, "8.5", "must be a whole number"),
        (int, "null", "must be a whole number, got null"),
        (int, "9" * 5000, "must be a whole number, got 999"),
        (bool, "2", "must be true or false, got 2"),
        (bool, "a,b", "must be one value, got 2"),
        (list[int], "16,32", "must be a list: write model.latent_dim=[...]"),
        (list[str], "[a", "must be a list"),
        (list[int], "[a]", "must be a whole number, got a"),
        (list[float], "[1,]", "must be a number, got nothing"),
        (Any, "[low,high]", "must be a number, got low"),
    ],
)
def test_a_value_that_does_not_fit_is_answered_with_one_that_does(hint: Any, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        read_value("model.latent_dim", hint, text)


def test_odd_names_of_files_columns_and_labels_need_no_quotes_of_their_own(
    adept_here: Run, tiny_l1_run: Path, tmp_path: Path
) -> None:
    place = tmp_path / "é, a=b [c] (d) {e}~$#!"
    place.mkdir()
    (place / "in ü.jsonl").write_text('{"what was said?": "flights", "à, b": "why?", "k (1)": 1, "k=2?": 2}\n', "utf-8")
    done = adept_here(
        "rewrite", f"model_dir={tiny_l1_run}", f"input={place}/in ü.jsonl", f"output={place}/out~.jsonl", HARMLESS,
        "text_column=what was said?", "label_column=à, b", "keep_columns=[k (1), k=2?]",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    row = json.loads((place / "out~.jsonl").read_text("utf-8"))
    assert (row["à, b"], row["k (1)"], row["k=2?"]) == ("why?", 1, 2)


@pytest.mark.parametrize("option", ["+mechanism.scale=99", "++mechanism.clip=l2", "mechanism.size=5"])
def test_a_mechanism_takes_only_options_of_its_own(adept_here: Run, option: str) -> None:
    done = adept_here("rewrite", "input=x", "output=y", HARMLESS, "mechanism=l1", option)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert option.lstrip("+").partition("=")[0] in done.stderr


def test_an_unknown_flag_is_one_line(adept_here: Run) -> None:
    done = adept_here("evaluate", "--fast")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--fast" in done.stderr


PIECES = [
    *(
        "",
        "null",
        "true",
        "0",
        "8",
        "-1",
        "1e3",
        "1e999",
        "nan",
        "0,5",
        "16,32",
        "[",
        "]",
        "[]",
        "[[]]",
        "[1,2]",
        "[a,'b",
        "{a: b}",
    ),
    *(
        "${x}",
        "${oc.env:HOME}",
        "$(x)",
        "???",
        "'",
        '"',
        "'x'",
        "@",
        "@x",
        "~",
        "~/x",
        "~x",
        "l1",
        "l1,sqrt_n",
        "m:C",
        "a.b:c",
        "range(3)",
    ),
    *(
        "choice(1,2)",
        "=",
        "x=y",
        "#",
        "\\",
        "\\'",
        "\n",
        "\x00",
        "\x1b[31m",
        "é",
        "😀",
        "b\udcff",
        "9" * 5000,
        "a" * 300,
        "*",
        "-",
        "x.csv",
        "none",
    ),
]
FLAGS = [
    "-m",
    "--multirun",
    "--config-name",
    "--config-name=x",
    "--cfg",
    "job",
    "-c",
    "--cfg=job",
    "--info",
    "--run",
    "-cn",
    "~",
    "+",
    "++",
]
FLAGS += [
    "--hydra-help",
    "--config-dir=.",
    "--package",
    "",
    "=",
    "=x",
    "+=x",
    "~x",
    "~epsilon",
    "hydra.run.dir=.",
    "hydra=x",
    "hydra/launcher=x",
]
FOREIGN = re.compile("OmegaConf|Hydra|Lexer|LightningModule|Traceback|internal error")


def random_line(chance: random.Random) -> list[str]:
    """Return a random command line, most of whose options exist."""
    command = chance.choice([*COMMANDS] * 9 + ["", "nonsense", "--help", "-m"])
    known = [option.name for option in options(command)] if command in COMMANDS else ["x"]
    known += [
        "mechanism.epsilon",
        "mechanism.size",
        "mechanism.codewords",
        "mechanism.x",
        "mechanism",
        "decoding",
        "data",
        "x.y",
    ]
    line = (
        [f"{option.name}=x" for option in options(command) if option.default == REQUIRED] if command in COMMANDS else []
    )
    for _ in range(chance.randrange(4)):
        name = chance.choice(known)
        if chance.random() < 0.2:  # misspelt
            place = chance.randrange(len(name))
            name = name[:place] + chance.choice(["", "_", ".", "@", "/", "x", " "]) + name[place + 1 :]
        sign, glue = chance.choice(["", "", "", "+", "++", "~"]), chance.choice(["", "", "", ","])
        line.append(f"{sign}{name}={glue.join(chance.choices(PIECES, k=chance.randrange(1, 4)))}")
    line += chance.sample(FLAGS, k=chance.random() < 0.2)
    chance.shuffle(line)
    return [command, *line]


@pytest.mark.parametrize(
    "seeds", [range(300), pytest.param(range(300, 2000), marks=pytest.mark.slow)], ids=["300", "2000"]
)
def test_no_command_line_ends_with_status_70_or_with_the_words_of_another_program(
    adept_here: Run, monkeypatch: pytest.MonkeyPatch, seeds: range, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    composed = cache(hydra.compose)
    monkeypatch.setattr(hydra, "compose", lambda name, chosen: composed(name, tuple(chosen)))
    for command in COMMANDS:
        monkeypatch.setattr(importlib.import_module(f"adept.cli.{command}"), "main", lambda _: None)
    monkeypatch.setattr(sweep, "main", lambda command, line: sweep.plan(command, line) and 0)
    for seed in seeds:
        line = random_line(random.Random(seed))
        done = adept_here(*line)
        assert done.returncode in (0, 2), (seed, line, done.stderr)
        assert not FOREIGN.search(done.stderr), (seed, line, done.stderr)
        assert done.stderr.count("\n") == (done.returncode == 2), (seed, line, done.stderr)
        assert done.returncode == 0 or done.stderr.startswith("adept: "), (seed, line, done.stderr)
    assert list(tmp_path.iterdir()) == []


@contextmanager
def changed(setting: str) -> Iterator[None]:
    """Change one of PyTorch's defaults, as a notebook may have done before it calls adept."""
    with torch.inference_mode(setting == "inference_mode"):
        if setting == "float64":
            torch.set_default_dtype(torch.float64)
        torch.use_deterministic_algorithms(setting == "deterministic")
        try:
            yield
        finally:
            torch.set_default_dtype(torch.float32)
            torch.use_deterministic_algorithms(False)


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["float64", "inference_mode", "deterministic"])
def test_commands_work_whatever_defaults_of_torch_the_caller_has_changed(
    adept_here: Run, tmp_path: Path, setting: str
) -> None:
    rows = [json.dumps({"text": f"play song {i % 9} by {i}", "intent": "ab"[i % 2]}) for i in range(40)]
    data = tmp_path / "in.jsonl"
    data.write_text("\n".join(rows))
    sizes = ["data.sizes=[200,20,20]", "model.hidden_dim=16", "model.embedding_dim=8", "trainer.max_epochs=1"]
    with changed(setting):
        for arguments in (
            ["train", *sizes, "mechanism=l1", "training.epsilon=8", f"output_dir={tmp_path}/lstm"],
            ["train", *sizes, f"output_dir={tmp_path}/topics"],
            [
                "rewrite",
                f"input={data}",
                f"output={tmp_path}/out.jsonl",
                HARMLESS,
                f"model_dir={tmp_path}/topics/model",
            ],
            ["adapt", f"examples={data}", "public=true", f"output_dir={tmp_path}/adapted", "trainer.max_epochs=1"],
            ["synthesize", f"input={data}", f"output={tmp_path}/new.jsonl", HARMLESS, "labels=drop"],
            ["evaluate", f"train={data}", f"test={data}"],
            ["evaluate", f"train={data}", f"test={data}", "classifier=lstm"],
            ["audit", "mechanism=l1", "epsilon=1", "dim=3", "trials=200", "confidence=0.999999999"],
        ):
            done = adept_here(*arguments)
            assert done.returncode == 0, (arguments, done.stderr)
