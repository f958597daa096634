"""Help reads options from the configurations: it says what the classes say, of every option, at once."""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, ClassVar

import pytest
from omegaconf import DictConfig, OmegaConf
from tiny import Run

from adept.__main__ import COMMANDS
from adept.cli.help import ELSEWHERE as RENAMED
from adept.cli.help import (
    SWEEPING,
    check_options,
    configuration,
    groups,
    help_text,
    mechanism_options,
    names,
    options,
    options_of,
    write_out,
)
from adept.errors import ConfigurationError, typed_as
from adept.mechanisms import BY_NAME

LARGEST, SMALLEST = 1 << 9, 2.5


@dataclass
class Inner:
    """Options inside others. And more of them.

    Attributes:
        rate: How fast.
    """

    rate: float = SMALLEST


@dataclass
class Outer:
    """A configuration of every form.

    First: not a heading,
        because no option stands below it.

    First, and what belongs to it:
        must: A sentence
            on two lines.
        told: here, with a colon: the second
            word: of a line is no option.

    Second:
        names: Some.
        after: It follows.

    Raises:
        Nothing: that is an option.
    """

    must: str = "???"
    told: int = LARGEST
    names: list[str] = field(default_factory=lambda: ["a", "b"])
    inner: Inner = field(default_factory=Inner)
    after: bool | None = None
    parts: dict[str, Any] = field(default_factory=dict)
    constant: ClassVar[int] = 3


def leaves(config: DictConfig, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Names and values of a configuration."""
    for name in config:
        if not OmegaConf.is_missing(config, name) and isinstance(config[name], DictConfig):
            yield from leaves(config[name], f"{prefix}{name}.")
        else:
            value = "???" if OmegaConf.is_missing(config, name) else config[name]
            yield f"{prefix}{name}", OmegaConf.to_object(value) if OmegaConf.is_config(value) else value


@dataclass
class Child(Outer):
    """A child.

    Attributes:
        must: Another sentence.
    """

    must: str = "given"


def test_fields_are_read_with_headings_sentences_and_defaults() -> None:
    found, first = list(options_of(Child)), "First, and what belongs to it"
    assert [(f.name, f.heading, f.sentence, f.default, f.kind) for f in found] == [
        ("must", "", "Another sentence.", "given", str),
        ("told", first, "here, with a colon: the second word: of a line is no option.", 512, int),
        ("names", "Second", "Some.", ["a", "b"], list[str]),
        ("inner.rate", "inner: Options inside others. And more of them", "How fast.", 2.5, float),
        ("after", "Second", "It follows.", None, bool | None),
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_the_options_that_the_configuration_has(command: str) -> None:
    schema = configuration(command)
    read = {f.name: f.default for f in options_of(schema)}
    assert read == dict(leaves(OmegaConf.structured(schema)))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_a_command_has_one_sentence(command: str) -> None:
    found = options(command)
    assert found
    assert [field.name for field in found if not field.sentence.endswith(".")] == []
    assert len({field.name for field in found}) == len(found)


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_every_option_of_a_mechanism_has_a_sentence(name: str) -> None:
    found = mechanism_options(name)
    assert [field.name for field in found if not field.sentence] == []
    known = set(OmegaConf.structured(BY_NAME[name])) - {"epsilon", "clip_norm"}
    assert {field.name.removeprefix("mechanism.") for field in found} == known


def test_help_of_every_command_imports_nothing_heavy() -> None:
    code = (
        "import sys, adept.__main__ as m\n"
        "status = max(m.dispatch([c, '--help']) for c in m.COMMANDS)\n"
        "heavy = {'torch', 'hydra', 'omegaconf', 'numpy', 'scipy', 'rich'} & set(sys.modules)\n"
        "sys.exit(status or (f'imported {heavy}' if heavy else 0))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(f"adept {command}: " in done.stdout for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_lists_every_option_with_its_default_and_how_the_command_is_called(command: str) -> None:
    text = help_text(command, COMMANDS[command], [])
    assert f"adept {command} " in text
    for found in options(command):
        star = "*" if found.default == "???" else " "
        shown = "" if found.default in (None, "???") else typed_as(found.default)
        assert f"\n{star} {found.name}={shown}" in text


def test_help_names_a_commands_groups_and_the_options_of_a_chosen_mechanism() -> None:
    assert groups("rewrite") == {"mechanism": None}
    assert "experiment=" not in help_text("rewrite", "", [])
    assert names("experiment", "train") == ["atis_l1", "atis_original", "atis_sqrt_n", "large", "utterances"]
    assert "experiment=NAME" in help_text("train", "", [])
    rewrite = " ".join(help_text("rewrite", "", []).split())
    assert all(f"{name} |" in rewrite for name in sorted(BY_NAME)[:-1])
    assert "mechanism.delta=1e-06" in help_text("rewrite", "", ["mechanism=gaussian"])
    assert "mechanism.delta" not in help_text("rewrite", "", ["mechanism=l1"])


@pytest.mark.parametrize(
    ("command", "argument", "message"),
    [
        ("rewrite", "imput=x", "rewrite has no option imput: did you mean input?"),
        ("rewrite", "--epsilon=8", "rewrite has no flag --epsilon=8: write epsilon=8\n"),
        ("rewrite", "--dry-run", "rewrite has no flag --dry-run: write dry_run=...\n"),
        ("train", "--seeds=3", "train has no flag --seeds=3: write seed=3\n"),
        *(
            ("train", flag, f"no flag {flag.split('=')[0]}: --config-dir DIR reads")
            for flag in ("-cp", "--config-path=x")
        ),
        *(("train", flag, f"no flag {flag}: leave it out, as a command runs once\n") for flag in ("-r", "--run")),
        *(
            ("train", flag, f"no flag {flag}: adept train --help lists all options, and --cfg job")
            for flag in ("-p", "-sc")
        ),
        *(
            ("rewrite", f"--cfg={kind}", "--cfg must be followed by job, got something else")
            for kind in ("hydra", "all")
        ),
        ("evaluate", "CLASSIFIER=text", "did you mean classifier?"),
        ("train", "mechanism=L1", "got L1: did you mean l1?"),
        ("rewrite", "lables=drop", "did you mean labels?"),
        ("train", "modle.latent_dim=3", "did you mean model.latent_dim?"),
        ("train", "data.text_column=utterance", "did you mean text_column?"),
        ("train", "data=atsi", "data must be one of air_travel, atis, files, snips, got atsi: did you mean atis?"),
        ("rewrite", "mechanism=-1", "got -1"),
        (
            "rewrite",
            "utterances.txt",
            "an option is written NAME=VALUE, got utterances.txt: adept rewrite --help lists them",
        ),
        (
            "train",
            "experiment=demo",
            "experiment must be one of atis_l1, atis_original, atis_sqrt_n, large, utterances, got demo",
        ),
        ("study", "figure.format=pdf", "study has no option figure.format: adept study --help lists its options"),
        (
            "study",
            "figure.width=3.4in",
            "figure.width must be a number, got 3.4in: write figure.width=3.4, for example",
        ),
        ("train", "model.latent_dim=x", "write model.latent_dim=32, for example"),
        (
            "train",
            "output_dir=runs/${seed}",
            "output_dir must be written out, got runs/${seed}: there are no interpolations",
        ),
        ("train", "output_dir=${oc.env:HOME}/x", "output_dir must be written out"),
        ("train", "mechanism=mine.Laplace", "got mine.Laplace: did you mean mine:Laplace?"),
        ("audit", "mechanism=mine.inner.Laplace", "did you mean mine.inner:Laplace?"),
        ("compare", "qqq=1", "adept compare --help lists its options"),
        ("ledger", "nowhere.ledger", "ledger must be a file, got nowhere.ledger"),
    ],
)
def test_a_misspelt_option_is_answered_with_the_nearest_one(
    adept_here: Run, command: str, argument: str, message: str
) -> None:
    done = adept_here(command, argument)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert message in done.stderr


def test_names_of_other_programs_are_answered_with_options_that_the_command_has() -> None:
    for command in COMMANDS:
        known = [option.name for option in options(command)] + ["sweep_dir"] * (command in SWEEPING)
        for name in (name for name in RENAMED if name.partition(".")[0] not in known):
            with pytest.raises(ConfigurationError) as caught:
                check_options(command, [f"{name}=x"])
            meant = re.search(r"did you mean ([^?=]+)", str(caught.value))
            assert meant is None or meant[1] in known, (command, name)


def test_an_interpolation_in_quotes_or_of_no_option_is_a_name() -> None:
    check_options("train", ["output_dir='runs/${seed}'", "text_column=price_${usd}"])
    check_options("rewrite", ["label_set=['${seed}',b]"])


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("rewrite", ["input=a=b", "mechanism.delta=1e-6", "decoding.top_k=1", "--cfg", "job"]),
        ("audit", ["mechanism=module:name", "epsilon=4"]),
        ("train", ["++mechanism=l1", "+data=files", "+data.path=x"]),
    ],
)
def test_options_that_exist_pass_with_hydras_signs_too(command: str, arguments: list[str]) -> None:
    check_options(command, write_out(command, arguments))
    with pytest.raises(ConfigurationError):
        check_options(command, write_out(command, [*arguments, "+colour=red"]))


@pytest.mark.parametrize("sign", ["", "+", "++"])
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "name", ["max_records_per_persn", "x", "decoding.x", "group", "hydra.run.dir", "hydra/launcher"]
)
def test_no_command_takes_a_key_that_it_does_not_have_whatever_its_sign(command: str, name: str, sign: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{command} has no option {re.escape(name)}: "):
        check_options(command, write_out(command, [f"{sign}{name}=1"]))


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        ("rewrite", ["epsilon=8", "epsilon=4"], "epsilon must be given once, got it 2 times"),
        ("rewrite", ["epsilon=8", "+epsilon=8", "++epsilon=8"], "epsilon must be given once, got it 3 times"),
        ("rewrite", ["mechanism=l1", "mechanism=sqrt_n"], "mechanism must be given once"),
        (
            "rewrite",
            ["mechanism=l1", "mechanism.epsilon=8", "epsilon=8"],
            "epsilon must be given once, got epsilon and mechanism.epsilon",
        ),
        ("audit", ["foreign=a:b", "mechanism=a:c"], "foreign must be given once"),
        (
            "audit",
            ["mechanism=a:b", "mechanism.epsilon=4"],
            "foreign must be given once, got foreign and mechanism.epsilon",
        ),
        ("audit", ["foreign=a:b", "mechanism=l1"], "foreign must be given once, got foreign and mechanism"),
        ("rewrite", ["mechanism@x=l1"], "rewrite has no option mechanism@x"),
        ("rewrite", ["keep_columns.0=id"], "rewrite has no option keep_columns.0"),
        ("rewrite", ["decoding={top_k:3}"], "decoding must be set by its options"),
        ("train", ["data={foo:1}"], "data must be one of"),
        ("train", ["+mechanism=l1,sqrt_n"], "mechanism must be one of"),
        *[
            (command, [f"~{name}"], f"no option can be deleted, got ~{name}")
            for command, name in (("rewrite", "epsilon"), ("rewrite", "ledger=null"), ("synthesize", "label_set"))
        ],
    ],
)
def test_an_option_is_set_once_and_never_deleted(command: str, arguments: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        check_options(command, write_out(command, arguments))


def test_values_are_written_as_they_would_be_typed() -> None:
    assert [typed_as(value) for value in (None, True, 1e-6, 8.0, ["a", 1], 3)] == [
        "null",
        "true",
        "1e-06",
        "8",
        "[a,1]",
        "3",
    ]


def test_help_may_come_first(adept_here: Run) -> None:
    assert adept_here("help", "rewrite").stdout == adept_here("rewrite", "--help").stdout
    assert adept_here("help").stdout == adept_here().stdout == adept_here("--help").stdout


def test_a_misspelt_command_is_answered_with_the_nearest_one(adept_here: Run) -> None:
    assert "did you mean rewrite?" in adept_here("rewrit", "--help").stderr


ELSEWHERE = {"epsilon_per", "classifier", "source", "epsilon", "randomness"}  # refused when they are used


def holders(schema: type[Any], prefix: str = "") -> Iterator[tuple[str, type[Any]]]:
    """A configuration and those inside it, with what their options begin with."""
    yield prefix, schema
    for part in fields(schema):
        if is_dataclass(part.default_factory):
            yield from holders(part.default_factory, f"{prefix}{part.name}.")  # type: ignore[arg-type]


def choices_in(sentence: str) -> list[str]:
    """The choices of a sentence such as ``What happens: copy (not private) | drop.``"""
    first, *others = sentence.split(" | ")
    return [re.sub(r" \(.*", "", first).split()[-1], *(re.split(r"[ .;,:]", other)[0] for other in others)]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_choices_that_help_names_are_those_that_are_accepted(command: str) -> None:
    schema = configuration(command)
    classes, groups_ = dict(holders(schema)), groups(command)
    for option in options(command):
        group, _, name = option.name.rpartition(".")
        choices = choices_in(option.sentence)
        if len(choices) < 2 or option.name in groups_ or name in ELSEWHERE:
            continue
        kind = classes[f"{group}." if group else ""]
        assert [choice for choice in choices if choice not in refusal(kind, **{name: "nonsense"})] == [], option.name
        assert [choice for choice in choices if "must be one of" in refusal(kind, **{name: choice})] == [], option.name


def refusal(kind: type[Any], /, **given: str) -> str:
    """Return the message with which a configuration refuses values; empty if it accepts them."""
    if "output_dir" in kind.__dataclass_fields__:
        given["output_dir"] = "x"
    try:
        kind(**given)
    except ConfigurationError as error:
        return str(error)
    return ""


def test_no_option_is_also_the_name_of_a_group_that_a_command_does_not_list() -> None:
    from hydra.core.config_store import ConfigStore

    from adept.cli.overrides import register

    register("rewrite")
    stored = {name for name in ConfigStore.instance().repo if not name.endswith(".yaml")}
    named = {field.name.split(".")[0] for field in options("rewrite")} - groups("rewrite").keys()
    assert not stored & named
