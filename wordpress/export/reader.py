"""A reader for WordPress eXtended RSS files (WXR 1.0, 1.1 and 1.2) that yields one record at a time.

Memory use depends on the largest record, not on the size of the file, because only the text of the current record is
kept in memory. To protect against malicious files, the parser rejects entity declarations and references to anything
outside the file.
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
from django.utils.translation import gettext as _

from wordpress.export.records import Attachment, Comment, ExportedAuthor, Item, Record, Site, Term, WxrError
from wordpress.export.source import AFTER, Repairs, pieces

__all__ = ["MAX_RECORD", "VERSIONS", "read"]

VERSIONS = ("1.0", "1.1", "1.2")
# Limits that no real export exceeds. A file that exceeds a limit is rejected, so that it can't use up all memory or
# time. MAX_RECORD is the maximum number of characters in one record. MAX_TAG is the maximum number of characters in one
# tag or comment. With each chunk, the parser reads an incomplete tag again from its beginning, so a very long tag would
# take too much time. MAX_DEPTH is the maximum nesting depth of elements. MAX_PREFIXES is the maximum number of
# namespace prefixes that are declared at any one point.
MAX_RECORD = 64 * 1024 * 1024
MAX_TAG = 1024 * 1024
MAX_DEPTH = 100
MAX_PREFIXES = 100

WORDPRESS_NAMESPACE = re.compile(r"https?://wordpress\.org/export/(\d+\.\d+)/(excerpt/)?\Z")
OTHER_NAMESPACES = {"purl.org/rss/1.0/modules/content/": "content:", "purl.org/dc/elements/1.1/": "dc:"}

XMLNS = re.compile(r"xmlns(?::|\Z)")
UNDECLARED = "undeclared"

CHANNEL = {"title", "link", "wp:wxr_version", "wp:base_site_url", "wp:base_blog_url"}
# The elements to read in each kind of record. All others are skipped, including email addresses of post authors, and IP
# addresses.
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
# Matches the names of custom fields to report. WordPress doesn't show editors fields whose names begin with an
# underscore, so only those in which popular plugins store titles and descriptions are reported. "enclosure" is not
# reported, because WordPress itself creates this field.
CUSTOM = re.compile(
    r"\s*(?:(?!enclosure\s*\Z)[^_\s]|_yoast_wpseo_(?:title|metadesc)|_aioseo_(?:title|description)|rank_math_(?:title|description))"
)
# The expected format of RSS dates. It is checked because the standard library would parse the year -0001 as 2000.
RSS_DATE = re.compile(r"[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}\Z")
COMMENT_STATUS = {
    **dict.fromkeys(("1", "approve", "approved"), "approved"),
    "spam": "spam",
    **dict.fromkeys(("trash", "post-trashed"), "trash"),
}
TAXONOMIES = {"tag": "post_tag", "": "category"}
TRUNCATION_ERRORS = {
    expat_errors.XML_ERROR_NO_ELEMENTS,
    expat_errors.XML_ERROR_UNCLOSED_TOKEN,
    expat_errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    expat_errors.XML_ERROR_PARTIAL_CHAR,
}


def read(stream: BinaryIO, repairs: Repairs | None = None) -> Iterator[Record]:
    """Yield the records of an export in the order of the file, beginning with the Site.

    Args:
        stream: The file, which is read once, in chunks.
        repairs: An object that counts the repairs that are necessary to read the file.

    Raises:
        WxrError: The file is damaged or truncated, is not a WXR file of a known version, declares entities, or refers
            to something outside the file. All complete records before the error are yielded first.
    """
    repairs = Repairs() if repairs is None else repairs
    handler = _Handler()
    # The handler resolves namespace prefixes, because the parser would reject undeclared prefixes, such as `atom` in
    # exports from 2012.
    parser = DefusedExpatParser()
    parser.setContentHandler(handler)
    handler.setDocumentLocator(parser)
    try:
        for piece in pieces(stream, repairs):
            handler.unprocessed += len(piece)
            parser.feed(piece)
            while handler.done:
                yield handler.done.popleft()
            if handler.unprocessed > MAX_TAG:
                raise WxrError(
                    parser.getLineNumber() or 1, _("one tag has more than %(n)d characters") % {"n": MAX_TAG}
                )
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
        raise WxrError(1, _("the file is empty"))


def _explain(error: SAXParseException | DefusedXmlException, line: int) -> WxrError:
    """Convert an error of the parser to a WxrError, which contains the line and the reason."""
    if isinstance(error, EntitiesForbidden):
        return WxrError(
            line, _("it declares the entity %(name)s, so it is not a WordPress export") % {"name": repr(error.name)}
        )
    if isinstance(error, DefusedXmlException):
        return WxrError(line, _("it refers to something outside the file, so it is not a WordPress export"))
    message = error.getMessage()
    if message in TRUNCATION_ERRORS:
        message = f"the file is incomplete ({message})"
    return WxrError(error.getLineNumber() or line, message)


class _Handler(ContentHandler):
    """A SAX handler that builds records. Complete records are added to `done`."""

    def __init__(self) -> None:
        super().__init__()
        self.done: deque[Record] = deque()
        # How many characters have been passed to the parser since its last event.
        self.unprocessed = 0
        # One dictionary for each open element, with the innermost element last. It contains the namespaces, keyed by
        # prefix. An element that declares no namespaces shares the dictionary of its parent.
        self.prefixes: list[dict[str, str]] = [{}]
        # Whether the root element has ended.
        self.ended = False
        self.channel: dict[str, str] = {}
        self.namespace_version = ""
        self.site: Site | None = None
        # The current record and its element name, and the current part of this record (a comment or a metadata field)
        # and its element name.
        self.record: dict[str, Any] | None = None
        self.record_name = ""
        self.part: dict[str, str] | None = None
        self.part_name = ""
        self.leaf = ""
        self.leaf_depth = 0
        self.leaf_attributes: tuple[str, str] = ("", "")
        self.text: list[str] = []
        self.size = 0
        # The site's offset from UTC, which is updated whenever the file contains a time both in UTC and as local time.
        self.offset = timedelta()

    @property
    def depth(self) -> int:
        """Return the number of open elements."""
        return len(self.prefixes) - 1

    def startElement(self, name: str, attrs: AttributesImpl) -> None:
        """Begin a record, a part of a record, or an element whose text is needed."""
        self.unprocessed = 0
        declared = {key.partition(":")[2]: attrs[key] for key in attrs.getNames() if XMLNS.match(key)}
        self.prefixes.append(self.prefixes[-1] | declared if declared else self.prefixes[-1])
        if self.depth > MAX_DEPTH or len(self.prefixes[-1]) > MAX_PREFIXES:
            raise WxrError(self._line(), _("its elements or namespaces are nested too deeply"))
        key = self._key(name)
        if self.depth == 1 and key != "rss":
            raise WxrError(
                self._line(),
                _("this is not a WordPress export, because its outermost element is %(name)s") % {"name": key},
            )
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
        """Finish the element that `startElement` has begun."""
        self.unprocessed = 0
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
        """Store `content` if the text of the current element is needed."""
        self.unprocessed = 0
        if self.leaf and self.depth == self.leaf_depth:
            self.text.append(content)
            self.size += len(content)
            if self.size > MAX_RECORD:
                raise WxrError(self._line(), _("one record has more than %(n)d characters") % {"n": MAX_RECORD})

    def _line(self) -> int:
        locator: Any = self._locator  # type: ignore[attr-defined]
        return locator.getLineNumber() or 1

    def _key(self, name: str) -> str:
        """Return an element's name with the usual prefix of its namespace, even if the file uses another prefix."""
        prefix, _colon, local = name.rpartition(":")
        namespace = self.prefixes[-1].get(prefix, UNDECLARED if prefix else "")
        if not namespace:
            return local
        if match := WORDPRESS_NAMESPACE.match(namespace):
            self.namespace_version = self.namespace_version or match[1]
            return ("excerpt:" if match[2] else "wp:") + local
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
            # If there are several elements with this name, use the first, which is WordPress's own. The others come
            # from plugins.
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
        """Add the Site to `done`, unless it has already been added. It must come before all other records.

        Raises:
            WxrError: The file is not a WXR file, or has an unsupported version.
        """
        if self.site is not None:
            return
        channel = self.channel
        version = channel.get("wp:wxr_version", "").strip() or self.namespace_version
        if not version:
            raise WxrError(self._line(), _("this is RSS, but not a WordPress export, because it has no WXR version"))
        if version not in VERSIONS:
            raise WxrError(
                self._line(),
                _("it has the WXR version %(version)s, but only %(versions)s are supported")
                % {"version": version, "versions": ", ".join(VERSIONS)},
            )
        url = channel.get("wp:base_blog_url", "").strip() or channel.get("link", "").strip()
        self.site = Site(channel.get("title", "").strip(), url.rstrip("/"), version)
        self.done.append(self.site)

    def _finish(self, record: dict[str, Any]) -> Record:
        match self.record_name:
            case "wp:author":
                login = record.get("wp:author_login", "").strip()
                return ExportedAuthor(login, record.get("wp:author_display_name", "").strip() or login)
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
        common = {
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
                **common,
                status=text("wp:status") or "inherit",
                url=text("wp:attachment_url") or text("guid"),
                file=text("_wp_attached_file"),
                alt=text("_wp_attachment_image_alt"),
                caption=text("excerpt:encoded"),
            )
        return Item(
            **common,
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
        """Return a time in UTC.

        Use the first of these that is valid: `gmt`, the RSS date `published`, and the time `local` with the latest
        known offset.
        """
        moment = _timestamp(gmt)
        local_time = _timestamp(local)
        if moment is not None and local_time is not None and abs(local_time - moment) <= timedelta(hours=14):
            self.offset = local_time - moment
        if moment is None:
            moment = _rss_date(published)
        if moment is None and local_time is not None:
            try:
                moment = local_time - self.offset
            except OverflowError:
                return None
        return moment


def _timestamp(text: str) -> datetime | None:
    """Parse an SQL timestamp in UTC.

    The result is None if the timestamp is invalid. This includes "0000-00-00 00:00:00", which WordPress uses as an
    empty value.
    """
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None


def _rss_date(text: str) -> datetime | None:
    """Parse an RFC 2822 date, and return it in UTC.

    The result is None if the date is invalid. This includes "Mon, 30 Nov -0001 00:00:00 +0000", which drafts have.
    """
    if not RSS_DATE.match(text):
        return None
    try:
        moment = parsedate_to_datetime(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> int:
    """Parse a number of up to 18 digits. For any other text, return 0, as WordPress does."""
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else 0


def _term(taxonomy: str, slug: str, name: str) -> Term:
    slug = slug.strip()
    name = name.strip()
    return Term(taxonomy, slug, name or slug)


def _unique_terms(terms: list[Term]) -> tuple[Term, ...]:
    """Return the terms in order, without duplicates.

    WXR 1.0 files contain each term twice, first without and then with a slug. Of the two, return the term with the
    slug.
    """
    names_with_slug = {term.name for term in terms if term.slug}
    return tuple(dict.fromkeys(term for term in terms if term.name and (term.slug or term.name not in names_with_slug)))
