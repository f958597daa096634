"""dp-diffractor 0.2.1: every process draws the same noise, by default (seed: int = 42)."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

home = Path(tempfile.mkdtemp())  # a small word list and stop words instead of downloads
(home / ".cache/diffractor").mkdir(parents=True)
words = "".join(f"w{i} {i} 0 0 0\n" for i in range(40))
(home / ".cache/diffractor/glove-twitter-200.txt").write_text("40 4\n" + words)
(home / "nltk_data/corpora/stopwords").mkdir(parents=True)
(home / "nltk_data/corpora/stopwords/english").write_text("the\n")
PROGRAM = """
import nltk
from diffractor import Diffractor
nltk.word_tokenize = str.split
m = Diffractor(model_names=["glove-twitter-200"])
print("released:", m.rewrite("w5 w6 w7 w8 w9")[0], flush=True)
m._pool.terminate()
"""
environment = {**os.environ, "HOME": str(home)}
command = [sys.executable, "-c", PROGRAM]
runs = [subprocess.run(command, capture_output=True, text=True, env=environment).stdout for _ in range(3)]
released = [run.split("released: ")[1].strip() for run in runs]
print(released)
assert len(set(released)) == 1  # whoever runs the package on candidate texts can invert a release
