"""The moderation queue by keyboard, with and without JavaScript."""

import re
from collections import Counter

import pytest
from django.contrib.auth.models import Permission
from playwright.sync_api import expect

from cms.testing.build import node
from marginalia.comments.moderation import pending
from marginalia.comments.posting import ip_hash, services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, Target, Verdict
from tests.browser.clicks import Counting
from tests.support.comments import site


@pytest.fixture
def target(mongo, rules) -> Target:
    return site.entry()


def moderator_of_two_hundred(account, target):
    """A user with only permission to moderate, and two hundred held comments."""
    for n in range(200):
        services.hold(target, author=CommentAuthor(f"A{n}"), source=f"Held {n}", token=f"h{n}")
    mona = account("mona", groups=["nobody"])
    mona.user_permissions.add(Permission.objects.get(codename="can_moderate"))
    return mona


@pytest.mark.slow
def test_queue_of_200_is_moderated_by_keyboard(browsing, account, target):
    page = browsing(moderator_of_two_hundred(account, target))
    page.goto("/admin/marginalia_comments/moderation/")
    for n in range(200):
        expect(page.locator(".comments-case").first).to_be_focused()
        expect(page.locator(".comments-case").first).to_contain_text(f"Held {n}")
        with page.expect_navigation():
            page.keyboard.press("ars"[n % 3])
    assert pending.counts()["waiting"] == 0
    assert selectors.count(target) == 67
    expect(page.get_by_text("No comments are pending")).to_be_visible()


FOCUSED = "document.activeElement.matches('{}')"


@pytest.mark.slow
def test_queue_of_200_is_moderated_without_scripts(browsing, account, target):
    """Tab, space and Enter are enough: select all comments on a page, and press a button."""
    page = browsing(moderator_of_two_hundred(account, target), java_script_enabled=False)
    page.goto("/admin/marginalia_comments/moderation/")

    def press_until(key, selector):
        for _ in range(200):
            page.keyboard.press(key)
            if page.evaluate(FOCUSED.format(selector)):
                return
        pytest.fail(f"{selector} is not reached by {key}")

    approved = turn = 0
    while shown := page.locator(".comments-case").count():
        for _ in range(shown):
            press_until("Tab", "[name=chosen]")
            page.keyboard.press("Space")
        action = ("approve", "reject", "spam")[turn % 3]
        press_until("Shift+Tab", f"button[value={action}]")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        approved += shown if action == "approve" else 0
        turn += 1
    assert pending.counts()["waiting"] == 0
    assert selectors.count(target) == approved > 0
    expect(page.get_by_text("No comments are pending")).to_be_visible()


@pytest.mark.slow
def test_key_after_a_skipped_comment_decides_the_next_one(browsing, account, target):
    held = [services.hold(target, author=CommentAuthor("A"), source=f"Held {n}", token=f"h{n}").held for n in range(4)]
    page = browsing(account("mona", groups=[]))
    page.goto(f"/admin/marginalia_comments/moderation/#held-{held[1].id}")
    for n in (1, 2, 3):
        expect(page.locator(f"#held-{held[n].id}")).to_be_focused()
        with page.expect_navigation():
            page.keyboard.press("r")
    page.keyboard.press("r")
    expect(page.locator(".comments-case:focus")).to_have_count(0)
    expect(page.locator(".comments-case")).to_have_text(re.compile("Held 0"))
    verdicts = [selectors.get_held(each.id).verdict for each in held]
    assert verdicts == [Verdict.WAITING, Verdict.REJECTED, Verdict.REJECTED, Verdict.REJECTED]
    page.keyboard.press("j")
    with page.expect_navigation():
        page.keyboard.press("r")
    assert selectors.get_held(held[0].id).verdict is Verdict.REJECTED


def test_moderator_decides_by_keyboard_and_undoes(browsing, account, target):
    held = [services.hold(target, author=CommentAuthor("A"), source=f"Held {n}", token=f"h{n}").held for n in range(4)]
    mona = account("mona", groups=["nobody"])
    mona.user_permissions.add(Permission.objects.get(codename="can_moderate"))
    page = browsing(mona)
    page.goto("/admin/marginalia_comments/moderation/")
    page.locator("[data-all]").focus()
    for key in "xars":
        page.keyboard.press(key)
    expect(page.locator("[name=chosen]:checked")).to_have_count(0)
    page.keyboard.press("j")
    page.keyboard.press("j")
    with page.expect_navigation():
        page.keyboard.press("s")
    assert selectors.get_held(held[1].id).verdict is Verdict.SPAM
    expect(page.get_by_text("1 comment was marked as spam.")).to_be_in_viewport()
    with page.expect_navigation():
        page.keyboard.press("u")
    assert selectors.get_held(held[1].id).verdict is Verdict.WAITING
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.get_by_role("button", name="Approve selected").click()
    expect(page.get_by_text("2 comments were published.")).to_be_visible()
    assert selectors.count(target) == 2


@pytest.mark.slow
def test_spam_wave_is_hidden_and_undone_from_the_queue(browsing, account, target):
    """A moderator clears similar comments, published and pending, and keeps the honest ones among them."""
    spam = "Win one million dollars in our shiny casino, number {}, at http://casino.example/{}"
    for n in range(20):
        store = services.post if n % 2 else services.hold
        store(target, author=CommentAuthor(f"A{n}"), source=spam.format(n, n), token=f"s{n}")
    services.hold(target, author=CommentAuthor("Ann"), source="An honest question", token="q")
    services.post(target, author=CommentAuthor("Bob"), source="An honest answer", token="a")
    page = browsing(account("mona", groups=[]))
    page.goto("/admin/marginalia_comments/moderation/")
    page.get_by_role("link", name="All like this…").first.click()
    expect(page.get_by_text("20 comments").first).to_be_visible()
    page.get_by_role("button", name="Mark 20 comments as spam").first.click()
    expect(page.get_by_role("status")).to_contain_text("20 comments were marked as spam.")
    assert [comment.source for comment in selectors.iterate(target) if not comment.removed] == ["An honest answer"]
    assert [held.source for held in selectors.held()] == ["An honest question"]
    page.keyboard.press("u")
    expect(page.get_by_role("status")).to_contain_text("Undone: 20 comments are as they were before.")
    assert selectors.count(target) == 11
    assert len(selectors.held()) == 11


CASINO = "Hello from {}! Bonus number {} is ready at https://play.casino.example/{}"
PILLS = "Cheap pills without a prescription, order today and the parcel arrives tomorrow, says customer {} of {}: {}"


def spam_wave():
    """500 spam comments from 40 networks in four discussions, published and pending, with two honest ones among them.

    The honest comments use words and a network of the spam.
    """
    blog = node("blog", "news")
    posts = [Target(site.LABEL, str(node("blog-entry", f"p{n}", parent=blog, title=f"Post {n}"))) for n in range(4)]

    def write(n, name, source, store):
        posted = store(posts[n % 4], author=CommentAuthor(name), source=source, token=f"wave-{n}-{name}")
        network = ip_hash.hash_network(f"198.51.{n % 40}.0/24")
        ip_hash.record(posts[n % 4], (posted.comment or posted.held).slug, network, (network,))

    for n in range(500):
        text = (CASINO, PILLS)[n // 2 % 2].format(n, n % 7, n)
        write(n, f"Guest {n}", text, services.post if n % 2 else services.hold)
        if n == 250:
            write(n, "Ann", "Is the casino in this story a real place?", services.hold)
            write(n, "Bob", "My grandmother sold pills without a prescription, and this is well told.", services.post)


def stored_states(mongo):
    """Return the states of all published and queued comments as they are stored."""
    return {
        (collection, comment["slug"]): comment["state"]
        for collection in ("comments", "comments.pending")
        for comment in mongo[collection].find({}, {"slug": 1, "state": 1})
    }


@pytest.mark.slow
def test_spam_wave_of_500_is_cleared_with_seven_clicks_and_undone_with_four(browsing, account, mongo, rules):
    spam_wave()
    before = stored_states(mongo)
    page = browsing(account("mona", groups=[]))
    mona = Counting(page)
    page.goto("/admin/marginalia_comments/moderation/")

    def press(step, button, outcome):
        mona.click(step, button)
        expect(page).to_have_url(re.compile("/decisions/"))
        site.work()  # a large decision may be left to the worker
        expect(page.get_by_role("status")).to_contain_text(outcome)

    for likeness in ("Links to a domain", "Similar text"):
        mona.click("clear", page.get_by_role("link", name="All like this…").first)
        row = page.get_by_role("listitem").filter(has_text=likeness).first
        press("clear", row.get_by_role("button", name="Mark 250 comments as spam"), "250 comments were marked as spam.")
        mona.click("clear", page.get_by_role("link", name="Back to the queue"))
    expect(page.locator(".comments-case")).to_contain_text("Is the casino in this story a real place?")
    mona.click("clear", page.get_by_role("button", name="Approve", exact=True))
    expect(page.get_by_text("No comments are pending")).to_be_visible()
    states = Counter((collection, state) for (collection, _slug), state in stored_states(mongo).items())
    assert states == {
        ("comments", "public"): 2,
        ("comments", "removed"): 250,
        ("comments.pending", "approved"): 1,
        ("comments.pending", "spam"): 250,
    }

    for _each in range(2):
        mona.click("undo", page.get_by_role("link", name="Bulk decisions"))
        press("undo", page.get_by_role("button", name="Undo").first, "Undone: 250 comments are as they were before.")
    # Only the honest comment that was approved meanwhile is different.
    changed = {key: state for key, state in stored_states(mongo).items() if before.get(key) != state}
    assert sorted(changed.values()) == ["approved", "public"]
    assert mona.counts == {"clear": [7, 0], "undo": [4, 0]}


@pytest.mark.slow
def test_ban_is_previewed_before_it_hides_comments(browsing, account, target):
    for n in range(3):
        services.post(target, author=CommentAuthor("A"), source=f"{n} http://www.casino.example", token=f"s{n}")
    page = browsing(account("mona", groups=[]))
    page.goto("/admin/marginalia_comments/moderation/bans")
    page.get_by_role("link", name="New ban").click()
    page.get_by_label("Ban", exact=True).select_option("Links to a domain")
    page.get_by_label("Value").fill("casino.example")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("status")).to_contain_text("3 comments")
    assert selectors.count(target) == 3
    page.get_by_role("button", name="Ban and mark as spam").click()
    expect(page.get_by_role("status")).to_contain_text("3 comments were marked as spam.")
    assert selectors.count(target) == 0


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("has_script", [True, False], ids=["with script", "without script"])
@pytest.mark.parametrize("name", ["Hide", "Spam"])
def test_hidden_comment_is_restored_in_its_place(browsing, account, target, has_script, name):
    author = CommentAuthor("A")
    posted = [services.post(target, author=author, source=f"Comment {n}", token=f"c{n}").comment for n in range(3)]
    page = browsing(account("mona", groups=[]), java_script_enabled=has_script)
    page.goto("/news/hello")

    def press(link, confirmation):
        link.focus()
        page.keyboard.press("Enter")
        if not has_script:
            page.get_by_role("button", name=confirmation).click()

    comment = page.locator(f"#c-{posted[1].part}")
    press(comment.get_by_role("link", name=name, exact=True), name)
    expect(comment).to_have_text(re.compile("Hidden.\\s+Undo"))
    assert selectors.count(target) == 2
    undo = page.get_by_role("link", name="Undo")
    if has_script:
        expect(undo).to_be_focused()
    press(undo, "Restore")
    expect(comment).to_contain_text("Comment 1")
    assert selectors.count(target) == 3
