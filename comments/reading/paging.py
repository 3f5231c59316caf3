"""The query parameter that selects which part of a discussion is shown.

There are no other such parameters, so a page cache has to take only this one into account.

    ?comments=newest             the first page, newest first
    ?comments=oldest.3           page 3
    ?comments=threaded.after.C   the page after the cursor C; also "before"
    ?comments=threaded.at.SLUG   the page that contains a comment; also with another order
"""

from dataclasses import dataclass
from urllib.parse import quote

from django.http import HttpRequest
from django.utils.encoding import escape_uri_path

from marginalia.comments.types import Order, Page

PARAMETER = "comments"
MAX_DIGITS = 7
# Maximum length of the parameter's value. Even a value with a cursor of eight levels is shorter.
MAX_LENGTH = 600


@dataclass(frozen=True)
class PageRequest:
    """The part of a discussion that a reader requested.

    If all fields are empty, the reader requested the first page in the discussion's default order.
    """

    order: str = ""
    number: int = 0
    after: str = ""
    before: str = ""
    at: str = ""

    @classmethod
    def from_request(cls, request: HttpRequest | None) -> "PageRequest":
        """Return the part of the discussion that `request` asks for."""
        return cls.parse(request.GET.get(PARAMETER, "")) if request else cls()

    @classmethod
    def parse(cls, value: str) -> "PageRequest":
        """Parse the value of the parameter. An invalid value selects the first page."""
        order, _, rest = value[:MAX_LENGTH].partition(".")
        if order not in tuple(Order):
            return cls()
        if rest.isascii() and rest.isdecimal():
            return cls(order, number=int(rest[:MAX_DIGITS]))
        kind, _, position = rest.partition(".")
        return cls(
            order,
            after=position if kind == "after" else "",
            before=position if kind == "before" else "",
            at=position if kind == "at" else "",
        )


@dataclass(frozen=True)
class PageLinks:
    """The URLs of the previous and the next page ("" if there is none), and of the page in each order.

    Attributes:
        orders: A tuple for each order: the order, its URL, and whether the current page has this order.
    """

    previous: str
    next: str
    orders: tuple[tuple[str, str, bool], ...]


def url_without_part(request: HttpRequest) -> str:
    """Return the URL of the requested page without the query parameter PARAMETER."""
    query = request.GET.copy()
    query.pop(PARAMETER, None)
    path = escape_uri_path(request.path)
    return f"{path}?{query.urlencode()}" if query else path


def url_with_part(page_url: str, value: str) -> str:
    """Return `page_url`, which can have a query string, with PARAMETER set to `value`."""
    return f"{page_url}{'&' if '?' in page_url else '?'}{PARAMETER}={quote(value, safe='/:.')}"


def links(page: Page, page_url: str, anchor: str) -> PageLinks:
    """Return the links for a page of comments.

    Each URL begins with `page_url`, which is the page that contains the comments, and ends with the fragment `anchor`.
    """

    def url(value: str) -> str:
        return f"{url_with_part(page_url, value) if value else page_url}#{anchor}"

    previous, following = (url(value) if value else "" for value in cursors(page))
    orders = tuple((order.value, url(order.value), order is page.order) for order in Order)
    return PageLinks(previous, following, orders)


def cursors(page: Page) -> tuple[str, str]:
    """Return the values of PARAMETER for the previous and the next page. A value is "" if there is no such page."""

    def parameter(cursor: str, direction: str) -> str:
        if not cursor:
            return ""
        return f"{page.order}.{cursor}" if page.order is not Order.THREADED else f"{page.order}.{direction}.{cursor}"

    return parameter(page.previous, "before"), parameter(page.next, "after")


def parameter_for(page: Page, slug: str) -> str:
    """Return the value of PARAMETER for `page`, which contains the comment `slug`."""
    return parameter_at(page, slug) if page.order is Order.THREADED else f"{page.order}.{page.number}"


def parameter_at(page: Page, slug: str) -> str:
    """Return the value of PARAMETER that selects the page with the comment `slug`, in the order of `page`."""
    return f"{page.order}.at.{slug}"
