"""A file of many lines and a lone text, end to end at the default size, in CPU-seconds of one thread beside the matrix product.

    python benchmarks/files.py [records] [mechanism ...]

Weights are untrained, which cost as much as trained ones, with an END that comes as often as in the corpus; all texts are sampled,
which is the slower way to decode. A learned codebook is measured with the encoder that it is trained with, topics, and with the
LSTM that serves the others. *Again* is the same rewriter on the same file once its pools are written. The last column is
the records a second that the same work would be where the product runs at 190 GFLOP/s.
"""

import math
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import torch

from adept.data.corpus import DataConfig, load
from adept.mechanisms import Codebook, LearnedCodebook, Mechanism, SqrtNLaplace
from adept.models.codebooks import learn_codebooks
from adept.models.config import TOPICS, ContentConfig, DecodingConfig, ModelConfig, TrainingData
from adept.models.saved_model import Autoencoder
from adept.models.tokenizer import END, Tokenizer
from adept.models.topics import supported_topics
from adept.release.flow.local import release_file
from adept.release.records import ReleaseOptions
from adept.rewriting.rewriter import Rewriter

REFERENCE, LONE = 190e9, 40


def product_rate() -> float:
    """FLOP/s of a product of two 1024 x 1024 matrices, the best of ten."""
    matrix, seconds = torch.randn(1024, 1024), []
    for _ in range(10):
        begin = time.process_time()
        matrix @ matrix
        seconds.append(time.process_time() - begin)
    return 2 * 1024**3 / min(seconds)


def model_of(texts: list[str], tokenizer: Tokenizer, encoder: str) -> Autoencoder:
    """An untrained model of the default size that ends its sentences as the corpus does, with codebooks of its latents."""
    rows, data = tokenizer.encode(texts, max_length=40), TrainingData("benchmark", True, len(texts))
    sizes = ModelConfig()
    if encoder == TOPICS:
        sizes = ModelConfig(encoder=TOPICS, latent_dim=supported_topics(len(texts), most=ContentConfig().topics))
    model = Autoencoder(sizes, vocabulary_size=len(tokenizer), clip="l2", training_data=data).eval()
    if encoder == TOPICS:
        model.topics.fit(rows[:4096], seed=0, words=tokenizer.words)
    words = sum(map(len, rows)) / len(rows) - 1
    with torch.no_grad():
        model.to_words.bias[END] += math.log(len(tokenizer) / words)
    model.codebooks = learn_codebooks(model.encode_records(rows[:4096]))
    return model


def main() -> None:
    torch.set_num_threads(1)
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    texts = load(DataConfig(sizes=[records, 1, 0]))["train"].texts
    tokenizer = Tokenizer.train(texts)
    models = {encoder: model_of(texts, tokenizer, encoder) for encoder in (TOPICS, "lstm")}
    learned = LearnedCodebook(epsilon=8.0)
    rows: list[tuple[Mechanism, str]] = [(learned, TOPICS), (learned, "lstm")]
    rows += [(Codebook(epsilon=8.0), "lstm"), (SqrtNLaplace(epsilon=8.0), "lstm")]
    rows = [(mechanism, encoder) for mechanism, encoder in rows if mechanism.name in (sys.argv[2:] or mechanism.name)]
    print(
        f"{'mechanism, encoder':<24} {'records/CPU-s':>14} {'again':>8} {'lone text':>12}   at 190 GFLOP/s: records/s, again"
    )
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "in.txt"
        source.write_text("\n".join(texts) + "\n")
        for mechanism, encoder in rows:
            sampled, name = DecodingConfig(strategy="sample"), f"{mechanism.name}, {encoder}"
            rewriter = Rewriter(models[encoder], tokenizer, mechanism=mechanism, decoding=sampled)
            before, rates = product_rate(), []
            for run in range(2):
                begin = time.process_time()
                target = str(Path(directory) / f"{name}-{run}.txt")
                release_file(rewriter, str(source), target, options=ReleaseOptions(labels="drop"))
                rates.append(records / (time.process_time() - begin))
            lone = []
            for text in texts[:LONE]:
                begin = time.process_time()
                rewriter.rewrite([text])
                lone.append(1e3 * (time.process_time() - begin))
            scale = REFERENCE / ((before + product_rate()) / 2)
            print(
                f"{name:<24} {rates[0]:>14,.0f} {rates[1]:>8,.0f} {median(lone):>9.1f} ms"
                f"   {rates[0] * scale:,.0f}, {rates[1] * scale:,.0f} ({REFERENCE / scale / 1e9:.0f} GFLOP/s here)"
            )


if __name__ == "__main__":
    main()
