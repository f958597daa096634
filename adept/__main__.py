"""The command line, ``adept COMMAND NAME=VALUE ...``; each command imports only what it needs."""

import importlib
import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # python -m looks first in the current directory, where a csv.py or torch.py of the user's may be
    sys.path.append(sys.path.pop(0))

from adept.cli.console import show_lines
from adept.cli.process import (
    DONE,
    USER_ERROR,
    begin_imports,
    end_process,
    guard,
    keep_streams,
    resume_collection,
    say_what_was_lost,
)
from adept.errors import DataError

COMMANDS = {
    "plan": "say what a release is expected to be worth at each budget, before any private record is read",
    "rewrite": "rewrite a file of utterances privately, and state what is guaranteed",
    "synthesize": "write synthetic text from a whole file, labels included, under a central guarantee",
    "adapt": "adapt a model to your domain with a few hundred public examples, in about a minute",
    "train": "train a model on public text of your own",
    "evaluate": "train an intent classifier on one file and test it on another",
    "compare": "compare mechanisms and budgets on one data set, on a page with tables and a figure",
    "audit": "test whether a mechanism, or a whole rewriter, keeps the privacy that it claims",
    "attack": "measure how much an attacker finds out from rewrites, and what the guarantee allows",
    "play": "open a local page that shows the effect of a budget",
    "ledger": "list earlier releases of records and add up their budgets",
    "verify": "check that a statement follows from its certificate, and that its output is unchanged",
    "study": "recompute published figures, and compare them with the published values",
}
FILING = {"rewrite", "synthesize", "adapt", "train", "compare", "attack", "study", "play"}  # files hold their results
PRINTED = {  # options with which the result is printed alone
    "-h", "--help", "-c", "-c=job", "--cfg", "--cfg=job", *(f"dry_run={yes}" for yes in ("true", "yes", "y", "on", "1")),
}  # fmt: skip

HELP = """\
adept: rewrite utterances under local differential privacy

Usage: adept COMMAND NAME=VALUE ...     adept COMMAND --help     adept --version

{commands}

For example: adept rewrite input=utterances.txt output=private.txt epsilon=8
To run train, evaluate, compare or audit once for each of several values: adept train -m seed=0,1,2
Names of files, columns and labels are taken as you type them; quote only what your shell would interpret.

Exit status:
    0  done; output=FILE is complete
    1  audit only: it found a violation
    2  a problem with an option, a file or the machine, which one line on stderr explains; output=FILE was not written
   70  an error in adept itself; ADEPT_TRACEBACK=1 shows where
  130  interrupted by Ctrl-C or SIGTERM; output=FILE was not written
"""


def dispatch(arguments: list[str]) -> int:
    """Run the command that the first argument names, and return its exit status."""
    return guard(lambda: _answer(arguments))


def _answer(arguments: list[str]) -> int:
    from adept.cli.help import nearest, take_own_files  # here, where Ctrl-C is answered already

    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    command = arguments[0] if arguments else "--help"
    if command in ("-h", "--help"):
        width = max(map(len, COMMANDS))
        listed = "\n".join(f"  {n:<{width}}  {text}" for n, text in COMMANDS.items())
        show_lines(HELP.format(commands=listed).splitlines())
        return 0
    if command in ("-V", "--version", "version"):
        import importlib.metadata  # slow to import, and rarely needed

        show_lines([f"adept {importlib.metadata.version('adept-dp')}"])
        return 0
    if command not in COMMANDS:
        near = nearest(command, COMMANDS)
        advice = f"did you mean {near}?" if near else f"use one of {', '.join(COMMANDS)}"
        show_lines([f"adept: unknown command {command!r}: {advice}"], to_stderr=True)
        return USER_ERROR
    try:
        return run(command, arguments[1:])
    finally:
        take_own_files(command, [])  # forget those of this command


def run(command: str, arguments: list[str]) -> int:
    """Run a command, or print its help if the arguments ask for help; return the exit status."""
    from adept.cli import sweep
    from adept.cli.help import check_options, help_text, take_own_files, write_out

    try:
        os.getcwd()  # noqa: PTH109 - the same
    except OSError:  # libraries of PyTorch would end the process
        raise DataError("the current directory was removed or cannot be read: change to another one") from None
    arguments = take_own_files(command, arguments)
    if {"-h", "--help"} & set(arguments):
        show_lines(help_text(command, COMMANDS[command], arguments).splitlines())
        return DONE
    if sweep.FLAGS & set(arguments):
        return sweep.main(command, arguments)
    arguments = write_out(command, arguments)
    with sweep.advise(command, arguments):
        check_options(command, arguments)
        module = importlib.import_module(f"adept.cli.{command}")
        complete = getattr(module, "complete", list)  # by what is known of the run that is continued
        config = importlib.import_module("adept.cli.overrides").compose(command, complete(arguments))
    resume_collection()
    return DONE if config is None else module.main(config) or DONE


def main() -> int:
    """Run one command and return its exit status; handle signals and closed streams."""
    begin_imports()
    keep_streams()
    status = dispatch(arguments := sys.argv[1:])
    end_process()
    words = {argument.lstrip("+").lower() for argument in arguments}
    in_files = FILING.intersection(arguments[:1]) or any(
        word.startswith(("output_dir=", "-m", "--multirun")) for word in words
    )
    return say_what_was_lost(status, printed_alone=not in_files or bool(words & PRINTED))


if __name__ == "__main__":
    sys.exit(main())
