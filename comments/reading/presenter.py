"""Comments as pages show them, and the fast way to make HTML of many.

`comments/comment.html` is an ordinary template. The one shipped here is not rendered for every comment, but once for each
combination of flags (a reply? edited? removed? …), with marks in place of the values; every comment then fills such a form by
string formatting. A project's own template may do anything with the values, so it is rendered comment by comment.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from django.db.models import Model
from django.template import Context, Template
from django.template.loader import select_template
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from comments.reading.times import Clock
from comments.types import Comment, Kind, Order, Target
from comments.views import template_names

SHIPPED = Path(__file__).resolve().parents[1] / "templates"
# Stands for a slug while a URL is made; no slug can contain "1".
_SLUG = "1" * 16
# What a form may be filled with, each as it stands in HTML.
VALUES = (
    "anchor", "permalink", "name", "url", "html", "posted_iso", "posted_exact", "posted_ago", "edited_exact",
    "depth", "level", "answers_name", "answers_link", "reply_link", "thread_link", "flag_link",
)  # fmt: skip


class Flags(NamedTuple):
    """What decides how a comment is shown; a template asks for them by name."""

    removed: bool
    edited: bool
    has_url: bool
    answers: bool
    may_reply: bool
    has_replies: bool
    is_ping: bool


@dataclass(frozen=True)
class CommentUrls:
    """The beginnings of the URLs that a discussion's comments need; each ends in a slug."""

    permalink: str
    permalink_tail: str
    reply: str
    thread: str
    flag: str

    @classmethod
    def of(cls, target: Target, order: str = "") -> "CommentUrls":
        """Return the URLs of a target's comments; `order` is what permalinks open, "" the discussion's own."""

        def before_slug(name: str) -> str:
            return reverse(name, args=[target.label, target.pk, _SLUG]).removesuffix(_SLUG)

        form = reverse("comments-form", args=[target.label, target.pk])
        return cls(
            before_slug("comments-url-redirect"),
            f"?order={order}" if order else "",
            f"{form}?parent=",
            before_slug("comments-thread"),
            before_slug("comments-flag"),
        )


# What templates that were written for Django's comments framework call these.
OLD_NAMES = {"user_name": "name", "user_url": "url", "submit_date": "posted", "is_removed": "removed"}


class CommentView:
    """A comment with what a template needs around it. Whatever is not here is the comment's own: see comments.types.Comment."""

    # What it is about, where comments of several discussions are shown together.
    obj: Model | None = None

    def __init__(self, comment: Comment, presenter: "Presenter", flags: Flags) -> None:
        self.comment, self.presenter, self.flags = comment, presenter, flags

    def __getattr__(self, name: str) -> Any:
        if name in Flags._fields:
            return getattr(self.flags, name)
        if name in VALUES:
            return self.values[name]
        return getattr(self, OLD_NAMES[name]) if name in OLD_NAMES else getattr(self.comment, name)

    def __str__(self) -> str:
        return str(self.comment)

    @cached_property
    def values(self) -> dict[str, str]:
        """VALUES as HTML, escaped."""
        return {name: SafeString(value) for name, value in self.presenter.values(self.comment, self.flags).items()}

    def get_absolute_url(self) -> str:
        """Return the permalink."""
        return self.presenter.urls.permalink + self.comment.slug + self.presenter.urls.permalink_tail


class Presenter:
    """Comments that are shown together."""

    def __init__(
        self, target: Target, comments: Sequence[Comment], *, order: Order, may_reply: bool, is_own_order: bool = True
    ) -> None:
        self.target, self.order, self.may_reply = target, order, may_reply
        self.urls = CommentUrls.of(target, "" if is_own_order else order.value)
        self.clock = Clock()
        self.by_slug = {comment.slug: comment for comment in comments}
        self.answered = {comment.answers for comment in comments}
        self.comments = [comment for comment in comments if not comment.removed or self._is_needed(comment)]

    def _is_needed(self, removed: Comment) -> bool:
        """Return whether a removed comment keeps its place on the page: one of those shown hangs below it."""
        return removed.slug in self.answered or removed.slug in self._above

    @cached_property
    def _above(self) -> set[str]:
        paths = (slug.split("/") for slug in self.by_slug)
        return {"/".join(path[:depth]) for path in paths for depth in range(1, len(path))}

    def views(self) -> list[CommentView]:
        """Return the comments for templates."""
        return [CommentView(comment, self, self.flags(comment)) for comment in self.comments]

    def flags(self, comment: Comment) -> Flags:
        """Return how a comment is shown."""
        public = not comment.removed
        return Flags(
            removed=not public,
            edited=public and comment.edited is not None,
            has_url=public and comment.author.url.startswith(("http://", "https://")),
            answers=bool(comment.answers),
            may_reply=public and self.may_reply,
            has_replies=comment.slug in self.answered,
            is_ping=comment.kind is not Kind.COMMENT,
        )

    def values(self, comment: Comment, flags: Flags) -> dict[str, str]:
        """Return VALUES of one comment, as HTML."""
        urls, clock, slug, author = self.urls, self.clock, comment.slug, comment.author
        values = {
            "anchor": f"c-{comment.part}",
            "permalink": f"{urls.permalink}{slug}{urls.permalink_tail}",
            "name": escape(author.name) if author.name else _("Anonymous"),
            "url": escape(author.url) if flags.has_url else "",
            "html": comment.html,
            "posted_iso": comment.posted.isoformat(timespec="seconds"),
            "posted_exact": clock.exact(comment.posted),
            "posted_ago": clock.ago(comment.posted),
            "edited_exact": clock.exact(comment.edited) if comment.edited else "",
            "depth": str(comment.depth),
            "level": str(comment.depth + 1),
            "answers_name": "",
            "answers_link": "",
            "reply_link": f"{urls.reply}{slug}",
            "thread_link": f"{urls.thread}{slug}",
            "flag_link": f"{urls.flag}{slug}",
        }
        if flags.answers:
            above = self.by_slug.get(comment.answers)
            name = above.author.name if above else ""
            values["answers_name"] = escape(name) or (_("a removed comment") if above else _("a comment"))
            values["answers_link"] = f"#c-{above.part}" if above else f"{urls.permalink}{comment.answers}"
        return values


def comments_html(presenter: Presenter) -> list[str]:
    """Return the HTML of each comment of a presenter, by `comments/comment.html` or what overrides it."""
    template = select_template(template_names(presenter.target, "comment"))
    inner: Template | None = getattr(template, "template", None)
    if isinstance(inner, Template) and SHIPPED in Path(inner.origin.name).parents:
        return _filled(inner, presenter)
    return [template.render({"comment": view, "target": presenter.target}) for view in presenter.views()]


def _filled(template: Template, presenter: Presenter) -> list[str]:
    forms = _forms.setdefault(template, {})
    language = get_language() or ""
    html = []
    for comment in presenter.comments:
        flags = presenter.flags(comment)
        form = forms.get((language, flags))
        if form is None:
            form = forms[language, flags] = _form(template, flags)
        html.append(form % presenter.values(comment, flags))
    return html


# By template: {(language, flags): a string to be formatted}. Where templates are reloaded, the forms go with the old one.
_forms: WeakKeyDictionary[Template, dict[tuple[str, Flags], str]] = WeakKeyDictionary()


def _form(template: Template, flags: Flags) -> str:
    marks = {name: SafeString(f"\x00{name}\x01") for name in VALUES}
    form = template.render(Context({"comment": {**marks, **flags._asdict()}})).replace("%", "%%")
    return form.replace("\x00", "%(").replace("\x01", ")s")


def joined(parts: Iterable[str]) -> SafeString:
    """Return comments' HTML as one: each part was made of escaped values and of texts cleaned when they were written."""
    return SafeString("".join(parts))
