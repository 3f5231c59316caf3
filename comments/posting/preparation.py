"""Preparation of comments for storage: length checks, rendering and cleaning.

This module also checks that a form's token is not used for two different texts.
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

# How many bytes a stored comment can contain in addition to its text and its author's data: paths with 8 levels, times
# and keys.
OVERHEAD = 1_500
MAX_NAME = 200
# Matches NUL and unpaired surrogates. JSON can contain these characters, but MongoDB can't store them.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class CommentFields(TypedDict):
    """The fields of a new comment.

    Attributes:
        token: The token of the form.
        parent: The slug of the comment that the new comment replies to, or "".
    """

    author: CommentAuthor
    source: str
    token: str
    parent: NotRequired[str]
    email: NotRequired[str]
    kind: NotRequired[Kind]


def new_token() -> str:
    """Return a new token for a form."""
    return secrets.token_urlsafe(16)


def hash_text(token: str, source: str) -> str:
    """Return a keyed hash of the text that is sent with `token`.

    The hash is stored with the comment. If the form is sent again, comparing the hashes shows whether the text is still
    the same.
    """
    # Text that can't be stored must not raise an error here. `clean` rejects it.
    text = f"{token}\0{source}".encode(errors="surrogatepass")
    return salted_hmac("comments.said", text, algorithm="sha256").hexdigest()[:32]


def check_same_text(stored: Comment | HeldComment, token: str, source: str) -> None:
    """Check that the comment stored for a form still exists, and that it was sent with the text `source`.

    Raises:
        TokenUsed: The comment was removed or withdrawn, or was sent with different text.
    """
    if stored.removed if isinstance(stored, Comment) else stored.verdict is Verdict.WITHDRAWN:
        raise TokenUsed(_("This comment was deleted. To post it again, send it once more."))
    if stored.text_hash and stored.text_hash != hash_text(token, source):
        raise TokenUsed(_("A comment was already posted with this form. To post this comment as well, send it again."))


def prepare(**fields: Unpack[CommentFields]) -> NewComment:
    """Return a new comment that is ready to be stored.

    Raises:
        InvalidComment: The comment can't be stored, for example because it is empty or too long.
    """
    source = fields["source"]
    check_length(source)
    return clean(NewComment(**fields, html=render(source), text_hash=hash_text(fields["token"], source)))


def check_length(source: str) -> None:
    """Check the length of the text before it is processed.

    Raises:
        InvalidComment: The text is too long.
    """
    limit = conf.get("MAX_LENGTH")
    if len(source) > limit:
        raise InvalidComment(
            _("This text is too long. It has %(length)d characters, and the maximum is %(most)d.")
            % {"length": len(source), "most": limit}
        )


def render(source: str) -> str:
    """Render `source` as the clean HTML that is stored with the comment, or shown in a preview."""
    return str(conf.load("RENDERER")(source))


def one_line(text: str) -> str:
    """Return a name, a URL or an email address as a single line.

    Characters that must not appear in a page, a feed or an email are removed. The result is "" if nothing visible
    remains.
    """
    line = " ".join(scrub(text).split())
    return "" if is_blank(line) else line


def clean(new: NewComment) -> NewComment:
    """Check a new comment, and return it with each field of the author's data as a single line.

    Raises:
        InvalidComment: The comment can't be stored.
    """
    author = replace(new.author, name=one_line(new.author.name), url=one_line(new.author.url))
    new = replace(new, author=author, email=one_line(new.email))
    if new.state is not State.REMOVED and (is_blank(new.source) or is_empty(new.html)):
        raise InvalidComment(_("Enter a comment."))
    check_length(new.source)
    if not new.token and not new.slug:
        raise InvalidComment(_("This form has expired. Please send it again."))
    texts = (new.source, new.html, author.name, author.url, author.picture, author.id or "", new.email)
    if any(map(_UNSTORABLE.search, texts)) or len(author.name) > MAX_NAME:
        raise InvalidComment(
            _("The name or the text contains characters that can't be stored. Remove them and send your comment again.")
        )
    if sum(len(text.encode()) for text in texts) + OVERHEAD > conf.get("MAX_BYTES"):
        raise InvalidComment(_("This comment is too long. Shorten it and send it again."))
    return new
