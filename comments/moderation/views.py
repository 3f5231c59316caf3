"""Pages for moderators outside of the admin: decisions about a single comment, and the settings of a discussion."""

from urllib.parse import urlencode

from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from marginalia.comments import targets
from marginalia.comments.errors import CommentNotFound, HeldChanged
from marginalia.comments.moderation import actions, searches
from marginalia.comments.moderation.forms import DiscussionForm
from marginalia.comments.moderators import MODERATE
from marginalia.comments.posting import forms, services
from marginalia.comments.posting.change_views import confirmation_page, get_or_post
from marginalia.comments.posting.services import Sender
from marginalia.comments.reading import selectors
from marginalia.comments.reading.lists import ANCHOR
from marginalia.comments.reading.views import comment_url, discussion_url, get_comment_or_404
from marginalia.comments.types import Comment, Target, Verdict
from marginalia.comments.views import get_target_or_404, page, personal


@permission_required(MODERATE)
@get_or_post
def approve(request: HttpRequest, held_id: str) -> HttpResponse:
    """Show a pending comment to a moderator. On POST, publish the comment."""
    try:
        held = selectors.get_held(held_id)
    except CommentNotFound as error:
        raise Http404(_("This comment is no longer pending.")) from error
    if held.verdict not in (Verdict.WAITING, Verdict.APPROVED):
        raise Http404(_("This comment is no longer pending."))
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


# The question and the text of the button, by the value of the parameter `do`.
DECISIONS: dict[str, tuple[Promise, Promise]] = {
    "hide": (gettext_lazy("Hide this comment?"), gettext_lazy("Hide")),
    "spam": (gettext_lazy("Hide this comment as spam?"), gettext_lazy("Spam")),
    "restore": (gettext_lazy("Show this comment to readers again?"), gettext_lazy("Restore")),
    "lock": (gettext_lazy("Lock this thread, so that no one can reply?"), gettext_lazy("Lock thread")),
    "unlock": (gettext_lazy("Unlock this thread?"), gettext_lazy("Unlock thread")),
    "pin": (gettext_lazy("Show this comment above all others?"), gettext_lazy("Pin")),
    "unpin": (gettext_lazy("Unpin this comment?"), gettext_lazy("Unpin")),
}
# The decisions after which readers no longer see the comment.
HIDING = ("hide", "spam")


def _decide(sender: Sender, decision: str, comment: Comment, rev: int) -> None:
    """Make one of DECISIONS about a comment."""
    place = (sender, comment.target, comment.slug)
    match decision:
        case "hide":
            services.delete(sender, comment, rev=rev)
        case "spam":
            actions.mark_spam(*place, rev=rev)
        case "restore":
            actions.restore(*place, rev=rev)
        case "lock" | "unlock":
            actions.lock_thread(*place, locked=decision == "lock")
        case "pin" | "unpin":
            actions.change_discussion(sender, comment.target, pinned=comment.slug if decision == "pin" else "")


@permission_required(MODERATE)
@get_or_post
def moderate(request: HttpRequest, label: str, pk: str, slug: str) -> HttpResponse:
    """Ask a moderator to confirm a decision about a public comment. On POST, make the decision.

    A ban has its own page in the admin.
    """
    comment, obj = get_comment_or_404(label, pk, slug)
    decision = request.GET.get("do", "")
    if decision == "ban":
        on = {"on": str(comment.target), "slug": comment.slug}
        return HttpResponseRedirect(f"{reverse('admin:marginalia_comments_moderation_ban')}?{urlencode(on)}")
    if decision not in DECISIONS:
        raise Http404
    question, answer = DECISIONS[decision]
    if request.method == "POST":
        _decide(Sender(request, ()), decision, comment, _seen_revision(request))
        # Moderators then see the place of a hidden comment, where they can undo the decision.
        return HttpResponseRedirect(comment_url(comment.target, obj, comment.slug, is_shown=decision in HIDING))
    return confirmation_page(request, searches.with_text(comment), obj, str(question), str(answer))


@permission_required(MODERATE)
@get_or_post
def manage(request: HttpRequest, label: str, pk: str) -> HttpResponse:
    """Show moderators the restrictions of a discussion. On POST, change them."""
    target, obj = get_target_or_404(label, pk)
    sender = Sender(request, ())
    discussion = selectors.discussion(target)
    is_form = request.method == "POST" and "save" in request.POST
    form = DiscussionForm(discussion, request.POST if is_form else None)
    if is_form and form.is_valid():
        is_open = form.cleaned_data["is_open"] if "is_open" in form.changed_data else None
        actions.change_discussion(sender, target, is_open=is_open, **form.changes())
        return HttpResponseRedirect(f"{discussion_url(target, obj)}#{ANCHOR}")
    if request.method == "POST" and not is_form:
        if "unpin" in request.POST:
            actions.change_discussion(sender, target, pinned="")
        if unlocked := request.POST.get("unlock"):
            actions.lock_thread(sender, target, unlocked, locked=False)
        return HttpResponseRedirect(request.path)
    context = {
        "obj": obj,
        "form": form,
        "locked": [(slug, _comment(target, slug)) for slug in discussion.restrictions.locked],
        "pinned": _comment(target, discussion.restrictions.pinned),
        "is_pinned": bool(discussion.restrictions.pinned),
    }
    return personal(page(request, target, "manage", context, status=422 if form.errors else 200))


def _comment(target: Target, slug: str) -> Comment | None:
    try:
        return selectors.get(target, slug) if slug else None
    except CommentNotFound:
        return None


def _seen_revision(request: HttpRequest) -> int:
    return forms.parse_revision(request.POST.get("rev", ""))
