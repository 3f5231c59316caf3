"""Admin pages for decisions about many comments: similar comments, the decisions made, and their undo."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from marginalia.comments import accounts
from marginalia.comments.admin.bans import describe_term
from marginalia.comments.errors import InvalidBan
from marginalia.comments.moderation import bans, batches
from marginalia.comments.posting.services import Sender
from marginalia.comments.types import Batch, BatchState, Target, Verdict

PAGE_SIZE = 50
VERDICTS = {Verdict.SPAM.value: Verdict.SPAM, Verdict.REJECTED.value: Verdict.REJECTED}
TEXT = "text"


class BatchPages:
    """The pages of ModerationAdmin for decisions about many comments."""

    _page: Any

    def alike(self, request: HttpRequest, label: str, pk: str, slug: str) -> HttpResponse:
        """Show what other comments have in common with a comment. On POST, hide all of them."""
        comment = batches.get_comment(Target(label, pk), slug)
        if request.method == "POST":
            by = request.POST.get("by", "")
            if by == TEXT:
                selection = batches.shingles(comment)
            else:
                term = _parse_term(by)
                selection = batches.of_term(term)
                by = str(term)
            if selection is None:
                raise Http404
            verdict = VERDICTS.get(request.POST.get("verdict", ""), Verdict.SPAM)
            batch = batches.hide(Sender(request, ()), selection, verdict=verdict, what=by)
            return HttpResponseRedirect(batch_url(batch))
        rows = [_likeness(likeness, comment.target, slug) for likeness in batches.likenesses(comment)]
        context = {"comment": comment, "text": SafeString(comment.html), "rows": rows, "state": "alike"}
        return self._page(request, "alike", _("Comments like this one"), **context)

    def batches(self, request: HttpRequest) -> HttpResponse:
        """Show the decisions of the last weeks, newest first."""
        found = batches.find(limit=PAGE_SIZE + 1, after=request.GET.get("after", ""))
        rows = [_row(batch) for batch in found[:PAGE_SIZE]]
        more = found[PAGE_SIZE - 1].id if len(found) > PAGE_SIZE else ""
        return self._page(request, "batches", _("Bulk decisions"), rows=rows, more=more, state="batches")

    def batch(self, request: HttpRequest, batch_id: str) -> HttpResponse:
        """Show a decision and its progress. On POST, undo it."""
        if request.method == "POST":
            undone = batches.undo(Sender(request, ()), batch_id)
            if undone and undone.is_finished:
                messages.success(request, _("The decision was undone."))
            return HttpResponseRedirect(request.path)
        batch = batches.get(batch_id)
        if batch is None:
            raise Http404
        return self._page(request, "batch", _("Bulk decision"), **_row(batch), state="batches")


def batch_url(batch: Batch) -> str:
    """Return the URL of the page of a decision."""
    return reverse("admin:marginalia_comments_moderation_batch", args=[batch.id])


def _row(batch: Batch) -> dict[str, Any]:
    """Return the template context of a decision."""
    is_undone, is_undoing = batch.state is BatchState.UNDONE, batch.state is BatchState.UNDOING
    return {
        "batch": batch,
        "url": batch_url(batch),
        "what": _describe(batch.what),
        "moderator": accounts.find(batch.by) or batch.by,
        "done": batch.total - batch.left,
        "is_undone": is_undone,
        "is_undoing": is_undoing,
        "can_undo": bool(batch.total) and not is_undone and not is_undoing,
        "is_approval": batch.verdict is Verdict.APPROVED,
    }


def _describe(what: str) -> str:
    """Return what the comments of a decision have in common, for moderators."""
    return _("Similar text") if what == TEXT else describe_term(what) or _("Selected comments")


def _parse_term(by: str) -> bans.Term:
    kind, _colon, value = by.partition(":")
    try:
        return bans.parse(kind, value)
    except InvalidBan as error:
        raise Http404 from error


def _likeness(likeness: batches.Likeness, target: Target, slug: str) -> dict[str, Any]:
    term = likeness.term
    on = {"on": str(target), "slug": slug}
    search = {"like": f"{target} {slug}"} if term is None else {"term": str(term)}
    return {
        "by": str(term) if term else TEXT,
        "name": describe_term(str(term)) if term else _("Similar text"),
        "counted": likeness.counted,
        "search": reverse("admin:marginalia_comments_moderation_search") + "?" + urlencode(search),
        "ban": reverse("admin:marginalia_comments_moderation_ban")
        + "?"
        + urlencode({**on, "kind": term.kind.value, "value": term.value})
        if term
        else "",
    }
