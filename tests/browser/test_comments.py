"""Comments in Chromium, with and without JavaScript: reading, writing, and errors that keep the text."""

import pytest
from playwright.sync_api import Locator, Page, expect

from cms.requests.comment_flood import RETRY_AFTER
from cms.requests.heavy import Slots
from marginalia.comments.posting import services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, Order, Target
from tests.browser.people import PHONE
from tests.support.comments import site

URL = "/news/hello"


@pytest.fixture
def target(mongo, rules) -> Target:
    return site.entry()


@pytest.fixture(params=[True, False], ids=["with script", "without script"])
def reader(request, browsing) -> Page:
    """A browser page of an anonymous reader."""
    page = browsing(java_script_enabled=request.param)
    page.runs_scripts = request.param
    return page


# Without scripts, the quick tests only post. `make test-slow` runs the rest, which takes twice as long.
SELDOM_WITHOUT = pytest.mark.parametrize(
    "reader",
    [pytest.param(True, id="with script"), pytest.param(False, marks=pytest.mark.slow, id="without script")],
    indirect=True,
)


def say(target, source, token, parent="", author="Bea"):
    return services.post(target, author=CommentAuthor(author), source=source, token=token, parent=parent).comment


def write(page: Page | Locator, text: str, name: str | None = "Ann") -> None:
    if name:
        page.get_by_label("Name").last.fill(name)
    page.get_by_label("Comment", exact=True).last.fill(text)


def open_form(page: Page) -> None:
    """Open the form for a new comment: a script loads it in place, otherwise a link leads to it."""
    page.goto(URL)
    if not getattr(page, "runs_scripts", True):
        page.get_by_role("link", name="Write a comment").last.click()
    expect(page.locator("form.comment-form")).to_be_visible()


@pytest.mark.slow
def test_pasted_comment_that_is_too_long_is_refused(browsing, target):
    page = browsing()
    page.expected.append("422")
    open_form(page)
    page.get_by_label("Name").fill("Ann")
    page.get_by_label("Comment", exact=True).focus()
    text = "word " * 2_001 + "end"
    page.keyboard.insert_text(text)
    page.get_by_role("button", name="Post").click()
    expect(page.locator(".comment-form .comment-error")).to_contain_text("10008 characters, and the maximum is 10000")
    expect(page.get_by_label("Comment", exact=True)).to_have_value(text)


def test_comments_follow_their_own_text_direction(browsing, target):
    for n, words in enumerate(("שלום עולם", "Hello")):
        say(target, words, f"t{n}", author=words)
    page = browsing()
    page.goto(URL)
    # A text of a known language is in an element with its direction.
    for part in (".comment-text > *", ".comment-author"):
        directions = page.locator(part).evaluate_all("(all) => all.map((each) => getComputedStyle(each).direction)")
        assert directions == ["rtl", "ltr"]
    open_form(page)
    for label in ("Name", "Comment"):
        page.get_by_label(label, exact=True).fill("שלום")
        expect(page.get_by_label(label, exact=True)).to_have_css("direction", "rtl")


@pytest.mark.slow_after(1)
def test_comment_is_written_previewed_and_posted(reader, target):
    open_form(reader)
    write(reader, "I *agree*")
    reader.get_by_role("button", name="Preview").click()
    expect(reader.locator(".comment-preview em")).to_have_text("agree")
    assert selectors.count(target) == 0
    reader.get_by_role("button", name="Post").click()
    expect(reader.locator(".comment:target em")).to_have_text("agree")
    assert selectors.count(target) == 1


@pytest.mark.slow_after(1)
def test_reply_is_shown_below_its_parent(reader, target):
    parent = say(target, "What do you say?", "a")
    say(target, "Another", "b")
    reader.goto(URL)
    reader.locator(f"#c-{parent.part}").get_by_role("link", name="Reply").click()
    form = reader.locator(".comments-form").filter(has=reader.get_by_role("heading", name="Reply to Bea"))
    write(form, "This")
    form.get_by_role("button", name="Post").click()
    expect(reader.locator(".comment:target")).to_contain_text("in reply to Bea")
    assert [comment.source for comment in selectors.iterate(target, order=Order.THREADED)] == [
        "What do you say?",
        "This",
        "Another",
    ]


@pytest.mark.slow_after(1)
def test_form_is_reached_from_the_top_of_the_discussion(reader, target):
    for n in range(5):
        say(target, "A line.\n\n" * 12, f"t{n}")
    reader.emulate_media(reduced_motion="reduce")
    reader.goto(URL)
    if reader.runs_scripts:
        expect(reader.locator("form.comment-form")).to_be_visible()
    reader.get_by_role("link", name="Write a comment").first.click()
    expect(reader.get_by_label("Name")).to_be_in_viewport()
    if reader.runs_scripts:
        expect(reader.get_by_label("Name")).to_be_focused()


@pytest.mark.slow
def test_actions_are_visible_and_reach_the_parent(reader, target):
    parent = say(target, "What do you say?", "a")
    replies = [say(target, "A line.\n\n" * 12, f"r{n}", parent=parent.slug) for n in range(5)]
    reader.emulate_media(reduced_motion="reduce")
    reader.goto(f"{URL}#c-{replies[0].part}")
    expect(reader.locator(f"#c-{replies[0].part}").get_by_role("link", name="Reply")).to_be_visible()
    expect(reader.locator(f"#c-{replies[0].part}").get_by_role("link", name="Show parent")).to_have_count(0)
    left = reader.locator(f"#c-{replies[-1].part}")
    left.get_by_role("link", name="Show parent").focus()
    reader.keyboard.press("Enter")
    expect(reader.locator(f"#c-{parent.part}")).to_be_in_viewport()
    expect(left).not_to_be_in_viewport()
    reader.go_back()
    if reader.runs_scripts:
        expect(left.get_by_role("link", name="Show parent")).to_be_focused()
        expect(left.get_by_role("link", name="Show parent")).to_be_in_viewport()
    reader.locator("summary", has_text="5 replies").press("Enter")
    expect(left).to_be_hidden()


@pytest.mark.slow
def test_back_to_reply_works_if_the_url_has_the_parent(page, target):
    parent = say(target, "What do you say?", "a")
    say(target, "A reply between the two", "c", parent=parent.slug)
    reply = say(target, "A line.\n\n" * 40, "b", parent=parent.slug)
    page.emulate_media(reduced_motion="reduce")
    page.goto("/search")
    page.goto(f"{URL}#c-{parent.part}")
    link = page.locator(f"#c-{reply.part}").get_by_role("link", name="Show parent")
    link.focus()
    page.keyboard.press("Enter")
    expect(page.locator(f"#c-{parent.part}")).to_be_in_viewport()
    expect(link).not_to_be_in_viewport()
    page.go_back()
    assert page.url.endswith(f"{URL}#c-{parent.part}")
    expect(link).to_be_focused()
    expect(link).to_be_in_viewport()


@pytest.mark.slow
def test_back_to_reply_restores_the_scroll_position(page, target):
    parent = say(target, "What do you say?", "a")
    say(target, "A reply between the two", "c", parent=parent.slug)
    reply = say(target, "A line.\n\n" * 40, "b", parent=parent.slug)
    page.goto(f"{URL}#comments")
    link = page.locator(f"#c-{reply.part}").get_by_role("link", name="Show parent")
    link.hover()
    place = link.evaluate("link => { link.scrollIntoView({block: 'center', behavior: 'instant'}); return scrollY; }")
    link.click()
    expect(page.locator(f"#c-{parent.part}")).to_be_in_viewport()
    page.go_back()
    page.wait_for_function("place => scrollY === place", arg=place)
    expect(link).to_be_focused()
    expect(link).to_be_in_viewport()


@pytest.mark.slow
def test_held_reply_is_shown_below_its_parent(browsing, target, rules):
    rules(MODE="hold-all")
    parent = say(target, "What do you say?", "a")
    phone = browsing(viewport=PHONE, has_touch=True, is_mobile=True)
    phone.goto(URL)
    answered = phone.locator(f"#c-{parent.part}")
    answered.get_by_role("link", name="Reply").click()
    write(answered, "Let me in")
    answered.get_by_role("button", name="Post").click()
    expect(phone.locator(f"#c-{parent.part} .comment-mine")).to_contain_text("Let me in")
    expect(phone.locator(".comment-mine")).to_be_focused()
    expect(phone.locator(".comment-mine")).to_be_in_viewport()


@pytest.mark.slow
def test_guests_are_remembered_only_if_they_choose_so(browsing, target):
    page = browsing()
    open_form(page)
    write(page, "The first")
    page.get_by_label("Email", exact=True).fill("ann@example.org")
    page.get_by_label("Remember me on this device").check()
    page.get_by_role("button", name="Post").click()
    expect(page.locator(".comment:target")).to_be_visible()
    open_form(page)
    expect(page.get_by_label("Name")).to_have_value("Ann")
    expect(page.get_by_label("Email", exact=True)).to_have_value("ann@example.org")
    write(page, "The second", name=None)
    page.get_by_label("Remember me on this device").uncheck()
    page.get_by_role("button", name="Post").click()
    expect(page.locator(".comment:target")).to_contain_text("The second")
    open_form(page)
    expect(page.get_by_label("Name")).to_have_value("")
    expect(page.get_by_label("Remember me on this device")).not_to_be_checked()


def test_long_comment_shows_how_many_characters_are_left(page, target, rules):
    rules(MAX_LENGTH=100)
    open_form(page)
    counter = page.locator(".comment-length")
    write(page, "a" * 80)
    expect(counter).to_be_empty()
    write(page, "🙂\n" + "a" * 90)
    expect(counter).to_have_text("Characters left: 7")
    write(page, "a" * 103)
    expect(counter).to_have_text("Too long. Remove this many characters: 3")


def test_notification_without_an_email_address_is_reported_at_once(page, target):
    open_form(page)
    message = page.get_by_text("Enter an email address to be notified of replies.")
    expect(message).to_be_hidden()
    page.get_by_label("Email me about replies").check()
    expect(message).to_be_visible()
    page.get_by_label("Email", exact=True).fill("ann@")
    expect(message).to_be_visible()
    page.get_by_label("Email", exact=True).fill("ann@example.org")
    expect(message).to_be_hidden()


@pytest.mark.slow_after(1)
def test_refused_comment_keeps_its_text(reader, target):
    open_form(reader)
    write(reader, "A long text, typed with love")
    services.close(target)
    reader.expected.append("422")
    reader.get_by_role("button", name="Post").click()
    expect(reader.get_by_role("alert")).to_contain_text("closed")
    expect(reader.get_by_label("Comment", exact=True)).to_have_value("A long text, typed with love")
    services.open(target)
    reader.get_by_role("button", name="Post").click()
    expect(reader.locator(".comment:target")).to_contain_text("typed with love")


@pytest.mark.slow_after(1)
def test_form_sent_twice_posts_once(reader, target):
    open_form(reader)
    write(reader, "Only once")
    reader.get_by_role("button", name="Post").dblclick()
    expect(reader.locator(".comment:target")).to_contain_text("Only once")
    assert selectors.count(target) == 1


REFUSED = "Your comment hasn't been saved yet. It will be sent again in a few seconds."


@pytest.fixture
def refused(reader, target, monkeypatch) -> Page:
    """A page with the text of a comment that was refused during a flood of comments."""
    reader.expected.append("503")
    reader.clock.install()
    open_form(reader)
    write(reader, "A long text,\ntyped with love")
    with monkeypatch.context() as full:
        full.setattr(Slots, "enter", lambda self: False)
        reader.get_by_role("button", name="Post").click()
        expect(reader.get_by_text(REFUSED)).to_be_visible()
    expect(reader.get_by_label("Text")).to_have_value("A long text,\ntyped with love")
    return reader


@pytest.mark.slow_after(1)
def test_refused_comment_is_sent_again_with_its_text(refused, target):
    if refused.runs_scripts:
        refused.clock.fast_forward(2_000 * RETRY_AFTER)
    else:
        refused.get_by_role("button", name="Send again").click()
    expect(refused.locator(".comment:target")).to_contain_text("typed with love")
    assert selectors.count(target) == 1


@pytest.mark.slow
@pytest.mark.parametrize("reader", [True], ids=["with script"], indirect=True)
def test_refused_comment_that_is_being_changed_waits_for_its_author(refused, target):
    refused.get_by_label("Text").fill("A better text")
    refused.clock.fast_forward(10_000 * RETRY_AFTER)
    expect(refused.get_by_text(REFUSED)).to_be_visible()
    refused.get_by_role("button", name="Send again").click()
    expect(refused.locator(".comment:target")).to_contain_text("A better text")
    assert selectors.count(target) == 1


@pytest.mark.slow
def test_interrupted_post_is_sent_again(page, target):
    page.clock.install()
    open_form(page)
    write(page, "Only once")
    stopped = []

    def stop(route):
        # As if the reader had stopped the request: the page stays.
        route.fulfill(status=204)
        stopped.append(route)

    page.route("**/*", stop, times=1)
    post = page.get_by_role("button", name="Post")
    post.click(no_wait_after=True)
    while not stopped:
        page.wait_for_timeout(20)
    page.clock.fast_forward(10_000)
    post.click()
    expect(page.locator(".comment:target")).to_contain_text("Only once")
    assert selectors.count(target) == 1


@pytest.mark.slow
def test_leaving_an_unposted_reply_asks_first(page, target):
    for n in range(60):
        say(target, f"Number {n}.", f"t{n}")
    asked = []

    def answer(dialog):
        asked.append(dialog.message)
        dialog.accept() if len(asked) == 2 else dialog.dismiss()

    page.on("dialog", answer)
    page.goto(URL)
    first, more = page.locator(".comment").first, page.get_by_role("link", name="More comments").last
    reply, text = first.get_by_role("link", name="Reply"), first.get_by_label("Comment", exact=True)
    reply.click()
    text.fill("Half a reply")
    reply.click()
    expect(text).to_have_value("Half a reply")
    expect(text).to_be_focused()
    text.fill("")
    reply.click()
    expect(text).to_have_count(0)
    reply.click()
    text.fill("Half a reply")
    more.click()
    expect(text).to_have_value("Half a reply")
    more.click()
    expect(page.get_by_text("Number 59.")).to_be_visible()
    assert asked == ["Your reply hasn't been posted. Leave this page?"] * 2


@pytest.mark.slow
@SELDOM_WITHOUT
def test_own_comment_is_edited_only_within_the_time_limit(reader, target, rules):
    open_form(reader)
    write(reader, "With a tpyo")
    reader.get_by_role("button", name="Post").click()
    expect(reader.locator(".comment:target")).to_be_visible()
    open_form(reader)
    reader.get_by_role("link", name="Edit").click()
    reader.get_by_label("Comment", exact=True).fill("With a typo")
    reader.get_by_role("button", name="Save").click()
    expect(reader.locator(".comment:target")).to_contain_text("With a typo")
    open_form(reader)
    reader.get_by_role("link", name="Edit").click()
    rules(EDIT_MINUTES=0)
    reader.get_by_label("Comment", exact=True).fill("Too late")
    reader.expected.append("422")
    reader.get_by_role("button", name="Save").click()
    expect(reader.get_by_role("alert")).to_be_visible()
    expect(reader.get_by_label("Comment", exact=True)).to_have_value("Too late")
    assert next(iter(selectors.iterate(target))).source == "With a typo"


@pytest.mark.slow
@SELDOM_WITHOUT
def test_own_comment_is_deleted_after_confirmation(reader, target):
    open_form(reader)
    write(reader, "Better unsaid")
    reader.get_by_role("button", name="Post").click()
    expect(reader.locator(".comment:target")).to_be_visible()
    open_form(reader)
    reader.get_by_role("link", name="Delete").click()
    expect(reader.get_by_role("heading", level=1)).to_have_text("Delete this comment?")
    assert selectors.count(target) == 1
    reader.locator(".comment-buttons button").click()
    reader.goto(URL)
    expect(reader.get_by_text("Better unsaid")).to_have_count(0)
    assert selectors.count(target) == 0


@pytest.mark.slow
@SELDOM_WITHOUT
def test_pages_and_orders_load_in_place(reader, target):
    for n in range(60):
        say(target, f"Number {n}.", f"t{n}")
    reader.goto(URL)
    reader.evaluate("window.stayed = true")
    reader.get_by_role("link", name="More comments").last.click()
    expect(reader.get_by_text("Number 59.")).to_be_visible()
    reader.get_by_role("link", name="Newest first").click()
    expect(reader.locator(".comment").first).to_contain_text("Number 59.")
    # With a script, the page stays and only its comments change.
    assert bool(reader.evaluate("window.stayed")) is reader.runs_scripts
    reader.go_back()
    expect(reader.locator(".comment").first).to_contain_text("Number 50.")


def test_double_clicks_open_one_form_and_one_page(page, target):
    for n in range(3):
        say(target, f"Number {n}.", f"t{n}")
    page.goto(URL)
    page.get_by_role("link", name="Reply").first.dblclick()
    expect(page.locator(".comment form.comment-form")).to_have_count(1)
    page.evaluate(
        "for (const link of document.querySelectorAll('.comments-orders [href*=comments]')) link.rel && link.click()"
    )
    expect(page.locator(".comments-orders b")).to_have_text("Newest first")
    page.wait_for_load_state("networkidle")
    expect(page.locator(".comment").first).to_contain_text("Number 2.")
    assert "comments=newest" in page.url
    page.go_back()
    expect(page.locator(".comments-orders b")).to_have_text("Threads")


@pytest.mark.slow
@SELDOM_WITHOUT
def test_held_comment_is_shown_to_its_author_as_waiting(reader, target, rules, browsing):
    rules(MODE="hold-first")
    open_form(reader)
    write(reader, "Please let me in")
    reader.get_by_role("button", name="Post").click()
    expect(reader.get_by_text("Only you can see it").or_(reader.get_by_text("only you can see it"))).to_be_visible()
    open_form(reader)
    expect(reader.get_by_text("Please let me in")).to_be_visible()
    stranger = browsing()
    open_form(stranger)
    expect(stranger.get_by_text("Please let me in")).to_have_count(0)
    reader.get_by_role("link", name="Edit").click()
    reader.get_by_label("Comment", exact=True).fill("Please let me in, *now*")
    reader.get_by_role("button", name="Save").click()
    expect(reader.locator(".comment-text em")).to_have_text("now")
    assert [held.source for held in selectors.held()] == ["Please let me in, *now*"]
    open_form(reader)
    reader.get_by_role("link", name="Delete").click()
    reader.get_by_role("button", name="Delete").click()
    expect(reader.get_by_role("heading", name="No comments yet")).to_be_visible()
    assert selectors.held() == ()


@pytest.mark.slow_after(1)
def test_closed_discussion_offers_no_form(reader, target):
    say(target, "The last word", "a")
    services.close(target)
    reader.goto(URL)
    expect(reader.get_by_text("This discussion is closed.")).to_be_visible()
    reader.wait_for_load_state("networkidle")
    expect(reader.get_by_text("Write a comment")).to_have_count(0)
    expect(reader.locator("form.comment-form")).to_have_count(0)
    expect(reader.get_by_text("The last word")).to_be_visible()


def test_comments_are_printed_only_on_the_page_of_the_discussion(page, target):
    say(target, "The last word", "a")
    for url, is_printed in ((URL, False), (f"/comments/on/{target.label}/{target.pk}", True)):
        page.goto(url)
        page.emulate_media(media="print")
        expect(page.get_by_text("The last word")).to_be_visible(visible=is_printed)
        page.emulate_media(media="screen")
        expect(page.get_by_text("The last word")).to_be_visible()


def test_deep_thread_is_readable_on_a_phone(browsing, target):
    parent = ""
    for depth in range(8):
        parent = say(target, "A sentence of some length, which has to stay readable. " * 2, f"d{depth}", parent).slug
    phone = browsing(viewport=PHONE)
    phone.goto(URL)
    expect(phone.locator(".comment-depth-7")).to_be_visible()
    assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert phone.locator(".comment-depth-7 .comment-text").bounding_box()["width"] > PHONE["width"] * 0.6


@pytest.mark.slow
def test_permalink_opens_a_comment_in_a_thread_of_2000(reader, target):
    roots = [say(target, f"Root {n}", f"r{n}") for n in range(20)]
    below = [say(target, f"Reply {n}", f"s{n}", roots[n % 20].slug) for n in range(1980)]
    wanted = below[1234]
    reader.goto(f"/comments/c/{target.label}/{target.pk}/{wanted.slug}?order=threaded")
    shown = reader.locator(f"#c-{wanted.part}")
    expect(shown).to_be_visible()
    expect(shown).to_be_in_viewport()


@pytest.mark.slow
def test_comment_is_liked_by_keyboard_and_the_like_taken_back(browsing, target, rules):
    rules(LIKES=True)
    comment = say(target, "Good", "a")
    page = browsing()
    page.goto(URL)
    button = page.locator(f"#c-{comment.part}").get_by_role("button", name="Like the comment by Bea")
    for likes in ("1", "", "1"):
        button.focus()
        page.keyboard.press("Space")
        expect(page.locator(".comment-likes")).to_have_text(likes)
        expect(button).to_have_attribute("aria-pressed", "true" if likes else "false")
        expect(button).to_be_focused()
    assert selectors.likes(target) == {comment.slug: 1}
    page.reload()
    expect(button).to_have_attribute("aria-pressed", "true")
    page.get_by_role("link", name="Newest").click()
    expect(page.locator(".comments-newest")).to_be_visible()
    expect(button).to_have_attribute("aria-pressed", "true")


def test_refused_like_shows_the_reason_at_the_comment(browsing, target, rules):
    rules(LIKES=True, MODE="members")
    comment = say(target, "Good", "a")
    page = browsing()
    page.expected.append("403")
    page.goto(URL)
    page.get_by_role("button", name="Like the comment by Bea").click()
    expect(page.locator(f"#c-{comment.part} [role=alert]")).to_contain_text("Only members can like comments here.")
    expect(page.locator(".comment-likes")).to_have_text("")


@pytest.mark.slow
def test_comment_is_liked_without_a_script(browsing, target, rules):
    rules(LIKES=True)
    comment = say(target, "Good", "a")
    page = browsing(java_script_enabled=False)
    for likes, name in (("1", "Like"), ("", "Remove like")):
        page.goto(URL)
        page.get_by_role("button", name="Like the comment by Bea").press("Enter")
        page.get_by_role("button", name=name, exact=True).press("Enter")
        expect(page.locator(f"#c-{comment.part} .comment-likes")).to_have_text(likes)
