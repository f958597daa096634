"""Train a rewriter on public text, rewrite utterances with it, and read what is guaranteed.

    python examples/rewrite.py [directory]

With a directory of a trained model as an argument nothing is trained.
"""

import math
import subprocess
import sys
import tempfile

from adept import Rewriter, mechanisms

UTTERANCES = [
    "show me flights from boston to denver on monday",
    "what does fare code q mean",
    "how much is a cab from the airport to downtown",
    "which airlines fly to lisbon",
]


def main() -> None:
    """Rewrite the utterances at three budgets."""
    directory = sys.argv[1] if len(sys.argv) > 1 else trained()
    for epsilon in (2.0, 4.0, 8.0):
        rewriter = Rewriter.from_pretrained(directory, mechanism=mechanisms.LearnedCodebook(epsilon=epsilon))
        guarantee = rewriter.guarantee
        print(
            f"\nepsilon {guarantee.epsilon:g}: the odds between any two records move by up to {math.exp(epsilon):,.1f}"
        )
        for before, after in zip(UTTERANCES, rewriter.rewrite(UTTERANCES), strict=True):
            print(f"  {before}\n    -> {after}")


def trained() -> str:
    """Train a small model on bundled text, as a user would on the command line: a minute or two."""
    directory = tempfile.mkdtemp(prefix="adept-example-")
    options = ["data=air_travel", "data.sizes=[2000,300,100]", "trainer.max_epochs=15", f"output_dir={directory}"]
    subprocess.run([sys.executable, "-m", "adept", "train", *options], check=True)
    return directory


if __name__ == "__main__":
    main()
