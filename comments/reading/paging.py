"""Which part of a discussion a reader asks for, in one query parameter, so that a page cache needs to know of only one.

?comments=newest             the first page, newest first
?comments=oldest.3           page 3
?comments=threaded.after.C   what follows the cursor C; also "before"
?comments=threaded.at.SLUG   the page that holds a comment
"""

from dataclasses import dataclass
from urllib.parse import quote

from django.http import HttpRequest
from django.utils.encoding import escape_uri_path

from marginalia.comments.types import Order, Page

PARAMETER = "comments"
MOST_DIGITS = 7
# Longer than any cursor: eight levels of a time and a part each.
LONGEST = 600


@dataclass(frozen=True)
class PageRequest:
    """The part of a discussion that a reader asks for; all empty: its beginning, in its own order."""

    order: str = ""
    number: int = 0
    after: str = ""
    before: str = ""
    at: str = ""

    @classmethod
    def of(cls, request: HttpRequest | None) -> "PageRequest":
        """Return the part of a discussion that a request asks for."""
        return cls.parse(request.GET.get(PARAMETER, "")) if request else cls()

    @classmethod
    def parse(cls, value: str) -> "PageRequest":
        """Return what a parameter asks for; what cannot be understood asks for the beginning."""
        order, _, rest = value[:LONGEST].partition(".")
        if order not in tuple(Order):
            return cls()
        if rest.isascii() and rest.isdecimal():
            return cls(order, number=int(rest[:MOST_DIGITS]))
        how, _, where = rest.partition(".")
        return cls(
            order,
            after=where if how == "after" else "",
            before=where if how == "before" else "",
            at=where if how == "at" else "",
        )


@dataclass(frozen=True)
class PageLinks:
    """The URLs of the pages beside one, "" where there is none; `orders` are (order, URL, is this one)."""

    previous: str
    next: str
    orders: tuple[tuple[str, str, bool], ...]


def shown_at(request: HttpRequest) -> str:
    """Return the address of the page that a discussion is shown on, without the part of it that is asked for."""
    query = request.GET.copy()
    query.pop(PARAMETER, None)
    path = escape_uri_path(request.path)
    return f"{path}?{query.urlencode()}" if query else path


def part_at(address: str, value: str) -> str:
    """Return the address of a part of the discussion that is shown at `address`, which may have a query of its own."""
    return f"{address}{'&' if '?' in address else '?'}{PARAMETER}={quote(value, safe='/:.')}"


def links(page: Page, address: str, anchor: str) -> PageLinks:
    """Return the links of a page that is shown at `address`, each leading to the element `anchor`."""

    def url(value: str) -> str:
        return f"{part_at(address, value) if value else address}#{anchor}"

    previous, following = (url(value) if value else "" for value in cursors(page))
    orders = tuple((order.value, url(order.value), order is page.order) for order in Order)
    return PageLinks(previous, following, orders)


def cursors(page: Page) -> tuple[str, str]:
    """Return the parameter's values under which the pages before and after one are found, "" where there is none."""

    def beside(cursor: str, direction: str) -> str:
        if not cursor:
            return ""
        return f"{page.order}.{cursor}" if page.order is not Order.THREADED else f"{page.order}.{direction}.{cursor}"

    return beside(page.previous, "before"), beside(page.next, "after")


def parameter_of(page: Page, slug: str) -> str:
    """Return the parameter's value under which a page that holds `slug` is found again."""
    if page.order is Order.THREADED:
        return f"{page.order}.at.{slug}"
    return f"{page.order}.{page.number}"
