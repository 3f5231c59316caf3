"""Pages that help readers find other pages: archives and the 404 page. For search results, see `searching`."""

import re

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from marginalia.markup import titles
from marginalia.mongo.clock import now
from nodes.content import NEWEST
from nodes.models import Node, tree
from reader.selectors import archives, related
from reader.views.pages import breadcrumbs, paginate, redirect_if_moved, section_at

SUGGESTIONS = 5
# Limits for suggestions on the 404 page, so that wrong URLs don't take much more time than correct URLs.
MAX_SUGGESTING_MS = 200
MAX_SUGGESTING_WORDS = 8
MAX_PATH_LENGTH = 200


@require_safe
def archive(request: HttpRequest, path: str) -> HttpResponse:
    """List the months in which a blog has posts."""
    blog = section_at(path, NEWEST)
    if moved := redirect_if_moved(request, blog, path):
        return moved
    months = archives.months(blog.pk, now(), timezone.get_current_timezone())
    context = {"node": blog, "months": months, "years": archives.by_year(months), "breadcrumbs": _crumbs(blog)}
    return render(request, "nodes/archive.html", context)


@require_safe
def archive_of(request: HttpRequest, path: str, year: int, month: int | None = None) -> HttpResponse:
    """List a blog's posts in a year or month."""
    blog = section_at(path, NEWEST)
    if moved := redirect_if_moved(request, blog, path):
        return moved
    zone = timezone.get_current_timezone()
    posts = paginate(request, archives.posts_in, blog.pk, year, month, now(), zone)
    if not posts.nodes:
        raise Http404(_("Nothing was published here at that time."))
    first_day = archives.Month(year, month or 1, 0).first_day
    months = (month for month in archives.months(blog.pk, now(), zone) if month.year == year)
    context = {"node": blog, "listing": posts, "first_day": first_day, "by_month": month is not None}
    context["years"] = archives.by_year(months)
    return render(request, "nodes/archive-of.html", context | {"breadcrumbs": _crumbs(blog, with_archive=True)})


def _crumbs(blog: Node, *, with_archive: bool = False) -> list[dict[str, str]]:
    url = blog.get_absolute_url()
    crumbs = [*breadcrumbs(blog), {"title": blog.metadata.title, "url": url}]
    return [*crumbs, {"title": _("Archive"), "url": f"{url}/archive"}] if with_archive else crumbs


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return the 404 page. It suggests pages whose titles contain words from the URL, and a search for these words."""
    words = _words_in(request.path)
    sections = tree.current()
    moment = now()
    limits = {"size": SUGGESTIONS, "milliseconds": MAX_SUGGESTING_MS}
    nodes = related.find_by_title(sections, titles.query_prefixes(words), moment, **limits) if words else []
    context = {"suggestions": nodes, "words": words, "sections": sections.live_children(None, moment)}
    return render(request, "404.html", context, status=404)


def _words_in(path: str) -> str:
    """Return the words in the last part of a path. The 404 page uses these words to find suggestions.

    Return "" for file names, because readers don't request files. Numbers, email addresses and strings that could be
    secrets are ignored.
    """
    last = path.rstrip("/").rsplit("/", 1)[-1][:MAX_PATH_LENGTH]
    if not set(last).isdisjoint(".@%="):
        return ""
    words = re.split(r"[^\w'’]+|_", last)
    return " ".join([word for word in words if word and not any(c.isdecimal() for c in word)][:MAX_SUGGESTING_WORDS])
