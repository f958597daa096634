"""Every kind of release takes the same three steps, and what is kept of it are rows."""

import pickle
from pathlib import Path

import pytest
import torch

from adept.mechanisms import Description, JointResponse, LearnedCodebook, LocalRandomizer, SqrtNLaplace
from adept.rewriting.encode_release_write import Coding
from adept.rewriting.rewriter import Rewriter

TEXTS, LABELS = ["show me flights to boston", "", "what is the cheapest fare"], ["flight", "flight", "fare"]
CODEBOOK, DESCRIPTION = LearnedCodebook(epsilon=8.0), Description(epsilon=12.0)
PAIR = ("flight", "fare")


def joint(mechanism: LocalRandomizer) -> JointResponse:
    return JointResponse.of(mechanism, PAIR)


@pytest.mark.parametrize(
    ("mechanism", "columns"),
    [
        (SqrtNLaplace(epsilon=8.0), 8),
        (CODEBOOK, 8),
        (DESCRIPTION, 1),
        (joint(CODEBOOK), 9),
        (joint(DESCRIPTION), 2),
    ],
    ids=["noise", "codebook", "description", "codebook and label", "description and label"],
)
def test_a_record_is_a_row_before_and_after_its_release(
    tiny_run: Path, mechanism: LocalRandomizer | JointResponse, columns: int
) -> None:
    rewriter = Rewriter.from_pretrained(tiny_run, mechanism=mechanism)
    labels = LABELS if rewriter.joint else None
    encoded = rewriter.encode(TEXTS, labels)
    released = rewriter.release(TEXTS, labels)
    assert encoded.shape == released.shape == (3, columns)
    assert torch.equal(encoded[1:2], rewriter.encode(TEXTS[1:2], labels and labels[1:2]))
    written = rewriter.write(released, samples=2)
    assert len(written) == 6
    assert {label for _, label in written} <= ({*PAIR} if rewriter.joint else {None})


@pytest.mark.parametrize("mechanism", [CODEBOOK, DESCRIPTION, joint(CODEBOOK), joint(DESCRIPTION)])
def test_packed_values_come_back_as_they_were(tiny_run: Path, mechanism: LocalRandomizer | JointResponse) -> None:
    rewriter = Rewriter.from_pretrained(tiny_run, mechanism=mechanism)
    coding: Coding = getattr(rewriter.coding, "text", rewriter.coding)
    rows = coding.encode(TEXTS)
    assert torch.equal(coding.pack(coding.unpack(rows)), rows)


def test_a_coding_that_was_used_is_copied_as_if_it_were_new(tiny_run: Path) -> None:
    """A leftover of a release would be private text in everything made of the copy."""
    rewriter = Rewriter.from_pretrained(tiny_run, mechanism=CODEBOOK)
    fresh = pickle.dumps(rewriter.coding)
    rewriter.rewrite(TEXTS)
    assert pickle.dumps(rewriter.coding) == fresh
