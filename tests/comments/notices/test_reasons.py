"""The reasons for holding a comment, from the rule or policy to the sentence for moderators."""

import pytest
from django.test import Client

from marginalia.comments.notices import reasons
from marginalia.comments.posting import services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor
from tests.support.comments import site


@pytest.mark.parametrize(
    ("rule", "text", "sentences"),
    [
        ({"MODE": "hold-first"}, "Plain", ["First comment by this author"]),
        ({"MODE": "hold-all"}, "Plain", ["All comments here need approval"]),
        (
            {"MODE": "open", "WORDS": ["casino", "pills"]},
            "Pills, casino",
            ["Contains words that require review: casino, pills"],
        ),
        ({"MODE": "open", "MAX_LINKS": 1}, "[a](https://a.example) [b](https://b.example)", ["Contains 2 links"]),
    ],
)
def test_reasons_of_rules_are_shown_as_sentences(mongo, post_page, rules, rule, text, sentences):
    rules(**rule)
    site.post(Client(), post_page, text)
    (held,) = selectors.held()
    assert reasons.sentences(held) == sentences
    assert not set(sentences) & set(held.reasons)


def test_reason_of_a_custom_rule_is_unchanged(mongo, post_page):
    mine = ("policy: moon", "It rhymes.", "words")
    held = services.hold(post_page, author=CommentAuthor("A"), source="Held", token="h", reasons=mine).held
    assert tuple(reasons.sentences(held)) == mine
