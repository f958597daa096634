"""``adept verify``: check a privacy statement, and the output and model that it describes."""

from pathlib import Path

from adept.cli.config import VerifyConfig
from adept.cli.process import show_lines
from adept.errors import DataError
from adept.release.statement.verify import Json, Refused, check

# Digests of the packaged model's sentences in adept 0.2, and of the files that hold the same sentences now
SAME_SENTENCES = {
    "34537869e1103cbaf28bdaccec51977df3c8bce4d461d38ef1317dc8dba47449": (
        "de1a721f291ad0e587a9c2a30353784363e15b5d891494db9e8da6aba6c4f256"
    ),
    "b063b19791d8a0136d74f6a97e3b3d3a631bd929e0e3a5a3921120aecd61948c": (
        "e23ff8f096bf82ee0663a8e2a068d6e0622d930b1ef588d59dc16c08c1a20f81"
    ),
}


def main(config: VerifyConfig) -> None:
    """Check a privacy statement, and print the result of each check."""
    show_lines(run(config))


def run(config: VerifyConfig) -> list[str]:
    """Return one sentence for each check; raise AdeptError if the statement is refused."""
    try:
        return check(config.statement, config.output, _model(config.model_dir), restate=_restate, same=SAME_SENTENCES)
    except Refused as error:
        raise DataError(f"refused: {error}") from None


def _restate(said: Json) -> Json | None:
    from adept.release.statement.statement import restate  # seconds to import, and in vain where the numbers are wrong

    return restate(said)


def _model(name: str | None) -> str | None:
    if name is None or Path(name).exists():
        return name
    from adept.rewriting.loading import model_directory  # seconds to import, and rarely needed

    return str(model_directory(name))
