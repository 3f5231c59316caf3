"""Pages that help readers find other pages: archives and the 404 page. For search results, see `searching`."""

import re

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from marginalia.markup import scripts
from marginalia.mongo.clock import now
from nodes.content import NEWEST
from nodes.models import Node, tree
from nodes.selectors.listing import Listing
from photos import pictures
from reader.selectors import archives, similar_pages
from reader.views.pages import breadcrumbs, paginate, redirect_if_moved, section_at

SUGGESTIONS = 5
# Limits for the part of a wrong URL that is searched.
MAX_WORDS = 8
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
    """Return the 404 page. It suggests similar pages, and a search for the words in the URL."""
    last = _last_part(request.path_info)
    words = " ".join(_words_in(last))
    sections = tree.current()
    moment = now()
    similar = similar_pages.find(sections, request.path_info, words, moment, size=SUGGESTIONS) if last else []
    pictures.attach(similar)
    context = {"listing": Listing(tuple(similar)), "words": words}
    return render(request, "404.html", context, status=404)


def _last_part(path: str) -> str:
    """Return the last part of a path, without ".html" and ".htm", with which pages of many old sites end.

    Return "" for file names, because readers don't request files, and for email addresses and parameters, because they
    could be secrets.
    """
    last = path.rstrip("/").rsplit("/", 1)[-1][:MAX_PATH_LENGTH]
    last = re.sub(r"\.html?$", "", last)
    return last if set(last).isdisjoint(".@%=") else ""


def _words_in(last: str) -> list[str]:
    """Return the words in the last part of a path. Single letters and words with digits, such as keys, are ignored."""
    words = re.split(r"[^\w'’]+|_", last)
    return [word for word in words if _is_searched(word)][:MAX_WORDS]


def _is_searched(word: str) -> bool:
    is_letter = len(word) == 1 and not scripts.unspaced_runs(word)
    return bool(word) and not is_letter and not any(character.isdecimal() for character in word)
