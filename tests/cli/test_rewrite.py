"""The command as a pipeline meets it: streams, signals, resumption, ledger, and a dry run that releases nothing."""

import json
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

import forked
import pytest
from forked import PIPE, Forked
from hanging import wait_until
from made_statements import statement
from tiny import Run

from adept import rewrite_frame
from adept.cli.console import progress
from adept.cli.rewrite import summary
from adept.errors import ReleaseRefused
from adept.mechanisms import Gaussian, Identity, L1Laplace, OriginalLaplace, RandomizedResponse
from adept.release.ledger.claims import Ledger
from adept.release.statement.statement import Shuffled


def lines(path: Path, records: int) -> Path:
    path.write_text("".join(json.dumps({"text": f"fare {i}", "intent": "fare"}) + "\n" for i in range(records)))
    return path


def test_a_dry_run_checks_and_counts_and_releases_nothing(adept_here: Run, tiny_l1_run: Path, tmp_path: Path) -> None:
    given = lines(tmp_path / "in.jsonl", 7)
    command = ["rewrite", f"model_dir={tiny_l1_run}", f"input={given}", f"output={tmp_path}/out.jsonl", "dry_run=true"]
    done = adept_here(*command, "epsilon=8", "labels=randomized_response", "label_set=[fare,flight]", "label_epsilon=2")
    assert done.returncode == 0, done.stderr
    assert "nothing was released" in done.stdout
    assert "epsilon 10 (text 8, label 2)" in done.stdout
    assert done.stdout.startswith("7 records would be rewritten by l1")
    numbers, _, statement = done.stdout.partition("\n\nthe statement would read:\n")
    assert all(word in numbers for word in ("epsilon 10", "(text 8, label 2)"))
    assert "The released latent is 8-LDP" in statement.splitlines()[0]
    assert max(map(len, statement.splitlines())) <= 100
    refused = adept_here(*command, "epsilon=8", "labels=joint_response", "label_set=[fare,flight]")
    assert "mechanism must be learned_codebook or description for labels=joint_response, got l1" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
    given.write_text(given.read_text() + '{"text": 1}\n')
    assert adept_here(*command, "epsilon=8").returncode == 2


def test_what_survives_of_public_texts_of_ones_own_is_told_and_of_the_input_never(
    adept_here: Run, topic_run: Path, tmp_path: Path
) -> None:
    given, public = tmp_path / "in.txt", tmp_path / "public.txt"
    given.write_text("show me the cheapest fare\n" * 9)
    public.write_text("".join(f"show me fares from {city} to boston\n" for city in ("denver", "dallas") * 5))
    (tmp_path / "link.txt").symlink_to(given)
    command = ["rewrite", f"model_dir={topic_run}", f"input={given}", f"output={tmp_path}/out.txt", "epsilon=8"]
    for override, said in (
        ((f"expect={public}",), "public must be true with expect"),
        ((f"expect={given}", "public=true"), "expect must be a file of public texts, got the input"),
        ((f"expect={tmp_path}/link.txt", "public=true"), "got the input"),
        ((f"expect={tmp_path}/none.txt", "public=true"), "none.txt"),
    ):
        refused = adept_here(*command, *override)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1), refused.stderr
        assert said in refused.stderr
    with given.open() as redirected:
        stream = ["input=-", "format=txt", f"expect={given}", "public=true"]
        refused = forked.run(
            *(word for word in command if not word.startswith("input=")), *stream, stdin=redirected.fileno()
        )
    assert (refused.returncode, "got the input" in refused.stderr) == (2, True), refused.stderr
    assert not (tmp_path / "out.txt").exists()
    done = adept_here(*command, f"expect={public}", "public=true")
    assert done.returncode == 0, done.stderr
    assert "estimated on 10 public texts" in done.stderr
    assert "survive" not in (tmp_path / "out.txt.privacy.json").read_text()


def test_public_texts_are_read_as_the_options_say(adept_here: Run, topic_run: Path, tmp_path: Path) -> None:
    rows = "".join(f"show me fares from {city} to boston;{city}\n" for city in ("denver", "dallas") * 5)
    for name in ("in", "public"):
        (tmp_path / name).write_text(rows)
    place = [f"input={tmp_path}/in", f"expect={tmp_path}/public", f"output={tmp_path}/o.csv", f"model_dir={topic_run}"]
    options = ["format=csv", "delimiter=semicolon", "columns=[text,intent]", "public=true", "dry_run=true"]
    done = adept_here("rewrite", *place, *options, "epsilon=8", "ledger=none")
    assert "estimated on 10 public texts" in done.stderr, done.stderr


def test_labels_that_are_one_symbol_with_the_text_are_asked_for_by_name(
    adept_here: Run, tiny_run: Path, tmp_path: Path
) -> None:
    given = lines(tmp_path / "in.jsonl", 7)
    command = ["rewrite", f"model_dir={tiny_run}", f"input={given}", "labels=joint_response", "label_set=[fare,flight]"]
    done = adept_here(*command, f"output={tmp_path}/out.jsonl", "epsilon=4")
    assert done.returncode == 0, done.stderr
    assert "epsilon 4 (text alone 3.3" in done.stdout
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert {row["intent"] for row in written} <= {"fare", "flight"}
    assert "Label and text were drawn as one symbol" in (tmp_path / "out.jsonl.privacy.json").read_text()
    refused = adept_here(*command, f"output={tmp_path}/more.jsonl", "epsilon=4", "label_epsilon=2")
    assert refused.returncode == 2
    assert "label_epsilon must be left out for labels=joint_response" in refused.stderr


def test_a_file_with_labels_under_another_name_is_told_that_none_are_written(
    adept_here: Run, tiny_l1_run: Path, tmp_path: Path
) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "fare to boston", "label": "secret-fare"}\n' * 3)
    command = [
        "rewrite",
        f"model_dir={tiny_l1_run}",
        f"input={tmp_path}/in.jsonl",
        f"output={tmp_path}/out.jsonl",
        "epsilon=8",
    ]
    line = "no labels are written, as no column is called intent: label_column=NAME copies those of another one"
    told = adept_here(*command, "dry_run=true")
    assert line in told.stderr
    assert "secret" not in told.stderr
    for asked in ("label_column=label", "labels=drop", "keep_columns=[label]"):
        assert "no labels" not in adept_here(*command, "dry_run=true", asked).stderr


def test_dropped_columns_are_named_until_a_person_is(adept_here: Run, tiny_l1_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("text,intent,customer,date\nfare to boston,fare,c-17,monday\n")
    command = [
        "rewrite",
        f"model_dir={tiny_l1_run}",
        f"input={tmp_path}/in.csv",
        f"output={tmp_path}/out.csv",
        "epsilon=8",
    ]
    line = (
        "adept: dropped columns: 'customer', 'date'; if one of them names a person, add person_column=NAME "
        "max_records_per_person=N"
    )
    told = adept_here(*command, "dry_run=true")
    assert line in told.stderr.splitlines()
    assert "c-17" not in told.stderr
    kept = adept_here(*command, "dry_run=true", "keep_columns=[date]").stderr
    assert "dropped columns: 'customer'; if" in kept
    named = adept_here(*command, "dry_run=true", "person_column=customer", "max_records_per_person=2").stderr
    assert "dropped columns" not in named


def test_the_ledger_refuses_and_lists(adept_here: Run, tiny_l1_run: Path, tmp_path: Path) -> None:
    given, ledger = lines(tmp_path / "in.jsonl", 7), tmp_path / "ledger.db"
    command = ["rewrite", f"model_dir={tiny_l1_run}", f"input={given}", f"ledger={ledger}", "epsilon=8"]
    assert adept_here(*command, f"output={tmp_path}/a.jsonl").returncode == 0
    refused = adept_here(*command, f"output={tmp_path}/b.jsonl")
    assert refused.returncode == 2
    assert "the ledger holds 7 of the records already" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert adept_here(*command, f"output={tmp_path}/b.jsonl", "again=true").returncode == 0
    listed = adept_here("ledger", f"ledger={ledger}")
    assert listed.returncode == 0, listed.stderr
    assert "16, delta 0, in all releases together" in listed.stdout
    assert "a.jsonl" in "".join(listed.stdout.split())  # a long path goes on in the next line
    approved = adept_here("ledger", f"ledger={ledger}", f"approve={tmp_path}/b.jsonl", "approved_by=J. Doe")
    assert (approved.returncode, approved.stdout.count("J. Doe, 20")) == (0, 1)
    alone = adept_here("ledger", f"ledger={ledger}", f"approve={tmp_path}/b.jsonl")
    assert (alone.returncode, "must be given together" in alone.stderr) == (2, True)
    Ledger(str(tmp_path / "new.db")).close()
    nothing = adept_here("ledger", f"ledger={tmp_path}/new.db")
    assert (nothing.returncode, nothing.stdout.splitlines()[0]) == (0, "0 releases")
    assert "0, delta 0, in all" in nothing.stdout
    (tmp_path / "lost.db").touch(0o600)
    lost = adept_here("ledger", f"ledger={tmp_path}/lost.db")
    assert lost.returncode == 2
    assert "is empty, which a ledger never is" in lost.stderr
    none = adept_here("ledger", f"ledger={tmp_path}/none.db")
    assert (none.returncode, none.stderr.count("\n")) == (2, 1)
    assert not (tmp_path / "none.db").exists()


def test_standard_output_is_written_as_lines_come_and_a_killed_stream_is_continued(
    tiny_l1_run: Path, tmp_path: Path
) -> None:
    """With flush_every=1 a record is out before the next one is in; after a SIGKILL the same rows come again, and the rest."""
    command = ["rewrite", f"model_dir={tiny_l1_run}", "input=-", "output=-", "format=jsonl", "epsilon=8", "flush_every=1",
               f"statement={tmp_path}/s.json", "resume=true", "mechanism=l1"]  # fmt: skip
    given = [json.dumps({"text": f"fare {i}"}).encode() + b"\n" for i in range(4)]
    first = Forked(*command, stdin=PIPE, stdout=PIPE)
    assert first.stdin is not None
    assert first.stdout is not None
    seen = []
    for line in given[:3]:
        first.stdin.write(line)
        first.stdin.flush()
        seen.append(first.stdout.readline())
    first.kill()
    first.communicate()
    assert not (tmp_path / "s.json").exists()
    everything = b"".join(given).decode()
    plain = forked.run(*command[:-2], input=everything)
    assert plain.returncode == 2
    assert "resume=true continues it" in plain.stderr
    second = forked.run(*command, input=everything)
    assert second.returncode == 0, second.stderr
    assert second.stdout.encode().splitlines(keepends=True)[:3] == seen
    assert second.stdout.count("\n") == 4
    assert json.loads((tmp_path / "s.json").read_text())["records"] == 4
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]


def test_nobody_reading_is_status_2_for_a_stream_and_0_for_a_file_that_is_complete(
    tiny_l1_run: Path, tmp_path: Path
) -> None:
    given = lines(tmp_path / "in.jsonl", 40)
    common = ["rewrite", f"model_dir={tiny_l1_run}", f"input={given}", "epsilon=8", "batch_size=4"]
    for extra, status in (
        (["output=-", "format=jsonl", f"statement={tmp_path}/s.json"], 2),
        ([f"output={tmp_path}/out.jsonl"], 0),
    ):
        reading, writing = os.pipe()
        os.close(reading)
        done = Forked(*common, *extra, stdout=writing, stderr=PIPE)
        os.close(writing)
        _, told = done.communicate()
        assert done.returncode == status, told
        assert (b"standard output was closed" in told) == (status == 2)
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 40


def test_sigterm_is_130_and_what_was_drawn_can_be_continued(adept_here: Run, tiny_l1_run: Path, tmp_path: Path) -> None:
    given = lines(tmp_path / "in.jsonl", 4000)
    command = ["rewrite", f"model_dir={tiny_l1_run}", f"input={given}", f"output={tmp_path}/out.jsonl", "epsilon=8",
               "batch_size=1"]  # fmt: skip
    run = Forked(*command, stderr=PIPE)
    log = tmp_path / "out.jsonl.journal-wal"
    wait_until(lambda: (log.exists() and log.stat().st_size > 20_000) or run.poll() is not None, "some draws")
    run.send_signal(signal.SIGTERM)
    _, told = run.communicate()
    assert run.returncode == 130
    assert told.count(b"\n") == 4  # what to expect in three lines, and the interrupt
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", "out.jsonl.journal"}
    refused = adept_here(*command)
    assert refused.returncode == 2
    assert "second release" in refused.stderr
    done = adept_here(*command[:-1], "resume=true", "batch_size=256")
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 4000


@pytest.mark.parametrize("batch_size", [1, 2, 256])
def test_records_count_from_1_in_the_file_and_not_in_a_batch(
    adept_here: Run, tiny_l1_run: Path, tmp_path: Path, batch_size: int
) -> None:
    given = lines(tmp_path / "in.jsonl", 4)
    given.write_text(given.read_text() + '{"utterance": "secret"}\n')
    places = [f"model_dir={tiny_l1_run}", f"input={given}", f"output={tmp_path}/o.jsonl"]
    done = adept_here("rewrite", *places, "epsilon=8", f"batch_size={batch_size}")
    assert done.returncode == 2
    assert "adept: no column named 'text' in record 5" in done.stderr


@pytest.mark.parametrize("field", ["flush_every=0", "samples=0", "batch_size=0"])
def test_impossible_numbers_are_refused(adept_here: Run, tiny_l1_run: Path, tmp_path: Path, field: str) -> None:
    given = lines(tmp_path / "in.jsonl", 2)
    done = adept_here(
        "rewrite", f"model_dir={tiny_l1_run}", f"input={given}", f"output={tmp_path}/o.jsonl", "epsilon=8", field
    )
    assert done.returncode == 2
    assert re.search(f"{field.split('=')[0]} must be (at least|an integer between) 1\\b", done.stderr)


def test_progress_tells_rate_and_time_left_on_a_terminal_and_nothing_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never() -> int:
        raise AssertionError

    with progress("rows", never) as done:
        done(1)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    with progress("rows", lambda: 100) as done:
        for count in range(10, 60, 10):
            done(count)
            time.sleep(0.01)
    with progress("releases") as done:  # an audit alone knows how many
        done(10, 40)
        done(20, 40)
    told = capsys.readouterr().err
    assert "20/40" in told
    assert "50/100" in told
    assert "/s" in told
    assert re.search(r"\d:\d\d:\d\d", told)


@pytest.mark.parametrize("labels", ["randomized_response", "joint_response"])
def test_a_dry_run_finds_a_label_that_is_not_public(
    adept_here: Run, topic_run: Path, labelled_file: Path, tmp_path: Path, labels: str
) -> None:
    budget = ["epsilon=8", *(["label_epsilon=2"] if labels == "randomized_response" else [])]
    command = [
        "rewrite",
        f"model_dir={topic_run}",
        f"input={labelled_file}",
        f"output={tmp_path}/o.jsonl",
        "dry_run=true",
    ]
    command += [*budget, f"labels={labels}", "label_set=[intent_0,other]", "mechanism=description"]
    done = adept_here(*command)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "labels must be in the public label set, got another one in record 2" in done.stderr
    assert "intent_1" not in done.stderr
    assert adept_here(*[part.replace("other]", "intent_1]") for part in command]).returncode == 0


def test_the_default_ledger_counts_releases_of_rows_and_refuses_by_a_limit_alone(
    adept_here: Run, tiny_l1_run: Path, tmp_path: Path
) -> None:
    given = lines(tmp_path / "in.jsonl", 7)
    command = ["rewrite", f"model_dir={tiny_l1_run}", f"input={given}", "epsilon=8"]
    heard = [adept_here(*command, f"output={tmp_path}/{run}.jsonl") for run in range(3)]
    assert [done.returncode for done in heard] == [0, 0, 0]
    assert "released before" not in heard[0].stderr
    assert "7 different records were released before, once; " in heard[1].stderr
    dry = adept_here(*command, f"output={tmp_path}/dry.jsonl", "dry_run=true")  # says what it would bring a record to
    assert "before, up to 3 times; with this release a record has spent up to epsilon 32 in all" in dry.stderr
    assert (
        "7 different records were released before, up to 2 times; with this release a record has spent up to epsilon 24 in all"
        in (heard[2].stderr)
    )
    assert adept_here("ledger", "limit=32").returncode == 0
    assert adept_here(*command, f"output={tmp_path}/3.jsonl").returncode == 0
    for more in ((), ("ledger_limit=99",), ("again=true",)):
        refused = adept_here(*command, f"output={tmp_path}/4.jsonl", *more)
        assert (refused.returncode, "the ledger's limit is epsilon 32" in refused.stderr) == (2, True)
    assert not list(tmp_path.glob("4.*"))
    assert adept_here(*command, f"output={tmp_path}/4.jsonl", "ledger=none").returncode == 0
    assert "4 releases" in adept_here("ledger").stdout


def test_one_row_is_one_record_in_every_format_and_in_python(
    adept_here: Run, tiny_l1_run: Path, tmp_path: Path
) -> None:
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame({"utterance": ["1", "caf\u00e9"], "n": [1, 2]}).to_csv(tmp_path / "a.csv", index=False)
    pandas.DataFrame({"text": ["1", "cafe\u0301"], "n": ["x", "y"]}).to_parquet(tmp_path / "b.parquet")
    (tmp_path / "c.txt").write_text("1\n cafe\u0301 \n", "utf-8")
    ledger = f"{tmp_path}/ledger.db"
    command = ["rewrite", f"model_dir={tiny_l1_run}", "epsilon=8", f"ledger={ledger}"]
    first = adept_here(*command, f"input={tmp_path}/a.csv", f"output={tmp_path}/a.out.csv", "text_column=utterance")
    assert first.returncode == 0, first.stderr
    for name in ("b.parquet", "c.txt"):
        refused = adept_here(*command, f"input={tmp_path}/{name}", f"output={tmp_path}/out.{name}")
        assert "the ledger holds 2 of the records already" in refused.stderr
    options: dict[str, Any] = {
        "epsilon": 8,
        "mechanism": "l1",
        "ledger": ledger,
        "model_dir": tiny_l1_run,
        "statement": tmp_path / "s.json",
    }
    with pytest.raises(ReleaseRefused, match="2 of the records"):
        rewrite_frame(["1", "caf\u00e9"], **options)


def test_columns_that_identify_records_are_read_from_every_format(
    adept_here: Run, tiny_l1_run: Path, tmp_path: Path
) -> None:
    pandas = pytest.importorskip("pandas")
    command = ["rewrite", f"model_dir={tiny_l1_run}", "epsilon=8", f"ledger={tmp_path}/ledger.db"]
    pandas.DataFrame({"text": ["yes", "yes"], "id": [1, 2]}).to_parquet(tmp_path / "a.parquet")
    pandas.DataFrame({"text": ["yes", "yes"], "id": [2, 3]}).to_csv(tmp_path / "b.csv", index=False)
    (tmp_path / "c.txt").write_text("yes\n")
    first = adept_here(
        *command, f"input={tmp_path}/a.parquet", f"output={tmp_path}/a.out.parquet", "record_columns=[text,id]"
    )
    assert first.returncode == 0, first.stderr
    refused = adept_here(*command, f"input={tmp_path}/b.csv", f"output={tmp_path}/b.out.csv")
    assert "the ledger holds 1 of the records already" in refused.stderr
    refused = adept_here(*command, f"input={tmp_path}/c.txt", f"output={tmp_path}/c.out.txt")
    assert "column 'id', by which the ledger identifies records, is missing in record 1" in refused.stderr


LABELS = RandomizedResponse(epsilon=2.0, labels=("fare", "flight"))


def summary_lines(**changes: Any) -> list[str]:
    return summary(statement(epsilon=8.0, **changes), output="out.txt", place="out.txt.privacy.json")


def test_a_release_is_told_in_three_lines() -> None:
    assert summary_lines() == [
        "5 records rewritten by l1: out.txt",
        "guaranteed: epsilon 8; the odds between any two records change at most 2,981-fold",
        "the whole statement: out.txt.privacy.json",
    ]


def test_what_is_copied_is_named_and_narrows_the_neighbours() -> None:
    said = summary_lines(labels="copy", kept_columns=["time"], samples=3)
    assert said[0] == "5 records rewritten by l1, 3 texts each: out.txt"
    assert "any two records with the same label and time" in said[1]
    assert said[2].startswith("copied, and not private: labels, time; ")


def test_the_total_is_said_with_its_parts_and_of_a_person() -> None:
    said = summary_lines(label_response=LABELS, labels="randomized_response", max_records_per_person=3)
    assert "epsilon 10 (text 8, label 2); " in said[1]
    assert said[2] == "for a person with at most 3 records: epsilon 30; the odds change at most 10^14-fold"
    twice = summary_lines(max_records_per_person=2)
    assert twice[2] == "for a person with at most 2 records: epsilon 16; the odds change at most 8.9 million-fold"
    assert (
        "the odds of any output change at most 8.9 million-fold"
        in statement(epsilon=8.0, max_records_per_person=2).text
    )
    noisy = summary_lines(mechanism=Gaussian(epsilon=2.0), max_records_per_person=2)
    assert noisy[2] == "for a person with at most 2 records: epsilon 4, delta 2e-6"


def test_a_false_claim_is_set_beside_the_truth() -> None:
    mechanism = OriginalLaplace(epsilon=2.0)
    assert "epsilon 8 (claimed 2); the odds" in summary_lines(mechanism=mechanism)[1]


def test_odds_are_said_where_they_hold_and_can_be_read() -> None:
    assert summary_lines(mechanism=Identity())[1] == "guaranteed: nothing, epsilon is infinite"
    assert summary_lines(mechanism=Gaussian(epsilon=2.0))[1] == "guaranteed: epsilon 2, delta 1e-6"
    assert (
        "more than 10^21-fold, so that next to nothing is guaranteed"
        in summary_lines(mechanism=L1Laplace(epsilon=512.0))[1]
    )
    assert "at most 2.719-fold" in summary_lines(mechanism=L1Laplace(epsilon=1.0))[1]


@pytest.mark.parametrize(("here", "how"), [(True, "shuffled here"), (False, "as declared")])
def test_a_shuffled_file_says_what_the_order_hides(here: bool, how: str) -> None:
    shuffled = Shuffled(here=here, records=1000, smallest=900, epsilon=0.5, delta=1e-6)
    assert (
        f"central epsilon 0.5, delta 1e-6, as a record hides among 900 ({how})" in summary_lines(shuffled=shuffled)[1]
    )


@pytest.mark.parametrize("name", ["o.txt", "o.TXT", "o.txt.GZ", "o.txt.gzip"])
def test_an_output_of_texts_alone_is_not_said_to_have_labels(adept_here: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "play a song", "intent": "music"}\n' * 2)
    command = ["rewrite", f"input={tmp_path}/in.jsonl", "epsilon=8", "ledger=none", "dry_run=true"]
    assert "its copied label" in adept_here(*command, f"output={tmp_path}/o.csv").stderr
    done = adept_here(*command, f"output={tmp_path}/{name}")
    assert (done.returncode, "label" in done.stderr) == (0, False), done.stderr
