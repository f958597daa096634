"""``adept verify``: check a privacy statement, and the output and model that it describes."""

from pathlib import Path

from adept.cli.config import VerifyConfig
from adept.cli.exit_status_and_signals import show_lines
from adept.errors import DataError
from adept.release.verify_statement import Json, Refused, check


def main(config: VerifyConfig) -> None:
    """Check a privacy statement, and print the result of each check."""
    show_lines(run(config))


def run(config: VerifyConfig) -> list[str]:
    """Return one sentence for each check; raise AdeptError if the statement is refused."""
    try:
        return check(config.statement, config.output, _model(config.model_dir), restate=_restate)
    except Refused as error:
        raise DataError(f"refused: {error}") from None


def _restate(said: Json) -> Json | None:
    from adept.release.statement import restate  # seconds to import, and in vain where the numbers are wrong

    return restate(said)


def _model(name: str | None) -> str | None:
    if name is None or Path(name).exists():
        return name
    from adept.rewriting.loading import model_directory  # seconds to import, and rarely needed

    return str(model_directory(name))
