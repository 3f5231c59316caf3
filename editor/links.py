"""The report of links that lead nowhere, a part of the site at a time."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from editor.site import page
from marginalia.mongo.clock import now
from nodes import access
from nodes.access import Action
from nodes.models import tree
from nodes.selectors import references
from nodes.selectors.references import Broken, State
from photos import texts

# A page of the report ends with the look that brings so many, or after so many pages of the site.
SIZE = 50
LOOKED_THROUGH = 1_000
# Of one target's words on one page.
WORDS = 5


@require_safe
def broken(request: HttpRequest) -> HttpResponse:
    """List what public pages, the newest first, and then drafts refer to that readers cannot see, as far as they are the
    user's to see."""
    if not access.may_list(request.user):
        raise PermissionDenied
    rows: list[dict[str, Any]] = []
    looked = 0
    after = ""
    try:
        for look in references.check_all(tree.current(), now(), request.GET.get("from", "")):
            rows += [_row(request, one) for one in look.broken if access.allowed(request.user, one.node, Action.VIEW)]
            looked = looked + look.looked
            after = look.after
            if len(rows) >= SIZE or looked >= LOOKED_THROUGH:
                break
    except ValueError as error:
        raise Http404(_("There is no such page of this list.")) from error
    # What is not public has a name for those alone who may see it.
    targets = [row["target"] for row in rows] if access.sees_all(request.user) else []
    titles = references.titles(targets, of_photos=access.may_see_photos(request.user))
    for row in rows:
        row["title"] = titles.get(row["target"], "")
    return page(request, "broken_links", _("Broken links"), rows=rows, looked=looked, after=after)


def _row(request: HttpRequest, one: Broken) -> dict[str, Any]:
    # Why something is not public is not for all to know.
    state = one.state if access.sees_all(request.user) else State.HIDDEN
    return {
        "node": one.node,
        "words": [words for words in one.words if words][:WORDS],
        "target": one.target,
        "reason": texts.REASONS[state],
        "is_draft": one.is_draft,
    }
