"""Further evidence on a comparison's page: audits, attacks and examples of rewrites.

Mechanisms that turn text into text are not attacked, because the attacks need latents. If the data
are not public, every rewrite on a page is a release to all readers of the page. So examples are
shown only on request (``examples=true``), and never with ``protocol=paper``, where the models are
trained on the private records. Even if examples are shown, the page omits the original records and
the texts of any mechanism whose claim is false. The page also omits rewrites that repeat a text on
which the model was trained. The page does not mark rewrites that equal their record, because the
mark would reveal the record.
"""

import re
from typing import Any

from adept import audit
from adept.attacks.attack_game import AttackGame
from adept.attacks.reconstruction import play
from adept.audit import AuditResult
from adept.comparison.config import JOINT_RESPONSE, PAPER, STAND_INS
from adept.comparison.plan import ALTERNATIVES, DESCRIBED, LSTM, Cell
from adept.comparison.results import AttackedRelease, AuditVerdict, Example, ResultRow, WrittenTexts, exceeds
from adept.comparison.rows import build_alternative
from adept.comparison.trial import Trial, model_kind
from adept.mechanisms import JointResponse

AUDIT_TRIALS = 4000
SECRETS, CANDIDATES = 1000, 10_000  # secrets, and what they may be, as in ``adept attack``
ATTACK_CONFIDENCE = 0.9999  # of each interval: a page has dozens
EXAMPLES = 6
WITHHELD = "(withheld: the model was trained on it)"


def judge(trial: Trial, cell: Cell) -> AuditVerdict:
    """Audit the privacy claim of the mechanism in one row of the table."""
    result, guarantee = (_audit_text if cell.mechanism in ALTERNATIVES else _audit)(trial, cell)
    strongest = result.strongest if result.violated else None
    evidence = f"{strongest.evidence} ({strongest.kind})" if strongest else ""
    found = result.violated, result.certified_epsilon, evidence
    return AuditVerdict(cell.mechanism, cell.text_epsilon, *found, guarantee)


def _audit(trial: Trial, cell: Cell) -> tuple[AuditResult, str]:
    mechanism, dim = trial.config.mechanism(cell.mechanism, cell.text_epsilon), trial.config.model.latent_dim
    guarantee = mechanism.guarantee(dim).text
    if cell.labels == JOINT_RESPONSE:
        return audit.run(JointResponse.of(mechanism, STAND_INS), trials=AUDIT_TRIALS), guarantee
    if mechanism.randomises == "description":
        mechanism = trial.rewriter(cell).mechanism  # with the model's descriptions
    return audit.run(mechanism, dim=dim, trials=AUDIT_TRIALS), guarantee


def _audit_text(trial: Trial, cell: Cell) -> tuple[AuditResult, str]:
    """Audit a mechanism that turns text into text, on the shortest and the longest public text.

    Texts that are too long for the mechanism are skipped, unless all texts are too long.
    """
    mechanism = build_alternative(trial, cell)
    lengths = {text: len(text.split()) for text in trial.public.texts}
    whole = [text for text in lengths if lengths[text] <= getattr(mechanism, "length", 0)] or list(lengths)
    pair = min(whole, key=lengths.__getitem__), max(whole, key=lengths.__getitem__)
    return audit.run(mechanism, pairs=[pair], trials=AUDIT_TRIALS), mechanism.guarantee().text


def attack(trial: Trial, cell: Cell) -> AttackedRelease:
    """Draw new releases by the mechanism in one row of the table, and attack these releases."""
    rewriter = trial.rewriter(cell)
    texts: dict[str, Any] = {"private": trial.private, "public": trial.public, "seed": trial.seed}
    game = AttackGame(rewriter=rewriter, records=SECRETS, confidence=ATTACK_CONFIDENCE, **texts)
    rows, _ = play(game, candidates=CANDIDATES, read_text=False)
    spent = {name: getattr(rewriter.guarantee, name) for name in ("claimed_epsilon", "epsilon", "delta")}
    return AttackedRelease(mechanism=cell.mechanism, model=model_kind(cell), rows=rows, **spent)


def choose_examples(trial: Trial, rows: list[tuple[Cell, ResultRow]]) -> list[Example]:
    """Return rewrites of some private records, chosen by their places and not by their content."""
    config, records, public = trial.config, trial.private.texts, trial.config.data.public
    if not (public or (config.examples and config.protocol != PAPER)):
        return []
    written = [
        (row, kept.texts[:: row.samples])
        for cell, row in _choose_shown(rows, public=public)
        if (kept := trial.store.find(WrittenTexts, trial.seed, cell))
    ]
    secret = set() if public else set(map(bare, [*trial.public.texts, *trial.validation.texts]))
    return [
        Example(
            records[index] if public else None,
            [(row, WITHHELD if bare(texts[index]) in secret else texts[index]) for row, texts in written],
        )
        for index in spread(len(records), EXAMPLES)
    ]


def bare(text: str) -> str:
    """Return the words of a text in lower case and without punctuation."""
    return " ".join(re.findall(r"\w+", text.lower()))


def spread(total: int, count: int) -> list[int]:
    """Return up to ``count`` indices below ``total``, at nearly equal distances."""
    count = min(count, total)
    return [(2 * part + 1) * total // (2 * count) for part in range(count)]


def _choose_shown(rows: list[tuple[Cell, ResultRow]], *, public: bool) -> list[tuple[Cell, ResultRow]]:
    """Return the rows of which the page shows examples.

    These are rows of the reference ``random``, and rows with the smallest or the largest epsilon.
    """
    budgets = {row.claimed_epsilon for _, row in rows if row.claimed_epsilon is not None}
    outermost = {min(budgets), max(budgets)} if budgets else set()
    first = rows[0][1]
    return [
        (cell, row)
        for cell, row in rows
        if (row.seed, row.classifier) == (first.seed, first.classifier)
        and (row.decoder in (LSTM, DESCRIBED) or (row.decoder is not None and row.clip is None))
        and (row.mechanism == "random" or row.claimed_epsilon in outermost)
        and (public or (row.clip is not None and not exceeds(row.epsilon, row.claimed_epsilon or 0.0)))
    ]
