r"""Guess which record was released (Habernal 2021, Appendix C), or a property of it, such as a city.

The attacker knows the mechanism, the model and a *pool* of candidate texts, one of which is the secret. The attacks,
from strong to weak, are:

- ``pool``: the candidates are the private texts, and the prior probability of a text is its frequency. The attacker
  names the candidate with the largest exact posterior probability.
- ``crowd`` is the attack ``pool`` with many equally likely candidates, which are private texts, public texts, and new
  texts that a language model of the public texts writes.
- ``text``: the candidates are the private texts, and the attacker sees only the rewrite, the text that was written from
  the release. The attacker makes a short list of the candidates whose latents are nearest to the rewrite's latent. For
  each candidate on the list, the attacker computes the probability that the decoder writes the rewrite from this
  candidate's latent, and names the candidate with the largest probability. If the mechanism reads descriptions, there
  is no short list: the attacker takes the codec's description of the rewrite for the release, and names the candidate
  that is then likeliest.

A guess is *good enough* if it has the same slot values as the secret. The candidates with the same slot values form a
*class*.

Secrets for *attribute inference* are drawn uniformly from the private records. Three attackers guess the attribute
(`play_attribute`):

- ``static`` trains the classifier ``text`` (n-grams and the sentence encoder) on public text that was not rewritten,
  and applies it to the rewrite of the secret;
- ``adaptive`` trains such a classifier on public text that the same rewriter has rewritten;
- ``release`` computes the exact posterior probability of each private record, and names the value of the attribute
  whose records have the largest total probability.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from adept.attacks.attack_game import AttackGame, AttackRow, GivenAway
from adept.attacks.likelihood import Candidates, best_success, guess, read_candidates
from adept.data.corpus import Corpus
from adept.data.texts import text_list
from adept.errors import DataError
from adept.evaluation.classifiers import predict
from adept.mechanisms import Codebook
from adept.mechanisms.guarantee import good_enough
from adept.models.decoding import likelihood
from adept.models.lstm_autoencoder import pad
from adept.rewriting.alphabets import Codewords, Latents
from adept.rewriting.rewriter import Rewriter

BATCH_ROWS = 256


@dataclass(frozen=True)
class Pool:
    """The distinct texts among which an attack seeks the secret, with their prior probabilities."""

    texts: list[str]
    prior: Tensor  # prior probability of each text (j,); the sum is one
    # Class of each text (j,), a whole number; None if the slot values are unknown
    classes: Tensor | None = None


def gather_candidates(
    texts: Sequence[str], values: Sequence[Sequence[str]] | None = None, *, weighted: bool = True
) -> Pool:
    """Return the pool of the distinct texts in ``texts``, weighted by their frequencies.

    If ``weighted`` is False, all texts of the pool are equally likely. ``values`` holds the slot values of each text,
    which define the classes; if it is None, the pool has no classes.
    """
    texts = text_list(texts)
    counts = Counter(texts)
    weights = torch.tensor([count if weighted else 1 for count in counts.values()], dtype=torch.float64)
    classes = None
    if values is not None:
        first = dict(zip(reversed(texts), reversed(values), strict=True))
        numbers: dict[tuple[str, ...], int] = {}
        keys = [tuple(sorted(first[text])) for text in counts]
        classes = torch.tensor([numbers.setdefault(key, len(numbers)) for key in keys])
    return Pool(list(counts), weights / weights.sum(), classes)


class Round:
    """Secrets that are drawn from a pool and released, with the guesses of the best attack."""

    def __init__(self, game: AttackGame, pool: Pool) -> None:
        self.game, self.pool = game, pool
        draws = game.draw(len(pool.texts), pool.prior.tolist())
        self.places, self.secrets = torch.tensor(draws), [pool.texts[place] for place in draws]
        self.released = game.release(self.secrets)
        self.candidates = view(game.rewriter, pool.texts)
        self.guesses = guess(self.candidates, self.released, prior=pool.prior, classes=pool.classes)

    def exact_row(self, knows: str) -> AttackRow:
        """Return the row of the attack that names the text with the largest posterior probability."""
        optimum = best_success(self.candidates, self.pool.prior, torch.arange(len(self.pool.texts)))
        promise, odds = self.game.rewriter.guarantee, self.guesses.odds
        detail = {"largest_odds": float(odds.max())}
        if not promise.delta:
            detail["beyond_claim"] = float((odds > promise.claimed_epsilon * (1 + 1e-4)).double().mean())
        return self.row(knows, self.guesses.best == self.places, optimum=optimum, **detail)

    def row(self, knows: str, right: Tensor, *, optimum: float | None = None, **detail: float) -> AttackRow:
        """Return the row of an attack that guesses texts; ``right`` is True for right guesses."""
        detail = {"candidates": len(self.pool.texts)} | detail
        return self.game.row("reconstruction", knows, "exact", right, self.pool.prior, optimum=optimum, detail=detail)


def view(rewriter: Rewriter, texts: Sequence[str]) -> Candidates:
    """Return texts as candidates, in the form that the rewriter's mechanism reads."""
    return read_candidates(rewriter.mechanism, rewriter.encode(text_list(texts)).cpu())


def play(game: AttackGame, *, candidates: int, read_text: bool = True) -> tuple[list[AttackRow], list[GivenAway]]:
    """Attack secrets from the private records, and secrets from a crowd of ``candidates`` texts.

    Return one row for each attack, and the right guesses of which the attacker was most certain. The ``text`` attack
    runs only if ``read_text`` is true.
    """
    if len(game.private) < 2:
        raise DataError(f"the private split must have at least 2 records to be told apart, got {len(game.private)}")
    played = Round(game, gather_candidates(game.private.texts, game.private.slot_values))
    rows = [played.exact_row("pool"), *_good_enough(played)]
    texts = crowd_texts(played.pool, game.public, candidates, random.Random(game.seed))
    crowd = Round(replace(game, seed=game.seed + 1), gather_candidates(texts, weighted=False))
    rows.append(crowd.exact_row("crowd"))
    if read_text:
        named = name_from_text(game.rewriter, played.released, played.pool.texts, played.candidates)
        rows.append(played.row("text", named == played.places))
    return rows, _given_away(played)


def _good_enough(played: Round) -> list[AttackRow]:
    game, pool, named = played.game, played.pool, played.guesses.best_class
    if pool.classes is None:
        return []
    prior = torch.zeros(int(pool.classes.max()) + 1, dtype=torch.float64).index_add(0, pool.classes, pool.prior)
    optimum = best_success(played.candidates, pool.prior, pool.classes)
    right, detail = named == pool.classes[played.places], {"candidates": len(pool.texts)}
    return [game.row("reconstruction", "pool", "good enough", right, prior, optimum=optimum, detail=detail)]


def crowd_texts(pool: Pool, public: Corpus, candidates: int, draw: random.Random) -> list[str]:
    """Return up to ``candidates`` distinct texts: first the pool, then public and new texts."""
    others = sorted(set(public.texts) - set(pool.texts))
    draw.shuffle(others)
    texts = (pool.texts + others)[:candidates]
    written = write_feasible(public.texts, candidates - len(texts), draw)
    return texts + [text for text in written if text not in set(pool.texts)]


def _given_away(played: Round) -> list[GivenAway]:
    guesses, promise = played.guesses, played.game.rewriter.guarantee
    right = (guesses.best == played.places).nonzero()[:, 0]
    surest = right[guesses.posterior[right].argsort(descending=True, stable=True)].tolist()
    certainty = {played.secrets[i]: float(guesses.posterior[i]) for i in reversed(surest)}
    prior = dict(zip(played.pool.texts, played.pool.prior.tolist(), strict=True))
    claimed = float("inf") if promise.delta else promise.claimed_epsilon  # with a delta, a release may tell everything
    named = [GivenAway(text, sure, good_enough(prior[text], epsilon=claimed)) for text, sure in certainty.items()]
    return sorted(named, key=lambda away: -away.certainty)[:3]


def write_feasible(texts: Sequence[str], count: int, draw: random.Random) -> list[str]:
    """Return up to ``count`` new texts, written by a language model of the public ``texts``.

    Any three successive words of a new text also occur in succession in a public text.
    """
    texts = text_list(texts)
    followers: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for text in texts:
        words = ["", "", *text.split(), ""]
        for first, second, word in zip(words, words[1:], words[2:], strict=False):
            followers[first, second].append(word)
    known, found = set(texts), dict[str, None]()
    for _ in range(20 * count):  # a small language model often writes a text again
        if len(found) == count:
            break
        said = ["", ""]
        while len(said) < 40 and (word := draw.choice(followers[said[-2], said[-1]])):
            said.append(word)
        if (text := " ".join(said[2:])) not in known:
            found[text] = None
    return list(found)


def name_from_text(rewriter: Rewriter, released: Tensor, texts: list[str], candidates: Candidates) -> Tensor:
    """Write a text from each release; return the index (m,) of the candidate that fits best."""
    written = [text for text, _ in rewriter.write(released)]
    latents = rewriter.alphabet.latents if isinstance(rewriter.alphabet, Codewords) else rewriter.alphabet
    if not isinstance(latents, Latents):
        flat = torch.full((len(texts),), 1 / len(texts), dtype=torch.float64)
        return guess(candidates, rewriter.encode(written).cpu()[:, :1], prior=flat).best  # the rewrite's own number
    own, read = latents.encode(texts).cpu(), latents.encode(written).cpu()
    unit = torch.nn.functional.normalize
    count = min(8, len(texts))  # of the short list
    nearest = [(unit(part) @ unit(own).T).topk(count, dim=1).indices for part in torch.split(read, BATCH_ROWS)]
    shortlist, points, model = torch.cat(nearest), _noiseless(rewriter, own), rewriter.model
    tokens = rewriter.tokenizer.encode(written, max_length=model.config.max_length)
    batches = [slice(start, start + BATCH_ROWS) for start in range(0, len(tokens), BATCH_ROWS)]
    scores = []
    for place in range(count):
        chosen = points[shortlist[:, place]]
        scores.append(torch.cat([likelihood(model, chosen[rows], pad(tokens[rows])) for rows in batches]))
    return shortlist.gather(1, torch.stack(scores, dim=1).argmax(dim=1, keepdim=True))[:, 0]


def _noiseless(rewriter: Rewriter, latents: Tensor) -> Tensor:
    mechanism = rewriter.mechanism
    if not isinstance(mechanism, Codebook):
        return latents
    parts = mechanism.parts(latents.float())
    return mechanism.join([(block, (part @ block.codewords.T).argmax(dim=1)) for block, part in parts], like=latents)


def read_attribute(corpus: Corpus, name: str) -> list[str]:
    """Return the attribute ``name`` of each record: the label, or the first value of a slot."""
    if name == "label":
        return list(corpus.require_labels("the data for attribute=label"))
    if corpus.slots is None:
        raise DataError(f"attribute={name} needs data with slots, a column of tags: use attribute=label")
    values = [next((value for kind, value in slots if kind == name), "none") for slots in corpus.slots]
    if set(values) == {"none"}:
        known = sorted({kind for slots in corpus.slots for kind, _ in slots})
        raise DataError(f"attribute must be label or a slot of the data, got {name}: the slots are {', '.join(known)}")
    return values


def play_attribute(game: AttackGame, *, attribute: str) -> list[AttackRow]:
    """Let three attackers guess an attribute of secrets that are drawn from the private records."""
    rewriter, private, public = game.rewriter, game.private, game.public
    own, others = read_attribute(private, attribute), read_attribute(public, attribute)
    draws = game.draw(len(private))
    released = game.release([private.texts[place] for place in draws])
    written = [text for text, _ in rewriter.write(released)]
    values = sorted(set(own))
    classes = torch.tensor([values.index(value) for value in own])
    flat = torch.full((len(own),), 1 / len(own), dtype=torch.float64)
    candidates = view(rewriter, private.texts)
    named = guess(candidates, released, prior=flat, classes=classes).best_class
    guesses = {
        "static": predict(Corpus(public.texts, others), written),
        "adaptive": predict(
            Corpus(rewriter.rewrite(public.texts), others), written, epsilon=rewriter.guarantee.epsilon
        ),
        "release": [values[i] for i in named.tolist()],
    }
    prior = torch.bincount(classes).double() / len(own)
    return [
        game.row(
            "attribute",
            knows,
            attribute,
            torch.tensor([value == own[place] for value, place in zip(said, draws, strict=True)]),
            prior,
            optimum=best_success(candidates, flat, classes) if knows == "release" else None,
            detail={"values": len(prior)},
        )
        for knows, said in guesses.items()
    ]
