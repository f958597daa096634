"""A rewriter is saved, loaded, published and fetched; the Hub is mocked but for tests marked hub."""

from fnmatch import fnmatch
from pathlib import Path

import huggingface_hub
import pytest
import torch
import yaml
from huggingface_hub import ModelHubMixin, hub_mixin

from adept import Rewriter
from adept.errors import ModelError, ReleaseRefused
from adept.mechanisms import Codebook
from adept.models.saved_model import model_card
from adept.rewriting.loading import HUB_FILES, load_model

OTHER_MODEL = "hf-internal-testing/tiny-random-bert"  # a small public model of another library
TEXTS = ["show me flights to boston", "what does ap mean"]


@pytest.fixture
def rewriter(tiny_run: Path) -> Rewriter:
    return Rewriter.from_pretrained(tiny_run, mechanism=Codebook(epsilon=8.0))


@pytest.fixture
def mocked_hub(tiny_run: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """A Hub that holds one model; the calls that reach it."""
    calls: list[dict[str, object]] = []

    def one_file(**options: object) -> str:
        return str(tiny_run / "model" / str(options["filename"]))

    def whole(name: str, **options: object) -> str:
        calls.append({"name": name, **options})
        if name != "someone/model":
            raise FileNotFoundError(name)
        return str(tiny_run / "model")

    monkeypatch.setattr(hub_mixin, "hf_hub_download", one_file)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", whole)
    return calls


def test_a_saved_rewriter_comes_back_whole(rewriter: Rewriter, tmp_path: Path) -> None:
    rewriter.save_pretrained(tmp_path / "saved")
    loaded = Rewriter.from_pretrained(tmp_path / "saved", mechanism=Codebook(epsilon=2.0))
    assert torch.equal(loaded.encode(TEXTS), rewriter.encode(TEXTS))
    assert loaded.mechanism.epsilon == 2.0
    assert (tmp_path / "saved" / "README.md").read_text("utf-8").startswith("---\n")


def test_a_model_of_the_hub_is_loaded_by_its_name_and_only_its_files_are_fetched(
    rewriter: Rewriter, mocked_hub: list[dict[str, object]]
) -> None:
    loaded = Rewriter.from_pretrained("someone/model", mechanism=Codebook(epsilon=8.0), revision="v1", batch_size=7)
    assert torch.equal(loaded.encode(TEXTS), rewriter.encode(TEXTS))
    [call] = mocked_hub
    assert (call["revision"], call["allow_patterns"]) == ("v1", HUB_FILES)
    assert loaded.batch_size == 7


def test_what_is_on_the_disk_wins_over_the_hub(
    rewriter: Rewriter, mocked_hub: list[dict[str, object]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewriter.save_pretrained(tmp_path / "someone" / "model")
    monkeypatch.chdir(tmp_path)
    Rewriter.from_pretrained("someone/model", mechanism=Codebook(epsilon=8.0))
    assert mocked_hub == []


@pytest.mark.parametrize("name", ["someone/else", "../..", "a/b/c", "no-such-directory"])
def test_a_name_that_leads_nowhere_is_one_line(mocked_hub: list[dict[str, object]], name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="model directory") as caught:
        Rewriter.from_pretrained(name, mechanism=Codebook(epsilon=8.0))
    assert str(caught.value).isprintable()


@pytest.mark.hub
@pytest.mark.usefixtures("reachable_hub")
def test_a_foreign_model_of_the_real_hub_is_one_line_and_no_code_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"config\.json is corrupt") as caught:
        Rewriter.from_pretrained(OTHER_MODEL, mechanism=Codebook(epsilon=8.0), cache_dir=tmp_path)
    assert str(caught.value).isprintable()
    fetched = {path.name for path in tmp_path.rglob("*") if path.parent.parent.name == "snapshots"}
    assert "config.json" in fetched
    assert not [name for name in fetched if not any(fnmatch(name, pattern) for pattern in HUB_FILES)]


@pytest.mark.hub
@pytest.mark.usefixtures("reachable_hub")
def test_a_name_that_the_real_hub_lacks_is_one_line() -> None:
    with pytest.raises(ModelError, match="neither a model directory nor a model that the Hub gives"):
        Rewriter.from_pretrained("adept-tests/no-such-model", mechanism=Codebook(epsilon=8.0))


def test_publishing_pushes_the_directory_with_its_card(rewriter: Rewriter, monkeypatch: pytest.MonkeyPatch) -> None:
    pushed: dict[str, object] = {}

    def push(self: ModelHubMixin, name: str, **options: object) -> str:
        pushed.update(options, name=name, card=str(self.generate_model_card()))
        return "https://hub/commit"

    monkeypatch.setattr(ModelHubMixin, "push_to_hub", push)
    assert rewriter.push_to_hub("someone/model", private=True) == "https://hub/commit"
    assert (pushed["name"], pushed["private"]) == ("someone/model", True)
    assert "no local guarantee covers" in str(pushed["card"])


def test_a_model_of_private_text_is_not_published_by_accident(tiny_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = load_model(tiny_run)
    model.training_data = type(model.training_data)("mine", False, 10)
    rewriter = Rewriter(model, tokenizer, mechanism=Codebook(epsilon=8.0), accept_private_model=True)
    monkeypatch.setattr(ModelHubMixin, "push_to_hub", lambda *_, **__: "done")
    with pytest.raises(ReleaseRefused, match="accept_private_model"):
        rewriter.push_to_hub("someone/model")
    assert rewriter.push_to_hub("someone/model", accept_private_model=True) == "done"


class UnknownError(Exception):
    """An error of a library that only the Hub's library knows."""


@pytest.mark.parametrize("kind", [ConnectionError, UnknownError])
def test_a_hub_that_cannot_be_reached_is_one_line(
    rewriter: Rewriter, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    def fail(*_: object, **__: object) -> str:
        raise kind("no route\nto host")

    monkeypatch.setattr(ModelHubMixin, "push_to_hub", fail)
    with pytest.raises(ModelError, match="cannot publish"):
        rewriter.push_to_hub("someone/model")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(ModelError, match=f"{kind.__name__}.*check the name, the network"):
        Rewriter.from_pretrained("someone/model", mechanism=Codebook(epsilon=8.0))


def test_the_card_is_metadata_the_hub_can_read_and_says_what_no_guarantee_covers(tiny_run: Path) -> None:
    model, _ = load_model(tiny_run)
    _, metadata, text = model_card(model, metrics={"loss": 1.5}).split("---\n", 2)
    fields = yaml.safe_load(metadata)
    assert (fields["license"], fields["language"], fields["datasets"]) == ("mit", ["en"], ["air_travel"])
    for words in ("no local guarantee covers", "loss: 1.5", "400 records", "declared public"):
        assert words in text
    model.training_data = type(model.training_data)('x: [y]" # z', False, 1)
    other = yaml.safe_load(model_card(model).split("---\n", 2)[1])
    assert (other["license"], other["datasets"]) == ("other", ['x: [y]" # z'])
    assert "PRIVATE" in model_card(model)
    assert "LSTM encoder and LSTM decoder" in model_card(model)
    adapted = model_card(model, adapted_from="---\nlicense: cc\n---\n# Old\n\n## Sources\n\n| sgd | CC BY-SA |\n")
    assert adapted.endswith("## The model that it was adapted from\n\n## Old\n\n### Sources\n\n| sgd | CC BY-SA |\n")


def test_a_stranger_s_training_name_adds_no_sentence_and_no_markup_to_a_card(tiny_run: Path) -> None:
    model, _ = load_model(tiny_run)
    name = "x` (declared public). **Every record is protected.** <script>alert(1)</script> [y](http://z) |"
    model.training_data = type(model.training_data)(name, False, 1)
    card = model_card(model).split("---\n", 2)[2]
    (line,) = (line for line in card.splitlines() if line.startswith("Trained on"))
    assert line.count("`") == 2
    assert not set("<>[]*|") & set(line)
