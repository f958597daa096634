"""Some records of a comparison beside what each mechanism wrote for them, chosen by a rule that looks at no text.

Where the data are not public nothing is shown unless somebody asks for it (``examples=true``), because every text on a page that is
passed on is a release. The originals are left out even then, and with them what the look-up wrote (the rewriter's records), what a
mechanism with a false claim wrote, and every text that repeats what the model was trained on. No text is compared with the records
that were rewritten: a mark beside those that match would tell what the release hides. So what is shown is a function of releases
and of the model's own text. With ``protocol=paper`` these are the same records, no guarantee holds, and nothing is shown.
"""

import re

from adept.comparison.config import PAPER
from adept.comparison.plan import Cell
from adept.comparison.results import DESCRIBED, LSTM, Example, Row, Written
from adept.comparison.trial import Trial

RECORDS = 6
WITHHELD = "(withheld: the model was trained on it)"


def examples(trial: Trial, rows: list[tuple[Cell, Row]], *, count: int = RECORDS) -> list[Example]:
    """Return records spread evenly over the first seed's private half, with rewrites at the least and largest budget.

    There are none where the data are not public and ``config.examples`` does not ask for them, or no guarantee covers them.

    Args:
        trial: of the first seed.
        rows: all of them, with their recipes.
        count: how many records.
    """
    config, records = trial.config, trial.private.texts
    if not (config.data.public or (config.examples and config.protocol != PAPER)):
        return []
    found = [(row, trial.store.find(Written, trial.seed, cell)) for cell, row in shown(rows, public=config.data.public)]
    written = [(row, kept.texts[:: row.samples]) for row, kept in found if kept]
    trained_on = [] if config.data.public else [*trial.public.texts, *trial.validation.texts]
    secret = set(map(bare, trained_on))
    return [
        Example(
            records[index] if config.data.public else None,
            [(row, WITHHELD if bare(texts[index]) in secret else texts[index]) for row, texts in written],
        )
        for index in spread(len(records), count)
    ]


def bare(text: str) -> str:
    """Return a text's words without case and punctuation, which a tokenizer may have changed."""
    return " ".join(re.findall(r"\w+", text.lower()))


def spread(total: int, count: int) -> list[int]:
    """Return the middles of ``count`` equal parts of ``total`` records."""
    count = min(count, total)
    return [(2 * part + 1) * total // (2 * count) for part in range(count)]


def shown(rows: list[tuple[Cell, Row]], *, public: bool) -> list[tuple[Cell, Row]]:
    """The rows whose text is shown: of the first seed and classifier, every ``random``, and mechanisms at two budgets."""
    budgets = {row.claimed_epsilon for _, row in rows if row.claimed_epsilon is not None}
    outermost = {min(budgets), max(budgets)} if budgets else set()
    first = rows[0][1]
    return [
        (cell, row)
        for cell, row in rows
        if (row.seed, row.classifier) == (first.seed, first.classifier)
        and (row.decoder in (LSTM, DESCRIBED) or (row.decoder is not None and row.clip is None))
        and (row.mechanism == "random" or row.claimed_epsilon in outermost)
        and (public or (row.clip is not None and row.epsilon <= (row.claimed_epsilon or 0.0) * (1 + 1e-9)))
    ]
