"""Studies: papers' figures and limits, recomputed, with the published numbers beside them."""
