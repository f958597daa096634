"""Rewrite utterances under local differential privacy."""
