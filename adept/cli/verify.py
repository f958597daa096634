"""``adept verify``: check a privacy statement, and the output and model that it describes."""

from contextlib import suppress
from pathlib import Path

from adept.cli.config import VerifyConfig
from adept.cli.console import show_lines
from adept.errors import DataError
from adept.release.statement.verify import ENDING, Json, Refused, check

# Digests of the packaged model's sentences in adept 0.2, and of the files that hold the same sentences now
SAME_SENTENCES = {
    "34537869e1103cbaf28bdaccec51977df3c8bce4d461d38ef1317dc8dba47449": (
        "37a3dd727286f0397f104f4a7609dd790170240e781a19b191d6c92dc2d8f1c3"
    ),
    "b063b19791d8a0136d74f6a97e3b3d3a631bd929e0e3a5a3921120aecd61948c": (
        "f15a504df4f6dc301c0c673a72ac470bab1f2f30cbd124a089c9909d7d1b4d1e"
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
        raise DataError(f"refused: {error}{_advise_packing(config)}") from None


def _advise_packing(config: VerifyConfig) -> str:
    """Return what to add to a refusal if the statement is packed, or if an output is packed that was not, or was."""
    beside = config.statement.removesuffix(ENDING)
    if kind := _packing(config.statement):
        return f"; the statement is packed ({kind}), so unpack it, and name the file inside"
    found, written = _packing(config.output or beside), Path(beside).suffix == ".gz"
    if found and not written:
        return f"; the output is packed ({found}), so unpack it, and name the file inside"
    return "; the output was packed (gz), so name the packed file as it was written" if written and found == "" else ""


def _packing(path: str) -> str | None:
    """Return the usual ending of a packed file, by its first bytes; "" for others, and None if there is no such file."""
    from adept.data.reading import COMPRESSED_HEAD  # seconds to import, and rarely needed

    if Path(path).is_file():  # a pipe, which was read, would never open again
        with suppress(OSError), Path(path).open("rb") as stream:
            found = COMPRESSED_HEAD.match(stream.peek())
            return found.lastgroup if found else "zip" if stream.peek().startswith(b"PK\x03\x04") else ""
    return None


def _restate(said: Json) -> Json | None:
    from adept.release.statement.statement import restate  # seconds to import, and in vain where the numbers are wrong

    return restate(said)


def _model(name: str | None) -> str | None:
    if name is None or Path(name).exists():
        return name
    from adept.models.untrusted_files import model_directory  # seconds to import, and rarely needed

    return str(model_directory(name))
