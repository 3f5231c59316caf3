"""Time to hide thousands of similar comments with one decision, and to undo it, in each comment layout."""

import os
from typing import Any

from benchmarks import report, site
from benchmarks.comments import prepare
from benchmarks.timing import measure_seconds

COMMENTS = int(os.environ.get("BENCH_DECISIONS", "1000" if site.QUICK else "10000"))
# How many spam comments each discussion contains. An embedded discussion has room for about 200 comments.
IN_EACH = 100
HONEST = 20
SPAM = "You can win one million dollars today if you only visit our new and shiny casino, number {0}, right now. " * 2
MAX_SECONDS = 10
COLUMNS = ["Layout", "Discussions", "Preview", "Hide", "Undo", f"≤ {MAX_SECONDS} s"]
TEXT = f"""These are the seconds that one process needs to count, hide and restore {COMMENTS:,} comments with a similar
text, among other comments. “Pending” comments are waiting for a moderator."""


def main() -> None:
    """Measure every layout, and publish the results."""
    with site.temporary_site():
        prepare()
        rows = [_measure(*trial) for trial in _trials()]
        report.publish("decisions", [report.Table("Decisions", TEXT, COLUMNS, rows)])


def _trials() -> list[tuple[str, str, str, int]]:
    many = COMMENTS // IN_EACH
    return [
        ("documents", "documents", "oldest", many),
        ("documents", "documents", "oldest", 1),
        ("embedded", "embedded", "oldest", many),
        ("buckets", "buckets", "oldest", many),
        ("buckets", "buckets", "oldest", 1),
        ("threaded buckets", "buckets", "threaded", many),
        ("pending", "", "oldest", many),
    ]


def _measure(name: str, layout: str, order: str, discussions: int) -> list[object]:
    from marginalia.comments.backends.mongodb import MongoBackend
    from marginalia.comments.types import Selection, Verdict

    backend = MongoBackend()
    targets = _fill(backend, layout, order, discussions)
    slug = next(hit.slug for hit in backend.search(Selection(terms=("account:66",)), _states(), limit=1))
    alike = next(
        terms for target in targets if (terms := [t for t in backend.terms_of(target, slug) if t.startswith("like:")])
    )
    selection = Selection(alike=tuple(alike))
    preview = measure_seconds(lambda: backend.count_selected(selection))
    batch = backend.start_batch(selection, Verdict.SPAM)
    hide = measure_seconds(lambda: backend.work_on_batch(batch.id))
    done = backend.batch(batch.id)
    assert done
    assert done.total == COMMENTS
    backend.undo_batch(batch.id)
    undo = measure_seconds(lambda: backend.work_on_batch(batch.id))
    undone = backend.batch(batch.id)
    assert undone
    assert undone.restored == COMMENTS
    for target in targets:
        backend.delete_discussion(target)
    is_met = "met" if max(hide, undo) <= MAX_SECONDS else "missed"
    return [name, f"{discussions:,}", f"{preview:.2f}", f"{hide:.2f}", f"{undo:.2f}", is_met]


def _states() -> tuple[Any, ...]:
    from marginalia.comments.types import State, Verdict

    return State.PUBLIC, Verdict.WAITING


def _fill(backend: Any, layout: str, order: str, discussions: int) -> list[Any]:
    """Store the comments in new discussions, and return their targets."""
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.core.signals import setting_changed

    from marginalia.comments.types import CommentAuthor, NewComment, Target

    # The bound in bytes is raised, so that these discussions stay embedded.
    options = {"OPTIONS": {"BOUND_BYTES": 1_000_000}} if layout == "embedded" else {}
    settings.COMMENTS = {"TARGETS": {"auth.user": {"LAYOUT": layout or "documents", "ORDER": order, **options}}}
    setting_changed.send(sender=None, setting="COMMENTS", value=None, enter=True)
    targets = []
    for number in range(discussions):
        user = User.objects.create_user(f"{layout}-{order}-{discussions}-{number}")
        target = Target("auth.user", str(user.pk))
        targets.append(target)

        def new(text: str, account: str, token: str) -> NewComment:
            return NewComment(CommentAuthor("A", account), text, f"<p>{text}</p>", token)

        spam = [
            new(SPAM.format(n), "66", f"spam {layout} {order} {discussions} {number} {n}")
            for n in range(COMMENTS // discussions)
        ]
        honest = [new(f"An honest answer with the number {n}", "7", f"honest {number} {n}") for n in range(HONEST)]
        if layout:
            backend.import_(target, [*honest, *spam])
            assert backend.discussion(target).layout == layout
        else:
            for comment in spam:
                backend.hold(target, comment)
    return targets
