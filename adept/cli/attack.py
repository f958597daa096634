"""``adept attack``: measure how much a rewrite reveals about the original record."""

import math
from collections.abc import Callable
from typing import Any

from adept.attacks import membership, reconstruction
from adept.attacks.attack_game import AttackGame, AttackRow, GivenAway, draw_rates
from adept.cli.config import AttackConfig
from adept.cli.console import show_lines, show_table, write_json
from adept.data.corpus import DataConfig, load
from adept.data.writing import new_directory, write_table
from adept.errors import ConfigurationError, DataError
from adept.mechanisms.base import MechanismChoice
from adept.mechanisms.guarantee import Guarantee, format_bound, json_number
from adept.plotting import as_wide_as
from adept.rewriting.loading import load_model
from adept.rewriting.rewriter import Rewriter, best_exact
from adept.synthesis.synthesizer import NeighbouringFiles

Found = tuple[list[AttackRow], list[GivenAway]]
Target = tuple[str, Guarantee, int | None, Callable[[], Found]]  # name, promise, dimensions, and the game
HEADINGS = ["attacker", "of what", "rate", "interval", "bound", "at the claim", "best possible", "in words"]


def main(config: AttackConfig) -> None:
    """Run the attack, print the success rates, and write ``result.json`` and ``attack.svg``."""
    name, promise, dim, play = (_file_target if config.attack == "file_membership" else _record_target)(config)
    directory = new_directory(config.output_dir)
    rows, given_away = play()
    given_away = given_away if config.data.public else []
    claimed, true = json_number(promise.claimed_epsilon), json_number(promise.epsilon)
    result = {
        "attack": config.attack, "mechanism": name, "claimed_epsilon": claimed, "epsilon": true, "delta": promise.delta,
        "dim": dim, "sentence": verdict(rows), "rows": [row.to_dict() for row in rows],
        "refutes_claim": any(row.refutes_claim for row in rows),
        "beyond_bound": any(row.beyond_bound for row in rows), "given_away": given_away,
        "options": {name: one for name, one in vars(config).items() if isinstance(one, str | int | float | DataConfig)},
    }  # fmt: skip
    show_lines([str(result["sentence"])])
    title = f"{config.attack} of {name}, claimed epsilon {claimed}, true {true}"
    show_table(title, HEADINGS, [_line(row) for row in rows])
    show_lines(map(describe, given_away))
    write_json(result, directory / "result.json")
    with as_wide_as(config.figure.width):
        draw_rates(rows, promise).save(directory / "attack")
    write_table([row.to_dict() for row in rows], directory / "attack.csv")
    show_lines([f"Figure: {directory / 'attack.svg'}"])


def _record_target(config: AttackConfig) -> Target:
    rewriter, splits = _rewriter(config), load(config.data, config)
    if config.private not in splits:
        raise DataError(f"private must be a split of the data, got {config.private}, which is missing")
    options: dict[str, Any] = {name: getattr(config, name) for name in ("records", "confidence", "seed")}
    game = AttackGame(rewriter=rewriter, private=splits[config.private], public=splits["train"], **options)
    return rewriter.mechanism.name, rewriter.guarantee, rewriter.model.config.latent_dim, lambda: _play(game, config)


def _file_target(config: AttackConfig) -> Target:
    if config.epsilon is None:
        raise ConfigurationError("epsilon must be given for attack=file_membership, got none: add epsilon=1")
    files = NeighbouringFiles.from_pretrained(config.model_dir, epsilon=config.epsilon)
    options: dict[str, Any] = {"rounds": config.records, "confidence": config.confidence}
    return files.name, files.synthesizer.guarantee, None, lambda: (membership.play_file(files, **options), [])


def _rewriter(config: AttackConfig) -> Rewriter:
    """Return the rewriter to attack. Its mechanism may have a false claim, unlike in a release."""
    model, tokenizer = load_model(config.model_dir)
    choice = config.mechanism or MechanismChoice(best_exact(model, epsilon=config.epsilon))
    mechanism = choice.build(epsilon=config.epsilon, clip_norm=model.config.clip_norm)
    options: dict[str, Any] = {name: getattr(config, name) for name in ("decoding", "batch_size", "label")}
    return Rewriter.for_measurement(model, tokenizer, mechanism=mechanism, **options)


def _play(game: AttackGame, config: AttackConfig) -> Found:
    if config.attack == "reconstruction":
        return reconstruction.play(game, candidates=config.candidates)
    if config.attack == "attribute":
        return reconstruction.play_attribute(game, attribute=config.attribute), []
    return membership.play(game, models=config.models), []


def verdict(rows: list[AttackRow]) -> str:
    """Return sentences that say if the claim is refuted, and that describe the strongest attack."""
    against = [row for row in rows if row.refutes_any]
    strongest = max(against or rows, key=lambda row: (row.beyond_bound, row.refutes_claim, row.rate.value))
    if strongest.beyond_bound:
        return f"Violation found, beyond the true epsilon too, so do not use this mechanism. {strongest.words}"
    found = "Violation found: the claim is false." if against else "No violation found, which is no proof."
    return f"{found} {strongest.words}"


def describe(away: GivenAway) -> str:
    """Describe a record that the attacker guessed right, and how certain the attacker was."""
    found = "given away beyond the claim" if away.beyond_claim else "guessed right, as the claim allows"
    return f"{found}: {away.text} (certainty {away.certainty:.3f}, the claim allows {format_bound(away.allowed)})"


def _line(row: AttackRow) -> list[str]:
    return [
        row.knows, row.success, f"{row.rate.value:.3f}",
        f"{format_bound(row.rate.low, lower=True)} to {format_bound(row.rate.high)}",
        *map(format_bound, (row.bound, row.claimed_bound)),
        "" if row.optimum is None or math.isnan(row.optimum) else f"{row.optimum:.3f}", row.words,
    ]  # fmt: skip
