"""What becomes of a comment that was sent: refused, held, or published. Every step may refuse it, none loses its text."""

from dataclasses import dataclass, replace
from functools import partial

from django.db.models import Model
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from comments import addresses, conf, links, notices, policy, selectors, services, signals, slugs, spam
from comments.errors import CommentError, CommentNotFound, DiscussionClosed, TokenUsed
from comments.forms import author_of
from comments.policy import Mode
from comments.spam import Submission
from comments.tokens import FormToken, Own
from comments.types import Posted


@dataclass(frozen=True)
class Sender:
    """Who sends: the request, and the comments that its browser sent before."""

    request: HttpRequest
    own: tuple[Own, ...]


class Refused(Exception):
    """The comment was not taken. `sentence` tells its author why; `rule` is the reason's name."""

    def __init__(self, rule: str, sentence: str | Promise) -> None:
        super().__init__(rule)
        self.rule, self.sentence = rule, sentence


def submit(sender: Sender, obj: Model, submission: Submission) -> Posted:
    """Publish or hold a comment, once for each token. Raises Refused."""
    if done := earlier(submission):
        if not submission.token.expired:
            _follow_up(sender.request, submission, done)
        return done
    if submission.token.expired:
        raise Refused("expired", _("This form was open for very long. Please send it again."))
    mode = _mode(obj, submission)
    reasons = _reasons(mode, submission, sender.own)
    try:
        _veto(sender.request, submission)
        posted = _store(sender.request, submission, reasons)
    except Refused:
        spam.take_back(submission)
        raise
    _follow_up(sender.request, submission, posted)
    return posted


def _follow_up(request: HttpRequest, submission: Submission, posted: Posted) -> None:
    """Do what a new comment entails: note the address, notify subscribers and moderators. Each step but the signal is made
    once for a comment however often it is asked for, so that sending the form again makes up for a crash."""
    target, slug = submission.token.target, slug_of(submission.token)
    origin = links.origin(request)
    addresses.note(target, slug, submission.address)
    if submission.notify:
        notices.ask(target, slug, submission.notify, origin)
    if posted.comment:
        notices.published(posted.comment, origin)
    elif posted.held:
        notices.held(posted.held, origin)
    if posted.new:
        comment = posted.comment or posted.held
        signals.comment_was_posted.send(Submission, comment=comment, target=target, request=request)


def earlier(submission: Submission) -> Posted | None:
    """Return what came of the same form before, if it was sent before. Raises Refused if it said something else then.

    Somebody goes back, writes another comment into the form that was sent, and sends it: neither may get lost.
    """
    found = sent(submission.token)
    if found is None:
        return None
    if first := found.comment or found.held:
        try:
            services.check_said(first, submission.token.nonce, submission.source)
        except TokenUsed as error:
            raise Refused("used", error.sentence) from error
    if found.comment and services.finish(submission.token.target, found.comment.slug):
        return replace(found, new=True)
    return found


def sent(token: FormToken) -> Posted | None:
    """Return what came of a form, None if nothing did yet."""
    try:
        return Posted(selectors.get(token.target, slug_of(token)), new=False)
    except CommentNotFound:
        held = selectors.held_by_token(token.target, token.nonce)
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


def _reasons(mode: Mode, submission: Submission, own: tuple[Own, ...]) -> tuple[str, ...]:
    """Return why the comment waits for a moderator, () if it does not. Raises Refused."""
    judgement = spam.judge(submission)
    if judgement.refused:
        raise Refused(judgement.refused.rule, judgement.refused.sentence)
    if mode is Mode.HOLD_ALL:
        return (*judgement.held_by, "policy: hold-all")
    if mode is Mode.HOLD_FIRST and not policy.is_known(submission.user, own):
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
    work = partial(services.hold, reasons=reasons) if reasons else services.post
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
        raise Refused(type(error).__name__, error.sentence) from error
    return posted
