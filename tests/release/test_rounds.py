"""Two rounds spend the budget once: the second is placed by what the first released, and by nothing else of its records."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tiny import Run
from torch import Tensor

from adept.errors import AdeptError, DataError, Interrupted
from adept.mechanisms import LearnedCodebook, RandomizedResponse, SqrtNLaplace
from adept.models.adaptation import placing
from adept.models.adaptation.examples import own_texts
from adept.models.network.decoding import DecodingConfig
from adept.release import rounds as file_rounds
from adept.release.columns import ReleaseOptions
from adept.release.file import preview_file, release_file
from adept.release.rounds import TwoRoundBatches
from adept.rewriting import rounds
from adept.rewriting.rewriter import Rewriter
from adept.rewriting.rounds import check_rounds, frequencies, round_size

LABELS = ("fare", "flight")
RESPONSE = RandomizedResponse(epsilon=1.0, labels=LABELS)
TEXTS = ["a fare to boston", "show me flights to denver on monday", "what does ap mean", "cheap fare please"]
NEAREST = DecodingConfig(strategy="nearest")
KEY = b"k" * 32


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in ((placing, "DRAWN", 100), (placing, "BESIDE", 50), (rounds, "SIZE", 32)):
        monkeypatch.setattr(module, name, value)


@pytest.fixture(scope="module")
def rewriter(topic_run: Path) -> Rewriter:
    mechanism = LearnedCodebook(epsilon=4.0)
    return Rewriter.from_pretrained(topic_run, mechanism=mechanism, decoding=NEAREST, batch_size=4)


def records(count: int, *, texts: int = 4) -> list[dict[str, object]]:
    return [{"text": TEXTS[i % texts], "intent": LABELS[i % 2], "id": i} for i in range(count)]


def records_file(path: Path, count: int) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records(count)))
    return path


class Peeking(TwoRoundBatches):
    """The defect: the second round is placed by the first records themselves."""

    def draw(self, batch):  # type: ignore[no-untyped-def]
        latents = self._one.rewriter.encode([record["text"] for record in batch])
        mechanism = check_rounds(self._one.rewriter)
        raw = (latents @ mechanism.codewords.T).argmax(dim=1)
        self._second(raw.tolist())
        return super().draw(batch)


@pytest.mark.parametrize("kind", [TwoRoundBatches, Peeking])
def test_where_releases_are_frozen_other_records_place_the_same_second_round(
    rewriter: Rewriter, kind: type[TwoRoundBatches], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted defect is seen: its codewords move with the raw texts."""
    frozen = check_rounds(rewriter).codewords[[3, 1, 2]]
    released = Rewriter.release

    def release(self: Rewriter, texts: list[str], labels: object = None) -> Tensor:
        return frozen[: len(texts)] if self is rewriter else released(self, texts)

    monkeypatch.setattr(Rewriter, "release", release)
    found = []
    for texts in (4, 1):
        batches = kind(rewriter, None, ReleaseOptions(labels="drop"), first=3)
        entry = batches.draw(records(4, texts=texts))
        assert (entry["released"], len(entry["texts"])) == ([3, 1, 2], 4)
        assert batches._two is not None
        found.append(check_rounds(batches._two.rewriter).codewords)
    assert torch.equal(*found) == (kind is TwoRoundBatches)


def test_weights_are_what_makes_the_releases_likely() -> None:
    """Of a thousand records half are one codeword and half another; what was released follows the channel exactly."""
    mechanism = LearnedCodebook(epsilon=2.0, codewords=torch.eye(8), top=1)
    share = torch.ones(8)
    share[[2, 5]] += 0.5 * (torch.tensor(2.0).exp() + 7) / 1.0
    released = [
        place for place, times in enumerate((share / share.sum() * 1000).round().int().tolist()) for _ in range(times)
    ]
    found = frequencies(released, mechanism)
    assert float(found.sum()) == pytest.approx(1.0)
    assert set(found.topk(2).indices.tolist()) == {2, 5}
    assert float(found[2]) == pytest.approx(float(found[5]), rel=0.02)
    assert found[[0, 1, 3, 4, 6, 7]].max() < 0.1 * found[2]


def test_codewords_of_the_second_round_lie_where_the_releases_do(rewriter: Rewriter) -> None:
    """All records of the first round released one codeword: all texts of it are codewords of the second, and few others."""
    texts = own_texts(rewriter.model)
    nearest = (rewriter.encode(texts) @ check_rounds(rewriter).codewords.T).argmax(dim=1)
    most = int(nearest.mode().values)
    second = rounds.second_round(rewriter, [most] * 40)
    again = rounds.second_round(rewriter, [most] * 40)
    assert torch.equal(check_rounds(second).codewords, check_rounds(again).codewords)
    assert (second.mechanism.epsilon, second.guarantee.epsilon) == (4.0, 4.0)
    assert second.model.training_data == rewriter.model.training_data
    assert check_rounds(second).count == 32
    placed = set(second.decode(check_rounds(second).codewords))
    kept: dict[bool, list[bool]] = {True: [], False: []}
    for text, place in zip(texts, nearest.tolist(), strict=True):
        kept[place == most].append(text in placed)
    assert len(kept[True]) > 2
    assert all(kept[True])
    assert sum(kept[False]) < 0.3 * len(kept[False])


@pytest.mark.parametrize(("share", "count", "expected"), [(0.1, 30, 3), (0.1, 31, 4), (0.25, 1, 1), (0.3, 10, 3)])
def test_a_share_is_rounded_up_as_it_is_written(share: float, count: int, expected: int) -> None:
    assert round_size(share, count) == expected


@pytest.mark.parametrize("drawn", [1, 2, 3])
def test_what_is_interrupted_in_either_round_is_continued_with_the_same_second_round(
    rewriter: Rewriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drawn: int
) -> None:
    """Batches of four, of which the second is in both rounds; no record is released again, whenever the run ended."""
    given, target = records_file(tmp_path / "in.jsonl", 14), tmp_path / "out.jsonl"
    options = ReleaseOptions(
        keep_columns=["id"], adapt_records=6, labels="randomized_response", label_response=RESPONSE
    )
    released, placed, journalled = [0], list[list[int]](), list[str]()
    own, second = Rewriter.release, file_rounds.second_round

    def release(self: Rewriter, texts: list[str], labels: object = None) -> Tensor:
        released[0] += len(texts)
        return own(self, texts)

    def second_round(first: Rewriter, numbers: list[int]) -> Rewriter:
        placed.append(numbers)
        return second(first, numbers)

    def stop(count: int) -> None:
        if count >= 4 * drawn:
            journalled.append((tmp_path / "out.jsonl.journal").read_text())
            raise KeyboardInterrupt

    monkeypatch.setattr(Rewriter, "release", release)
    monkeypatch.setattr(file_rounds, "second_round", second_round)
    with pytest.raises(Interrupted):
        release_file(rewriter, str(given), str(target), options=options, key=KEY, progress=stop)
    other = replace(options, adapt_records=5)
    with pytest.raises(DataError, match="adapt_records was 6, and is 5"):
        release_file(rewriter, str(given), str(target), options=other, resume=True, key=KEY)
    statement = release_file(rewriter, str(given), str(target), options=options, resume=True, key=KEY)
    rows = [json.loads(line) for line in target.read_text().splitlines()]
    assert [row["id"] for row in rows] == list(range(14))
    assert released == [14]
    assert len(placed) == (1 if drawn == 1 else 2)
    assert len(placed[0]) == 6
    assert all(numbers == placed[0] for numbers in placed)
    entries = [json.loads(line.split(" ", 1)[1]) for line in journalled[0].splitlines()[1:]]
    texts = [text for entry in entries for text in entry["texts"]]
    assert [row["text"] for row in rows[: 4 * drawn]] == texts
    assert (statement.epsilon, statement.first_round) == (5.0, 6)


def test_the_statement_says_what_was_done_and_that_it_costs_no_more(rewriter: Rewriter, tmp_path: Path) -> None:
    given, target = records_file(tmp_path / "in.jsonl", 12), tmp_path / "out.jsonl"
    options = ReleaseOptions(adapt_share=0.25, samples=2)
    planned = preview_file(rewriter, str(given), str(target), options=options)
    statement = release_file(rewriter, str(given), str(target), options=options)
    assert len(target.read_text().splitlines()) == 24
    for stated in (planned, statement):
        assert (stated.first_round, stated.to_json()["first_round"], stated.epsilon) == (3, 3, 4.0)
        assert "the first 3 records, chosen by their places, were released" in stated.text
        assert "Each record was released once" in stated.text
    plain = preview_file(rewriter, str(given), str(tmp_path / "o.jsonl"), options=ReleaseOptions())
    assert plain.to_json()["first_round"] is None
    assert "two rounds" not in plain.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"denoise": True}, "left out for denoise=true"),
        ({"shuffle": True}, "left out for shuffled records: the amplification is proved for one mechanism"),
        ({"shuffled_records": 100}, "left out for shuffled records"),
        ({"engine": "ray"}, "left out for engine=ray"),
        ({"adapt_records": 2}, "adapt_share must be left out beside adapt_records, got 0.5 and 2"),
    ],
)
def test_what_does_not_go_with_two_rounds_is_refused_in_one_line(
    rewriter: Rewriter, tmp_path: Path, options: dict[str, object], message: str
) -> None:
    given = records_file(tmp_path / "in.jsonl", 4)
    asked = ReleaseOptions(**{"adapt_share": 0.5, **options})  # type: ignore[arg-type]
    with pytest.raises(AdeptError, match=message):
        release_file(rewriter, str(given), str(tmp_path / "out.jsonl"), options=asked)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, float("nan")])
def test_a_share_is_a_share(share: float) -> None:
    with pytest.raises(AdeptError, match="adapt_share must be"):
        ReleaseOptions(adapt_share=share)


def test_models_and_mechanisms_without_place_are_refused(topic_run: Path, tiny_run: Path) -> None:
    with pytest.raises(AdeptError, match="mechanism must be learned_codebook for two rounds, got sqrt_n"):
        check_rounds(Rewriter.from_pretrained(topic_run, mechanism=SqrtNLaplace(epsilon=8.0)))
    with pytest.raises(AdeptError, match="strategy must be nearest for two rounds"):
        check_rounds(Rewriter.from_pretrained(topic_run, mechanism=LearnedCodebook(epsilon=8.0)))
    with pytest.raises(AdeptError, match="must hold a model with topics"):
        check_rounds(Rewriter.from_pretrained(tiny_run, mechanism=LearnedCodebook(epsilon=8.0), decoding=NEAREST))


def test_standard_input_needs_a_number(topic_run: Path, tmp_path: Path, adept: Run) -> None:
    given = records_file(tmp_path / "in.jsonl", 6).read_text()
    asked = [
        "rewrite", f"model_dir={topic_run}", "input=-", "format=jsonl", "output=-", f"statement={tmp_path / 's.json'}",
        "epsilon=4", "decoding.strategy=nearest",
    ]  # fmt: skip
    refused = adept(*asked, "adapt_share=0.5", input=given)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "adapt_share needs a file, whose records can be counted" in refused.stderr
    done = adept(*asked, "adapt_records=3", input=given)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 6
    assert json.loads((tmp_path / "s.json").read_text())["first_round"] == 3
