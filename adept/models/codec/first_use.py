"""The first use of a codec: its network and its list of texts are learned once, and found again from then on.

A model for latents has no use for either, and learning them takes ten times as long as an epoch. So training puts them off, and
keeps what they are learned from: public utterances, which a codec of public text holds anyway, and the order in which they stood
in the training text. What was learned lies in a file beside the model or, where that directory cannot be written, in the user's
cache; its name is the digest of the codec that it completes. The first process that finishes writes it and all others read it,
because another machine may round a few weights otherwise, and texts must be read with the codec that described them. (A release
writes its own texts, and its statement has the digest of the codec that did.)

All of this comes before any record is read, and depends on public text alone.
"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from adept.data.files import cache_directory, publish
from adept.errors import DataError, ModelError
from adept.models.codec.codec import Codec, Report
from adept.models.codec.files import codec_sha256, load_learned, save_learned


def complete(codec: Codec) -> Codec:
    """Return a codec with nothing left to learn: as it is, as it was found, or as it is learned and kept; minutes then.

    Raises:
        ModelError: what was kept is damaged.
    """
    if codec.unlearned is None:
        return codec
    name = f"codec-{codec_sha256(codec)[:32]}.safetensors"
    paths = [place / name for place in (codec.directory, cache_directory()) if place]
    if kept := next((path for path in paths if _exists(path)), None):
        return _found(codec, kept)
    with _bar() as report:
        learned = codec.learned(report)
    kept = next((path for path in paths if _keep(learned, path)), None)
    return _found(codec, kept) if kept else learned


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a directory that may not be searched
        return False


def _found(codec: Codec, path: Path) -> Codec:
    try:
        return load_learned(codec, path)
    except ModelError:
        raise ModelError(f"{path} is damaged: remove it, and it will be learned again") from None


def _keep(learned: Codec, path: Path) -> bool:
    """Whether a file with what was learned lies there afterwards, whoever wrote it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".codec-") as directory:
            partial = Path(directory) / path.name
            save_learned(learned, partial)
            publish(partial, path)
    except (OSError, DataError, SafetensorError):
        return _exists(path)
    return True


@contextmanager
def _bar() -> Iterator[Report]:
    """Show on a terminal how much has been learned."""
    if not sys.stderr.isatty():
        yield lambda what, share: None
        return
    from rich.console import Console
    from rich.progress import Progress, TaskID

    tasks: dict[str, TaskID] = {}
    with Progress(console=Console(stderr=True)) as progress:

        def report(what: str, share: float) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(f"learning the codec's {what}", total=1.0)
            progress.update(tasks[what], completed=share)

        yield report
