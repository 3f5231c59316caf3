"""Admin pages for comments: the moderation queue, reported comments, and individual comments with their history.

These pages read comments through the backend, not through the ORM.
"""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from marginalia.comments import accounts, targets
from marginalia.comments.admin import stored
from marginalia.comments.admin.bans import BanPages
from marginalia.comments.admin.batches import BatchPages
from marginalia.comments.admin.searching import SearchPages
from marginalia.comments.converters import COMMENT_PATH
from marginalia.comments.errors import CommentError, CommentNotFound
from marginalia.comments.models import Moderation
from marginalia.comments.moderation import actions, pending
from marginalia.comments.moderators import is_moderator
from marginalia.comments.posting import flags, forms, services
from marginalia.comments.posting.forms import EditForm
from marginalia.comments.posting.services import Sender
from marginalia.comments.reading import selectors
from marginalia.comments.types import Comment, FlaggedComment, Target, Verdict
from marginalia.comments.views import handle_comment_errors

# Import `stored` here, because Django looks for admin classes only in this module.
__all__ = ["ModerationAdmin", "stored"]

PAGE_SIZE = 25
# Messages that confirm an action, keyed by the name of the action.
DONE = {
    "approve": lambda n: ngettext("%(n)d comment was published.", "%(n)d comments were published.", n),
    "reject": lambda n: ngettext("%(n)d comment was rejected.", "%(n)d comments were rejected.", n),
    "spam": lambda n: ngettext("%(n)d comment was marked as spam.", "%(n)d comments were marked as spam.", n),
    "release": lambda n: ngettext("%(n)d comment was released.", "%(n)d comments were released.", n),
    "wait": lambda n: ngettext("%(n)d decision was undone.", "%(n)d decisions were undone.", n),
    "return": lambda n: ngettext(
        "%(n)d comment was returned to the queue.", "%(n)d comments were returned to the queue.", n
    ),
}
TITLES = {
    Verdict.WAITING: gettext_lazy("Pending comments"),
    Verdict.SPAM: gettext_lazy("Comments marked as spam"),
    Verdict.REJECTED: gettext_lazy("Rejected comments"),
    Verdict.APPROVED: gettext_lazy("Approved comments"),
}
# The key of the moderator's last decision in the session.
LAST = "comments_last_decision"


@admin.register(Moderation)
class ModerationAdmin(BanPages, BatchPages, SearchPages, admin.ModelAdmin):
    """An admin that shows the moderation queue instead of a list of model instances."""

    def get_urls(self) -> list[URLPattern]:
        def page(view: Any) -> Any:
            return self.admin_site.admin_view(self._for_moderators(view))

        return [
            path("", page(self.queue), name="marginalia_comments_moderation_changelist"),
            path("decide", page(self.decide), name="marginalia_comments_moderation_decide"),
            path("reported", page(self.reported), name="marginalia_comments_moderation_reported"),
            path(f"comment/{COMMENT_PATH}", page(self.comment), name="marginalia_comments_moderation_comment"),
            path("search", page(self.search), name="marginalia_comments_moderation_search"),
            path(f"alike/{COMMENT_PATH}", page(self.alike), name="marginalia_comments_moderation_alike"),
            path("decisions", page(self.batches), name="marginalia_comments_moderation_batches"),
            path("decisions/<str:batch_id>", page(self.batch), name="marginalia_comments_moderation_batch"),
            path("bans", page(self.bans), name="marginalia_comments_moderation_bans"),
            path("bans/add", page(self.add_ban), name="marginalia_comments_moderation_ban"),
            path("bans/<str:ban_id>/lift", page(self.lift_ban), name="marginalia_comments_moderation_lift"),
        ]

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_moderator(request.user)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_moderator(request.user)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_moderator(request.user)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def _for_moderators(self, view: Any) -> Any:
        def checked_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not is_moderator(request.user):
                raise PermissionDenied
            return handle_comment_errors(view)(request, *args, **kwargs)

        return checked_view

    def queue(self, request: HttpRequest) -> HttpResponse:
        """Show the pending comments that no other moderator has leased, or, if requested, those with another verdict.

        Viewing comments doesn't lease them to the moderator.
        """
        verdict = _verdict(request.GET.get("state", ""))
        waiting = verdict is Verdict.WAITING
        after = request.GET.get("after", "")
        if waiting:
            shown = pending.available_to(_user_key(request), PAGE_SIZE)
            more = False
        else:
            page = selectors.held(verdict=verdict, limit=PAGE_SIZE + 1, after=after)
            shown = page[:PAGE_SIZE]
            more = len(page) > PAGE_SIZE
        context = {
            "after": after,
            "cases": [_row(case) for case in pending.cases(shown)],
            "earlier_most": pending.MAX_EARLIER,
            "has_taken": waiting and bool(pending.leased_by(_user_key(request), 1)),
            "more": more and shown[-1].id,
            "others_look": waiting and not shown and pending.count(1),
            "state": verdict.value,
            "last": _last_decision(request),
        }
        return self._page(request, "queue", TITLES[verdict], **context)

    def decide(self, request: HttpRequest) -> HttpResponse:
        """Apply the requested action to the selected comments and offer to undo it. Then lease more comments."""
        if request.method != "POST":
            raise Http404
        action, _colon, single_id = request.POST.get("action", "").partition(":")
        ids = [single_id] if single_id else request.POST.getlist("chosen")
        if action == "release":
            count = pending.release(_user_key(request))
            messages.success(request, DONE[action](count) % {"n": count})
            return HttpResponseRedirect(reverse("admin:index"))
        verdict = _verdict(request.POST.get("state", ""))
        failed = action in pending.ACTIONS and self._decide_all(request, action, ids, verdict)
        url = reverse("admin:marginalia_comments_moderation_changelist")
        if verdict is Verdict.WAITING:
            pending.lease(_user_key(request), PAGE_SIZE)
        else:
            url += "?" + urlencode({"state": verdict.value, "after": request.POST.get("after", "")})
        # Errors are shown at the top of the page.
        return HttpResponseRedirect(url if failed else url + _focus(request, action, ids, verdict))

    def _decide_all(self, request: HttpRequest, action: str, ids: list[str], seen: Verdict) -> bool:
        """Apply an action to comments, and return whether it failed for any of them."""
        if not ids:
            messages.warning(request, _("Select one or more comments first."))
        decisions = actions.decide(Sender(request, ()), action, ids, seen=seen)
        for comment in decisions.removed:
            args = [comment.target.label, comment.target.pk, comment.slug]
            message = _('A public comment was hidden. <a href="{}">View the comment</a>')
            messages.info(
                request, format_html(message, reverse("admin:marginalia_comments_moderation_comment", args=args))
            )
        for _id, reason in decisions.failed:
            messages.error(request, _("A comment could not be changed. %(reason)s") % {"reason": reason})
        if decisions.done and action == "wait":
            text = DONE["wait" if seen is Verdict.WAITING else "return"]
            messages.success(request, text(len(decisions.done)) % {"n": len(decisions.done)})
            request.session[LAST] = None
        elif decisions.done:
            published = [(comment.target.label, comment.target.pk, comment.slug) for comment in decisions.published]
            request.session[LAST] = {"action": action, "ids": decisions.done, "published": published}
        return bool(decisions.failed)

    def reported(self, request: HttpRequest) -> HttpResponse:
        """Show the comments that readers have reported.

        On POST, delete the reports of comments that have been removed or no longer exist.
        """
        flagged = []
        gone = []
        for flag in flags.list_flagged(PAGE_SIZE):
            comment = _flagged_comment(flag)
            if comment is None or comment.removed:
                gone.append(flag)
            else:
                flagged.append({"flag": flag, "comment": comment})
        if request.method == "POST":
            for flag in gone:
                actions.clear_flags(Sender(request, ()), flag.target, flag.slug)
            return HttpResponseRedirect(request.path)
        context = {"flagged": flagged, "gone": len(gone), "state": "reported"}
        return self._page(request, "reported", _("Reported comments"), **context)

    def comment(self, request: HttpRequest, label: str, pk: str, slug: str) -> HttpResponse:
        """Show a comment and its history. On POST, change the comment or dismiss its reports."""
        target = Target(label, pk)
        comment = selectors.get(target, slug)
        is_reshown = forms.RESHOW in request.POST
        form = EditForm(
            request.POST if is_reshown or "edit" in request.POST else None, initial=EditForm.initial_data(comment)
        )
        if request.method == "POST" and not is_reshown:
            if self._change(request, comment, form):
                return HttpResponseRedirect(request.path)
            comment = selectors.get(target, slug)
            form = form.renew(comment.rev) if form.is_valid() else form
        context = {
            "comment": comment,
            "text": SafeString(comment.html),
            "obj": targets.resolve_many([target]).get(target),
            "email": selectors.email_of(comment),
            "form": form,
            "flag": flags.find(target, slug),
            "unsaved": request.POST.get("text", ""),
            "history": _versions(comment),
        }
        return self._page(request, "comment", _("Comment by %(name)s") % {"name": comment.author.name}, **context)

    def _change(self, request: HttpRequest, comment: Comment, form: EditForm) -> bool:
        """Apply the requested change, and return whether it succeeded.

        If the change fails, show a message, and keep the text in the form.
        """
        sender = Sender(request, ())
        rev = forms.parse_revision(request.POST.get("rev", "")) or None
        try:
            if "hide" in request.POST:
                services.delete(sender, comment, rev=rev)
                text = _("The comment was hidden.")
            elif "spam" in request.POST:
                actions.mark_spam(sender, comment.target, comment.slug, rev=rev)
                text = _("The comment was marked as spam.")
            elif "restore" in request.POST:
                actions.restore(sender, comment.target, comment.slug, rev=rev)
                text = _("Readers see the comment again.")
            elif "edit" in request.POST:
                if not form.is_valid():
                    return False
                actions.edit(sender, comment.target, comment.slug, **form.cleaned_data)
                text = _("The change was saved.")
            else:
                actions.clear_flags(sender, comment.target, comment.slug)
                text = _("The reports were dismissed.")
        except CommentError as error:
            messages.error(request, error.sentence)
            return False
        messages.success(request, text)
        return True

    def _page(self, request: HttpRequest, name: str, title: str, **context: Any) -> HttpResponse:
        shared = {
            **self.admin_site.each_context(request),
            "opts": Moderation._meta,
            "title": title,
            "counts": pending.counts(),
            "most": pending.MAX_COUNTED,
        }
        return render(request, f"comments/admin/{name}.html", {**shared, **context})


def _versions(comment: Comment) -> list[dict[str, Any]]:
    """Return the template context of each previous version of a comment, and of what replaced it."""
    rows = []
    is_removed = comment.removed
    for replaced in selectors.history(comment.target, comment.slug):
        change = _("Restored") if replaced.comment.removed else _("Hidden or deleted") if is_removed else _("Edited")
        account = accounts.find(replaced.by) or replaced.by
        rows.append({"replaced": replaced, "change": change, "account": account})
        is_removed = replaced.comment.removed
    return rows


def _flagged_comment(flag: FlaggedComment) -> Comment | None:
    try:
        return selectors.get(flag.target, flag.slug)
    except CommentNotFound:
        return None


def _user_key(request: HttpRequest) -> str:
    return forms.user_key(request.user)


def _focus(request: HttpRequest, action: str, ids: list[str], verdict: Verdict) -> str:
    """Return the URL fragment of the comment that gets the keyboard focus after a decision.

    This is the comment whose decision was undone, or otherwise the comment after the last one decided.

    Earlier comments, which the moderator has skipped, don't get the focus.
    """
    if not ids:
        return ""
    last = ids[-1].partition(".")[0]
    focused = (
        last
        if action == "wait" and verdict is Verdict.WAITING
        else pending.next_after(last, _user_key(request), verdict)
    )
    return f"#held-{focused}" if focused else "#queue"


def _last_decision(request: HttpRequest) -> dict[str, Any] | None:
    """Return the template context of the moderator's last decision, or None if there is nothing to undo."""
    last = request.session.get(LAST)
    if not last:
        return None
    count = len(last["ids"])
    url = reverse("comments-url-redirect", args=last["published"][0]) if len(last["published"]) == 1 else ""
    return {"text": DONE[last["action"]](count) % {"n": count}, "ids": last["ids"], "url": url}


def _verdict(state: str) -> Verdict:
    return Verdict(state) if state in tuple(Verdict) else Verdict.WAITING


def _row(case: pending.Case) -> dict[str, Any]:
    """Return the template context of a pending comment.

    The comment's HTML is marked as safe, because it was sanitized before it was stored.
    """
    parent = case.parent
    return {
        "case": case,
        "held": case.held,
        "text": SafeString(case.held.html),
        "parent_text": SafeString(parent.html) if parent else "",
    }
