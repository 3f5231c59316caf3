"""The report of broken links. Each page of the report covers a part of the site."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from editor.site import render_page
from marginalia.mongo.clock import now
from nodes import access
from nodes.access import NodePermission
from nodes.models import tree
from nodes.selectors import references
from nodes.selectors.references import Broken, State
from photos import texts

# Maximum number of rows on a page of the report, and maximum number of the site's pages that are checked for it.
SIZE = 50
MOST_EXAMINED = 1_000
# Maximum number of link texts that are shown for each target.
WORDS = 5


@require_safe
def broken_links(request: HttpRequest) -> HttpResponse:
    """List references whose targets readers can't see.

    References in public pages come first, beginning with the newest pages. They are followed by references in drafts.
    Pages that the user can't see are omitted.
    """
    if not access.may_list(request.user):
        raise PermissionDenied
    rows: list[dict[str, Any]] = []
    examined = 0
    after = ""
    try:
        for look in references.check_all(tree.current(), now(), request.GET.get("from", "")):
            visible = [
                broken for broken in look.broken if access.allowed(request.user, broken.node, NodePermission.VIEW)
            ]
            rows += [_row(request, broken) for broken in visible]
            examined += look.looked
            after = look.after
            if len(rows) >= SIZE or examined >= MOST_EXAMINED:
                break
    except ValueError as error:
        raise Http404(_("This page of the list doesn't exist.")) from error
    # Only users who can see everything are allowed to see the titles of targets that aren't public.
    targets = [row["target"] for row in rows] if access.sees_all(request.user) else []
    titles = references.titles(targets, of_photos=access.may_see_photos(request.user))
    for row in rows:
        row["title"] = titles.get(row["target"], "")
    return render_page(request, "broken_links", _("Broken links"), rows=rows, looked=examined, after=after)


def _row(request: HttpRequest, broken: Broken) -> dict[str, Any]:
    # Only users who can see everything are allowed to see why a target isn't public.
    state = broken.state if access.sees_all(request.user) else State.HIDDEN
    return {
        "node": broken.node,
        "words": [words for words in broken.words if words][:WORDS],
        "target": broken.target,
        "reason": texts.REASONS[state],
        "is_draft": broken.is_draft,
    }
