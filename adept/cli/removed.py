"""Options of earlier versions: each is refused in one line that says what to do instead.

A key is an option's name, or ``name=value`` where one value alone was removed. ``docs/decisions.md`` has the reasons.
"""

from collections.abc import Sequence

from adept.errors import ConfigurationError

REMOVED = {
    "adapt_share": "adapt the model to public examples instead (adept adapt examples=FILE output_dir=DIR)",
    "adapt_records": "adapt the model to public examples instead (adept adapt examples=FILE output_dir=DIR)",
    "denoise": "each record is written from its own release alone; labels=joint_response keeps labels private",
}


def check_removed(arguments: Sequence[str]) -> None:
    """Refuse what earlier versions had.

    Args:
        arguments: of the command line, as typed.

    Raises:
        ConfigurationError: naming the option, and what to do instead.
    """
    for argument in arguments:
        name = argument.partition("=")[0].lstrip("+~")
        for option in {name, argument} & REMOVED.keys():
            raise ConfigurationError(f"{option} must be left out, as adept no longer has it: {REMOVED[option]}")
