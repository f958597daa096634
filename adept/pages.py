"""HTML pages from templates: whatever a file or a user names stands on them as text."""

from collections.abc import Callable, Iterable
from typing import Any

from adept.errors import DataError, escape


def render(package: str, template: str, values: dict[str, Any], filters: Iterable[Callable[..., Any]] = ()) -> str:
    """Return a package's HTML page, on which any string stands as text, with escapes (``escape``) but for line ends."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, TemplateNotFound, TemplateSyntaxError

    layout: dict[str, Any] = {"autoescape": True, "trim_blocks": True, "lstrip_blocks": True, "finalize": _shown}
    environment = Environment(loader=PackageLoader(package), undefined=StrictUndefined, **layout)
    environment.filters |= {each.__name__: each for each in filters}
    try:
        return environment.get_template(template).render(values)
    except (TemplateNotFound, TemplateSyntaxError):
        raise DataError(f"the template {template} is missing or damaged: install adept again") from None


def _shown(value: Any) -> Any:
    return "\n".join(map(escape, value.split("\n"))) if type(value) is str else value
