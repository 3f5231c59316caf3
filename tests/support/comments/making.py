"""Comments for tests, in the form that backends accept."""

from datetime import UTC, datetime, timedelta

from marginalia.comments.types import CommentAuthor, NewComment

ANN = CommentAuthor("Ann", id="7", url="https://ann.example.org/")
BOB = CommentAuthor("Bob")
NOWHERE = "aaaaaaaaaaaaaaaa"


def new(token, parent="", author=ANN, **kwargs):
    """Return a comment. Its source is the token, unless `source` is given."""
    return NewComment(author, kwargs.pop("source", token), f"<p>{token}</p>", token, parent, **kwargs)


def imported(n, **kwargs):
    posted = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=n)
    return new(str(n), kwargs.pop("parent", ""), posted=posted, **kwargs)
