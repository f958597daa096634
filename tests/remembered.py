"""Memory of a program: sizes of all containers that can be reached from an object, and of all functions' caches."""

import functools
import gc
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

PLAIN = (str, bytes, int, float, complex, bool, type(None), type)
CONTAINERS = (list, tuple, set, frozenset, deque)


def entries(root: object) -> dict[str, int]:
    """Return the number of entries of each container below an object, by the way to it, attributes being entries of theirs."""
    sizes, seen = {}, set()
    waiting = [("", root)]
    while waiting:
        place, thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, PLAIN):
            continue
        seen.add(id(thing))
        parts = dict(_parts(thing))
        if isinstance(thing, (Mapping, *CONTAINERS)) or hasattr(thing, "__dict__"):
            sizes[place] = len(parts)
        waiting += [(f"{place}.{name}", part) for name, part in parts.items()]
    return sizes | {f"@{cache.__module__}.{cache.__qualname__}": cache.cache_info().currsize for cache in _caches()}


def grown(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """Return the containers that are larger than they were, or were not there, with their sizes."""
    return {place: size for place, size in after.items() if size > before.get(place, 0)}


def _parts(thing: object) -> Iterator[tuple[str, Any]]:
    if isinstance(thing, Mapping):
        yield from ((f"{number}", part) for number, pair in enumerate(thing.items()) for part in (pair[1],))
    elif isinstance(thing, CONTAINERS):
        yield from ((f"{number}", part) for number, part in enumerate(thing))
    elif isinstance(thing, functools.partial):
        yield from (("func", thing.func), ("args", thing.args), ("keywords", thing.keywords))
    elif not callable(thing) or hasattr(thing, "__dict__"):
        yield from getattr(thing, "__dict__", {}).items()


def _caches() -> Iterator[Any]:
    for thing in gc.get_objects():
        if type(thing) is functools._lru_cache_wrapper and (thing.__module__ or "").startswith("adept"):
            yield thing
