"""The command line: ``adept COMMAND [overrides]``. Nothing heavy is imported until a command is known."""

import importlib
import sys

COMMANDS = {
    "train": "train a rewriter's autoencoder",
    "rewrite": "write private text from a file of utterances",
    "evaluate": "train an intent classifier on one file and test it on another",
    "audit": "put a mechanism's claim, or a whole rewriter, to the test",
    "compare": "compare mechanisms and budgets on one data set, with a report",
    "study": "recompute the papers' figures and the limits",
}

HELP = """\
adept: rewrite utterances under local differential privacy

Usage: adept COMMAND [overrides]     adept COMMAND --help

{commands}

Overrides are Hydra's: adept train data=atis data.path=DIR output_dir=runs/atis
Exit status: 0 done, 1 an audit certified a violation, 2 something for you to mend, 70 an error of ours."""


def main() -> int:
    """Run one command; returns its exit status."""
    command = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if command in ("-h", "--help", "help"):
        width = max(map(len, COMMANDS))
        sys.stdout.write(
            HELP.format(commands="\n".join(f"  {n:<{width}}  {text}" for n, text in COMMANDS.items())) + "\n"
        )
        return 0
    if command not in COMMANDS:
        sys.stderr.write(f"adept: unknown command {command!r}: use one of {', '.join(COMMANDS)}\n")
        return 2
    del sys.argv[1]
    return int(importlib.import_module(f"adept.cli.{command}").main())


if __name__ == "__main__":
    sys.exit(main())
