"""Policies that are registered for a model, with the options of Django's comments framework."""

from datetime import UTC, date, datetime, timedelta

import pytest
from django.core.checks import run_checks

from marginalia import comments
from marginalia.comments import targets
from marginalia.comments.posting.policy import Mode, ModelPolicy, Policy
from marginalia.comments.reading import selectors
from marginalia.mongo.clock import now
from nodes.models import Node
from tests.support.comments import site

pytestmark = pytest.mark.usefixtures("mongo")


class Issue:
    """An object with the fields that the policies below use."""

    def __init__(self, *, accepts=True, published=None):
        self.accepts, self.published = accepts, published
        self._meta = Node._meta


class IssuePolicy(ModelPolicy):
    enable_field = "accepts"
    auto_close_field = auto_moderate_field = "published"
    close_after = 30
    moderate_after = 7


@pytest.fixture
def registered():
    """Return a function that registers nodes with a policy."""
    before = targets._registered.pop(Node)

    def register(policy):
        comments.register(Node, visible=before.visible, policy=policy)

    yield register
    targets._registered[Node] = before


@pytest.mark.parametrize(
    ("days", "is_closed", "holds_all"), [(1, False, False), (8, False, True), (31, True, True), (None, False, False)]
)
def test_age_closes_and_moderates_a_discussion(rules, post_page, days, is_closed, holds_all):
    published = None if days is None else now() - timedelta(days=days)
    policy = IssuePolicy()(Issue(published=published))
    discussion = selectors.discussion(post_page)
    assert (policy.is_closed(discussion), policy.holds_all, policy.mode) == (is_closed, holds_all, Mode.OPEN)


def test_date_without_a_time_counts_from_midnight(rules, settings):
    settings.TIME_ZONE = "UTC"
    policy = IssuePolicy()(Issue(published=date(2026, 1, 1)))
    assert policy.closes == datetime(2026, 1, 31, tzinfo=UTC)


def test_disabled_object_accepts_no_comments(rules):
    assert IssuePolicy()(Issue(accepts=False)).mode is Mode.CLOSED


def test_registered_policy_replaces_the_setting(client, post_page, rules, registered):
    registered(lambda obj: Policy(Mode.HOLD_ALL))
    site.post(client, post_page, "Held")
    assert (len(selectors.held()), selectors.count(post_page)) == (1, 0)


def test_discussion_of_an_old_object_holds_every_comment(client, post_page, rules, registered):
    registered(lambda obj: Policy(Mode.OPEN, moderates=now() - timedelta(days=1)))
    site.post(client, post_page, "Held")
    assert [held.reasons for held in selectors.held()] == [("policy: hold-all",)]


def test_missing_field_is_reported(registered):
    registered(IssuePolicy())
    errors = [error for error in run_checks() if error.id == "comments.E013"]
    assert [error.msg for error in errors] == [
        "IssuePolicy uses the field 'accepts', which nodes.Node doesn't have.",
        "IssuePolicy uses the field 'published', which nodes.Node doesn't have.",
    ]
