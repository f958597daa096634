"""The command line: ``adept COMMAND [overrides]``. Nothing heavy is imported until a command is known."""

import importlib
import importlib.metadata
import sys

from adept.cli.process import USER_ERROR, guarded, ignore_signals, keep_streams, leave_on_signals

COMMANDS = {
    "train": "train a rewriter's autoencoder",
    "rewrite": "write private text from a file of utterances",
    "adapt": "put a model where a few hundred public examples are, in seconds",
    "evaluate": "train an intent classifier on one file and test it on another",
    "attack": "find out from rewrites what can be found out, beside what the guarantee allows",
    "audit": "put a mechanism's claim, or a whole rewriter, to the test",
    "compare": "compare mechanisms and budgets on one data set, with a report",
    "ledger": "list what was released before, at what budget",
    "study": "recompute the papers' figures and the limits",
}

HELP = """\
adept: rewrite utterances under local differential privacy

Usage: adept COMMAND [overrides]     adept COMMAND --help     adept --version

{commands}

Overrides are Hydra's: adept train data=atis data.path=DIR output_dir=runs/atis
Names of files and columns, and labels, are taken as they are typed; the shell's own quotes are all they need.

Exit status:
    0  done; for output=FILE the release is complete, whatever became of the lines on the terminal
    1  audit alone: a violation is certified
    2  something for you to mend, as one line on stderr says; nothing was released into output=FILE
   70  an error of ours; ADEPT_TRACEBACK=1 shows it
  130  interrupted by Ctrl-C or SIGTERM; nothing was released into output=FILE
"""


def dispatch(arguments: list[str]) -> int:
    """Run the command that ``arguments`` begin with; returns its exit status."""
    command = arguments[0] if arguments else "--help"
    if command in ("-h", "--help", "help"):
        width = max(map(len, COMMANDS))
        sys.stdout.write(HELP.format(commands="\n".join(f"  {n:<{width}}  {text}" for n, text in COMMANDS.items())))
        return 0
    if command in ("-V", "--version", "version"):
        sys.stdout.write(f"adept {importlib.metadata.version('adept-dp')}\n")
        return 0
    if command not in COMMANDS:
        sys.stderr.write(f"adept: unknown command {command!r}: use one of {', '.join(COMMANDS)}\n")
        return USER_ERROR
    sys.argv = [sys.argv[0], *arguments[1:]]
    return int(importlib.import_module(f"adept.cli.{command}").main())


def main() -> int:
    """Run one command in this process, whose streams and signals it takes over; returns its exit status."""
    leave_on_signals()
    keep_streams()
    status = guarded(lambda: dispatch(sys.argv[1:]))
    ignore_signals()  # nothing is left to interrupt, and what was done is done
    return status


if __name__ == "__main__":
    sys.exit(main())
