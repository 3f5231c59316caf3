"""The page linked from emails to moderators. It shows a pending comment, and a button that publishes the comment."""

from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _

from marginalia.comments import targets
from marginalia.comments.errors import CommentNotFound, HeldChanged
from marginalia.comments.moderation import actions
from marginalia.comments.posting import forms, policy
from marginalia.comments.posting.change_views import confirmation_page, get_or_post
from marginalia.comments.posting.services import Sender
from marginalia.comments.reading import selectors
from marginalia.comments.reading.views import comment_url


@permission_required(policy.MODERATE)
@get_or_post
def approve(request: HttpRequest, held_id: str) -> HttpResponse:
    """Show a pending comment to a moderator. On POST, publish the comment."""
    try:
        held = selectors.get_held(held_id)
    except CommentNotFound as error:
        raise Http404(_("This comment is no longer pending.")) from error
    obj = targets.resolve_many([held.target]).get(held.target)
    if obj is None:
        raise Http404(_("The page that this comment belongs to isn't public."))
    if request.method == "POST":
        try:
            comment = actions.approve(Sender(request, ()), held_id, rev=_seen_revision(request))
        except HeldChanged:
            held = selectors.get_held(held_id)
            return confirmation_page(
                request, held, obj, _("The author has changed this comment. Publish the new text?"), _("Publish")
            )
        return HttpResponseRedirect(comment_url(comment.target, obj, comment.slug))
    return confirmation_page(request, held, obj, _("Publish this comment?"), _("Publish"))


def _seen_revision(request: HttpRequest) -> int:
    return forms.parse_revision(request.POST.get("rev", ""))
