#!/usr/bin/env python
"""`adept train` from a checkout: python train.py [overrides]."""

import sys

from adept.__main__ import main

sys.argv.insert(1, "train")
sys.exit(main())
