"""Reading exports: every version and spelling, odd values, and broken or hostile files."""

import io
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tests.support.wxr import EMPTY_DATE, attachment, author, comment, export, item, meta, page, term
from wordpress.export import reader
from wordpress.export.reader import read
from wordpress.export.records import Attachment, Comment, ExportedAuthor, Item, Record, Site, Term, WxrError
from wordpress.export.source import AFTER, AMPERSANDS, BEFORE, FORBIDDEN, FOREIGN, ODD, Repairs


def records(data: bytes) -> list[Record]:
    return list(read(io.BytesIO(data)))


def items(data: bytes) -> list[Item]:
    return [record for record in records(data) if isinstance(record, Item)]


def broken(data: bytes) -> tuple[list[Record], WxrError]:
    """Return the items before the error, and the error."""
    whole: list[Record] = []
    with pytest.raises(WxrError) as caught:
        whole.extend(read(io.BytesIO(data)))
    # extend() drops its items when it raises, so items are read one at a time.
    whole = []
    stream = read(io.BytesIO(data))
    while True:
        try:
            whole.append(next(stream))
        except WxrError:
            return whole, caught.value


def ids(found: list[Record]) -> list[int]:
    return [record.id for record in found if isinstance(record, Item)]


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_every_version_is_read_in_either_spelling(version, scheme):
    post = item(7, "Hello", "The body", comment(1), term("News"), excerpt="In short")
    site, writer, found = records(export(post, version=version, scheme=scheme, head=author("ada", "Ada L.")))
    assert site == Site("Old site", "https://old.example", version)
    assert writer == ExportedAuthor("ada", "Ada L.")
    assert isinstance(found, Item)
    assert (found.id, found.type, found.status, found.title) == (7, "post", "publish", "Hello")
    assert (found.body, found.excerpt, found.author, found.slug) == ("The body", "In short", "ada", "post-7")
    assert (found.link, found.guid) == ("https://old.example/2012/03/post-7/", "https://old.example/?p=7")
    assert found.terms == (Term("category", "news", "News"),)
    assert found.posted == found.modified == datetime(2012, 3, 4, 5, 8, 9, tzinfo=UTC)
    assert found.is_public
    assert found.comments == (
        Comment(
            id=1,
            parent=0,
            author="Grace",
            email="grace@private.example",
            url="",
            posted=datetime(2012, 3, 5, 5, 0, 1, tzinfo=UTC),
            text="Well said",
            status="approved",
            kind="comment",
        ),
    )


def test_undeclared_prefixes_are_skipped():
    """WordPress.com wrote <atom:link> without a declaration in 2012, and plugins still do."""
    head = (
        author("ada", "Ada")
        + '<atom:link rel="search" href="https://old.example/osd.xml" odd:is="1" /><media:x>a</media:x>'
    )
    data = export(item(1, "One", "<b>", "<geo:lat><wp:post_id>9</wp:post_id></geo:lat>"), head=head)
    assert ids(records(data)) == [1]


def test_prefixes_follow_their_declarations():
    space = "http://wordpress.org/export/1.2/"
    body = f'<q:post_name xmlns:q="{space}">other</q:post_name><q:post_parent>7</q:post_parent>'
    own = f'<post_type xmlns="{space}">page</post_type><post_type>post</post_type>'
    (found,) = items(export(item(1, "One", "x", body + own, post_name=None, post_parent=None, post_type=None)))
    assert (found.slug, found.parent, found.type) == ("other", 0, "page")


def test_terms_of_the_site_are_read():
    head = (
        "<wp:category><wp:category_nicename>a</wp:category_nicename><wp:cat_name>A</wp:cat_name></wp:category>"
        "<wp:tag><wp:tag_slug>b</wp:tag_slug></wp:tag>"
        "<wp:term><wp:term_taxonomy>tag</wp:term_taxonomy><wp:term_slug>c</wp:term_slug>"
        "<wp:term_name>C</wp:term_name></wp:term>"
    )
    assert records(export(head=head))[1:] == [
        Term("category", "a", "A"),
        Term("post_tag", "b", "b"),
        Term("post_tag", "c", "C"),
    ]


def test_terms_written_twice_by_version_1_0_count_once():
    post = item(1, "t", "", term("News", None), term("News"), term("Odd", None), term("Red", "tag"), term("News"))
    assert items(export(post, version="1.0"))[0].terms == (
        Term("category", "news", "News"),
        Term("category", "", "Odd"),
        Term("post_tag", "red", "Red"),
    )


def test_attachment_is_read():
    url = "https://old.example/wp-content/uploads/2012/07/foo.jpg"
    parts = (meta("_wp_attached_file", "2012/07/foo.jpg"), meta("_wp_attachment_image_alt", "A foo"), meta("_x", "y"))
    found = records(export(attachment(9, url, "Foo", *parts, post_parent=7, excerpt="Its caption")))[1]
    assert isinstance(found, Attachment)
    assert (found.id, found.parent, found.url, found.file) == (9, 7, url, "2012/07/foo.jpg")
    assert (found.title, found.alt, found.caption) == ("Foo", "A foo", "Its caption")


def test_email_addresses_are_in_no_repr():
    found = records(export(item(1, "t", "b", comment(3)), head=author("ada", "Ada")))
    assert "private.example" not in repr(found)
    assert "192.0.2.7" not in repr(found)


def test_password_is_detected_and_not_stored():
    found = items(export(item(1, post_password="enter")))[0]
    assert found.protected
    assert not found.is_public
    assert "enter" not in repr(found)


@pytest.mark.parametrize(
    ("approved", "status"),
    [
        ("1", "approved"),
        ("0", "pending"),
        ("spam", "spam"),
        ("trash", "trash"),
        ("post-trashed", "trash"),
        ("odd", "pending"),
    ],
)
def test_comment_status_is_read(approved, status):
    assert items(export(item(1, "t", "b", comment(1, approved=approved))))[0].comments[0].status == status


@pytest.mark.parametrize(
    ("kind", "is_ping"), [("", False), ("comment", False), ("pingback", True), ("trackback", True)]
)
def test_comment_kind_is_read(kind, is_ping):
    found = items(export(item(1, "t", "b", comment(1, kind=kind))))[0].comments[0]
    assert found.is_ping is is_ping
    assert found.kind == (kind or "comment")


class TestDates:
    def test_gmt_date_overrides_the_local_one(self):
        found = items(export(item(1, post_date="2012-03-04 23:00:00", post_date_gmt="2012-03-05 06:00:00")))[0]
        assert found.posted == datetime(2012, 3, 5, 6, tzinfo=UTC)

    def test_draft_uses_the_rss_date_or_the_local_one(self):
        """WordPress gives drafts no GMT date."""
        draft = {"post_date_gmt": EMPTY_DATE, "status": "draft", "pub_date": "Mon, 30 Nov -0001 00:00:00 +0000"}
        first, second, third = items(
            export(
                item(1),
                item(2, **draft, post_date="2013-01-01 12:00:00"),
                item(3, **{**draft, "pub_date": "Tue, 01 Jan 2013 09:30:00 +0000"}, post_date="2013-01-01 12:00:00"),
            )
        )
        assert first.posted == datetime(2012, 3, 4, 5, 8, 9, tzinfo=UTC)
        assert second.posted == datetime(2013, 1, 1, 10, tzinfo=UTC)
        assert third.posted == datetime(2013, 1, 1, 9, 30, tzinfo=UTC)

    @pytest.mark.parametrize("bad", [EMPTY_DATE, "", "yesterday", "2012-02-31 00:00:00", "20120304"])
    def test_unusable_date_is_none(self, bad):
        found = items(export(item(1, "t", "b", comment(1, date=bad, gmt=bad), post_date=bad, post_date_gmt=bad)))[0]
        assert found.posted is None
        assert found.modified is None
        assert found.comments[0].posted is None

    def test_extreme_dates_are_handled(self):
        last = items(export(item(1, post_date="9999-12-31 23:59:59", post_date_gmt="9999-12-31 23:59:59")))[0]
        assert last.posted == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
        west = item(1, post_date="2012-01-01 00:00:00", post_date_gmt="2012-01-01 05:00:00")
        last = item(2, post_date="9999-12-31 23:59:59", post_date_gmt=EMPTY_DATE)
        assert items(export(west, last))[1].posted is None

    def test_modified_date_is_read(self):
        found = items(export(item(1, post_modified="2014-01-01 02:00:00", post_modified_gmt="2014-01-01 00:00:00")))[0]
        assert found.modified == datetime(2014, 1, 1, tzinfo=UTC)


class TestOddValues:
    def test_item_without_elements_is_read(self):
        found = items(export("<item></item>"))[0]
        assert (found.id, found.type, found.status, found.title, found.slug) == (0, "post", "draft", "", "")
        assert (found.posted, found.comments, found.terms) == (None, (), ())

    @pytest.mark.parametrize("bad", ["", "x", "-4", "1e3", "٣", "9" * 30])
    def test_invalid_number_is_zero(self, bad):
        found = items(export(item(bad, post_parent=bad)))[0]
        assert (found.id, found.parent) == (0, 0)

    def test_unknown_types_and_statuses_are_returned(self):
        found = items(
            export(item(1, post_type="nav_menu_item"), item(2, status="auto-draft"), item(3, status="request-x"))
        )
        assert [(one.type, one.status) for one in found] == [
            ("nav_menu_item", "publish"),
            ("post", "auto-draft"),
            ("post", "request-x"),
        ]
        assert not found[2].is_public

    def test_text_and_markup_are_unchanged(self):
        body = "a & b\n\n<p>&amp; ]]> [gallery]</p>\n<!-- wp:x -->"
        found = items(export(item(1, "Title <em>with</em> & more", body)))[0]
        assert found.title == "Title <em>with</em> & more"
        assert found.body == body

    def test_first_of_two_equal_elements_is_used(self):
        found = items(export(item(1, "First").replace("<item>", "<item><wp:status>draft</wp:status>")))[0]
        assert found.status == "draft"

    def test_foreign_elements_are_skipped(self):
        strange = '<x:thing xmlns:x="urn:x"><wp:post_id>8</wp:post_id><wp:comment/></x:thing><wp:unknown>z</wp:unknown>'
        found = items(export(item(1, "t", "b", strange)))[0]
        assert (found.id, found.comments) == (1, ())

    def test_other_prefixes_of_the_same_namespaces_are_read(self):
        data = export(item(1, "t", "body")).replace(b"wp:", b"w:").replace(b":wp=", b":w=").replace(b"content:", b"c:")
        assert items(data.replace(b":content=", b":c="))[0].body == "body"

    def test_forbidden_control_characters_are_dropped(self):
        assert items(export(item(1, "a\x0b\x1bb", "c\x00d")))[0].title == "ab"

    def test_item_has_its_line_number(self):
        data = export(item(1), item(2))
        lines = data.decode().splitlines()
        starts = [number for number, line in enumerate(lines, 1) if "<item>" in line]
        assert [one.line for one in items(data)] == starts

    def test_latin_1_is_read(self):
        data = export(item(1, "Caf\xe9")).decode().replace("UTF-8", "ISO-8859-1").encode("latin-1")
        assert items(data)[0].title == "Caf\xe9"

    def test_site_without_items_is_read(self):
        assert records(export(version="1.1")) == [Site("Old site", "https://old.example", "1.1")]


class TestBroken:
    def test_truncated_file_yields_its_complete_items(self):
        data = export(item(1), item(2), item(3))
        found, error = broken(data[: data.index(b"post-3")])
        assert ids(found) == [1, 2]
        assert "is incomplete" in error.reason
        assert error.line == data[: data.index(b"post-3")].count(b"\n") + 1

    @pytest.mark.parametrize("at", range(40, 4000, 333))
    def test_file_truncated_anywhere_yields_its_items(self, at):
        data = export(item(1, "t", "b", comment(1), comment(2)), item(2, "é" * 30))
        assert len(data) > 3000
        found, error = broken(data[: min(at, len(data) - 10)])
        assert error.line > 0
        assert set(ids(found)) <= {1, 2}

    def test_broken_tag_is_reported_with_its_line(self):
        data = export(item(1), item(2, "Here"), item(3)).replace(b"<title>Here</title>", b"<title>Here</tilte>")
        found, error = broken(data)
        assert ids(found) == [1]
        assert error.line == data[: data.index(b"tilte")].count(b"\n") + 1
        assert str(error) == f"line {error.line}: mismatched tag"

    @pytest.mark.parametrize("data", [b"", b"   \n", b"not xml at all", b"PK\x03\x04", b"\xff\xfe<\x00"])
    def test_file_that_is_no_xml_is_refused(self, data):
        found, _ = broken(data)
        assert found == []

    def test_html_and_other_xml_are_refused(self):
        assert "not a WordPress export" in broken(b"<html><body>Log in</body></html>")[1].reason
        assert "html" in broken(b"<html/>")[1].reason

    def test_plain_rss_is_refused(self):
        plain = b'<rss version="2.0"><channel><title>t</title><item><title>x</title></item></channel></rss>'
        found, error = broken(plain)
        assert found == []
        assert "not a WordPress export" in error.reason

    def test_unknown_version_is_refused(self):
        assert "2.0" in broken(export(item(1), version="2.0"))[1].reason

    def test_unknown_encoding_is_refused(self):
        assert "encoding" in broken(export(item(1)).replace(b"UTF-8", b"klingon"))[1].reason

    def test_missing_version_is_taken_from_the_namespace(self):
        data = export(item(1)).replace(b"<wp:wxr_version>1.2</wp:wxr_version>", b"")
        site = records(data.replace(b"<channel>", b"<channel><wp:x/>"))[0]
        assert isinstance(site, Site)
        assert site.version == "1.2"

    def test_too_long_record_is_refused(self, monkeypatch):
        monkeypatch.setattr(reader, "MAX_RECORD", 1000)
        found, error = broken(export(item(1), item(2, "t", "x" * 2000)))
        assert ids(found) == [1]
        assert "1000 characters" in error.reason


class TestHostileFiles:
    def with_doctype(self, doctype: str, text: str = "t") -> bytes:
        data = export(item(1, "Here")).decode().replace("<rss", f"<!DOCTYPE rss {doctype}>\n<rss", 1)
        return data.replace("Here", text).encode()

    def test_entity_bomb_is_refused(self):
        levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
        found, error = broken(self.with_doctype(f'[<!ENTITY e0 "lol">{levels}]', "&e9;"))
        assert found == []
        assert "entity 'e0'" in error.reason
        assert error.line == 2

    def test_external_entity_is_refused(self, tmp_path):
        secret = tmp_path / "secret"
        secret.write_text("the secret")
        found, error = broken(self.with_doctype(f'[<!ENTITY x SYSTEM "{secret.as_uri()}">]', "&x;"))
        assert found == []
        assert "entity 'x'" in error.reason

    def test_parameter_entity_is_refused(self):
        assert "entity 'x'" in broken(self.with_doctype('[<!ENTITY % x SYSTEM "http://127.0.0.1:9/x"> %x;]'))[1].reason

    def test_external_document_type_is_not_loaded(self):
        found, error = broken(self.with_doctype('SYSTEM "http://127.0.0.1:9/x.dtd"'))
        assert found == []
        assert "outside the file" in error.reason

    @pytest.mark.parametrize("depth", [98, 8_000])
    def test_nested_declarations_are_bounded(self, depth):
        nested = "".join(f'<x{n} xmlns:p{n}="urn:{n}">' for n in range(depth))
        nested += "".join(f"</x{n}>" for n in reversed(range(depth)))
        tracemalloc.start()
        try:
            found, error = broken(export(item(1), nested, item(2)))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert ids(found) == [1]
        assert "nested too deeply" in error.reason
        assert peak < 16 * 1024 * 1024

    def test_many_prefixes_on_one_element_are_refused(self):
        declared = " ".join(f'xmlns:p{n}="urn:{n}"' for n in range(500))
        found, error = broken(export(item(1), f"<x {declared}/>", item(2)))
        assert ids(found) == [1]
        assert "namespaces" in error.reason

    @pytest.mark.parametrize("begun", ['<x a="', "<!--"])
    def test_long_tag_is_refused_before_its_end(self, begun):
        found, error = broken(export(item(1), begun + "x" * (reader.MAX_TAG + 100_000), item(2)))
        assert ids(found) == [1]
        assert "one tag" in error.reason


class TestRepairs:
    """Repairs of files that no XML parser accepts, which are counted."""

    def repaired(self, data: bytes, size: int = 64 * 1024) -> tuple[list[Item], dict[str, str]]:
        repairs = Repairs()

        class Slow(io.BytesIO):
            def read(self, _size: int | None = -1) -> bytes:
                return super().read(size)

        found = [record for record in read(Slow(data), repairs) if isinstance(record, Item)]
        return found, dict(repairs.notes())

    @pytest.mark.parametrize(
        ("bad", "good", "heading"),
        [
            (b"a\xef\xbf\xbfb", "ab", FORBIDDEN),
            (b"a\xef\xbf\xbeb", "ab", FORBIDDEN),
            (b"a\x0b\x00b", "ab", FORBIDDEN),
            (b"a\xed\xa0\xbd\xed\xb8\x89b", "a\U0001f609b", ""),
            (b"a\xed\xa0\xbdb", "a\ufffdb", ODD),
            (b"a\xc0\x80b", "ab", ODD),
            (b"a\xe0\x80\xbcb", "a\ufffdb", ODD),
            (b"caf\xe9 \x96 \xc3\xa9", "caf\xe9 \u2013 \xe9", FOREIGN),
            ("漢字\U0001f609".encode(), "漢字\U0001f609", ""),
            (b"a &nbsp; &#x3; ]] &b", "a &nbsp; &#x3; ]] &b", ""),
        ],
    )
    @pytest.mark.parametrize("size", [1, 2, 3, 7, 64 * 1024])
    def test_raw_bytes_in_a_text_are_read(self, bad, good, heading, size):
        data = export(item(1, "A", "x"), item(2, "B", "HERE"), item(3, "C")).replace(b"HERE", bad)
        found, notes = self.repaired(data, size)
        assert [one.id for one in found] == [1, 2, 3]
        assert found[1].body == good
        assert list(notes) == [heading][: bool(heading)]
        line = data[: data.index(bad)].count(b"\n") + 1
        assert all(note.endswith(f"on line {line}") for note in notes.values())

    @pytest.mark.parametrize(
        ("bad", "good", "heading"),
        [
            ("Fish&nbsp;&amp; chips&hellip;", "Fish\xa0& chips\u2026", ""),
            ("Fish &#x3;&#65;&#0;&#xFFFF;&#55357;", "Fish A", FORBIDDEN),
            ("Fish & chips &unknown; &#x; &LT;b", "Fish & chips &unknown; &#x; <b", AMPERSANDS),
        ],
    )
    @pytest.mark.parametrize("size", [1, 7, 64 * 1024])
    def test_references_in_a_title_are_read(self, bad, good, heading, size):
        data = export(item(1), item(2, "HERE"), item(3)).replace(b"HERE", bad.encode())
        found, notes = self.repaired(data, size)
        assert [one.id for one in found] == [1, 2, 3]
        assert found[1].title == good
        assert list(notes) == [heading][: bool(heading)]

    @pytest.mark.parametrize(
        "before", [b"\n", b" \n\n\t", b"<br />\n<b>Notice</b>: x & y in z.php\n", b"\xef\xbb\xbf\n"]
    )
    def test_text_before_the_document_is_skipped(self, before):
        found, notes = self.repaired(before + export(item(1)))
        assert [one.id for one in found] == [1]
        assert found[0].line == items(export(item(1)))[0].line + before.count(b"\n")
        assert notes == {BEFORE: "on line 1"}

    def test_byte_order_mark_is_no_repair(self):
        found, notes = self.repaired(b"\xef\xbb\xbf" + export(item(1)))
        assert (len(found), notes) == (1, {})

    @pytest.mark.parametrize(
        "after", [b"<br />\n<b>Warning</b>: in foo.php", b"PHP & x", b"<?xml version='1.0'?><rss/>"]
    )
    def test_text_after_the_document_is_skipped(self, after):
        data = export(item(1), item(2))
        found, notes = self.repaired(data + b"\n" + after)
        assert [one.id for one in found] == [1, 2]
        assert notes[AFTER] == f"on line {data.count(bytes([10])) + 2}"

    def test_white_space_and_comments_at_the_end_are_no_repair(self):
        assert self.repaired(export(item(1)) + b"\n<!-- done -->\n")[1] == {}

    def test_every_repair_is_counted(self):
        notes = self.repaired(export(item(1, "x", "a\x0bb\x0b"), item(2, "x\x0b")))[1]
        assert notes[FORBIDDEN].startswith("3 times, first on line ")

    @pytest.mark.parametrize("encoding", ["utf-16-le", "unicode_escape", "idna", "zip", "klingon"])
    def test_other_encodings_are_refused_by_name(self, encoding):
        assert encoding in broken(export(item(1)).replace(b"UTF-8", encoding.encode()))[1].reason

    def test_japanese_text_is_read(self):
        data = export(item(1, "漢字")).decode().replace("UTF-8", "Shift_JIS").encode("shift_jis")
        assert items(data)[0].title == "漢字"


class Endless(io.RawIOBase):
    """An export of `count` posts that is generated while it is read, never whole in memory."""

    def __init__(self, count: int) -> None:
        self.pieces = self.make(count)
        self.rest = b""
        self.given = 0

    @staticmethod
    def make(count: int) -> Iterator[bytes]:
        head, tail = export(page(1, "mark")).split(b"<item>", 1)
        yield head
        for number in range(count):
            yield item(number + 1, "t", "All work and no play. " * 400, *(comment(n) for n in range(1, 6))).encode()
        yield tail[tail.index(b"</item>") + 7 :]

    def read(self, size: int = -1) -> bytes:
        while len(self.rest) < size:
            piece = next(self.pieces, b"")
            if not piece:
                break
            self.rest += piece
        data, self.rest = self.rest[:size], self.rest[size:]
        self.given += len(data)
        return data


@pytest.mark.parametrize("posts", [200, pytest.param(4000, marks=pytest.mark.slow)])
def test_large_file_is_read_in_constant_memory(posts):
    """The reader's peak is some records and one piece of the file, for 2.5 MB and for 50 MB."""
    stream = Endless(posts)
    count = 0
    tracemalloc.start()
    try:
        for record in read(stream):
            count += isinstance(record, Item)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == posts
    assert stream.given > posts * 12_500
    assert peak < 1024 * 1024
