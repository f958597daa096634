"""Load data sets: a data set known by name, your own files, or a selection of broad public text.

*Broad* text comes from many sources and is about many subjects.
"""

import math
import os
import random
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from adept.data.formats import (
    ENDINGS,
    MAX_UNREAD,
    SPLIT_NAMES,
    SPLITS,
    Record,
    check_shards,
    ending_of,
    find_splits,
    format_of_name,
    say_unread,
)
from adept.data.reading import ReadingOptions, number_records, read_records
from adept.data.texts import (
    USUAL_LABEL_COLUMN,
    MissingColumn,
    RequiredColumns,
    find_label_column,
    label_of,
    label_set_of,
    missing_column,
    plain_text,
    refuse_late_label,
    say_once,
    text_list,
    text_of,
)
from adept.errors import ConfigurationError, DataError, refuse

TEXTS_ALONE = "a txt file holds texts alone, so give a csv, jsonl or parquet file with a column of labels"
FROM_FILE = "@"  # before the name of a file with a label on each line
# Lines of a list that a program or a person wrote, but for its last one, which may lack the comma
LIST_MARKS = tuple(map(re.compile, (r"\s*(\".*\"|'.*'),?", r".*,", r"\s*[-*•] .*", r"\s*\d+[.)] .*", r" +\d+ .*")))
HELD_OUT = 2_000  # texts of broad public text that nothing is learned from
COMMON_IN = 60  # texts that hold a word which belongs to a template; rarer ones and numbers are what fills it
MAX_OF_TEMPLATE = 3  # texts of one template that are kept, the first ones
MAX_WORDS = 30  # of a text that is kept
# Texts that are kept of one subject of a source, and of one source
MAX_OF_SUBJECT, MAX_OF_SOURCE = 8_000, 16_000
MAX_OF_DIALOGUES = 60_000  # of the source sgd, which holds many subjects without naming them

Slot = tuple[str, str]  # name and value, such as a city or a date that a task would look up


@dataclass(frozen=True)
class Corpus:
    """Texts with their labels and slots. Labels and slots are None if the texts have none.

    A *slot* is a named value in a text, such as a city or a date.
    """

    texts: list[str]
    labels: list[str] | None = None
    slots: list[list[Slot]] | None = None  # to measure with, never to train on or to write
    columns: tuple[str, ...] = ()  # of a file without labels in which they were looked for

    def __post_init__(self) -> None:
        object.__setattr__(self, "texts", text_list(self.texts))
        if self.labels is not None and len(self.labels) != len(self.texts):
            raise DataError(
                f"labels must be as many as the texts, got {len(self.labels)} for {len(self.texts)}: give each one"
            )

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, indices: Sequence[int]) -> "Corpus":
        """Return a corpus that holds only the records at ``indices``."""
        labels = None if self.labels is None else [self.labels[i] for i in indices]
        slots = None if self.slots is None else [self.slots[i] for i in indices]
        return Corpus([self.texts[i] for i in indices], labels, slots)

    def require_labels(self, name: str, advice: str = "") -> list[str]:
        """Return the labels; raise DataError if there are none. ``name`` is the corpus' name in messages."""
        if self.labels is not None:
            return self.labels
        if len(self.columns) > 1 and not advice:
            raise missing_column(self.columns, USUAL_LABEL_COLUMN, "label_column", place=name)
        advice = TEXTS_ALONE if ending_of(name) == "txt" else advice or "name their column with label_column="
        raise DataError(f"{name} must have labels: {advice}")

    @property
    def slot_values(self) -> list[list[str]] | None:
        """Values of the slots of each record, without the names of the slots."""
        return None if self.slots is None else [[value for _, value in own] for own in self.slots]


@dataclass(kw_only=True)
class Columns(ReadingOptions):
    """Names of the columns that hold text and label, and options for reading data files.

    Attributes:
        text_column: Name of the column that holds the text.
        label_column: Name of the column that holds the label. With null, the column intent is used if the first record
            has one; an error follows if only later records have a label.
    """

    text_column: str = "text"
    label_column: str | None = None


@dataclass
class TrainingDataConfig:
    """The user's declaration that the model's training text is public or private.

    Attributes:
        public: True if the training text is public. With null, named data sets count as public, and your own files
            count as private.
    """

    public: bool | None = None


@dataclass
class DataConfig:
    """Options of a data set: ``air_travel``, ``atis``, ``snips``, or ``files`` (your own files).

    Attributes:
        name: Name of the data set in reports and in the model's card.
        path: Directory with files train.EXT, validation.EXT and test.EXT, in any format that adept reads.
        public: True if the texts are public, so that a model of these texts may be shared.
        hub: Name of a data set on the Hugging Face Hub, which is loaded if data.path is null.
        hub_label_column: Name of the column that holds the labels in the data set on the Hub.
        seed: Seed of two random choices: of the training records if data.most limits their number, and of the
            validation records if the data have no validation split.
        sizes: For data=air_travel: numbers of records in the training, validation and test split. The default numbers
            are those of the whole data set.
        broad: Directory of further public text, in files with the columns text, source and domain.
        most: Number of training records, drawn at random with data.seed. With null, all records are used.
    """

    name: str = "air_travel"
    path: str | None = None
    public: bool = True
    hub: str | None = None
    hub_label_column: str = "intent"
    seed: int = 0
    sizes: list[int] = field(default_factory=lambda: [6000, 600, 1000])
    broad: str | None = None
    most: int | None = None

    def __post_init__(self) -> None:
        refuse((self.most is not None and self.most < 1, f"data.most must be at least 1, got {self.most}"))

    def overridden(self) -> dict[str, str | bool]:
        """Return why options have no effect beside the others, by their names; False if they have one."""
        elsewhere = {self.path, self.hub, self.broad} != {None}
        return {
            "data.sizes": elsewhere and f"it is for data=air_travel alone, got data={self.name}: give data.most=N",
            "data.path": self.name == "air_travel" and "data=air_travel comes with adept: give data=files, too",
            **dict.fromkeys(("text_column", "label_column", "format", "delimiter", "columns"), self.name == "air_travel"
                            and "data=air_travel has columns of its own: leave it out"),
            "data.hub": self.path is not None and "data.path is read instead: leave one of them out",
        }  # fmt: skip


def read_corpus(
    location: str | Sequence[str],
    *,
    text_column: str = "text",
    label_column: str | None = None,
    labelled: bool = True,
    options: ReadingOptions | None = None,
    named: bool = False,
) -> Corpus:
    """Read texts, labels and slots (as ``read_records``); the default column of labels is "intent".

    If ``named`` is True, or if there are several files, errors about a record name its file.
    """
    if labelled and label_column == text_column:
        raise ConfigurationError(
            f"label_column must be another column than text_column, got {text_column} for both: name it"
        )
    labelled = labelled and (label_column or USUAL_LABEL_COLUMN) != text_column
    label = [("label_column", label_column)] if labelled and label_column else []
    required = RequiredColumns((("text_column", text_column), *label))
    options = options or ReadingOptions()
    parts, options = options.find_files(location)
    numbered = number_records(read_records(parts, options=options, required=required), parts, options, named=named)
    return _corpus_of(numbered, text_column, label_column, labelled)


def _corpus_of(
    records: Iterable[tuple[int, Record]], text_column: str, label_column: str | None, labelled: bool = True
) -> Corpus:
    texts, labels, tags, columns = list[str](), list[str](), list[object](), tuple[str, ...]()
    for number, record in records:
        if number == 1:
            label_column = find_label_column(record, label_column) if labelled else None
            columns = tuple(record) if labelled and not label_column else ()
        texts.append(text_of(record, text_column, number=number))
        if label_column:
            labels.append(label_of(record, label_column, number=number))
        elif labelled:
            refuse_late_label(record, number=number)
        tags.append(record.get("slots"))
    return Corpus(texts, labels if label_column else None, find_slots(texts, tags), columns)


def read_corpora(columns: Mapping[str, Mapping[str, Any]], options: ReadingOptions) -> dict[str, Corpus]:
    """Read several files that are used together, each with its arguments of ``read_corpus``.

    The keys of ``columns`` are the names of the files in messages, and their locations by default.

    Raises DataError as ``read_corpus``. If a column is missing from one file but not from all, the
    error names this file, and does not advise an option that would break the others.
    """
    found: dict[str, Corpus] = {}
    lacking: dict[str, MissingColumn] = {}
    for location, named in columns.items():
        try:
            found[location] = read_corpus(**{"location": location, **named}, options=options, named=len(columns) > 1)
        except MissingColumn as error:
            lacking[location] = error
    for location, missing in lacking.items():
        if not found:
            raise missing
        own = f"its column {missing.near!r}" if missing.near else "the column that it is"
        if "columns=" in str(missing):
            own += ", or add columns=[...] if its first line is a record"
        raise DataError(f"no column named {missing.column!r} in {location}, but in {next(iter(found))}: rename {own}")
    return found


def join(corpora: Sequence[Corpus]) -> Corpus:
    """Join corpora; the result has no slots, and has labels only if all corpora have labels."""
    labels = [corpus.labels for corpus in corpora]
    texts = [text for corpus in corpora for text in corpus.texts]
    return Corpus(texts, None if None in labels else [label for own in labels for label in own or []])


def find_slots(rows: Sequence[str], tags: Sequence[object]) -> list[list[Slot]] | None:
    """Return the slots of each text, read from ``tags``: a tag of the IOB scheme (Ramshaw and Marcus 1995) for each word.

    The whole result is None if the tags of any text are missing or do not fit its words, or if no text has a slot.
    """
    found = [_slots(text.split(), tagged) for text, tagged in zip(rows, tags, strict=True)]
    slots = [own for own in found if own is not None]
    return slots if len(slots) == len(found) and any(slots) else None


def _slots(words: Sequence[str], tagged: object) -> list[Slot] | None:
    tags = tagged.split() if isinstance(tagged, str) else []
    if len(tags) != len(words) or any(tag != "O" and tag[:2] not in ("B-", "I-") for tag in tags):
        return None
    values: list[tuple[str, list[str]]] = []
    for word, tag, before in zip(words, tags, ["O", *tags], strict=False):
        if tag.startswith("B-") or (tag != "O" and tag[2:] != before[2:]):
            values.append((tag[2:], [word]))
        elif tag != "O":
            values[-1][1].append(word)
    return [(name, " ".join(value)) for name, value in values]


def load(config: DataConfig, columns: Columns | None = None) -> dict[str, Corpus]:
    """Load the splits of a data set: "train", "validation", and "test" if there is one.

    If there is no validation split, a tenth of the training split is held out as validation split.

    Args:
        columns: names of the columns in the files of ``data.path``; None for the default names.

    Raises:
        DataError: a file is missing or unreadable, or the Hub cannot be reached.
        ConfigurationError: ``data=files`` is set without ``data.path``.
    """
    if config.broad is not None:
        return _load_broad(config)
    if config.path is not None:
        splits = _load_directory(config, columns or Columns())
    elif config.hub is not None:
        splits = _load_hub(config)
    elif config.name == "air_travel":
        splits = _load_air_travel(config)
    else:
        raise ConfigurationError("data.path must name the directory with train.<ext> for data=files, got null")
    if "validation" not in splits:
        splits["train"], splits["validation"] = hold_out(splits["train"], share=0.1, seed=config.seed)
    if config.most is not None and config.most < len(train := splits["train"]):
        splits["train"] = train.take(sorted(random.Random(config.seed).sample(range(len(train)), config.most)))
    return splits


def hold_out(corpus: Corpus, *, share: float, seed: int) -> tuple[Corpus, Corpus]:
    """Split a corpus at random; the second part gets ``share`` of the records, but at least one."""
    if len(corpus) < 2:
        raise DataError(
            f"the train split must have at least 2 records if some are held out, got {len(corpus)}: add some"
        )
    order = list(range(len(corpus)))
    random.Random(seed).shuffle(order)
    held = max(1, round(share * len(corpus)))
    return corpus.take(sorted(order[held:])), corpus.take(sorted(order[:held]))


class PublicText(NamedTuple):
    """A public text, with its source and its subject."""

    text: str
    source: str
    subject: str  # that the source names, or the source again


def read_public_texts(directories: Iterable[str | Path]) -> list[PublicText]:
    """Read public texts from the files ``train.*`` and ``part-*`` in each directory."""
    texts = []
    for directory in map(Path, directories):
        paths = sorted(path for pattern in ("train.*", "part-*") for path in directory.glob(pattern))
        check_shards(paths)
        if not paths:
            raise DataError(f"{directory} has no train.* or part-*: name a directory of public text")
        for record in (record for path in paths for record in read_records(str(path))):
            text, source = record.get("text"), record.get("source")
            if not isinstance(text, str) or not isinstance(source, str):
                raise DataError(f"{directory} must hold records with text and source, got one without")
            texts.append(PublicText(text, source, str(record.get("domain", source))))
    return texts


def thin_texts(public: Iterable[PublicText], *, seed: int = 0) -> list[PublicText]:
    """Select distinct texts of at most MAX_WORDS words, and return them in random order.

    A *template* is a text without its rare words and numbers. Of the texts with the same template,
    at most MAX_OF_TEMPLATE are kept; the limit does not hold for texts without rare words and
    numbers. The function also limits the number of texts of each subject and of each source.
    """
    order = list(public)
    random.Random(seed).shuffle(order)
    rows = [tuple(re.findall(r"\w+", text.text.lower())) for text in order]
    holders = Counter(word for row in rows for word in set(row))
    seen: set[tuple[str, ...]] = set()
    counts: Counter[tuple[str, ...]] = Counter()  # of the kept texts, by source, subject and template
    kept = []
    for text, row in zip(order, rows, strict=True):
        if not 1 <= len(row) <= MAX_WORDS or row in seen:
            continue
        seen.add(row)
        template = tuple(word if holders[word] >= COMMON_IN and not word.isdigit() else "" for word in row)
        dialogues = text.source == "sgd"
        limits = {
            ("source", text.source): MAX_OF_DIALOGUES if dialogues else MAX_OF_SOURCE,
            ("subject", text.source, text.subject): MAX_OF_DIALOGUES if dialogues else MAX_OF_SUBJECT,
            ("template", *template): MAX_OF_TEMPLATE if "" in template else math.inf,
        }
        if all(counts[key] < most for key, most in limits.items()):
            counts.update(limits.keys())
            kept.append(text)
    return kept


def _load_broad(config: DataConfig) -> dict[str, Corpus]:
    directories = [directory for directory in (config.path, config.broad) if directory]
    texts = [text.text for text in thin_texts(read_public_texts(directories), seed=config.seed)][: config.most]
    if len(texts) <= HELD_OUT:
        raise DataError(f"data.broad must hold more than {HELD_OUT} different texts, got {len(texts)}")
    return {"train": Corpus(texts[HELD_OUT:]), "validation": Corpus(texts[:HELD_OUT])}


def _load_directory(config: DataConfig, columns: Columns) -> dict[str, Corpus]:
    directory = Path(config.path or "")
    if not os.path.isdir(directory):  # noqa: PTH112 - Path.is_dir raises for a name that is too long
        raise DataError(f"data.path must be an existing directory, got {directory}: name one with train.<ext>")
    for apart in (False, True):
        place, found, unread = find_splits(directory, columns.format, apart=apart)
        if not found and (place / "state.json").is_file():
            found, unread = {"train": [place]}, []  # one Dataset that save_to_disk wrote
        if "train" in found:
            break
    else:
        held = f"; it holds {', '.join(unread[:MAX_UNREAD])}" if unread else ""
        folder = next(
            (f", or give data.path={place / name}" for name in unread if [*(place / name).glob("*[Tt]rain*")]), ""
        )
        raise DataError(
            f"{place} has no train.<ext> with <ext> one of {', '.join(ENDINGS)}{held}: put one there{folder}"
        )
    if apart:
        names = (f"{', '.join(path.name for path in paths)} as {split}" for split, paths in found.items())
        say_once(f"in {place}, these are read: {'; '.join(names)}")
    named = {"text_column": columns.text_column, "label_column": columns.label_column or None}
    files: dict[str, dict[str, Any]] = {}
    for split, paths in found.items():
        parts = list(map(str, paths))
        columns.check_used(parts)
        files[split] = {"location": parts if len(parts) > 1 else parts[0], **named}
    say_unread(str(place), unread)
    return read_corpora(files, columns)


def _load_hub(config: DataConfig) -> dict[str, Corpus]:
    import datasets

    from adept.data.arrow_files import name_classes  # slow to import

    try:
        loaded = datasets.load_dataset(config.hub)
    except (OSError, RuntimeError, ValueError) as error:  # any trouble with the network
        raise DataError(
            f"cannot load {config.hub} from the Hugging Face Hub ({type(error).__name__}): "
            "give data.path=DIR with train.jsonl, validation.jsonl and test.jsonl"
        ) from error
    tables = {split: name_classes(rows.with_format("arrow")[:]) for split, rows in loaded.items()}
    return {
        SPLIT_NAMES[split]: _corpus_of(enumerate(rows.to_pylist(), start=1), "text", config.hub_label_column)
        for split, rows in tables.items()
        if split in SPLIT_NAMES
    }


def _load_air_travel(config: DataConfig) -> dict[str, Corpus]:
    records = list(read_records(str(Path(__file__).with_name("air_travel.jsonl.gz"))))
    rows = {split: [record for record in records if record["split"] == split] for split in SPLITS}
    most = [len(rows[split]) for split in SPLITS]
    refuse(
        (
            len(config.sizes) != len(SPLITS) or not all(0 <= n <= of for n, of in zip(config.sizes, most, strict=True)),
            f"data.sizes must be three sizes (train, validation, test), at most {most}, got {list(config.sizes)}",
        )
    )
    sized = zip(SPLITS, config.sizes, strict=True)
    return {split: _corpus_of(enumerate(rows[split][:size], start=1), "text", "intent") for split, size in sized}


def read_label_descriptions(location: str | None, label_set: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Read public sentences that describe labels; return the sentences for each label.

    Each line of the file holds a label and one or more sentences, separated by tabs; blank lines
    are skipped. If ``location`` is None, there are no sentences. One line in the log names the
    labels that ``label_set`` lacks, unless it is empty.
    """
    found: dict[str, tuple[str, ...]] = {}
    options = ReadingOptions(format="txt")
    for number, record in enumerate(read_records(location, options=options) if location else (), start=1):
        first, *rest = str(record["text"]).split("\t")
        if not (first.strip() or rest):
            continue
        label, sentences = plain_text(first), tuple(part.strip() for part in rest if part.strip())
        if label is None or not sentences:
            raise ConfigurationError(
                f"label_descriptions must hold a label, a tab and a sentence in each line, got something else in line {number} of "
                f"{location}: correct it"
            )
        found[label] = (*found.get(label, ()), *sentences)
    if unknown := [label for label in found if label_set and label not in label_set]:
        say_unread(str(location), [f"{label!r}, which label_set lacks" for label in unknown])
    return found


def read_label_set(given: Sequence[str] | None) -> tuple[str, ...]:
    """Return a public label set; a single entry ``@FILE`` stands for the labels in FILE's lines."""
    labels = list(given or [])
    if len(labels) != 1 or not str(labels[0]).startswith(FROM_FILE):
        return label_set_of(labels)
    location = os.path.expanduser(str(labels[0]).removeprefix(FROM_FILE))  # noqa: PTH111 - Path raises without a home
    kind = format_of_name(location) or "txt"
    refuse((kind != "txt", f"label_set must name a file with a label on each line, got {kind}: save it as txt"))
    lines = [record["text"] for record in read_records(location, options=ReadingOptions(format="txt"))]
    written = [line.rstrip() for line in lines if line.strip()]
    listed = written and any(all(map(mark.fullmatch, written[:-1] or written)) for mark in LIST_MARKS)
    noted = (
        number for number, line in enumerate(lines, start=1) if line.startswith(("# ", "[")) or "\t" in line.strip()
    )
    number = next(noted, 1 if listed or (len(lines) == 1 and "," in lines[0]) else None)
    refuse(
        (
            number,
            f"label_set must hold labels alone, got a comment, a tab or a list in line {number} of {location}: write one label "
            "on each line, without quotes, commas, bullets or numbers around it, or type the labels: label_set=[A,B]",
        )
    )
    found = label_set_of(lines, file=location)
    refuse((not found, f"label_set must hold labels, got none in {location}: write one on each line"))
    return found
