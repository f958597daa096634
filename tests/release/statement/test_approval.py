"""The page for approval is made of the statement and of public texts: nothing of a record, and nothing that runs."""

import json
import re
from contextlib import closing
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from made_statements import central_statement, spending, statement
from release.statement.test_forged_statements import central
from tiny import Run

from adept.data.reading import READING_EXCEPTIONS
from adept.mechanisms import Gaussian, Identity, L1Laplace, OriginalLaplace, PrivUnit
from adept.mechanisms.central_counts import ADD_OR_REMOVE, REPLACE, Votes
from adept.mechanisms.guarantee import judge
from adept.release.ledger.claims import Ledger
from adept.release.ledger.file import Spending
from adept.release.statement.statement import PrivacyStatement, Shuffled
from adept.release.statement.wording import TIME_NOT_HIDDEN, StatedTotal, approval_page, card

SECRET = "zebra"


class Elements(HTMLParser):
    """The elements of a page with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def page(stated: PrivacyStatement | dict[str, Any], examples: list[tuple[str, str]] | None = None) -> str:
    described = stated if isinstance(stated, dict) else stated.to_json()
    return approval_page(described, examples or [], title="out.csv", statement="out.csv.privacy.json")


def said(html: str) -> str:
    """The page's words on one line."""
    return " ".join(re.sub(r"<[^>]+>", " ", html.partition("</style>")[2]).split())


def test_a_release_with_its_page_is_published_whole_and_the_page_holds_no_record(
    adept_here: Run, topic_run: Path, tmp_path: Path
) -> None:
    rows = "".join(json.dumps({"text": f"{SECRET} {place}", "intent": "fare"}) + "\n" for place in range(6))
    (tmp_path / "in.jsonl").write_text(rows)
    command = [f"model_dir={topic_run}", f"input={tmp_path}/in.jsonl", "epsilon=8", "report=true"]
    done = adept_here("rewrite", *command, "mechanism=learned_codebook", f"output={tmp_path}/out.jsonl")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "in.jsonl", "out.jsonl", "out.jsonl.privacy.json", "out.jsonl.report.html"
    ]  # fmt: skip
    html = (tmp_path / "out.jsonl.report.html").read_text("utf-8")
    assert SECRET not in html
    words = said(html)
    assert "For approval: out.jsonl" in words
    assert "records rewritten 6" in words
    assert "Epsilon is 8 for each record." in words
    assert "the odds between any two records with the same label change at most 2,981-fold" in words
    assert "They pick the right one in at most 75 of 100 cases." in words
    assert "each record&#39;s label" in words
    assert "a public sentence becomes" in words
    assert "adept verify out.jsonl.privacy.json" in words
    assert json.loads((tmp_path / "out.jsonl.privacy.json").read_text())["output_sha256"] in words
    again = adept_here("rewrite", *command, "mechanism=learned_codebook", f"output={tmp_path}/out.jsonl")
    assert (again.returncode, "is not overwritten" in again.stderr) == (2, True)


def test_a_central_release_has_a_page_of_its_own_kind(adept_here: Run, topic_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(f'{{"text": "{SECRET}", "intent": "fare"}}\n')
    done = adept_here("synthesize", f"model_dir={topic_run}", f"input={tmp_path}/in.jsonl", f"output={tmp_path}/out.jsonl",
                      "epsilon=1", "label_set=[fare,flight]", "rows=5", "report=true", "ledger=none")  # fmt: skip
    assert done.returncode == 0, done.stderr
    html = (tmp_path / "out.jsonl.report.html").read_text("utf-8")
    assert SECRET not in html
    assert "No row of the output was made from a single record" in said(html)
    assert "the odds that a record took part or not change at most 2.719-fold" in said(html)
    assert "Every row is a public sentence of the model, such as" in said(html)


def test_nothing_on_the_page_runs_or_is_loaded_and_what_others_wrote_stays_text() -> None:
    odd = "<script>alert(1)</script>"
    html = page(statement(kept_columns=[odd]), [(odd, f"{odd}\u202e\ud800\nb")])
    assert "\\u202e\\ud800\nb" in html
    parsed = Elements()
    parsed.feed(html)
    assert {tag for tag, _ in parsed.found} <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "div", "span", "table", "thead", "tbody", "tr", "th",
        "td", "ul", "li", "pre",
    }  # fmt: skip
    assert not any(name in ("src", "href") or name.startswith("on") for _, given in parsed.found for name in given)
    assert "url(" not in html
    assert "@import" not in html
    assert html.count("&lt;script&gt;") >= 3


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"max_records_per_person": 2},
            "nobody contributed more than 2 records. By basic composition, a person&#39;s total epsilon is at most 4",
        ),
        ({"mechanism": Gaussian(epsilon=2.0)}, "Epsilon is 2 for each record, and delta 1e-6."),
        ({"mechanism": OriginalLaplace(epsilon=2.0)}, "the claim of the mechanism, which is false"),
        ({"mechanism": OriginalLaplace(epsilon=2.0)}, "Epsilon is 8 for each record."),
        ({"mechanism": PrivUnit(epsilon=8.0)}, "rounding errors: the noise is floating point"),
        ({"training_data": {"name": "x", "public": False}}, "which is PRIVATE"),
        ({"kept_columns": ["time"]}, "each record&#39;s time"),
        ({"mechanism": L1Laplace(epsilon=60.0)}, "next to nothing is guaranteed"),
        (
            {"shuffled": Shuffled(here=True, records=5, smallest=5, epsilon=0.5, delta=1e-6)},
            "as each record is hidden among 5 records. This holds under three conditions: nobody contributed more than one record",
        ),
        (
            {"shuffled": Shuffled(here=False, records=5, smallest=5, epsilon=0.5, delta=1e-6)},
            "The user declares that a trusted party shuffles the records in groups of at least 5. For readers who never",
        ),
        ({"mechanism": Gaussian(epsilon=2.0), "max_records_per_person": 2}, "whose epsilon is 4 and delta 2e-6:"),
        ({"training_data": {"name": "x", "public": True, "examples": 7}}, "the 7 texts to which the model was adapted"),
        ({"kept_columns": ["a\u202e\x1b[2J\ud800"]}, "with the same a\\u202e\\x1b[2J\\ud800 change"),
        ({}, "If a person contributed m records, their total epsilon and delta are m times as large."),
    ],
)
def test_the_page_says_what_the_statement_says(changes: dict[str, Any], told: str) -> None:
    assert told in said(page(statement(**changes)))


@pytest.mark.parametrize("persons", [True, False])
@pytest.mark.parametrize("neighbours", [ADD_OR_REMOVE, REPLACE])
def test_the_page_of_a_central_release_has_the_statements_words(neighbours: str, persons: bool) -> None:
    """Among them what one record gets where persons are protected, and m times for m records where they are not."""
    stated = central(
        persons=persons, votes=Votes(epsilon=1.0, neighbours=neighbours, votes_per_person=2 if persons else 1)
    )
    words = unescape(said(page(stated)))
    assert stated["composition"] in words
    assert {ADD_OR_REMOVE: "took part or not change", REPLACE: "said one thing or another change"}[neighbours] in words
    assert ("the epsilon of one record alone is" in words) == persons
    assert ("If a person contributed m records, their total epsilon is m times as large." in words) == (not persons)
    assert all(exception in words for exception in READING_EXCEPTIONS)


def test_where_nothing_is_guaranteed_the_page_says_that_alone() -> None:
    described = statement(mechanism=Identity()).to_json()
    words = said(page(described))
    assert "changed at random" not in words
    assert "randomised" not in card(statement(mechanism=Identity()), "out").partition("Every text here")[2]
    assert "Nothing is guaranteed: epsilon is infinite." in words
    assert "fold" not in words.partition("What is not covered")[0]


def test_the_page_adds_up_what_releases_state_and_never_what_a_person_spent(
    adept_here: Run, topic_run: Path, tmp_path: Path
) -> None:
    """Nobody is in both files, so every person has spent 16; the bound is that of a person who is in all releases."""
    command = ["rewrite", f"model_dir={topic_run}", "mechanism=learned_codebook", "epsilon=8", "report=true"]
    command += ["record_columns=[text]", f"ledger={tmp_path}/ledger.db"]
    persons = ["person_column=who", "max_records_per_person=2"]
    pages = []
    for month, options in (("july", persons), ("august", persons), ("may", [])):
        rows = [{"text": f"{month} {i}", "who": f"{month} {i // 2}"} for i in range(4)]
        (tmp_path / f"{month}.in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        out = f"{tmp_path}/{month}.jsonl"
        done = adept_here(*command, *options, f"input={tmp_path}/{month}.in.jsonl", f"output={out}")
        assert done.returncode == 0, done.stderr
        pages.append(said(Path(f"{out}.report.html").read_text("utf-8")))
    for html, releases, total in zip(pages, ("1 release,", "2 releases,"), ("16", "32"), strict=False):
        assert f"The ledger lists {releases} with this one. For any one person" in html
        assert f"the stated bounds add up to at most epsilon {total}." in html
    assert "The ledger lists 3 releases, with this one. There is no bound for a person" in pages[2]
    with closing(Ledger(f"{tmp_path}/ledger.db")) as ledger:
        assert ledger.stated_total() == StatedTotal(3)
    beside = "".join(path.read_text("utf-8") for path in tmp_path.glob("august.jsonl.*"))
    assert "most for one person" not in beside
    done = adept_here(*command[:-2], "ledger=none", f"input={tmp_path}/july.in.jsonl", f"output={tmp_path}/none.jsonl")
    assert done.returncode == 0
    assert "No ledger was kept, so nothing is known of earlier releases." in said(
        (tmp_path / "none.jsonl.report.html").read_text("utf-8")
    )


def test_a_central_release_counts_in_the_total_as_replacing_a_person_needs_it(tmp_path: Path) -> None:
    """Removing and adding a person costs the epsilon of add_or_remove twice."""
    with closing(Ledger(str(tmp_path / "ledger.db"), key=b"k" * 32, again=True)) as ledger:
        for run, neighbours, total in (("a", REPLACE, 1.0), ("b", ADD_OR_REMOVE, 3.0)):
            votes = Votes(epsilon=1.0, neighbours=neighbours, votes_per_person=2)
            stated = Spending.of(central_statement(votes, persons=True))
            ledger.begin(run, stated, run)
            ledger.claim()
            assert ledger.stated_total() == StatedTotal(len(ledger.entries()), total, 0.0)
        ledger.forget("b")
        assert ledger.stated_total() == StatedTotal(1, 1.0, 0.0)
        ledger.begin("c", spending(), "c")  # gets the number of the forgotten one
        ledger.claim()
        assert ledger.stated_total() == StatedTotal(2)


def test_the_total_of_releases_names_the_pairs_of_records_that_each_of_them_compares(tmp_path: Path) -> None:
    """The page of a central release stands for itself: an earlier release copied the labels, and another left records out."""
    bounded: dict[str, Any] = {"persons": True, "person_epsilon": 1.0, "person_delta": 0.0}
    copied, same = "any two records with the same label", "any two records of the same person"
    with closing(Ledger(str(tmp_path / "ledger.db"), key=b"k" * 32, again=True)) as ledger:
        for run, pair in (("a", "any two records"), ("b", copied), ("c", same), ("d", same)):
            ledger.begin(run, spending(neighbours=pair, **bounded), run)
            ledger.claim()
        ledger.begin("e", Spending.of(central_statement(Votes(epsilon=1.0), persons=True)), "e")
        ledger.claim()
        total = ledger.stated_total()
    assert total == StatedTotal(5, 6.0, 0.0, (same, copied))
    names: dict[str, Any] = {"title": "o", "statement": "my file.privacy.json"}
    html = said(approval_page(central(persons=True), [], total=total, **names))
    assert "records of one person at most 3 counted" in html
    assert f"the sum is for {same}; and {copied}." in html
    assert "compare fewer pairs" not in said(approval_page(central(), [], total=StatedTotal(5, 6.0, 0.0), **names))
    assert "adept verify &#39;my file.privacy.json&#39;" in html


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0, 8.0, 12.0, 24.0, 40.0, 1000.0])
def test_the_page_judges_an_epsilon_in_the_words_of_the_guarantees(epsilon: float) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guarantees.md").read_text("utf-8")
    assert f"| {judge(epsilon)} |" in guide
    words = said(page(statement(mechanism=L1Laplace(epsilon=epsilon / 2), max_records_per_person=2)))
    assert f"whose epsilon is {epsilon:g}: {judge(epsilon)}." in words
    words = said(page(statement(mechanism=L1Laplace(epsilon=epsilon))))
    assert f"What this means for one record: {judge(epsilon)}. Nothing is said of a person" in words


@pytest.mark.parametrize(("neighbours", "times"), [(ADD_OR_REMOVE, 2), (REPLACE, 1)])
def test_counts_are_judged_by_the_epsilon_for_replacing_what_was_said(neighbours: str, times: int) -> None:
    """Two candidates for a record differ by a replacement, which is one removal and one addition."""
    for persons, who in ((False, "one record (to replace it"), (True, "whose epsilon is 4 (to replace this person")):
        stated = central(persons=persons, votes=Votes(epsilon=4.0, neighbours=neighbours))
        words = unescape(said(page(stated)))
        assert f": {judge(4.0 * times)}." in words
        assert (f"{who} costs epsilon 8): {judge(8.0)}." in words) == (times == 2)


def test_the_card_says_from_what_the_texts_were_written() -> None:
    """A text of a central release was written from no latent or description of a record."""
    kinds = {
        "noisy counts": central_statement(Votes(epsilon=1.0), persons=False),
        "a randomised latent": statement(mechanism=L1Laplace(epsilon=1.0)),
    }
    for kind, stated in kinds.items():
        assert f"Every text here was written from {kind}, not copied from a record." in card(stated, "out")


@pytest.mark.parametrize(
    ("changes", "who"),
    [
        ({}, "what a record said. They"),
        ({"labels": "copy", "kept_columns": ["day"]}, "what a record said, all with the same label and day. They"),
    ],
)
def test_candidates_are_equally_likely_and_neighbours(changes: dict[str, Any], who: str) -> None:
    """An attacker who is sure beforehand, or who reads a copied label, is right more often than the page says."""
    assert f"Suppose a reader has 1,000 equally likely candidates for {who}" in said(page(statement(**changes)))


def test_the_page_judges_no_delta_away() -> None:
    for people in (None, 2):
        words = said(page(statement(mechanism=Gaussian(epsilon=1.0, delta=0.25), max_records_per_person=people)))
        revealed = f"and delta allows everything to be revealed with a probability of {0.25 * (people or 1)}."
        assert f"{judge(people or 1.0)}; {revealed}" in words


def test_what_an_attacker_can_use_stands_apart_from_the_fine_print() -> None:
    html = page(statement(labels="copy", max_records_per_person=2, excess="drop", over_limit="drop"))
    usable, fine = unescape(said(html)).partition("What is not covered")[2].split("The fine print:")
    assert all(fact in usable for fact in ("each record's label", "the absence of a person", "their order"))
    fine = fine.partition("How the file will look")[0]
    assert all(fact in fine for fact in (TIME_NOT_HIDDEN, "the place of a record that ends the run with an error"))
    assert "each record's label" not in fine
    assert TIME_NOT_HIDDEN not in usable
    private = unescape(said(page(statement(training_data={"name": "x", "public": False}))))
    assert "which is PRIVATE" in private.partition("The fine print:")[0]


def test_purpose_recipient_and_owner_stand_on_the_page_as_text(
    adept_here: Run, topic_run: Path, tmp_path: Path
) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "hello", "intent": "fare"}\n')
    files = [f"model_dir={topic_run}", f"input={tmp_path}/in.jsonl"]
    about = ["purpose='<b>a chatbot</b>'", "recipient='ACME & Sons'", "owner='J. Doe'"]
    kinds = {
        "rewrite": ["epsilon=8", "mechanism=learned_codebook"],
        "synthesize": ["epsilon=1", "label_set=[fare,flight]"],
    }
    for command, options in kinds.items():
        done = adept_here(
            command, *files, *options, f"output={tmp_path}/{command}.jsonl", "ledger=none", "report=true", *about
        )
        assert done.returncode == 0, done.stderr
        html = (tmp_path / f"{command}.jsonl.report.html").read_text("utf-8")
        assert "<b>" not in html
        assert "purpose <b>a chatbot</b> recipient ACME & Sons owner J. Doe" in unescape(said(html))
        written = (tmp_path / f"{command}.jsonl.privacy.json").read_text("utf-8")
        assert not any(word in written for word in ("chatbot", "ACME", "Doe"))
        refused = adept_here(command, *files, *options, f"output={tmp_path}/other.jsonl", "owner=x")
        assert (refused.returncode, "owner must be left out without report=true" in refused.stderr) == (2, True)
