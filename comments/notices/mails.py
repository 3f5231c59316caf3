"""Mails about comments: put into the queue when something happens, sent by `manage.py work`.

A notice is sent once. It is noted as sent when the mail server is there, before it is handed over, and the note is taken back
only if the server refused it: a worker that dies, or a connection that breaks, in between leaves a notice unsent rather than
sent twice.
"""

from collections.abc import Iterable
from smtplib import SMTPRecipientsRefused, SMTPResponseException

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
from marginalia.mongo import jobs
from marginalia.mongo.jobs import Job

HELD = "comments.held"
REPLY = "comments.reply"
CONFIRM = "comments.confirm"
# Of a comment's text in a mail.
LONGEST = 2_000


def held(comment: Held, origin: str) -> None:
    """Have the moderators told that a comment waits. `origin`: scheme and host for links."""
    if moderators():
        _put(HELD, {"held": comment.id, "origin": origin}, f"held:{comment.id}")


def published(comment: Comment, origin: str) -> None:
    """Have those told who asked for replies to what the comment answers."""
    if not comment.answers:
        return
    for subscription in subscriptions.to(comment.target, {comment.answers, comment.parent}):
        payload = {"subscription": subscription.id, "discussion": str(comment.target), "slug": comment.slug}
        _put(REPLY, {**payload, "origin": origin}, f"reply:{subscription.id}:{comment.slug}")


def ask(target: Target, slug: str, email: str, origin: str) -> None:
    """Subscribe an e-mail address to the replies to a comment; ask it by mail, once for each time that it is entered in a
    discussion, whether it wants them."""
    if asked := subscriptions.ask(target, slug, email):
        subscription = subscriptions.id_of(target, email)
        _put(CONFIRM, {"subscription": subscription, "origin": origin}, f"confirm:{subscription}:{asked.timestamp()}")


def moderators() -> list[str]:
    """Return the e-mail addresses that hear of comments that wait: COMMENTS["MODERATORS"], else those of settings.MANAGERS."""
    return list(conf.get("MODERATORS") or [email for _name, email in settings.MANAGERS])


@jobs.handler(HELD, mail=True)
def send_held(job: Job) -> None:
    """Tell the moderators, unless one has decided already."""
    try:
        comment = backend().get_held(job.payload["held"])
    except CommentNotFound:
        return
    obj = targets.resolve_many([comment.target]).get(comment.target)
    if comment.decided is not None or obj is None:
        return
    link = job.payload["origin"] + reverse("comments-approve", args=[comment.id])
    why = reasons.sentences(comment)
    text = comment.source[:LONGEST]
    context = {"comment": comment, "obj": obj, "link": link, "text": text, "reasons": why}
    subject = _("A comment waits on “%(title)s”") % {"title": obj}
    _send(job, "held", subject, context, moderators())


@jobs.handler(REPLY, mail=True)
def send_reply(job: Job) -> None:
    """Tell one subscriber of one reply, if both are still there."""
    target = Target.parse(job.payload["discussion"])
    try:
        subscription = subscriptions.get(job.payload["subscription"])
        comment = backend().get(target, job.payload["slug"])
    except (NoSubscription, CommentNotFound):
        return
    obj = targets.resolve_many([target]).get(target)
    own = _was_written_by(subscription, comment)
    if comment.removed or obj is None or own:
        return
    link = job.payload["origin"] + reverse("comments-url-redirect", args=[target.label, target.pk, comment.slug])
    context = {"comment": comment, "obj": obj, "link": link, "text": comment.source[:LONGEST]}
    subject = _("%(name)s answered on “%(title)s”") % {"name": comment.author.name, "title": obj}
    _send(job, "reply", subject, context, [subscription.email], subscription)


@jobs.handler(CONFIRM, mail=True)
def send_confirm(job: Job) -> None:
    """Ask an e-mail address whether it wants to hear of replies."""
    try:
        subscription = subscriptions.get(job.payload["subscription"])
    except NoSubscription:
        return
    obj = targets.resolve_many([subscription.target]).get(subscription.target)
    if subscription.confirmed is not None or obj is None:
        return
    context = {
        "obj": obj,
        "link": job.payload["origin"] + _link("comments-subscribe", subscription, subscriptions.CONFIRM),
    }
    subject = _("Do you want an e-mail for each reply on “%(title)s”?") % {"title": obj}
    _send(job, "confirm", subject, context, [subscription.email], subscription)


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


def _send(
    job: Job,
    name: str,
    subject: str,
    context: dict[str, object],
    to: Iterable[str],
    subscription: Subscription | None = None,
) -> None:
    headers = {"Auto-Submitted": "auto-generated"}
    if subscription:
        leave = str(job.payload["origin"]) + _link("comments-unsubscribe", subscription, subscriptions.LEAVE)
        context = {**context, "leave": leave}
        headers |= {"List-Unsubscribe": f"<{leave}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    body = render_to_string(f"comments/mail/{name}.txt", context)
    with jobs.needing("the mail server"), get_connection() as server:
        mail = EmailMessage(" ".join(subject.split()), body, to=list(to), headers=headers, connection=server)
        if jobs.once(job):
            _hand_over(job, mail)


def _hand_over(job: Job, mail: EmailMessage) -> None:
    try:
        mail.send()
    except (SMTPResponseException, SMTPRecipientsRefused):
        jobs.once_more(job)
        raise


def _put(kind: str, payload: dict[str, str], key: str) -> None:
    jobs.put(kind, payload, key=key, alias=conf.database_alias())
