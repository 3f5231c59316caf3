"""Each spam rule catches what it should, under its name, and lets the rest pass."""

import pytest
from django.test import Client

from marginalia.comments.posting import ip_hash, spam
from marginalia.comments.posting.tokens import FormToken
from marginalia.comments.reading import selectors
from tests.support.comments import site
from tests.support.comments.submissions import TARGET, submission


def rules_that_mind(*args, **fields):
    judgement = spam.judge(submission(*args, **fields))
    refused = (judgement.refused.rule,) if judgement.refused else ()
    return (*judgement.held_by, *refused)


pytestmark = pytest.mark.usefixtures("mongo", "rules")


def test_plain_comment_breaks_no_rule():
    assert rules_that_mind("Hello, see https://example.org") == ()


def test_trap_catches_filled_hidden_fields():
    assert rules_that_mind(trap="http://spam.example") == ("trap",)


def test_speed_catches_forms_sent_too_fast(rules):
    rules(MIN_SECONDS=3)
    assert rules_that_mind(token=FormToken.new(TARGET)) == ("speed",)
    assert rules_that_mind() == ()


def test_links_catches_too_many_links(rules):
    rules(MAX_LINKS=2)
    link = "[x](https://a.example) "
    assert rules_that_mind(link * 2) == ()
    assert rules_that_mind(link * 3, nonce="n2") == ("links",)


def test_words_catches_listed_words_in_text_and_name(rules):
    rules(WORDS=["Casino", "best price", "赌场"])
    assert rules_that_mind("The CASINO is open") == ("words: casino",)
    assert rules_that_mind("x", name="Best Price") == ("words: best price",)
    assert rules_that_mind("casinos and prices") == ()
    assert rules_that_mind("ca\x08si\u202eno") == ("words: casino",), "as it will be read"


def test_rate_limits_an_address_and_an_account(rules):
    rules(RATE=(2, 60))
    minded = [rules_that_mind(f"Text {n}", nonce=f"n{n}") for n in range(3)]
    assert minded == [(), (), ("rate",)]
    minded = [rules_that_mind(f"Text {n}", nonce=f"m{n}", ip_hash=f"x{n}", user="7") for n in range(3)]
    assert minded == [(), (), ("rate",)]


def test_repeat_compares_author_text_and_parent():
    assert rules_that_mind("I agree") == ()
    assert rules_that_mind("I  AGREE ", nonce="n2") == ("repeat",)
    assert rules_that_mind("I agree", nonce="n3", parent="a" * 16) == ()
    assert rules_that_mind("I agree", nonce="n4", name="Bob") == ()
    assert rules_that_mind("I agree") == (), "the same form again is no repetition"


def test_uncounted_comment_can_be_posted_again():
    first = submission("I agree")
    spam.judge(first)
    spam.uncount(first)
    assert rules_that_mind("I agree", nonce="n2") == ()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.7", "192.0.2.99", True),
        ("192.0.2.7", "192.0.3.7", False),
        ("2001:db8:1::1", "2001:db8:1:ffff::2", True),
        ("2001:db8:1::1", "2001:db8:2::1", False),
        ("192.0.2.7", "::ffff:192.0.2.8", True),
    ],
)
def test_addresses_are_counted_by_network(rf, one, other, same):
    keys = {ip_hash.key(rf.get("/", REMOTE_ADDR=address)) for address in (one, other)}
    assert (len(keys) == 1) is same
    assert not any(one in key for key in keys)


def test_rate_limit_covers_all_forms_and_keeps_the_text(client, post_page, rules):
    rules(RATE=(2, 60))
    for n in range(2):
        assert site.post(Client(), post_page, f"Text {n}").status_code == 302
    refused = site.post(Client(), post_page, "Text 2")
    assert refused.status_code == 422
    assert site.fields_of(refused.content.decode())["text"] == "Text 2"
    assert selectors.count(post_page) == 2


def test_rule_of_a_held_comment_is_shown_only_to_moderators(client, post_page, rules):
    rules(WORDS=["casino"])
    response = site.post(client, post_page, "The casino")
    assert selectors.held()[0].reasons == ("words: casino",)
    assert "words:" not in client.get(response["Location"]).content.decode()


def test_project_adds_a_rule_by_its_import_path(client, post_page, rules):
    rules(RULES=["tests.comments.posting.test_spam.no_shouting"])
    assert site.post(client, post_page, "HELLO").status_code == 422
    assert site.post(client, post_page, "Hello").status_code == 302


def no_shouting(submission):
    return spam.SpamHit("no_shouting", "Not so loud.") if submission.source.isupper() else None
