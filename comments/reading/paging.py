"""Which part of a discussion a reader asks for, in one query parameter, so that a page cache needs to know of only one.

?comments=newest             the first page, newest first
?comments=oldest.3           page 3
?comments=threaded.after.C   what follows the cursor C; also "before"
?comments=threaded.at.SLUG   the page that holds a comment
"""

from dataclasses import dataclass
from urllib.parse import quote

from django.db.models import Model

from comments.errors import CommentNotFound
from comments.reading import selectors
from comments.types import Order, Page, Target

PARAMETER = "comments"
MOST_DIGITS = 7
# Longer than any cursor: eight levels of a time and a part each.
LONGEST = 600


@dataclass(frozen=True)
class Asked:
    """A part of a discussion; all empty: its beginning, in its own order."""

    order: str = ""
    number: int = 0
    after: str = ""
    before: str = ""
    at: str = ""

    @classmethod
    def parse(cls, value: str) -> "Asked":
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

    def read(self, target: Model | Target, *, size: int | None = None) -> Page:
        """Return the page; its beginning if the comment that was asked for is not there."""
        try:
            return selectors.page(
                target,
                order=self.order,
                size=size,
                number=self.number,
                after=self.after,
                before=self.before,
                at=self.at,
            )
        except CommentNotFound:
            return selectors.page(target, order=self.order, size=size)


@dataclass(frozen=True)
class Links:
    """The addresses of the pages beside one, "" where there is none; `orders` are (order, address, is this one)."""

    previous: str
    next: str
    first: str
    orders: tuple[tuple[str, str, bool], ...]


def links(page: Page, path: str, anchor: str) -> Links:
    """Return the links of a page that is shown at `path`, each leading to the element `anchor`."""

    def address(value: str) -> str:
        return f"{path}?{PARAMETER}={quote(value, safe='/:.')}#{anchor}" if value else f"{path}#{anchor}"

    def beside(cursor: str, direction: str) -> str:
        if not cursor:
            return ""
        return address(
            f"{page.order}.{cursor}" if page.order is not Order.THREADED else f"{page.order}.{direction}.{cursor}"
        )

    orders = tuple((order.value, address(order.value), order is page.order) for order in Order)
    return Links(beside(page.previous, "before"), beside(page.next, "after"), address(page.order.value), orders)


def whereabouts(page: Page, slug: str) -> str:
    """Return the parameter's value under which a page that holds `slug` is found again."""
    if page.order is Order.THREADED:
        return f"{page.order}.at.{slug}"
    return f"{page.order}.{page.number}"
