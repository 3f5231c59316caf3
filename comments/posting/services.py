"""Services that post, change and moderate comments.

Forms use `submit` and `revise`, which apply policies, spam rules, and vetoes by signal receivers. The other functions
store comments without these checks. They are meant for moderators and programs.

In all functions, `target` is a saved object or a Target, and `token` is the token of the form. If a token is sent again
with the same text, nothing is stored again. If it is sent again with different text, an error is raised.
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
from marginalia.comments.moderators import is_moderator
from marginalia.comments.notices import mails
from marginalia.comments.posting import flags, ip_hash, own, policy, preparation, spam
from marginalia.comments.posting.forms import build_author, user_key
from marginalia.comments.posting.policy import Mode, Policy
from marginalia.comments.posting.preparation import CommentFields
from marginalia.comments.posting.spam import Submission
from marginalia.comments.posting.tokens import FormToken, SentComment, browser_key
from marginalia.comments.posting.trust import trust_in
from marginalia.comments.reading import links, restrictions, selectors
from marginalia.comments.types import (
    Comment,
    CommentAuthor,
    Discussion,
    HeldComment,
    NewComment,
    PostResult,
    RestrictionChanges,
    Restrictions,
    Target,
)
from marginalia.mongo.clock import now


@dataclass(frozen=True)
class Sender:
    """The sender of a request, with the comments that were sent from the same browser before."""

    request: HttpRequest
    sent: tuple[SentComment, ...]

    @property
    def is_moderator(self) -> bool:
        """Return whether the sender is a moderator. Policies and spam rules don't apply to moderators."""
        return is_moderator(self.request.user)


class Refused(Exception):
    """The comment was not accepted.

    Attributes:
        rule: A short name that identifies the reason.
        sentence: The reason, as a message for the author.
        is_unsure: Whether the comment may nevertheless have been stored. If so, the form should be sent again with the
            same token.
    """

    def __init__(self, rule: str, sentence: str | Promise, *, is_unsure: bool = False) -> None:
        super().__init__(rule)
        self.rule = rule
        self.sentence = sentence
        self.is_unsure = is_unsure

    @classmethod
    def from_error(cls, error: CommentError) -> "Refused":
        """Convert `error` to a `Refused` exception."""
        return cls(
            type(error).__name__, error.sentence, is_unsure=isinstance(error, DiscussionBusy | DiscussionDamaged)
        )


def submit(sender: Sender, obj: Model, submission: Submission) -> PostResult:
    """Publish or hold a comment that was sent with a form.

    If the form is sent several times with the same token, only one comment is created.

    Args:
        sender: The sender of the comment.
        obj: The object of the discussion.
        submission: The submitted data.

    Returns:
        The public or held comment.

    Raises:
        Refused: The comment is not accepted.
        DiscussionBusy: The discussion is busy, so it is unknown whether the token was already used.
        DiscussionDamaged: The discussion is damaged, so it is unknown whether the token was already used.
    """
    if earlier := find_earlier(submission):
        if not submission.token.expired:
            _follow_up(sender, submission, earlier)
        return earlier
    if submission.token.expired:
        raise Refused("expired", _("This form has expired. Please send it again."))
    discussion = selectors.discussion(submission.token.target)
    rules = _check_policy(obj, discussion, submission)
    try:
        if not sender.is_moderator:
            _check_restrictions(discussion.restrictions, submission)
        posted = _store(sender.request, submission, _reasons(sender, rules, discussion.restrictions, submission))
    except Refused as refused:
        is_slow = discussion.restrictions.slow_seconds > 0
        spam.uncount(submission, rate=refused.rule != TokenUsed.__name__, slow=is_slow)
        raise
    _follow_up(sender, submission, posted)
    return posted


def may_edit(sender: Sender, obj: Model, comment: Comment | HeldComment) -> bool:
    """Return whether the sender can edit a comment.

    Authors can edit their comments for a limited time. Moderators can edit any public comment.

    If all comments have to be approved first, authors can't edit their public comments.
    """
    if isinstance(comment, Comment):
        if comment.removed:
            return False
        if sender.is_moderator:
            return True
        if policy.policy_for(obj).holds_all:
            return False
    return own.may_change(comment, sender.sent, sender.request.user)


def may_delete(sender: Sender, comment: Comment | HeldComment) -> bool:
    """Return whether the sender can delete a comment.

    Authors can delete their comments for a limited time. Moderators can delete any comment.
    """
    return sender.is_moderator or own.may_change(comment, sender.sent, sender.request.user)


def delete(sender: Sender, comment: Comment | HeldComment, *, rev: int | None = None) -> None:
    """Remove a public comment, or withdraw a pending comment.

    Args:
        sender: The sender of the request.
        comment: The comment to delete.
        rev: The revision that the sender saw, or None for any revision.

    Raises:
        Refused: The sender is not allowed to delete the comment.
        CommentNotFound: The comment no longer exists, or is no longer pending.
        EditConflict: The stored revision differs from `rev`.
    """
    if not may_delete(sender, comment):
        raise Refused("final", _("This comment can no longer be deleted."))
    if isinstance(comment, HeldComment):
        withdraw(comment.id)
        return
    removed = remove(comment.target, comment.slug, rev=rev, by=user_key(sender.request.user))
    if sender.is_moderator:
        flags.clear(comment.target, comment.slug)
        signals.comment_was_flagged.send(Comment, comment=removed, flag="removal", created=True, request=sender.request)


def flag(sender: Sender, comment: Comment) -> None:
    """Report a public comment to the moderators. Each reader is counted only once.

    Raises:
        CommentNotFound: The comment was removed.
        Refused: The sender has reported many comments in a short time.
    """
    if comment.removed:
        raise CommentNotFound(comment.slug)
    user = user_key(sender.request.user)
    network = ip_hash.key(sender.request)
    if not sender.is_moderator and not spam.may_flag(ip_hash=network, user=user):
        raise Refused("rate", _("You have reported many comments in a short time. Please wait a few minutes."))
    created = flags.flag(comment, f"user:{user}" if user else f"ip_hash:{network}")
    signals.comment_was_flagged.send(Comment, comment=comment, flag="flag", created=created, request=sender.request)


def revise(sender: Sender, obj: Model, comment: Comment | HeldComment, *, text: str, rev: int, nonce: str) -> None:
    """Replace the text of a comment.

    The new text of a public comment is rejected if a spam rule would hold the same text in a newly posted comment, or
    if every new comment in the discussion currently waits for a moderator.

    Args:
        sender: The sender of the request.
        obj: The object of the discussion.
        comment: The comment to change.
        text: The new text.
        rev: The revision that the sender saw.
        nonce: The nonce of the form, which identifies the change.

    Raises:
        Refused: The change is not accepted.
    """
    if not may_edit(sender, obj, comment):
        raise Refused("final", _("This comment can no longer be edited. Your text:"))
    submission = _build_edit(sender, comment, text, f"{comment.slug} {rev} {nonce} {text}")
    try:
        # If the stored revision is already higher than `rev`, skip these checks. `_replace` won't write anything:
        # either this change was made before, or there is a conflict, and the author has to read the comment again.
        if rev >= comment.rev:
            # Use the revision that the author saw to limit the number of changes. Only one change to each revision
            # succeeds, so even concurrent requests can't exceed the limit.
            if not sender.is_moderator and not own.may_revise(rev):
                raise Refused("often", _("You have edited this comment too often. This change wasn't saved."))
            given = selectors.discussion(comment.target).restrictions
            if _reasons(sender, Policy(Mode.OPEN), given, submission) and isinstance(comment, Comment):
                raise Refused(
                    "hold",
                    _(
                        "This change would need a moderator's approval, so it wasn't saved. Post it "
                        "as a new comment instead. Your text:"
                    ),
                )
        _replace(sender, comment, text, rev, nonce)
    except Refused:
        # If the stored revision was already higher than `rev`, the change was not counted, so there is no count to
        # undo.
        if rev >= comment.rev:
            spam.uncount(submission)
        raise


def _build_edit(sender: Sender, comment: Comment | HeldComment, text: str, change: str) -> Submission:
    user = user_key(sender.request.user)
    parent = comment.parent
    return Submission(
        # Derive the nonce of this token from the whole change, because the form's own nonce could be sent again with
        # different text or a different revision.
        token=FormToken(str(comment.target), parent, slugs.part(change), int(comment.posted.timestamp()), user),
        name=comment.author.name,
        email="",
        user=user,
        source=text,
        ip_hash=ip_hash.key(sender.request),
        address=ip_hash.address(sender.request),
        user_agent=sender.request.headers.get("User-Agent", ""),
        edited=comment,
        networks=ip_hash.networks(sender.request),
        own_email=getattr(sender.request.user, "email", "") if user else selectors.email_of(comment),
    )


def _replace(sender: Sender, comment: Comment | HeldComment, text: str, rev: int, nonce: str) -> None:
    by = user_key(sender.request.user)
    try:
        if isinstance(comment, HeldComment):
            change_held(comment.id, source=text, rev=rev)
        else:
            edit(comment.target, comment.slug, source=text, rev=rev, token=nonce, by=by)
    except (EditConflict, HeldChanged) as error:
        sentence = _("This comment was changed in another window. Send this text again to replace the other version.")
        raise Refused("conflict", sentence) from error
    except CommentError as error:
        is_decided = isinstance(comment, HeldComment) and isinstance(error, CommentNotFound)
        sentence = (
            _("A moderator has just published this comment, so your change wasn't saved. Your text:")
            if is_decided
            else error.sentence
        )
        raise Refused(type(error).__name__, sentence) from error


def _follow_up(sender: Sender, submission: Submission, posted: PostResult) -> None:
    """Record the IP hash, notify subscribers and moderators, and send the signal for a new comment.

    Each step is performed only once per comment, even if this function is called several times. Therefore, if the
    process crashes and the form is sent again, the remaining steps are performed then. The signal is an exception: if
    the process crashes right after the comment was stored, the signal is never sent.
    """
    target = submission.token.target
    slug = slug_of(submission.token)
    origin = links.origin(sender.request)
    browser = "" if submission.user else browser_key(sender.sent, submission.token.nonce)
    ip_hash.record(target, slug, submission.ip_hash, submission.networks, browser)
    if submission.notify and (posted.new or _is_same_address(submission, posted)):
        mails.ask_to_confirm(target, slug, submission.notify, origin)
    if posted.comment:
        mails.notify_subscribers(posted.comment, origin)
    elif posted.held:
        mails.notify_moderators(posted.held, origin)
    if posted.new:
        comment = posted.comment or posted.held
        signals.comment_was_posted.send(Submission, comment=comment, target=target, request=sender.request)


def _is_same_address(submission: Submission, posted: PostResult) -> bool:
    """Return whether a form that was sent again has the email address of its stored comment.

    Otherwise, anyone could send the form again and again with other people's addresses. No limit applies to forms that
    are sent again. The address of an account doesn't come from the form.
    """
    if submission.user:
        return True
    stored = posted.comment or posted.held
    return stored is not None and submission.notify.lower() == selectors.email_of(stored).lower()


def find_earlier(submission: Submission) -> PostResult | None:
    """Return the comment that was stored when the same form was sent before, or None if it was not sent before.

    An author can go back in the browser, and send the same form with different text. The second text must not be
    mistaken for the first, so it is refused, and the author can send it with another form.

    Raises:
        Refused: The form was already sent with different text.
    """
    posted = find_posted(submission.token)
    if posted is None:
        return None
    if first := posted.comment or posted.held:
        try:
            preparation.check_same_text(first, submission.token.nonce, submission.source, submission.extra)
        except TokenUsed as error:
            # Undo the counts for this text, so that the author can send it with another form.
            spam.uncount(submission, rate=False)
            raise Refused("used", error.sentence) from error
    return posted


def find_posted(token: FormToken) -> PostResult | None:
    """Return the comment that was stored when a form was sent before, or None if it was not sent before."""
    try:
        return PostResult(selectors.get(token.target, slug_of(token)), new=False)
    except CommentNotFound:
        # Include rejected comments, so that they can't be published by sending the form again.
        held = selectors.find_held(token.target, slug_of(token), verdict=None)
        return PostResult(None, held, new=False) if held else None


def slug_of(token: FormToken) -> str:
    """Return the slug of the comment that a form creates, even if the comment is not stored yet."""
    return slugs.from_token(token.nonce, token.parent, conf.get("MAX_DEPTH"))


def _check_policy(obj: Model, discussion: Discussion, submission: Submission) -> Policy:
    rules = policy.policy_for(obj)
    if rules.is_closed(discussion):
        raise Refused("closed", DiscussionClosed.sentence)
    if rules.needs_account(submission.user):
        raise Refused("members", _("Only members can comment here. Log in, then send your comment again."))
    return rules


def _check_restrictions(given: Restrictions, submission: Submission) -> None:
    if given.is_locked(submission.token.parent):
        raise Refused("locked", _("This thread is locked. You can write a comment outside of the thread."))
    if restrictions.is_outside_hours(given):
        raise Refused("hours", restrictions.hours_sentence(given))
    if not spam.count_slowly(submission, given.slow_seconds):
        raise Refused("slow", restrictions.slow_sentence(given))


def _reasons(sender: Sender, rules: Policy, given: Restrictions, submission: Submission) -> tuple[str, ...]:
    """Return the reasons why a comment has to wait for a moderator, or () if there are none.

    Raises:
        Refused: The comment is not accepted.
    """
    reasons = () if sender.is_moderator else _hold_reasons(sender, rules, given, submission)
    _veto(sender.request, submission)
    return reasons


def _hold_reasons(sender: Sender, rules: Policy, given: Restrictions, submission: Submission) -> tuple[str, ...]:
    judgement = spam.judge(submission)
    if judgement.refused:
        raise Refused(judgement.refused.rule, judgement.refused.sentence)
    if rules.holds_all:
        return (*judgement.held_by, "policy: hold-all")
    if given.hold_until and given.hold_until > now():
        return (*judgement.held_by, "discussion: hold")
    if rules.mode is Mode.HOLD_FIRST:
        browser = browser_key(sender.sent, submission.token.nonce)
        trust = trust_in(submission.user, browser, sender.sent, rules.trust_after)
        if not trust.is_trusted:
            return (*judgement.held_by, trust.reason)
    return judgement.held_by


def _veto(request: HttpRequest, submission: Submission) -> None:
    answers = signals.comment_will_be_posted.send(
        Submission, comment=submission, target=submission.token.target, request=request
    )
    if any(answer is False for _receiver, answer in answers):
        raise Refused("veto", _("Your comment wasn't accepted."))


def _store(request: HttpRequest, submission: Submission, reasons: tuple[str, ...]) -> PostResult:
    token = submission.token
    store = partial(hold, reasons=reasons) if reasons else post
    try:
        posted: PostResult = store(
            token.target,
            author=build_author(request.user, submission.name),
            source=submission.source,
            token=token.nonce,
            parent=token.parent,
            email=submission.email,
            extra=submission.extra,
        )
    except CommentError as error:
        raise Refused.from_error(error) from error
    return posted


def post(target: Model | Target, **fields: Unpack[CommentFields]) -> PostResult:
    """Publish a comment without applying policies or spam rules.

    Args:
        target: The target of the discussion.
        **fields: The fields of the comment: see CommentFields.

    Returns:
        The public comment.

    Raises:
        InvalidComment: The comment can't be stored, for example because it is empty or too long.
        InvalidParent: The parent is not a public comment in this discussion.
        DiscussionClosed: The discussion no longer accepts comments.
        DiscussionBusy: The comment can't be stored at the moment. It can be sent again.
        TargetNotFound: The target does not exist.
        TokenUsed: The token was already used with different text, or its comment was removed.
    """
    new = preparation.prepare(**fields)
    return _check_posted(backend().post(targets.target_for(target), new), new)


def hold(target: Model | Target, *, reasons: Iterable[str] = (), **fields: Unpack[CommentFields]) -> PostResult:
    """Add a comment to the moderation queue instead of publishing it.

    Args:
        target: The target of the discussion.
        reasons: The reasons why the comment has to wait for a moderator.
        **fields: The fields of the comment: see CommentFields.

    Returns:
        The held comment, or the public comment if a comment with this token was already posted or approved.

    Raises:
        CommentError: The comment can't be stored. See `post`.
    """
    new = preparation.prepare(**fields)
    return _check_posted(backend().hold(targets.target_for(target), new, tuple(reasons)), new)


def _check_posted(posted: PostResult, new: NewComment) -> PostResult:
    """Check that the comment in `posted` has the same text as `new`, and return `posted`.

    Raises:
        TokenUsed: The token was already used with different text.
    """
    if stored := posted.comment or posted.held:
        preparation.check_same_text(stored, new.token, new.source, new.extra)
    return posted


def change_held(held_id: str, *, source: str, rev: int) -> HeldComment:
    """Replace the text of a pending comment on behalf of its author.

    Raises:
        InvalidComment: The text is empty or too long.
        CommentNotFound: The comment is no longer pending.
        HeldChanged: The stored revision differs from `rev`.
    """
    new = preparation.prepare(author=CommentAuthor(""), source=source, token="held")
    return backend().change_held(held_id, source=source, html=new.html, rev=rev)


def withdraw(held_id: str) -> HeldComment:
    """Remove a pending comment from the moderation queue on behalf of its author, and delete its IP hash.

    Raises:
        CommentNotFound: The comment is no longer pending.
    """
    withdrawn = backend().withdraw(held_id)
    ip_hash.erase(withdrawn.target, withdrawn.slug)
    return withdrawn


def edit(target: Model | Target, slug: str, *, source: str, rev: int, token: str, by: str = "") -> Comment:
    """Replace the text of a public comment.

    Args:
        target: The target of the discussion.
        slug: The slug of the comment.
        source: The new text.
        rev: The revision that the user saw.
        token: The token of the form, which identifies the change.
        by: The primary key of the user, or "".

    Raises:
        InvalidComment: The text is empty or too long.
        CommentNotFound: The comment does not exist or was removed.
        EditConflict: The stored revision differs from `rev`.
    """
    new = preparation.prepare(author=CommentAuthor(""), source=source, token=token)
    return backend().edit(
        targets.target_for(target), slug, source=source, html=new.html, rev=rev, token=new.text_hash, by=by
    )


def remove(target: Model | Target, slug: str, *, rev: int | None = None, token: str = "", by: str = "") -> Comment:
    """Replace a comment with a tombstone, which has no text or author.

    Args:
        target: The target of the discussion.
        slug: The slug of the comment.
        rev: The revision that the user saw, or None for any revision.
        token: The token of the form, which identifies the change, or "".
        by: The primary key of the user, or "".

    Raises:
        CommentNotFound: The comment does not exist.
        EditConflict: The stored revision differs from `rev`.
    """
    subject = targets.target_for(target)
    seen = selectors.get(subject, slug).rev if rev is None else rev
    return backend().remove(subject, slug, rev=seen, token=token or preparation.new_token(), by=by)


def restore(target: Model | Target, slug: str, *, rev: int | None = None, token: str = "", by: str = "") -> Comment:
    """Restore the text and author of a removed comment. The arguments are the same as for `remove`.

    Raises:
        CommentNotFound: The comment does not exist.
        EditConflict: The stored revision differs from `rev`.
        NothingToRestore: The author's data was erased, or the tombstone was imported.
    """
    subject = targets.target_for(target)
    seen = selectors.get(subject, slug).rev if rev is None else rev
    return backend().restore(subject, slug, rev=seen, token=token or preparation.new_token(), by=by)


def close(target: Model | Target) -> None:
    """Close a discussion, so that it accepts no new comments."""
    backend().close(targets.target_for(target))


def open(target: Model | Target) -> None:
    """Reopen a closed discussion, so that it accepts new comments."""
    backend().open(targets.target_for(target))


def restrict(target: Model | Target, **changes: Unpack[RestrictionChanges]) -> None:
    """Change restrictions of a discussion (`types.Restrictions`). Other restrictions stay as they are."""
    backend().restrict(targets.target_for(target), **changes)


def lock_thread(target: Model | Target, slug: str, *, locked: bool) -> None:
    """Lock or unlock the thread of a comment. Only moderators can reply in a locked thread.

    Raises:
        CommentNotFound: The comment does not exist.
        TooManyLocked: Too many threads of the discussion are locked.
    """
    backend().lock_thread(targets.target_for(target), slug, locked=locked)


def delete_discussion(target: Model | Target) -> int:
    """Delete the discussion of a permanently deleted target, and all data about its comments.

    Returns:
        The number of deleted comments.
    """
    return backend().delete_discussion(targets.target_for(target))
