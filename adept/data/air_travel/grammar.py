"""A small engine for probabilistic context-free grammars, in the notation of the Java Speech Grammar Format.

``<name>``
    Whatever the rule or word list of that name says.
``a | /3/ b``
    One of the alternatives, here the second three times as often as the first. A weight left out is 1.
``( ... )``
    A group.
``[ ... ]``
    A group that may also be left out: ``[/3/ please]`` says ``please`` three times out of four.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from adept.errors import ConfigurationError

_TOKEN = re.compile(r"/[\d.]+/|<\w+>|[()\[\]|]|[^\s()\[\]|<>/]+")
_REFERENCE = re.compile(r"<(\w+)>")
_CLOSING = {"(": ")", "[": "]"}


@dataclass(frozen=True, slots=True)
class _Reference:
    """A place where another rule, or a word list, is said."""

    name: str


@dataclass(frozen=True, slots=True)
class _Choice:
    """Alternatives, each a sequence of parts, with their cumulative weights."""

    options: tuple[tuple[_Part, ...], ...]
    cumulative_weights: tuple[float, ...]


_Part = str | _Reference | _Choice


class Grammar:
    """Rules and word lists from which utterances are drawn.

    A rule may say the same thing twice in one utterance; a word list does not, as long as it has entries
    left. No context-free rule can express that, and it keeps travellers from flying from a city to itself.

    Args:
        rules: the right-hand side of each rule, by name.
        word_lists: entries by name, in the notation of rules: ``"dallas | fort worth"`` is one entry that can
            be said in two ways.

    Raises:
        ConfigurationError: if a rule is malformed, or a name is defined twice or not at all.
    """

    def __init__(self, rules: Mapping[str, str], word_lists: Mapping[str, Sequence[str]]) -> None:
        self._rules = {name: _Parser(text).parse() for name, text in rules.items()}
        numbers: dict[
            _Choice, int
        ] = {}  # equal entries of several lists have one: to hash an entry is to walk through it
        self._word_lists = {
            name: tuple(
                (numbers.setdefault(choice, len(numbers)), choice)
                for choice in (_Parser(entry).parse() for entry in entries)
            )
            for name, entries in word_lists.items()
        }
        _check_names(rules, word_lists)

    def say(self, rule: str, rng: random.Random) -> str:
        """Draw one utterance of `rule`: words separated by single spaces."""
        words: list[str] = []
        self._speak(_Reference(rule), rng, words, said=set())
        return " ".join(words)

    def _speak(self, part: _Part, rng: random.Random, words: list[str], said: set[int]) -> None:
        """Append what `part` says to `words`, and note in `said` which entries of word lists were used."""
        if isinstance(part, str):
            words.append(part)
        elif isinstance(part, _Choice):
            (option,) = rng.choices(part.options, cum_weights=part.cumulative_weights)
            for inner in option:
                self._speak(inner, rng, words, said)
        elif part.name in self._rules:
            self._speak(self._rules[part.name], rng, words, said)
        else:
            entries = self._word_lists[part.name]
            number, entry = rng.choice([entry for entry in entries if entry[0] not in said] or entries)
            said.add(number)
            self._speak(entry, rng, words, said)


def _check_names(rules: Mapping[str, str], word_lists: Mapping[str, Sequence[str]]) -> None:
    """Refuse a name that stands for a rule and for a word list, or that is used but stands for nothing."""
    if both := rules.keys() & word_lists.keys():
        raise ConfigurationError(f"name must be a rule or a word list, not both, got {sorted(both)}")
    texts = chain(rules.values(), *word_lists.values())
    used = {name for text in texts for name in _REFERENCE.findall(text)}
    if undefined := used - rules.keys() - word_lists.keys():
        raise ConfigurationError(f"name must be defined in the grammar, got {sorted(undefined)}")


class _Parser:
    """A recursive-descent parser of one right-hand side."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _TOKEN.findall(text)
        self._next = 0

    def parse(self) -> _Choice:
        """Return the choice that the whole text describes."""
        choice = self._choice()
        self._expect("")
        return choice

    def _choice(self, *, optional: bool = False) -> _Choice:
        """Read alternatives up to a closing bracket or the end; optional ones may also stay unsaid."""
        options: list[tuple[_Part, ...]] = [()] if optional else []
        weights = [1.0] if optional else []
        while True:
            weights.append(self._weight())
            options.append(self._sequence())
            if self._peek() != "|":
                return _Choice(tuple(options), tuple(accumulate(weights)))
            self._next += 1

    def _weight(self) -> float:
        token = self._peek()
        if not token.startswith("/"):
            return 1.0
        self._next += 1
        return float(token.strip("/"))

    def _sequence(self) -> tuple[_Part, ...]:
        parts: list[_Part] = []
        while self._peek() not in ("", "|", ")", "]"):
            parts.append(self._part())
        return tuple(parts)

    def _part(self) -> _Part:
        token = self._peek()
        self._next += 1
        if token in _CLOSING:
            choice = self._choice(optional=token == "[")
            self._expect(_CLOSING[token])
            return choice
        return _Reference(token.strip("<>")) if token.startswith("<") else token

    def _expect(self, token: str) -> None:
        if self._peek() != token:
            raise ConfigurationError(f"rule must have balanced brackets, got {self._text!r}")
        self._next += 1

    def _peek(self) -> str:
        """Return the next token, or the empty string at the end."""
        return self._tokens[self._next] if self._next < len(self._tokens) else ""
