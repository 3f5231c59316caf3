"""A page of a discussion, ready for templates: read, shown, folded, linked."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

from django.db.models import Model
from django.urls import reverse
from django.utils.safestring import SafeString

from marginalia.comments import conf, targets
from marginalia.comments.errors import TargetNotFound
from marginalia.comments.reading import paging
from marginalia.comments.reading.presenter import CommentView, Folds, Presenter, comments_html, joined
from marginalia.comments.types import Comment, Discussion, Order, Page, Target

ANCHOR = "comments"
# Comments of one thread above which a threaded page folds the rest away, and how many it leaves.
FOLD_ABOVE, FOLD_LEAVES = 12, 8


@dataclass(frozen=True)
class Subject:
    """What is discussed: a target, and its object where the caller has it."""

    target: Target
    obj: Model | None = None

    @classmethod
    def of(cls, obj: Model | Target) -> "Subject":
        """Return the subject that an object or a target is."""
        return cls(targets.of(obj), obj if isinstance(obj, Model) else None)

    @cached_property
    def object(self) -> Model | None:
        """The object, looked up if need be; None if readers may not see it."""
        if self.obj is not None:
            return self.obj
        try:
            return targets.resolve(self.target)
        except TargetNotFound:
            return None

    def is_open(self, discussion: Discussion) -> bool:
        """Return whether comments are taken now."""
        return self.object is not None and not conf.imported("POLICY")(self.object).is_closed(discussion)

    def authors(self) -> Collection[str]:
        """Return the accounts that wrote the object, as COMMENTS["AUTHORS"] says."""
        found: Collection[str] = conf.imported("AUTHORS")(self.object) if self.object is not None else ()
        return found


def listing(subject: Subject, page: Page, *, at: str = "", address: str = "") -> dict[str, Any]:
    """Return what list templates show of a page that was read; `at`: the comment that it was asked for with; `address`: where
    the list is shown."""
    is_open = subject.is_open(page.discussion)
    presenter = Presenter(
        subject.target,
        page.comments,
        order=page.order,
        may_reply=is_open,
        is_own_order=page.order is page.discussion.order,
        authors=subject.authors(),
    )
    return {
        **described(subject, page),
        "comments": LazyComments(presenter),
        "rendered": rendered(presenter, at),
        "is_open": is_open,
        "links": paging.links(page, address, ANCHOR),
    }


def described(subject: Subject, page: Page) -> dict[str, Any]:
    """Return what templates show of the discussion itself."""
    arguments = [subject.target.label, subject.target.pk]
    return {
        "target": subject.target,
        "page": page,
        "count": page.discussion.count,
        "anchor": ANCHOR,
        "form_url": reverse("comments-form", args=arguments),
        "feed_url": reverse("comments-feed", args=arguments),
    }


class LazyComments(Sequence[CommentView]):
    """The comments of a presenter for templates that loop over them; made when first looked at."""

    def __init__(self, presenter: Presenter) -> None:
        self.presenter = presenter
        self._views: list[CommentView] | None = None

    def _made(self) -> list[CommentView]:
        if self._views is None:
            self._views = self.presenter.views()
        return self._views

    def __getitem__(self, index: Any) -> Any:
        return self._made()[index]

    def __len__(self) -> int:
        return len(self.presenter.comments)


def rendered(presenter: Presenter, at: str = "") -> SafeString:
    """Return the list's HTML; in threads replies can be folded, and those beyond the first are, unless the comment `at` is
    among them."""
    html = comments_html(presenter)
    if presenter.order is not Order.THREADED:
        return joined(html)
    return joined(_folded(presenter, list(zip(presenter.comments, html, strict=True)), at))


def _folded(presenter: Presenter, pairs: Iterable[tuple[Comment, str]], at: str) -> Iterator[str]:
    folds = Folds(presenter.target)
    for _root, thread in groupby(pairs, key=lambda pair: pair[0].slug.partition("/")[0]):
        (_first, html), *replies = thread
        yield html
        if not replies:
            continue
        shown = replies if len(replies) < FOLD_ABOVE else replies[: FOLD_LEAVES - 1]
        inside = [html for _, html in shown]
        if rest := replies[len(shown) :]:
            is_open = any(comment.slug == at for comment, _ in rest)
            inside.append(folds.html([html for _, html in rest], len(rest), is_open=is_open, is_rest=True))
        yield folds.html(inside, len(replies), is_open=True, is_rest=False)


def scattered(found: Iterable[tuple[Comment, Model]]) -> list[CommentView]:
    """Return comments of several discussions for templates; each has `obj`, what it is about."""
    return [_alone(comment, obj) for comment, obj in found]


def _alone(comment: Comment, obj: Model) -> CommentView:
    view = Presenter(comment.target, [comment], order=Order.OLDEST, may_reply=False).views()[0]
    view.obj = obj
    return view
