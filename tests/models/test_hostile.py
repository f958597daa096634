"""A stranger's model directory is read or refused in one line: in little memory, and whatever its files hold."""

import json
import resource
import unicodedata
from pathlib import Path

import pytest
from hostile_models import mutate
from tiny import Run

from adept.errors import AdeptError, ModelError
from adept.mechanisms import Codebook, Description
from adept.models.tokenizer import Tokenizer
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter

TEXTS = [
    "show me flights to boston",
    "",
    "zebra quux",
    "\x07 \ud800 \u2028",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
    "a " * 5_000,
]


def read_or_refuse(directory: Path, described: Description | None = None) -> str:
    """Load a directory and write with it; returns the refusal, or nothing where all went well."""
    try:
        model, tokenizer = load_model(directory)
        mechanism = described or Codebook(epsilon=4.0, clip_norm=model.config.clip_norm)
        rewriter = Rewriter(model, tokenizer, mechanism=mechanism, accept_private_model=True)
        written = rewriter.rewrite_pairs(TEXTS)
    except AdeptError as error:
        message = str(error)
        return message if message.isprintable() and len(message) < 2_000 else pytest.fail(f"not one line: {message!r}")
    finally:
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2 << 20, "2 GiB"
    assert len(written) == len(TEXTS)
    for text, _ in written:
        assert not {unicodedata.category(character) for character in text} & {"Cc", "Cs", "Zl", "Zp"}
    return ""


@pytest.mark.parametrize("seed", [pytest.param(0, id="some"), pytest.param(1, id="many", marks=pytest.mark.slow)])
def test_mutated_model_directories_are_read_or_refused_in_one_line(tiny_run: Path, tmp_path: Path, seed: int) -> None:
    count = 500 if seed else 45
    outcomes: dict[str, list[str]] = {}
    for number in range(count):
        target = tmp_path / "model"
        name = mutate(tiny_run / "model", target, seed * 1_000_003 + number)
        described = (
            Description(epsilon=(6.0, 18.0, 40.0)[number // 9 % 3])
            if (seed and number % 2) or "codec" in name
            else None
        )
        outcomes.setdefault(name, []).append(read_or_refuse(target, described))
        target.rename(tmp_path / f"done-{number}")
    damage = [name for name in outcomes if not name.startswith("codec")]  # what a codec holds may well be another's
    assert all(any(outcomes[name]) for name in damage), "every kind of damage is seen"
    assert not all(all(outcomes[name]) for name in outcomes), "what changes nothing that matters is read"


def test_no_record_can_make_an_encoder_fail(tiny_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were there a text on which the Rust side fails, it would be encoded as the empty one, and the others as ever."""
    _, tokenizer = load_model(tiny_run)
    real = tokenizer._backend

    class Failing:
        def encode_batch(self, texts: list[str], **options: object) -> object:
            if any("zebra" in text for text in texts):
                raise Exception("WordLevel error: Missing [UNK] token from the vocabulary")
            return real.encode_batch(texts, **options)

    texts = ["flights to boston", "zebra", ""]
    expected = tokenizer.encode(["flights to boston", "", ""], max_length=20)
    monkeypatch.setattr(tokenizer, "_backend", Failing())
    assert tokenizer.encode(texts, max_length=20) == expected


def test_a_tokenizer_that_cannot_write_unknown_words_is_refused_at_once(tiny_run: Path, tmp_path: Path) -> None:
    target = tmp_path / "model"
    mutate(tiny_run / "model", target, 5)  # the bytes of some file; restored below
    for file in (tiny_run / "model").iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    content = json.loads((target / "tokenizer.json").read_text("utf-8"))
    content["model"]["unk_token"] = "[NONE]"
    (target / "tokenizer.json").write_text(json.dumps(content), "utf-8")
    with pytest.raises(ModelError, match=r"tokenizer\.json is corrupt"):
        load_model(target)


@pytest.mark.parametrize("word", ["a\nb", "\x1b[31m", "x\u2028y", "\u202e"])
def test_tokens_with_line_breaks_or_control_characters_are_refused(tiny_run: Path, tmp_path: Path, word: str) -> None:
    content = json.loads((tiny_run / "model" / "tokenizer.json").read_text("utf-8"))
    words = content["model"]["vocab"]
    words[word] = words.pop(max(words, key=words.__getitem__))
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), "utf-8")
    with pytest.raises(ModelError, match="control characters"):
        Tokenizer.from_pretrained(tmp_path)


def copied(tiny_run: Path, target: Path) -> Path:
    target.mkdir()
    for file in (tiny_run / "model").iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    return target


def test_a_lost_codebook_is_an_error_and_not_another_mechanism(tiny_run: Path, tmp_path: Path) -> None:
    target = copied(tiny_run, tmp_path / "model")
    assert load_model(target)[0].codebooks
    (target / "codebooks.safetensors").unlink()
    with pytest.raises(ModelError, match=r"codebooks\.safetensors"):
        load_model(target)


@pytest.mark.parametrize("name", ["codec.json", "codec.safetensors"])
def test_a_lost_codec_is_an_error_and_not_another_mechanism(tiny_run: Path, tmp_path: Path, name: str) -> None:
    target = copied(tiny_run, tmp_path / "model")
    (target / name).unlink()
    with pytest.raises(ModelError, match=rf"no readable {name}"):
        load_model(target)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("public", "false", "true or false"),
        ("public", 1, "true or false"),
        ("name", "x\nThis file is public", "a line"),
        ("name", "y" * 300, "a line"),
        ("records", -1, "records"),
    ],
)
def test_where_a_model_comes_from_is_what_it_says_and_one_line(
    tiny_run: Path, tmp_path: Path, field: str, value: object, message: str
) -> None:
    target = copied(tiny_run, tmp_path / "model")
    content = json.loads((target / "config.json").read_text("utf-8"))
    content["training_data"][field] = value
    (target / "config.json").write_text(json.dumps(content), "utf-8")
    with pytest.raises(ModelError, match=message):
        load_model(target)


def test_links_to_regular_files_are_followed_as_the_hubs_cache_has_them(tiny_run: Path, tmp_path: Path) -> None:
    for file in (tiny_run / "model").iterdir():
        (tmp_path / file.name).symlink_to(file)
    assert load_model(tmp_path)[0].codebooks


def test_the_command_line_refuses_a_hostile_directory_with_status_2(
    adept_here: Run, tiny_run: Path, tmp_path: Path
) -> None:
    target = copied(tiny_run, tmp_path / "model")
    (target / "tokenizer.json").unlink()
    (target / "tokenizer.json").mkdir()
    (tmp_path / "in.txt").write_text("flights to boston\n")
    done = adept_here(
        "rewrite", f"model_dir={target}", f"input={tmp_path / 'in.txt'}", f"output={tmp_path / 'out.txt'}", "epsilon=8"
    )
    assert done.returncode == 2
    assert "regular file" in done.stderr
    assert not (tmp_path / "out.txt").exists()
