"""LDP-Auditor's eight protocols: its rule's certified epsilon beside ours, for the same number of releases and confidence.

    python audits/suites/ldp_auditor.py [DIRECTORY OF ENVIRONMENTS]

The rule is the attack of each protocol as the event (Arcolezi and Gambs, PETS 2024); both bounds are Clopper-Pearson's. The
protocols are multi-freq-ldpy's, at claim 2 over eight values. It takes about four minutes.
"""

import json
import math
import random
import sys
import time
from pathlib import Path

from adept import audit
from adept.studies import wild
from adept.studies.isolated_packages import build_environment, isolated

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


def theirs(mechanism, attack):
    """Return the epsilon that the attack certifies on values 0 and 1."""
    hits = [sum(attack(report) == 0 for report in mechanism.privatize([value] * TRIALS)) for value in (0, 1)]
    low = audit.clopper_pearson(hits[0], TRIALS, alpha=(1 - CONFIDENCE) / 2)[0]
    high = audit.clopper_pearson(hits[1], TRIALS, alpha=(1 - CONFIDENCE) / 2)[1]
    return max(0.0, math.log(low / high))


def main(environments=None):
    module = wild.load_audit("multi_freq_ldpy")
    environment = build_environment("multi_freq_ldpy", module.INSTALLS, environments)
    for name, attack in ATTACKS.items():
        kind = getattr(module, name)
        with isolated(environment, Path(module.__file__), name) as mechanism:
            started = time.process_time()
            found = theirs(mechanism, attack)
            between = time.process_time()
            declared = {**kind.claim, "supports": getattr(kind, "supports", None)}
            claim = audit.Claim(mechanism, randomness="caller", **declared)
            ours = audit.run(claim, trials=TRIALS, confidence=CONFIDENCE)
            seconds = [round(between - started, 1), round(time.process_time() - between, 1)]
        row = {"protocol": name, "LDP-Auditor": found, "adept": wild.certified(ours), "violated": ours.violated}
        print(json.dumps({**row, "seconds of the auditor": seconds}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
