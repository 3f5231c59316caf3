"""The site during an outage, while the database hangs, and while it stops: responses, recovery and logs."""

import os
import re
import signal
import socket
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from pymongo import MongoClient

from tests.faults.harness.browser import Browser, multipart
from tests.faults.harness.content import log_in, make
from tests.faults.harness.ledger import Ledger
from tests.faults.harness.pictures import png, shows
from tests.faults.harness.places import OnOneMember, running
from tests.support.processes import until

pytestmark = pytest.mark.slow

# Of a request's first read, and of one operation.
SELECTION, OPERATION = 2.5, 8.0
MAIL, ADDRESS, NAME = "ada.lovelace@example.org", "203.0.113.77", "Ada Lovelace"
VISITORS = 40
# Bytes of a picture that are sent long after the others.
REST = 20_000
TEXT = "Ten minutes of thought went into this comment, and a failing database must not be the end of it."


@pytest.fixture(scope="module")
def place():
    """The site on its own server, with short timeouts and visitors' addresses from a proxy."""
    times = {"MONGODB_SELECTION_TIMEOUT_MS": int(SELECTION * 1000), "MONGODB_TIMEOUT_MS": int(OPERATION * 1000)}
    given = {name: str(value) for name, value in times.items()}
    with running(OnOneMember, **given, BEHIND_PROXY="on") as place:
        place.content = make(place.site, Ledger())
        yield place


@pytest.fixture
def browser(place):
    return Browser(place.site.port, Ledger())


@pytest.fixture
def editor(browser, place):
    log_in(browser, place.site, lambda ask: ask())
    return browser


def style_sheet(browser):
    return re.search(r'href="(/static/[^"]+\.css)"', browser.get("/").text)[1]


def is_well(browser):
    """Return whether every worker serves requests. Almost certainly each of them is asked."""
    return all(browser.get(path).status == 200 for path in ("/readyz", "/") for _ in range(12))


def test_outage_keeps_text_and_workers_recover(place, editor):
    content, before = place.content, place.workers()
    style = style_sheet(editor)
    comment = editor.get(f"/comments/form/nodes.node/{content.discussed}").form(having="token")
    page = f"/admin/nodes/node/{content.page}/change/"
    form = editor.get(page).form("node_form")
    sent = {
        comment.action: comment.filled(text=TEXT, name=NAME, email=MAIL),
        page: form.filled(text=TEXT, _continue=""),
    }
    (member,) = place.members
    member.kill()
    try:
        for path in ("/", "/no/such/page", "/admin/"):
            answer = editor.get(path)
            assert (answer.status, answer.headers["retry-after"]) == (503, "15"), path
            assert "Back in a moment" in answer.text
            assert "site.css" in answer.text or style in answer.text
        for path, data in sent.items():
            answer = editor.post(path, data, "forms", headers={"X-Forwarded-For": ADDRESS})
            assert answer.status == 503
            (again,) = answer.forms()
            assert again.action == path
            assert dict(data).items() <= dict(again.fields).items()
            sent[path] = again.fields
        assert editor.get("/healthz").status == 200
        assert editor.get("/readyz").status == 503
        assert editor.get(style).status == 200
        slowest = max(editor.ledger.asked, key=lambda one: one.ended - one.began)
        assert slowest.ended - slowest.began < SELECTION + 2, slowest
    finally:
        member.start()
    until(lambda: is_well(editor), 30)
    for path, data in sent.items():
        assert editor.post(path, data, "forms").status == 302
    assert place.workers() == before
    assert TEXT in editor.get("/blog/discussed").text
    assert TEXT in editor.get(content.path).text


def test_hanging_database_ends_requests_and_spares_the_rest(place, browser):
    style = style_sheet(browser)
    pid, over, refused = place.primary_pid(), threading.Event(), []

    def visit(_number):
        mine = Browser(place.site.port, browser.ledger)
        while not over.is_set():
            answer = mine.get("/search?q=hanging")
            if answer.status == 503:
                refused.append(answer)
                assert answer.headers["retry-after"]
                over.wait(0.3)

    with ThreadPoolExecutor(VISITORS) as crowd:
        visits = [crowd.submit(visit, number) for number in range(VISITORS)]
        until(lambda: len(browser.ledger.asked) > VISITORS)
        os.kill(pid, signal.SIGSTOP)
        stopped = time.monotonic()
        try:
            other = Browser(place.site.port, Ledger())
            while time.monotonic() < stopped + 8:
                for path, status in (("/healthz", 200), (style, 200), ("/readyz", 503)):
                    assert other.get(path).status == status
                time.sleep(0.2)
        finally:
            os.kill(pid, signal.SIGCONT)
            over.set()
        ended = time.monotonic()
    for one in visits:
        one.result()
    # At first, requests wait a second for their turn. Then one of them checks for a second whether the database hangs.
    assert max(one.ended - one.began for one in other.ledger.asked) < 4.0
    hanging = [one for one in browser.ledger.asked if stopped < one.began and one.ended < ended]
    assert max(one.ended - one.began for one in browser.ledger.asked) < SELECTION + OPERATION + 3
    assert sum(one.ended - one.began < 0.5 for one in hanging) > len(hanging) / 2
    assert len(refused) > VISITORS
    until(lambda: is_well(browser), 20)


def begun_upload(place, editor, seed):
    """Send most of a picture until the site reads it. Return the connection and the rest."""
    body, kind = multipart([("alt", "Noise")], {"files": (f"{seed}.png", png(seed))})
    headers = {"Content-Type": kind, "X-CSRFToken": editor.cookies["csrftoken"], "Accept": "application/json"}
    path = f"/admin/nodes/photo/upload/{place.content.gallery}/"
    connection, before = socket.create_connection(("127.0.0.1", place.site.port), timeout=60), uploads(place)
    connection.sendall(editor.head("POST", path, len(body), headers) + body[:-REST])
    until(lambda: uploads(place) > before)
    return connection, body[-REST:]


def uploads(place):
    """Return how many uploads the site is receiving."""
    with MongoClient(place.uri) as client:
        return client.marginalia["cms.assets.files"].count_documents({"metadata.locked": {"$ne": None}})


def test_stop_waits_only_for_uploads_that_progress():
    with running(OnOneMember) as place:
        place.content = make(place.site, Ledger())
        editor = Browser(place.site.port, Ledger())
        log_in(editor, place.site, lambda ask: ask())
        coming, rest = begun_upload(place, editor, 1)
        silent, _rest = begun_upload(place, editor, 2)
        began = time.monotonic()
        place.site.run.send_signal(signal.SIGTERM)
        time.sleep(2)
        coming.sendall(rest)
        answer = b"".join(iter(lambda: coming.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 200")
        assert place.site.run.wait(40) == 0
        assert time.monotonic() - began < 25
        silent.close()
        with MongoClient(place.uri) as client:
            db = client.marginalia
            stored = db["cms.assets.files"].find_one({"filename": "1.png"})
            chunks = db["cms.assets.chunks"].find({"files_id": stored["_id"]}).sort("n", 1)
            assert shows(b"".join(chunk["data"] for chunk in chunks), 1)
            assert (
                db["cms.assets.files"].count_documents({"filename": "2.png", "metadata.content_id": {"$ne": None}}) == 0
            )


def test_logs_state_the_cause_and_no_personal_data(place, browser):
    """Reads the logs of the tests above.

    They contain an outage, a hang and an interrupted upload, a name and two addresses.
    """
    # A worker logs this at its next request, and on a busy machine the other worker may have served all.
    until(lambda: is_well(browser) and "The database responds again" in place.site.output.read_text(), 30)
    lines = place.site.output.read_text().splitlines()
    logged = [line for line in lines if re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ [A-Z]+ ", line)]
    requests = {match[1]: int(match[2]) for line in logged if (match := REQUEST.search(line))}
    failed = {id for id, status in requests.items() if status >= 500}
    errors = Counter(line.split()[4] for line in logged if " ERROR " in line)
    assert failed
    refused_at_the_gate = {id for id in failed if errors[id] == 0}
    assert all(errors[id] == 1 for id in failed - refused_at_the_gate)
    assert failed - refused_at_the_gate
    for line in logged:
        if " ERROR " in line and line.split()[4] in failed:
            assert re.search(r" ⏎ \w+(Error|Timeout|Reconnect|Failure): ", line)
    assert any("The database doesn't respond" in line for line in logged)
    assert not [line for line in lines if line.startswith(("Traceback", '  File "'))]
    texts = [place.site.output.read_text(), *(p.read_text() for p in (place.site.var / "log").glob("*.log"))]
    for text in texts:
        for personal in (MAIL, MAIL.partition("@")[0], ADDRESS, NAME, TEXT):
            assert personal not in text


REQUEST = re.compile(r" cms\.requests ([0-9a-f]{16}) [A-Z]+ \S+ (\d{3}) \d+ ms$")
