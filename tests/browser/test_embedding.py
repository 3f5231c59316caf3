"""A discussion on a page of another origin, under a strict Content-Security-Policy and without cookies."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.core.management import call_command
from playwright.sync_api import expect

from api.models import EmbeddedPage
from cms.requests.comment_flood import RETRY_AFTER
from cms.requests.heavy import Slots
from marginalia.comments.posting import services
from marginalia.comments.reading import selectors
from marginalia.comments.targets import target_for
from marginalia.comments.types import CommentAuthor
from tests.browser import embedding
from tests.browser.axe import RUN
from tests.browser.embedding import OtherSite, post, write
from tests.browser.people import PHONE
from tests.support.sign_on import SECRET, token


@pytest.fixture
def other(mongo, rules, settings, server) -> Iterator[OtherSite]:
    """Another site whose origin is registered."""
    with embedding.serve(server) as site:
        settings.EMBED = {"ORIGINS": [site.url], "KEYS": [f"HS256:{SECRET}"]}
        yield site


def stored() -> list[str]:
    return [comment.source for comment in selectors.iterate(target_for(EmbeddedPage.objects.get()))]


def test_script_is_small():
    path = finders.find("embed/embed.js")
    assert path
    assert len(gzip.compress(Path(path).read_bytes(), 9)) <= 15_000


def test_comment_is_sent_again_while_the_site_is_busy(browsing, other, monkeypatch):
    page = browsing()
    page.expected.append("503")
    page.goto(f"{other.url}/posts/7/")
    write(page, "I can wait")
    page.clock.install()
    with monkeypatch.context() as full:
        full.setattr(Slots, "enter", lambda self: False)
        page.get_by_role("button", name="Post").click()
        expect(page.get_by_role("alert")).to_have_text(
            "The site is busy. Your comment will be sent again in a few seconds."
        )
    assert not EmbeddedPage.objects.exists()
    page.clock.fast_forward(2_000 * RETRY_AFTER)
    expect(page.locator(".comment:focus")).to_contain_text("I can wait")
    assert stored() == ["I can wait"]


def test_reader_previews_posts_replies_and_edits(browsing, other):
    page = browsing()
    page.goto(f"{other.url}/posts/7/")
    write(page, "I *agree*")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator(".preview em")).to_have_text("agree")
    assert not EmbeddedPage.objects.exists()
    page.get_by_role("button", name="Post").click()
    expect(page.locator(".comment:focus em")).to_have_text("agree")
    expect(page.get_by_role("heading", name="1 comment")).to_be_visible()
    page.get_by_role("button", name="Reply to Ann").click()
    page.get_by_role("form", name="Reply to Ann").get_by_label("Name").fill("Bea")
    page.get_by_role("form", name="Reply to Ann").get_by_label("Comment").fill("So do I")
    page.get_by_role("form", name="Reply to Ann").get_by_role("button", name="Post").click()
    expect(page.locator(".replies .comment:focus")).to_contain_text("in reply to Ann")
    page.get_by_role("button", name="Edit: Bea").click()
    expect(page.get_by_role("form", name="Edit").get_by_label("Comment")).to_have_value("So do I")
    page.get_by_role("form", name="Edit").get_by_label("Comment").fill("So do we")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".replies .comment:focus")).to_contain_text("So do we")
    assert stored() == ["I *agree*", "So do we"]
    assert page.context.cookies() == []
    page.reload()
    expect(page.locator("[data-marginalia-count]").first).to_have_text("2")
    expect(page.locator("[data-marginalia-count]").last).to_have_text("0")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete: Bea").click()
    expect(page.get_by_role("heading", name="1 comment")).to_be_focused()
    stranger = browsing()
    stranger.goto(f"{other.url}/posts/7/")
    expect(stranger.get_by_role("button", name="Reply to Ann")).to_be_visible()
    expect(stranger.get_by_role("button", name="Edit")).to_have_count(0)


def test_page_that_requires_trusted_types_shows_comments(browsing, other):
    other.policy += "; require-trusted-types-for 'script'; trusted-types marginalia-comments"
    page = browsing()
    page.goto(f"{other.url}/posts/7/")
    write(page, "I *agree*")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator(".preview em")).to_have_text("agree")
    page.get_by_role("button", name="Post").click()
    expect(page.locator(".comment:focus em")).to_have_text("agree")
    page.reload()
    expect(page.locator(".comment em")).to_have_text("agree")


@pytest.mark.slow
def test_page_that_loads_the_script_twice_has_one_working_discussion(browsing, other):
    page = browsing()
    page.goto(f"{other.url}/posts/7/")
    post(page, "The first")
    page.evaluate("""() => {
        const old = document.querySelector("script[src*=embed]");
        const again = document.createElement("script");
        again.src = old.src;
        old.after(again);
        document.querySelector("marginalia-comments").replaceWith(document.createElement("marginalia-comments"));
        document.querySelector("[data-marginalia-count]").textContent = "";
    }""")
    expect(page.locator("[data-marginalia-count]").first).to_have_text("1")
    expect(page.get_by_text("The first")).to_have_count(1)
    post(page, "The second", name="")


def test_refused_comment_keeps_its_text(browsing, other):
    page = browsing()
    page.expected.append("422")
    page.expected.append("403")
    page.goto(f"{other.url}/posts/7/")
    write(page, "Typed with love", name=" ")
    page.get_by_role("button", name="Post").click()
    expect(page.get_by_label("Name")).to_be_focused()
    expect(page.get_by_label("Name")).to_have_accessible_description("Enter your name.")
    post(page, "Typed with love")
    services.close(target_for(EmbeddedPage.objects.get()))
    expect(page.get_by_label("Name")).to_have_value("Ann")
    write(page, "Typed again", name="")
    page.get_by_role("button", name="Post").click()
    expect(page.get_by_role("alert")).to_contain_text("closed")
    expect(page.get_by_label("Comment", exact=True)).to_have_value("Typed again")
    services.open(target_for(EmbeddedPage.objects.get()))
    page.reload()
    expect(page.get_by_label("Comment", exact=True)).to_have_value("Typed again")
    assert stored() == ["Typed with love"]


@pytest.mark.slow
def test_permalink_leads_to_the_comment(browsing, other, server, rules):
    rules(PAGE_SIZE=5)
    page = browsing()
    page.goto(f"{other.url}/posts/7/")
    post(page, "The first")
    target = target_for(EmbeddedPage.objects.get())
    for number in range(12):
        services.post(target, author=CommentAuthor("Bea"), source=f"Number {number}", token=f"t{number}")
    page.reload()
    page.get_by_role("button", name="More comments").click()
    expect(page.get_by_text("Number 8")).to_be_visible()
    link = page.locator(".comment", has_text="Number 8").get_by_role("link")
    link.click()
    expect(page.locator(".comment:focus")).to_contain_text("Number 8")
    assert page.url.startswith(f"{other.url}/posts/7/?comments=threaded.at.")


def test_old_permalink_leads_to_the_imported_comment(browsing, other, rules, tmp_path):
    rules(PAGE_SIZE=5)
    rows = [
        {"id": n, "url": f"{other.url}/posts/7/", "posted": n, "text": f"Number {n}", "anchor": f"comment-{n}"}
        for n in range(12)
    ]
    export = tmp_path / "comments.jsonl"
    export.write_text("\n".join(map(json.dumps, rows)))
    call_command("import_comments", export, "--from", "json-lines")
    for place in ("#comment-8", "?comment=8"):
        page = browsing()
        page.goto(f"{other.url}/posts/7/{place}")
        expect(page.locator(".comment:focus")).to_contain_text("Number 8")


def test_unregistered_site_shows_an_error(browsing, other, settings):
    settings.EMBED = {"ORIGINS": [], "KEYS": []}
    page = browsing()
    page.expected += ["CORS", "ERR_FAILED"]
    page.goto(f"{other.url}/posts/7/")
    expect(page.get_by_text("Comments can't be loaded.")).to_be_visible()


def test_canonical_url_on_another_site_shows_which_setting_to_change(browsing, other):
    other.attributes = ' page-url="https://not-registered.example/posts/7/"'
    page = browsing()
    page.expected.append("422")
    page.goto(f"{other.url}/posts/7/")
    expect(page.get_by_text("This page's site can't embed comments. Add its origin to EMBED_ORIGINS.")).to_be_visible()


def test_moderator_signed_on_by_the_other_site_approves_and_deletes(browsing, other, rules):
    rules(MODE="hold-all")
    reader = browsing()
    reader.goto(f"{other.url}/posts/7/")
    post(reader, "Please let me in")
    expect(reader.get_by_text("waiting for approval").first).to_be_visible()
    picture = f"{other.url}/mona.svg"
    other.html["/mona.svg"] = '<svg xmlns="http://www.w3.org/2000/svg"/>'
    other.attributes = f' token="{token(sub="7", name="Mona", moderator=True, picture=picture)}"'
    moderator = browsing()
    moderator.goto(f"{other.url}/posts/7/")
    moderator.get_by_role("button", name="Approve: Ann").click()
    expect(moderator.get_by_role("button", name="Reply to Ann")).to_be_visible()
    expect(moderator.get_by_label("Name")).to_have_count(0)
    expect(moderator.get_by_text("You're commenting as Mona.")).to_be_visible()
    post(moderator, "Welcome", name="")
    expect(moderator.locator(".comment:focus")).to_contain_text("Mona")
    expect(moderator.locator(".comment:focus .badge")).to_have_text("Moderator")
    expect(moderator.locator(".comment:focus .picture")).to_have_attribute("src", picture)
    moderator.once("dialog", lambda dialog: dialog.accept())
    moderator.get_by_role("button", name="Hide: Ann").click()
    expect(moderator.get_by_text("Please let me in")).to_have_count(0)
    expect(moderator.get_by_text("This comment was removed.")).to_have_count(0)
    assert moderator.context.cookies() == []
    other.attributes = f' token="{token(sub="7", name="Mona", exp=1)}"'
    expired = browsing()
    expired.expected.append("401")
    expired.goto(f"{other.url}/posts/7/")
    expect(expired.get_by_text("Your login has expired.")).to_be_visible()
    expect(expired.get_by_label("Name")).to_be_visible()


@pytest.mark.slow
def test_removed_comment_is_shown_above_its_replies(browsing, other, rules):
    rules(MODE="open")
    other.attributes = f' token="{token(sub="7", name="Mona", moderator=True)}"'
    page = browsing()
    page.goto(f"{other.url}/posts/7/")
    post(page, "The question", name="")
    page.get_by_role("button", name="Reply to Mona").click()
    form = page.get_by_role("form", name="Reply to Mona")
    expect(form.get_by_role("heading", name="Reply to Mona")).to_be_visible()
    form.get_by_label("Comment").fill("The answer")
    form.get_by_role("button", name="Post").click()
    expect(page.locator(".comment:focus")).to_contain_text("The answer")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Hide: Mona").first.click()
    expect(page.locator(".removed", has_text="This comment was removed.")).to_contain_text("The answer")


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_discussion_is_accessible(browsing, other, axe, direction):
    other.direction = direction
    page = browsing(bypass_csp=True, viewport=PHONE)
    # axe-core reads the style sheet with a request that the static files of the test server don't allow.
    page.expected += ["422", "embed.css", "preload assets"]
    page.goto(f"{other.url}/posts/7/")
    post(page, "The first")
    post(page, "Another")
    page.get_by_role("button", name="Reply to Ann").first.click()
    page.get_by_role("form", name="Reply to Ann").get_by_role("button", name="Post").click()
    expect(page.get_by_text("Enter a comment.")).to_be_visible()
    page.evaluate(axe)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert page.evaluate(RUN) == []


@pytest.mark.slow
def test_guest_likes_a_comment_and_takes_it_back(browsing, other, rules):
    rules(LIKES=True)
    page = browsing()
    page.goto(f"{other.url}/posts/7/")
    post(page, "Good")
    button = page.get_by_role("button", name="Like")
    for name, pressed in (("Like 1", "true"), ("Like", "false"), ("Like 1", "true")):
        button.press("Enter")
        expect(button).to_have_attribute("aria-pressed", pressed)
        expect(button).to_have_text(name)
    page.reload()
    expect(button).to_have_attribute("aria-pressed", "true")
    assert page.context.cookies() == []
    assert list(selectors.likes(target_for(EmbeddedPage.objects.get())).values()) == [1]
