"""The import of code from outside adept, which a user names on the command line."""

import pkgutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from adept.errors import ConfigurationError, printable


def import_foreign(option: str, name: str, *, form: str = "MODULE:ATTRIBUTE") -> Any:
    """Import the object ``name``, whose module may be in the current directory.

    Raises:
        ConfigurationError: the import fails; it runs code that may do anything, even end the process.
    """
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        return pkgutil.resolve_name(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code: an import runs it
        reason = printable(f"{name} ({error})")
        raise ConfigurationError(f"{option} must be {form} that can be imported, got {reason}") from None
    finally:
        with suppress(ValueError):
            sys.path.remove(here)
