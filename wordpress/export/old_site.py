"""Find the post, page or file that a URL of the old site refers to."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from bson import ObjectId

from marginalia.markup.html import anchors
from photos.services import importing
from wordpress.export.records import Attachment
from wordpress.texts.content import File

__all__ = ["OldSite", "PostLibrary", "host_of", "locate", "may_be_in_another_file"]

# Match suffixes of file names. WordPress appends the size to the name of a resized picture, and a word or a time to the
# name of a picture that was scaled down, rotated or edited.
SIZE = re.compile(r"-\d{1,5}x\d{1,5}(?=\.\w+\Z)")
CHANGED = re.compile(r"(?:-scaled|-rotated|-e\d{9,14}|-\d{1,5}x\d{1,5})+(?=\.\w+\Z)")
# Matches the hosts from which Jetpack serves a site's pictures.
PROXY = re.compile(r"i\d\.wp\.com\Z")
# The prefix with which converted posts refer to photos on this site.
PHOTO = "photo:"
DATED = re.compile(r"/\d{4}/\d\d/(?:\d\d/)?([^/?]+)\Z")
MAX_PATH_BYTES = 4_096
ATTACHMENT = re.compile(r"[?&]attachment_id=([0-9]{1,18})(?:[&#]|\Z)")
# Matches URLs of lists and feeds, and of WordPress's own pages. Exports don't contain these pages.
LISTS = re.compile(
    r"/(?:category|tag|author|feed|page|wp-admin|wp-json|wp-login\.php)(?:/|\Z)|[?&](?:s|cat|tag|author|feed|m)="
)
# The URL fragment of a page's discussion on this site, and the fragments of a page's discussion on the old site.
DISCUSSION = "comments"
DISCUSSIONS = {"comments", "respond"}
DEAD_FRAGMENTS = re.compile(r"(?:more|comment)-\d+\Z")


@dataclass(slots=True)
class OldSite:
    """An index of an export, which finds posts, pages and files by their URLs.

    The URLs come from posts, so they may be malformed. No method raises an exception for a malformed URL.
    """

    hosts: set[str] = field(default_factory=set)
    # The ids of posts, pages and files, keyed by normalized URL, guid, slug, or URL of the file. In `stems`, the URLs
    # of files don't contain the suffixes that WordPress appends. The value is None if a guid, slug or stem is not
    # unique.
    pages: dict[str, int] = field(default_factory=dict)
    guids: dict[str, int | None] = field(default_factory=dict)
    ids: set[int] = field(default_factory=set)
    slugs: dict[str, int | None] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    stems: dict[str, int | None] = field(default_factory=dict)
    # The ids of files, keyed by the normalized URL of the page that showed the file.
    file_pages: dict[str, int] = field(default_factory=dict)
    by_id: dict[int, File] = field(default_factory=dict)
    by_parent: dict[int, list[int]] = field(default_factory=dict)
    # The content of synced patterns, keyed by id.
    patterns: dict[int, str] = field(default_factory=dict)

    def add_site(self, url: str) -> None:
        """Add the host of a URL to the hosts of the old site."""
        if host := host_of(url):
            self.hosts.add(host)

    def add_page(self, number: int, link: str, guid: str, slug: str) -> None:
        """Add the URLs of a post or page."""
        self.ids.add(number)
        if slug:
            self.slugs[slug] = number if self.slugs.get(slug, number) == number else None
        if normalized := _normalize(link):
            self.pages.setdefault(normalized, number)
        # Skip guids that are just the URL of the front page, because they don't identify a post.
        if "/" in (normalized := _normalize(guid)) or "?" in normalized:
            self.guids[normalized] = number if self.guids.get(normalized, number) == number else None

    def add_file(self, attachment: Attachment) -> None:
        """Add a file of the media library."""
        # Give a file without an id a negative number. Such a file can be found only by its URL.
        number = attachment.id or -1 - len(self.by_id)
        if number not in self.by_id:
            self.by_id[number] = File(attachment.url, attachment.alt or attachment.title)
            self.by_parent.setdefault(attachment.parent, []).append(number)
        if normalized := _normalize(attachment.link):
            self.file_pages.setdefault(normalized, number)
        if normalized := _normalize_file(attachment.url):
            self.files.setdefault(normalized, number)
            stem = CHANGED.sub("", normalized)
            self.stems[stem] = number if self.stems.get(stem, number) == number else None

    def set_file(self, attachment: Attachment, src: str, page: str) -> None:
        """Record where a file of the media library is on the new site.

        Args:
            attachment: The file on the old site.
            src: The value for `src` on the new site.
            page: The path of the file's page on the new site.
        """
        number = attachment.id or self.files.get(_normalize_file(attachment.url), 0)
        if file := self.by_id.get(number):
            self.by_id[number] = replace(file, src=src, page=page)

    def photo(self, number: int) -> ObjectId | None:
        """Return the id of the photo that replaces the file `number`, or None if there is no such photo."""
        file = self.by_id.get(number)
        name = file.src.removeprefix(PHOTO) if file and file.src.startswith(PHOTO) else ""
        return ObjectId(name) if ObjectId.is_valid(name) else None

    def find_page(self, url: str) -> int | None:
        """Return the id of the post or page with this absolute URL, or None if the export doesn't contain it."""
        normalized = _normalize(url)
        if not normalized:
            return None
        if host_of(url) in self.hosts:
            if match := re.search(r"\?(?:p|page_id)=([0-9]{1,18})\Z", normalized):
                # In a URL of the old site itself, the number is the id of the post. A guid that contains this number
                # may belong to a post that was copied from another site.
                return int(match[1]) if int(match[1]) in self.ids else self.guids.get(normalized)
            # If the URL of the front page has any other query, it is the URL of an archive or a search.
            if "/" not in normalized and urlsplit(url).query:
                return None
        number = self.pages.get(normalized) or self.guids.get(normalized)
        # If the date in a URL is outdated, WordPress finds the post by its slug, so do the same.
        if number is None and host_of(url) in self.hosts and (match := DATED.search(normalized)):
            return self.slugs.get(match[1])
        return number

    def find_file_of_page(self, url: str) -> File | None:
        """Return the file that the page with this absolute URL showed, or None if there is no such file."""
        normalized = _normalize(url)
        number = self.file_pages.get(normalized)
        if number is None and host_of(url) in self.hosts and (match := ATTACHMENT.search(url)):
            number = int(match[1])
        return self.by_id.get(number) if number else None

    def find_file(self, url: str, number: int = 0) -> File | None:
        """Return the file of the media library with this absolute URL, or None if there is no such file.

        If the URL is that of a scaled, rotated or edited copy, return the original.

        Args:
            url: The absolute URL.
            number: The id of the file according to the post, or 0. It is used if no file has the URL.
        """
        normalized = _normalize_file(url)
        file_id = (
            self.files.get(normalized)
            or self.files.get(SIZE.sub("", normalized))
            or self.stems.get(CHANGED.sub("", normalized))
        )
        if not file_id and number in self.by_id:
            # Text that was copied from another site contains ids of that site. Therefore, accept the id only if the
            # file name or the host matches too.
            same = _stem(url) == _stem(self.by_id[number].url)
            file_id = number if same or host_of(url) in self.hosts else None
        return self.by_id[file_id] if file_id else None


@dataclass(frozen=True, slots=True)
class PostLibrary:
    """The old site, as one of its posts refers to it. This class implements `content.Library`.

    Attributes:
        paths: The new paths of public posts and pages, keyed by id.
        unresolved: The URLs of links that could not be replaced, so that they still point to the old site.
    """

    site: OldSite
    paths: dict[int, str]
    number: int
    unresolved: dict[str, None] = field(default_factory=dict)

    def page(self, url: str) -> str:
        """Return the new URL for the old URL of a page, a picture or a picture's page. For any other URL, return "".

        Also return "" if readers can't see the page. If the URL of a post or page has a fragment, the new URL has the
        corresponding fragment.
        """
        page_id = self.site.find_page(url)
        file = None
        if page_id is None:
            file = self.site.find_file(url) or self.site.find_file_of_page(url)
        path = file.page if file else self.paths.get(page_id or 0, "")
        if not path and (file or host_of(url) in self.site.hosts):
            self.unresolved.setdefault(url)
        if page_id is None:
            return path
        fragment = urlsplit(url).fragment
        if not path or not fragment or DEAD_FRAGMENTS.match(fragment):
            return path
        return f"{path}#{DISCUSSION if fragment in DISCUSSIONS else anchors.prefix_id(unquote(fragment))}"

    def file(self, url: str, number: int = 0) -> File:
        """Return the picture at `url`. `number` is the picture's id according to the post, or 0."""
        return self.site.find_file(url, number) or File(url)

    def gallery(self, ids: Sequence[int]) -> Sequence[File]:
        """Return the pictures with these ids. If `ids` is empty, return the pictures that were uploaded to the post."""
        if not ids:
            own = [self.site.by_id[number] for number in self.site.by_parent.get(self.number, [])]
            return [file for file in own if file.url.split("?")[0].lower().endswith(tuple(importing.EXTENSIONS))]
        return [self.site.by_id[number] for number in ids if number in self.site.by_id]

    def pattern(self, number: int) -> str | None:
        """Return the content of a synced pattern, or None if the export doesn't contain it."""
        return self.site.patterns.get(number)


def locate(directory: Path, attachment: Attachment) -> Path | None:
    """Return the path of an attachment's file in `directory`, or None if the file is missing.

    First search for the complete path of the attachment, and then leave out one leading folder after the other.
    Therefore, `directory` can be a copy of the uploads folder, a copy of one month's folder, or a single folder with
    all files.
    """
    path = attachment.file or unquote(_normalize(attachment.url.split("?")[0]).partition("/")[2])
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    # No file system accepts longer paths, so there can't be such a file.
    if len(path.encode()) > MAX_PATH_BYTES:
        return None
    candidates = (importing.find_file(directory, *parts[start:]) for start in range(len(parts)))
    return next((candidate for candidate in candidates if candidate), None)


def may_be_in_another_file(url: str) -> bool:
    """Return whether the post, page or picture with this URL may be in another file of the same export."""
    path = _normalize(url).partition("?")[0]
    is_file = "/wp-content/" in path and not path.lower().endswith(tuple(importing.EXTENSIONS))
    return "/" in _normalize(url).replace("?", "/") and not is_file and not LISTS.search(url)


def host_of(url: str) -> str:
    """Return the host in a URL without "www.", or "" if the URL contains no host."""
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def _normalize(url: str) -> str:
    """Return the normalized form of a URL, which consists of the host, the path, and the post's id if there is one."""
    try:
        parts = urlsplit(url.strip())
        query = parse_qs(parts.query)
    except ValueError:
        return ""
    host = host_of(url)
    if not host:
        return ""
    path = unicodedata.normalize("NFC", unquote(parts.path)).strip("/")
    if PROXY.match(host):
        host, _slash, path = path.removeprefix("www.").partition("/")
    number = next((f"?{name}={query[name][0]}" for name in ("p", "page_id") if name in query), "")
    return f"{host}/{path}".rstrip("/") + number


def _normalize_file(url: str) -> str:
    """Return the normalized form of the URL of a file."""
    return _normalize(url.split("?")[0].split("#")[0])


def _stem(url: str) -> str:
    """Return the file name in a URL, without the suffixes that WordPress appends."""
    return CHANGED.sub("", _normalize_file(url)).rsplit("/", 1)[-1]
