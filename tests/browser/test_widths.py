"""No admin page is wider than its window, however long the words that users typed."""

import pytest

from api.rights import tokens
from api.rights.scopes import Scope
from marginalia.comments.posting import flags, services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, Verdict
from marginalia.mongo.connection import database
from tests.browser import admin_pages, pages
from tests.support.nodes.content import Chapter, Handbook, registered

WORD = "Donaudampfschifffahrt" * 9
# Elements that extend beyond the window, except inside a scrolling box.
WIDER = """() => {
  const end = document.documentElement.clientWidth;
  const scrolls = (element) => element && element !== document.body
    && (getComputedStyle(element).overflowX !== "visible" || scrolls(element.parentElement));
  return [...document.body.querySelectorAll("*")]
    .filter((one) => one.checkVisibility() && one.getBoundingClientRect().right > end + 1 && !scrolls(one.parentElement))
    .map((one) => `${one.localName}#${one.id}.${one.className}`.slice(0, 80));
}"""


def lengthen(site: pages.Site, ann) -> None:
    """Put a word that fits on no line into every text."""
    for name in ("cms.nodes", "cms.revisions", "cms.trash", "cms.assets.files"):
        database()[name].update_many({}, {"$set": {"metadata.title": WORD, "metadata.tags": [WORD]}})
    database()["jobs"].update_many({}, {"$set": {"error": WORD}})
    written = {"author": CommentAuthor(WORD[:80]), "source": f"{WORD} and\n\n```\n{WORD}\n```"}
    for verdict in Verdict:
        held = services.hold(site.target, **written, token=f"long-{verdict.value}", reasons=[WORD]).held
        database()["comments.pending"].update_one({"_id": held.id}, {"$set": {"verdict": verdict.value}})
    services.post(site.target, **written, token="long")
    flags.flag(selectors.recent(1)[0], "ip_hash:y")
    tokens.create(ann, WORD[:80], (Scope.READ,))
    ann.first_name = ann.last_name = WORD[:150]
    ann.save()


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1440])
def test_no_admin_page_is_wider_than_its_window(browsing, account, group, rules, width):
    site, ann = pages.build(), account("ann")
    group(WORD[:150])
    page = browsing(ann, viewport={"width": width, "height": 900})
    with registered(Handbook, Chapter):
        admin_pages.prepare(site)
        lengthen(site, ann)
        wider = {}
        for name, go in admin_pages.ADMIN.items():
            go(page, site)
            wider[name] = page.evaluate(WIDER)[:5]
    assert "\n".join(f"{name}: {found}" for name, found in wider.items() if found) == ""
