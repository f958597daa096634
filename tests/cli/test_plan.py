"""``adept plan``: what a release is expected to be worth, before any private record is read."""

import dataclasses
import json
import re
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
    assert "300 rows and 3 labels. No private record was read." in flat(done.stdout)
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
    assert "<script" not in page
    assert not re.search(r"(src|href)=|https?:", page)
    assert str(tmp_path) not in page
    assert examples.name not in page
    assert "What is free" in page
    assert "A person has at most 3 rows." in flat(page)
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
        (["label_set=[17,18]", "expected_rows=100"], "2 of 2 labels have names without meaning, such as '17'"),
        (["label_set=[fee,17]", "expected_rows=100"], "1 of 2 labels have names without meaning, such as '17'"),
        (["label_set=[late fee,renew loan]", "expected_rows=0"], "without rows nothing can be added"),
        (["label_set=[späte gebühr,öffnungszeiten,verlängerung]", "expected_rows=100"], "do not look like English"),
        (["label_set=[fee,loan,open]", "expected_rows=2"], "fewer rows than labels"),
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
    assert done.stdout.startswith("Do not release: what is free is worth more")
    assert "adept rewrite  " not in done.stdout


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
