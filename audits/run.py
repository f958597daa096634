"""Audit other people's claims of privacy, and write a table, a figure and result.json.

    python audits/run.py wild --output-dir runs/wild                          # all packages: about an hour
    python audits/run.py wild --only diffpriv_pure opendp --output-dir runs/two
    python audits/run.py zoo --output-dir runs/zoo

``wild`` audits packages as pip installs them (``audits/packages/``, docs/wild.md), ``zoo`` published mechanisms that are rebuilt
in ``audits/zoo/mechanisms.py`` (docs/audit.md).
"""

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from typing import Any

import wild.claims
import zoo.claims

from adept.cli.study import write_results
from adept.data.writing import new_directory
from adept.errors import AdeptError

STATEMENT = "Audited: a violation is certain up to one in a thousand; what was not refuted is not proved by it."
STUDIES = {"wild": wild.claims, "zoo": zoo.claims}


def parse(arguments: Sequence[str]) -> dict[str, Any]:
    """Return the options of a command line."""
    parser = ArgumentParser(prog="audits/run.py", description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--output-dir", required=True, help="a new directory for the table, the figure and result.json")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="files of audits/packages/ without .py, or mechanisms"
    )
    parser.add_argument("--trials", type=int, help="releases of each input")
    parser.add_argument("--environments", metavar="DIR", help="wild: parent of the environments; else in your cache")
    return vars(parser.parse_args(arguments))


def main(arguments: Sequence[str]) -> None:
    """Run one of the two studies, and print its tables."""
    options = parse(arguments)
    name, directory = options["study"], new_directory(options["output_dir"])
    given = {"mechanisms": tuple(options["only"] or ()), **{key: options[key] for key in ("trials", "environments")}}
    rows = list(STUDIES[name].run(**{key: value for key, value in given.items() if value}))
    write_results(name, STUDIES[name], rows, directory, statement=STATEMENT, options=options)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except AdeptError as error:
        sys.stderr.write(f"audits: {error}\n")
        sys.exit(2)
