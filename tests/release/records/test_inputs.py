"""Releases of files as people have them: what is written, and what is refused before anything is drawn or noted."""

import gzip
import json
import os
from contextlib import closing
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet
from tiny import Run

from adept.cli.evaluate import EvaluateConfig
from adept.cli.evaluate import run as evaluate
from adept.data.corpus import Columns, DataConfig, load
from adept.data.reading import ReadingOptions
from adept.errors import DataError
from adept.release.ledger.claims import Ledger
from adept.release.ledger.identity import secret_key
from adept.release.records import Inputs

LABELS = "label_set=[fare,flight]"
SEMICOLONS = b"text;intent\na fare, now;fare\na flight;flight\n"


def placed(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "options", "header"),
    [
        (SEMICOLONS, ["delimiter=semicolon"], "text;intent"),
        (b"fare,a fare\nflight,a flight\n", ["columns=[intent,text]"], "text,intent"),
        (gzip.compress(b"text,intent\na fare,fare\na flight,flight\n", mtime=0), [], "text,intent"),
    ],
)
def test_a_csv_is_released_with_a_header_and_its_own_delimiter(
    adept_here: Run, tiny_l1_run: Path, tmp_path: Path, content: bytes, options: list[str], header: str
) -> None:
    given, out = placed(tmp_path / "in.csv", content), tmp_path / "out.csv"
    command = ["rewrite", f"model_dir={tiny_l1_run}", f"input={given}", f"output={out}", "epsilon=8", "ledger=none"]
    done = adept_here(*command, *options)
    assert done.returncode == 0, done.stderr
    first, *rows = out.read_text().splitlines()
    assert first == header
    assert [row.rpartition(header[4])[2] for row in rows] == ["fare", "flight"]


def test_a_directory_of_parts_is_released_into_a_file_whose_name_tells_nothing(
    adept_here: Run, tiny_l1_run: Path, tmp_path: Path
) -> None:
    for number in range(2):
        placed(tmp_path / f"in.jsonl/part-{number}", b'{"text": "a fare"}\n')
    placed(tmp_path / "in.jsonl/part-2", b"")
    placed(tmp_path / "in.jsonl/_SUCCESS", b"")
    command = ["rewrite", f"model_dir={tiny_l1_run}", f"input={tmp_path}/in.jsonl", f"output={tmp_path}/out"]
    done = adept_here(*command, "epsilon=8", "ledger=none")
    assert done.returncode == 0, done.stderr
    assert [list(json.loads(line)) for line in (tmp_path / "out").read_text().splitlines()] == [["text"]] * 2


def files_without_a_column(directory: Path) -> dict[str, list[str]]:
    """Files that do not name the columns, and the options with which they are read."""
    table = pyarrow.table({"my words": ["a fare"], "intent": ["fare"]})
    placed(directory / "a/1.csv", b"text,intent\na fare,fare\n")
    placed(directory / "a/2.csv", b"utterance,intent\na fare,fare\n")
    (directory / "b").mkdir()
    parquet.write_table(table, directory / "b/a.parquet")
    return {
        "a/*.csv": [],
        "b/a.parquet": [],
        "b": [],
        str(placed(directory / "c.csv", b"a secret,fare\n")): [],
        str(placed(directory / "d.csv", SEMICOLONS)): [],
        str(placed(directory / "e.csv", b"sep=;\n" + SEMICOLONS)): [],
        str(placed(directory / "f.csv", b"text,intent\na fare,fare\n")): [
            "person_column=who",
            "max_records_per_person=1",
        ],
        str(placed(directory / "g.csv", b"text,kind\na fare,fare\n")): [],
        str(placed(directory / "h.txt", b"a fare\n")): [],
        str(placed(directory / "i.tsv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0))): [],
        str(placed(directory / "j.csv", b"")): [],
        str(placed(directory / "k", b"a fare,fare\n")): ["format=csv", "columns=[words,intent]"],
    }


@pytest.mark.parametrize("dry", [False, True])
def test_a_central_release_without_a_named_column_is_refused_before_a_draw(
    adept_here: Run, topic_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dry: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    for given, options in files_without_a_column(tmp_path).items():
        command = ["synthesize", f"model_dir={topic_run}", f"input={given}", "output=out.jsonl", LABELS, "epsilon=2"]
        done = adept_here(*command, *options, "ledger=ledger.db", f"dry_run={str(dry).lower()}")
        assert done.returncode == 2, (given, done.stderr)
        assert len(done.stderr.splitlines()) == 1
        assert "secret" not in done.stderr
        assert "words" not in done.stderr
        assert not list(tmp_path.glob("out*"))
    if not dry:
        with closing(Ledger(str(tmp_path / "ledger.db"), key=secret_key())) as ledger:
            assert not ledger.entries()


def test_a_pipe_whose_header_lacks_a_column_is_refused_before_the_ledger_is_told(
    adept_here: Run, topic_run: Path, tmp_path: Path
) -> None:
    source = os.open(placed(tmp_path / "in", b"utterance,intent\na fare,fare\n"), os.O_RDONLY)
    kept = os.dup(0)
    try:
        os.dup2(source, 0)
        command = ["synthesize", f"model_dir={topic_run}", "input=-", "format=csv", f"output={tmp_path}/o", LABELS]
        done = adept_here(*command, "epsilon=2", f"ledger={tmp_path}/ledger.db")
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(source)
    assert done.returncode == 2, done.stderr
    assert "add text_column=utterance" in done.stderr
    with closing(Ledger(str(tmp_path / "ledger.db"), key=secret_key())) as ledger:
        assert not ledger.entries()


def test_a_file_with_the_name_of_standard_input_does_not_make_a_pipe_repeatable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    placed(Path("-"), b"by mistake\n")
    assert not Inputs.of("-", ReadingOptions(format="txt")).repeatable
    assert Inputs.of("./-", ReadingOptions(format="txt")).repeatable


def test_a_dry_run_tells_the_curator_of_files_that_are_not_what_their_names_say(
    adept_here: Run, topic_run: Path, tmp_path: Path
) -> None:
    line = b'{"text": "a fare"}\n'
    for name, content, said in [
        ("a.jsonl", gzip.compress(line, mtime=0), "begins like a compressed file"),
        ("b.jsonl", b"[" + line + b"]", "begins like a JSON array: add format=json"),
        ("c.txt", b"PK\x03\x04", "is a spreadsheet"),
    ]:
        command = ["synthesize", f"model_dir={topic_run}", f"input={placed(tmp_path / name, content)}", "labels=drop"]
        done = adept_here(*command, f"output={tmp_path}/o.jsonl", "epsilon=2", "dry_run=true")
        assert done.returncode == 0, done.stderr
        assert f"not part of the release: {tmp_path / name} {said}" in done.stderr


def test_options_of_csv_are_refused_for_other_files(adept_here: Run, topic_run: Path, tmp_path: Path) -> None:
    given = placed(tmp_path / "in.jsonl", b'{"text": "a fare"}\n')
    places = [f"model_dir={topic_run}", f"input={given}", f"output={tmp_path}/o.csv", "epsilon=2"]
    for command in ("rewrite", "synthesize"):
        done = adept_here(command, *places, "delimiter=tab", "labels=drop")
        assert done.returncode == 2
        assert "delimiter must be left out for jsonl" in done.stderr


def test_evaluation_reads_output_and_test_file_without_a_header_alike(tmp_path: Path) -> None:
    train = placed(tmp_path / "out.csv", b"text;intent\n" + b"a fare;fare\na flight;flight\n" * 20)
    test = placed(tmp_path / "test.csv", b"fare;a fare\nflight;a flight\n" * 5)
    options = {"delimiter": "semicolon", "columns": ["intent", "text"]}
    result = evaluate(EvaluateConfig(train=str(train), test=str(test), **options))  # type: ignore[arg-type]
    assert (result.train_records, result.test_records, result.accuracy.value) == (40, 10, 1.0)


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("train.tsv", b"text\tintent\na fare\tfare\nb\tc\n", {}),
        ("train.csv", b"text;intent\na fare;fare\nb;c\n", {"delimiter": "semicolon"}),
        ("train.log", b'[{"text": "a fare", "intent": "fare"}, {"text": "b", "intent": "c"}]', {"format": "json"}),
        (
            "train.JSONL.gz",
            gzip.compress(b'{"text": "a fare", "intent": "fare"}\n{"text": "b", "intent": "c"}', mtime=0),
            {},
        ),
    ],
)
def test_training_data_are_read_with_the_same_options(
    tmp_path: Path, name: str, content: bytes, options: dict[str, str]
) -> None:
    placed(tmp_path / name, content)
    corpora = load(DataConfig(name="files", path=str(tmp_path)), Columns(**options))  # type: ignore[arg-type]
    assert sorted(corpora["train"].texts + corpora["validation"].texts) == ["a fare", "b"]


def test_several_files_may_hold_an_empty_one_but_not_be_empty_all(tmp_path: Path) -> None:
    placed(tmp_path / "a.txt", b"")
    placed(tmp_path / "b.txt", b"a fare\n")
    pattern = str(tmp_path / "*.txt")
    assert list(Inputs.of(pattern, ReadingOptions()).records()) == [{"text": "a fare"}]
    (tmp_path / "b.txt").write_bytes(b"")
    with pytest.raises(DataError, match="no records"):
        list(Inputs.of(pattern, ReadingOptions()).records())


def test_a_pattern_reads_each_file_once_also_where_it_finds_directories_of_parts(tmp_path: Path) -> None:
    placed(tmp_path / "d/a.txt/part-0.txt", b"one\n")
    placed(tmp_path / "d/a.txt/_SUCCESS", b"")
    placed(tmp_path / "d/b.txt", b"two\n")
    found = Inputs.of(str(tmp_path / "d/*.txt"), ReadingOptions())
    assert [Path(name).name for name in found.locations] == ["part-0.txt", "b.txt"]
    assert [record["text"] for record in found.records()] == ["one", "two"]
    assert len(Inputs.of(str(tmp_path / "**/*.txt"), ReadingOptions()).locations) == 2


def test_each_file_of_a_pattern_begins_anew(tmp_path: Path) -> None:
    placed(tmp_path / "a.csv", b'\xef\xbb\xbftext\none\n"never closed\n')
    placed(tmp_path / "b.csv", b"\xef\xbb\xbftext\ntwo\n")
    records = list(Inputs.of(str(tmp_path / "*.csv"), ReadingOptions()).records(tolerant=True))
    assert records == [{"text": "one"}, {}, {"text": "two"}]


def test_first_records_are_those_before_a_damaged_one(tmp_path: Path) -> None:
    placed(tmp_path / "a.jsonl", gzip.compress(b'{"text": "one"}\n{"text": "two"}\nno\n', mtime=0))
    assert Inputs.of(str(tmp_path / "a.jsonl"), ReadingOptions()).first_records(9) == [{"text": "one"}, {"text": "two"}]
