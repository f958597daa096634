"""Measure time and memory of a central release of a whole file: the packaged model, one thread.

    python benchmarks/synthesis.py [records ...]

Bundled records, counted per person (at most five of each) and written as a million others would be.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from adept.data.corpus import DataConfig, load


def main() -> None:
    corpus = load(DataConfig())["train"]
    bundled = list(zip(corpus.texts, corpus.labels or [], strict=True))
    labels = sorted({label for _, label in bundled})
    one_thread = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    print(f"{'records':>9} {'seconds':>8} {'of processor':>13} {'MiB':>6}")
    for records in [int(argument) for argument in sys.argv[1:]] or [10_000, 100_000, 1_000_000]:
        with tempfile.TemporaryDirectory() as directory:
            given = Path(directory) / "in.jsonl"
            with given.open("w") as stream:
                for number in range(records):
                    text, label = random.choice(bundled)
                    line = {"text": text, "intent": label, "user": number % (records // 3)}
                    stream.write(json.dumps(line) + "\n")
            command = [
                sys.executable, "-m", "adept", "synthesize", f"input={given}", f"output={directory}/out.jsonl", "epsilon=1",
                f"label_set=[{','.join(labels)}]", "person_column=user", "max_records_per_person=5",
            ]  # fmt: skip
            begin = time.monotonic()
            process = subprocess.Popen(command, env=one_thread, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)
            if status:
                raise SystemExit(f"adept synthesize ended with {status}")
            spent = used.ru_utime + used.ru_stime
            print(
                f"{records:>9} {time.monotonic() - begin:>8.0f} {spent:>13.0f} {used.ru_maxrss / 1024:>6.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
