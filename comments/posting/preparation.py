"""What is done to a comment before it is stored: measured, rendered, cleaned, and its form's token tied to its text."""

import re
import secrets
from dataclasses import replace
from typing import NotRequired, TypedDict, Unpack

from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from marginalia.comments import conf
from marginalia.comments.errors import InvalidComment, TokenUsed
from marginalia.comments.types import Author, Comment, Held, Kind, NewComment, State, Verdict
from marginalia.markup.characters import is_blank, scrub
from marginalia.markup.text import is_empty

# Bytes of a stored comment besides text and names: paths of 8 levels, times, keys.
OVERHEAD = 1_500
MAX_NAME = 200
# NUL, and half of a surrogate pair, which JSON may bring: it has no bytes.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class Written(TypedDict):
    """What a comment is made of: `token` is its form's, `parent` the slug it answers, if any."""

    author: Author
    source: str
    token: str
    parent: NotRequired[str]
    email: NotRequired[str]
    kind: NotRequired[Kind]


def new_token() -> str:
    """Return a token for a form."""
    return secrets.token_urlsafe(16)


def said(token: str, source: str) -> str:
    """Return a keyed hash of what a form said: kept with the comment, it tells the same text sent again from another one."""
    text = f"{token}\0{source}".encode(errors="surrogatepass")  # what cannot be stored is refused elsewhere
    return salted_hmac("comments.said", text, algorithm="sha256").hexdigest()[:32]


def check_said(found: Comment | Held, token: str, source: str) -> None:
    """Raise TokenUsed unless what a form made stands, or waits, and was made of this text."""
    if found.removed if isinstance(found, Comment) else found.verdict is Verdict.WITHDRAWN:
        raise TokenUsed(_("This comment was deleted. Send it again to post it after all."))
    if found.said and found.said != said(token, source):
        raise TokenUsed(_("This form has posted a comment already. Send it again to post this one too."))


def prepare(**written: Unpack[Written]) -> NewComment:
    """Return a comment ready to be stored: measured, rendered and checked. Raises InvalidComment."""
    source = written["source"]
    measure(source)
    return checked(NewComment(**written, html=render(source), said=said(written["token"], source)))


def measure(source: str) -> None:
    """Look at the length of a text, before anything is made of it. Raises InvalidComment."""
    most = conf.get("MAX_LENGTH")
    if len(source) > most:
        raise InvalidComment(
            _("This text is too long. It has %(length)d characters, but at most %(most)d are allowed.")
            % {"length": len(source), "most": most}
        )


def render(source: str) -> str:
    """Return the clean HTML of a comment's source, as it would be stored: also for previews."""
    return str(conf.imported("RENDERER")(source))


def one_line(text: str) -> str:
    """Return a name, a URL or an e-mail address on one line, without the characters that no page, feed or mail should carry; ""
    for one that shows nothing."""
    line = " ".join(scrub(text).split())
    return "" if is_blank(line) else line


def checked(new: NewComment) -> NewComment:
    """Return `new`, with what is said of its author on one line, if it can be stored. Raises InvalidComment."""
    author = replace(new.author, name=one_line(new.author.name), url=one_line(new.author.url))
    new = replace(new, author=author, email=one_line(new.email))
    if new.state is not State.REMOVED and (is_blank(new.source) or is_empty(new.html)):
        raise InvalidComment(_("Please write something."))
    measure(new.source)
    if not new.token and not new.slug:
        raise InvalidComment(_("The form has expired: please send it again."))
    texts = (new.source, new.html, new.author.name, new.author.url, new.author.id or "", new.email)
    if any(map(_UNSTORABLE.search, texts)) or len(new.author.name) > MAX_NAME:
        raise InvalidComment(_("The name or the text holds what cannot be stored."))
    if sum(len(text.encode()) for text in texts) + OVERHEAD > conf.get("MAX_BYTES"):
        raise InvalidComment(_("This is too long."))
    return new
