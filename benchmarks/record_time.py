"""Time of a record in the packaged model's sentences: it tells nothing of earlier records, at a stated cost.

    git worktree add --detach /tmp/base COMMIT
    python benchmarks/record_time.py [text.jsonl] [records] [/tmp/base]

CPU milliseconds of one thread: of describing a record that was not seen before and one that repeats the record before it, and of
writing the number that a record was just described as and one drawn at random. The first two should be equal; where they are not,
time tells who repeats whom. With another commit's checkout the same is measured there, and the ratio is what the difference costs.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import mean

CODE = """
import json, random, sys, time
from pathlib import Path
import torch
torch.set_num_threads(1)
from adept.data.corpus import DataConfig, load
from adept.mechanisms import Description
from adept.release.options import ReleaseRequest
from adept.mechanisms.base import MechanismChoice
from adept.release.flow.local import open_release
path, records = json.loads(sys.argv[1])
texts = [json.loads(line)["text"] for line in Path(path).open()] if path else load(DataConfig())["test"].texts
texts = random.Random(0).sample(list(dict.fromkeys(texts)), records)

def timed(action, *given):
    begin = time.process_time()
    action(*given)
    return 1e3 * (time.process_time() - begin)

for epsilon in (8.0, 12.0, 16.0, 24.0):
    rewriter = open_release(ReleaseRequest(epsilon=epsilon, mechanism=MechanismChoice(Description)))[0]
    listed, size, top = rewriter.model.sentences, rewriter.mechanism.count, rewriter.mechanism.heavy
    listed.write(listed.nearest(["an unseemly flight"], size=size, count=top)[0])
    found = {"new": [], "repeated": [], "truth": [], "random": []}
    for text in texts:
        found["new"].append(timed(lambda: listed.nearest([text], size=size, count=top)))
        found["repeated"].append(timed(lambda: listed.nearest([text], size=size, count=top)))
        [places] = listed.nearest([text], size=size, count=top)
        found["truth"].append(timed(lambda: listed.write(places[:1])))
        found["random"].append(timed(lambda: listed.write([random.randrange(size)])))
    print(json.dumps({"epsilon": epsilon, **found}), flush=True)
"""


def measured(checkout: Path, path: str, records: int) -> dict[float, dict[str, float]]:
    """The mean milliseconds of each kind of work, by epsilon."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", CODE, json.dumps([path, records])]
    lines = subprocess.run(command, cwd=checkout, env=environment, check=True, capture_output=True, text=True).stdout
    rows = [json.loads(line) for line in lines.splitlines()]
    return {row.pop("epsilon"): {name: mean(values) for name, values in row.items()} for row in rows}


def main() -> None:
    path = str(Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else ""
    records = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    here = Path(__file__).parents[1]
    checkouts = [here, *map(Path, sys.argv[3:4])]
    print(f"{'epsilon':>7} {'new':>7} {'repeated':>8} {'truth':>7} {'random':>7}   ms of CPU a record")
    results = [measured(checkout, path, records) for checkout in checkouts]
    for checkout, result in zip(checkouts, results, strict=True):
        print(checkout.name)
        for epsilon, times in result.items():
            print(
                f"{epsilon:>7g} " + " ".join(f"{times[name]:>7.2f}" for name in ("new", "repeated", "truth", "random"))
            )
    for epsilon, times in results[0].items() if len(results) > 1 else ():
        other = results[1][epsilon]
        describing, writing = (times[name] / other[name] for name in ("new", "random"))
        print(f"{epsilon:>7g} describing {describing:.2f}, writing {writing:.2f} of the other's time")


if __name__ == "__main__":
    main()
