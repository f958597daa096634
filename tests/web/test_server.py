"""Claims about the page's server: what it answers, what it refuses, and that it never sends back what was typed."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hanging import wait_until
from starlette.testclient import TestClient

from adept.errors import DataError
from adept.web.files import MAX_UPLOAD_BYTES, Files
from adept.web.sentences import MAX_SENTENCE_CHARACTERS
from adept.web.server import Play

SECRET = "zebra7 crosses the quantum river"
HOME = "http://127.0.0.1:8000"


@pytest.fixture
def client(play: Play) -> Iterator[TestClient]:
    with TestClient(play.app(), base_url=HOME) as client:
        yield client


def test_the_page_is_small_and_asks_for_nothing_elsewhere(client: TestClient) -> None:
    page = client.get("/")
    parts = [
        page,
        *(client.get(f"/static/{name}") for name in ("play.css", "play.js", "draw.js", "files.js", "icon.svg")),
    ]
    assert all(part.status_code == 200 for part in parts)
    assert sum(len(part.content) for part in parts) < 200_000
    assert not any(
        "https://" in part.text or "http://" in part.text.replace("http://www.w3.org/2000/svg", "") for part in parts
    )


def test_addresses_are_relative_so_that_a_proxy_may_serve_the_page_below_a_path(client: TestClient) -> None:
    parts = [client.get(path).text for path in ("/", "/static/play.js", "/static/files.js")]
    assert 'src="static/play.js"' in parts[0]
    assert not [found for part in parts for found in re.findall(r"""["'`]/(?:api|static|proof|runs)/""", part)]


def test_a_ledger_that_is_none_is_refused_before_the_page_is_served(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a ledger\n" * 100)
    with pytest.raises(DataError, match=r"notes\.txt"):
        Files(ledger=str(tmp_path / "notes.txt"))


def test_every_answer_forbids_what_does_not_come_from_the_page(client: TestClient) -> None:
    for answer in (
        client.get("/"),
        client.get("/static/play.js"),
        client.post("/api/play", json={}),
        client.get("/nothing"),
    ):
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "0.0.0.0:8000", ""])
def test_a_name_that_was_made_to_lead_here_is_refused(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_another_site_s_script_is_refused(client: TestClient, headers: dict[str, str]) -> None:
    assert client.post("/api/play", json={"text": "hello", "epsilon": 8}, headers=headers).status_code == 403


def test_with_a_token_nothing_is_answered_without_it(play: Play) -> None:
    play.token = "secret"
    with TestClient(play.app(), base_url="http://play.example") as client:
        assert client.get("/").status_code == 401
        assert client.get("/?token=wrong").status_code == 401
        assert client.get("/?token=secret").status_code == 200
        question = {"text": "hello", "epsilon": 8}
        assert client.post("/api/play", json=question).status_code == 401
        assert client.post("/api/play", json=question, headers={"Authorization": "Bearer secret"}).status_code == 200


def test_a_sentence_comes_back_rewritten_with_a_reader_s_beliefs(client: TestClient) -> None:
    answer = client.post("/api/play", json={"text": "book a taxi", "epsilon": 8, "mechanisms": ["ours", "original"]})
    (ours, original), view, other = map(json.loads, answer.text.splitlines())
    assert 1 <= len(ours["texts"]) <= 3
    assert ours["holds"]
    assert not original["holds"]
    assert len(view["others"]) == len(other["others"]) == 7
    assert view["claimed"] == view["bound"] == other["claimed"] < other["bound"]
    worst = client.post("/api/worst", json={"epsilon": 8}).json()
    for stated, epsilon in ((original["spends"], original["epsilon"]), (worst["spends"], worst["true"])):
        assert epsilon <= float(stated) < epsilon + 0.01  # a true epsilon is rounded up


@pytest.mark.parametrize(
    "text",
    [
        "",
        "🙂🙂🙂",
        "احجز لي سيارة أجرة",
        "<script>alert(1)</script>",
        "a " * (MAX_SENTENCE_CHARACTERS // 2),
        "\x00\ud7ff",
        "１２３",
    ],
)
def test_any_sentence_is_rewritten(client: TestClient, text: str) -> None:
    for epsilon in (4, 16):
        assert client.post("/api/play", json={"text": text, "epsilon": epsilon}).status_code == 200


@pytest.mark.parametrize(
    "question",
    [
        {"text": SECRET * 200, "epsilon": 8},
        {"text": SECRET, "epsilon": 7.77},
        {"text": SECRET, "epsilon": SECRET},
        {"text": SECRET, "epsilon": True},
        {"text": SECRET, "epsilon": 8, "mechanisms": [SECRET]},
        {"text": SECRET, "epsilon": 8, "mechanisms": [[SECRET]]},
        {"text": SECRET, "epsilon": 8, "mechanisms": []},
        {"text": [SECRET], "epsilon": 8},
        [SECRET],
        SECRET,
    ],
)
def test_a_question_that_is_refused_is_not_quoted(client: TestClient, question: object) -> None:
    answer = client.post("/api/play", json=question)
    assert answer.status_code == 400
    assert "zebra7" not in answer.text
    assert ": " in answer.json()["error"]


def test_a_question_that_is_no_json_or_too_long_is_refused(client: TestClient) -> None:
    for content in (b"{", b"[" * 100_000, b"\xff", b'{"text": "' + b"x" * 70_000):
        assert client.post("/api/play", content=content).status_code == 400


def test_nothing_typed_reaches_a_log_or_a_file(
    client: TestClient, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    with caplog.at_level("DEBUG"):
        client.post("/api/play", json={"text": SECRET, "epsilon": 8})
    assert "zebra7" not in caplog.text
    assert not any(b"zebra7" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def dropped(client: TestClient, name: str, content: bytes) -> dict[str, object]:
    answer = client.post("/api/files", content=content, headers={"X-Filename": name})
    assert answer.status_code == 201, answer.text
    found: dict[str, object] = answer.json()
    return found


def released(client: TestClient, key: object, choices: dict[str, object]) -> dict[str, object]:
    answer = client.post(f"/api/files/{key}/release", json=choices)
    assert answer.status_code == 202, answer.text
    wait_until(lambda: not client.get(f"/api/files/{key}").json()["running"], "the release")
    state: dict[str, object] = client.get(f"/api/files/{key}").json()
    return state


CSV = b"text,intent,who\n" + b"".join(
    b"book a taxi to the station please,taxi,p%d\nplay some jazz,music,p%d\n" % (i, i) for i in range(10)
)


def test_a_file_goes_from_drop_to_download(client: TestClient) -> None:
    found = dropped(client, "mine.csv", CSV)
    assert found["records"] == 20
    assert found["columns"] == ["text", "intent", "who"]
    assert found["labels"] == ["intent", "who"]
    choices = {"epsilon": 8, "text_column": "text", "label_column": "intent", "labels": "copy"}
    said = client.post(f"/api/files/{found['key']}/explain", json=choices).json()
    assert said["records"] == 20
    by_label, none, names = said["expected"]
    assert "can reveal the label" in by_label
    assert "no estimate of what a rewrite keeps" in none
    assert names.endswith("says what the rows are expected to add")
    named = client.post(f"/api/files/{found['key']}/explain", json=choices | {"label_set": ["taxi", "music"]}).json()
    assert named["expected"][1].startswith("at epsilon 8 a rewrite keeps its record's topic")
    assert client.get(f"/api/files/{found['key']}/text").status_code == 400  # nothing is released yet
    assert released(client, found["key"], choices)["finished"]
    text, statement, card = (client.get(f"/api/files/{found['key']}/{part}") for part in ("text", "statement", "card"))
    assert text.text.splitlines()[0] == "text,intent"
    assert len(text.text.splitlines()) == 21
    assert json.loads(statement.text)["epsilon"] == 8
    assert card.text.startswith("---")


@pytest.mark.parametrize(
    ("header", "text"), [("id,message", "message"), ("id,Text", "Text"), ("id,body", ""), ("message,text", "text")]
)
def test_the_column_of_sentences_is_known_by_its_name_alone(client: TestClient, header: str, text: str) -> None:
    found = dropped(client, "mine.csv", f"{header}\n1,book a taxi to the station please\n".encode())
    assert found["text"] == text
    state = released(client, found["key"], {"epsilon": 8, "text_column": text})
    assert state["finished"] == bool(text)  # without a choice, nothing is released


def test_a_row_is_not_released_again_unless_asked(client: TestClient) -> None:
    choices = {"epsilon": 8, "text_column": "text"}
    first, second, third = (dropped(client, "mine.txt", b"book a taxi\nplay some jazz\n") for _ in range(3))
    assert released(client, first["key"], choices)["finished"]
    refused = released(client, second["key"], choices)
    assert "ledger" in str(refused["error"])
    assert "taxi" not in str(refused["error"])
    assert released(client, third["key"], choices | {"again": True})["finished"]


def test_a_refusal_that_names_an_option_which_the_page_lacks_says_where_it_is(client: TestClient) -> None:
    key = dropped(client, "mine.csv", b"text,who\nbook a taxi,ann\nplay some jazz,ann\n")["key"]
    choices = {"epsilon": 8, "text_column": "text", "person_column": "who", "max_records_per_person": 1}
    refused = str(released(client, key, choices)["error"])
    assert "add excess=drop" in refused
    assert refused.endswith("use adept rewrite in a terminal)")
    missing = client.post(f"/api/files/{key}/explain", json={"epsilon": 8, "text_column": "texts"}).json()["error"]
    assert missing.endswith("text_column=text")  # which the page has


def test_an_internal_error_ends_one_release_and_nothing_else(
    client: TestClient, play: Play, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (dropped(client, "mine.csv", CSV)["key"] for _ in range(2))
    with monkeypatch.context() as broken:
        broken.setattr(play.files, "release", lambda *given: [][len(SECRET)])
        state = released(client, first, {"epsilon": 8, "text_column": "text"})
    assert (state["finished"], state["error"]) == (False, "an internal error: the terminal of adept play shows where")
    assert "IndexError in <lambda>" in capsys.readouterr().err
    assert released(client, second, {"epsilon": 8, "text_column": "text"})["finished"]


def test_a_file_is_not_forgotten_while_it_is_released(client: TestClient, play: Play) -> None:
    key = str(dropped(client, "mine.csv", CSV)["key"])
    play.files.get(key).running = True
    answer = client.delete(f"/api/files/{key}")
    assert (answer.status_code, answer.json()) == (
        400, {"error": "the file is being released: wait for the end of its release"},
    )  # fmt: skip
    assert play.files.get(key).source.exists()


@pytest.mark.parametrize("rows", [3, 200])
def test_a_column_with_a_usual_name_of_labels_is_offered_however_many_it_has(client: TestClient, rows: int) -> None:
    content = "text,Category,id\n" + "".join(f"play {i},label {i},{i}\n" for i in range(rows))
    assert dropped(client, "mine.csv", content.encode())["labels"] == ["Category"]


def test_a_forgotten_file_leaves_nothing_behind(client: TestClient, play: Play) -> None:
    found = dropped(client, "mine.csv", CSV)
    folder = play.files.get(str(found["key"])).source.parent
    assert folder.stat().st_mode & 0o077 == 0
    assert client.delete(f"/api/files/{found['key']}").status_code == 204
    assert not folder.exists()
    assert client.get(f"/api/files/{found['key']}").status_code == 400


def test_the_server_s_end_removes_every_file(play: Play) -> None:
    with TestClient(play.app(), base_url=HOME) as client:
        folder = play.files.get(str(dropped(client, "mine.csv", CSV)["key"])).source.parent
    assert not folder.exists()


def test_a_file_is_removed_after_an_hour_even_if_nobody_comes_back(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adept.web.files.HOUR_SECONDS", 6.0)  # looks for old files ten times a second
    with TestClient(play.app(), base_url=HOME) as client:
        held = play.files.get(str(dropped(client, "mine.csv", CSV)["key"]))
        folder, held.running, held.born = held.source.parent, True, held.born - 7.0
        time.sleep(0.3)
        assert folder.exists()  # it is being released
        held.running = False
        wait_until(lambda: not folder.exists(), "the removal of the file")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.exe", b"MZ"),
        ("x", b"text"),
        ("x.csv", b""),
        ("x.csv", b"\xff\xfe\x00\x01"),
        ("x.jsonl", b"{zebra7"),
        ("../../x.csv/", b"a"),
    ],
)
def test_a_file_that_is_none_is_refused_in_a_sentence(
    client: TestClient, play: Play, name: str, content: bytes
) -> None:
    answer = client.post("/api/files", content=content, headers={"X-Filename": name})
    assert answer.status_code == 400
    assert "zebra7" not in answer.text
    assert not list(play.files._root.iterdir())


def test_a_file_that_is_too_large_is_refused(client: TestClient) -> None:
    answer = client.post("/api/files", content=b"x" * (MAX_UPLOAD_BYTES + 1), headers={"X-Filename": "x.txt"})
    assert answer.status_code == 400
    assert "20 MB" in answer.json()["error"]


def test_a_choice_that_the_page_does_not_offer_is_refused(client: TestClient) -> None:
    key = dropped(client, "mine.csv", CSV)["key"]
    for choices in (
        {"epsilon": "8"},
        {"keep_columns": ["who"]},
        {"epsilon": 8, "label_set": [1]},
        {"epsilon": 8, "again": "yes"},
    ):
        assert client.post(f"/api/files/{key}/explain", json=choices).status_code == 400


AUDIT = {
    "sentence": "The claim is false.", "violated": True, "certified_epsilon": 5.25, "mechanism": "<b>",
    "checks": [1, {"name": "event", "verdict": "passed"}, {"name": "scale", "verdict": "failed", "evidence": "little noise"}],
}  # fmt: skip
ATTACK = {"sentence": "No violation found.", "attack": "membership", "rows": [{"words": "Of 100 guesses"}]}


def test_earlier_results_are_shown_as_they_are(client: TestClient, play: Play) -> None:
    for name, file, content in (
        ("compared", "report.html", "<p>hello</p>"),
        ("audited", "result.json", json.dumps(AUDIT)),
        ("attacked", "result.json", json.dumps(ATTACK)),
        ("attacked", "attack.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>"),
        ("planned", "result.json", '{"labels": 5, "most": 3}'),
        ("planned", "plan.html", "<p>a plan</p>"),
        ("odd", "result.json", '{"certified_epsilon": [], "checks": {"name": 1}}'),
        ("broken", "result.json", "{"),
    ):
        (play.runs / name).mkdir(parents=True, exist_ok=True)
        (play.runs / name / file).write_text(content)
    page = client.get("/").text
    assert "compared" in page
    assert "5.25" in page
    assert "&lt;b&gt;" in page
    assert '<p class="said broken">The claim is false.</p>' in page
    assert page.index("<td>scale</td>") < page.index("<td>event</td>")
    assert '<p class="said">No violation found.</p>' in page
    assert "Of 100 guesses" in page
    assert client.get("/runs/planned").text == "<p>a plan</p>"
    assert '<th scope="row">most</th>' not in page
    picture = client.get("/runs/attacked/picture")
    assert (picture.headers["content-type"], picture.text[:4]) == ("image/svg+xml", "<svg")
    assert "sandbox" in picture.headers["content-security-policy"]
    assert client.get("/runs/audited/picture").status_code == 400
    report = client.get("/runs/compared")
    assert report.text == "<p>hello</p>"
    assert "sandbox" in report.headers["content-security-policy"]
    assert client.get("/runs/..%2f..%2fetc").status_code in (400, 404)


@pytest.mark.parametrize("name", ["ours", "original", "reader", "shuffled", "central"])
def test_each_how_do_we_know_leads_to_a_proof(client: TestClient, name: str) -> None:
    answer = client.get(f"/proof/{name}")
    assert answer.status_code == 200
    assert "proof" in answer.text.lower() or "claim" in answer.text.lower()


@pytest.mark.parametrize(
    ("name", "content", "begins"),
    [
        ("x.csv", b"text;intent\na, b;x\nc;y\n", b"text\n"),
        ("x.CSV", b"\xef\xbb\xbftext\tintent\na b\tx\nc\ty\n", b"text\n"),
        ("x.TSV", b"text\tintent\na b\tx\nc\ty\n", b"text\n"),
        ("x.ndjson", b'{"text": "a b", "intent": "x"}\n{"text": "c", "intent": "y"}\n', b'{"text": '),
        ("x.json", b'[{"text": "a b", "intent": "x"}, {"text": "c", "intent": "y"}]', b'[\n{"text": '),
    ],
)
def test_files_as_spreadsheets_and_programs_save_them_are_released(
    play: Play, name: str, content: bytes, begins: bytes
) -> None:
    _, held = play.files.add(name, content)
    assert (held.records, held.columns) == (2, ["text", "intent"])
    choices = {"epsilon": 8.0, "labels": "drop"}
    assert play.files.explain(held, choices)["records"] == 2
    play.files.release(held, choices)
    assert held.done == 2
    assert held.target.read_bytes().startswith(begins)


@pytest.mark.parametrize("content", [b"text,intent\nzebra7,a,b\n", b"PK\x03\x04zebra7", b""])
def test_a_refusal_names_no_folder_of_the_machine(play: Play, content: bytes) -> None:
    with pytest.raises(DataError, match=r"^the file ") as caught:
        play.files.add("x.csv", content)
    assert str(play.files._root) not in str(caught.value)


def test_the_budgets_are_shown_with_public_sentences_and_without_a_question(client: TestClient) -> None:
    found = client.post("/api/budgets", json={}).json()
    assert [row[0] for row in found["rows"]] == ["1", "2", "4", "8", "12", "16"]
    assert found["rows"][3][1] == "at most 75 of 100 cases"
    assert len({len(row) for row in found["rows"]} | {len(found["headings"])}) == 1
    assert len(found["texts"]) == 3
    assert [row[0] for row in found["rewrites"]] == [row[0] for row in found["rows"]]
    assert "for training a classifier: 4 to 8" in client.get("/").text
