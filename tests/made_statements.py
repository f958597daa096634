"""A statement of a plain release, and its budget in a ledger, of which tests change some fields."""

from typing import Any

from adept.mechanisms import L1Laplace, Votes
from adept.release.ledger.file import Spending
from adept.release.statement.statement import CentralStatement, PrivacyStatement


def statement(*, epsilon: float = 2.0, **changes: Any) -> PrivacyStatement:
    """Return the statement of five records released by ``l1``."""
    fields: dict[str, Any] = {
        "mechanism": L1Laplace(epsilon=epsilon),
        "latent_dim": 16,
        "records": 5,
        "samples": 1,
        "labels": None,
        "label_response": None,
        "kept_columns": [],
        "training_data": {"name": "atis", "public": True, "records": 9},
        "versions": {},
        **changes,
    }
    return PrivacyStatement(**fields)


def central_statement(votes: Votes, *, persons: bool) -> CentralStatement:
    """Return the statement of a central release that counted with ``votes``."""
    facts: dict[str, Any] = {"training_data": {}, "versions": {}, "label_set": None, "size": 1, "codebook_sha256": ""}
    return CentralStatement(votes=votes, persons=persons, records=None, **facts)


def spending(**changes: Any) -> Spending:
    """Return the budget of a local release without persons, for any two records."""
    fields: dict[str, Any] = {
        "mechanism": "l1",
        "epsilon": 1.0,
        "delta": 0.0,
        "model_sha256": "",
        "unit": "record",
        "neighbours": "any two records",
        **changes,
    }
    return Spending(**fields)
