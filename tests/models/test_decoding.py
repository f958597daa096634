"""A pool is written as it is drawn from: never more than is used, never another text for the same place."""

from collections import Counter

import torch
from torch import Tensor

from adept.models.decoding import Pools

CODEWORDS = torch.eye(3)


class Decoder:
    """Counts what it writes; every text is new."""

    def __init__(self) -> None:
        self.written = 0

    def __call__(self, released: Tensor) -> list[tuple[str, str | None]]:
        texts = [f"{int(row.argmax())}-{self.written + i}" for i, row in enumerate(released)]
        self.written += len(texts)
        return [(text, None) for text in texts]


def test_no_more_texts_are_written_than_are_drawn() -> None:
    decoder, pools = Decoder(), Pools(20)
    drawn = pools.draw(CODEWORDS[[0, 1]], samples=3, decode=decoder)
    assert decoder.written == len(drawn) == 6
    pools.draw(CODEWORDS[[0] * 1000], samples=1, decode=decoder)
    assert decoder.written <= 20 + 3


def test_a_text_belongs_to_its_codeword_and_keeps_its_place() -> None:
    decoder, pools = Decoder(), Pools(5)
    drawn = [text for text, _ in pools.draw(CODEWORDS[[0, 1, 2] * 200], samples=1, decode=decoder)]
    assert all(text.startswith(f"{i % 3}-") for i, text in enumerate(drawn))
    assert decoder.written == len(set(drawn)) == 15


def test_every_place_is_drawn_once_before_any_comes_again() -> None:
    decoder, pools = Decoder(), Pools(4)
    for samples in (1, 4, 7, 8, 11):
        counts = Counter(text for text, _ in pools.draw(CODEWORDS[:1], samples=samples, decode=decoder))
        assert set(counts.values()) <= {samples // 4, samples // 4 + 1}


def test_the_places_are_drawn_uniformly() -> None:
    # 8,000 draws of one in four: a share beyond .25 +- .035 is 7.2 standard errors, below 1e-11 for all four.
    pools = Pools(4)
    counts = Counter(text for text, _ in pools.draw(CODEWORDS[[0] * 8000], samples=1, decode=Decoder()))
    assert all(abs(count / 8000 - 0.25) < 0.035 for count in counts.values())
    assert len(counts) == 4
