"""Requests for a file of 1,000 bytes, and their responses by RFC 9110."""

from datetime import UTC, datetime

import pytest

from photos.assets.responses import FOR_EVER, NO_STORE, File, FileRequest, plan_response

FILE = File(1000, "abc", datetime(2024, 5, 31, 18, 30, 0, 500_000, tzinfo=UTC), "image/jpeg", "lake.jpg")
DATE, EARLIER, LATER = (f"Fri, 31 May 2024 18:{minute}:00 GMT" for minute in (30, 29, 31))

# Method, headers, status, bytes "first-last" of the body ("" for none), Content-Range, Content-Length.
TABLE = [
    ("GET", {}, 200, "0-999", None, "1000"),
    ("HEAD", {}, 200, "", None, "1000"),
    # 14.1.2: first and last, open end, suffix.
    ("GET", {"range": "bytes=0-99"}, 206, "0-99", "bytes 0-99/1000", "100"),
    ("GET", {"range": "bytes=0-0"}, 206, "0-0", "bytes 0-0/1000", "1"),
    ("GET", {"range": "bytes=900-"}, 206, "900-999", "bytes 900-999/1000", "100"),
    ("GET", {"range": "bytes=0-"}, 206, "0-999", "bytes 0-999/1000", "1000"),
    ("GET", {"range": "bytes=999-999"}, 206, "999-999", "bytes 999-999/1000", "1"),
    ("GET", {"range": "bytes=900-2000"}, 206, "900-999", "bytes 900-999/1000", "100"),
    ("GET", {"range": "bytes=-100"}, 206, "900-999", "bytes 900-999/1000", "100"),
    ("GET", {"range": "bytes=-2000"}, 206, "0-999", "bytes 0-999/1000", "1000"),
    ("GET", {"range": "BYTES=1-2"}, 206, "1-2", "bytes 1-2/1000", "2"),
    # 15.5.17: the range is outside of the file.
    ("GET", {"range": "bytes=1000-"}, 416, "", "bytes */1000", "0"),
    ("GET", {"range": "bytes=1000-1001"}, 416, "", "bytes */1000", "0"),
    ("GET", {"range": "bytes=-0"}, 416, "", "bytes */1000", "0"),
    # 14.2: an invalid range, other units and several ranges can be ignored.
    ("GET", {"range": "bytes=5-4"}, 200, "0-999", None, "1000"),
    ("GET", {"range": "bytes=a-b"}, 200, "0-999", None, "1000"),
    ("GET", {"range": "bytes=-"}, 200, "0-999", None, "1000"),
    ("GET", {"range": "bytes=" + "9" * 5000 + "-"}, 200, "0-999", None, "1000"),
    ("GET", {"range": "lines=0-1"}, 200, "0-999", None, "1000"),
    ("GET", {"range": "bytes=0-1,5-6"}, 200, "0-999", None, "1000"),
    ("GET", {"range": "bytes=٠-٣"}, 200, "0-999", None, "1000"),
    # 14.2: only GET has ranges.
    ("HEAD", {"range": "bytes=0-99"}, 200, "", None, "1000"),
    ("HEAD", {"range": "bytes=2000-"}, 200, "", None, "1000"),
    # 13.1.5: If-Range compares strongly, a date exactly.
    ("GET", {"range": "bytes=0-99", "if-range": '"abc"'}, 206, "0-99", "bytes 0-99/1000", "100"),
    ("GET", {"range": "bytes=0-99", "if-range": '"other"'}, 200, "0-999", None, "1000"),
    ("GET", {"range": "bytes=0-99", "if-range": 'W/"abc"'}, 200, "0-999", None, "1000"),
    ("GET", {"range": "bytes=0-99", "if-range": DATE}, 206, "0-99", "bytes 0-99/1000", "100"),
    ("GET", {"range": "bytes=0-99", "if-range": LATER}, 200, "0-999", None, "1000"),
    ("GET", {"range": "bytes=0-99", "if-range": "yesterday"}, 200, "0-999", None, "1000"),
    ("GET", {"range": "bytes=2000-", "if-range": '"other"'}, 200, "0-999", None, "1000"),
    ("GET", {"if-range": '"abc"'}, 200, "0-999", None, "1000"),
    # 13.1.2: If-None-Match compares weakly.
    ("GET", {"if-none-match": '"abc"'}, 304, "", None, None),
    ("GET", {"if-none-match": 'W/"abc"'}, 304, "", None, None),
    ("GET", {"if-none-match": '"x", "abc"'}, 304, "", None, None),
    ("GET", {"if-none-match": '"a,b" , W/"abc"'}, 304, "", None, None),
    ("GET", {"if-none-match": "*"}, 304, "", None, None),
    ("HEAD", {"if-none-match": '"abc"'}, 304, "", None, None),
    ("GET", {"if-none-match": '"x"'}, 200, "0-999", None, "1000"),
    ("GET", {"if-none-match": "abc"}, 200, "0-999", None, "1000"),
    ("GET", {"if-none-match": '"abc"', "range": "bytes=0-99"}, 304, "", None, None),
    ("GET", {"if-none-match": '"x"', "range": "bytes=0-99"}, 206, "0-99", "bytes 0-99/1000", "100"),
    # 13.1.3: If-Modified-Since is ignored with If-None-Match.
    ("GET", {"if-modified-since": DATE}, 304, "", None, None),
    ("GET", {"if-modified-since": LATER}, 304, "", None, None),
    ("GET", {"if-modified-since": EARLIER}, 200, "0-999", None, "1000"),
    ("GET", {"if-modified-since": "yesterday"}, 200, "0-999", None, "1000"),
    ("GET", {"if-modified-since": "Mon, 01 Jan 2020 00:00:00 +" + "9" * 20}, 200, "0-999", None, "1000"),
    ("GET", {"if-modified-since": f"Mon, 01 Jan {'9' * 20} 00:00:00 GMT"}, 200, "0-999", None, "1000"),
    ("GET", {"if-modified-since": "Mon, 01 Jan 0001 00:00:00 +2359"}, 200, "0-999", None, "1000"),
    ("GET", {"if-modified-since": LATER, "if-none-match": '"x"'}, 200, "0-999", None, "1000"),
    # 13.1.1 and 13.1.4: If-Match compares strongly, and If-Unmodified-Since is ignored with it.
    ("GET", {"if-match": '"abc"'}, 200, "0-999", None, "1000"),
    ("GET", {"if-match": "*"}, 200, "0-999", None, "1000"),
    ("GET", {"if-match": 'W/"abc"'}, 412, "", None, None),
    ("GET", {"if-match": '"x"'}, 412, "", None, None),
    ("GET", {"if-match": '"x"', "range": "bytes=0-99"}, 412, "", None, None),
    ("GET", {"if-unmodified-since": EARLIER}, 412, "", None, None),
    ("GET", {"if-unmodified-since": DATE}, 200, "0-999", None, "1000"),
    ("GET", {"if-unmodified-since": EARLIER, "if-match": '"abc"'}, 200, "0-999", None, "1000"),
    ("GET", {"if-match": '"abc"', "if-none-match": '"abc"'}, 304, "", None, None),
]


@pytest.mark.parametrize(("method", "headers", "status", "body", "content_range", "length"), TABLE)
def test_request_headers_are_parsed(method, headers, status, body, content_range, length):
    given = plan_response(FileRequest(method, headers), FILE)
    assert given.status == status
    assert (f"{given.start}-{given.stop - 1}" if given.stop > given.start else "") == body
    assert given.headers.get("Content-Range") == content_range
    assert given.headers.get("Content-Length") == length
    assert given.headers["ETag"] == '"abc"'
    assert given.headers["Cache-Control"] == FOR_EVER
    assert ("Content-Type" in given.headers) == (status in (200, 206))


def test_responses_never_run_and_are_not_sniffed():
    headers = plan_response(FileRequest("GET"), FILE).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert headers["Content-Disposition"] == 'inline; filename="lake.jpg"'


def test_hidden_photo_is_not_cached():
    assert plan_response(FileRequest("GET"), FILE, cache=NO_STORE).headers["Cache-Control"] == "private, no-store"


@pytest.mark.parametrize(
    ("name", "disposition"),
    [
        ("lake.jpg", 'attachment; filename="lake.jpg"'),
        ("湖.jpg", "attachment; filename=\"_.jpg\"; filename*=UTF-8''%E6%B9%96.jpg"),
        ('a"\r\nX: y.jpg', "attachment; filename=\"a___X: y.jpg\"; filename*=UTF-8''a%22%0D%0AX%3A%20y.jpg"),
    ],
)
def test_download_names_are_quoted(name, disposition):
    file = File(1, "abc", FILE.modified, "image/jpeg", name)
    assert plan_response(FileRequest("GET"), file, download=True).headers["Content-Disposition"] == disposition
