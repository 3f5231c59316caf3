"""Every URL reachable from the front page of the demo responds, and no link is broken."""

from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest
from django.contrib.staticfiles import finders

from cms.demo import loading
from marginalia.mongo.clock import now

ORIGIN = "http://testserver"
MOST = 800


class Links(HTMLParser):
    """A parser that collects the URLs and ids of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.page, self.links, self.ids = page, set(), set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            to_read = tag != "form" or dict(attrs).get("method", "get") == "get"
            if name in ("href", "src", "action") and value is not None and to_read:
                self.links.add(urljoin(self.page, value))
            if name == "id":
                assert value not in self.ids, f"two elements {value} on {self.page}"
                self.ids.add(value)


@pytest.mark.slow
def test_every_url_of_the_demo_responds(client, mongo):
    loading.load(now(), lambda: None)
    pending, found_on, ids = [f"{ORIGIN}/", f"{ORIGIN}/sitemap.xml", f"{ORIGIN}/robots.txt"], {}, {}
    wanted: list[tuple[str, str, str]] = []
    seen: set[str] = set(pending)
    while pending:
        address = pending.pop(0)
        answer = client.get(address.removeprefix(ORIGIN))
        assert answer.status_code in (200, 301, 302), (
            f"{answer.status_code}: {address}, linked from {found_on.get(address)}"
        )
        if answer.status_code != 200:
            assert found_on.get(address, "").find("/admin") < 0
            continue
        if not answer["Content-Type"].startswith("text/html"):
            continue
        links = Links(address)
        links.feed(answer.content.decode())
        ids[address] = links.ids
        for link in links.links:
            target, fragment = urldefrag(link)
            if not target.startswith(ORIGIN):
                continue
            if urlsplit(target).path.startswith("/static/"):
                assert finders.find(urlsplit(target).path.removeprefix("/static/")), f"{target} on {address}"
                continue
            if fragment:
                wanted.append((address, target, fragment))
            if target not in seen and "/admin/" not in target:
                seen.add(target)
                found_on[target] = address
                pending.append(target)
        assert len(seen) < MOST, sorted(seen)[:MOST:20]
    assert len(seen) > 80
    missing = [(page, link, part) for page, link, part in wanted if link in ids and part not in ids[link]]
    assert missing == []
