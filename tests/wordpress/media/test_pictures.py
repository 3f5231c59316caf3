"""Pictures of an export become photos that are as public as their posts."""

import unicodedata
from datetime import UTC, datetime

import pytest
from django.core.management import CommandError

from photos.assets.stream import Cleaner
from tests.support.nodes import pictures
from tests.support.wxr import attachment, export, item, meta
from tests.wordpress.stored import html_of

pytestmark = pytest.mark.usefixtures("mongo")

UPLOADED, LATER = datetime(2012, 3, 4, 5, 8, 9, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def uploads(tmp_path):
    """A folder with a picture for each number from 1 to 13."""
    folder = tmp_path / "uploads"
    folder.mkdir()
    for number in range(1, 14):
        (folder / f"{number}.png").write_bytes(pictures.png(picture=pictures.image(seed=number)))
    return folder


def picture(number: int, **values: object) -> str:
    return attachment(100 + number, f"https://old.example/wp-content/uploads/{number}.png", **values)


def published(mongo) -> dict[str, datetime | None]:
    return {photo["filename"]: photo["metadata"]["published"] for photo in mongo["cms.assets.files"].find()}


def planned(number: int, date: str) -> str:
    return item(number, status="future", post_date=date, post_date_gmt=date)


def test_picture_is_published_with_its_post(mongo, run, uploads):
    items = [
        item(1),
        item(2, status="draft"),
        item(3, status="private"),
        item(4, post_password="enter"),
        planned(5, "2030-01-01 00:00:00"),
        planned(6, "2019-01-01 00:00:00"),
        item(7, status="trash"),
        item(8, post_type="product"),
        item(9, post_type="product", status="draft"),
        # Files come before and after their posts.
        *(picture(number, post_parent=number) for number in range(2, 11)),
        picture(11, status="private", post_parent=1),
        picture(12, status="trash"),
        picture(13),
    ]
    said = run(export(picture(1, post_parent=1), *items), media=uploads)
    found = published(mongo)
    assert {name: at for name, at in found.items() if at} == {
        **dict.fromkeys(("1.png", "8.png", "10.png", "13.png"), UPLOADED),
        "5.png": LATER,
    }
    assert set(found) == {f"{number}.png" for number in range(1, 14) if number != 12}
    listed = said[said.index("Photos of private pages, unpublished here:") + 1 :]
    assert listed[:7] == [f"  {number}.png" for number in (2, 3, 4, 6, 7, 9, 11)]
    assert any("1 attachment in the state trash" in line for line in said)


def test_picture_shown_by_a_public_text_is_published(mongo, run, uploads):
    body = (
        '<img class="alignleft wp-image-102" src="…"> [gallery ids="104, 105"]'
        '<!-- wp:cover {"url":"https://old.example/3.png","id":103} --><!-- wp:paragraph {"id":108} -->'
        '<!-- wp:latest-posts {"categories":[{"id":108,"count":2}]} -->'
    )
    items = [
        *(item(number, status="draft") for number in range(1, 9)),
        item(20, "Public", body, meta("_thumbnail_id", "106")),
        item(22, "Odd", f'[gallery ids="{"9" * 9_000}"]'),
        item(21, "Private", '<img class="wp-image-107">', status="private"),
        *(picture(number, post_parent=number) for number in range(1, 9)),
    ]
    run(export(*items), media=uploads)
    assert {name for name, at in published(mongo).items() if at} == {f"{number}.png" for number in range(2, 7)}


def test_dry_run_reports_pictures_as_the_import_does(mongo, run, uploads):
    (uploads / "4.png").write_bytes(b"no picture")
    url = "https://old.example/wp-content/uploads"
    texts = "".join(f'<img src="{url}/{number}.png"/>' for number in (1, 2, 4, 99))
    link = '<a href="https://old.example/?attachment_id=101">See</a> <a href="https://old.example/?attachment_id=103">it</a>'
    data = export(
        item(1, "One", f"<p>{texts} {link}</p>", meta("_thumbnail_id", "102")),
        item(2, status="draft"),
        *(picture(number, post_parent=2 if number == 3 else 1) for number in range(1, 5)),
    )
    pretended = run(data, media=uploads, dry_run=True)
    assert mongo["cms.assets.files"].count_documents({}) == 0
    assert pretended[-1].endswith("3 photos")
    assert run(data, media=uploads)[1:] == pretended[1:]
    assert run(data, media=uploads, dry_run=True)[-1] == "0 changes"


def test_gallery_without_numbers_shows_pictures_of_its_post(mongo, run, uploads):
    paper = attachment(103, "https://old.example/wp-content/uploads/paper.pdf", post_parent=9)
    run(export(item(9, "A post", "[gallery]"), picture(1, post_parent=9), paper), media=uploads)
    text = mongo["cms.nodes"].find_one({"metadata.type": "blog-entry"})["metadata"]["detail"]["text"]
    photo = mongo["cms.assets.files"].find_one()["_id"]
    assert text == f"::gallery{{photos=photo:{photo}}}"


def test_truncated_export_does_not_publish_pictures_of_its_rest(mongo, run, uploads):
    data = export(picture(1, post_parent=9), picture(2, post_parent=3), picture(3), item(3))
    with pytest.raises(CommandError):
        run(data.replace(b"</channel>", b"</item>"), media=uploads)
    assert published(mongo) == {"1.png": None, "2.png": UPLOADED, "3.png": UPLOADED}


def test_only_the_undecodable_picture_is_refused(mongo, run, uploads, monkeypatch):
    feed, bad = Cleaner.feed, (uploads / "1.png").read_bytes()

    def fail(cleaner: Cleaner, data: bytes):
        if data == bad:
            raise ZeroDivisionError("Fraction(1, 0)")
        yield from feed(cleaner, data)

    monkeypatch.setattr(Cleaner, "feed", fail)
    said = run(export(picture(1), picture(2), item(3)), media=uploads)
    assert set(published(mongo)) == {"2.png"}
    assert said[said.index("Photos that were refused:") + 1].startswith("  1.png: This file is damaged")
    assert said[-1] == "4 changes: 2 sections, 1 post, 1 photo"


@pytest.mark.parametrize("path", ["x/" * 3_000 + "1.png", "x" * 5_000 + ".png", "a\x00b.png"])
def test_attachment_with_an_impossible_path_is_missing(mongo, run, uploads, path):
    url = "https://old.example/wp-content/uploads/" + path
    said = run(export(attachment(1, url, "A", meta("_wp_attached_file", path)), picture(2), item(3)), media=uploads)
    assert "1 attachment missing, 1 found" in said
    assert set(published(mongo)) == {"2.png"}


@pytest.mark.parametrize("on_disk", ["NFC", "NFD"])
@pytest.mark.parametrize("in_export", ["NFC", "NFD"])
@pytest.mark.parametrize("in_text", ["NFC", "NFD"])
def test_names_are_found_in_either_unicode_form(mongo, run, tmp_path, on_disk, in_export, in_text):
    name = "été/café.png"
    path = tmp_path / "uploads" / unicodedata.normalize(on_disk, name)
    path.parent.mkdir(parents=True)
    path.write_bytes(pictures.png())
    exported, shown = unicodedata.normalize(in_export, name), unicodedata.normalize(in_text, name)
    url = "https://old.example/wp-content/uploads/"
    files = attachment(1, url + exported, "Café", meta("_wp_attached_file", exported))
    said = run(export(files, item(2, "A post", f'<img src="{url}{shown}">')), media=tmp_path / "uploads")
    assert "0 attachments missing, 1 found" in said
    photo = mongo["cms.assets.files"].find_one()["_id"]
    text = html_of(mongo["cms.nodes"].find_one({"metadata.type": "blog-entry"})["metadata"])
    assert f'src="photo:{photo}"' in text


class TestCopies:
    """Texts name smaller, rotated and edited copies of a file. The export names only one of them."""

    UPLOADS = "https://old.example/wp-content/uploads/"

    def shown(self, mongo, run, tmp_path, files: dict[str, int], body: str) -> list[str]:
        """Return the names of the photos that a text shows."""
        for number, name in enumerate(files):
            (tmp_path / name).write_bytes(pictures.png(picture=pictures.image(seed=number)))
        attached = [
            attachment(number, f"{self.UPLOADS}2022/07/{name}", meta("_wp_attached_file", f"2022/07/{name}"))
            for name, number in files.items()
        ]
        run(export(*attached, item(1, "A post", body)), media=tmp_path)
        names = {str(photo["_id"]): photo["filename"] for photo in mongo["cms.assets.files"].find()}
        text = html_of(mongo["cms.nodes"].find_one({"metadata.type": "blog-entry"})["metadata"])
        return [names[part.split('"')[0]] for part in text.split('src="photo:')[1:]]

    @pytest.mark.slow_after(2)
    @pytest.mark.parametrize(
        ("attached", "shown"),
        [
            ("lake-scaled.png", "lake-1024x683.png"),
            ("lake-scaled.png", "lake.png"),
            ("lake-rotated.png", "lake-300x200.png"),
            ("lake-e1658000000000.png", "lake.png"),
            ("lake-e1658000000000.png", "lake-e1658000000000-300x200.png"),
            ("lake-scaled-e1658000000000.png", "lake-300x200.png"),
            ("lake.png", "lake-scaled.png"),
        ],
    )
    def test_copy_is_found_by_its_name(self, mongo, run, tmp_path, attached, shown):
        image = f'<img src="{self.UPLOADS}2022/07/{shown}">'
        assert self.shown(mongo, run, tmp_path, {attached: 41}, image) == [attached]

    @pytest.mark.parametrize(
        "body",
        [
            '<img src="/wp-content/uploads/other.png" class="wp-image-41">',
            '<!-- wp:image {"id":41,"sizeSlug":"large"} --><figure><img src="/other.png" alt=""/></figure><!-- /wp:image -->',
            '<!-- wp:media-text {"mediaId":41} --><img src="/other.png"><!-- /wp:media-text -->',
            '<img src="https://cdn.example/x/lake-300x200.png" class="size-full wp-image-41">',
            '<img data-id="41" src="/other.png">',
            '<img src="https://i0.wp.com/old.example/wp-content/uploads/2022/07/lake.png?fit=300%2C200">',
        ],
    )
    def test_picture_is_found_by_its_number(self, mongo, run, tmp_path, body):
        assert self.shown(mongo, run, tmp_path, {"lake-scaled.png": 41}, body) == ["lake-scaled.png"]

    def test_number_of_another_site_shows_no_picture(self, mongo, run, tmp_path):
        body = '<img src="https://else.example/cat.png" class="wp-image-41">'
        assert self.shown(mongo, run, tmp_path, {"lake-scaled.png": 41}, body) == []

    def test_name_of_several_files_is_resolved_by_the_number(self, mongo, run, tmp_path):
        files = {"lake-scaled.png": 41, "lake-e1658000000000.png": 42}
        image = f'<img src="{self.UPLOADS}2022/07/lake-9x9.png"'
        body = f'{image}> {image} class="wp-image-42">'
        assert self.shown(mongo, run, tmp_path, files, body) == ["lake-e1658000000000.png"]
