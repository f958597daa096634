"""HTML pages from templates: whatever a file or a user names stands on them as text."""

from collections.abc import Callable, Iterable
from typing import Any

from adept.errors import escape


def render(package: str, template: str, values: dict[str, Any], filters: Iterable[Callable[..., Any]] = ()) -> str:
    """Return a package's HTML page, on which any string stands as text, with escapes (``escape``) but for line ends."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    layout: dict[str, Any] = {"autoescape": True, "trim_blocks": True, "lstrip_blocks": True, "finalize": _shown}
    environment = Environment(loader=PackageLoader(package), undefined=StrictUndefined, **layout)
    environment.filters |= {each.__name__: each for each in filters}
    return environment.get_template(template).render(values)


def _shown(value: Any) -> Any:
    return "\n".join(map(escape, value.split("\n"))) if type(value) is str else value
