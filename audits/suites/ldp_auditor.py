"""LDP-Auditor's eight protocols: its rule's certified epsilon beside ours, for the same number of releases and confidence.

    python audits/suites/ldp_auditor.py [DIRECTORY OF ENVIRONMENTS]

The rule is the attack of each protocol as the event (Arcolezi and Gambs, PETS 2024); both bounds are Clopper-Pearson's. The
protocols are those of multi-freq-ldpy and pure-ldp over eight values, at claim 2; SS at claim 1, since its subsets hold one
value at claim 2. Seconds are of processor time, the protocol's own included. It takes about four minutes.
"""

import json
import math
import random
import resource
import sys
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from wild import claims
from wild.environments import build_environment, isolated

from adept import audit

TRIALS, CONFIDENCE, VALUES = 10_000, 0.9999, 8


def pick(candidates):
    candidates = list(candidates)
    return random.choice(candidates) if candidates else random.randrange(VALUES)


def of_bits(report):
    return pick(value for value, bit in enumerate(report) if bit)


def of_hash(report):
    hashes, reported = report
    return pick(value for value in range(VALUES) if hashes[value] == reported)


def largest(report):
    return max(range(VALUES), key=lambda value: report[value])


ATTACKS = {
    "GRR": lambda report: report,
    "SS": pick,
    "SUE": of_bits,
    "OUE": of_bits,
    "THE": of_bits,
    "SHE": largest,
    "OLH": of_hash,
    "BLH": of_hash,
}


PROTOCOLS = {"multi_freq_ldpy": tuple(ATTACKS), "pure_ldp": ("GRR", "SUE", "OUE", "SHE", "OLH", "BLH")}


def theirs(mechanism, attack):
    """Return the epsilon that the attack certifies on values 0 and 1."""
    hits = [sum(attack(report) == 0 for report in mechanism.privatize([value] * TRIALS)) for value in (0, 1)]
    low = audit.clopper_pearson(hits[0], TRIALS, alpha=(1 - CONFIDENCE) / 2)[0]
    high = audit.clopper_pearson(hits[1], TRIALS, alpha=(1 - CONFIDENCE) / 2)[1]
    return max(0.0, math.log(low / high))


def spent():
    """Return the seconds of processor time of this process and of the protocols that have ended."""
    return sum(sum(resource.getrusage(whose)[:2]) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def ours(mechanism, kind):
    """Return our audit of the protocol's claim."""
    declared = {**kind.claim, "supports": getattr(kind, "supports", None)}
    claim = audit.Claim(mechanism, randomness="caller", **declared)
    return audit.run(claim, trials=TRIALS, confidence=CONFIDENCE)


def main(environments=None):
    for package, names in PROTOCOLS.items():
        module = claims.load_audit(package)
        environment = build_environment(package, module.INSTALLS, environments)
        for name in names:
            kind, at = getattr(module, name), [spent()]
            with isolated(environment, Path(module.__file__), name) as mechanism:
                found = theirs(mechanism, ATTACKS[name])
            at.append(spent())
            with isolated(environment, Path(module.__file__), name) as mechanism:
                result = ours(mechanism, kind)
            at.append(spent())
            row = {"package": package, "protocol": name, "claim": kind.claim["epsilon"]}
            row |= {
                "LDP-Auditor": round(found, 2),
                "adept": round(claims.certified(result), 2),
                "violated": result.violated,
            }
            print(json.dumps({**row, "seconds": [round(end - start, 1) for start, end in pairwise(at)]}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
