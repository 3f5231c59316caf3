"""The Atom feed of a discussion."""

from typing import Any
from urllib.parse import quote, urljoin

from django.http import HttpRequest, HttpResponse
from django.utils.feedgenerator import Atom1Feed
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from marginalia.comments.reading import links, selectors
from marginalia.comments.reading.presenter import CommentUrls
from marginalia.comments.views import get_target_or_404
from marginalia.markup.characters import scrub

MAX_ENTRIES = 50


@require_safe
def discussion(request: HttpRequest, label: str, pk: str) -> HttpResponse:
    """Return a feed of a discussion's newest comments, newest first.

    The feed contains no personal data except the authors' names.
    """
    target, obj = get_target_or_404(label, pk)
    origin = links.origin(request)
    feed = Atom1Feed(
        title=scrub(_("Comments on “%(title)s”") % {"title": obj}),
        link=urljoin(origin, obj.get_absolute_url()),
        description="",
        language=get_language() or "en",
        feed_url=origin + quote(request.path),
    )
    urls = CommentUrls.for_target(target)
    for comment in selectors.newest(target, limit=MAX_ENTRIES):
        # Names that older releases stored may contain control characters, which XML doesn't allow even in escaped form.
        name = scrub(comment.author.name) or _("Anonymous")
        feed.add_item(
            title=_("Comment by %(name)s") % {"name": name},
            link=origin + urls.permalink + comment.slug,
            unique_id=scrub(f"urn:marginalia:comment:{target}:{comment.slug}"),
            description=scrub(comment.html),
            author_name=name,
            pubdate=comment.posted,
            updateddate=comment.edited or comment.posted,
        )
    return _response(feed)


def _response(feed: Any) -> HttpResponse:
    response = HttpResponse(content_type=feed.content_type)
    feed.write(response, "utf-8")
    return response
