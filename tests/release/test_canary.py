"""A canary in text, label, person and another column is found nowhere but where the statement says.

Looked at is everything a run leaves: output, statement, card, journal, ledger, key, temporary files, stdout, stderr; looked for is
the canary as it is, in capitals, in hexadecimal, in base64, in UTF-16, and its digests without a key.
"""

import base64
import hashlib
import json
import os
import signal
import tempfile
from pathlib import Path

import pytest
from tiny import Run

from adept.release.flow.journal import Journal

TEXT, LABEL, OTHER, PERSON = "xanthic quokka", "zyzzyva_label", "vexillology-77", "Quetzal Ibn Wombat"
ROW = {"text": f"a fare to {TEXT}", "intent": LABEL, "note": OTHER, "who": PERSON}


def traces(canary: str) -> set[bytes]:
    """Return the forms that a canary may take."""
    plain = canary.encode()
    found = {plain, plain.upper(), plain.lower(), canary.encode("utf-16-le"), plain.hex().encode()}
    found |= {base64.b64encode(b" " * shift + plain)[4:-4] for shift in range(3)}
    for text in {canary, *(value for value in ROW.values() if canary in value)}:
        for name in ("md5", "sha1", "sha256", "blake2b"):
            digest = hashlib.new(name, text.encode()).digest()
            found |= {digest, digest.hex().encode()}
    return found


TRACES = {canary: traces(canary) for canary in (TEXT, LABEL, OTHER, PERSON)}


def sightings(directory: Path, told: str) -> set[tuple[str, str]]:
    """Every place where a canary was seen: a file's name, or "terminal"."""
    places = {path.name: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    places["terminal"] = told.encode("utf-8", "surrogateescape")
    return {
        (place, canary)
        for place, content in places.items()
        if place != "in.jsonl"
        for canary, marks in TRACES.items()
        if any(mark in content for mark in marks)
    }


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory in which everything that a run leaves lands, temporary files too."""
    for name, variable in (("temporary", "TMPDIR"), ("config", "XDG_CONFIG_HOME")):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(variable, str(tmp_path / name))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.delenv("ADEPT_TRACEBACK", raising=False)
    return tmp_path


def command(model: Path, place: Path, *more: str, records: int = 20, last: str = "") -> list[str]:
    rows = [{"text": "a fare", "intent": "fare", "note": "n", "who": f"p{i}"} for i in range(records)]
    rows[records // 2] = ROW
    (place / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + last)
    return ["rewrite", f"model_dir={model}", f"input={place}/in.jsonl", f"output={place}/out.jsonl", "epsilon=8",
            f"ledger={place}/ledger.db", "batch_size=4", "card=true", *more]  # fmt: skip


PERSONS = ("person_column=who", "max_records_per_person=1")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("labels=drop",), set()),
        (("labels=copy", *PERSONS), {("out.jsonl", LABEL)}),
        (("labels=drop", "keep_columns=[note]", *PERSONS), {("out.jsonl", OTHER)}),
        (("labels=randomized_response", f"label_set=[fare,{LABEL}]", "label_epsilon=600"), {
            ("out.jsonl", LABEL), ("out.jsonl.privacy.json", LABEL),
        }),
        (("labels=drop", "dry_run=true"), set()),
    ],
)  # fmt: skip
def test_a_canary_is_found_nowhere_but_where_the_statement_says(
    adept_here: Run, tiny_l1_run: Path, place: Path, options: tuple[str, ...], said: set[tuple[str, str]]
) -> None:
    done = adept_here(*command(tiny_l1_run, place, *options))
    assert done.returncode == 0, done.stderr
    assert sightings(place, done.stdout + done.stderr) == said


HURT = [
    ((), '{"text": 1, "note": "vexillology-77"}\n'),
    ((), '{"text": "xanthic quokka", "note": vexillology-77}\n'),
    (("keep_columns=[note]",), '{"text": "xanthic quokka", "intent": "zyzzyva_label"}\n'),
    (("labels=randomized_response", "label_set=[fare,flight]", "label_epsilon=1"), ""),
    (("person_column=who", "max_records_per_person=1"), json.dumps(ROW) + "\n"),
    (
        ("person_column=who", "max_records_per_person=1"),
        '{"text": "a", "intent": "b", "who": ["Quetzal Ibn Wombat"]}\n',
    ),
    (("text_column=note", "labels=joint"), ""),
]


@pytest.mark.parametrize(("options", "last"), HURT)
def test_no_error_tells_a_canary_and_nothing_is_left(
    adept_here: Run, tiny_l1_run: Path, place: Path, options: tuple[str, ...], last: str
) -> None:
    done = adept_here(*command(tiny_l1_run, place, *options, last=last))
    assert done.returncode == 2, done.stderr
    assert sightings(place, done.stdout + done.stderr) == set()
    assert not list(place.glob("out*"))
    assert not list((place / "temporary").iterdir())


def test_what_a_killed_run_leaves_tells_no_canary(adept_here: Run, tiny_l1_run: Path, place: Path) -> None:
    arguments = command(
        tiny_l1_run, place, "labels=randomized_response", f"label_set=[fare,{LABEL}]", "label_epsilon=2"
    )
    child = os.fork()
    if child == 0:
        left, append = [4], Journal.append

        def last(self: Journal, *entry: object, **options: object) -> None:
            append(self, *entry, **options)  # type: ignore[arg-type]
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)

        Journal.append = last  # type: ignore[method-assign]
        try:
            adept_here(*arguments)
        finally:
            os._exit(1)
    _, ended = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(ended) == -signal.SIGKILL
    assert (place / "out.jsonl.journal").exists()
    refused = adept_here(*arguments)
    assert refused.returncode == 2
    # The public label set stands in the terms; a label is drawn from it, and may be any of it.
    assert sightings(place, refused.stdout + refused.stderr) <= {
        ("out.jsonl.journal", LABEL),
        ("out.jsonl.partial", LABEL),
    }


def test_the_search_would_find_a_canary(place: Path) -> None:
    for number, mark in enumerate(TRACES[TEXT]):
        (place / f"{number}.bin").write_bytes(b"..." + mark + b"...")
    assert {name for name, _ in sightings(place, "")} == {f"{number}.bin" for number in range(len(TRACES[TEXT]))}
