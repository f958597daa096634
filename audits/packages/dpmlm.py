"""dpmlm 1.3.0: Word replacement by a masked language model."""

PACKAGE, VERSION = "dpmlm", "1.3.0"
INSTALLS = (
    ("--no-deps", "dpmlm==1.3.0"),
    ("torch==2.13.0", "transformers==4.57.6", "nltk==3.10.4", "numpy==2.4.6", "importlib_resources==7.1.0"),
)


def write_stop_words():
    """Write six stop words where NLTK looks for its list, instead of a download."""
    from pathlib import Path

    directory = Path.home() / "nltk_data" / "corpora" / "stopwords"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "english").write_text("the\na\nof\nand\nis\nin\n", "utf-8")


class Word:
    """Texts of one content word; a masked model of random weights, its logits clipped to [-2, 2].

    An exponential mechanism spends half of its budget if its normaliser stays, so half the noise would be no violation.
    """

    says = (
        "Differentially Private Text Rewriting Using Masked Language Models",
        "README; epsilon is of a word in the paper",
    )
    claim, expected, trials = {"epsilon": 4.0, "alphabet": ["cat", "dog"]}, "sound", 1500

    def __init__(self, factor):
        import sys
        import tempfile
        import types
        from pathlib import Path

        import nltk
        import torch

        write_stop_words()
        nltk.word_tokenize = lambda text: text.split()
        fake = types.ModuleType("presidio_analyzer")
        fake.AnalyzerEngine = object
        sys.modules["presidio_analyzer"] = fake
        import dpmlm.core as core
        from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

        words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "dog", ".", "sun", "moon", "tree"] + [
            f"w{i}" for i in range(20)
        ]
        file = Path(tempfile.mkdtemp()) / "vocabulary.txt"
        file.write_text("\n".join(words), "utf-8")
        tokenizer = BertTokenizerFast(vocab_file=str(file), model_max_length=64)
        torch.manual_seed(0)
        model = BertForMaskedLM(
            BertConfig(
                vocab_size=len(words),
                hidden_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=16,
                max_position_embeddings=64,
                initializer_range=2.0,
            )
        )
        torch.seed()
        core.AutoTokenizer = type("A", (), {"from_pretrained": staticmethod(lambda n: tokenizer)})
        core.AutoModelForMaskedLM = type("A", (), {"from_pretrained": staticmethod(lambda n: model)})
        self.m = core.DPMLM(calibration={"clip_min": -2.0, "clip_max": 2.0, "sensitivity": 4.0})
        self.eps = self.claim["epsilon"] * factor

    def privatize(self, values):
        return [self.m.dpmlm_rewrite(v, self.eps)[0] for v in values]


class Batched(Word):
    def privatize(self, values):
        return [self.m.dpmlm_rewrite_batch(v, self.eps) for v in values]


class StopWord(Word):
    claim, expected, trials = (
        {"epsilon": 2.0, "alphabet": ["cat", "the"]},
        "violated: distribution (stop words are kept: STOP=False)",
        400,
    )


class Capital(Word):
    claim, expected, trials = (
        {"epsilon": 2.0, "alphabet": ["cat", "Cat"]},
        "violated: distribution (capitals are kept)",
        400,
    )
