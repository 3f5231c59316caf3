"""Mails about comments: put into the queue when something happens, sent by `manage.py work`.

A notice is sent once. It is noted as sent when the mail server is there, before it is handed over, and the note is taken back
only if the server refused it: a worker that dies, or a connection that breaks, in between leaves a notice unsent rather than
sent twice.
"""

from collections.abc import Iterable
from smtplib import SMTPRecipientsRefused, SMTPResponseException
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.mail import EmailMessage, get_connection
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _

from marginalia.comments import conf, targets
from marginalia.comments.backends import backend
from marginalia.comments.errors import CommentNotFound, TargetNotFound
from marginalia.comments.notices import reasons, subscriptions
from marginalia.comments.notices.subscriptions import NoSubscription, Subscription
from marginalia.comments.types import Comment, Held, Target
from marginalia.tasks import RETRIES_FOR_A_DAY, URGENT, needing, once, once_more, task

MAIL: dict[str, Any] = {"priority": URGENT, "retries": RETRIES_FOR_A_DAY, "takes_context": True}
# Of a comment's text in a mail.
LONGEST = 2_000


def held(comment: Held, origin: str) -> None:
    """Have the moderators told that a comment waits. `origin`: scheme and host for links."""
    if moderators():
        _enqueue(send_held, f"held:{comment.id}", held=comment.id, origin=origin)


def published(comment: Comment, origin: str) -> None:
    """Have those told who asked for replies to what the comment answers."""
    if not comment.answers:
        return
    for subscription in subscriptions.to(comment.target, {comment.answers, comment.parent}):
        key = f"reply:{subscription.id}:{comment.slug}"
        about = {"subscription": subscription.id, "discussion": str(comment.target), "slug": comment.slug}
        _enqueue(send_reply, key, **about, origin=origin)


def ask(target: Target, slug: str, email: str, origin: str) -> None:
    """Subscribe an e-mail address to the replies to a comment; ask it by mail, once for each time that it is entered in a
    discussion, whether it wants them."""
    if asked := subscriptions.ask(target, slug, email):
        subscription = subscriptions.id_of(target, email)
        key = f"confirm:{subscription}:{asked.timestamp()}"
        _enqueue(send_confirm, key, subscription=subscription, origin=origin)


def moderators() -> list[str]:
    """Return the e-mail addresses that hear of comments that wait: COMMENTS["MODERATORS"], else those of settings.MANAGERS."""
    return list(conf.get("MODERATORS") or [email for _name, email in settings.MANAGERS])


@task(stored_as="comments.held", **MAIL)
def send_held(context: Any, held: str, origin: str) -> None:
    """Tell the moderators, unless one has decided already."""
    try:
        comment = backend().get_held(held)
    except CommentNotFound:
        return
    obj = targets.resolve_many([comment.target]).get(comment.target)
    if comment.decided is not None or obj is None:
        return
    link = origin + reverse("comments-approve", args=[comment.id])
    why = reasons.sentences(comment)
    text = comment.source[:LONGEST]
    shown = {"comment": comment, "obj": obj, "link": link, "text": text, "reasons": why}
    subject = _("A comment waits on “%(title)s”") % {"title": obj}
    _send(context, "held", subject, shown, moderators())


@task(stored_as="comments.reply", **MAIL)
def send_reply(context: Any, subscription: str, discussion: str, slug: str, origin: str) -> None:
    """Tell one subscriber of one reply, if both are still there."""
    target = Target.parse(discussion)
    try:
        subscribed = subscriptions.get(subscription)
        comment = backend().get(target, slug)
    except (NoSubscription, CommentNotFound):
        return
    obj = targets.resolve_many([target]).get(target)
    own = _was_written_by(subscribed, comment)
    if comment.removed or obj is None or own:
        return
    link = origin + reverse("comments-url-redirect", args=[target.label, target.pk, comment.slug])
    shown = {"comment": comment, "obj": obj, "link": link, "text": comment.source[:LONGEST]}
    subject = _("%(name)s answered on “%(title)s”") % {"name": comment.author.name, "title": obj}
    _send(context, "reply", subject, _with_leave(shown, subscribed, origin), [subscribed.email])


@task(stored_as="comments.confirm", **MAIL)
def send_confirm(context: Any, subscription: str, origin: str) -> None:
    """Ask an e-mail address whether it wants to hear of replies."""
    try:
        subscribed = subscriptions.get(subscription)
    except NoSubscription:
        return
    obj = targets.resolve_many([subscribed.target]).get(subscribed.target)
    if subscribed.confirmed is not None or obj is None:
        return
    shown = {"obj": obj, "link": origin + _link("comments-subscribe", subscribed, subscriptions.CONFIRM)}
    subject = _("Do you want an e-mail for each reply on “%(title)s”?") % {"title": obj}
    _send(context, "confirm", subject, _with_leave(shown, subscribed, origin), [subscribed.email])


def _was_written_by(subscription: Subscription, comment: Comment) -> bool:
    addresses = (backend().email_of(comment.target, comment.slug), _account_address(comment.author.id or ""))
    return subscription.email.casefold() in map(str.casefold, addresses)


def _account_address(key: str) -> str:
    """Return the e-mail address of an account, "" without one. Comments of accounts are stored without theirs."""
    accounts = get_user_model()
    try:
        found = accounts._default_manager.filter(pk=targets.key_of(Target(accounts._meta.label_lower, key))).first()
    except TargetNotFound:
        return ""
    return str(getattr(found, "email", ""))


def _link(name: str, subscription: Subscription, purpose: str) -> str:
    return reverse(name, args=[subscriptions.token(subscription.id, purpose)])


def _with_leave(shown: dict[str, object], subscribed: Subscription, origin: str) -> dict[str, object]:
    """Add the link by which a subscriber leaves."""
    return {**shown, "leave": origin + _link("comments-unsubscribe", subscribed, subscriptions.LEAVE)}


def _send(context: Any, name: str, subject: str, shown: dict[str, object], to: Iterable[str]) -> None:
    headers = {"Auto-Submitted": "auto-generated"}
    if leave := shown.get("leave"):
        headers |= {"List-Unsubscribe": f"<{leave}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    body = render_to_string(f"comments/mail/{name}.txt", shown)
    with needing("the mail server"), get_connection() as server:
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
