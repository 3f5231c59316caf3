"""Reads a WordPress eXtended RSS file (WXR 1.0, 1.1, 1.2) one record at a time.

Memory is bounded by the largest single item, whatever the size of the file: a SAX parser keeps only the texts of the
record that is open. It is defused: entity declarations (bombs) and references to anything outside the file are refused.
"""

import re
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, BinaryIO
from xml.parsers.expat import errors as expat_errors
from xml.sax import ContentHandler, SAXParseException
from xml.sax.xmlreader import AttributesImpl

from defusedxml.common import DefusedXmlException, EntitiesForbidden
from defusedxml.expatreader import DefusedExpatParser

from wordpress.export.records import Attachment, Author, Comment, Item, Record, Site, Term, WxrError
from wordpress.export.source import AFTER, Repairs, pieces

__all__ = ["MAX_RECORD", "VERSIONS", "read"]

VERSIONS = ("1.0", "1.1", "1.2")
# A file beyond these is no export: it is refused rather than the memory filled. Characters of text in one record, and of one
# tag or comment, which a parser reads again with each piece; elements within each other, and prefixes that are declared at
# one place.
MAX_RECORD = 64 * 1024 * 1024
MAX_TAG = 1024 * 1024
MAX_DEPTH = 100
MAX_PREFIXES = 100

WORDPRESS_NAMESPACE = re.compile(r"https?://wordpress\.org/export/(\d+\.\d+)/(excerpt/)?\Z")
OTHER_NAMESPACES = {"purl.org/rss/1.0/modules/content/": "content:", "purl.org/dc/elements/1.1/": "dc:"}

XMLNS = re.compile(r"xmlns(?::|\Z)")
UNDECLARED = "undeclared"

CHANNEL = {"title", "link", "wp:wxr_version", "wp:base_site_url", "wp:base_blog_url"}
# Each kind of record with the elements read from it; the reader skips the rest, authors' addresses and IP numbers among
# them.
RECORDS = {
    "wp:author": {"wp:author_login", "wp:author_display_name"},
    "wp:category": {"wp:category_nicename", "wp:cat_name"},
    "wp:tag": {"wp:tag_slug", "wp:tag_name"},
    "wp:term": {"wp:term_taxonomy", "wp:term_slug", "wp:term_name"},
    "item": {
        *("title", "link", "pubDate", "guid", "category", "dc:creator", "content:encoded", "excerpt:encoded"),
        *("wp:post_id", "wp:post_date", "wp:post_date_gmt", "wp:post_modified", "wp:post_modified_gmt"),
        *("wp:post_name", "wp:status", "wp:post_parent", "wp:post_type", "wp:post_password"),
        *("wp:comment_status", "wp:attachment_url", "wp:is_sticky"),
    },
}
PARTS = {
    "wp:postmeta": {"wp:meta_key", "wp:meta_value"},
    "wp:comment": {
        *("wp:comment_id", "wp:comment_author", "wp:comment_author_email", "wp:comment_author_url", "wp:comment_date"),
        *("wp:comment_date_gmt", "wp:comment_content", "wp:comment_approved", "wp:comment_type", "wp:comment_parent"),
    },
}
META = {"_wp_attached_file", "_wp_attachment_image_alt", "_thumbnail_id", "footnotes"}
# Names of custom fields: WordPress hides from editors what begins with an underscore, and writes "enclosure" by itself.
# Plugins keep descriptions there.
CUSTOM = re.compile(
    r"\s*(?:(?!enclosure\s*\Z)[^_\s]|_yoast_wpseo_(?:title|metadesc)|_aioseo_(?:title|description)|rank_math_(?:title|description))"
)
# The standard library takes the year -0001 for 2000.
RSS_DATE = re.compile(r"[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}\Z")
COMMENT_STATUS = {
    **dict.fromkeys(("1", "approve", "approved"), "approved"),
    "spam": "spam",
    **dict.fromkeys(("trash", "post-trashed"), "trash"),
}
TAXONOMIES = {"tag": "post_tag", "": "category"}
FILE_ENDS = {
    expat_errors.XML_ERROR_NO_ELEMENTS,
    expat_errors.XML_ERROR_UNCLOSED_TOKEN,
    expat_errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    expat_errors.XML_ERROR_PARTIAL_CHAR,
}


def read(stream: BinaryIO, repairs: Repairs | None = None) -> Iterator[Record]:
    """Yield what the export in `stream` (bytes, read once, in pieces) holds, in the file's order: the Site first.

    `repairs` counts what had to be repaired so that the file could be read. Raises WxrError, after everything whole before
    the fault has been yielded, when the file is broken or truncated, is no WXR of a known version, declares entities or
    refers to anything outside itself.
    """
    repairs = Repairs() if repairs is None else repairs
    handler = _Handler()
    # Prefixes are resolved here: the parser would refuse one that is not declared, as <atom:link> was in 2012.
    parser = DefusedExpatParser()
    parser.setContentHandler(handler)
    handler.setDocumentLocator(parser)
    try:
        for piece in pieces(stream, repairs):
            handler.unheard += len(piece)
            parser.feed(piece)
            while handler.done:
                yield handler.done.popleft()
            if handler.unheard > MAX_TAG:
                raise WxrError(parser.getLineNumber() or 1, f"one tag has more than {MAX_TAG} characters")
        parser.close()
    except (SAXParseException, DefusedXmlException) as error:
        yield from handler.done
        fault = _explain(error, parser.getLineNumber() or 1)
        if not handler.ended:
            raise fault from error
        repairs.count(AFTER, fault.line)
    except WxrError:
        yield from handler.done
        raise
    if handler.site is None:
        raise WxrError(1, "the file is empty")


def _explain(error: SAXParseException | DefusedXmlException, line: int) -> WxrError:
    """`error` of the parser as one with line and reason."""
    if isinstance(error, EntitiesForbidden):
        return WxrError(line, f"it declares the entity {error.name!r}, which a WordPress export never does")
    if isinstance(error, DefusedXmlException):
        return WxrError(line, "it refers to something outside the file, which a WordPress export never does")
    message = error.getMessage()
    if message in FILE_ENDS:
        message = f"the file ends too early ({message})"
    return WxrError(error.getLineNumber() or line, message)


class _Handler(ContentHandler):
    """Gathers records; finished ones wait in `done`."""

    def __init__(self) -> None:
        super().__init__()
        self.done: deque[Record] = deque()
        # Characters that the parser was given since it last told of anything.
        self.unheard = 0
        # What prefixes stand for in each open element, the innermost last; one that declares none shares its parent's.
        self.prefixes: list[dict[str, str]] = [{}]
        # Whether the outermost element was closed.
        self.ended = False
        self.channel: dict[str, str] = {}
        self.namespace_version = ""
        self.site: Site | None = None
        # The open record, and the part of it that is open (a comment, a field of metadata), each with its name.
        self.record: dict[str, Any] | None = None
        self.record_name = ""
        self.part: dict[str, str] | None = None
        self.part_name = ""
        self.leaf = ""
        self.leaf_depth = 0
        self.leaf_attributes: tuple[str, str] = ("", "")
        self.text: list[str] = []
        self.size = 0
        # How far the site's clock is ahead of UTC, as the last item with both times showed.
        self.offset = timedelta()

    @property
    def depth(self) -> int:
        """How many elements are open."""
        return len(self.prefixes) - 1

    def startElement(self, name: str, attrs: AttributesImpl) -> None:
        """Open a record, a part of one or a text that is wanted."""
        self.unheard = 0
        declared = {key.partition(":")[2]: attrs[key] for key in attrs.getNames() if XMLNS.match(key)}
        self.prefixes.append(self.prefixes[-1] | declared if declared else self.prefixes[-1])
        if self.depth > MAX_DEPTH or len(self.prefixes[-1]) > MAX_PREFIXES:
            raise WxrError(self._line(), "it has more elements or namespaces in each other than an export has")
        key = self._key(name)
        if self.depth == 1 and key != "rss":
            raise WxrError(self._line(), f"this is no WordPress export: its outermost element is {key}")
        if self.leaf:
            return
        if self.depth == 3 and key in RECORDS:
            self._open_site()
            self.record, self.record_name, self.size = (
                {"line": self._line(), "parts": [], "terms": [], "custom": []},
                key,
                0,
            )
        elif self.depth == 3 and key in CHANNEL and key not in self.channel:
            self._open_leaf(key, attrs)
        elif self.depth == 4 and self.record_name == "item" and key in PARTS:
            self.part = {}
            self.part_name = key
        elif (self.depth == 4 and self.record is not None and key in RECORDS[self.record_name]) or (
            self.depth == 5 and self.part is not None and key in PARTS[self.part_name]
        ):
            self._open_leaf(key, attrs)

    def endElement(self, name: str) -> None:
        """Close what `startElement` opened."""
        self.unheard = 0
        if self.leaf and self.depth == self.leaf_depth:
            self._close_leaf()
        elif self.part is not None and self.depth == 4:
            self._close_part(self.part)
        elif self.record is not None and self.depth == 3:
            record = self.record
            self.record = None
            self.done.append(self._finish(record))
        elif self.depth == 2 and self._key(name) == "channel":
            self._open_site()
        self.prefixes.pop()
        self.ended = not self.depth

    def characters(self, content: str) -> None:
        """Keep text of the element that is open, if it is wanted."""
        self.unheard = 0
        if self.leaf and self.depth == self.leaf_depth:
            self.text.append(content)
            self.size += len(content)
            if self.size > MAX_RECORD:
                raise WxrError(self._line(), f"one record has more than {MAX_RECORD} characters")

    def _line(self) -> int:
        locator: Any = self._locator  # type: ignore[attr-defined]
        return locator.getLineNumber() or 1

    def _key(self, name: str) -> str:
        """The name with the prefix that WordPress itself gives it, whatever prefix and spelling the file chose."""
        prefix, _colon, local = name.rpartition(":")
        namespace = self.prefixes[-1].get(prefix, UNDECLARED if prefix else "")
        if not namespace:
            return local
        if found := WORDPRESS_NAMESPACE.match(namespace):
            self.namespace_version = self.namespace_version or found[1]
            return ("excerpt:" if found[2] else "wp:") + local
        return OTHER_NAMESPACES.get(namespace.split("://")[-1], "?:") + local

    def _open_leaf(self, key: str, attrs: Any) -> None:
        self.leaf = key
        self.leaf_depth = self.depth
        self.text = []
        self.leaf_attributes = (attrs.get("domain", ""), attrs.get("nicename", ""))

    def _close_leaf(self) -> None:
        text = "".join(self.text)
        target: dict[str, Any] = self.channel
        if self.part is not None:
            target = self.part
        elif self.record is not None:
            target = self.record
        if self.leaf == "category":
            domain, slug = self.leaf_attributes
            target["terms"].append(Term(TAXONOMIES.get(domain, domain), slug.strip(), text.strip()))
        else:
            # The first wins: what a plugin appends under the same name cannot replace what WordPress wrote.
            target.setdefault(self.leaf, text)
        self.leaf = ""
        self.text = []

    def _close_part(self, part: dict[str, str]) -> None:
        assert self.record is not None
        if self.part_name == "wp:comment":
            self.record["parts"].append(part)
        elif part.get("wp:meta_key", "") in META:
            self.record.setdefault(part["wp:meta_key"], part.get("wp:meta_value", ""))
        elif CUSTOM.match(part.get("wp:meta_key", "")) and part.get("wp:meta_value", "").strip():
            self.record["custom"].append(part["wp:meta_key"].strip())
        self.part = None

    def _open_site(self) -> None:
        """Yield the Site before anything else, once, and refuse a file that is none of WordPress's."""
        if self.site is not None:
            return
        value = self.channel
        version = value.get("wp:wxr_version", "").strip() or self.namespace_version
        if not version:
            raise WxrError(self._line(), "this is RSS, but no WordPress export: it names no WXR version")
        if version not in VERSIONS:
            raise WxrError(self._line(), f"it is of WXR version {version}; known are {', '.join(VERSIONS)}")
        address = value.get("wp:base_blog_url", "").strip() or value.get("link", "").strip()
        self.site = Site(value.get("title", "").strip(), address.rstrip("/"), version)
        self.done.append(self.site)

    def _finish(self, record: dict[str, Any]) -> Record:
        match self.record_name:
            case "wp:author":
                login = record.get("wp:author_login", "").strip()
                return Author(login, record.get("wp:author_display_name", "").strip() or login)
            case "wp:category":
                return _term("category", record.get("wp:category_nicename", ""), record.get("wp:cat_name", ""))
            case "wp:tag":
                return _term("post_tag", record.get("wp:tag_slug", ""), record.get("wp:tag_name", ""))
            case "wp:term":
                taxonomy = record.get("wp:term_taxonomy", "").strip()
                taxonomy = TAXONOMIES.get(taxonomy, taxonomy)
                return _term(taxonomy, record.get("wp:term_slug", ""), record.get("wp:term_name", ""))
        return self._item(record)

    def _item(self, record: dict[str, Any]) -> Item | Attachment:
        def text(key: str) -> str:
            return record.get(key, "").strip()

        posted = self._moment(text("wp:post_date_gmt"), text("wp:post_date"), text("pubDate"))
        same = {
            "id": _number(text("wp:post_id")),
            "parent": _number(text("wp:post_parent")),
            "slug": text("wp:post_name"),
            "title": text("title"),
            "link": text("link"),
            "posted": posted,
            "line": record["line"],
        }
        if text("wp:post_type") == "attachment":
            return Attachment(
                **same,
                status=text("wp:status") or "inherit",
                url=text("wp:attachment_url") or text("guid"),
                file=text("_wp_attached_file"),
                alt=text("_wp_attachment_image_alt"),
                caption=text("excerpt:encoded"),
            )
        return Item(
            **same,
            type=text("wp:post_type") or "post",
            status=text("wp:status") or "draft",
            protected=bool(record.get("wp:post_password", "")),
            guid=text("guid"),
            author=text("dc:creator"),
            modified=self._moment(text("wp:post_modified_gmt"), text("wp:post_modified")) or posted,
            body=record.get("content:encoded", ""),
            excerpt=text("excerpt:encoded"),
            comments_open=text("wp:comment_status") != "closed",
            terms=_unique_terms(record["terms"]),
            comments=tuple(self._comment(part) for part in record["parts"]),
            picture=_number(text("_thumbnail_id")),
            footnotes=text("footnotes"),
            custom=tuple(dict.fromkeys(record["custom"])),
            sticky=text("wp:is_sticky") == "1",
        )

    def _comment(self, part: dict[str, str]) -> Comment:
        def text(key: str) -> str:
            return part.get(key, "").strip()

        kind = text("wp:comment_type")
        return Comment(
            id=_number(text("wp:comment_id")),
            parent=_number(text("wp:comment_parent")),
            author=text("wp:comment_author"),
            email=text("wp:comment_author_email"),
            url=text("wp:comment_author_url"),
            posted=self._moment(text("wp:comment_date_gmt"), text("wp:comment_date")),
            text=part.get("wp:comment_content", ""),
            status=COMMENT_STATUS.get(text("wp:comment_approved"), "pending"),
            kind="comment" if kind in ("", "comment") else kind,
        )

    def _moment(self, gmt: str, local: str, published: str = "") -> datetime | None:
        """The moment in UTC: from `gmt`; else the RSS date; else the site's local time with the offset seen last."""
        at = _timestamp(gmt)
        there = _timestamp(local)
        if at is not None and there is not None and abs(there - at) <= timedelta(hours=14):
            self.offset = there - at
        if at is None:
            at = _rss_date(published)
        if at is None and there is not None:
            try:
                at = there - self.offset
            except OverflowError:
                return None
        return at


def _timestamp(text: str) -> datetime | None:
    """An SQL date and time read as UTC; None for nonsense and for "0000-00-00 00:00:00", WordPress's "none"."""
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None


def _rss_date(text: str) -> datetime | None:
    """A date of RFC 2822 in UTC; None for nonsense and for "Mon, 30 Nov -0001 00:00:00 +0000", which drafts have."""
    if not RSS_DATE.match(text):
        return None
    try:
        at = parsedate_to_datetime(text)
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> int:
    """A number of at most 18 digits; 0 for anything else, as in WordPress."""
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else 0


def _term(taxonomy: str, slug: str, name: str) -> Term:
    slug = slug.strip()
    name = name.strip()
    return Term(taxonomy, slug, name or slug)


def _unique_terms(terms: list[Term]) -> tuple[Term, ...]:
    """Each once, in order. WXR 1.0 wrote every term twice, the first time without slug: the one with slug counts."""
    named = {term.name for term in terms if term.slug}
    return tuple(dict.fromkeys(term for term in terms if term.name and (term.slug or term.name not in named)))
