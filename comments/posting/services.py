"""Writes: what becomes of a comment that is sent or changed. Every step may refuse it, none loses its text.

`submit` and `revise` ask policy, rules and vetoes first: they are for forms. The others store what they are given, and are
for moderators and programs. `target` is a saved object or a Target. `token` is the form's: the same one sent again with the
same text never does a thing twice, and with another text never pretends to.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Unpack

from django.db.models import Model
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from marginalia.comments import conf, signals, slugs, targets
from marginalia.comments.backends import backend
from marginalia.comments.errors import (
    CommentError,
    CommentNotFound,
    DiscussionBusy,
    DiscussionClosed,
    DiscussionDamaged,
    EditConflict,
    HeldChanged,
    TokenUsed,
)
from marginalia.comments.notices import mails
from marginalia.comments.posting import ip_hash, own, policy, preparation, spam
from marginalia.comments.posting.forms import author_of, user_key
from marginalia.comments.posting.policy import Mode
from marginalia.comments.posting.preparation import Written
from marginalia.comments.posting.spam import Submission
from marginalia.comments.posting.tokens import FormToken, Own
from marginalia.comments.reading import links, selectors
from marginalia.comments.types import Author, Comment, Held, NewComment, Posted, Target


@dataclass(frozen=True)
class Sender:
    """Who sends: the request, and the comments that its browser sent before."""

    request: HttpRequest
    own: tuple[Own, ...]

    @property
    def is_moderator(self) -> bool:
        """Whether no rule minds what is sent, and none of it waits."""
        return policy.is_moderator(self.request.user)


class Refused(Exception):
    """The comment was not taken. `sentence` tells its author why; `rule` is the reason's name; `is_unsure`: whether the same
    form may have been taken before."""

    def __init__(self, rule: str, sentence: str | Promise, *, is_unsure: bool = False) -> None:
        super().__init__(rule)
        self.rule = rule
        self.sentence = sentence
        self.is_unsure = is_unsure

    @classmethod
    def by(cls, error: CommentError) -> "Refused":
        """Return the refusal that an error of the discussion amounts to."""
        return cls(
            type(error).__name__, error.sentence, is_unsure=isinstance(error, DiscussionBusy | DiscussionDamaged)
        )


def submit(sender: Sender, obj: Model, submission: Submission) -> Posted:
    """Publish or hold a comment, once for each token. Raises Refused, and DiscussionBusy or DiscussionDamaged where it cannot
    be known what came of the token before."""
    if done := earlier(submission):
        if not submission.token.expired:
            _follow_up(sender.request, submission, done)
        return done
    if submission.token.expired:
        raise Refused("expired", _("This form was open for very long. Please send it again."))
    mode = _mode(obj, submission)
    try:
        posted = _store(sender.request, submission, _reasons(sender, mode, submission))
    except Refused as refused:
        spam.take_back(submission, rate=refused.rule != TokenUsed.__name__)
        raise
    _follow_up(sender.request, submission, posted)
    return posted


def may_edit(sender: Sender, obj: Model, comment: Comment | Held) -> bool:
    """Return whether a comment may be changed: by its author for a while, by moderators always. Where everything is looked at
    first, nothing may change after it was."""
    if isinstance(comment, Comment):
        if comment.removed:
            return False
        if sender.is_moderator:
            return True
        if policy.of(obj).mode is Mode.HOLD_ALL:
            return False
    return own.may_change(comment, sender.own, sender.request.user)


def revise(sender: Sender, obj: Model, comment: Comment | Held, *, text: str, rev: int, nonce: str) -> None:
    """Replace the text of a comment; `rev` is the revision that was seen, `nonce` names the change. What new comments would
    wait for a moderator with does not get into a public one. Raises Refused."""
    if not may_edit(sender, obj, comment):
        raise Refused("final", _("This comment can no longer be changed. Your text:"))
    submission = _edited(sender, comment, text, f"{comment.slug} {rev} {nonce} {text}")
    try:
        # Over an older revision nothing is written: that form was sent before, or has to be looked at again.
        if rev >= comment.rev:
            # By the revision that was seen: over no other is it written, however many are sent at once.
            if not sender.is_moderator and not own.may_revise(rev):
                raise Refused("often", _("You have changed this comment very often. It stays as it is now."))
            if _reasons(sender, Mode.OPEN, submission) and isinstance(comment, Comment):
                raise Refused(
                    "hold", _("This would have to wait for a moderator: post it as a new comment instead. Your text:")
                )
        _replace(sender, comment, text, rev, nonce)
    except Refused:
        # Over an older revision nothing was counted.
        if rev >= comment.rev:
            spam.take_back(submission)
        raise


def _edited(sender: Sender, comment: Comment | Held, text: str, said: str) -> Submission:
    user = user_key(sender.request.user)
    parent = comment.parent
    return Submission(
        # A form's nonce could be sent again with another text, or over the next revision, as another change.
        token=FormToken(str(comment.target), parent, slugs.part(said), int(comment.posted.timestamp()), user),
        name=comment.author.name,
        email="",
        user=user,
        source=text,
        ip_hash=ip_hash.key(sender.request),
        edited=comment,
    )


def _replace(sender: Sender, comment: Comment | Held, text: str, rev: int, nonce: str) -> None:
    by = user_key(sender.request.user)
    try:
        if isinstance(comment, Held):
            change_held(comment.id, source=text, rev=rev)
        else:
            edit(comment.target, comment.slug, source=text, rev=rev, token=nonce, by=by)
    except (EditConflict, HeldChanged) as error:
        sentence = _("The comment has changed since, perhaps in another window. Sending this replaces that.")
        raise Refused("conflict", sentence) from error
    except CommentError as error:
        is_decided = isinstance(comment, Held) and isinstance(error, CommentNotFound)
        sentence = _("A moderator is just publishing this comment. Your text:") if is_decided else error.sentence
        raise Refused(type(error).__name__, sentence) from error


def _follow_up(request: HttpRequest, submission: Submission, posted: Posted) -> None:
    """Do what a new comment entails: note the ip hash, notify subscribers and moderators. Each step but the signal is made
    once for a comment however often it is asked for, so that sending the form again makes up for a crash. The signal is
    not sent for one whose writer stopped after it was stored."""
    target = submission.token.target
    slug = slug_of(submission.token)
    origin = links.origin(request)
    ip_hash.note(target, slug, submission.ip_hash)
    if submission.notify:
        mails.ask(target, slug, submission.notify, origin)
    if posted.comment:
        mails.published(posted.comment, origin)
    elif posted.held:
        mails.held(posted.held, origin)
    if posted.new:
        comment = posted.comment or posted.held
        signals.comment_was_posted.send(Submission, comment=comment, target=target, request=request)


def earlier(submission: Submission) -> Posted | None:
    """Return what came of the same form before, if it was sent before. Raises Refused if it said something else then.

    A writer may go back and send the same form with another comment: neither may get lost.
    """
    found = sent(submission.token)
    if found is None:
        return None
    if first := found.comment or found.held:
        try:
            preparation.check_said(first, submission.token.nonce, submission.source)
        except TokenUsed as error:
            # The same text may come by another form.
            spam.take_back(submission, rate=False)
            raise Refused("used", error.sentence) from error
    return found


def sent(token: FormToken) -> Posted | None:
    """Return what came of a form, None if nothing did yet."""
    try:
        return Posted(selectors.get(token.target, slug_of(token)), new=False)
    except CommentNotFound:
        # Also one that was rejected: sent again it is not published after all.
        held = selectors.held_at(token.target, slug_of(token), verdict=None)
        return Posted(None, held, new=False) if held else None


def slug_of(token: FormToken) -> str:
    """Return the slug that a form's comment has, or will have."""
    return slugs.of(token.nonce, token.parent, conf.get("MAX_DEPTH"))


def _mode(obj: Model, submission: Submission) -> Mode:
    rules = policy.of(obj)
    if rules.is_closed(selectors.discussion(submission.token.target)):
        raise Refused("closed", DiscussionClosed.sentence)
    if rules.mode is Mode.MEMBERS and not submission.user:
        raise Refused("members", _("Only members comment here. Log in, and send it again."))
    return rules.mode


def _reasons(sender: Sender, mode: Mode, submission: Submission) -> tuple[str, ...]:
    """Return why a moderator has to look at what was sent, () if it needs none. Raises Refused."""
    reasons = () if sender.is_moderator else _held_by(sender, mode, submission)
    _veto(sender.request, submission)
    return reasons


def _held_by(sender: Sender, mode: Mode, submission: Submission) -> tuple[str, ...]:
    judgement = spam.judge(submission)
    if judgement.refused:
        raise Refused(judgement.refused.rule, judgement.refused.sentence)
    if mode is Mode.HOLD_ALL:
        return (*judgement.held_by, "policy: hold-all")
    if mode is Mode.HOLD_FIRST and not policy.is_known(submission.user, sender.own):
        return (*judgement.held_by, "policy: hold-first")
    return judgement.held_by


def _veto(request: HttpRequest, submission: Submission) -> None:
    answers = signals.comment_will_be_posted.send(
        Submission, comment=submission, target=submission.token.target, request=request
    )
    if any(answer is False for _receiver, answer in answers):
        raise Refused("veto", _("Your comment was not accepted here."))


def _store(request: HttpRequest, submission: Submission, reasons: tuple[str, ...]) -> Posted:
    token = submission.token
    work = partial(hold, reasons=reasons) if reasons else post
    try:
        posted: Posted = work(
            token.target,
            author=author_of(request.user, submission.name),
            source=submission.source,
            token=token.nonce,
            parent=token.parent,
            email=submission.email,
        )
    except CommentError as error:
        raise Refused.by(error) from error
    return posted


def post(target: Model | Target, **written: Unpack[Written]) -> Posted:
    """Publish a comment. Raises InvalidComment, InvalidParent, DiscussionClosed, DiscussionBusy, TargetNotFound, TokenUsed."""
    new = preparation.prepare(**written)
    return _as_said(backend().post(targets.of(target), new), new)


def hold(target: Model | Target, *, reasons: Iterable[str] = (), **written: Unpack[Written]) -> Posted:
    """Put a comment into the moderation queue instead of publishing it; `reasons` are for the moderators. Raises as `post`."""
    new = preparation.prepare(**written)
    return _as_said(backend().hold(targets.of(target), new, tuple(reasons)), new)


def _as_said(posted: Posted, new: NewComment) -> Posted:
    """Return what came of a post, unless it came of another text under the same token."""
    if found := posted.comment or posted.held:
        preparation.check_said(found, new.token, new.source)
    return posted


def change_held(held_id: str, *, source: str, rev: int) -> Held:
    """Replace the text of a comment that waits, for its author. Raises InvalidComment, CommentNotFound, HeldChanged."""
    new = preparation.prepare(author=Author(""), source=source, token="held")
    return backend().change_held(held_id, source=source, html=new.html, rev=rev)


def withdraw(held_id: str) -> Held:
    """Take a pending comment out of the moderation queue, for its author, with the ip hash that it was sent under. Raises
    CommentNotFound."""
    withdrawn = backend().withdraw(held_id)
    ip_hash.erase(withdrawn.target, withdrawn.slug)
    return withdrawn


def edit(target: Model | Target, slug: str, *, source: str, rev: int, token: str, by: str = "") -> Comment:
    """Replace a comment's text; `rev` is the one the form showed. Raises InvalidComment, CommentNotFound,
    EditConflict."""
    new = preparation.prepare(author=Author(""), source=source, token=token)
    return backend().edit(targets.of(target), slug, source=source, html=new.html, rev=rev, token=new.said, by=by)


def remove(target: Model | Target, slug: str, *, rev: int | None = None, token: str = "", by: str = "") -> Comment:
    """Make a tombstone of a comment. Without `rev` whatever is stored is meant. Raises CommentNotFound,
    EditConflict."""
    subject = targets.of(target)
    seen = selectors.get(subject, slug).rev if rev is None else rev
    return backend().remove(subject, slug, rev=seen, token=token or preparation.new_token(), by=by)


def restore(target: Model | Target, slug: str, *, rev: int | None = None, token: str = "", by: str = "") -> Comment:
    """Undo a removal. Raises CommentNotFound, EditConflict, NothingToRestore."""
    subject = targets.of(target)
    seen = selectors.get(subject, slug).rev if rev is None else rev
    return backend().restore(subject, slug, rev=seen, token=token or preparation.new_token(), by=by)


def close(target: Model | Target) -> None:
    """Take no more comments."""
    backend().close(targets.of(target))


def open(target: Model | Target) -> None:
    """Take comments again."""
    backend().open(targets.of(target))


def forget(target: Model | Target) -> int:
    """Delete a discussion with all that is kept of it: its target is gone for good. Returns how many comments went."""
    return backend().forget(targets.of(target))
