"""``adept evaluate`` reads a file's labels for what its statement says that they are."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny import Run

from adept.cli import evaluate
from adept.cli import evaluate as cli_evaluate
from adept.cli.evaluate import EvaluateConfig, _gain, main, run
from adept.errors import ConfigurationError, DataError, ModelError
from adept.evaluation.classifiers import Evaluation
from adept.evaluation.metrics import ConfidenceInterval


@pytest.mark.parametrize(
    ("statement", "said", "accuracy"),
    [
        (None, None, 1.0),
        ("copy", None, 1.0),
        ("randomized_response", None, 0.5),
        ("joint_response", None, 0.5),
        ("joint_response", False, 1.0),
        (None, True, 0.5),
    ],
)
def test_randomised_labels_are_known_from_the_statement_beside_the_file(
    tmp_path: Path, statement: str | None, said: bool | None, accuracy: float
) -> None:
    """Of a thousand records one in ten is y and says b, which x says more often: noise, unless labels are noise themselves."""
    train, test = tmp_path / "out.jsonl", tmp_path / "test.jsonl"
    rows = [*[("a", "x")] * 697, *[("b", "x")] * 203, *[("a", "y")] * 22, *[("b", "y")] * 78]
    train.write_text("".join(json.dumps({"text": text, "intent": label}) + "\n" for text, label in rows))
    test.write_text(
        "".join(json.dumps({"text": text, "intent": label}) + "\n" for text, label in [("a", "x"), ("b", "y")])
    )
    if statement:
        (tmp_path / "out.jsonl.privacy.json").write_text(json.dumps({"labels": statement}))
    result = run(EvaluateConfig(train=str(train), test=str(test), noisy_labels=said))
    assert result.accuracy.value == accuracy


def found_nothing() -> Evaluation:
    interval = ConfidenceInterval(0.5, 0.4, 0.6)
    return Evaluation(interval, interval, 0.5, 1, 1, 2, np.zeros(1, dtype=bool))


def columns_file(path: Path, text: str, label: str, **more: str) -> str:
    rows = [{text: f"play song {i % 5}", label: 1, **more} for i in range(20)] + [
        {text: "rain in rome", label: 2, **more}
    ] * 20
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_columns_are_known_from_the_statement_beside_the_training_file(tmp_path: Path) -> None:
    train = columns_file(tmp_path / "out.jsonl", "utterance", "category")
    test = columns_file(tmp_path / "test.jsonl", "utterance", "category")
    with pytest.raises(DataError, match="'text'"):
        run(EvaluateConfig(train=train, test=test))
    stated = {"text_column": "utterance", "label_column": "category", "labels": "copy"}
    (tmp_path / "out.jsonl.privacy.json").write_text(json.dumps(stated))
    assert run(EvaluateConfig(train=train, test=test)).accuracy.value == 1.0
    with pytest.raises(DataError, match="'other'"):
        run(EvaluateConfig(train=train, test=test, text_column="other"))
    for odd in ({"labels": {"copy": 1}}, {"labels": ["copy"], "epsilon": "8", "samples": 1e9}):  # edited by anybody
        (tmp_path / "out.jsonl.privacy.json").write_text(json.dumps(stated | odd))
        assert run(EvaluateConfig(train=train, test=test)).accuracy.value == 1.0
    (tmp_path / "out.jsonl.privacy.json").write_text(json.dumps(stated | {"text_column": 7, "label_column": None}))
    with pytest.raises(DataError, match="'text'"):
        run(EvaluateConfig(train=train, test=test))


def test_a_release_under_other_names_is_evaluated_without_naming_them(
    adept_here: Run, tiny_l1_run: Path, tmp_path: Path
) -> None:
    given = columns_file(tmp_path / "in.jsonl", "utterance", "category")
    names = ["text_column=utterance", "label_column=category"]
    done = adept_here(
        "rewrite", f"model_dir={tiny_l1_run}", f"input={given}", f"output={tmp_path}/out.csv", "epsilon=8", *names
    )
    assert done.returncode == 0, done.stderr
    evaluated = adept_here("evaluate", f"train={tmp_path}/out.csv", f"test={given}")
    assert evaluated.returncode == 0, evaluated.stderr
    assert "2 labels" in evaluated.stdout


@pytest.mark.parametrize(
    ("statement", "samples"),
    [
        (None, 1),
        ({"samples": 2, "records": 20}, 2),
        ({"samples": 2, "records": 19}, 1),
        ({"samples": 1, "records": 40}, 1),
        ({"samples": "2", "records": None}, 1),
        ({}, 1),
    ],
)
def test_a_column_called_sample_is_the_users_unless_the_statement_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: dict[str, object] | None, samples: int
) -> None:
    rows = [{"text": f"play song {i // 2}", "intent": i // 2 % 3, "sample": i % 2} for i in range(40)]
    train = tmp_path / "out.jsonl"
    train.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if statement is not None:
        (tmp_path / "out.jsonl.privacy.json").write_text(json.dumps(statement))
    seen = []
    monkeypatch.setattr(cli_evaluate, "evaluate", lambda *_, samples=1, **__: seen.append(samples) or found_nothing())
    run(EvaluateConfig(train=str(train), test=str(train)))
    assert seen == [samples]


def test_one_value_is_one_label_in_files_of_different_formats(tmp_path: Path) -> None:
    values = {"csv": ["True", " TRUE ", "0.0", "0", "e\u0301"], "jsonl": [True, "true", 0, 0.0, "é"]}
    texts = ["play a song", "play it", "set an alarm", "set it", "table for two"]
    train, test = tmp_path / "train.csv", tmp_path / "test.jsonl"
    train.write_text("text,intent\n" + "".join(f"{t},{v}\n" for t, v in zip(texts, values["csv"], strict=True)) * 9)
    test.write_text(
        "".join(json.dumps({"text": t, "intent": v}) + "\n" for t, v in zip(texts, values["jsonl"], strict=True))
    )
    result = run(EvaluateConfig(train=str(train), test=str(test)))
    assert (result.accuracy.value, result.labels) == (1.0, 3)


def test_labels_of_both_files_are_compared_as_text(tmp_path: Path) -> None:
    """Numbers in one file and their text, with spaces or as floats, in the other are the same labels."""
    train, test = tmp_path / "train.jsonl", tmp_path / "test.csv"
    train.write_text('{"text": "play a song", "intent": 1.0}\n{"text": "rain in rome", "intent": 2}\n' * 20)
    test.write_text("text,intent\nplay a song, 1\nrain in rome,2.0\n")
    assert run(EvaluateConfig(train=str(train), test=str(test))).accuracy.value == 1.0


def test_the_originals_and_public_examples_stand_beside_the_rewrites(adept_here: Run, tmp_path: Path) -> None:
    """The rewrites' labels are random; the originals say which text has which, and the examples know one label of two."""
    files = {
        "train": [("a" if place % 2 else "b", "x" if place % 3 else "y") for place in range(600)],
        "reference": [("a", "x"), ("b", "y")] * 300,
        "examples": [("a", "x"), ("b", "x")] * 4,
        "test": [("a", "x"), ("b", "y")] * 50,
    }
    for name, rows in files.items():
        lines = (json.dumps({"text": text, "intent": label}) + "\n" for text, label in rows)
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    command = ["evaluate", *(f"{name}={tmp_path}/{name}.jsonl" for name in files), f"output_dir={tmp_path}/out"]
    shown = adept_here(*command)
    assert shown.returncode == 0, shown.stderr
    assert "accuracy 0.500" in shown.stdout.splitlines()[0]
    [originals] = [line for line in shown.stdout.splitlines() if "originals" in line]
    [public] = [line for line in shown.stdout.splitlines() if line.startswith("public examples alone")]
    assert "accuracy 1.000" in originals
    assert "accuracy 0.500" in public
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert (result["accuracy"], result["reference"]["accuracy"], result["examples"]["train_records"]) == (0.5, 1.0, 8)
    assert "others" not in result
    alone = adept_here(*command[:2], command[-2]).stdout
    assert "originals" not in alone
    missing = adept_here(*command[:2], command[4], f"reference={tmp_path}/none.jsonl")
    assert (missing.returncode, "none.jsonl" in missing.stderr) == (2, True)


def test_of_several_files_each_is_left_out_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first file is about songs alone and the second about snow: without either, half of the test is wrong."""
    songs, snow = columns_file(tmp_path / "songs.jsonl", "text", "intent"), str(tmp_path / "snow.jsonl")
    Path(snow).write_text('{"text": "snow in oslo", "intent": 3}\n' * 40)
    test = tmp_path / "test.jsonl"
    test.write_text('{"text": "play song", "intent": 1}\n{"text": "snow in oslo", "intent": 3}\n' * 20)
    found = run(EvaluateConfig(train=[songs, snow], test=str(test)))
    assert (found.accuracy.value, found.train_records) == (1.0, 80)
    without = {f"without {songs}": 0.5, f"without {snow}": 0.5}
    assert {name: found.others[name].accuracy.value for name in found.others if name.startswith("without")} == without
    main(EvaluateConfig(train=[songs, snow], test=str(test), output_dir=str(tmp_path / "out")))
    kept = json.loads((tmp_path / "out" / "result.json").read_text())
    assert {name: kept[name]["accuracy"] for name in without} == without
    shown = capsys.readouterr().out
    assert f"without {songs}" in shown
    assert f"\n{songs} adds 0.500 to the accuracy\n" in shown


def test_releases_in_a_directory_are_read_with_their_own_statements(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    rows = [("play song", "1"), ("snow in oslo", "3")] * 10
    parts = [labelled_file(tmp_path / "parts" / f"{n}.jsonl", rows, labels="copy", epsilon=n + 2.0) for n in range(2)]
    test = labelled_file(tmp_path / "test.jsonl", rows)
    for place in (f"{tmp_path}/parts", f"{tmp_path}/parts/*.jsonl"):
        config = EvaluateConfig(train=place, test=test)
        assert evaluate._train_files(config) == parts
        found = run(config)
        assert (found.train_records, [name for name in found.others if name.startswith("without")]) == (40, [])
    Path(f"{parts[0]}.privacy.json").unlink()
    assert evaluate._train_files(EvaluateConfig(train=f"{tmp_path}/parts", test=test)) == [f"{tmp_path}/parts"]


@pytest.mark.parametrize(
    ("without", "said"),
    [
        (0.7, "adds 0.100 to the accuracy"),
        (0.9, "takes 0.100 from the accuracy"),
        (0.79, "adds nothing that this test can show: +0.010 lies within the 95 % interval"),
    ],
)
def test_a_sentence_states_what_a_file_adds(without: float, said: str) -> None:
    assert _gain(ConfidenceInterval(0.8, 0.75, 0.85), without) == said


@pytest.mark.parametrize("train", [[], ["a.csv", "a.csv"], ["a.csv", "./a.csv"], ["a.csv", 3], 7])
def test_what_names_no_files_is_refused(train: object) -> None:
    with pytest.raises(ConfigurationError, match="train must be a file"):
        run(EvaluateConfig(train=train, test="test.csv"))


OPTIONS = ["train", "test", "reference", "examples"]


@pytest.mark.parametrize("odd", OPTIONS)
@pytest.mark.parametrize("kind", ["text", "intent", "named"])
def test_a_column_that_one_file_lacks_is_named_with_advice_that_suits_the_others(
    tmp_path: Path, odd: str, kind: str
) -> None:
    names = dict.fromkeys(OPTIONS, ("text", "intent"))
    names[odd] = ("utterance", "intent") if kind == "text" else ("text", "category")
    files = {name: columns_file(tmp_path / f"{name}.jsonl", *own) for name, own in names.items()}
    with pytest.raises(DataError, match=f"{odd}.jsonl") as error:
        run(EvaluateConfig(**files, label_column="intent" if kind == "named" else None))
    assert "rename its column" in str(error.value)
    assert "_column=" not in str(error.value)


def test_a_column_that_one_of_several_training_files_lacks_is_named_with_this_file(tmp_path: Path) -> None:
    good, odd = columns_file(tmp_path / "a.jsonl", "text", "intent"), str(tmp_path / "b.csv")
    (tmp_path / "b.csv").write_text("utterance,intent\nplay song,1\n")
    with pytest.raises(DataError, match=r"'text' in .*b\.csv, but in .*a\.jsonl: rename its column 'utterance'"):
        run(EvaluateConfig(train=[good, odd], test=good))


def test_a_test_file_without_a_header_gets_the_advice_of_rewrite(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,intent\nplay a song,1\nstop it,2\n")
    (tmp_path / "b.csv").write_text("play a song,1\nstop it,2\n")
    files = {"train": str(tmp_path / "a.csv"), "test": str(tmp_path / "b.csv")}
    with pytest.raises(DataError, match=r"a\.csv: rename .*, or add columns=\[\.\.\.\] if its first line is a record$"):
        run(EvaluateConfig(**files))
    assert run(EvaluateConfig(**files, columns=["text", "intent"], classifier="tfidf"))


@pytest.mark.parametrize("odd", OPTIONS[::2])
def test_every_file_is_checked_against_the_test_before_anything_is_trained(
    tmp_path: Path, odd: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        name: columns_file(tmp_path / f"{name}.jsonl", "text", "intent") for name in ("train", "test", "reference")
    }
    monkeypatch.setattr(evaluate, "evaluate", lambda *_, **__: pytest.fail("trained"))
    (tmp_path / f"{odd}.jsonl").write_text('{"text": "a", "intent": "alarm"}\n')
    with pytest.raises(DataError, match="no label in common"):
        run(EvaluateConfig(**files))
    monkeypatch.undo()
    (tmp_path / f"{odd}.jsonl").write_text('{"text": "rain in Rome", "intent": 2}\n' * 2)
    run(EvaluateConfig(**files))
    notes = [line for line in capsys.readouterr().err.splitlines() if f"{odd}.jsonl" in line]
    assert any("20 of 40 records" in note for note in notes)
    assert any("20 of 40 texts" in note for note in notes)


def test_a_file_that_is_tested_on_itself_is_said_to_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = columns_file(tmp_path / "a.jsonl", "text", "intent")
    run(EvaluateConfig(train=same, test=same))
    assert f"adept: note: 40 of 40 texts of {same} also occur in {same}" in capsys.readouterr().err


def labelled_file(path: Path, rows: list[tuple[str, str]], **stated: object) -> str:
    path.write_text("".join(json.dumps({"text": text, "intent": label}) + "\n" for text, label in rows))
    if stated:
        path.with_name(path.name + ".privacy.json").write_text(json.dumps(stated))
    return str(path)


SAID = {"PlayMusic": "sing me some songs", "get_weather": "will there be rain tomorrow"}


def told_and_untold(directory: Path) -> tuple[str, str, str]:
    """Files of texts that say what their label is, of texts that say nothing, and of the test."""
    names = [*SAID] * 30
    told = labelled_file(directory / "told.jsonl", [(SAID[name], name) for name in names], labels="copy", epsilon=4.0)
    rows = [(f"this and that {place % 7}", name) for place, name in enumerate(names)]
    untold = labelled_file(directory / "untold.jsonl", rows, labels="copy", epsilon=4.0)
    return told, untold, labelled_file(directory / "test.jsonl", [(SAID[name], name) for name in names[:20]])


def test_records_that_add_nothing_to_what_is_free_are_said_to_in_the_first_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, untold, test = told_and_untold(tmp_path)
    main(EvaluateConfig(train=untold, test=test, output_dir=str(tmp_path / "out")))
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.endswith(": the records add nothing; the label with the nearest name, which is free, has 1.000")
    assert any(
        line.split() == ["names", "of", "labels", "each", "counts", "as", "10", "records", "of", "its", "label"]
        for line in rest
    )
    [added] = [line for line in rest if line.startswith("added by the records")]
    assert "+0.000  (95 % interval -0.168 to +0.168), above the label with the nearest name" in added
    assert rest[-1] == "A larger public encoder may get more from the names of labels than ours does."
    kept = json.loads((tmp_path / "out" / "result.json").read_text())
    assert (kept["nearest_name"]["accuracy"], kept["added_by_the_records"]["above"]) == (1.0, "nearest_name")


def test_what_records_add_to_the_commonest_label_is_shown_if_no_name_says_anything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [("sing a song", "17"), ("rain tomorrow", "18")] * 20
    for labels, added in (("copy", ["added by the records"]), ("randomized_response", [])):
        train = labelled_file(tmp_path / "train.jsonl", rows, labels=labels, epsilon=4.0)
        main(EvaluateConfig(train=train, test=labelled_file(tmp_path / "test.jsonl", rows), noisy_labels=False))
        first, *rest = capsys.readouterr().out.splitlines()
        assert [line[:20] for line in rest if line.startswith("added")] == added
        assert "nothing" not in first
    assert "always the commonest label" not in "".join(rest)


def test_public_examples_and_rewrites_are_also_learned_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rewrites' labels are wrong: beside two examples of each label, the many rewrites count little at epsilon 2."""
    told, _, test = told_and_untold(tmp_path)
    other = dict(zip(SAID, reversed(SAID), strict=True))
    wrong = [(SAID[other[name]], name) for name in [*SAID] * 40] + [(SAID[name], name) for name in [*SAID] * 5]
    train = labelled_file(tmp_path / "train.jsonl", wrong, labels="copy", epsilon=2.0)
    examples = labelled_file(tmp_path / "examples.jsonl", [(f"{SAID[name]} please", name) for name in [*SAID] * 2])
    found = run(EvaluateConfig(train=train, test=test, examples=examples))
    assert (found.accuracy.value, found.others["together"].accuracy.value) == (0.0, 1.0)
    listed = run(EvaluateConfig(train=[train, examples], test=test))
    assert listed.accuracy.value == 1.0, "a file without a statement is not weighted as a rewrite"
    assert listed.others["examples"].accuracy.value == 1.0
    assert "together" not in run(EvaluateConfig(train=told, test=test, examples=examples, classifier="tfidf")).others
    capsys.readouterr()
    main(EvaluateConfig(train=train, test=test, examples=examples))
    assert "added to the examples" in capsys.readouterr().out


def test_a_column_that_is_named_for_texts_and_labels_is_refused(tmp_path: Path) -> None:
    """A text would be its own label, and a classifier of it perfect; a column of texts called intent is no label."""
    file = columns_file(tmp_path / "a.jsonl", "text", "intent")
    for columns in ({"label_column": "text"}, {"text_column": "intent", "label_column": "intent"}):
        with pytest.raises(ConfigurationError, match="label_column must be another column than text_column, got"):
            run(EvaluateConfig(train=file, test=file, **columns))
    with pytest.raises(DataError, match="must have labels"):
        run(EvaluateConfig(train=file, test=file, text_column="intent"))


def test_a_small_release_is_said_to_vary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told, _, test = told_and_untold(tmp_path)
    run(EvaluateConfig(train=told, test=test))
    assert "with 60 records, another release may have about 0.10 more or less" in capsys.readouterr().err
    run(EvaluateConfig(train=test, test=test))
    assert "another release" not in capsys.readouterr().err


def test_records_weigh_the_same_whatever_number_of_rewrites_their_files_have(tmp_path: Path, monkeypatch: Any) -> None:
    """Of two files, one with two and one with three rewrites of each record, each record counts once."""
    for samples in (2, 3):
        rows = [{"text": f"{samples} {row // samples}", "intent": samples} for row in range(4 * samples)]
        (tmp_path / f"{samples}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        stated = {"epsilon": 8, "samples": samples, "records": 4}
        (tmp_path / f"{samples}.jsonl.privacy.json").write_text(json.dumps(stated))
    seen: list[Any] = []
    judge = cli_evaluate.evaluate
    monkeypatch.setattr(
        cli_evaluate, "evaluate", lambda train, **more: seen.append((train, more)) or judge(train, **more)
    )
    files = [str(tmp_path / f"{samples}.jsonl") for samples in (2, 3)]
    found = run(EvaluateConfig(train=files, test=files[0]))
    train, more = seen[-1]
    assert (more["samples"], found.train_records) == (6, 20)
    blocks = [{*train.texts[start : start + 6]} for start in range(0, len(train), 6)]
    assert [len(block) for block in blocks] == [1] * 8
    assert len({text for block in blocks for text in block}) == 8


def test_a_statement_that_an_editor_gave_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    train = columns_file(tmp_path / "out.jsonl", "utterance", "category")
    stated = {"text_column": "utterance", "label_column": "category"}
    Path(f"{train}.privacy.json").write_text(json.dumps(stated), "utf-8-sig")
    assert run(EvaluateConfig(train=train, test=train)).accuracy.value == 1.0


def test_the_statement_of_a_release_that_somebody_packed_or_unpacked_is_read(tmp_path: Path) -> None:
    """A release without its statement would be judged as original text."""
    train = columns_file(tmp_path / "out.jsonl", "utterance", "category")
    statement = json.dumps({"text_column": "utterance", "label_column": "category"})
    packed = tmp_path / "out.jsonl.gz"
    packed.write_bytes(gzip.compress(Path(train).read_bytes()))
    for released, found in ((packed, Path(train)), (Path(train), packed)):
        place, whole = Path(f"{released}.privacy.json"), released.read_bytes()
        place.write_text(statement)
        with pytest.raises(DataError, match="text"):  # the release is there, and the other file may be the original
            run(EvaluateConfig(train=str(found), test=str(found)))
        released.unlink()
        assert run(EvaluateConfig(train=str(found), test=str(found))).accuracy.value == 1.0
        place.unlink()
        released.write_bytes(whole)


@pytest.mark.parametrize("content", ["{", "[1]"])
def test_a_damaged_statement_is_the_one_to_restore(content: str, tmp_path: Path) -> None:
    train = labelled_file(tmp_path / "out.jsonl", [("a", "x"), ("b", "y")], labels="copy")
    (tmp_path / "out.jsonl.privacy.json").write_text(content)
    with pytest.raises(ModelError, match=r"out\.jsonl\.privacy\.json is corrupt \(not .*\): restore it$"):
        run(EvaluateConfig(train=train, test=train))
