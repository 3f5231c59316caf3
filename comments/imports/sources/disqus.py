"""Disqus: the XML export (https://help.disqus.com/en/articles/1717164-comments-export)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from marginalia.comments.imports.records import BrokenSource, SourceComment, SourceState, TextFormat
from marginalia.comments.imports.sources import fields
from marginalia.comments.imports.sources.files import RepairedXml, opened

_NAMESPACE = "{http://disqus.com}"
_ID = "{http://disqus.com/disqus-internals}id"


def read(path: Path) -> Iterator[SourceComment]:
    """Yield the comments of an export, which can be compressed with gzip.

    Raises:
        BrokenSource: The file isn't a Disqus export.
    """
    # The library isn't needed by projects that import nothing.
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import iterparse

    links: dict[str, str] = {}
    try:
        with opened(path) as file:
            xml = RepairedXml(file)
            root: Any = None
            depth = 0
            for event, element in iterparse(xml, events=("start", "end"), forbid_dtd=True):
                if root is None:
                    root = element
                    if root.tag != f"{_NAMESPACE}disqus":
                        raise BrokenSource("The file isn't an export of Disqus.")
                depth += 1 if event == "start" else -1
                if event == "start" or depth != 1:
                    continue
                id = element.get(_ID)
                if element.tag == f"{_NAMESPACE}thread" and id:
                    links[id] = _text(element, "link")
                elif element.tag == f"{_NAMESPACE}post" and id:
                    yield _comment(element, links)
                root.clear()
                xml.unfinished = 0
    except ParseError as error:
        raise BrokenSource(f"The XML is broken: {error}.") from error
    except DefusedXmlException as error:
        raise BrokenSource("The XML has a document type, which exports of Disqus don't have.") from error
    except (UnicodeError, LookupError) as error:
        raise BrokenSource(f"The text can't be read: {error}.") from error


def _comment(post: Element, links: dict[str, str]) -> SourceComment:
    id = str(post.get(_ID))
    thread = post.find(f"{_NAMESPACE}thread")
    parent = post.find(f"{_NAMESPACE}parent")
    author = post.find(f"{_NAMESPACE}author")
    is_spam, is_removed = (_text(post, name) == "true" for name in ("isSpam", "isDeleted"))
    thread_id = str(thread.get(_ID)) if thread is not None else ""
    return SourceComment(
        id=id,
        address=links.get(thread_id) or f"thread {thread_id}",
        posted=fields.time(_text(post, "createdAt"), f"comment {id}"),
        name=_text(author, "name") or _text(author, "username") if author is not None else "",
        email=_text(author, "email") if author is not None else "",
        text=_text(post, "message"),
        format=TextFormat.HTML,
        parent=str(parent.get(_ID)) if parent is not None else "",
        state=SourceState.SPAM if is_spam else SourceState.REMOVED if is_removed else SourceState.PUBLIC,
        anchor=f"comment-{id}",
    )


def _text(element: Element, name: str) -> str:
    return (element.findtext(f"{_NAMESPACE}{name}") or "").strip()
