"""The old site as its links saw it: which address was which post, page or file."""

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

__all__ = ["OldSite", "View", "host_of", "locate", "may_come"]

# WordPress adds the size to the names of the copies it makes, and a word or a time to those of pictures that it made
# smaller, turned or edited.
SIZE = re.compile(r"-\d{1,5}x\d{1,5}(?=\.\w+\Z)")
CHANGED = re.compile(r"(?:-scaled|-rotated|-e\d{9,14}|-\d{1,5}x\d{1,5})+(?=\.\w+\Z)")
# Jetpack showed the old site's pictures by way of these hosts.
PROXY = re.compile(r"i\d\.wp\.com\Z")
# How texts name the photos of the new site.
PHOTO = "photo:"
DATED = re.compile(r"/\d{4}/\d\d/(?:\d\d/)?([^/?]+)\Z")
LONGEST_PATH = 4_096  # bytes
ATTACHMENT = re.compile(r"[?&]attachment_id=([0-9]{1,18})(?:[&#]|\Z)")
# Lists, feeds and pages of WordPress itself, which no export has.
LISTS = re.compile(
    r"/(?:category|tag|author|feed|page|wp-admin|wp-json|wp-login\.php)(?:/|\Z)|[?&](?:s|cat|tag|author|feed|m)="
)
# The discussion of a page, here and there.
DISCUSSION = "comments"
DISCUSSIONS = {"comments", "respond"}
DEAD_FRAGMENTS = re.compile(r"(?:more|comment)-\d+\Z")


@dataclass(slots=True)
class OldSite:
    """Addresses of the export. Texts of the export ask for addresses, so no address may make a method fail."""

    hosts: set[str] = field(default_factory=set)
    # Of posts and pages, addresses in their one form → id (None: of several); of files, addresses, also without what
    # WordPress adds to names, → id.
    pages: dict[str, int] = field(default_factory=dict)
    guids: dict[str, int | None] = field(default_factory=dict)
    ids: set[int] = field(default_factory=set)
    slugs: dict[str, int | None] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    stems: dict[str, int | None] = field(default_factory=dict)
    # Of the pages that WordPress gave to files, addresses in their one form → id.
    file_pages: dict[str, int] = field(default_factory=dict)
    by_id: dict[int, File] = field(default_factory=dict)
    by_parent: dict[int, list[int]] = field(default_factory=dict)
    # Contents of the synced patterns, by id.
    patterns: dict[int, str] = field(default_factory=dict)

    def add_site(self, url: str) -> None:
        """Take note of the site's own address."""
        if host := host_of(url):
            self.hosts.add(host)

    def add_page(self, number: int, link: str, guid: str, slug: str) -> None:
        """Take note of a post or page by its id."""
        self.ids.add(number)
        if slug:
            self.slugs[slug] = number if self.slugs.get(slug, number) == number else None
        if normal := _normal(link):
            self.pages.setdefault(normal, number)
        # Some guids are the front page's address.
        if "/" in (normal := _normal(guid)) or "?" in normal:
            self.guids[normal] = number if self.guids.get(normal, number) == number else None

    def add_file(self, attachment: Attachment) -> None:
        """Take note of a file of the media library."""
        # One without an id of its own is known by its address only.
        number = attachment.id or -1 - len(self.by_id)
        if number not in self.by_id:
            self.by_id[number] = File(attachment.url, attachment.alt or attachment.title)
            self.by_parent.setdefault(attachment.parent, []).append(number)
        if normal := _normal(attachment.link):
            self.file_pages.setdefault(normal, number)
        if normal := _file_address(attachment.url):
            self.files.setdefault(normal, number)
            stem = CHANGED.sub("", normal)
            self.stems[stem] = number if self.stems.get(stem, number) == number else None

    def show_file(self, attachment: Attachment, src: str, page: str) -> None:
        """Take note of where a file of the media library is on the new site, and its page."""
        number = attachment.id or self.files.get(_file_address(attachment.url), 0)
        if file := self.by_id.get(number):
            self.by_id[number] = replace(file, src=src, page=page)

    def photo(self, number: int) -> ObjectId | None:
        """The photo that a file of the media library, by its id, has become here; None if it has not."""
        file = self.by_id.get(number)
        name = file.src.removeprefix(PHOTO) if file and file.src.startswith(PHOTO) else ""
        return ObjectId(name) if ObjectId.is_valid(name) else None

    def find_page(self, url: str) -> int | None:
        """The id of the post or page at `url` (absolute), None if it is none of the export's."""
        normal = _normal(url)
        if not normal:
            return None
        if host_of(url) in self.hosts:
            if asked := re.search(r"\?(?:p|page_id)=([0-9]{1,18})\Z", normal):
                # On its own site this is the id; a guid of the same words may have come with a copy of another post.
                return int(asked[1]) if int(asked[1]) in self.ids else self.guids.get(normal)
            # An archive or a search has the address of the front page.
            if "/" not in normal and urlsplit(url).query:
                return None
        found = self.pages.get(normal) or self.guids.get(normal)
        # A post's date may have been changed after a page linked to it: WordPress goes by the slug then.
        if found is None and host_of(url) in self.hosts and (dated := DATED.search(normal)):
            return self.slugs.get(dated[1])
        return found

    def find_file_of_page(self, url: str) -> File | None:
        """Return the file of the media library whose page was at `url` (absolute); None if there is none."""
        normal = _normal(url)
        number = self.file_pages.get(normal)
        if number is None and host_of(url) in self.hosts and (asked := ATTACHMENT.search(url)):
            number = int(asked[1])
        return self.by_id.get(number) if number else None

    def find_file(self, url: str, number: int = 0) -> File | None:
        """The file of the media library at `url` (absolute), or the one that this is a copy of: smaller, turned, edited. Where
        the address tells of none, the file whose `number` the text gives."""
        normal = _file_address(url)
        found = (
            self.files.get(normal) or self.files.get(SIZE.sub("", normal)) or self.stems.get(CHANGED.sub("", normal))
        )
        if not found and number in self.by_id:
            # A text that was copied from another site has the numbers of that.
            same = _stem(url) == _stem(self.by_id[number].url)
            found = number if same or host_of(url) in self.hosts else None
        return self.by_id[found] if found else None


@dataclass(frozen=True, slots=True)
class View:
    """The old site as one post sees it: a `content.Library`. `paths` are the new addresses by id, of what
    visitors may see; `stayed` gathers the links that lead to the old site still."""

    site: OldSite
    paths: dict[int, str]
    number: int
    stayed: dict[str, None] = field(default_factory=dict)

    def page(self, url: str) -> str:
        """The new address of an old page that visitors may see, with the place in it, or of a picture's page; "" for any
        other."""
        found = self.site.find_page(url)
        file = None
        if found is None:
            file = self.site.find_file(url) or self.site.find_file_of_page(url)
        path = file.page if file else self.paths.get(found or 0, "")
        if not path and (file or host_of(url) in self.site.hosts):
            self.stayed.setdefault(url)
        if found is None:
            return path
        fragment = urlsplit(url).fragment
        if not path or not fragment or DEAD_FRAGMENTS.match(fragment):
            return path
        return f"{path}#{DISCUSSION if fragment in DISCUSSIONS else anchors.prefixed(unquote(fragment))}"

    def file(self, url: str, number: int = 0) -> File:
        """The picture at `url`, which the text may also give by its number."""
        return self.site.find_file(url, number) or File(url)

    def gallery(self, ids: Sequence[int]) -> Sequence[File]:
        """The pictures with these ids, or the post's own."""
        if not ids:
            own = [self.site.by_id[number] for number in self.site.by_parent.get(self.number, [])]
            return [file for file in own if file.url.split("?")[0].lower().endswith(tuple(importing.EXTENSIONS))]
        return [self.site.by_id[number] for number in ids if number in self.site.by_id]

    def pattern(self, number: int) -> str | None:
        """The content of a synced pattern."""
        return self.site.patterns.get(number)


def locate(directory: Path, attachment: Attachment) -> Path | None:
    """The file of an attachment below `directory`: at the longest end of its path that is there, so that a copy of the
    uploads folder, one of a month's folder or one flat folder will do. None if it is missing."""
    path = attachment.file or unquote(_normal(attachment.url.split("?")[0]).partition("/")[2])
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    # No file system has a longer path.
    if len(path.encode()) > LONGEST_PATH:
        return None
    ends = (importing.find_file(directory, *parts[start:]) for start in range(len(parts)))
    return next((found for found in ends if found), None)


def may_come(url: str) -> bool:
    """Return whether another file of the same export may have the post, page or picture of an address."""
    path = _normal(url).partition("?")[0]
    is_file = "/wp-content/" in path and not path.lower().endswith(tuple(importing.EXTENSIONS))
    return "/" in _normal(url).replace("?", "/") and not is_file and not LISTS.search(url)


def host_of(url: str) -> str:
    """The host of an address, without "www."; "" if it has none."""
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def _normal(url: str) -> str:
    """The address in the one form in which all its spellings are alike: host, path, and the id if it has one."""
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


def _file_address(url: str) -> str:
    """Return the address of a file in its one form."""
    return _normal(url.split("?")[0].split("#")[0])


def _stem(url: str) -> str:
    """Return the name of a file without the endings that WordPress adds."""
    return CHANGED.sub("", _file_address(url)).rsplit("/", 1)[-1]
