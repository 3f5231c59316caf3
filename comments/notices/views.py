"""The pages that emails to subscribers link to.

Each page only shows a button. The change is made when the button is pressed, because GET requests must not change
anything.
"""

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from marginalia.comments.notices import subscriptions
from marginalia.comments.notices.subscriptions import BadLink, NoSubscription
from marginalia.comments.views import page, personal


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def subscribe(request: HttpRequest, signed: str) -> HttpResponse:
    """Confirm a subscription. Only the owner of the email address knows the signed link."""
    try:
        subscription = subscriptions.read(signed, subscriptions.CONFIRM)
    except NoSubscription as error:
        raise Http404(_("This link has expired, or you have already unsubscribed.")) from error
    if request.method == "POST":
        subscriptions.confirm(subscription)
        return _message_page(request, _("You'll receive an email for each reply."))
    return _confirmation_page(request, _("Receive an email for each reply?"), _("Subscribe"))


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe(request: HttpRequest, signed: str) -> HttpResponse:
    """End a subscription. Email programs can also send the POST request without showing the page (RFC 8058)."""
    try:
        subscription = subscriptions.read(signed, subscriptions.LEAVE)
    except BadLink as error:
        raise Http404(_("This link has expired or is incomplete. Copy the whole link from the email.")) from error
    except NoSubscription:
        return _message_page(request, _("You won't receive any more emails about this discussion."))
    if request.method == "POST":
        subscriptions.end(subscription.id)
        return _message_page(request, _("You won't receive any more emails about this discussion."))
    return _confirmation_page(request, _("Stop emails about this discussion?"), _("Unsubscribe"))


def _confirmation_page(request: HttpRequest, question: str, answer: str) -> HttpResponse:
    return personal(page(request, None, "subscribe", {"question": question, "answer": answer}))


def _message_page(request: HttpRequest, sentence: str) -> HttpResponse:
    return personal(page(request, None, "subscribe", {"question": sentence}))
