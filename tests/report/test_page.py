"""The page is one file that needs no network, tells claimed from true, and shows nobody's records."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

from made_rows import made, make_mixed, make_rows

from adept.comparison.audits import AuditVerdict
from adept.comparison.run import CompareConfig, Row
from adept.report import page
from adept.report.examples import Example

AUDITS = [AuditVerdict("original", 8.0, True, 9.5, "l1 distance <b>"), AuditVerdict("sqrt_n", 8.0, False, 2.5, "")]
VOID = {"meta", "br", "wbr"}


def written(rows: list[Row], directory: Path, *, examples: tuple[Example, ...] = (), public: bool = True) -> str:
    config = CompareConfig(output_dir=str(directory), mechanisms=["original", "sqrt_n"], epsilons=[8.0, 64.0])
    config.data.name, config.data.public = "<script>", public
    return page.write(rows, AUDITS, config, directory, examples=examples).read_text("utf-8")


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
    assert "convicted: l1 distance &lt;b&gt;; certified epsilon at least 9.5" in text
    assert "not refuted, which is no proof; certified epsilon at least 2.5" in text


def test_the_pages_tags_are_closed(tmp_path: Path) -> None:
    parser = Balanced()
    parser.feed(written(make_mixed(), tmp_path, examples=(shown("x"),)))
    assert parser.open == []


def test_the_figure_comes_first_and_as_a_file_too(tmp_path: Path) -> None:
    text = written(make_rows(), tmp_path)
    assert 0 < text.index("<figure>") < text.index("In a minute") < text.index("<table")
    assert (tmp_path / "figures" / "comparison.svg").read_text().lstrip().startswith("<?xml")


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


def test_light_supervision_is_said_wherever_it_was(tmp_path: Path) -> None:
    text = written(make_mixed(), tmp_path)
    caption = text[text.index("<figure>") : text.index("</figure>")]
    assert "learned_codebook (the rewriter saw public labels)" in caption
    assert "light supervision: the rewriter saw public labels" in text
    assert "saw public labels" not in written(make_rows(), tmp_path)


def test_originals_stand_beside_the_rewrites_of_public_data(tmp_path: Path) -> None:
    text = written(make_rows(), tmp_path, examples=(shown("rewritten"),))
    assert '<td data-label="original record">original rewritten</td>' in text
    assert text.count("rewritten</p>") == 2
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


def test_repetitions_have_a_table_with_an_explanation_where_they_were_counted(tmp_path: Path) -> None:
    counts = {"verbatim_own": 0.02, "verbatim_chance": 0.005, "verbatim_public": 0.5}
    text = written([replace(row, **counts) for row in make_rows()], tmp_path)
    assert "dealt to the records at random" in text
    assert "<td>2.00%</td><td>0.50%</td><td>50.00%</td>" in text
    assert "Word for word" not in written(make_rows(), tmp_path)


def test_the_commands_that_made_it_are_on_the_page(tmp_path: Path) -> None:
    text = written(make_rows(), tmp_path)
    assert "adept compare data=files &#x27;data.name=" in text
    assert "adept audit mechanism=original epsilon=8 dim=32" in text
