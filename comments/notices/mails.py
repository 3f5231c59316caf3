"""Emails about comments, which are sent by background tasks (`manage.py work`).

Each email is sent at most once. It is marked as sent when the connection to the mail server is open, but before it is
transmitted. The mark is removed only if the server rejects the email. If the worker dies or the connection is lost
during the transmission, the email is not sent again, because sending it twice would be worse than losing it.
"""

from collections.abc import Iterable
from smtplib import SMTPRecipientsRefused, SMTPResponseException
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _

from marginalia.comments import accounts, conf, targets
from marginalia.comments.backends import backend
from marginalia.comments.errors import CommentNotFound
from marginalia.comments.notices import reasons, subscriptions
from marginalia.comments.notices.subscriptions import NoSubscription, Subscription
from marginalia.comments.types import Comment, HeldComment, Target
from marginalia.tasks import RETRIES_FOR_A_DAY, URGENT, needing, once, once_more, task

MAIL: dict[str, Any] = {"priority": URGENT, "retries": RETRIES_FOR_A_DAY, "takes_context": True}
# Emails quote at most this many characters of a comment.
MAX_TEXT = 2_000


def notify_moderators(comment: HeldComment, origin: str) -> None:
    """Enqueue an email to the moderators about a pending comment. `origin` is the scheme and host for its links."""
    if moderators():
        _enqueue(send_held, f"held:{comment.id}", held=comment.id, origin=origin)


def notify_subscribers(comment: Comment, origin: str) -> None:
    """Enqueue emails to people who subscribed to replies to the comment that `comment` replies to."""
    if not comment.answers:
        return
    for subscription in subscriptions.confirmed_for(comment.target, {comment.answers, comment.parent}):
        key = f"reply:{subscription.id}:{comment.slug}"
        arguments = {"subscription": subscription.id, "discussion": str(comment.target), "slug": comment.slug}
        _enqueue(send_reply, key, **arguments, origin=origin)


def ask_to_confirm(target: Target, slug: str, email: str, origin: str) -> None:
    """Subscribe an email address to replies to a comment, and enqueue an email that asks for confirmation.

    If the address has already been asked to confirm a subscription in this discussion, no second email is sent.
    """
    if since := subscriptions.add(target, slug, email):
        subscription_id = subscriptions.id_for(target, email)
        key = f"confirm:{subscription_id}:{since.timestamp()}"
        _enqueue(send_confirm, key, subscription=subscription_id, origin=origin)


def moderators() -> list[str]:
    """Return the email addresses that receive notices about pending comments.

    These are the addresses in COMMENTS["MODERATORS"], or those in settings.MANAGERS if COMMENTS["MODERATORS"] is empty.
    """
    return list(conf.get("MODERATORS") or [email for _name, email in settings.MANAGERS])


@task(stored_as="comments.held", **MAIL)
def send_held(context: Any, held: str, origin: str) -> None:
    """Send the moderators an email about a comment in the queue, unless they have already approved or rejected it."""
    try:
        comment = backend().get_held(held)
    except CommentNotFound:
        return
    obj = targets.resolve_many([comment.target]).get(comment.target)
    if comment.decided is not None or obj is None:
        return
    link = origin + reverse("comments-approve", args=[comment.id])
    sentences = reasons.sentences(comment)
    text = comment.source[:MAX_TEXT]
    shown = {"comment": comment, "obj": obj, "link": link, "text": text, "reasons": sentences}
    subject = _("New comment to review on “%(title)s”") % {"title": obj}
    _send(context, "held", subject, shown, moderators())


@task(stored_as="comments.reply", **MAIL)
def send_reply(context: Any, subscription: str, discussion: str, slug: str, origin: str) -> None:
    """Send a subscriber an email about a reply, if the confirmed subscription and the reply still exist."""
    target = Target.parse(discussion)
    try:
        subscribed = subscriptions.get(subscription)
        comment = backend().get(target, slug)
    except (NoSubscription, CommentNotFound):
        return
    obj = targets.resolve_many([target]).get(target)
    is_own = _was_written_by(subscribed, comment)
    if subscribed.confirmed is None or comment.removed or obj is None or is_own:
        return
    link = origin + reverse("comments-url-redirect", args=[target.label, target.pk, comment.slug])
    shown = {"comment": comment, "obj": obj, "link": link, "text": comment.source[:MAX_TEXT]}
    subject = _("%(name)s replied on “%(title)s”") % {"name": comment.author.name, "title": obj}
    _send(context, "reply", subject, _with_unsubscribe_url(shown, subscribed, origin), [subscribed.email])


@task(stored_as="comments.confirm", **MAIL)
def send_confirm(context: Any, subscription: str, origin: str) -> None:
    """Ask the owner of an email address to confirm a subscription."""
    try:
        subscribed = subscriptions.get(subscription)
    except NoSubscription:
        return
    obj = targets.resolve_many([subscribed.target]).get(subscribed.target)
    if subscribed.confirmed is not None or obj is None:
        return
    shown = {"obj": obj, "link": origin + _link("comments-subscribe", subscribed, subscriptions.CONFIRM)}
    subject = _("Confirm email notifications for replies on “%(title)s”") % {"title": obj}
    _send(context, "confirm", subject, _with_unsubscribe_url(shown, subscribed, origin), [subscribed.email])


def _was_written_by(subscription: Subscription, comment: Comment) -> bool:
    emails = (backend().email_of(comment.target, comment.slug), _account_email(comment.author.id or ""))
    return subscription.email.casefold() in map(str.casefold, emails)


def _account_email(key: str) -> str:
    """Return the email address of an account, or "" if there is none.

    Comments by accounts are stored without an email address, so the address is read from the account.
    """
    return str(getattr(accounts.find(key), "email", ""))


def _link(name: str, subscription: Subscription, purpose: str) -> str:
    return reverse(name, args=[subscriptions.token(subscription.id, purpose)])


def _with_unsubscribe_url(shown: dict[str, object], subscribed: Subscription, origin: str) -> dict[str, object]:
    """Return the template context `shown` with the URL for unsubscribing."""
    return {**shown, "leave": origin + _link("comments-unsubscribe", subscribed, subscriptions.LEAVE)}


def _send(context: Any, name: str, subject: str, shown: dict[str, object], to: Iterable[str]) -> None:
    headers = {"Auto-Submitted": "auto-generated"}
    if unsubscribe_url := shown.get("leave"):
        headers |= {"List-Unsubscribe": f"<{unsubscribe_url}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    body = render_to_string(f"comments/mail/{name}.txt", shown)
    with needing("the email server"), get_connection() as server:
        mail = EmailMessage(" ".join(subject.split()), body, to=list(to), headers=headers, connection=server)
        if once(context):
            _hand_over(context, mail)


def _hand_over(context: Any, mail: EmailMessage) -> None:
    try:
        mail.send()
    except (SMTPResponseException, SMTPRecipientsRefused):
        once_more(context)
        raise


def _enqueue(task: Any, key: str, **arguments: str) -> None:
    task.using(key=key, backend=conf.get("TASKS")).enqueue(**arguments)
