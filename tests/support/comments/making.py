"""Comments for tests, as a back end takes them."""

from datetime import UTC, datetime, timedelta

from marginalia.comments.types import Author, NewComment

ANN = Author("Ann", id="7", url="https://ann.example.org/")
BOB = Author("Bob")
NOWHERE = "aaaaaaaaaaaaaaaa"


def new(token, parent="", author=ANN, **kwargs):
    """A comment whose source is its token."""
    return NewComment(author, kwargs.pop("source", token), f"<p>{token}</p>", token, parent, **kwargs)


def imported(n, **kwargs):
    posted = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=n)
    return new(str(n), kwargs.pop("parent", ""), posted=posted, **kwargs)
