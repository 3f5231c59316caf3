"""The comment systems from which comments can be imported."""

from collections.abc import Callable, Iterator
from pathlib import Path

from marginalia.comments.imports.records import SourceComment
from marginalia.comments.imports.sources import commento, disqus, django_comments, isso, json_lines, remark42

# The function that reads an export, by the name of the system. The functions raise BrokenSource.
FILES: dict[str, Callable[[Path], Iterator[SourceComment]]] = {
    "commento": commento.read,
    "comentario": commento.read,
    "disqus": disqus.read,
    "isso": isso.read,
    "json-lines": json_lines.read,
    "remark42": remark42.read,
}
# Systems whose tables are in a database of this project, and the function that reads them.
TABLES: dict[str, Callable[[str], Iterator[SourceComment]]] = {
    "django-comments": django_comments.read,
    "django-comments-xtd": django_comments.read_xtd,
}
