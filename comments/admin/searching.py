"""The admin page that searches the comments of all discussions, with actions on the comments that it finds."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from marginalia.comments.admin.bans import describe_term
from marginalia.comments.admin.batches import batch_url
from marginalia.comments.errors import CommentError, SearchTimeout
from marginalia.comments.moderation import actions, batches, searches
from marginalia.comments.moderation.search_form import STATE_LABELS, SearchForm
from marginalia.comments.posting.services import Sender
from marginalia.comments.types import Found, HeldComment, Selection, Target, Verdict

PAGE_SIZE = 50


class SearchPages:
    """The page of ModerationAdmin that searches comments."""

    _page: Any

    def search(self, request: HttpRequest) -> HttpResponse:
        """Show the comments that match the form, newest first. On POST, apply an action to them."""
        form = SearchForm(request.GET)
        is_valid = form.is_valid()
        if request.method == "POST" and is_valid:
            return HttpResponseRedirect(self._apply(request, form) or request.get_full_path())
        before = searches.parse_cursor(request.GET.get("before", ""))
        matches: list[Found] = []
        counted = None
        if is_valid:
            try:
                with searches.time_limit():
                    matches = searches.find(form.selection(), form.states, limit=PAGE_SIZE + 1, before=before)
                    counted = batches.count(form.selection()) if _can_decide_all(form) else None
            except SearchTimeout as error:
                form.add_error(None, error.sentence)
        shown = matches[:PAGE_SIZE]
        query = {name: value for name, value in request.GET.items() if value and name != "before"}
        more = {**query, "before": searches.cursor(shown[-1])} if len(matches) > PAGE_SIZE else {}
        context = {
            "form": form,
            "hits": [_row(hit) for hit in searches.with_texts(shown)],
            "counted": counted,
            "term": _describe(form) if is_valid else "",
            "more": urlencode(more),
            "is_filtered": bool(query),
            "filters_open": bool(form.errors or query.keys() - {"q", "term", "like"}),
            "state": "search",
            "chosen_state": request.GET.get("state", ""),
        }
        return self._page(request, "search", _("All comments"), **context)

    def _apply(self, request: HttpRequest, form: SearchForm) -> str:
        """Apply an action to the selected comments, or to all that were found. Return the URL of the next page."""
        sender = Sender(request, ())
        action, _colon, single = request.POST.get("action", "").partition(":")
        names = [single] if single else request.POST.getlist("chosen")
        # The target and the slug of each comment, and its id and revision in the queue or "".
        chosen = [tuple([*name.split(" "), ""][:3]) for name in names if " " in name]
        if action == "all" and _can_decide_all(form):
            decide = batches.hide if form.cleaned_data["state"] == "" else batches.approve
            return batch_url(decide(sender, form.selection()))
        if not chosen:
            messages.warning(request, _("Select one or more comments first."))
        elif action in ("spam", "rejected"):
            places = tuple((Target.parse(name).id, slug) for name, slug, _queued in chosen)
            return batch_url(batches.hide(sender, Selection(comments=places), verdict=Verdict(action)))
        elif action in ("approve", "restore"):
            seen = next((verdict for verdict in Verdict if verdict in form.states), Verdict.WAITING)
            self._publish(request, chosen, seen)
        return ""

    def _publish(self, request: HttpRequest, chosen: list[tuple[str, ...]], seen: Verdict) -> None:
        """Restore removed comments, and approve queued ones if they are still as the moderator saw them."""
        sender = Sender(request, ())
        decisions = actions.decide(sender, "approve", [queued for *_place, queued in chosen if queued], seen=seen)
        for _id, reason in decisions.failed:
            messages.error(request, reason)
        done = len(decisions.done)
        for name, slug in (place for *place, queued in chosen if not queued):
            try:
                actions.restore(sender, Target.parse(name), slug)
                done += 1
            except CommentError as error:
                messages.error(request, error.sentence)
        if done:
            text = ngettext("%(n)d comment was published.", "%(n)d comments were published.", done)
            messages.success(request, text % {"n": done})


def _can_decide_all(form: SearchForm) -> bool:
    """Return whether everything that a search finds can be hidden or, if it finds pending comments, approved."""
    return form.is_narrow and form.cleaned_data["state"] in ("", Verdict.WAITING.value)


def _describe(form: SearchForm) -> str:
    """Return what a link to the search asked for, or ""."""
    if form.cleaned_data["like"]:
        return _("Similar text")
    return describe_term(form.cleaned_data["term"])


def _row(hit: searches.Hit) -> dict[str, Any]:
    """Return the template context of a comment. Its HTML was sanitized before it was stored."""
    comment = hit.comment
    place = [comment.target.label, comment.target.pk, comment.slug]
    page = "" if hit.found.held_id else reverse("admin:marginalia_comments_moderation_comment", args=place)
    queued = f" {comment.id}.{comment.rev}" if isinstance(comment, HeldComment) else ""
    return {
        "hit": hit,
        "comment": comment,
        "text": SafeString(comment.html),
        "state": dict(STATE_LABELS).get(hit.found.state.value, hit.found.state.value),
        "value": f"{comment.target} {comment.slug}{queued}",
        "page": page,
        "is_pending": hit.found.state is Verdict.WAITING,
        "alike": reverse("admin:marginalia_comments_moderation_alike", args=place),
    }
