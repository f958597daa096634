"""``adept plan``: what a release is expected to be worth, before any private record is read."""

import dataclasses
import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from tiny import Run

from adept.cli.config import PlanConfig
from adept.cli.overrides import FILES
from adept.report.plan import PUBLIC_ROWS

LABELS = ("late_fee", "opening_hours", "renew_loan")
TEXTS = {
    "late_fee": ["why do i owe four euros", "the fine is too high", "can i pay the fee by card", "<b>fee</b> & more"],
    "opening_hours": ["are you open on saturday", "when do you close", "opening times please", "open on monday?"],
    "renew_loan": ["please extend my loan", "renew my books", "keep the novel for longer", "renewal is refused"],
}
SECRET = "zebra"


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    path = tmp_path / "public_examples.jsonl"
    rows = [{"text": text, "intent": label} for label, texts in TEXTS.items() for text in texts]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def flat(text: str) -> str:
    return " ".join(text.split())


def test_names_alone_give_a_table_of_seven_budgets_with_verdicts_and_rows(adept_here: Run, topic_run: Path) -> None:
    done = adept_here("plan", f"model_dir={topic_run}", f"label_set=[{','.join(LABELS)}]", "expected_rows=300")
    assert done.returncode == 0, done.stderr
    offers = re.findall(r"^adept (\w+) +(\d+) .* (worth it|not worth it|too close to call)", done.stdout, re.MULTILINE)
    assert [(name, budget) for name, budget, _ in offers] == [
        ("rewrite", "4"), ("rewrite", "8"), ("rewrite", "12"), ("rewrite", "16"),
        ("synthesize", "1"), ("synthesize", "2"), ("synthesize", "4"),
    ]  # fmt: skip
    assert "usual for so many labels, not measured" in done.stdout
    assert "Labels: 3. Rows: 300, at most 1 of a person. No private record was read." in flat(done.stdout)
    assert PUBLIC_ROWS in done.stdout
    assert "measured with the packaged model" in done.stdout


def test_a_page_holds_the_plan_escaped_and_names_no_file(
    adept_here: Run, topic_run: Path, examples: Path, tmp_path: Path
) -> None:
    odd = "<script>alert(1)</script>"
    with examples.open("a") as file:
        file.writelines(json.dumps({"text": f"an odd request {number}", "intent": odd}) + "\n" for number in range(2))
    given = [f"examples={examples}", "public=true", "expected_rows=120", "max_records_per_person=3"]
    done = adept_here("plan", f"model_dir={topic_run}", *given, f"output_dir={tmp_path}/plan")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "plan" / "plan.html").read_text()
    assert page.count('<td data-label="verdict">') == 7  # cells that stand below each other on a phone
    assert "<script" not in page
    assert not re.search(r"(src|href)=|https?:", page)
    assert str(tmp_path) not in page
    assert examples.name not in page
    assert "What is free" in page
    assert "Labels: 4. Rows: 120, at most 3 of a person." in flat(page)
    assert "measured on 14 public texts" in page
    result = json.loads((tmp_path / "plan" / "result.json").read_text())
    spent = {(offer["command"], offer["epsilon"]): offer["person_epsilon"] for offer in result["offers"]}
    assert spent["rewrite", 8.0] == 24.0
    assert spent["synthesize", 2.0] == 2.0
    assert str(tmp_path) not in json.dumps(result)


_opened: list[str] = []
_watching: list[bool] = []


def _note_opened(event: str, arguments: tuple[object, ...]) -> None:
    if _watching and event == "open":
        _opened.append(str(arguments[0]))


sys.addaudithook(_note_opened)


def test_no_private_file_is_opened_and_no_option_names_one(
    adept_here: Run, topic_run: Path, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file that is opened below the directory is the public one; private records lie beside it."""
    private = tmp_path / "in.jsonl"
    private.write_text(json.dumps({"text": SECRET, "intent": "late_fee"}) + "\n")
    monkeypatch.chdir(tmp_path)
    _opened.clear()
    _watching.append(True)
    try:
        done = adept_here("plan", f"model_dir={topic_run}", f"examples={examples}", "public=true", "expected_rows=90")
    finally:
        _watching.clear()
    assert done.returncode == 0, done.stderr
    mine = {Path(name).resolve() for name in _opened if not name.isdigit()}
    assert examples.resolve() in mine
    assert private.resolve() not in mine
    assert {path for path in mine if path.is_relative_to(tmp_path.resolve())} == {examples.resolve()}
    assert SECRET not in done.stdout + done.stderr
    refused = adept_here("plan", f"input={private}", "expected_rows=90")
    assert (refused.returncode, "plan has no option input" in refused.stderr) == (2, True)
    files = {field.name for field in dataclasses.fields(PlanConfig)} & FILES
    assert files == {"examples", "test", "label_descriptions", "model_dir", "output_dir"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["label_set=[late_fee]", "expected_rows=100"], "every text has the same label"),
        (
            ["label_set=[17,18]", "expected_rows=100"],
            "no public sentence is found by the names of 2 of 2 labels, such as '17'",
        ),
        (
            ["label_set=[fee,17]", "expected_rows=100"],
            "no public sentence is found by the names of 1 of 2 labels, such as '17'",
        ),
        (["label_set=[late fee,renew loan]", "expected_rows=0"], "without rows nothing can be added"),
        (["label_set=[späte gebühr,öffnungszeiten,verlängerung]", "expected_rows=100"], "do not look like English"),
        (["label_set=[fee,loan,open]", "expected_rows=2"], "fewer rows than labels"),
        (["label_set=[fee,Fee ,loan]", "expected_rows=9"], "count as different: 'Fee', 'fee'"),
        (
            [f"label_set=[{','.join(f'topic{i} loan' for i in range(1000))}]", "expected_rows=9000"],
            "1,000 labels: the curves",
        ),
    ],
)
def test_special_cases_have_a_line(adept_here: Run, topic_run: Path, options: list[str], said: str) -> None:
    done = adept_here("plan", f"model_dir={topic_run}", *options)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout


def test_without_rows_nothing_is_offered_and_nothing_is_released(
    adept_here: Run, topic_run: Path, examples: Path
) -> None:
    done = adept_here("plan", f"model_dir={topic_run}", f"examples={examples}", "public=true", "expected_rows=0")
    assert done.stdout.startswith("Do not release: no budget is expected to be better than what is free")
    assert "adept rewrite  " not in done.stdout


ODD = ("don't know", "a,b", "=x y", "$HOME `id`", "17")  # what a shell and the command line read in their own way


def test_a_recommended_command_runs_as_it_is_copied(adept_here: Run, topic_run: Path, tmp_path: Path) -> None:
    """It has the labels, columns and bounds with which the plan was made, for each of its two commands."""
    labels, names = tmp_path / "labels.txt", [*ODD, "late fee"]
    labels.write_text("".join(f"{name}\n" for name in names))
    columns = ["text_column=what they say", "label_column=kind", "delimiter=semicolon", "max_records_per_person=2"]
    done = adept_here("plan", f"model_dir={topic_run}", f"label_set=@{labels}", "expected_rows=9000", *columns)
    assert done.returncode == 0, done.stderr
    private = tmp_path / "private.csv"
    rows = "".join(f'"can i pay my fee {row}";"{name}";p{row}\n' for row, name in enumerate(names))
    private.write_text(f"what they say;kind;COLUMN\n{rows}")
    commands = [line for line in done.stdout.splitlines() if line.startswith("adept ") and "input=FILE" in line]
    assert [command.split()[1] for command in commands] == ["synthesize", "rewrite"]
    for command in commands:
        filled = command.replace("input=FILE", f"input={private}").replace("=DIR", f"={topic_run}")
        written = filled.replace("=NEWFILE", f"={tmp_path}/{command.split()[1]}.csv")
        ran = adept_here(*shlex.split(written)[1:], "ledger=none", "accept_private_model=true")
        assert ran.returncode == 0, ran.stderr
        assert "at most 2 records" in flat(ran.stdout)
    many = adept_here(
        "plan", f"model_dir={topic_run}", f"label_set=[{','.join(f'topic{i} loan' for i in range(200))}]",
        "expected_rows=90000",
    )  # fmt: skip
    assert "label_set=@LABELS.txt" in many.stdout


def test_files_that_do_not_fit_each_other_are_noted(adept_here: Run, topic_run: Path, examples: Path) -> None:
    given = [f"model_dir={topic_run}", f"examples={examples}", "public=true", "expected_rows=90"]
    test = examples.with_name("test.jsonl")
    test.write_text('{"text": "When do you close", "intent": "opening_hours"}\n' * 2)
    done = adept_here("plan", *given, f"test={test}")
    assert "note: 2 of 2 texts of test also occur in examples, apart from case and spaces" in done.stdout
    test.write_text('{"text": "When do you close", "intent": "Opening_Hours"}\n' * 2)
    refused = adept_here("plan", *given, f"test={test}")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "examples and test have no label in common" in refused.stderr


def test_a_directory_that_is_taken_is_said_before_anything_is_computed(
    adept_here: Run, topic_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[object] = []
    monkeypatch.setattr("adept.cli.plan.load_model", computed.append)
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan" / "plan.html").touch()
    given = ["label_set=[fee,loan]", "expected_rows=9", f"output_dir={tmp_path}/plan"]
    refused = adept_here("plan", f"model_dir={topic_run}", *given)
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n"), computed) == (2, "", 1, [])


def test_accuracies_of_few_public_texts_are_called_uncertain(adept_here: Run, topic_run: Path, examples: Path) -> None:
    examples.write_text("".join(examples.read_text().splitlines(keepends=True)[::4]))  # one of each label
    done = adept_here("plan", f"model_dir={topic_run}", f"examples={examples}", "public=true", "expected_rows=90")
    assert re.search(
        r"the label with the nearest name +\d\.\d\d ± 0\.[345]\d \(measured on 3 public texts\)", done.stdout
    )
    assert "No rewrites of public texts were measured, so these accuracies are guesses" in done.stdout
    assert "note: fewer than 18 public texts were judged: a guess" in done.stdout
    assert (
        "fewer than"
        not in adept_here("plan", f"model_dir={topic_run}", "label_set=[fee,loan]", "expected_rows=9").stdout
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["expected_rows=100"], "label_set must be given, got nothing"),
        (["label_set=[a,b]"], "expected_rows must be given"),
        (["label_set=[a,b]", "expected_rows=-1"], "expected_rows must be an integer between 0"),
        (["examples={examples}", "expected_rows=9"], "public must be true with examples or test"),
        (
            ["examples={examples}", "public=true", "label_set=[late_fee,fare]", "expected_rows=9"],
            "label_set must hold the labels",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(adept_here: Run, examples: Path, options: list[str], said: str) -> None:
    refused = adept_here("plan", *(option.format(examples=examples) for option in options))
    assert (refused.returncode, refused.stderr.count("\n"), said in refused.stderr) == (2, 1, True), refused.stderr


@pytest.mark.parametrize("command", ["rewrite", "synthesize"])
def test_a_dry_run_without_epsilon_points_to_the_plan(adept_here: Run, tmp_path: Path, command: str) -> None:
    for output in ([], [f"output={tmp_path}/out.jsonl"]):
        refused = adept_here(command, f"input={tmp_path}/none.jsonl", "dry_run=true", *output)
        assert refused.returncode == 2
        assert "adept plan label_set=[A,B] expected_rows=N compares budgets" in refused.stderr
        assert refused.stderr.count("\n") == 1
