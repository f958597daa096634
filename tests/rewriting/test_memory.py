"""A record leaves nothing behind: the next one finds every table and cache as it was before the first."""

from pathlib import Path

import pytest
from remembered import entries, grown

from adept.mechanisms import Description, LearnedCodebook, Mechanism, SqrtNLaplace
from adept.rewriting.rewriter import Rewriter

RECORDS = [
    "show me flights to boston",
    "call wojciechowski about the cheapest fare to denver on friday",
    "zxqv glorps 😀 zebra quokka",
    "flights " * 200,
    "what is the cheapest fare, please?",
    "a b c d e f g h i j k l m n o p q r s t u v w x y z",
]


def opened(request: pytest.FixtureRequest, run: str, mechanism: Mechanism | Description) -> Rewriter:
    return Rewriter.from_pretrained(request.getfixturevalue(run), mechanism=mechanism, accept_private_model=True)


@pytest.mark.parametrize("size", [2**6, None])
@pytest.mark.parametrize("run", ["tiny_run", "topic_run"])
def test_describing_leaves_nothing_behind(request: pytest.FixtureRequest, run: str, size: int | None) -> None:
    """Nor does writing: a number would be written sooner if it is what its record was described as."""
    rewriter = opened(request, run, Description(epsilon=12.0, size=size))
    rewriter.rewrite([""])
    before = entries(rewriter)
    described = rewriter.release(RECORDS)
    assert grown(before, entries(rewriter)) == {}
    rewriter.write(described)
    assert grown(before, entries(rewriter)) == {}


@pytest.mark.parametrize(
    ("run", "mechanism"), [("tiny_run", SqrtNLaplace(epsilon=8.0)), ("topic_run", LearnedCodebook(epsilon=8.0))]
)
def test_encoding_leaves_nothing_behind(request: pytest.FixtureRequest, run: str, mechanism: Mechanism) -> None:
    """Pools hold what was written for codewords that were released, and may: whoever reads the output knows those."""
    rewriter = opened(request, run, mechanism)
    rewriter.release([""])
    before = entries(rewriter)
    for records in (RECORDS, RECORDS * 20, RECORDS[:1]):
        rewriter.release(records)
    assert grown(before, entries(rewriter)) == {}


def test_what_counts_entries_sees_those_of_a_cache(tiny_run: Path) -> None:
    rewriter = Rewriter.from_pretrained(tiny_run, mechanism=SqrtNLaplace(epsilon=8.0))
    rewriter.release([""])
    before = entries(rewriter)
    rewriter.tokenizer.synonyms["bostan"] = "boston"
    ((place, size),) = grown(before, entries(rewriter)).items()
    assert (place.endswith("tokenizer.synonyms"), size) == (True, 1)
