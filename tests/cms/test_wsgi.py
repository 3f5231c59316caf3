"""Requests before any code of the site: content types, bodies and HEAD."""

import encodings

import pytest
from django.test import RequestFactory

from cms import wsgi

BODY = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\xc3\xa4\r\n--b--\r\n'


def status_of(kind, query=""):
    environ = RequestFactory()._base_environ(
        CONTENT_TYPE=kind, QUERY_STRING=query, PATH_INFO="/log-in", HTTP_HOST="localhost"
    )
    statuses = []
    wsgi.application(environ, lambda status, headers, *_rest: statuses.append(status))
    return int(statuses[0][:3])


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain; a*=nope''x",
        "text/plain; a*=x; a*0=y",
        "text/plain; charset=hex",
        "text/plain; charset=zq-nowhere",
        ";",
        "",
    ],
)
def test_any_content_type_parameter_is_handled(mongo, kind):
    assert status_of(kind, "a=1") == 200
    assert "zq_nowhere" not in encodings._cache


@pytest.mark.parametrize(
    "kind", ["multipart/form-data; boundary=b", 'Multipart/Form-Data; charset=utf-16; boundary="b"; x=y']
)
def test_form_with_files_keeps_its_boundary(monkeypatch, kind):
    seen = []
    monkeypatch.setattr(wsgi, "django", lambda environ, start_response: seen.append(environ) or [])
    request = RequestFactory()
    wsgi.application(
        request._base_environ(CONTENT_TYPE=kind, CONTENT_LENGTH=str(len(BODY)), REQUEST_METHOD="POST"), lambda *_: None
    )
    posted = request.generic("POST", "/", BODY, content_type=seen[0]["CONTENT_TYPE"])
    assert posted.POST["a"] == "ä"


class Body(list):
    closed = False

    def close(self):
        self.closed = True


@pytest.mark.parametrize(("method", "sent"), [("GET", [b"a body"]), ("HEAD", [])])
def test_head_response_has_no_body(monkeypatch, method, sent):
    body = Body([b"a body"])
    monkeypatch.setattr(wsgi, "django", lambda environ, start_response: body)
    answer = wsgi.application(RequestFactory()._base_environ(REQUEST_METHOD=method), lambda *_: None)
    assert (list(answer), body.closed) == (sent, method == "HEAD")
