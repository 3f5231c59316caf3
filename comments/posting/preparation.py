"""Preparation of comments for storage: length checks, rendering and cleaning.

This module also checks that a form's token is not used for two different texts.
"""

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NotRequired, TypedDict, Unpack

from django.core.serializers.json import DjangoJSONEncoder
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from marginalia.comments import conf
from marginalia.comments.errors import InvalidComment, TokenUsed
from marginalia.comments.types import Comment, CommentAuthor, HeldComment, Kind, NewComment, State, Verdict
from marginalia.markup.characters import is_blank, scrub
from marginalia.markup.text import is_empty

# How many bytes a stored comment can contain in addition to its text and its author's data: paths with 8 levels, times
# and keys.
OVERHEAD = 1_500
MAX_NAME = 200
# The maximum size of the values of a project's own form fields, and how deep they can be nested.
MAX_EXTRA_BYTES = 4_000
MAX_EXTRA_LEVELS = 4
# Matches NUL and unpaired surrogates. JSON can contain these characters, but MongoDB can't store them.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_NOT_STORABLE = gettext_lazy(
    "An additional field contains a value that can't be stored. Change it and send your comment again."
)


class CommentFields(TypedDict):
    """The fields of a new comment.

    Attributes:
        token: The token of the form.
        parent: The slug of the comment that the new comment replies to, or "".
        extra: The values of the fields that a project's form adds.
    """

    author: CommentAuthor
    source: str
    token: str
    parent: NotRequired[str]
    email: NotRequired[str]
    kind: NotRequired[Kind]
    extra: NotRequired[Mapping[str, Any]]


def new_token() -> str:
    """Return a new token for a form."""
    return secrets.token_urlsafe(16)


def hash_text(token: str, source: str, extra: Mapping[str, Any] | None = None) -> str:
    """Return a keyed hash of the text and the values of own form fields that are sent with `token`.

    The hash is stored with the comment. If the form is sent again, comparing the hashes shows whether the text is still
    the same.
    """
    values = f"\0{json.dumps(extra, cls=DjangoJSONEncoder, sort_keys=True)}" if extra else ""
    # Text that can't be stored must not raise an error here. `clean` rejects it.
    text = f"{token}\0{source}{values}".encode(errors="surrogatepass")
    return salted_hmac("comments.said", text, algorithm="sha256").hexdigest()[:32]


def check_same_text(stored: Comment | HeldComment, token: str, source: str, extra: Mapping[str, Any]) -> None:
    """Check that the comment stored for a form still exists, and that it was sent with the text `source` and `extra`.

    Raises:
        TokenUsed: The comment was removed or withdrawn, or was sent with different text.
    """
    if stored.removed if isinstance(stored, Comment) else stored.verdict is Verdict.WITHDRAWN:
        raise TokenUsed(_("This comment was deleted. To post it again, send it once more."))
    if stored.text_hash and stored.text_hash != hash_text(token, source, extra):
        raise TokenUsed(_("A comment was already posted with this form. To post this comment as well, send it again."))


def prepare(**fields: Unpack[CommentFields]) -> NewComment:
    """Return a new comment that is ready to be stored.

    Raises:
        InvalidComment: The comment can't be stored, for example because it is empty or too long.
    """
    source = fields["source"]
    check_length(source)
    fields["extra"] = clean_extra(fields.get("extra", {}))
    text_hash = hash_text(fields["token"], source, fields["extra"])
    return clean(NewComment(**fields, html=render(source), text_hash=text_hash))


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
    new = replace(new, author=author, email=one_line(new.email), extra=clean_extra(new.extra))
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
    size = sum(len(text.encode()) for text in (*texts, json.dumps(new.extra)))
    if size + OVERHEAD > conf.get("MAX_BYTES"):
        raise InvalidComment(_("This comment is too long. Shorten it and send it again."))
    return new


def clean_extra(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a project's own form fields in types that JSON has. Dates and decimals become text.

    Raises:
        InvalidComment: The values are too large, or contain characters or numbers that can't be stored.
    """
    try:
        encoded = json.dumps(values, cls=DjangoJSONEncoder, allow_nan=False, ensure_ascii=False)
    except (ValueError, RecursionError) as error:
        raise InvalidComment(_NOT_STORABLE) from error
    if len(encoded.encode(errors="surrogatepass")) > MAX_EXTRA_BYTES:
        raise InvalidComment(_("The additional fields are too long. Shorten them and send your comment again."))
    cleaned: dict[str, Any] = json.loads(encoded)
    if not _is_storable(cleaned, MAX_EXTRA_LEVELS):
        raise InvalidComment(_NOT_STORABLE)
    return cleaned


def _is_storable(value: Any, levels: int) -> bool:
    if isinstance(value, dict):
        # MongoDB gives names with these characters a special meaning.
        named = all(name and not set(name) & set("$.\0") and _is_storable(name, 0) for name in value)
        return named and _is_storable(list(value.values()), levels)
    if isinstance(value, list):
        return levels > 0 and all(_is_storable(item, levels - 1) for item in value)
    if isinstance(value, str):
        return not _UNSTORABLE.search(value)
    return not isinstance(value, int) or abs(value) < 2**63
