"""The import of code from outside adept, which a user names on the command line, and the blame for its errors."""

import pkgutil
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from adept.errors import ConfigurationError, printable

_imported: dict[str, Any] = {}  # objects by the names that the user gave


def import_foreign(option: str, name: str, *, form: str = "MODULE:ATTRIBUTE") -> Any:
    """Import the object ``name``, whose module may be in the current directory.

    Raises:
        ConfigurationError: the import fails; it runs code that may do anything, even end the process.
    """
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        _imported[name] = pkgutil.resolve_name(name)
        return _imported[name]
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code: an import runs it
        reason = printable(f"{name} ({error})")
        raise ConfigurationError(f"{option} must be {form} that can be imported, got {reason}") from None
    finally:
        with suppress(ValueError):
            sys.path.remove(here)


def blame(error: BaseException, *, quote: bool = False) -> str | None:
    """Return the name, as the user gave it, of the foreign code that failed, and the place of the error.

    It failed if the error passed a function of the same module, or a call of the object; return None if neither is
    the case. ``quote`` adds the error's own words, which may hold a record.
    """
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        values, module = frame.f_locals.values(), frame.f_globals.get("__name__")
        names = [name for name, found in _imported.items() if any(v is found or type(v) is found for v in values)]
        names += [name for name, found in _imported.items() if getattr(found, "__module__", None) == module]
        if names:
            said = f": {printable(error)}" if quote and str(error) else ""
            place = f"{Path(frame.f_code.co_filename).name}, line {line}"
            return f"{names[0]} failed ({type(error).__name__}{said}; {place})"
    for name, found in _imported.items():  # in one of several processes, whose traceback is the error's text
        file = getattr(sys.modules.get(getattr(found, "__module__", "")), "__file__", None)
        if file and f'File "{file}"' in str(error):
            return f"{name} failed (in another process; {Path(file).name})"
    return None
