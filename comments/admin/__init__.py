"""The moderation queue in Django's admin, what readers flagged, and one comment with its history. No page reads the ORM."""

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
from django.utils.translation import ngettext

from marginalia.comments import signals, targets
from marginalia.comments.admin import stored
from marginalia.comments.converters import ONE
from marginalia.comments.errors import CommentError, CommentNotFound
from marginalia.comments.models import Moderation
from marginalia.comments.moderation import pending
from marginalia.comments.posting import flags, forms, services
from marginalia.comments.posting.forms import EditForm
from marginalia.comments.posting.policy import is_moderator
from marginalia.comments.reading import links, selectors
from marginalia.comments.types import Comment, Flagged, Target, Verdict
from marginalia.comments.views import answered

# Django looks for admins here.
__all__ = ["ModerationAdmin", "stored"]

SHOWN = 25
# Of the sentence after a decision, by action.
DONE = {
    "approve": lambda n: ngettext("%(n)d comment is published.", "%(n)d comments are published.", n),
    "reject": lambda n: ngettext("%(n)d comment was rejected.", "%(n)d comments were rejected.", n),
    "spam": lambda n: ngettext("%(n)d comment was marked as spam.", "%(n)d comments were marked as spam.", n),
    "release": lambda n: ngettext("%(n)d comment is left to others.", "%(n)d comments are left to others.", n),
    "wait": lambda n: ngettext("%(n)d decision was undone.", "%(n)d decisions were undone.", n),
}


@admin.register(Moderation)
class ModerationAdmin(admin.ModelAdmin):
    """The moderation queue in the place of a list of rows."""

    def get_urls(self) -> list[URLPattern]:
        def page(view: Any) -> Any:
            return self.admin_site.admin_view(self._for_moderators(view))

        return [
            path("", page(self.queue), name="marginalia_comments_moderation_changelist"),
            path("decide", page(self.decide), name="marginalia_comments_moderation_decide"),
            path("published", page(self.published), name="marginalia_comments_moderation_published"),
            path(f"comment/{ONE}", page(self.comment), name="marginalia_comments_moderation_comment"),
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
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not is_moderator(request.user):
                raise PermissionDenied
            return answered(view)(request, *args, **kwargs)

        return guarded

    def queue(self, request: HttpRequest) -> HttpResponse:
        """Show what waits and no other moderator has taken; or what was decided. Looking takes nothing."""
        verdict = _verdict(request.GET.get("state", ""))
        waiting = verdict is Verdict.WAITING
        after = request.GET.get("after", "")
        if waiting:
            shown = pending.open_to(_who(request), SHOWN)
            more = False
        else:
            found = selectors.held(verdict=verdict, limit=SHOWN + 1, after=after)
            shown = found[:SHOWN]
            more = len(found) > SHOWN
        counts = pending.counts()
        context = {
            "after": after,
            "cases": [_row(case) for case in pending.cases(shown)],
            "counts": counts,
            "earlier_most": pending.EARLIER,
            "has_taken": waiting and bool(pending.taken(_who(request), 1)),
            "more": more and shown[-1].id,
            "most": pending.COUNTED,
            "others_look": waiting and not shown and counts["waiting"],
            "state": verdict.value,
            "undo": request.session.get("comments_undo"),
        }
        return self._page(request, "queue", _("Pending comments") if waiting else _("Decided comments"), **context)

    def decide(self, request: HttpRequest) -> HttpResponse:
        """Do to the chosen comments what the button says, offer to undo it, and take those that come next."""
        if request.method != "POST":
            raise Http404
        action, _colon, only = request.POST.get("action", "").partition(":")
        ids = [only] if only else request.POST.getlist("chosen")
        if action == "release":
            left = pending.release(_who(request))
            messages.success(request, DONE[action](left) % {"n": left})
            return HttpResponseRedirect(reverse("admin:index"))
        verdict = _verdict(request.POST.get("state", ""))
        if action in pending.ACTIONS:
            self._decided(request, action, ids, verdict)
        where = reverse("admin:marginalia_comments_moderation_changelist")
        if verdict is Verdict.WAITING:
            pending.take(_who(request), SHOWN)
        else:
            where += "?" + urlencode({"state": verdict.value, "after": request.POST.get("after", "")})
        return HttpResponseRedirect(where + _focus(request, action, ids, verdict))

    def _decided(self, request: HttpRequest, action: str, ids: list[str], seen: Verdict) -> None:
        if not ids:
            messages.warning(request, _("Select one or more comments first."))
        decided = pending.decide(action, ids, _who(request), links.origin(request), seen=seen)
        for comment in decided.published:
            signals.comment_was_flagged.send(Comment, comment=comment, flag="approval", created=True, request=request)
        for comment in decided.removed:
            signals.comment_was_flagged.send(Comment, comment=comment, flag="removal", created=True, request=request)
            args = [comment.target.label, comment.target.pk, comment.slug]
            said = _('A comment that was public is removed. <a href="{}">Look at it again</a>')
            messages.info(
                request, format_html(said, reverse("admin:marginalia_comments_moderation_comment", args=args))
            )
        for _id, reason in decided.failed:
            messages.error(request, _("One could not be decided: %(reason)s") % {"reason": reason})
        if decided.done:
            messages.success(request, DONE[action](len(decided.done)) % {"n": len(decided.done)})
            request.session["comments_undo"] = list(decided.done) if action != "wait" else None

    def published(self, request: HttpRequest) -> HttpResponse:
        """Show what readers flagged, and the newest comments; posted to, forget the flags of comments that are gone."""
        flagged = []
        gone = []
        for flag in flags.flagged(SHOWN):
            comment = _found(flag)
            if comment is None or comment.removed:
                gone.append(flag)
            else:
                flagged.append({"flag": flag, "comment": comment})
        if request.method == "POST":
            for flag in gone:
                flags.settle(flag.target, flag.slug)
            return HttpResponseRedirect(request.path)
        context = {
            "flagged": flagged,
            "gone": len(gone),
            "recent": selectors.recent(SHOWN),
            "counts": pending.counts(),
            "most": pending.COUNTED,
        }
        return self._page(request, "published", _("Published comments"), **context)

    def comment(self, request: HttpRequest, label: str, pk: str, slug: str) -> HttpResponse:
        """Show one comment with its history; remove, restore, edit it, or say that its flags are settled."""
        target = Target(label, pk)
        found = selectors.get(target, slug)
        is_kept = forms.KEPT in request.POST
        form = EditForm(request.POST if is_kept or "edit" in request.POST else None, initial=EditForm.first(found))
        if request.method == "POST" and not is_kept:
            if self._changed(request, found, form):
                return HttpResponseRedirect(request.path)
            found = selectors.get(target, slug)
            form = form.again(found.rev) if form.is_valid() else form
        context = {
            "comment": found,
            "text": SafeString(found.html),
            "obj": targets.resolve_many([target]).get(target),
            "email": selectors.email_of(found),
            "form": form,
            "unsaved": request.POST.get("text", ""),
            "history": selectors.history(target, slug),
        }
        return self._page(request, "comment", _("Comment by %(name)s") % {"name": found.author.name}, **context)

    def _changed(self, request: HttpRequest, comment: Comment, form: EditForm) -> bool:
        """Do what was asked for; return whether it was done. What was not is said, and the text stays in the form."""
        by = _who(request)
        rev = forms.revision(request.POST.get("rev", "")) or None
        try:
            if "remove" in request.POST:
                removed = services.remove(comment.target, comment.slug, rev=rev, by=by)
                signals.comment_was_flagged.send(
                    Comment, comment=removed, flag="removal", created=True, request=request
                )
            elif "restore" in request.POST:
                services.restore(comment.target, comment.slug, rev=rev, by=by)
            elif "edit" in request.POST:
                if not form.is_valid():
                    return False
                data = form.cleaned_data
                services.edit(
                    comment.target, comment.slug, source=data["text"], rev=data["rev"], token=data["nonce"], by=by
                )
        except CommentError as error:
            messages.error(request, error.sentence)
            return False
        flags.settle(comment.target, comment.slug)
        messages.success(request, _("Done."))
        return True

    def _page(self, request: HttpRequest, name: str, title: str, **context: Any) -> HttpResponse:
        shared = {**self.admin_site.each_context(request), "opts": Moderation._meta, "title": title}
        return render(request, f"comments/admin/{name}.html", {**shared, **context})


def _found(flag: Flagged) -> Comment | None:
    try:
        return selectors.get(flag.target, flag.slug)
    except CommentNotFound:
        return None


def _who(request: HttpRequest) -> str:
    return forms.user_key(request.user)


def _focus(request: HttpRequest, action: str, ids: list[str], verdict: Verdict) -> str:
    """Return the fragment of the comment that the next key decides: an undone one, or the next. Skipped comments keep out."""
    if not ids:
        return ""
    last = ids[-1].partition(".")[0]
    shown = (
        last if action == "wait" and verdict is Verdict.WAITING else pending.next_after(last, _who(request), verdict)
    )
    return f"#held-{shown}" if shown else "#queue"


def _verdict(word: str) -> Verdict:
    return Verdict(word) if word in tuple(Verdict) else Verdict.WAITING


def _row(case: pending.Case) -> dict[str, Any]:
    """Return a case for the template, its texts as the clean HTML that they are stored as."""
    parent = case.parent
    return {
        "case": case,
        "held": case.held,
        "text": SafeString(case.held.html),
        "parent_text": SafeString(parent.html) if parent else "",
    }
