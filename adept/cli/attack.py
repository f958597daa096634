"""``adept attack``: what can be found out about a record from its rewrite, beside what the guarantee allows."""

import math
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from adept.attacks import attribute, membership, reconstruction
from adept.attacks.game import AttackGame, AttackRow, GivenAway, draw_rates
from adept.cli.app import execute
from adept.cli.config import FILE_MEMBERSHIP, AttackConfig
from adept.cli.console import show_table, write_json
from adept.data.corpus import Corpus, load
from adept.data.files import new_directory
from adept.errors import ConfigurationError, DataError
from adept.mechanisms.choice import MechanismChoice
from adept.mechanisms.guarantee import Guarantee, json_number
from adept.rewriting.loading import best_exact, load_model
from adept.rewriting.rewriter import Rewriter
from adept.synthesis.neighbouring_files import NeighbouringFiles
from adept.synthesis.synthesizer import Synthesizer

# name, promise, dimensions, and the game
Target = tuple[str, Guarantee, int | None, Callable[[], tuple[list[AttackRow], list[GivenAway]]]]


@dataclass(frozen=True)
class AttackResult:
    """Result of an attack.

    Attributes:
        promise: mechanism, claimed and true epsilon, delta.
        rows: one attack on one property each.
        given_away: what was named right, of data that are declared public.
    """

    promise: dict[str, Any]
    rows: list[AttackRow]
    given_away: list[GivenAway]


def run(config: AttackConfig) -> AttackResult:
    """Attack, and write ``result.json`` and ``attack.svg``; raises AdeptError for what the user can mend."""
    target = _file_target(config) if config.attack == FILE_MEMBERSHIP else _record_target(config)
    name, promise, dim, play = target
    directory = new_directory(config.output_dir)
    rows, given_away = play()
    result = AttackResult(
        {
            "mechanism": name,
            "claimed_epsilon": json_number(promise.claimed_epsilon),
            "epsilon": json_number(promise.epsilon),
            "delta": promise.delta,
            "dim": dim,
        },
        rows,
        given_away if config.data.public else [],
    )
    write_json(
        {
            "attack": config.attack,
            **result.promise,
            "rows": [row.to_dict() for row in rows],
            "refutes_claim": any(row.refutes_claim for row in rows),
            "beyond_bound": any(row.beyond_bound for row in rows),
            "given_away": [asdict(away) for away in result.given_away],
            "options": _options(config),
        },
        directory / "result.json",
    )
    (directory / "attack.svg").write_text(draw_rates(rows, promise), "utf-8")
    return result


def _record_target(config: AttackConfig) -> Target:
    rewriter, splits = _rewriter(config), load(config.data, config)
    if config.private not in splits:
        raise DataError(f"private must be a split of the data, got {config.private}: it is not there")
    private, public = splits[config.private], splits["train"]
    dim = rewriter.model.config.latent_dim
    return (rewriter.mechanism.name, rewriter.guarantee, dim, lambda: _rows(config, rewriter, private, public))


def _file_target(config: AttackConfig) -> Target:
    if config.epsilon is None:
        raise ConfigurationError("epsilon must be given for attack=file_membership, got none: add epsilon=1")
    options = {"label_set": ("one", "other"), "cells": membership.FILE_CELLS, "accept_private_model": True}
    synthesizer = Synthesizer.from_pretrained(config.model_dir, epsilon=config.epsilon, **options)  # type: ignore[arg-type]
    files = NeighbouringFiles(synthesizer)
    rounds, confidence = config.records, config.confidence
    return (
        files.name,
        synthesizer.guarantee,
        None,
        lambda: (membership.play_file(files, rounds=rounds, confidence=confidence), []),
    )


def _rewriter(config: AttackConfig) -> Rewriter:
    """Return a rewriter that refuses nothing: what is attacked may be broken."""
    model, tokenizer = load_model(config.model_dir)
    choice = config.mechanism or MechanismChoice(best_exact(model, epsilon=config.epsilon))
    mechanism = choice.build(epsilon=config.epsilon, clip_norm=model.config.clip_norm)
    return Rewriter.for_measurement(
        model, tokenizer, mechanism=mechanism, decoding=config.decoding, batch_size=config.batch_size
    )


def _rows(
    config: AttackConfig, rewriter: Rewriter, private: Corpus, public: Corpus
) -> tuple[list[AttackRow], list[GivenAway]]:
    game = AttackGame(
        rewriter=rewriter,
        private=private,
        public=public,
        records=config.records,
        confidence=config.confidence,
        seed=config.seed,
    )
    match config.attack:
        case "attribute":
            return attribute.play(game, attribute=config.attribute), []
        case "membership":
            return membership.play(game, models=config.models), []
    return reconstruction.play(game, candidates=config.candidates)


def _options(config: AttackConfig) -> dict[str, Any]:
    """Return the options as JSON can hold them."""
    plain = {name: value for name, value in vars(config).items() if isinstance(value, str | int | float)}
    return {**plain, "data": asdict(config.data)}


def main() -> int:
    """Run ``adept attack`` from ``sys.argv``."""

    def command(config: AttackConfig) -> None:
        result = run(config)
        promise = result.promise
        sys.stdout.write(f"{verdict(result.rows)}\n")
        headings = ["attacker", "of what", "rate", "interval", "bound", "at the claim", "best possible", "in words"]
        show_table(
            f"{config.attack} of {promise['mechanism']}, claimed epsilon {promise['claimed_epsilon']}, true {promise['epsilon']}",
            headings,
            [_line(row) for row in result.rows],
        )
        sys.stdout.writelines(f"{describe(away)}\n" for away in result.given_away)
        sys.stdout.write(f"Figure: {Path(config.output_dir) / 'attack.svg'}\n")

    return execute("attack", command)


def verdict(rows: list[AttackRow]) -> str:
    """Return what the attacks found, in a sentence, with the one that speaks against the claim or else succeeds most often."""
    against = [row for row in rows if row.refutes_any]
    strongest = max(against or rows, key=lambda row: (row.beyond_bound, row.refutes_claim, row.rate.value))
    if strongest.beyond_bound:
        return f"Violation found, beyond the true epsilon too, so do not use this mechanism. {strongest.words}"
    found = "Violation found: the claim is false." if against else "No violation found, which is no proof."
    return f"{found} {strongest.words}"


def describe(away: GivenAway) -> str:
    """Describe a record that an attacker named right: within the claim that is chance, or what the budget allows."""
    found = "given away beyond the claim" if away.beyond_claim else "guessed right, as the claim allows"
    return f"{found}: {away.text} (certainty {away.certainty:.3f}, the claim allows {away.allowed:.3f})"


def _line(row: AttackRow) -> list[str]:
    optimum = "" if row.optimum is None or math.isnan(row.optimum) else f"{row.optimum:.3f}"
    return [
        row.knows,
        row.success,
        f"{row.rate.value:.3f}",
        f"{row.rate.low:.3f} to {row.rate.high:.3f}",
        f"{row.bound:.3f}",
        f"{row.claimed_bound:.3f}",
        optimum,
        row.words,
    ]
