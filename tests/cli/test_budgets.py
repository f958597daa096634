"""The table from which a user chooses epsilon: of the file it reads the header, and nothing else."""

import re
from pathlib import Path

import pytest
from tiny import Run

from adept.cli import budgets
from adept.mechanisms.central_counts import Votes
from adept.mechanisms.odds import ALL_CASES, cases, good_enough
from adept.rewriting import expectation
from adept.rewriting.expectation import ADVICE, TABLE_BUDGETS
from adept.synthesis.synthesizer import share_standing_out

BROKEN = b'customer,text,intent\n"zebra,\xff\xfe\x00 no record\n,,,,\n'


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A csv whose records would end a release: whoever reads one of them fails, or prints a zebra."""
    (tmp_path / "in.csv").write_bytes(BROKEN)
    return tmp_path / "in.csv"


def budgets_shown(printed: str) -> list[str]:
    return re.findall(r"^(\d+) +at most", printed, re.MULTILINE) + re.findall(rf"^(\d+) +{ALL_CASES}", printed, re.M)


def test_six_budgets_stand_beside_what_they_keep_and_the_records_are_not_read(
    adept_here: Run, topic_run: Path, broken: Path
) -> None:
    done = adept_here(
        "rewrite", f"model_dir={topic_run}", f"input={broken}", "dry_run=true", "mechanism=learned_codebook"
    )
    assert done.returncode == 0, done.stderr
    assert budgets_shown(done.stdout) == ["1", "2", "4", "8", "12", "16"]
    assert "at most 75 of 100 cases" in done.stdout
    assert "an attacker picks the right one of 1,000 candidates in" in done.stdout
    assert f"Of {broken} nothing was read beyond its header" in " ".join(done.stdout.split())
    assert ADVICE in done.stdout
    assert "labels=joint_response" in done.stdout
    assert "zebra" not in done.stdout + done.stderr
    assert sorted(path.name for path in broken.parent.iterdir()) == ["in.csv"]


def test_public_sentences_are_rewritten_at_every_budget(
    adept_here: Run, topic_run: Path, broken: Path, tmp_path: Path
) -> None:
    (tmp_path / "public.txt").write_text("".join(f"show me fares from {city} to boston\n" for city in "abcdefghij"))
    done = adept_here("rewrite", f"model_dir={topic_run}", f"input={broken}", "dry_run=true",
                      f"expect={tmp_path}/public.txt", "public=true", "mechanism=learned_codebook")  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = done.stdout.partition("one rewrite of each")[2].splitlines()
    assert "show me fares from a to boston" in shown[1]
    assert "show me fares from b to boston" in shown[1]
    begun = [line.split()[0] for line in shown if line[:1].isdigit()]  # a long rewrite goes on in the next line
    assert begun == [f"{epsilon:g}" for epsilon in TABLE_BUDGETS]
    assert "estimated on 10 public texts" in done.stdout


def test_a_person_with_several_records_has_a_column(adept_here: Run, topic_run: Path, broken: Path) -> None:
    command = ["rewrite", f"model_dir={topic_run}", f"input={broken}", "dry_run=true", "mechanism=learned_codebook"]
    persons = ["person_column=customer", "max_records_per_person=4"]
    done = adept_here(*command, *persons)
    assert "a person with 4 records in" in done.stdout
    assert re.search(r"^2 +at most 8 of 1,000 cases +at most 75 of 100 cases", done.stdout, re.MULTILINE)
    assert re.search(rf"^16 +at most 9,999 of 10,000 cases +{ALL_CASES}", done.stdout, re.MULTILINE)
    assert "a person with" not in adept_here(*command, *persons, "epsilon_per=person").stdout


def test_a_missing_column_or_file_is_refused_and_a_release_still_needs_its_output(
    adept_here: Run, topic_run: Path, broken: Path
) -> None:
    command = ["rewrite", f"model_dir={topic_run}", "dry_run=true"]
    for override, said in (
        ((f"input={broken}", "text_column=utterance"), "no column named 'utterance'"),
        ((f"input={broken.parent}/none.csv",), "cannot read"),
        ((f"input={broken}", "epsilon=8"), "output must be given, got nothing: add output="),
        ((f"input={broken}", "dry_run=false", "epsilon=8"), "output must be given"),
    ):
        refused = adept_here(*[word for word in command if word.split("=")[0] not in str(override)], *override)
        assert (refused.returncode, refused.stderr.count("\n"), said in refused.stderr) == (2, 1, True), refused.stderr


def test_synthesize_says_from_which_share_of_the_rows_on_a_count_stands_out(
    adept_here: Run, topic_run: Path, broken: Path
) -> None:
    command = ["synthesize", f"model_dir={topic_run}", f"input={broken}", "dry_run=true", "label_set=[fare,flight]"]
    done = adept_here(*command)
    assert done.returncode == 0, done.stderr
    assert budgets_shown(done.stdout) == ["1", "2", "4", "8", "12", "16"]
    for rows in ("1,000 rows", "10,000 rows", "100,000 rows"):
        assert rows in done.stdout
    assert ADVICE in done.stdout
    assert "zebra" not in done.stdout + done.stderr
    own = adept_here(*command, "expected_rows=3000").stdout
    assert "3,000 rows" in own
    assert "10,000 rows" not in own
    refused = adept_here(*command, "expected_rows=0")
    assert (refused.returncode, "expected_rows must be at least 1" in refused.stderr) == (2, True)


def test_budgets_that_buy_nothing_above_names_are_known_from_the_number_of_rows(
    adept_here: Run, topic_run: Path, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The records are not read, and codes for labels name nothing."""
    for module in (budgets, expectation):
        monkeypatch.setattr(module, "is_packaged", lambda _: True)
    monkeypatch.setattr(budgets, "spell_label_set", lambda _, labels: [(name,) * (name[0] != "X") for name in labels])
    command = [f"model_dir={topic_run}", f"input={broken}", "dry_run=true"]
    shown = {
        (name, option): " ".join(adept_here(name, *command, option).stdout.split())
        for name in ("rewrite", "synthesize")
        for option in ("label_set=[fare,flight]", "label_set=[X1,X2]", "labels=drop")
    }
    found = {asked for asked, text in shown.items() if "knows from the labels' names" in text}
    rows = "only if the file has at least about 68 rows at epsilon 1, 34 at 2, 17 at 4,"
    assert rows in shown["synthesize", "label_set=[fare,flight]"]
    assert ("rewrite", "label_set=[fare,flight]") in found
    assert ("synthesize", "label_set=[X1,X2]") not in found
    assert not {("rewrite", "labels=drop"), ("synthesize", "labels=drop")} & found
    assert not any("zebra" in text for text in shown.values())


def test_replacing_a_row_spends_twice_the_budget_of_adding_it(adept_here: Run, topic_run: Path, broken: Path) -> None:
    """An attacker who knows 1,000 candidates asks which one was there, so two counts may move."""
    command = ["synthesize", f"model_dir={topic_run}", f"input={broken}", "dry_run=true", "label_set=[fare,flight]"]
    assert re.search(r"^4 +at most 75 of 100 cases", adept_here(*command).stdout, re.MULTILINE)
    assert re.search(r"^8 +at most 75 of 100 cases", adept_here(*command, "neighbours=replace").stdout, re.MULTILINE)


def test_more_rows_and_larger_budgets_let_smaller_parts_stand_out() -> None:
    def share(epsilon: float, rows: int) -> float | None:
        return share_standing_out(
            Votes(epsilon=epsilon, neighbours="add_or_remove", votes_per_person=1), rows, texts=999, labels=2
        )

    assert share(0.01, 100) is None
    found = [share(epsilon, rows) or 1 for epsilon, rows in ((0.5, 1_000), (1, 1_000), (1, 10_000), (8, 10_000))]
    assert found == sorted(found, reverse=True)
    assert found[1] == pytest.approx(10 * found[2])


@pytest.mark.parametrize(
    ("epsilon", "said"),
    [
        (1, "3 of 1,000 cases"),
        (4, "6 of 100 cases"),
        (8, "75 of 100 cases"),
        (12, "994 of 1,000 cases"),
        (90, ALL_CASES),
    ],
)
def test_a_bound_is_a_count_of_cases_and_never_below_itself(epsilon: float, said: str) -> None:
    assert cases(good_enough(1 / 1000, epsilon=epsilon)) == said
    for thousandth in range(1, 1000):
        part, whole = cases(thousandth / 1000).removesuffix(" cases").replace(",", "").split(" of ")
        assert int(part) / int(whole) >= thousandth / 1000
