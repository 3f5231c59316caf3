"""Preparation of a comment for storage: length checks, rendering, cleaning.

It also binds the token of a form to its text.
"""

import re
import secrets
from dataclasses import replace
from typing import NotRequired, TypedDict, Unpack

from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from marginalia.comments import conf
from marginalia.comments.errors import InvalidComment, TokenUsed
from marginalia.comments.types import Comment, CommentAuthor, HeldComment, Kind, NewComment, State, Verdict
from marginalia.markup.characters import is_blank, scrub
from marginalia.markup.text import is_empty

# Bytes of a stored comment in addition to text and names: paths of 8 levels, times, keys.
OVERHEAD = 1_500
MAX_NAME = 200
# NUL, and halves of surrogate pairs, which JSON can contain but which have no bytes.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class CommentFields(TypedDict):
    """The fields of a new comment. `token` is that of its form, `parent` the slug that it replies to."""

    author: CommentAuthor
    source: str
    token: str
    parent: NotRequired[str]
    email: NotRequired[str]
    kind: NotRequired[Kind]


def new_token() -> str:
    """Return a token for a form."""
    return secrets.token_urlsafe(16)


def hash_text(token: str, source: str) -> str:
    """Return a keyed hash of the text that was sent with `token`.

    It is stored with the comment, to tell whether the form was sent again with the same text or with another one.
    """
    text = f"{token}\0{source}".encode(errors="surrogatepass")  # unstorable text is refused elsewhere
    return salted_hmac("comments.said", text, algorithm="sha256").hexdigest()[:32]


def check_same_text(stored: Comment | HeldComment, token: str, source: str) -> None:
    """Raise TokenUsed if the comment of a form was deleted or withdrawn, or has another text than `source`."""
    if stored.removed if isinstance(stored, Comment) else stored.verdict is Verdict.WITHDRAWN:
        raise TokenUsed(_("This comment was deleted. Send it again to post it after all."))
    if stored.text_hash and stored.text_hash != hash_text(token, source):
        raise TokenUsed(_("This form has posted a comment already. Send it again to post this one too."))


def prepare(**fields: Unpack[CommentFields]) -> NewComment:
    """Return a comment ready to be stored: measured, rendered and checked. Raises InvalidComment."""
    source = fields["source"]
    check_length(source)
    return clean(NewComment(**fields, html=render(source), text_hash=hash_text(fields["token"], source)))


def check_length(source: str) -> None:
    """Check the length of a text before it is processed. Raises InvalidComment."""
    limit = conf.get("MAX_LENGTH")
    if len(source) > limit:
        raise InvalidComment(
            _("This text is too long. It has %(length)d characters, but at most %(most)d are allowed.")
            % {"length": len(source), "most": limit}
        )


def render(source: str) -> str:
    """Return the clean HTML of the source of a comment as it would be stored. Also used for previews."""
    return str(conf.load("RENDERER")(source))


def one_line(text: str) -> str:
    """Return a name, a URL or an email address on one line.

    Characters that no page, feed or email should contain are removed. Return "" if nothing visible is left.
    """
    line = " ".join(scrub(text).split())
    return "" if is_blank(line) else line


def clean(new: NewComment) -> NewComment:
    """Return `new` with the author's data on one line. Raises InvalidComment if it cannot be stored."""
    author = replace(new.author, name=one_line(new.author.name), url=one_line(new.author.url))
    new = replace(new, author=author, email=one_line(new.email))
    if new.state is not State.REMOVED and (is_blank(new.source) or is_empty(new.html)):
        raise InvalidComment(_("Please write something."))
    check_length(new.source)
    if not new.token and not new.slug:
        raise InvalidComment(_("The form has expired: please send it again."))
    texts = (new.source, new.html, new.author.name, new.author.url, new.author.id or "", new.email)
    if any(map(_UNSTORABLE.search, texts)) or len(new.author.name) > MAX_NAME:
        raise InvalidComment(_("The name or the text holds what cannot be stored."))
    if sum(len(text.encode()) for text in texts) + OVERHEAD > conf.get("MAX_BYTES"):
        raise InvalidComment(_("This is too long."))
    return new
