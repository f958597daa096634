"""Blind reading: does a rewrite say about the same thing as its record?

    python benchmarks/blind_reading.py draw sheet.jsonl epsilon=16 ../shared/data/atis ../shared/data/snips ../shared/data/hwu64
    python benchmarks/blind_reading.py count sheet.jsonl answers.txt

``draw`` rewrites records of validation splits, pairs 100 of them with their own rewrite and 100 with another record's from the same
corpus, and writes the pairs to the sheet in random order without saying which is which. A reader writes one line for each pair,
"yes" where both are about the same thing, else "no". ``count`` compares the answers with the key, which ``draw`` wrote beside the
sheet and the reader does not see.
"""

import json
import random
import secrets
import sys
from pathlib import Path

from adept import Rewriter
from adept.mechanisms import Description

PAIRS = 100  # of either kind


def draw(sheet: Path, epsilon: float, corpora: list[Path]) -> None:
    """Write the sheet, and beside it the key: the places of records' own rewrites."""
    rewriter = Rewriter.from_pretrained("utterances", mechanism=Description(epsilon=epsilon))
    rng, pairs = random.Random(secrets.randbits(64)), []
    for place, corpus in enumerate(corpora):
        lines = (corpus / "validation.jsonl").read_text("utf-8").splitlines()
        share = PAIRS // len(corpora) + (place < PAIRS % len(corpora))
        records = rng.sample([json.loads(line)["text"] for line in lines], 2 * share)
        written = rewriter.rewrite(records)
        others = [*written[share + 1 :], written[share]]
        pairs += [(record, text, True) for record, text in zip(records[:share], written[:share], strict=True)]
        pairs += [(record, text, False) for record, text in zip(records[share:], others, strict=True)]
    rng.shuffle(pairs)
    sheet.write_text("".join(json.dumps({"record": a, "rewrite": b}) + "\n" for a, b, _ in pairs), "utf-8")
    sheet.with_suffix(".key").write_text("".join("own\n" if own else "other\n" for *_, own in pairs), "utf-8")


def count(sheet: Path, answers: Path) -> None:
    """Print how many pairs of either kind were found to be about the same thing."""
    said = answers.read_text("utf-8").split()
    key = sheet.with_suffix(".key").read_text("utf-8").split()
    if len(said) != len(key) or not set(said) <= {"yes", "no"}:
        raise SystemExit(f"{answers} must hold {len(key)} lines of yes or no, got {len(said)}")
    for kind in ("own", "other"):
        asked = [answer for answer, own in zip(said, key, strict=True) if own == kind]
        print(f"{kind}: {asked.count('yes')} of {len(asked)} about the same thing")


if __name__ == "__main__":
    command, sheet, *rest = sys.argv[1:]
    if command == "draw":
        draw(Path(sheet), float(rest[0].removeprefix("epsilon=")), list(map(Path, rest[1:])))
    else:
        count(Path(sheet), Path(rest[0]))
