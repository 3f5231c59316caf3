"""Bans: what they refuse, what they hide, and their pages in the admin."""

from datetime import datetime, timedelta, timezone

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from marginalia.comments.errors import InvalidBan
from marginalia.comments.moderation import bans, batches
from marginalia.comments.operations import maintenance
from marginalia.comments.posting import ip_hash, services
from marginalia.comments.posting.services import Sender
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, TermKind
from marginalia.mongo.clock import now
from tests.support.comments import site
from tests.support.crashing import killed_after_writes

BANS = reverse("admin:marginalia_comments_moderation_bans")
ADD = reverse("admin:marginalia_comments_moderation_ban")
REFUSED = "Comments from you aren&#x27;t accepted here at the moment."
REFUSED_CONTENT = "This comment contains a link or words that aren&#x27;t accepted here."
# More words and links than a comment's terms contain.
MANY_WORDS = " ".join(f"w{n}" for n in range(500))
MANY_LINKS = " ".join(f"http://{n}.example" for n in range(30))


@pytest.fixture
def sender(rf, moderator) -> Sender:
    request = rf.get("/")
    request.user = moderator
    return Sender(request, ())


@pytest.fixture
def staff(moderator) -> Client:
    browser = Client()
    browser.force_login(moderator)
    return browser


def is_refused(response, message=REFUSED) -> bool:
    """Return whether the form was shown again with the text and the message."""
    text = response.content.decode()
    return response.status_code == 422 and message in text and "My text" in text


@pytest.mark.slow_after(2)
@pytest.mark.parametrize(
    ("kind", "value", "sent", "message"),
    [
        ("from", "mail.example", {"email": "a@sub.mail.example"}, REFUSED),
        ("email", "A@mail.example", {"email": "a@MAIL.example"}, REFUSED),
        ("network", "203.0.113.9", {}, REFUSED),
        ("network", "203.0.113.0/24", {}, REFUSED),
        ("link", "https://www.casino.example/path", {"text": "My text http://a.casino.example/x"}, REFUSED_CONTENT),
        ("words", "CHEAP casino*", {"text": "My text: cheap Casinos"}, REFUSED_CONTENT),
        # What writers try in order to evade a ban.
        ("words", "casino", {"text": "My text: c\u0430s\u0456n\u043e"}, REFUSED_CONTENT),
        ("words", "casino", {"text": "My text: c\u200bas\u00adi\u0301n\u2064o"}, REFUSED_CONTENT),
        ("words", "casino", {"text": f"My text {MANY_WORDS} casino"}, REFUSED_CONTENT),
        ("link", "casino.example", {"text": "My text [x](http://casino\u3002example.)"}, REFUSED_CONTENT),
        ("link", "casino.example", {"text": "My text [x](http:/casino.example)"}, REFUSED_CONTENT),
        ("link", "fa\u00df.example", {"text": "My text http://fa\u00df.example"}, REFUSED_CONTENT),
        ("link", "casino.example", {"text": "My text [x](http://%63asino.example)"}, REFUSED_CONTENT),
        ("link", "casino.example", {"text": f"My text {MANY_LINKS} http://casino.example"}, REFUSED_CONTENT),
        ("link", "caf\u00e9.example", {"text": "My text [x](http://xn--caf-dma.example)"}, REFUSED_CONTENT),
        ("from", "caf\u00e9.example", {"email": "a@caf\u00e9.example"}, REFUSED),
        ("from", "xn--caf-dma.example", {"email": "a@CAF\u00c9.example"}, REFUSED),
    ],
)
def test_banned_comment_is_refused_and_its_text_is_kept(post_page, sender, rules, kind, value, sent, message):
    rules(MAX_LINKS=100)
    browser = Client(REMOTE_ADDR="203.0.113.77")
    fields = {"text": "My text", **sent}
    other = {**fields, "text": fields["text"] + " first"}
    assert site.post(browser, post_page, **other).status_code == 302
    ban = bans.ban(sender, bans.parse(kind, value))
    assert is_refused(site.post(browser, post_page, **fields), message)
    assert site.post(Client(REMOTE_ADDR="198.51.100.1"), post_page, "Something else").status_code == 302
    bans.lift(sender, ban.id)
    assert site.post(browser, post_page, **fields).status_code == 302
    assert selectors.count(post_page) == 3


def test_banned_account_can_neither_post_nor_edit(post_page, sender, ann):
    browser = Client()
    browser.force_login(ann)
    site.post(browser, post_page, "My text")
    comment = list(selectors.iterate(post_page))[0]
    bans.ban(sender, bans.parse("account", "ann"))
    assert is_refused(site.post(browser, post_page, "My text again"))
    edit = browser.get(site.change_url("edit", comment))
    fields = {**site.fields_of(edit.content.decode()), "text": "My text, changed"}
    assert is_refused(browser.post(site.change_url("edit", comment), fields))
    assert selectors.get(post_page, comment.slug).source == "My text"


@pytest.mark.parametrize("mode", ["open", "hold-all"])
@pytest.mark.parametrize(("kind", "value"), [("email", "ann@mail.example"), ("from", "mail.example")])
def test_guest_with_a_banned_email_address_can_neither_post_nor_edit(post_page, sender, rules, mode, kind, value):
    rules(MODE=mode)
    browser = Client()
    site.post(browser, post_page, "My text", email="Ann@mail.example")
    site.post(browser, post_page, "Another text", email="bob@other.example")
    mine, other = selectors.held() if mode == "hold-all" else selectors.iterate(post_page)
    edits = [browser.get(site.change_url("edit", comment)).content.decode() for comment in (mine, other)]
    bans.ban(sender, bans.parse(kind, value))
    assert is_refused(site.post(browser, post_page, "My text again", email="Ann@mail.example"))
    own, others = [{**site.fields_of(edit), "text": f"My text, {n}"} for n, edit in enumerate(edits)]
    assert is_refused(browser.post(site.change_url("edit", mine), own))
    assert browser.post(site.change_url("edit", other), others).status_code == 302
    stored = selectors.held() if mode == "hold-all" else selectors.iterate(post_page)
    assert [comment.source for comment in stored] == ["My text", "My text, 1"]


def test_email_domain_of_an_account_is_banned(post_page, sender, ann):
    browser = Client()
    browser.force_login(ann)
    bans.ban(sender, bans.parse("from", "example.org"))
    assert is_refused(site.post(browser, post_page, "My text"))


def test_ipv6_address_is_banned_with_its_64_or_48_network(post_page, sender):
    near, far = Client(REMOTE_ADDR="2001:db8:1:2::5"), Client(REMOTE_ADDR="2001:db8:1:3::5")
    bans.ban(sender, bans.parse("network", "2001:db8:1:2::99"))
    assert is_refused(site.post(near, post_page, "My text"))
    assert site.post(far, post_page, "My text").status_code == 302
    bans.ban(sender, bans.parse("network", "2001:db8:1::/48"))
    assert is_refused(site.post(far, post_page, "My text again"))


def test_moderators_are_never_banned(post_page, sender, staff):
    bans.ban(sender, bans.parse("words", "anything"))
    assert site.post(staff, post_page, "Anything goes").status_code == 302


def test_moderators_cannot_ban_themselves_or_each_other(post_page, sender, ann, moderator):
    chief = User.objects.create_superuser("root", "root@example.org", "pw")
    for name in (moderator.username, chief.username, str(chief.pk)):
        with pytest.raises(InvalidBan, match="can't ban a moderator"):
            bans.ban(sender, bans.parse("account", name))
    bans.ban(sender, bans.parse("account", "ann"))
    assert [ban.value for ban in bans.find(limit=9)] == [str(ann.pk)]


def test_account_is_found_by_its_key_before_its_name(post_page, ann):
    """Otherwise, a user name that equals the key of another account would redirect a ban."""
    User.objects.create_user(str(ann.pk), "a@example.org", "pw")
    assert bans.parse("account", str(ann.pk)).value == str(ann.pk)


def test_account_of_another_site_can_be_banned_once_it_has_commented(post_page, sender, target):
    with pytest.raises(InvalidBan, match="no account"):
        bans.parse("account", "embed:7")
    services.post(post_page, author=CommentAuthor("Bea", "embed:7"), source="One", token="one")
    services.hold(post_page, author=CommentAuthor("Cleo", "embed:8"), source="Two", token="two")
    for key in ("embed:7", "embed:8"):
        ban = bans.ban(sender, bans.parse("account", key))
        assert (ban.value, bans.describe(ban)) == (key, key)


def test_ban_that_never_ends_has_no_time(post_page, sender):
    term = bans.parse("words", "casino")
    for hours, year in ((14, 1), (0, 9999), (-14, 9999)):
        with pytest.raises(InvalidBan) as error:
            bans.ban(sender, term, expires=datetime(year, 1, 1, tzinfo=timezone(timedelta(hours=hours))))
        assert error.value.field == "expires"


def test_comment_with_many_links_has_few_suggestions(post_page):
    comment = services.post(post_page, author=CommentAuthor("A"), source=MANY_LINKS, token="t").comment
    assert len(bans.suggest(comment)) == bans.MAX_SUGGESTED
    assert len(batches.likenesses(comment)) == bans.MAX_SUGGESTED + 1


def test_ban_ends_by_itself(post_page, sender, mongo):
    ban = bans.ban(sender, bans.parse("words", "casino"), expires=now() + timedelta(days=1))
    assert is_refused(site.post(Client(), post_page, "My text casino"), REFUSED_CONTENT)
    mongo["comments.bans"].update_many({}, {"$set": {"expires": now() - timedelta(seconds=1)}})
    assert site.post(Client(), post_page, "My text casino").status_code == 302
    assert bans.find(limit=9) == []
    with pytest.raises(InvalidBan, match="in the past"):
        bans.ban(sender, bans.parse("words", "casino"), expires=now())
    assert ban.expires


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("account", "nobody"),
        ("network", "203.0.113.0/8"),
        ("network", "elsewhere"),
        ("email", "a@b@c"),
        ("from", "no domain"),
        ("link", "http://[bad"),
        ("link", "."),
        ("words", "a *"),
        ("words", "\uff41*"),
        ("network", "0.0.0.0/0"),
        ("network", "::/0"),
        ("network", "1" * 500),
        ("account", "\ud800"),
        ("link", "x" * 500),
        ("words", "?!"),
        ("words", ""),
        ("name", "Ann"),
    ],
)
def test_invalid_ban_is_explained(mongo, kind, value):
    with pytest.raises(InvalidBan) as error:
        bans.parse(kind, value)
    assert str(error.value.sentence).endswith(".")


def test_number_of_patterns_is_limited(sender, monkeypatch):
    monkeypatch.setattr(bans, "MAX_PATTERNS", 1)
    bans.ban(sender, bans.parse("words", "casino"))
    bans.ban(sender, bans.parse("link", "casino.example"))
    with pytest.raises(InvalidBan, match="more than 1"):
        bans.ban(sender, bans.parse("words", "pills"))


def test_only_moderators_ban_and_lift(rf, ann, sender):
    request = rf.get("/")
    request.user = ann
    stranger = Sender(request, ())
    ban = bans.ban(sender, bans.parse("words", "casino"))
    for action in (
        lambda: bans.ban(stranger, bans.parse("words", "pills")),
        lambda: bans.lift(stranger, ban.id),
        lambda: batches.hide(stranger, batches.of_term(ban)),
        lambda: batches.undo(stranger, "0" * 24),
    ):
        with pytest.raises(PermissionDenied):
            action()
    assert [found.id for found in bans.find(limit=9)] == [ban.id]


def test_list_is_searched_by_value_and_reason(sender):
    bans.ban(sender, bans.parse("link", "casino.example"), reason="A wave in May")
    bans.ban(sender, bans.parse("from", "mail.example"))
    assert [ban.value for ban in bans.find("wave", limit=9)] == ["casino.example"]
    assert [ban.value for ban in bans.find("exam", limit=9)] == ["mail.example", "casino.example"]
    assert [ban.value for ban in bans.find("exam", limit=1, after=bans.find(limit=1)[0].id)] == ["casino.example"]
    assert bans.find("pills", limit=9) == []


def test_bans_that_have_ended_take_no_place_in_the_list(sender, mongo):
    terms = [bans.parse("link", f"{name}.example") for name in ("a", "b", "c")]
    stored = [bans.ban(sender, term, expires=now() + timedelta(days=1)) for term in terms]
    past = {"$set": {"expires": now() - timedelta(seconds=1)}}
    assert mongo["comments.bans"].update_one({"value": "b.example"}, past).modified_count == 1
    assert [ban.id for ban in bans.find(limit=2)] == [stored[2].id, stored[0].id]


def test_ban_from_a_comment_is_previewed_hides_and_is_undone(post_page, staff, mongo):
    spammer = Client(REMOTE_ADDR="203.0.113.77")
    for n in range(3):
        site.post(spammer, post_page, f"Spam {n} http://casino.example", email="x@mail.example")
    services.post(post_page, author=CommentAuthor("Ann"), source="Honest", token="honest")
    comment = list(selectors.iterate(post_page))[0]
    on = {"on": str(post_page), "slug": comment.slug}
    page = staff.get(ADD, on).content.decode()
    for shown in ("casino.example", "mail.example", "x@mail.example", "3 comments"):
        assert shown in page
    assert "Something else…" in page
    assert "Reason" not in page, "the form follows after the choice"
    term = {"kind": "link", "value": "casino.example", "days": "7", "reason": "A wave"}
    assert "Ban and mark as spam" in staff.get(ADD, {**on, **term}).content.decode()
    assert mongo["comments.bans"].count_documents({}) == 0
    page = staff.post(ADD, {**on, **term, "hide": "1"}, follow=True).content.decode()
    assert "3 comments were marked as spam." in page
    assert [c.source for c in selectors.iterate(post_page) if not c.removed] == ["Honest"]
    assert selectors.count(post_page) == 1
    listed = staff.get(BANS).content.decode()
    assert "casino.example" in listed
    assert "A wave" in listed
    assert "· mona" in listed
    (batch,) = batches.find(limit=9)
    page = staff.post(reverse("admin:marginalia_comments_moderation_batch", args=[batch.id]), follow=True)
    assert "Undone: 3 comments are as they were before." in page.content.decode()
    assert selectors.count(post_page) == 4
    (ban,) = bans.find(limit=9)
    page = staff.post(reverse("admin:marginalia_comments_moderation_lift", args=[ban.id]), follow=True)
    assert "There are no bans." in page.content.decode()


@pytest.mark.parametrize(
    "writes", [0, 1, 2, 3, 8, *(pytest.param(n, marks=pytest.mark.slow) for n in (4, 5, 6, 7, *range(9, 60)))]
)
def test_killed_ban_hides_everything_or_nothing(post_page, sender, mongo, writes):
    """SIGKILL before each write of a ban that hides comments."""
    for n in range(20):
        services.post(post_page, author=CommentAuthor("A"), source=f"{n} http://casino.example", token=f"s{n}")
    services.hold(post_page, author=CommentAuthor("A"), source="http://casino.example", token="held")
    term = bans.parse("link", "casino.example")

    def ban_and_hide():
        bans.ban(sender, term)
        batches.hide(sender, batches.of_term(term), what=str(term))

    killed_after_writes(writes, ban_and_hide)
    mongo["comments.batches"].update_many({}, {"$set": {"lease.until": now() - timedelta(seconds=1)}})
    batches.resume()
    found = batches.find(limit=9)
    hidden = 20 if found else 0
    assert (selectors.count(post_page), len(selectors.held())) == (20 - hidden, 0 if found else 1)
    assert len(bans.find(limit=9)) == (writes > 0)
    if found:
        batches.undo(sender, found[0].id)
        assert (selectors.count(post_page), len(selectors.held())) == (20, 1)
    assert maintenance.faults(post_page) == ()


def test_invalid_ban_is_shown_again_with_what_was_typed(mongo, staff):
    page = staff.post(ADD, {"kind": "network", "value": "not a network", "reason": "typed", "ban": "1"})
    assert "Enter an IP address" in page.content.decode()
    assert 'value="typed"' in page.content.decode()


def test_network_of_a_comment_can_be_banned(post_page, sender):
    site.post(Client(REMOTE_ADDR="2001:db8:1:2::5"), post_page, "My text")
    comment = list(selectors.iterate(post_page))[0]
    networks = [term.value for term in bans.suggest(comment) if term.kind is TermKind.NETWORK]
    assert networks == [ip_hash.hash_network("2001:db8:1:2::/64"), ip_hash.hash_network("2001:db8:1::/48")]
    assert batches.count(batches.of_term(bans.parse("network", networks[0]))).comments == 1


def test_moderator_reaches_the_ban_from_the_comment_on_its_page(post_page, staff):
    site.post(Client(), post_page, "My text http://casino.example")
    comment = list(selectors.iterate(post_page))[0]
    url = site.change_url("moderate", comment) + "?do=ban"
    assert escape(url) in staff.get("/news/hello").content.decode()
    assert "casino.example" in staff.get(url, follow=True).content.decode()
    assert Client().get(url).status_code == 302
    assert escape(url) not in Client().get("/news/hello").content.decode()
