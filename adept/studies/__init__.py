"""Studies: papers' figures and limits, recomputed and compared with the published numbers."""
