"""``adept adapt`` leaves a model directory that rewrites, and says where its examples come from."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import travel
from tiny import Run

from adept.cli import adapt as adapt_command
from adept.cli.config import AdaptConfig
from adept.errors import ConfigurationError, DataError
from adept.models.tokenizer import join_words
from adept.rewriting.loading import load_model


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    path = tmp_path / "tickets.csv"
    rows = [
        f"my {thing} is {state}" for thing in ("router", "bill", "card") for state in ("broken", "late", "lost", "new")
    ]
    path.write_text("text\n" + "".join(f"{row}\n" for row in rows))
    return path


def test_an_adapted_model_rewrites_and_tells_its_origin(
    topic_run: Path, examples: Path, tmp_path: Path, adept_here: Run
) -> None:
    adapt = ["adapt", f"model_dir={topic_run}", f"examples={examples}", "public=true"]
    done = adept_here(*adapt, f"output_dir={tmp_path / 'adapted'}")
    assert (done.returncode, "word for word" in done.stdout) == (0, True), done.stderr
    (tmp_path / "in.txt").write_text("my router is so broken\n")
    rewrite = ["rewrite", f"model_dir={tmp_path / 'adapted'}", f"input={tmp_path / 'in.txt'}", "epsilon=40"]
    done = adept_here(*rewrite, "mechanism=learned_codebook", f"output={tmp_path / 'out.txt'}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.txt").read_text().startswith("my ")
    stated = json.loads((tmp_path / "out.txt.privacy.json").read_text())
    assert stated["training_data"]["name"] == "air_travel, adapted to 12 examples of tickets.csv"
    assert "12 of its texts are examples, declared public by whoever adapted the model" in stated["statement"]
    assert "12 examples of tickets.csv" in (tmp_path / "adapted" / "model" / "README.md").read_text()


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("trainer.max_epochs=-1", "at least 0"),
        (
            "public=false",
            "public must be true to adapt a model, got false: the model and its rewrites will hold the examples",
        ),
        ("examples=nowhere.txt", "nowhere.txt"),
        ("text_column=body", "no column named 'body'"),
        ("examples=null", "examples must be given, got nothing: add examples=FILE, or the names of labels"),
        ("training.learning_rate=0.1", "options of training and trainer have no effect here, because no weights are"),
        ("trainer.accelerator=cpu", "options of training and trainer have no effect here"),
        ("seed=-1", "seed must be an integer between 0 and 4294967295, got -1"),
        ("label_set=[lost_card]", "model_dir must hold a model of broad text"),
        ("examples=nowhere.md", "nowhere.md cannot be read as UTF-8 text"),
        ("examples=nlu.md", "the page is training data of Rasa, which names intents: write its texts into a csv"),
    ],
)
def test_what_the_user_can_mend_is_one_line(
    topic_run: Path, examples: Path, tmp_path: Path, adept_here: Run, override: str, said: str
) -> None:
    given = [
        "adapt",
        f"model_dir={topic_run}",
        f"examples={examples}",
        "public=true",
        f"output_dir={tmp_path / 'new'}",
    ]
    (tmp_path / "nlu.md").write_text("## intent:greet\n- hello\n- good morning\n")
    override = override.replace("nlu.md", str(tmp_path / "nlu.md"))
    name = override.partition("=")[0]
    done = adept_here(*(argument for argument in given if argument.partition("=")[0] != name), override)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert said in done.stderr


@pytest.mark.slow
def test_the_names_of_labels_and_a_page_of_help_place_the_packaged_model(tmp_path: Path, adept_here: Run) -> None:
    """Its own sentences about them come first, and are codewords; at a large budget a sentence about the record comes out."""
    page = tmp_path / "help.md"
    page.write_text("# Cards\n- lost card\n- card fees\n- new pin\n")
    adapt = ["adapt", "label_set=[lost_card,change_pin,exchange_rate]", f"examples={page}", "public=true"]
    done = adept_here(*adapt, f"output_dir={tmp_path / 'bank'}")
    assert done.returncode == 0, done.stderr
    assert "examples of the names in help.md and the names of 3 labels" in done.stdout
    (tmp_path / "in.txt").write_text("i lost my card\nwhat is the rate of the pound\n")
    rewrite = ["rewrite", f"model_dir={tmp_path / 'bank'}", f"input={tmp_path / 'in.txt'}", "epsilon=40"]
    done = adept_here(*rewrite, "mechanism=description", f"output={tmp_path / 'out.txt'}")
    assert done.returncode == 0, done.stderr
    card, rate = (tmp_path / "out.txt").read_text().splitlines()
    assert "card" in card
    assert any(word in rate for word in ("rate", "pound", "exchange", "currency"))
    model, _ = load_model(tmp_path / "bank")
    placed = 500
    assert model.sentences
    first = [join_words(words) for words in model.sentences.utterances[:placed]]
    for about in (("card",), ("pin", "password"), ("exchange", "rate")):
        assert sum(any(word in text for word in about) for text in first) >= placed // 12


@pytest.mark.slow
def test_the_recipe_of_the_packaged_model_numbers_the_sentences_of_two_collections(
    tmp_path: Path, adept_here: Run
) -> None:
    """Each with its sources; the model describes a record by one of them, and can be adapted to names."""
    for directory, name, source, start in (
        ("turns", "train.jsonl", "sgd", 0),
        ("questions", "part-00.jsonl", "star", 3000),
    ):
        rows = (json.dumps({"text": text, "source": source}) for text in travel.texts(3000, start=start))
        (tmp_path / directory).mkdir()
        (tmp_path / directory / name).write_text("\n".join(rows) + "\n")
    small = [
        "model.hidden_dim=16",
        "model.embedding_dim=8",
        "training.most=600",
    ]
    given = [
        f"data.path={tmp_path / 'turns'}",
        f"data.broad={tmp_path / 'questions'}",
        f"output_dir={tmp_path / 'run'}",
    ]
    done = adept_here("train", "experiment=utterances", *given, *small)
    assert done.returncode == 0, done.stderr
    sentences = load_model(tmp_path / "run")[0].sentences
    assert sentences is not None
    assert sentences.is_broad
    held = {join_words(words) for words in sentences.utterances}
    (tmp_path / "in.txt").write_text("what is the lowest fare to boston\n")
    rewrite = [
        "rewrite",
        f"model_dir={tmp_path / 'run'}",
        f"input={tmp_path / 'in.txt'}",
        "mechanism=description",
        "epsilon=30",
    ]
    done = adept_here(*rewrite, "mechanism.size=300", f"output={tmp_path / 'out.txt'}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.txt").read_text().strip() in held
    named = ["adapt", f"model_dir={tmp_path / 'run'}", "label_set=[airfare,meal]", "public=true"]
    done = adept_here(*named, f"output_dir={tmp_path / 'named'}")
    assert done.returncode == 0, done.stderr


def test_labels_of_examples_are_kept_with_the_model(topic_run: Path, tmp_path: Path, adept_here: Run) -> None:
    path = tmp_path / "examples.jsonl"
    rows = [
        {"text": f"my {thing} is {state}", "topic": thing}
        for thing in ("card", "bill")
        for state in ("late", "lost", "new", "gone")
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    adapt = ["adapt", f"model_dir={topic_run}", f"examples={path}", "public=true"]
    done = adept_here(*adapt, "label_column=topic", f"output_dir={tmp_path / 'adapted'}")
    assert done.returncode == 0, done.stderr
    model, _ = load_model(tmp_path / "adapted")
    assert {label: len(texts) for label, texts in model.label_examples.items()} == {"card": 4, "bill": 4}
    done = adept_here(*adapt, f"output_dir={tmp_path / 'plain'}")
    assert load_model(tmp_path / "plain")[0].label_examples == {}
    done = adept_here(
        "adapt", "label_set=[a,b]", "label_column=topic", "public=true", f"output_dir={tmp_path / 'none'}"
    )
    assert (done.returncode, "label_column needs examples=" in done.stderr) == (2, True)


TWO_WORDS = [f"{verb} {noun}" for verb in ("play", "stop", "skip") for noun in ("music", "radio", "podcast")]


class Broad:
    """A model of broad text, as far as the choice of a kind of lines asks for it."""

    sentences = SimpleNamespace(is_broad=True)


@pytest.mark.parametrize(
    ("lines", "name", "kind", "taken"),
    [
        (TWO_WORDS, "a.txt", "auto", "examples"),
        (TWO_WORDS, "a.txt", "names", None),
        (TWO_WORDS, "a.md", "auto", "names"),
        (TWO_WORDS, "a.MD", "auto", "names"),
        (TWO_WORDS[:7], "a.txt", "auto", "names"),
        (["lost_card", "CardFees", "weather"] * 4, "a.txt", "auto", "names"),
        (["lost_card", "CardFees", "weather"] * 4, "a.txt", "examples", None),
        ([str(number) for number in range(10, 30)], "a.txt", "auto", "examples"),
        (["😀"] * 9, "a.txt", "auto", "examples"),
        (["播放一首周杰伦的歌"] * 9, "a.txt", "auto", None),
        (["شغل أغنية فيروز الآن"] * 9, "a.txt", "auto", None),
        (["play a song by adele now"] * 9, "a.txt", "auto", None),
    ],
)
def test_a_line_says_what_short_examples_are_taken_for_and_an_option_decides(
    capsys: pytest.CaptureFixture[str], lines: list[str], name: str, kind: str, taken: str | None
) -> None:
    model: Any = Broad()
    config = AdaptConfig(examples=name, kind=kind, output_dir="out")
    assert adapt_command._are_names(config, model, lines) is ((taken or kind) == "names")
    other = "names" if taken == "examples" else "examples"
    note = f"adept: note: the lines of {name} are taken as {taken}: add kind={other} if they are {other}\n"
    assert capsys.readouterr().err == (note if taken else "")


def test_names_that_the_model_does_not_know_are_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapt_command, "sentences_about", lambda *_: [])
    model: Any = Broad()
    with pytest.raises(DataError, match=r"reads no known word in the names: .* kind=examples"):
        adapt_command._examples(AdaptConfig(output_dir="out"), model, ["überweisung"] * 9, named=True)
    with pytest.raises(ConfigurationError, match="kind"):
        AdaptConfig(output_dir="out", kind="sentences")


def test_sentences_without_spaces_are_as_many_examples_as_they_are(
    topic_run: Path, tmp_path: Path, adept_here: Run
) -> None:
    places = ["北京", "上海", "广州", "成都", "武汉", "西安", "南京", "杭州", "重庆", "天津"]
    texts = [said.format(place) for place in places for said in ("播放{}的歌曲", "{}会下雨吗")]
    (tmp_path / "zh.txt").write_text("\n".join(texts) + "\n")
    given = ["adapt", f"model_dir={topic_run}", f"examples={tmp_path / 'zh.txt'}", "public=true"]
    done = adept_here(*given, f"output_dir={tmp_path / 'zh'}")
    assert (done.returncode, "adapted to 20 examples" in done.stdout) == (0, True), done.stderr
    rewrite = ["rewrite", f"model_dir={tmp_path / 'zh'}", f"input={tmp_path / 'zh.txt'}", "epsilon=60"]
    done = adept_here(*rewrite, "mechanism=learned_codebook", f"output={tmp_path / 'out.txt'}")
    assert done.returncode == 0, done.stderr
    assert len(set(texts) & set((tmp_path / "out.txt").read_text().splitlines())) > 5
