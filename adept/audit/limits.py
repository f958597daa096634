"""What each check can and cannot see, and what an audit as a whole has not looked at."""

import math
from collections.abc import Iterable

from adept.audit.result import Check, Verdict

SEES = {
    "sensitivity": "Sees inputs farther apart than the declared noise covers. Blind to noise that is not as declared.",
    "norm": "Sees projected latents outside the declared set, to the last bit, on 34 latents of every size.",
    "event": "Sees any leak by which a rule guesses the input, whatever the mechanism declares: certifies a bound on epsilon. "
    "It cannot exceed about ln(trials), and a leak spread over many coordinates shows only in part.",
    "dimension ": "Sees what the event sees, at a small dimension, where less noise hides it, or at a large one, by one place of "
    "many. Blind to other dimensions.",
    "alone": "Sees what a record's release in a batch of its own tells that others do not. Blind to events rarer than in hundreds.",
    "first": "Sees what the first release of a fresh copy tells that others do not, and noise that copies share.",
    "afterwards": "Sees what a copy keeps from a call of another dimension, such as a scale. Blind to longer pasts.",
    "repetition": "Sees releases that come back, from pools of noise or small spaces of seeds, and noise that is small now and "
    "then. Blind to spaces beyond trials^2 / 10^3.",
    "company": "Sees what all releases of a batch tell of a record, at any of three places, and a batch of copies does not. "
    "Blind to larger batches.",
    "sizes": "Sees a first, middle or last row with little noise in batches of some size up to 1,025. Blind to noise that is half.",
    "scale": "Sees noise smaller than declared, by fractions of a percent. Blind to what is not additive noise.",
    "shape": "Sees noise of another law than declared, also where it depends on the input. Blind to dependence.",
    "coordinates": "Sees noise shared by coordinates or rows in sign or size, at several distances. Blind to other distances.",
    "batch": "Sees noise that records of one batch share, in whole or in part. Blind to correlations below a few percent.",
    "neighbours": "Sees releases that depend on the other records of a batch. Blind to dependence below a few percent.",
    "seed": "Sees noise that torch, NumPy or random seeds repeat. Blind to a secret seed of the mechanism's own.",
    "fork": "Sees noise that forked workers share. Blind to processes started in other ways.",
    "finiteness": "Sees NaN or Inf that come through. What a constant put in their place would tell, the event sees.",
    "dtype": "Sees records that come back as another type, dtype, shape or layout, with something attached or behind a view, or "
    "refused within the set that the mechanism names. Blind to what a type says of two records of one dtype.",
    "grid": "Sees floating-point noise that says it is exact. Blind to floats that were rounded to a grid afterwards.",
    "lowest bit": "Sees floating-point noise of any precision that says it is exact. Blind to floats rounded to a grid afterwards.",
    "representability": "Sees low bits that tell one input from another. Blind to traces in which numbers are likely.",
    "law": "Sees a claim that the law given does not keep, exactly. Blind to a program that has another law.",
    "counts": "Sees a program whose outcomes are not those of the law given. Blind to differences of a few standard deviations.",
}


def not_looked_at(checks: Iterable[Check], *, trials: int, claimed: float, alpha: float) -> tuple[str, ...]:
    """Return what an audit cannot have seen, in sentences: by its size, by what could not be judged, and by its nature."""
    unjudged = [check for check in checks if check.verdict is Verdict.UNJUDGED]
    # So many right guesses without a wrong one refute the claim: (1 + e^-eps)^-m = alpha.
    needed = -math.log(alpha) / math.log1p(math.exp(-claimed)) if claimed < 50 else math.inf
    rare = needed / trials
    rarest = (
        f"less often than once in {1 / rare:,.0f} releases"
        if rare < 1
        else "at all: the claim is too large for so few trials"
    )
    return (
        f"events that happen {rarest}; more trials see rarer ones",
        "inputs other than those tried: a record that triggers something else must be given in `pairs`",
        f"seed spaces much larger than {trials**2 / 750:.0e}, whose repetitions so few releases do not show",
        "batches of other sizes than those tried: 1 to 66, and about powers of two",
        "timing, memory, logs, and what a mechanism does after its release",
        "what changes over days or after many more calls",
        *(f"{check.name}: {check.evidence}" for check in unjudged),
    )
