"""Options, imports and files that earlier versions had and this version lacks, in one table.

Add a row for each thing that a version removes. The key is the name under which users know the
thing: the path of an import, the name of an option, or the name of a file of a model. Code that
meets such a name answers with ``removal``, so each name is answered in one line, with the same
words everywhere. The names of imports are answered here and in ``adept.__init__``.
"""

from collections.abc import Sequence
from types import ModuleType

REWRITE_FRAME = "0.3.0: use adept.rewrite_frame, which takes a list of texts, a DataFrame, an Arrow table or a Dataset"
# By the name of the thing: the version that removed it, and what to do instead
REMOVED = {
    "trust=all": "0.3.0: adept plan compares rewrite and synthesize, and compare takes trust=local or trust=central",
    "adept.PrivateText": REWRITE_FRAME,
    "adept.DatasetRewriter": REWRITE_FRAME,
    "adept.release.transformer": REWRITE_FRAME,
    "adept.release.adapters": REWRITE_FRAME,
    "adept.release.local_release": "0.3.0: use adept.release.flow.local, where release_file is now",
    "training.content.lexicon": "0.3.0: use training.content.english, since the sentence encoder reads words now",
    "training.codec.learn": "0.3.0: leave it out, because training lists all public sentences at once",
    "training.codec.likely": "0.3.0: leave it out, because only public sentences are listed",
    "training.codec.texts": "0.3.0: leave it out, and give fewer training texts if the list is too long",
}


def removal(name: str) -> str | None:
    """Return the line that answers the name of something removed; None for any other name."""
    return f"{name} was removed in {REMOVED[name]}" if name in REMOVED else None


class RemovedImports:
    """The last finder of modules: it raises ImportError for a module that was removed."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        """Raise ImportError if the module was removed; otherwise find nothing."""
        if line := removal(fullname):
            raise ImportError(line, name=fullname)
