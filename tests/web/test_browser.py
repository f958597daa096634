"""Claims about the page as a person meets it, in a real headless Chromium."""

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("needs Debian's chromium", allow_module_level=True)

uvicorn = pytest.importorskip("uvicorn")
from axe_playwright_python.sync_playwright import Axe  # noqa: E402
from playwright.sync_api import Browser, Page, expect, sync_playwright  # noqa: E402

from adept.attacks.likelihood import Candidates  # noqa: E402
from adept.web.sentences import Reader  # noqa: E402
from adept.web.server import Play  # noqa: E402

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
SERIOUS = ("serious", "critical")


@pytest.fixture
def address(play: Play) -> Iterator[str]:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(play.app(), log_level="critical"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    server.should_exit = True
    thread.join()
    listener.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as made:
        browser = made.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, wrong = context.new_page(), []
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "request", lambda request: None if request.url.startswith((address, "blob:")) else wrong.append(request.url)
    )
    page.goto(address)
    page.wait_for_selector("#views svg")
    page.wait_for_selector("#worst svg")
    yield page
    context.close()
    assert not wrong


def released(page: Page) -> int:
    return int(page.inner_text("#count").split()[0])


def test_a_sentence_is_rewritten_as_it_is_typed_and_each_change_is_counted(page: Page) -> None:
    before = released(page)
    page.fill("#text", "play some jazz in the kitchen")
    expect(page.locator("#count")).to_contain_text(f"{before + 1} releases so far")
    assert page.inner_text("#written li").strip()


def test_the_slider_moves_the_budget_and_the_bound(page: Page) -> None:
    page.focus("#epsilon")
    page.keyboard.press("Home")
    page.wait_for_selector("text=at most 1 guess in 606")
    assert page.inner_text("#shown") == "0.5"
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.wait_for_selector("text=at most 1 guess in 19")
    assert page.get_attribute("#epsilon", "aria-valuetext") == "epsilon 4"


def test_the_original_s_crossings_are_shown(page: Page) -> None:
    page.check("input[value=original]")
    page.wait_for_selector("#views .broken")
    assert "It is false" in page.inner_text("#views")
    assert page.locator("#views .claimed").count() == 1
    assert page.locator("#worst circle").count() == 100
    assert page.locator("#worst circle.crossed").count() > 10
    assert "break the promise" in page.inner_text("#worst")


def test_a_table_shows_what_each_budget_keeps(page: Page) -> None:
    page.click("#show-budgets")
    page.wait_for_selector("#budgets table")
    assert page.locator("#budgets tbody tr").count() == 12
    assert "at most 75 of 100 cases" in page.inner_text("#budgets")


def test_everything_is_reached_with_the_keyboard_alone(page: Page) -> None:
    reached = []
    page.evaluate("document.activeElement.blur()")
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "document.activeElement.id || document.activeElement.value || document.activeElement.className"
            )
        )
    assert reached[:4] == ["text", "epsilon", "ours", "original"]
    assert "file" in reached
    page.focus("input[value=original]")
    page.keyboard.press("Space")
    page.wait_for_selector("#written .broken")


def test_texts_are_there_before_a_slow_reader_and_the_page_says_so(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare, begin = Reader.prepare, threading.Event()

    def slow(reader: Reader) -> Candidates:
        begin.wait(30)
        return prepare(reader)

    monkeypatch.setattr(Reader, "ready", False)
    monkeypatch.setattr(Reader, "prepare", slow)
    before = released(page)
    page.fill("#text", "play some jazz in the kitchen")
    expect(page.locator("#count")).to_contain_text(f"{before + 1} release")
    page.wait_for_selector("#wait:has-text('is reading')")
    assert page.locator("#written.pale").count() == 0
    assert page.locator("#views.pale").count() == 1
    begin.set()
    page.wait_for_selector("#wait:empty", state="attached")
    assert page.locator(".pale").count() == 0


def test_markup_in_a_sentence_is_shown_as_text(page: Page) -> None:
    page.focus("#epsilon")
    page.keyboard.press("End")
    page.fill("#text", "<img src=x onerror=alert(1)> <b>hello</b>")
    page.wait_for_timeout(1500)
    assert page.locator("#written img, #views img, #written b").count() == 0


def test_an_empty_sentence_is_asked_for_and_not_released(page: Page) -> None:
    before = released(page)
    page.fill("#text", "   ")
    page.wait_for_selector("#error:not(:empty)")
    assert released(page) == before


def test_a_file_goes_from_drop_to_download(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "said.csv"
    file.write_text("text,intent\n" + "book a taxi to the station,taxi\nplay some jazz,music\n" * 20)
    page.set_input_files("#file", file)
    page.wait_for_selector("#choices:not([hidden])")
    assert "40 records with 2 columns" in page.inner_text("#looked")
    page.click("#explain")
    page.wait_for_selector("#explained p:nth-child(2)")
    page.click("#release")
    page.wait_for_selector("#fetch:not([hidden])")
    for part, name in (
        ("text", "said.private.csv"),
        ("statement", "said.private.csv.privacy.json"),
        ("card", "said.private.csv.card.md"),
    ):
        with page.expect_download() as download:
            page.click(f"[data-part={part}]")
        assert download.value.suggested_filename == name
        assert Path(download.value.path()).stat().st_size > 0


def test_no_column_is_taken_for_sentences_unless_its_name_says_so(page: Page, tmp_path: Path) -> None:
    for name, chosen in (("body", ""), ("message", "message")):
        file = tmp_path / f"{name}.csv"
        file.write_text(f"id,{name}\n" + "1,book a taxi to the station\n" * 4)
        page.set_input_files("#file", file)
        expect(page.locator("#looked")).to_contain_text(name)
        assert page.input_value("[name=text_column]") == chosen


DROP = """([names, where]) => {
    const moved = new DataTransfer();
    for (const name of names) moved.items.add(new File(["text\\nbook a taxi\\n"], name));
    const event = new DragEvent("drop", {dataTransfer: moved, bubbles: true, cancelable: true});
    document.querySelector(where).dispatchEvent(event);
    return event.defaultPrevented;
}"""


def test_two_files_at_once_are_refused_and_one_beside_the_area_opens_nothing(page: Page) -> None:
    assert page.evaluate(DROP, [["a.csv", "b.csv"], "#drop"])
    expect(page.locator("#file-error")).to_contain_text("one file at a time")
    assert page.evaluate(DROP, [["a.csv"], "h1"])
    assert page.is_hidden("#choices")
    assert page.evaluate(DROP, [["a.csv"], "#drop"])
    page.wait_for_selector("#choices:not([hidden])")
    assert page.inner_text("#file-error") == ""


def test_a_file_that_is_too_large_is_not_sent(page: Page, tmp_path: Path) -> None:
    with (tmp_path / "large.txt").open("wb") as file:
        file.truncate(200 * 2**20)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.set_input_files("#file", tmp_path / "large.txt")
    expect(page.locator("#file-error")).to_contain_text("at most 20 MB")
    assert sent == []


def test_of_two_files_the_newer_one_counts_and_the_older_one_is_forgotten(
    page: Page, play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add, going = play.files.add, threading.Event()

    def add_slowly(name: str, content: bytes) -> object:
        if name == "old.csv":
            going.wait(20)
        return add(name, content)

    monkeypatch.setattr(play.files, "add", add_slowly)
    for name in ("old", "new", "newest"):
        (tmp_path / f"{name}.csv").write_text(f"text,{name}\nbook a taxi,x\n")
        page.set_input_files("#file", tmp_path / f"{name}.csv")
        if name != "old":
            expect(page.locator("#looked")).to_contain_text(f": text, {name}.")
    going.set()
    deadline = time.monotonic() + 20
    while len(play.files._files) != 1 and time.monotonic() < deadline:
        page.wait_for_timeout(100)
    assert [held.columns for held in play.files._files.values()] == [["text", "newest"]]
    assert page.inner_text("#looked").endswith(": text, newest.")


def test_a_reload_keeps_the_file_and_a_release_goes_on(
    page: Page, play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, going = play.files.release, threading.Event()
    monkeypatch.setattr(play.files, "release", lambda *given: going.wait(20) and release(*given))
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    (tmp_path / "mine.csv").write_text("text\nbook a taxi\nplay jazz\n")
    page.set_input_files("#file", tmp_path / "mine.csv")
    page.wait_for_selector("#choices:not([hidden])")
    page.click("#release")
    page.wait_for_selector("#progress:not([hidden])")
    page.evaluate(DROP, [["other.csv"], "#drop"])
    expect(page.locator("#file-error")).to_contain_text("wait for the end of its release")
    page.reload()
    page.wait_for_selector("#progress:not([hidden])")
    assert asked == ["beforeunload"]
    assert page.is_disabled("#release")
    going.set()
    page.wait_for_selector("[data-part=text]")
    with page.expect_download() as download:
        page.click("[data-part=text]")
    assert Path(download.value.path()).read_text().startswith("text\n")
    page.click("#forget")
    page.reload()
    page.wait_for_selector("#views svg")
    assert page.is_hidden("#choices")
    assert asked == ["beforeunload"]


def test_a_release_that_fails_is_not_called_one(
    page: Page, play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play.files, "release", lambda *given: 1 / 0)
    (tmp_path / "mine.csv").write_text("text\nbook a taxi\n")
    page.set_input_files("#file", tmp_path / "mine.csv")
    page.wait_for_selector("#choices:not([hidden])")
    page.click("#release")
    expect(page.locator("#file-error")).to_contain_text("an internal error")
    assert page.is_hidden("#fetch")


def test_the_table_of_budgets_shows_all_of_its_rows_on_a_phone(browser: Browser, address: str) -> None:
    page = browser.new_context(viewport={"width": 375, "height": 800}).new_page()
    page.goto(address)
    page.click("#show-budgets")
    page.wait_for_selector("#budgets table")
    hidden = "nodes => nodes.map(node => node.scrollHeight - node.clientHeight)"
    assert page.locator("#budgets .wide").evaluate_all(hidden) == [0, 0]
    page.context.close()


@pytest.mark.parametrize("width", [390, 1280, 3840])
def test_nothing_is_wider_than_the_window(browser: Browser, address: str, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("#views svg")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_barrier_is_found(browser: Browser, address: str, scheme: str) -> None:
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("#worst svg")
    page.check("input[value=original]")
    page.wait_for_selector("#views .broken")
    found = Axe().run(page).response["violations"]
    assert [one["id"] for one in found if one["impact"] in SERIOUS] == []
    context.close()


def test_two_tabs_do_not_disturb_each_other(browser: Browser, address: str) -> None:
    context = browser.new_context()
    first, second = context.new_page(), context.new_page()
    for page in (first, second):
        page.goto(address)
        page.wait_for_selector("#views svg")
    first.fill("#text", "one")
    time.sleep(1.0)
    assert second.input_value("#text") != "one"
    assert released(second) == 1
    context.close()
