"""List the public mechanisms of each audited package: tried, not tried, and why (`coverage.toml`).

    python audits/coverage_list.py                      # all packages
    python audits/coverage_list.py pure_ldp nprr        # some of them

The script installs each package without its dependencies, reads the names that its files define, and ends with 1
if a name is missing from `coverage.toml`, or one of `coverage.toml` from the package or from `audits/packages/`.
"""

import ast
import sys
import tomllib
import warnings
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from wild.claims import PACKAGES, claims_of, load_audit
from wild.environments import build_environment

COVERAGE: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("coverage.toml").read_text("utf-8"))


def install(package: str, parent: str | None = None) -> Path:
    """Install a package without its dependencies, and return the directory of its files."""
    module = load_audit(package)
    call = ("--no-deps", f"{module.PACKAGE}=={module.VERSION}")
    home = build_environment(f"{package}-files", [call], parent)
    [files] = home.glob("lib/python*/site-packages")
    return files


def public_names(files: Path, where: Sequence[str]) -> set[str]:
    """Return the public names that the files of ``where`` define."""
    found: set[str] = set()
    for entry in where:
        pattern, _, part = entry.partition("::")
        for path in files.glob(pattern):
            with warnings.catch_warnings(action="ignore"):  # of escapes in the package's own texts
                tree = ast.parse(path.read_text("utf-8", errors="replace"))
            found |= set(_defined(tree, part))
    return {name for name in found if not name.startswith("_")}


def _defined(tree: ast.Module, part: str) -> Iterator[str]:
    body: list[ast.stmt] = tree.body
    if part == "imports":
        yield from (name.name for each in body if isinstance(each, ast.ImportFrom) for name in each.names)
    elif part:
        [body] = [each.body for each in tree.body if isinstance(each, ast.ClassDef) and each.name == part]
    yield from (each.name for each in body if isinstance(each, ast.ClassDef | ast.FunctionDef))


def states_of(package: str, names: set[str]) -> tuple[dict[str, str], list[str]]:
    """Return what `coverage.toml` says of each name, and one line for each disagreement with it."""
    listed, said, wrong = COVERAGE[package], dict[str, str](), list[str]()
    claims = {kind.__name__ for kind in claims_of(load_audit(package))}
    tried = {claim for each in listed["tried"].values() for claim in each.split(", ")}
    wrong += [f"no claim of audits/packages/{package}.py is named {claim}" for claim in tried - claims]
    wrong += [f"{claim} of audits/packages/{package}.py is not listed as tried" for claim in claims - tried]
    patterns = [(name, f"tried: {claims}") for name, claims in listed["tried"].items()]
    patterns += [(name, "no mechanism") for name in listed.get("others", ())]
    patterns += [(name, f"not tried: {why}") for why, some in listed.get("not_tried", {}).items() for name in some]
    used = set()
    for name in sorted(names):
        pattern, said[name] = next((each for each in patterns if fnmatchcase(name, each[0])), ("", "?"))
        used.add(pattern)
    wrong += [f"{name} of {package} is not in coverage.toml" for name, state in said.items() if state == "?"]
    return said, wrong + [f"{each} of coverage.toml is not in {package}" for each, _ in patterns if each not in used]


def main(packages: Sequence[str]) -> int:
    """Print the lists of the packages, or of all; return 1 if one of them is not complete and true."""
    mistakes: list[str] = []
    for package in packages or PACKAGES:
        said, wrong = states_of(package, public_names(install(package), COVERAGE[package]["where"]))
        mistakes += wrong
        print(f"\n{load_audit(package).PACKAGE} {load_audit(package).VERSION}")
        for name, state in said.items():
            if state != "no mechanism":
                print(f"  {name:40} {state}")
    print("\n".join(["", *mistakes]), file=sys.stderr)
    return int(bool(mistakes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
