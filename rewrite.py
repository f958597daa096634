#!/usr/bin/env python
"""`adept rewrite` from a checkout: python rewrite.py [overrides]."""

import sys

from adept.__main__ import main

sys.argv.insert(1, "rewrite")
sys.exit(main())
