"""Functions that check the data of a request and call the services. Endpoints differ in how they find the sender."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS
from django.db.models import Model
from django.http import HttpRequest
from django.utils.crypto import salted_hmac
from django.utils.http import parse_etags

from marginalia.comments.api.rejections import KEY_HEADER, Rejected
from marginalia.comments.api.shapes import NewComment
from marginalia.comments.posting import forms, own, services, tokens
from marginalia.comments.posting.forms import CommentForm, EditForm, form_class, user_key
from marginalia.comments.posting.services import Sender
from marginalia.comments.posting.spam import Submission
from marginalia.comments.posting.tokens import FormToken, SentComment
from marginalia.comments.posting.views import submission
from marginalia.comments.reading import selectors
from marginalia.comments.types import Comment, HeldComment, Target

# Minimum length of a visitor's Idempotency-Key. Visitors share a single key space, so short keys could collide.
MIN_VISITOR_KEY = 16
# In these headers, clients without cookies send the signed list of the comments that they have posted, and the signed
# id with which their likes are counted.
OWN_HEADER = "Comments-Own"
GUEST_HEADER = "Comments-Guest"
# Longer values aren't signed by this site, because a list contains at most MAX_SENT comments.
MAX_SIGNED = 4_000


def sent_comments(request: HttpRequest) -> tuple[SentComment, ...]:
    """Return the comments in a request's header Comments-Own."""
    own = request.headers.get(OWN_HEADER, "")
    return tokens.read_sent(own) if len(own) <= MAX_SIGNED else ()


def guest(request: HttpRequest) -> str:
    """Return the signed id of a guest in a request's header Comments-Guest, or "" if there is none."""
    signed = request.headers.get(GUEST_HEADER, "")
    return signed if len(signed) <= MAX_SIGNED else ""


def if_match_rev(request: HttpRequest) -> int:
    """Return the `rev` in the If-Match header, which identifies the version that a change is based on.

    Raises:
        Rejected: "if-match-needed" if the header is missing or "*", because "*" would overwrite changes that the client
            has not read, "stale" if the header contains no `rev`.
    """
    header = request.headers.get("If-Match", "").strip()
    if not header or header == "*":
        raise Rejected("if-match-needed", "Changes need an If-Match header. Send the ETag or `rev` that you read.")
    tags = parse_etags(header) or [header]
    rev = forms.parse_revision(tags[0].removeprefix("W/").strip('"').partition(".")[0]) if len(tags) == 1 else 0
    if not rev:
        raise Rejected("stale", "If-Match doesn't match any version of this comment. Send its ETag or `rev`.")
    return rev


def read_comment(sender: Sender, target: Target, data: NewComment, key: str) -> Submission:
    """Check the data of a new comment, and return it as the Submission that spam rules check.

    Raises:
        Rejected: The key is too short, or a field is invalid.
    """
    user = sender.request.user
    if not user_key(user) and len(key) < MIN_VISITOR_KEY:
        message = f"This key is too short. Use at least {MIN_VISITOR_KEY} characters."
        raise Rejected("invalid", errors=[(f"header.{KEY_HEADER}", message)])
    # Endpoints can accept more than this shape has.
    own_fields: Mapping[str, Any] = data.model_dump(include=set(NewComment.model_fields) - {"extra"})
    form = form_class(target)({**data.extra, **own_fields, "token": key}, user=user)
    _check_form(form)
    parent = data.parent or ""
    token = FormToken(str(target), parent, _nonce(target, parent, user, key), begun=0, user=user_key(user))
    return submission(sender.request, token, form)


def post(sender: Sender, obj: Model, new: Submission) -> tuple[Comment | HeldComment, str]:
    """Post a comment. If a request is sent again with the same key and text, nothing is posted again.

    Returns:
        The comment, and the signed list of the sender's comments.

    Raises:
        Refused: The comment is not accepted.
        CommentError: The comment can't be stored.
    """
    result = services.submit(sender, obj, new)
    comment = result.comment or result.held
    assert comment is not None
    sent = SentComment(new.token.discussion, comment.slug, new.token.nonce)
    return comment, tokens.sign_sent((sent, *(entry for entry in sender.sent if entry != sent)))


def _nonce(target: Target, parent: str, user: Any, key: str) -> str:
    """Return the nonce for a new comment, which has the same purpose as the nonce in a comment form.

    The nonce is derived from the discussion, the parent comment, the account and the Idempotency-Key, so a repeated
    request doesn't post the comment again. Visitors can't be identified, so the nonces of two visitors differ only if
    their keys are random.
    """
    intent = "\0".join((str(target), parent, user_key(user), key))
    return salted_hmac("api.comments.key", intent, algorithm="sha256").hexdigest()


def _check_form(form: CommentForm | EditForm) -> None:
    """Check that a form is valid.

    Raises:
        Rejected: The error contains the paths of all invalid fields.
    """
    if not form.is_valid():
        errors = [(_path(name), message) for name, messages in form.errors.items() for message in messages]
        raise Rejected("invalid", errors=errors)


def _path(name: str) -> str:
    if name == NON_FIELD_ERRORS:
        return "body"
    is_own = name in CommentForm.base_fields or name in EditForm.base_fields
    return f"body.{name}" if is_own else f"body.extra.{name}"


def load(sender: Sender, target: Target, slug: str) -> Comment | HeldComment:
    """Return a comment. A pending comment is returned only to its author.

    Raises:
        CommentNotFound: There is no such comment for the sender.
    """
    if held := own.find_held(target, slug, sender.sent, sender.request.user):
        return held
    return selectors.get(target, slug)


def change(sender: Sender, obj: Model, comment: Comment | HeldComment, text: str, rev: int) -> None:
    """Replace the text of a comment, if the sender can edit it.

    Raises:
        Rejected: The text is invalid.
        Refused: The change is not accepted.
    """
    # The nonce is derived from `rev`, so a repeated request is recognized as the same change.
    form = EditForm({"text": text, "rev": rev, "nonce": f"api {rev}"})
    _check_form(form)
    services.revise(sender, obj, comment, **form.cleaned_data)


def delete(sender: Sender, comment: Comment | HeldComment, rev: int) -> None:
    """Delete a comment, if the sender can delete it. Deleting it again does nothing.

    Raises:
        Rejected: A pending comment has changed.
        Refused: The sender can't delete the comment.
        EditConflict: The stored revision differs from `rev`.
    """
    if isinstance(comment, Comment) and comment.removed:
        return
    if isinstance(comment, HeldComment) and comment.rev != rev and services.may_delete(sender, comment):
        raise Rejected("stale", "The comment has changed since you read it.")
    services.delete(sender, comment, rev=rev)
