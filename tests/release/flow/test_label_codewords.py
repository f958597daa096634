"""Claims about files whose copied labels choose the codewords: what the statement says, and who refuses what."""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import broad
import pandas
import pytest

from adept import rewrite_frame
from adept.data.corpus import Corpus
from adept.errors import ConfigurationError
from adept.mechanisms import Description, JointResponse, random_draws
from adept.mechanisms.base import MechanismChoice
from adept.release.flow import local as local_release
from adept.release.flow.local import open_release, release_file
from adept.release.options import ReleaseRequest
from adept.release.records import ReleaseOptions
from adept.release.statement import verify as verify_statement
from adept.release.statement.statement import restate
from adept.release.statement.verify import Refused, statement_sha256
from adept.rewriting.expectation import (
    BY_LABEL,
    NO_LABEL_SET,
    PLAN,
    adaptation_lines,
    approval_examples,
    expected_lines,
    floor_lines,
)
from adept.rewriting.rewriter import Rewriter

TEXTS = ["cheapest fare to boston", "is there a taxi downtown", "what meals do they serve", "zzqxv"]
Json = dict[str, Any]


@pytest.fixture(scope="module")
def loaded(topic_run: Path) -> Iterator[tuple[Any, Any]]:
    with broad.model_of(topic_run) as parts, pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_release, "load_model", lambda _: parts)
        yield parts


@pytest.fixture
def given(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    rows = [{"text": TEXTS[n % 4], "intent": broad.NAMES[n % 3]} for n in range(60)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def released(
    given: Path, name: str = "out.jsonl", public_texts: Corpus | None = None, **options: Any
) -> tuple[Json, list[Json]]:
    request = ReleaseRequest(**{"epsilon": 4.0} | options)
    rewriter, asked = open_release(request)
    target, asked = given.with_name(name), replace(asked, public_texts=public_texts)
    statement = release_file(rewriter, str(given), str(target), options=asked).to_json()
    lines = target.read_text().splitlines()
    return statement, lines if name.endswith(".txt") else [json.loads(line) for line in lines]


def test_copied_labels_choose_the_codewords_and_the_statement_says_what_that_costs(loaded: Any, given: Path) -> None:
    statement, rows = released(given)
    assert (statement["mechanism"], statement["size"]) == ("description", broad.CELL)
    assert statement["mechanism_options"]["by_label"] is True
    assert (statement["epsilon"], statement["text_epsilon"], statement["label_epsilon"]) == (4.0, None, "inf")
    assert statement["neighbours"] == "any two records with the same label"
    assert "leaving the label column out later does not hide the labels" in statement["statement"]
    assert any("label occurs for the first time" in fact for fact in statement["not_hidden"])
    assert [row["intent"] for row in rows] == [broad.NAMES[n % 3] for n in range(60)]
    lines = verify_statement.check(str(given.with_name("out.jsonl.privacy.json")), restate=restate)
    assert lines[0] == "The numbers imply epsilon 4.0 and delta 0.0 for 'any two records with the same label'."


def test_labels_that_the_label_set_lacks_are_copied_and_counted_for_the_curator(loaded: Any, given: Path) -> None:
    for labels, lines in ((broad.NAMES[:2], ["20 records have a label that label_set lacks"]), (broad.NAMES, [])):
        rewriter, asked = open_release(ReleaseRequest(epsilon=4.0, label_set=list(labels)))
        told: list[str] = []
        target = str(given.with_name(f"{len(labels)}.jsonl"))
        release_file(
            rewriter, str(given), target, options=asked, tell=lambda checked, told=told: told.extend(checked.lines)
        )
        assert [line.partition(",")[0] for line in told] == lines


def test_a_page_for_approval_shows_public_sentences_with_given_labels_alone(
    loaded: Any, given: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(loaded[0]), "held_out_texts", property(lambda model: TEXTS * 3))
    released(given, report=True)
    page = given.with_name("out.jsonl.report.html").read_text("utf-8")
    assert "A sentence with its label in brackets is rewritten as in the file" in page
    assert "<td>is there a taxi downtown</td>" in page
    released(given, "known.jsonl", report=True, label_set=broad.NAMES)
    known = given.with_name("known.jsonl.report.html").read_text("utf-8")
    assert "<td>is there a taxi downtown</td>" in known
    expected = Corpus(TEXTS * 3, ["GroundTransportation"] * 12)
    released(given, "expected.jsonl", report=True, label_set=broad.NAMES, public_texts=expected)
    own = given.with_name("expected.jsonl.report.html").read_text("utf-8")
    assert "<td>is there a taxi downtown (GroundTransportation)</td>" in own
    released(given, "off.jsonl", report=True, label_codewords="off")
    assert "without brackets" not in given.with_name("off.jsonl.report.html").read_text("utf-8")


Asked = list[tuple[list[str], list[str] | None]]


@pytest.fixture
def asked(loaded: Any, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """The texts and labels that are rewritten, with four public texts in the model, three times each."""
    found: Asked = []

    def rewrite_pairs(_: Rewriter, texts: list[str], labels: list[str] | None) -> list[tuple[str, None]]:
        found.append((texts, labels))
        return [("a", None)] * len(texts)

    monkeypatch.setattr(type(loaded[0]), "held_out_texts", property(lambda model: TEXTS * 3))
    monkeypatch.setattr(Rewriter, "rewrite_pairs", rewrite_pairs)
    return found


@pytest.mark.parametrize("public", ["label_set", "label_descriptions", "label_examples", "expect"])
def test_an_estimate_is_by_label_if_the_labels_are_public_without_the_records(
    loaded: Any, asked: Asked, monkeypatch: pytest.MonkeyPatch, public: str
) -> None:
    """Only public texts are rewritten, each with a public label: its own one, or that of the nearest name."""
    about = {"GroundTransportation": ["a taxi"], "cheapest_airfare": ["a cheap ticket"]}
    monkeypatch.setattr(loaded[0], "label_examples", about if public == "label_examples" else {})
    rewriter, _ = open_release(ReleaseRequest(epsilon=4.0))
    labels = broad.NAMES if public == "label_set" else ()
    writer = rewriter.by_label(about if public == "label_descriptions" else None, label_set=labels)
    own = Corpus(TEXTS * 3, ["X17"] * 12) if public == "expect" else None
    assert NO_LABEL_SET not in expected_lines(writer, own)
    for texts, given in asked:
        found = set(zip(texts, given or [], strict=True))
        assert set(texts) == set(TEXTS)
        assert public == "expect" or ("is there a taxi downtown", "GroundTransportation") in found
        assert {label for _, label in found} <= ({"X17"} if public == "expect" else set(broad.NAMES))


def test_labels_that_only_records_tell_have_no_estimate_and_a_line_says_so(loaded: Any, asked: Asked) -> None:
    rewriter, _ = open_release(ReleaseRequest(epsilon=4.0))
    lines = expected_lines(rewriter.by_label())
    assert lines[:2] == [BY_LABEL, NO_LABEL_SET]
    assert not asked


def test_an_example_on_the_page_for_approval_has_its_sources_label_and_no_guess(
    loaded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text about a taxi is near the name GroundTransportation, but nobody said that it has this label."""
    monkeypatch.setattr(loaded[0], "label_examples", {})
    monkeypatch.setattr(type(loaded[0]), "held_out_texts", property(lambda model: TEXTS * 3))
    rewriter, _ = open_release(ReleaseRequest(epsilon=4.0))
    named = rewriter.by_label(label_set=broad.NAMES)
    for public in (None, Corpus(TEXTS * 3)):
        assert {text for text, _ in approval_examples(named, public)} <= set(TEXTS)
    told = approval_examples(rewriter.by_label({"cheapest_airfare": ["a cheap ticket"]}, label_set=broad.NAMES))
    assert [text for text, _ in told] == ["a cheap ticket (cheapest_airfare)"]
    given = approval_examples(named, Corpus(TEXTS * 3, ["X17"] * len(TEXTS) * 3))
    assert given
    assert all(text.endswith(" (X17)") for text, _ in given)
    assert all("(" not in text for text, _ in approval_examples(rewriter))


def test_a_line_says_what_is_free_and_that_a_plan_measures_it(loaded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaded[0], "label_examples", {})
    rewriter, _ = open_release(ReleaseRequest(epsilon=2.0, labels="copy", label_codewords="off"))
    by_label = rewriter.by_label(label_set=broad.NAMES)
    assert floor_lines(by_label) == []
    monkeypatch.setattr(type(loaded[0]), "is_packaged", True)
    assert floor_lines(by_label) == [PLAN]
    monkeypatch.setattr(loaded[0], "label_examples", {"X17": ["is there a taxi", "a taxi"]})
    [line] = floor_lines(by_label)
    assert line.startswith("a classifier of the model's 2 labelled examples alone can be better")
    lines = expected_lines(rewriter, labelled=True)
    assert line in lines
    assert line not in expected_lines(rewriter)


def test_a_line_says_how_much_the_examples_of_an_adapted_model_count(
    loaded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewriter, _ = open_release(ReleaseRequest(epsilon=4.0))
    assert adaptation_lines(rewriter) == adaptation_lines(rewriter.by_label()) == []
    monkeypatch.setattr(loaded[0], "training_data", replace(loaded[0].training_data, examples=48))
    monkeypatch.setattr(loaded[0], "label_examples", {"X17": ["is there a taxi"]})
    said = "the model was adapted to 48 examples: "
    [by_label] = adaptation_lines(rewriter.by_label(label_set=broad.NAMES))
    assert by_label.startswith(f"{said}these and the names of labels choose 62% of the ")
    [near] = adaptation_lines(rewriter)
    assert near.startswith(f"{said}these and public texts like them are many of the ")
    assert near in expected_lines(rewriter)
    [far] = adaptation_lines(open_release(ReleaseRequest(epsilon=24.0))[0])
    assert far.startswith(f"{said}they count little at this epsilon, as a rewrite can be one of more than ")


def test_a_release_has_the_cells_that_the_estimate_made(loaded: Any, given: Path) -> None:
    rewriter, options = open_release(ReleaseRequest(epsilon=4.0, label_set=broad.NAMES))
    writer = rewriter.by_label(options.label_descriptions, label_set=options.label_set)
    assert local_release.choose_writer(rewriter, options, has_labels=True) is writer
    assert rewriter.by_label(label_set=broad.NAMES[:1]) is not writer


@pytest.mark.parametrize(
    "options",
    [
        {"label_codewords": "off"},
        {"labels": "drop"},
        {"mechanism": MechanismChoice(Description)},
        {"labels": "joint_response", "label_set": broad.NAMES},
        {"labels": "randomized_response", "label_set": broad.NAMES, "label_epsilon": 1.0},
    ],
)
def test_other_treatments_have_the_codewords_of_all_labels(loaded: Any, given: Path, options: Json) -> None:
    statement, _ = released(given, **options)
    assert statement["text_epsilon"] is not None
    assert "by_label" not in statement["mechanism_options"]
    assert "does not hide the labels" not in statement["statement"]
    verify_statement.check(str(given.with_name("out.jsonl.privacy.json")), restate=restate)


def test_text_files_hold_no_labels_and_have_the_codewords_of_all(loaded: Any, given: Path) -> None:
    statement, _ = released(given, "out.txt")
    assert (statement["labels"], statement["text_epsilon"]) == (None, 4.0)


def test_off_and_a_budget_that_takes_all_sentences_are_the_release_without_names(loaded: Any, given: Path) -> None:
    rewriter, _ = open_release(ReleaseRequest(epsilon=60.0))
    assert rewriter.by_label() is rewriter
    off, asked = open_release(ReleaseRequest(epsilon=4.0, label_codewords="off"))
    assert asked == ReleaseOptions()
    assert local_release.choose_writer(off, asked, has_labels=True) is off
    assert off.by_label() is not off


def test_off_draws_the_same_bits(loaded: Any, given: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same bits in place of the system's, a release without names is that of the mechanism alone."""
    monkeypatch.setattr(random_draws, "source", Counted())
    _, rows = released(given, label_codewords="off", epsilon=10.0)
    monkeypatch.setattr(random_draws, "source", Counted())
    rewriter, _ = open_release(ReleaseRequest(epsilon=10.0))
    assert rewriter.rewrite([TEXTS[n % 4] for n in range(60)]) == [row["text"] for row in rows]


class Counted(random_draws.OperatingSystem):
    """The same bits in every run."""

    def __init__(self) -> None:
        self.drawn = random.Random(1)

    def bits(self, count: int) -> int:
        return self.drawn.getrandbits(count)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"text_epsilon": 4.0}, {}),
        ({"text_epsilon": "inf"}, {}),
        ({}, {"of": "text"}),
        ({"text_epsilon": 4.0}, {"of": "text"}),
        ({"labels": "drop", "neighbours": "any two records", "label_epsilon": None}, {}),
        ({"mechanism_options": {"epsilon": 4.0, "size": 64, "top": 1}}, {}),
    ],
)
def test_a_statement_that_claims_more_of_its_texts_is_refused(
    loaded: Any, given: Path, change: Json, part: Json
) -> None:
    """A forger who writes the digest anew: the certificate, and what adept writes of such facts, say otherwise."""
    statement, _ = released(given)
    statement |= change
    statement["certificate"]["parts"][0] |= part
    statement["certificate"]["statement_sha256"] = statement_sha256(statement)
    place = given.with_name("out.jsonl.privacy.json")
    place.write_text(json.dumps(statement))
    with pytest.raises(Refused):
        verify_statement.check(str(place), restate=restate)


def test_the_certificate_alone_refuses_an_epsilon_of_the_text(loaded: Any, given: Path) -> None:
    statement, _ = released(given)
    statement["text_epsilon"] = 4.0
    statement["certificate"]["statement_sha256"] = statement_sha256(statement)
    place = given.with_name("out.jsonl.privacy.json")
    place.write_text(json.dumps(statement))
    with pytest.raises(Refused, match=r"text_epsilon is .4.0., which is not what certificate"):
        verify_statement.check(str(place))


def test_shuffled_records_are_hidden_among_those_of_their_label(loaded: Any, given: Path) -> None:
    statement, rows = released(given, shuffle=True)
    assert (statement["trust"], statement["shuffled_smallest"], statement["text_epsilon"]) == ("shuffled", 20, None)
    assert len(rows) == 60
    verify_statement.check(str(given.with_name("out.jsonl.privacy.json")), restate=restate)


def test_cells_of_a_public_label_set_are_made_before_the_first_record(loaded: Any, given: Path) -> None:
    request = ReleaseRequest(epsilon=4.0, label_set=[*broad.NAMES, "late_flight"])
    rewriter, options = open_release(request)
    assert options.label_set == (*broad.NAMES, "late_flight")
    writer = local_release.choose_writer(rewriter, options, has_labels=True)
    assert len(writer.alphabet.cells._kept) == 4  # type: ignore[attr-defined]


def test_labels_come_as_they_are_and_a_late_one_changes_no_other_records_sentences(loaded: Any, given: Path) -> None:
    rewriter, options = open_release(ReleaseRequest(epsilon=4.0))
    writer = local_release.choose_writer(rewriter, options, has_labels=True)
    labels = [broad.NAMES[n % 3] for n in range(60)]
    texts = [TEXTS[n % 4] for n in range(60)]
    before = writer.encode(texts, labels)
    late = writer.encode([*texts, "late"], [*labels, "a label, that occurs late"])
    assert (late[:60] == before).all()


def test_a_mechanism_by_label_needs_copied_labels(loaded: Any, given: Path) -> None:
    named = MechanismChoice(Description, options={"by_label": True})
    statement, _ = released(given, mechanism=named)
    assert statement["text_epsilon"] is None
    for number, options in enumerate(
        ({"labels": "drop"}, {"labels": "randomized_response", "label_set": ["a", "b"], "label_epsilon": 1.0})
    ):
        with pytest.raises(ConfigurationError, match="by label"):
            released(given, f"{number}.jsonl", mechanism=named, **options)
    with pytest.raises(ConfigurationError, match="by label"):
        released(given, "o.txt", mechanism=named)
    with pytest.raises(ConfigurationError, match="by label"):
        Rewriter(*loaded, mechanism=JointResponse.of(Description(epsilon=4.0, by_label=True), ["a", "b"]))


def test_frames_and_data_sets_are_released_by_label_too(loaded: Any, tmp_path: Path) -> None:
    frame = pandas.DataFrame({"t": TEXTS, "l": [broad.NAMES[n % 3] for n in range(4)]})
    place = tmp_path / "s.json"
    private = rewrite_frame(frame, text="t", label="l", epsilon=4.0, statement=place)
    assert list(private["l"]) == list(frame["l"])
    assert json.loads(place.read_text())["text_epsilon"] is None


def test_a_resumed_release_has_the_codewords_that_it_began_with(loaded: Any, given: Path) -> None:
    terms = []
    for codewords in ("auto", "off"):
        rewriter, options = open_release(ReleaseRequest(epsilon=4.0, label_codewords=codewords))
        _, plan = local_release.prepare_file(rewriter, str(given), str(given.with_name("o.jsonl")), options=options)
        terms.append(plan().own_terms())
    assert terms[0] != terms[1]
    assert [term["label_codewords"] for term in terms] == ["auto", "off"]


def test_descriptions_of_labels_place_their_codewords_and_are_in_the_digest(loaded: Any, given: Path) -> None:
    place = given.with_name("labels.tsv")
    place.write_text("X17\tis there a taxi downtown\tground transportation\nX17\ttaxi\n")
    plain, _ = released(given)
    described, _ = released(given, "described.jsonl", label_descriptions=str(place))
    assert plain["codebook_sha256"] != described["codebook_sha256"]
    verify_statement.check(str(given.with_name("described.jsonl.privacy.json")), restate=restate)
    rewriter, options = open_release(ReleaseRequest(epsilon=4.0, label_descriptions=str(place)))
    assert options.label_descriptions == {"X17": ("is there a taxi downtown", "ground transportation", "taxi")}
    assert local_release.choose_writer(rewriter, options, has_labels=True).alphabet.cells.about.keys() == {"X17"}  # type: ignore[attr-defined]


@pytest.mark.parametrize("line", ["X17", "X17\t", "\ta sentence", " \t "])
def test_a_line_of_descriptions_without_label_or_sentence_is_named(loaded: Any, given: Path, line: str) -> None:
    place = given.with_name("labels.tsv")
    place.write_text(f"one\ta sentence\n{line}\n")
    with pytest.raises(ConfigurationError, match="in line 2 of"):
        open_release(ReleaseRequest(epsilon=4.0, label_descriptions=str(place)))


def test_descriptions_that_nothing_reads_are_refused(loaded: Any, given: Path) -> None:
    for options in ({"label_codewords": "off"}, {"labels": "drop"}, {"mechanism": MechanismChoice(Description)}):
        with pytest.raises(ConfigurationError, match="label_descriptions must be left out"):
            open_release(ReleaseRequest(epsilon=4.0, label_descriptions="labels.tsv", **options))


def test_labelled_examples_place_codewords_unless_descriptions_say_otherwise(
    loaded: Any, given: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loaded[0], "label_examples", {"X17": ["is there a taxi"], "GroundTransportation": ["taxi"]})
    rewriter, _ = open_release(ReleaseRequest(epsilon=4.0))
    about = rewriter.by_label({"X17": ["cheap"]}).alphabet.cells.about  # type: ignore[attr-defined]
    assert about == {"X17": ("cheap",), "GroundTransportation": ("taxi",)}
    loaded[0].save_pretrained(given.parent / "model")
    assert type(loaded[0]).from_pretrained(given.parent / "model").label_examples == loaded[0].label_examples


def test_the_page_of_a_release_by_label_shows_public_sentences(loaded: Any, given: Path) -> None:
    statement, _ = released(given, report=True)
    assert statement["text_epsilon"] is None
    pages = [path for path in given.parent.iterdir() if path.suffix == ".html"]
    assert len(pages) == 1
    assert "does not hide the labels" in pages[0].read_text("utf-8")
