"""A removed thing answers with one line that names what to use instead."""

import importlib
import pickle

import pytest

import adept
from adept.removed import REMOVED, removal

OLD_DOORS = [name for name in REMOVED if name.startswith("adept.")]


@pytest.mark.parametrize("name", OLD_DOORS)
def test_an_import_that_was_removed_names_its_successor_in_one_line(name: str) -> None:
    package, _, last = name.rpartition(".")
    for attempt in (lambda: importlib.import_module(name), lambda: exec(f"from {package} import {last}")):
        with pytest.raises(ImportError, match=rf"^{name} was removed in 0\.3\.0: use adept\.") as caught:
            attempt()
        assert "\n" not in str(caught.value)


def test_an_object_that_an_earlier_version_pickled_names_the_successor() -> None:
    with pytest.raises(ImportError, match=r"use adept\.rewrite_frame"):
        pickle.loads(b"cadept.release.transformer\nPrivateText\n.")


def test_names_that_never_existed_are_answered_as_python_does() -> None:
    assert removal("adept.nothing") is None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        adept.nothing  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'adept\.nothing'"):
        importlib.import_module("adept.nothing")
