"""The page is one file that needs no network, tells claimed from true, and shows nobody's records."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import jinja2
import pytest
from made_rows import BASE, made, make_mixed, make_rows

from adept.cli.overrides import compose
from adept.comparison.config import CompareConfig
from adept.comparison.results import AuditVerdict, Example, ResultRow, Results
from adept.data.corpus import DataConfig
from adept.errors import DataError
from adept.models.config import TrainingConfig
from adept.pages import render
from adept.report import figures, page
from adept.report.table import ComparisonTable, table

AUDITS = [
    AuditVerdict("original", 8.0, True, 9.5, "l1 distance <b>", "Its claim of epsilon 8 is false."),
    AuditVerdict("sqrt_n", 8.0, False, 2.5, "", "It holds."),
]
VOID = {"meta", "br", "wbr"}


@pytest.fixture(scope="module", autouse=True)
def _drawn_once() -> Iterator[None]:
    """Pages of the same rows have the same figure, which takes longer than all else of a page."""
    drawn: dict[str, str] = {}
    draw = figures.draw

    def known(lines: ComparisonTable) -> str:
        key = repr(lines)
        if key not in drawn:
            drawn[key] = draw(lines)
        return drawn[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "draw", known)
        yield


def written(
    rows: list[ResultRow],
    directory: Path,
    *,
    examples: Sequence[Example] = (),
    public: bool = True,
    protocol: str = "disjoint",
    labels: str = "copy",
) -> str:
    budgets = {"mechanisms": ["original", "sqrt_n"], "epsilons": [8.0, 64.0]}
    config = CompareConfig(output_dir=str(directory), protocol=protocol, labels=labels, **budgets)  # type: ignore[arg-type]
    config.data.name, config.data.public = "<script>", public
    return page.write(Results(config, rows, AUDITS, [], list(examples))).path.read_text("utf-8")


def shown(text: str) -> Example:
    rows = [made("original", 0.8, 8.0), made("sqrt_n", 0.7, 8.0), made("random", 0.6)]
    return Example(f"original {text}", [(replace(rows[0], epsilon=32.0), text), (rows[1], text), (rows[2], "")])


class Balanced(HTMLParser):
    """Fails where a tag is closed that is not the open one."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open += [tag] if tag not in VOID else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_one_file_without_network_and_escapes_what_it_quotes(tmp_path: Path) -> None:
    text = written(make_mixed(), tmp_path, examples=(shown("<script>alert(1)</script> & co"),))
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; co" in text
    assert not re.search(r"https?://|src=|@import|<link|<iframe", text.replace("http://www.w3.org", ""))
    assert not re.findall(r'href="(?!#)', text)
    assert "violation found; certified epsilon at least 9.5: l1 distance &lt;b&gt;" in text
    assert "no violation found, which is no proof; certified epsilon at least 2.5" in text


def test_the_pages_tags_are_closed(tmp_path: Path) -> None:
    parser = Balanced()
    parser.feed(written(make_mixed(), tmp_path, examples=(shown("x"),)))
    assert parser.open == []


def test_the_figure_comes_first_and_as_a_file_too(tmp_path: Path) -> None:
    text = written(make_rows(), tmp_path)
    assert 0 < text.index('<figure class="headline">') < text.index("In a minute") < text.index("<table")
    for name in ("headline.svg", "comparison.svg"):
        saved = (tmp_path / "figures" / name).read_text()
        assert saved.lstrip().startswith("<?xml")
        assert saved[saved.index("<svg") :] in text
        assert (tmp_path / "figures" / name).with_suffix(".pdf").stat().st_size > 1000
        assert "sqrt_n" in (tmp_path / "figures" / name).with_suffix(".csv").read_text()


def test_the_page_says_whether_labels_are_private(tmp_path: Path) -> None:
    assert "Labels are copied, so they are not private" in written(make_rows(), tmp_path)
    joint = written(make_rows(), tmp_path, labels="joint")
    assert "Labels are written by the decoder from the release of the text, at no further budget" in joint
    assert "so they are not private. These guarantees" not in joint


def test_claimed_and_true_epsilon_are_told_apart(tmp_path: Path) -> None:
    text = written(make_rows(), tmp_path, examples=(shown("x"),))
    assert 'claimed 8, 64: <span class="bad">false, truly 32, 256</span>' in text
    assert "claimed 8, 64: true" in text
    assert "claim of epsilon 8 is false" in text
    assert "true epsilon of the original" in text
    assert "claimed eps 8, true 32:" in text


def test_each_classifier_has_a_fair_table_and_the_figure_is_the_firsts(tmp_path: Path) -> None:
    text = written(make_mixed(), tmp_path)
    assert text.count("<h2>Fair table") == 2
    assert "classifier tfidf</h2>" in text
    assert "classifier lstm</h2>" in text
    assert "A classifier (tfidf)" in text
    assert written(make_rows(), tmp_path).count("<h2>Fair table") == 1


def test_a_budget_that_writes_no_new_sentences_is_explained_where_one_is_shown(tmp_path: Path) -> None:
    assert "(as 16)" not in written(make_rows(), tmp_path)
    rows = [*make_rows(), *(made("description", 0.8, epsilon, enough=16) for epsilon in (8.0, 64.0))]
    assert "<b>24 (as 16)</b>" in written(rows, tmp_path)


def test_originals_stand_beside_the_rewrites_of_public_data(tmp_path: Path) -> None:
    text = written(make_rows(), tmp_path, examples=(shown("rewritten"),))
    assert '<td data-label="original record"><p>original rewritten</p></td>' in text
    assert text.count("rewritten</p>") == 3  # with the original
    assert "(empty)" in text
    assert "cut off after" in text
    long = written(make_rows(), tmp_path, examples=(shown("so " * 40),))
    assert f"{'so ' * 25}…" in long
    assert "so " * 26 not in long


def test_private_originals_are_absent_and_the_page_says_why(tmp_path: Path) -> None:
    text = written(make_rows(), tmp_path, examples=(replace(shown("rewritten"), original=None),), public=False)
    assert "original record</th>" not in text
    assert "original rewritten" not in text
    assert "these data are not public" in text


def test_examples_of_data_that_are_not_public_are_absent_and_the_page_says_why(tmp_path: Path) -> None:
    text = written(make_rows(), tmp_path, public=False)
    assert "None are shown, because these data are not public" in text
    assert "<code>examples=true</code> shows rewrites,\nnever an original" in text
    seen = written(make_rows(), tmp_path, public=False, protocol="paper")
    assert "the model was trained on the very records: no guarantee" in seen
    assert "No guarantee of this page holds for its records" in seen
    assert "None are shown" not in written(make_rows(), tmp_path, examples=(shown("x"),))


def test_a_rewriter_that_loses_much_is_warned_of_on_the_page(tmp_path: Path) -> None:
    lossy = [replace(row, accuracy=0.5) if row.mechanism == "identity" else row for row in make_rows()]
    assert '<div class="warning"><p>The rewriter itself loses much' in written(lossy, tmp_path)
    assert 'class="warning"' not in written(make_rows(), tmp_path)


def test_the_commands_that_made_it_are_on_the_page(tmp_path: Path) -> None:
    text = written(make_rows(), tmp_path)
    assert "adept compare \\\n  output_dir=OUT" in text
    assert "adept audit mechanism=original epsilon=8.0 dim=32 mechanism.clip_norm=1.0 trials=4000" in text
    assert "mechanisms=&#39;[original,sqrt_n]&#39;" in text


CONFIGS = [
    CompareConfig(output_dir="runs/first"),
    CompareConfig(
        data=DataConfig(sizes=[300, 50, 100], seed=3),
        mechanisms=["l1", "codebook"],
        epsilons=[0.1, 2.5, 8.000001, 512.0],
        seeds=[4],
        labels="randomized_response",
        label_epsilon=1e-05,
        baselines=True,
        training=TrainingConfig(epsilon=[4.0, 64.0]),
        output_dir="runs/it's a [test], x=y",
    ),
    CompareConfig(
        data=DataConfig("it's mine: yes", path='here/"it\\" is\\', public=False),
        classifiers=["lstm", "tfidf"],
        text_column="words",
        label_column="topic",
        output_dir="runs/mine",
    ),
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.data.name)
def test_the_command_on_the_page_gives_the_comparison_back(config: CompareConfig) -> None:
    _, command, *options = shlex.split(page.command_of(config).replace(" \\\n", ""))
    assert compose(command, options) == replace(config, output_dir="OUT")


def line(sections: dict[str, list[list[str]]], *start: str) -> list[str]:
    """The one line that starts with these cells."""
    [found] = [line for lines in sections.values() for line in lines if line[: len(start)] == list(start)]
    return found


def test_the_table_gives_means_and_the_originals_true_epsilon() -> None:
    grid = page.budget_grid(table(make_rows()), "accuracy")
    lines = grid.sections[""]
    assert grid.headings == ["claimed epsilon", "8", "64"]
    assert lines[0] == ["original (claim false)", "0.810", "0.880"]
    assert lines[1:3] == [["  its true epsilon", "32", "256"], ["  added by the records", "+0.210", "+0.280"]]
    assert ["sqrt_n", "0.610", "0.700"] in lines
    assert ["random", "0.600", "0.600"] in lines
    assert ["always the majority label", "0.550", "0.550"] in lines


def test_other_decoders_and_classifiers_do_not_enter_the_table() -> None:
    lines = page.budget_grid(table(make_mixed()), "accuracy").sections[""]
    assert ["learned_codebook", "0.750", "0.750"] in lines
    assert ["public_only", "0.850", "0.850"] in lines
    assert ["none", "0.900", "0.900"] in lines
    assert ["always the majority label", "0.550", "0.550"] in lines
    assert [text[0] for text in lines if "learned_codebook" in text[0]] == ["learned_codebook"]


def test_distance_above_random_is_of_the_same_model_decoder_and_classifier() -> None:
    rows = [replace(row, majority_accuracy=0.1) for row in make_mixed()]
    found = page.fair_grid(table(rows), "tfidf").sections
    assert line(found, "learned_codebook", "8")[2:6] == ["8", "0.750", "0.500", "0.550"]
    assert line(found, "public_only")[5] == page.ABSENT
    assert line(found, "sqrt_n", "64")[5] == "0.100 ± 0.000"
    halved = page.fair_grid(table(rows), "lstm").sections
    assert line(halved, "learned_codebook", "8")[3:6] == ["0.375", "0.500", "0.275"]


def test_the_fair_table_has_a_section_a_model() -> None:
    grid = page.fair_grid(table(make_mixed()), "tfidf")
    found = grid.sections
    assert list(found) == ["without a model", "l2 model", "sphere model, topics"]
    assert all(len(line) == len(grid.headings) for lines in found.values() for line in lines)
    assert line(found, "original (claim false)", "8")[1:3] == ["8", "32"]
    assert [cells[0] for cells in found["without a model"]] == [
        "none", "public_only", "always the majority label",
    ]  # fmt: skip


def test_quality_of_the_text_has_columns_where_it_was_measured() -> None:
    rows = [BASE, made("random", 0.5, bleu=1.5, distinct=0.5, perplexity=123.4)]
    grid = page.fair_grid(table(rows), "tfidf")
    assert grid.headings[-3:] == ["BLEU", "distinct", "perplexity"]
    assert line(grid.sections, "random")[-3:] == ["1.50", "0.500", "123"]
    assert line(grid.sections, "none")[-3:] == [page.ABSENT] * 3
    assert "BLEU" not in page.fair_grid(table(make_rows()), "tfidf").headings


def test_what_is_kept_stands_before_the_same_for_another_record() -> None:
    kept = {"slots": 0.5, "slots_other": 0.125, "words": 0.25, "words_other": 0.0625, "fluency": 0.75}
    grid = page.fair_grid(table([BASE, made("random", 0.5, **kept)]), "tfidf")
    assert grid.headings[-3:] == ["slots", "words", "fluency"]
    assert line(grid.sections, "random")[-3:] == ["0.500 (0.125)", "0.250 (0.0625)", "0.750"]
    assert line(grid.sections, "none")[-3:] == [page.ABSENT] * 3


@pytest.mark.parametrize("text", [None, "{% if %}"])
def test_a_template_that_an_installation_lacks_is_one_line(text: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    held = {} if text is None else {"page.html.jinja": text}
    monkeypatch.setattr("jinja2.PackageLoader", lambda package: jinja2.DictLoader(held))
    with pytest.raises(DataError, match=r"^the template page\.html\.jinja is missing or damaged: install adept again$"):
        render("adept.report", "page.html.jinja", {})
