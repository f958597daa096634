"""Options for writing texts from released latents. To keep ``--help`` quick, this module imports no PyTorch."""

from dataclasses import dataclass

from adept.errors import ConfigurationError, check_choice, check_positive, refuse


@dataclass
class DecodingConfig:
    """Options for writing texts from released latents.

    Attributes:
        strategy: Way to write texts: auto (nearest if model.decoder=nearest; otherwise sample for
            mechanism=learned_codebook; otherwise greedy) | greedy (take the likeliest word) | sample (draw words) |
            nearest (take the nearest public text).
        temperature: For strategy=sample: values below 1 favour likely words, values above 1 favour rare words.
        top_k: For strategy=sample: number of likeliest words to draw from. With 0, draw from all words.
        top_p: For strategy=sample: draw from the likeliest words that together have this probability.
        candidates: For strategy=sample: number of texts drawn for a rewrite, of which the likeliest is kept.
        pool: Number of texts that are written for each codeword. The rewrite of a record is drawn from the texts of its
            codeword. With null, smaller codebooks get more texts per codeword. With 0, a new text is written for each
            record.
    """

    strategy: str = "auto"
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    candidates: int = 1
    pool: int | None = None

    def __post_init__(self) -> None:
        check_choice(("auto", "greedy", "sample", "nearest"), **{"decoding.strategy": self.strategy})
        check_positive(**{"decoding.temperature": self.temperature})
        refuse((not 0 < self.top_p <= 1, f"decoding.top_p must be in (0, 1], got {self.top_p}"))
        for name, least in (("top_k", 0), ("candidates", 1), ("pool", 0)):
            if getattr(self, name) is not None and getattr(self, name) < least:
                raise ConfigurationError(f"decoding.{name} must be at least {least}, got {getattr(self, name)}")
