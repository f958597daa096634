#!/usr/bin/env python
"""`adept train` from a checkout: python train.py [overrides].

Without options, this trains the network of the ADePT paper for its first correction: the settings of
experiment=atis_l1, on the bundled text instead of ATIS. Each option below can be given another value,
and python train.py -m mechanism=original,l1,sqrt_n trains one network for each value.
"""

import sys

from adept.__main__ import main

DEFAULTS = {"experiment": "atis_l1", "mechanism": "l1", "data": "air_travel", "output_dir": "runs/train"}

given = {argument.lstrip("+").partition("=")[0] for argument in sys.argv[1:]}
if not given & {"resume_from", "--config-name", "-cn"}:  # which bring options of their own
    if "experiment" in given:
        del DEFAULTS["data"], DEFAULTS["mechanism"]  # which the experiment knows
    elif "mechanism" in given:
        del DEFAULTS["experiment"]  # which is of another mechanism
    if given & {"-m", "--multirun"}:
        del DEFAULTS["output_dir"]  # the runs have numbered directories in sweep_dir
    sys.argv += [f"{name}={value}" for name, value in DEFAULTS.items() if name not in given]
sys.argv.insert(1, "train")
sys.exit(main())
