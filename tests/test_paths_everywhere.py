"""Each function that takes the name of a file refuses a value that cannot be one, in one line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adept import Autoencoder, Rewriter, Synthesizer, rewrite_frame
from adept.errors import AdeptError
from adept.mechanisms import LearnedCodebook
from adept.models.tokenizer import Tokenizer


class Numbered:
    """A path whose name is no text."""

    def __fspath__(self) -> Any:
        return 5


IMPOSSIBLE: dict[str, Any] = {
    "NUL": "a\0b",
    "NUL in a path": Path("a\0b"),
    "nothing": "",
    "not UTF-8": "a\ud800",
    "too long": "a" * 300,
    "bytes": b"abc",
    "descriptor": 7,
    "bool": True,
    "list": ["a"],
    "path of a number": Numbered(),
}


def frame_with(option: str) -> Callable[[Any], object]:
    def release(path: Any) -> object:
        names = {"statement": "statement.json", "ledger": "ledger.db" if option == "key" else "none", option: path}
        return rewrite_frame(["a fare to boston"], epsilon=8.0, **names)

    return release


FUNCTIONS: dict[str, Callable[[Any], object]] = {
    "Rewriter": lambda path: Rewriter.from_pretrained(path, mechanism=LearnedCodebook(epsilon=8.0)),
    "Synthesizer": lambda path: Synthesizer.from_pretrained(path, epsilon=1.0, label_set=["a", "b"]),
    "Autoencoder": Autoencoder.from_pretrained,
    "Tokenizer": Tokenizer.from_pretrained,
    "save_pretrained": lambda path: Autoencoder.save_pretrained(None, path),  # type: ignore[arg-type]  # no model is asked for
    **{option: frame_with(option) for option in ("statement", "ledger", "key", "model_dir", "label_descriptions")},
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_an_impossible_path_is_refused_in_one_line(
    function: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    with pytest.raises(AdeptError, match=r"\A[^\n]+\Z"):
        FUNCTIONS[function](IMPOSSIBLE[name])
    assert not [path for path in tmp_path.iterdir() if path.name != "home"]
