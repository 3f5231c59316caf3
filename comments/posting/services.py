"""Writes. Views, admin and commands call these and nothing below them.

`target` is a saved object or a Target. `token` is the form's: the same one sent again with the same text never does a thing
twice, and with another text never pretends to. Text is rendered and cleaned here, once, before anything is claimed.
"""

import re
import secrets
from collections.abc import Iterable
from dataclasses import replace

from django.db.models import Model
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from comments import conf, slugs, targets
from comments.backends import backend
from comments.errors import InvalidComment, TokenUsed
from comments.notices import subscriptions
from comments.posting import flags, ip_hash
from comments.reading import selectors
from comments.types import Author, Comment, Held, Kind, NewComment, Posted, State, Target, Verdict
from markup.characters import scrub

# Bytes of a stored comment besides text and names: paths of 8 levels, times, keys.
OVERHEAD = 1_500
MAX_NAME = 200
# NUL, and half of a surrogate pair, which JSON may bring: it has no bytes.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


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


def prepare(
    *,
    author: Author,
    source: str,
    token: str,
    parent: str = "",
    email: str = "",
    kind: Kind = Kind.COMMENT,
    html: str | None = None,
) -> NewComment:
    """Return a comment ready to be stored: measured and rendered (unless its clean `html` is given). Raises
    InvalidComment."""
    measure(source)
    return checked(
        NewComment(
            author=author,
            source=source,
            html=render(source) if html is None else html,
            token=token,
            parent=parent,
            email=email,
            kind=kind,
            said=said(token, source),
        )
    )


def measure(source: str) -> None:
    """Look at the length of a text, before anything is made of it. Raises InvalidComment."""
    most = conf.get("MAX_LENGTH")
    if len(source) > most:
        raise InvalidComment(_("This is too long: %(most)d characters are allowed.") % {"most": most})


def render(source: str) -> str:
    """Return the clean HTML of a comment's source, as it would be stored: also for previews."""
    return str(conf.imported("RENDERER")(source))


def one_line(text: str) -> str:
    """Return a name or an address on one line, without the characters that no page, feed or mail should carry."""
    return " ".join(scrub(text).split())


def checked(new: NewComment) -> NewComment:
    """Return `new`, with what is said of its author on one line, if it can be stored. Raises InvalidComment."""
    author = replace(new.author, name=one_line(new.author.name), url=one_line(new.author.url))
    new = replace(new, author=author, email=one_line(new.email))
    if not new.source.strip() and new.state is not State.REMOVED:
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


def post(
    target: Model | Target,
    *,
    author: Author,
    source: str,
    token: str,
    parent: str = "",
    email: str = "",
    kind: Kind = Kind.COMMENT,
) -> Posted:
    """Publish a comment; `parent` is the slug it answers, or "".

    Raises InvalidComment, InvalidParent, DiscussionClosed, DiscussionBusy, TargetNotFound, TokenUsed.
    """
    new = prepare(author=author, source=source, token=token, parent=parent, email=email, kind=kind)
    return _as_said(backend().post(targets.of(target), new), new)


def finish(target: Model | Target, slug: str) -> bool:
    """Count a comment whose writer stopped before it was counted; return whether it was such a one. A form that is sent
    again does this first."""
    return backend().finish(targets.of(target), slug)


def hold(
    target: Model | Target,
    *,
    author: Author,
    source: str,
    token: str,
    parent: str = "",
    email: str = "",
    kind: Kind = Kind.COMMENT,
    reasons: Iterable[str] = (),
) -> Posted:
    """Put a comment into the queue instead of publishing it; `reasons` are for the moderators. Raises as `post`."""
    new = prepare(author=author, source=source, token=token, parent=parent, email=email, kind=kind)
    return _as_said(backend().hold(targets.of(target), new, tuple(reasons)), new)


def _as_said(posted: Posted, new: NewComment) -> Posted:
    """Return what came of a post, unless it came of another text under the same token."""
    if found := posted.comment or posted.held:
        check_said(found, new.token, new.source)
    return posted


def approve(held_id: str, *, by: str = "", rev: int = 0) -> Comment:
    """Publish a queued comment in its original place, once; `rev` is the one that the moderator saw, 0 for any. Raises
    CommentNotFound, HeldChanged, TargetNotFound."""
    return backend().approve(held_id, by, rev)


def change_held(held_id: str, *, source: str, rev: int) -> Held:
    """Replace the text of a comment that waits, for its author. Raises InvalidComment, CommentNotFound, HeldChanged."""
    new = prepare(author=Author(""), source=source, token="held")
    return backend().change_held(held_id, source=source, html=new.html, rev=rev)


def withdraw(held_id: str) -> Held:
    """Take a waiting comment out of the queue, for its author, with the address that it was sent from. Raises
    CommentNotFound."""
    withdrawn = backend().withdraw(held_id)
    ip_hash.erase(withdrawn.target, withdrawn.slug)
    return withdrawn


def reject(held_id: str, *, by: str = "", verdict: Verdict = Verdict.REJECTED) -> Held:
    """Decide against a queued comment (REJECTED, SPAM), or let it wait again (WAITING). Raises CommentNotFound."""
    return backend().reject(held_id, by, verdict)


def edit(target: Model | Target, slug: str, *, source: str, rev: int, token: str, by: str = "") -> Comment:
    """Replace a comment's text; `rev` is the one the form showed. Raises InvalidComment, CommentNotFound,
    EditConflict."""
    new = prepare(author=Author(""), source=source, token=token)
    return backend().edit(targets.of(target), slug, source=source, html=new.html, rev=rev, token=new.said, by=by)


def remove(target: Model | Target, slug: str, *, rev: int | None = None, token: str = "", by: str = "") -> Comment:
    """Make a tombstone of a comment. Without `rev` whatever is stored is meant. Raises CommentNotFound,
    EditConflict."""
    subject = targets.of(target)
    seen = selectors.get(subject, slug).rev if rev is None else rev
    return backend().remove(subject, slug, rev=seen, token=token or new_token(), by=by)


def restore(target: Model | Target, slug: str, *, rev: int | None = None, token: str = "", by: str = "") -> Comment:
    """Undo a removal. Raises CommentNotFound, EditConflict, NothingToRestore."""
    subject = targets.of(target)
    seen = selectors.get(subject, slug).rev if rev is None else rev
    return backend().restore(subject, slug, rev=seen, token=token or new_token(), by=by)


def erase_author(*, id: str = "", email: str = "") -> int:
    """Blank all that a user (by key), or whoever left an e-mail address, has written; return how many comments that
    were."""
    if not id and not email:
        raise ValueError("Say whose comments to erase.")
    return sum(backend().erase_author(**{key: value}) for key, value in (("id", id), ("email", email)) if value)


def import_(target: Model | Target, comments: Iterable[NewComment]) -> int:
    """Store comments that were written elsewhere, parents before their replies; return how many were new.

    `part` or `token` names each: importing twice changes nothing. Their `html` must be clean. Raises InvalidComment,
    InvalidParent.
    """
    return backend().import_(targets.of(target), (checked(new) for new in comments))


def hold_imported(target: Model | Target, new: NewComment, *, reasons: Iterable[str] = ()) -> Posted:
    """Put a comment that waited elsewhere into the queue, with the `posted` it carries, also where the discussion is
    closed. Once for each token. Raises InvalidComment, InvalidParent."""
    return backend().hold(targets.of(target), checked(new), tuple(reasons))


def slug_of(new: NewComment) -> str:
    """Return the slug that an imported comment will have, or has: its replies name it as `parent`."""
    return new.slug or slugs.of(new.token, new.parent, conf.get("MAX_DEPTH"))


def imported(new: NewComment, *, key: str) -> NewComment:
    """Return an imported comment named by what it was called where it comes from ("wordpress:example.org:17")."""
    return replace(new, token=key)


def close(target: Model | Target) -> None:
    """Take no more comments."""
    backend().close(targets.of(target))


def open(target: Model | Target) -> None:
    """Take comments again."""
    backend().open(targets.of(target))


def forget(target: Model | Target) -> int:
    """Delete a discussion with all that is kept of it: its target is gone for good. Returns how many comments went."""
    subject = targets.of(target)
    for beside in (flags, subscriptions, ip_hash):
        beside.forget(subject)
    return backend().forget(subject)
