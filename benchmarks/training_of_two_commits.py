"""Training of another commit and of this one, in alternation: CPU seconds of one thread, and the validation loss that they reach.

    git worktree add --detach /tmp/base COMMIT
    python benchmarks/training_of_two_commits.py /tmp/base [text.jsonl] [epochs] [seeds]

Each run is a process of its own, which trains at DP-Rewrite's sizes (hidden 128, embedding 300, latent 256) and counts its own CPU
seconds, start and set-up left out. The ratio is what counts; the machine's own speed cancels in one run.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean

CODE = """
import json, sys, tempfile, time
from pathlib import Path
import torch
torch.set_num_threads(1)
from adept.data.corpus import DataConfig, Corpus, load
from adept.models.saved_model import Autoencoder
from adept.models.config import ModelConfig
from adept.models.tokenizer import Tokenizer
from adept.models.config import TrainerConfig
from adept.models.config import TrainSpec
from adept.models.training import fit
path, epochs, seed, directory = json.loads(sys.argv[1])
if path:
    texts = [json.loads(line)["text"] for line in Path(path).open()]
else:
    texts = load(DataConfig(sizes=[5000, 1, 1]))["train"].texts
held = len(texts) // 10
train, validation = Corpus(texts[held:]), Corpus(texts[:held])
torch.manual_seed(seed)
tokenizer = Tokenizer.train(train.texts)
sizes = ModelConfig(hidden_dim=128, embedding_dim=300, latent_dim=256)
model = Autoencoder(sizes, vocabulary_size=len(tokenizer), clip="l2")
spec = TrainSpec(clip="l2", seed=seed, trainer=TrainerConfig(max_epochs=epochs, accelerator="cpu"))
begin = time.process_time()
fitted = fit(model, tokenizer, train, validation, spec, output_dir=Path(directory))
print(json.dumps([time.process_time() - begin, fitted.validation_loss]))
"""


def run(checkout: Path, path: str, epochs: int, seed: int) -> tuple[float, float]:
    """Return the CPU seconds and the validation loss of one training run by the code of a checkout."""
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-c", CODE, json.dumps([path, epochs, seed, directory])]
        environment = os.environ | {"PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=checkout)
    seconds, loss = json.loads(done.stdout.splitlines()[-1])
    return seconds, loss


def main() -> None:
    base, here = Path(sys.argv[1]).resolve(), Path(__file__).parent.parent
    path = str(Path(sys.argv[2]).resolve()) if len(sys.argv) > 2 else ""
    epochs, seeds = (int(sys.argv[place]) if len(sys.argv) > place else default for place, default in ((3, 3), (4, 3)))
    results: dict[str, list[tuple[float, float]]] = {"base": [], "here": []}
    for seed in range(seeds):
        for name, checkout in (("base", base), ("here", here)):
            results[name].append(run(checkout, path, epochs, seed))
            print(f"seed {seed} {name}: {results[name][-1][0]:.1f} CPU-s, loss {results[name][-1][1]:.4f}", flush=True)
    for name, runs in results.items():
        print(f"{name}: {mean(r[0] for r in runs):.1f} CPU-s, validation loss {mean(r[1] for r in runs):.4f}")
    print(f"{sum(r[0] for r in results['base']) / sum(r[0] for r in results['here']):.2f} times as fast as the base")


if __name__ == "__main__":
    main()
