"""The web server as `manage.py serve` starts it, asked over real sockets."""

import re
from collections.abc import Iterator

import pytest

from tests.nodes.build import node
from tests.running import Web, served


@pytest.fixture(scope="module")
def web(tmp_path_factory, django_db_setup) -> Iterator[Web]:
    with served(tmp_path_factory.mktemp("web")) as web:
        yield web


@pytest.mark.parametrize("name", ["SCRIPT_NAME", "PATH_INFO", "Script-Name", "X-Forwarded-Prefix"])
@pytest.mark.parametrize("value", ["/gone", "/page", "/nothing", "//evil.example", "gone", "/\xff"])
def test_no_header_moves_the_site_to_another_path(web, mongo, name, value):
    node(title="Ours")
    for path in ("/page", "/", "/feed/atom", "/sitemap.xml"):
        for headers in ({name: value}, {}):
            status, _headers, body = web.get(path, **headers)
            assert status == 200, (path, headers)
            addresses = re.findall(r'(?:href="|<loc>|<id>)(?:http://localhost:\d+)?(/[^"<]*)', body.decode())
            assert addresses, path
            assert not [one for one in addresses if one.startswith((f"{value}/", "/gone", "//"))], (path, headers)


@pytest.mark.parametrize("value", ["https", "gopher"])
def test_no_header_says_that_the_connection_was_protected(web, mongo, value):
    node()
    _status, _headers, body = web.get("/page", **{"X-Forwarded-Proto": value, "X-Forwarded-Ssl": "on"})
    assert b"https://localhost" not in body
