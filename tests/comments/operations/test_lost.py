"""Lost and malformed comments: audits report them, and no repair removes the evidence."""

import json
from contextlib import contextmanager
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from marginalia.comments.backends.stored import FIELDS
from marginalia.comments.errors import ConversionFailed
from marginalia.comments.types import Order, State
from tests.support.comments.layouts import EMBEDDED, FORMS, configure, lively
from tests.support.comments.making import new

pytestmark = pytest.mark.slow

forms = pytest.mark.parametrize("form", FORMS, ids=[" ".join(form) for form in FORMS])
COLLECTIONS = {"documents": "comments", "embedded": "auth_user", "buckets": "comment_pages"}
# Malformed comments, by the kind of damage.
DAMAGES = {
    **{
        f"without {name}": {"$unset": name}
        for name in FIELDS
        if name not in ("parent_id", "answers", "edited", "change", "op")
    },
    "number is a text": {"number": "7"},
    "time is a text": {"posted": "yesterday"},
    "author is a text": {"author": "Ann"},
    "unknown kind": {"kind": "poem"},
    "unknown state": {"state": "asleep"},
    "source is a number": {"source": 7},
    "slug of another shape": {"slug": "Not/a slug"},
}


@contextmanager
def check(*options):
    """Run check_comments on damaged comments, and yield its findings, which must include some that stay."""
    out = StringIO()
    with pytest.raises(CommandError, match="problems remain"):
        call_command("check_comments", "--json", *options, stdout=out)
    yield json.loads(out.getvalue())["findings"]


def change_stored(mongo, layout, slug, change):
    """Change a stored comment without validation: {"$unset": name} or fields. None deletes it."""
    stored = mongo[COLLECTIONS[layout]]
    holder = stored.find_one({"slug": slug} if layout == "documents" else {"comments.slug": slug})
    if layout == "documents" and change is None:
        stored.delete_one({"_id": holder["_id"]})
        return
    if layout == "documents":
        changed = altered(holder, change)
    else:
        comments = [altered(item, change) if item.get("slug") == slug else item for item in holder["comments"]]
        comments = [item for item in comments if item is not None]
        changed = {**holder, "comments": comments, **({"count": len(comments)} if layout == "buckets" else {})}
    stored.replace_one({"_id": holder["_id"]}, changed, bypass_document_validation=True)


def altered(comment, change):
    if change is None:
        return None
    if "$unset" in change:
        return {name: value for name, value in comment.items() if name != change["$unset"]}
    return comment | change


def leaves(backend, target):
    """Return public comments without replies."""
    known = list(backend.iterate(target))
    parents = {c.parent for c in known}
    return [c for c in known if c.state is State.PUBLIC and c.slug not in parents]


@forms
def test_lost_comments_are_reported_and_still_counted(mongo, settings, target, form):
    backend = configure(settings, *form)
    lively(backend, target)
    right = backend.discussion(target).count
    for lost in leaves(backend, target)[:7]:
        change_stored(mongo, form[0], lost.slug, None)
    for options in ((), ("--fix",), ("--fix",)):
        with check(*options) as (fault,):
            assert (fault["kind"], fault["repairable"]) == ("lost", False)
            assert fault["what"].startswith(f"its count is {right}, but it has {right - 7} comments")
    assert backend.discussion(target).count == right
    call_command("check_comments", "--fix", "--accept-loss", stdout=StringIO())
    assert backend.discussion(target).count == right - 7


@forms
def test_other_repairs_keep_the_count(mongo, settings, target, form):
    backend = configure(settings, *form)
    lively(backend, target)
    change_stored(mongo, form[0], leaves(backend, target)[0].slug, None)
    right = backend.discussion(target).count
    mongo.discussions.update_one({"_id": target.id}, {"$set": {"last_number": 1}})
    with check("--fix") as faults:
        assert {fault["kind"] for fault in faults} == {"lost", "numbers"}
    assert backend.discussion(target).count == right
    assert mongo.discussions.find_one({"_id": target.id})["last_number"] > 1


@forms
@pytest.mark.parametrize("damage", DAMAGES)
def test_malformed_comment_is_reported_and_omitted(mongo, settings, target, form, damage):
    backend = configure(settings, *form)
    lively(backend, target)
    bad, *_, lost, gone = leaves(backend, target)
    change_stored(mongo, form[0], bad.slug, DAMAGES[damage])
    (before, stored), stays = stored_comments(mongo, form[0]), backend.discussion(target).count
    with check("--fix", "--accept-loss") as faults:
        (named,) = [fault["what"] for fault in faults if fault["kind"] == "comment" and "malformed" in fault["what"]]
        assert ("without a slug" if damage == "without slug" else DAMAGES[damage].get("slug", bad.slug)) in named
        assert any(str(key) in named for key in stored)
    assert (stored_comments(mongo, form[0]), backend.discussion(target).count) == ((before, stored), stays)
    # Readers get all other comments, and the next fault is found too.
    read = {c.slug for c in backend.iterate(target)}
    assert bad.slug not in read
    assert {c.slug for c in backend.newest(target, 100).comments} < read
    pages = [backend.page(target, order=order, size=100) for order in (Order.OLDEST, Order.NEWEST, Order.THREADED)]
    assert all({c.slug for c in page.comments} == read for page in pages)
    assert {c.slug for c in backend.recent(100)} < read
    change_stored(mongo, form[0], gone.slug, None)
    change_stored(mongo, form[0], lost.slug, None)
    with check() as faults:
        assert "lost" in {fault["kind"] for fault in faults}


def stored_comments(mongo, layout):
    """Return the number of stored comments, and the ids of their documents."""
    documents = list(mongo[COLLECTIONS[layout]].find())
    return sum(len(d.get("comments", [0])) for d in documents), tuple(d["_id"] for d in documents)


@forms
def test_conversion_refuses_a_malformed_comment(mongo, settings, target, form):
    backend = configure(settings, *form)
    lively(backend, target)
    bad = leaves(backend, target)[0]
    change_stored(mongo, form[0], bad.slug, {"$unset": "html"})
    to = "documents" if form[0] == "buckets" else "buckets"
    with pytest.raises(ConversionFailed, match=f"{bad.slug} in the document"):
        backend.convert(target, to, form[1])
    assert backend.discussion(target).layout == form[0]


@pytest.mark.parametrize("form", [form for form in FORMS if form != EMBEDDED], ids=" ".join)
def test_copy_of_a_lost_discussion_is_kept(mongo, settings, target, form):
    """A comment is posted after the discussion's document was lost.

    The old comments are hidden, and nothing deletes them.
    """
    backend = configure(settings, *form)
    lively(backend, target)
    before, _ids = stored_comments(mongo, form[0])
    mongo.discussions.delete_one({"_id": target.id})
    backend.post(target, new("after the loss"))
    for _again in range(2):
        with check("--fix") as (fault,):
            assert (fault["kind"], fault["repairable"]) == ("lost", False)
            assert f"{before} comments that are stored nowhere else" in fault["what"]
        backend.convert(target, "documents" if form[0] == "buckets" else "buckets", form[1])
    assert stored_comments(mongo, form[0])[0] >= before
    call_command("check_comments", "--fix", "--accept-loss", stdout=StringIO())
    call_command("check_comments", stdout=StringIO())
