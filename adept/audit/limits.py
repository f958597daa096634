"""What an audit cannot have seen: by its size, by what could not be judged, and by its nature."""

import math
from collections.abc import Iterable

from adept.audit.distinguisher.choice import MOST_DISTINGUISHERS
from adept.audit.distinguisher.experiment import LOOKS
from adept.audit.distinguisher.pilot import rounds_needed
from adept.audit.result import Check, Verdict

CERTIFYING = 0.85  # of the trials, about: the others choose
RARE = 1e-3  # the probability of a total failure whose price is named


def not_looked_at(checks: Iterable[Check], *, trials: int, claimed: float, alpha: float) -> tuple[str, ...]:
    """Return what an audit cannot have seen, in sentences.

    Args:
        checks: those that were made.
        trials: releases of each input.
        claimed: the epsilon that was to be refuted.
        alpha: chance of error of the event.
    """
    return (
        _rare_failures(trials, claimed, alpha),
        "inputs other than those tried: a record that triggers something else must be given in `pairs`",
        f"seed spaces much larger than {trials**2 / 750:.0e}, whose repetitions so few releases do not show",
        "batches of other sizes than those tried: 1 to 66, and about powers of two",
        "timing, memory, logs, and what a mechanism does after its release",
        "what several reports of one record reveal together: audit `JointReports` of the mechanism, or reports=m",
        "what changes over days or after many more calls",
        *(f"{check.name}: {check.evidence}" for check in checks if check.verdict is Verdict.UNJUDGED),
    )


def failure_trials(probability: float, *, claimed: float, alpha: float) -> float:
    """Return how many trials would certify a total failure that happens with some probability, choosing the event included.

    Claim: of a rule that is right where the failure shows and never wrong, m right guesses refute the claim if
    (1 + e^-epsilon)^-m is below its share of alpha (`distinguisher.pilot.rounds_needed`), and one of 2 * CERTIFYING * trials rounds
    is right with that probability. At alpha .025 and for large epsilon that is 3.7 e^epsilon / (1.7 probability).
    """
    share = LOOKS[-1][1] / MOST_DISTINGUISHERS
    return rounds_needed(claimed, alpha=share * alpha) / (2 * CERTIFYING * probability)


def _rare_failures(trials: int, claimed: float, alpha: float) -> str:
    needed = failure_trials(RARE, claimed=claimed, alpha=alpha)
    rarest = RARE * needed / trials
    if math.isinf(needed):
        return "rare failures: the claim is too large for any number of trials"
    shown = (
        f"these {trials:,} show none rarer than one release in {1 / rarest:,.0f}" if rarest < 1 else "so few show none"
    )
    return (
        f"rare total failures, such as releases without noise, where they do not name their record by themselves: with probability "
        f"{RARE:g} one would take about {needed:,.0f} trials to certify; {shown}"
    )
