"""The flow of a release: plan, draw, publish, and resume."""
