"""The system checks of the setting COMMENTS, by their ids."""

from collections import Counter

import pytest
from django.core.checks import WARNING

from marginalia.comments.backends import layout_classes, storage
from marginalia.comments.checks import check_comments_setting
from marginalia.tasks.compat import tasks

BAD = {
    "comments.E001": [{"DATABSE": "default"}, {"TARGETS": {"auth.user": {"SCHEME": "documents"}}}],
    "comments.E002": [{"DATABASE": "elsewhere"}],
    "comments.E003": [{"DEFAULT": {"LAYOUT": "tables"}}],
    "comments.E004": [{"TARGETS": {"auth.user": {"ORDER": "best"}}}],
    "comments.E005": [
        {"TARGETS": {"auth.user": {"LAYOUT": "buckets", "OPTIONS": {"BOUND": 3}}}},
        {"TARGETS": {"auth.user": {"EMBEDDED": {"SIZE": 3}}}},
    ],
    "comments.E006": [
        {name: "nowhere.to.be.found"} for name in ("RENDERER", "POLICY", "AUTHORS", "CHOOSE_LAYOUT", "ORIGIN")
    ]
    + [{"RULES": ["nowhere.to.be.found"]}, {"MODE": "hold_first"}, {"TARGETS": {"auth.user": {"MODE": "often"}}}],
    "comments.E007": [{"MAX_DEPTH": 0}, {"MAX_LENGTH": "long"}, {"TRUST_AFTER": 9}],
    "comments.E008": [{"MAX_BYTES": 1_000_000}],
    "comments.E009": [
        {"DEFAULT": {"LAYOUT": "embedded"}},
        {"TARGETS": {"nowhere.model": {"LAYOUT": "embedded"}}},
        {"TARGETS": {"nowhere.model": {"EMBEDDED": {}}}},
        {"TARGETS": {"auth.User": {"LAYOUT": "embedded"}}},
        {"DEFAULT": {"EMBEDDED": {}}},
        {"TARGETS": {"auth.user": {"LAYOUT": "embedded", "OPTIONS": {"COLLECTION": "cms.assets.files"}}}},
    ],
    "comments.E011": [{"TASKS": "elsewhere"}],
}


@pytest.mark.parametrize(("id", "setting"), [(id, setting) for id, each in BAD.items() for setting in each])
def test_invalid_setting_is_refused_by_its_id(settings, id, setting):
    settings.COMMENTS = setting
    found = check_comments_setting()
    assert {message.id for message in found} == {id}


def test_all_mistakes_are_reported_at_once(settings):
    settings.COMMENTS = {
        "DATABSE": "default",
        "DATABASE": "elsewhere",
        "TASKS": "elsewhere",
        "DEFAULT": {"LAYOUT": "tables"},
        "TARGETS": {
            "auth.group": {"LAYOUT": "tables", "ORDER": "best"},
            "auth.user": {"LAYOUT": "buckets", "ORDER": "best", "OPTIONS": {"BOUND": 3, "SIZE": 100_000}},
            "nowhere.model": {"LAYOUT": "embedded"},
        },
        "RENDERER": "nowhere.to.be.found",
        "RULES": ["nowhere.to.be.found", "nowhere.else"],
        "MAX_DEPTH": 0,
        "MAX_LENGTH": 0,
    }
    numbers = Counter(message.id for message in check_comments_setting())
    assert numbers == {
        "comments.E001": 1,
        "comments.E002": 1,
        "comments.E003": 2,
        "comments.E004": 2,
        "comments.E005": 1,
        "comments.E006": 3,
        "comments.E007": 2,
        "comments.E008": 1,
        "comments.E009": 1,
        "comments.E011": 1,
    }


def test_immediate_back_end_is_a_warning(settings):
    settings.TASKS = {"default": {"BACKEND": f"{tasks.__name__}.backends.immediate.ImmediateBackend"}}
    (found,) = check_comments_setting()
    assert (found.id, found.level) == ("comments.W012", WARNING)
    settings.TASKS["queue"] = {"BACKEND": "marginalia.tasks.MongoDBBackend"}
    settings.COMMENTS = {"TASKS": "queue"}
    assert check_comments_setting() == []


def test_default_setting_is_accepted(settings):
    assert check_comments_setting() == []
    settings.COMMENTS = {"TARGETS": {"auth.user": {"LAYOUT": "embedded", "ORDER": "newest", "OPTIONS": {"BOUND": 50}}}}
    assert check_comments_setting() == []
    settings.COMMENTS = {"TARGETS": {"auth.user": {"LAYOUT": "buckets", "EMBEDDED": {"BOUND": 50, "TRASH": "bin"}}}}
    assert check_comments_setting() == []
    assert layout_classes()["embedded"].options_of("auth.user")["BOUND"] == 50
    assert storage("auth.user").layout == "buckets"
