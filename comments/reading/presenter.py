"""Comments as pages show them, and the fast way to make HTML of many.

`comments/comment.html` is an ordinary template. The one shipped here is not rendered for every comment, but once for each
combination of flags (a reply? edited? removed? …), with marks in place of the values; every comment then fills such a form by
string formatting. A project's own template may do anything with the values, so it is rendered comment by comment.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from html import escape
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary
from zlib import crc32

from django.db.models import Model
from django.template import Context, Template
from django.template.loader import select_template
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from marginalia.comments.reading.times import Clock
from marginalia.comments.types import Comment, Kind, Order, Target
from marginalia.comments.views import template_names

SHIPPED = Path(__file__).resolve().parents[1] / "templates"
# Stands for a slug while a URL is made; no slug can contain "1".
_SLUG = "1" * 16
_MARK = re.compile("\x00(\\w+)\x01")
# What a form may be filled with, each as it stands in HTML.
VALUES = (
    "anchor", "permalink", "name", "initials", "hue", "url", "html", "posted_iso", "posted_exact", "posted_day",
    "posted_ago", "edited_exact", "depth", "level", "answers_name", "answers_link", "reply_link", "thread_link", "flag_link",
)  # fmt: skip
# The colours of avatars: classes of comments.css.
HUES = 12


class Flags(NamedTuple):
    """What decides how a comment is shown; a template asks for them by name."""

    removed: bool
    edited: bool
    has_url: bool
    answers: bool
    # It answers one that stands beside it, not above: no thread goes deeper.
    is_beside: bool
    by_author: bool
    by_moderator: bool
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
    """A comment with what a template needs around it. Whatever is not here is the comment's own: see `types.Comment`."""

    # What it is about, where comments of several discussions are shown together.
    obj: Model | None = None

    def __init__(self, comment: Comment, presenter: "Presenter", flags: Flags) -> None:
        self.comment = comment
        self.presenter = presenter
        self.flags = flags

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
        self,
        target: Target,
        comments: Sequence[Comment],
        *,
        order: Order,
        may_reply: bool,
        is_own_order: bool = True,
        authors: Collection[str] = (),
    ) -> None:
        """`authors`: the accounts that wrote what is discussed, as COMMENTS["AUTHORS"] says."""
        self.target = target
        self.order = order
        self.may_reply = may_reply
        self.authors = authors
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
        author = comment.author
        # A page makes a hundred of these: by position.
        return Flags(
            not public,
            public and comment.edited is not None,
            public and bool(author.url),
            bool(comment.answers),
            comment.answers != comment.parent,
            author.id in self.authors,
            author.is_moderator,
            public and self.may_reply,
            comment.slug in self.answered,
            comment.kind is not Kind.COMMENT,
        )

    def values(self, comment: Comment, flags: Flags) -> dict[str, str]:
        """Return VALUES of one comment, as HTML."""
        urls = self.urls
        clock = self.clock
        slug = comment.slug
        author = comment.author
        name = author.name or _("Anonymous")
        initials, hue = avatar(name)
        values = {
            "anchor": f"c-{comment.part}",
            "permalink": f"{urls.permalink}{slug}{urls.permalink_tail}",
            "name": escape(name),
            "initials": initials,
            "hue": hue,
            "url": escape(author.url) if flags.has_url else "",
            "html": comment.html,
            "posted_iso": comment.posted.isoformat(timespec="seconds"),
            "posted_exact": clock.exact(comment.posted),
            "posted_day": clock.day(comment.posted),
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


@lru_cache(maxsize=10_000)
def avatar(name: str) -> tuple[str, str]:
    """Return what stands for a name in a small circle: the initials of its first and last word, safe in HTML, and the number of
    a colour, 1 … HUES, which is the same wherever the name stands."""
    letters = [next(filter(str.isalnum, word), "") for word in name.split()]
    words = [letter.upper()[:1] for letter in letters if letter]
    return "".join(words[:1] + words[1:][-1:]) or "?", str(crc32(name.encode()) % HUES + 1)


def comments_html(presenter: Presenter) -> list[str]:
    """Return the HTML of each comment of a presenter, by `comments/comment.html` or what overrides it."""
    template = select_template(template_names(presenter.target, "comment"))
    if shipped := _shipped(template):
        return _filled(shipped, presenter)
    return [template.render({"comment": view, "target": presenter.target}) for view in presenter.views()]


def _shipped(template: Any) -> Template | None:
    """Return a template that came with the app as what its forms are kept under; None for a project's own."""
    inner: Template | None = getattr(template, "template", None)
    return inner if isinstance(inner, Template) and SHIPPED in Path(inner.origin.name).parents else None


class Folds:
    """Replies that can be folded away, by `comments/folded.html` or what overrides it; made once for a list."""

    def __init__(self, target: Target) -> None:
        self._template = select_template(template_names(target, "folded"))
        shipped = _shipped(self._template)
        self._forms = _folds.setdefault(shipped, {}) if shipped else None

    def html(self, replies: Iterable[str], count: int, *, is_open: bool, is_rest: bool) -> str:
        """Return `count` replies, folded or open; `is_rest`: others of their thread stand before them."""
        context = {"count": count, "is_open": is_open, "is_rest": is_rest}
        if self._forms is None:
            return str(self._template.render({**context, "rendered": joined(replies)}))
        key = (get_language() or "", count, is_open, is_rest)
        if key not in self._forms:
            before, _, after = self._template.render({**context, "rendered": "\x00"}).partition("\x00")
            self._forms[key] = before, after
        before, after = self._forms[key]
        return f"{before}{''.join(replies)}{after}"


# By template: {(language, count, is_open, is_rest): what stands before the replies and after them}.
_folds: WeakKeyDictionary[Template, dict[tuple[str, int, bool, bool], tuple[str, str]]] = WeakKeyDictionary()


def _filled(template: Template, presenter: Presenter) -> list[str]:
    forms = _forms.setdefault(template, {})
    language = get_language() or ""
    html = []
    for comment in presenter.comments:
        flags = presenter.flags(comment)
        form = forms.get((language, flags))
        if form is None:
            form = forms[language, flags] = _form(template, flags)
        text, chosen = form
        html.append(text % chosen(presenter.values(comment, flags)))
    return html


# A string to be formatted, and what chooses the values for it.
Form = tuple[str, Callable[[dict[str, str]], tuple[str, ...]]]
# By template: {(language, flags): a form}. Where templates are reloaded, the forms go with the old one.
_forms: WeakKeyDictionary[Template, dict[tuple[str, Flags], Form]] = WeakKeyDictionary()


def _form(template: Template, flags: Flags) -> Form:
    marks = {name: SafeString(f"\x00{name}\x01") for name in VALUES}
    form = template.render(Context({"comment": {**marks, **flags._asdict()}})).replace("%", "%%")
    # By position, which is quicker than by name. Every form shows more than one value: itemgetter makes a tuple.
    return _MARK.sub("%s", form), itemgetter(*_MARK.findall(form))


def joined(parts: Iterable[str]) -> SafeString:
    """Return comments' HTML as one: each part was made of escaped values and of texts cleaned when they were written."""
    return SafeString("".join(parts))
