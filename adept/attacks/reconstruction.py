r"""Reconstruction: which record was behind a release (Habernal 2021, Appendix C).

The game: a secret is drawn uniformly from a pool of private records, with replacement, and released once. The attacker knows the
mechanism, the model and a list of candidates, sees the release (or the text that was written from it) and names one candidate.
Rounds are independent, so the share of successes has Clopper and Pearson's interval, and the bounds of ``adept.attacks.bounds``
hold for it with the pool as the prior, whatever the candidates are: those outside the pool only make it harder.

Attacks, from strong to weak:

- ``pool``: the candidates are the pool's own texts with their frequencies ("other records": the attacker knows everybody's text
and
  not whose release it is), and the guess maximises the exact posterior. For finite distributions it is the Bayes optimum.
- ``crowd``: the pool is everything that could have been said: the private texts, the public ones, and what a language model of
  public text writes, all equally likely. Secrets are drawn from all of these.
- ``search``: public texts alone, then edits of the best of them towards the release (``adept.attacks.neighbourhood``).
- ``text``: the rewritten text alone, with the pool's texts for candidates: it is read by the public encoder again, and the
  nearest candidates are ranked by the decoder's likelihood of the text.

*Good enough* is a guess with the same slot values as the secret. There kappa is the largest share of the pool that has the same
ones, and the guess maximises the posterior of all candidates with the same values together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from adept.attacks.likelihood import Known
from adept.data.texts import text_list

MOST_SCORES = 2**24  # scores of releases under candidates in memory at a time: 64 MiB


@dataclass(frozen=True)
class Crowd:
    """Candidates, each different from all others.

    Attributes:
        texts: of each.
        prior: what the attacker holds likely (j,), summing to one.
        classes: whole numbers (j,): equal ones are good enough for each other; None where nobody can say.
    """

    texts: list[str]
    prior: Tensor
    classes: Tensor | None = None


def crowd(texts: Sequence[str], values: Sequence[Sequence[str]] | None = None, *, weighted: bool = True) -> Crowd:
    """Gather candidates from texts that may repeat.

    Args:
        texts: of records.
        values: their slot values, which say what is good enough.
        weighted: is a text as likely as it is frequent, or are all equally likely.
    """
    counts: dict[str, int] = {}
    first: dict[str, int] = {}
    for place, text in enumerate(text_list(texts)):
        counts[text] = counts.get(text, 0) + 1
        first.setdefault(text, place)
    weights = torch.tensor(list(counts.values()) if weighted else [1] * len(counts), dtype=torch.float64)
    classes = None
    if values is not None:
        numbers: dict[tuple[str, ...], int] = {}
        keys = [tuple(sorted(values[place])) for place in first.values()]
        classes = torch.tensor([numbers.setdefault(key, len(numbers)) for key in keys])
    return Crowd(list(counts), weights / weights.sum(), classes)


@dataclass(frozen=True)
class Guesses:
    """What an attack named, of each release.

    Attributes:
        best: the candidate with the largest posterior (m,).
        best_class: the class with the largest posterior (m,); None without classes.
        posterior: of the best candidate (m,).
        odds: by how much the release moved the odds between two candidates at most (m,), in nats: no more than the true epsilon.
    """

    best: Tensor
    best_class: Tensor | None
    posterior: Tensor
    odds: Tensor


def guess(candidates: Known, released: Tensor, *, prior: Tensor, classes: Tensor | None = None) -> Guesses:
    """Name the likeliest candidate, and the likeliest class, behind each release (m, .)."""
    rows = max(1, MOST_SCORES // len(candidates))
    parts = [_guess(candidates, part, prior.log(), classes) for part in torch.split(released, rows)]
    return Guesses(
        torch.cat([part.best for part in parts]),
        None if classes is None else torch.cat([part.best_class for part in parts if part.best_class is not None]),
        torch.cat([part.posterior for part in parts]),
        torch.cat([part.odds for part in parts]),
    )


def _guess(candidates: Known, released: Tensor, log_prior: Tensor, classes: Tensor | None) -> Guesses:
    scores = candidates.log_likelihood(released)
    odds = scores.amax(dim=1) - scores.amin(dim=1)
    posterior = torch.softmax(scores.double() + log_prior, dim=1)
    top, best = posterior.max(dim=1)
    if classes is None:
        return Guesses(best, None, top, odds)
    sums = torch.zeros(len(released), int(classes.max()) + 1, dtype=torch.float64).index_add_(1, classes, posterior)
    return Guesses(best, sums.argmax(dim=1), top, odds)


def reranked(shortlist: Tensor, likelihood: Callable[[Tensor], Tensor]) -> Tensor:
    """Return of each row of shortlisted candidates (m, s) the one under which the text is likeliest.

    Args:
        shortlist: candidates (m, s).
        likelihood: candidates, one for each text (m,), to ln p(text | candidate) (m,).
    """
    scores = torch.stack([likelihood(shortlist[:, place]) for place in range(shortlist.shape[1])], dim=1)
    return shortlist.gather(1, scores.argmax(dim=1, keepdim=True))[:, 0]
