"""The privacy statement of a release, its sentences, and its check."""
