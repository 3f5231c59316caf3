"""The report lists everything that was not imported, by post."""

import pytest

from tests.support.nodes import pictures
from tests.support.wxr import attachment, export, item, meta, term

pytestmark = pytest.mark.usefixtures("mongo")


def listed(said: list[str], heading: str) -> list[str]:
    """Return the lines under a heading."""
    lines = said[said.index(f"{heading}:") + 1 :]
    end = next((at for at, line in enumerate(lines) if not line.startswith("  ")), len(lines))
    return [line.strip() for line in lines[:end]]


@pytest.mark.parametrize(
    ("parts", "values", "heading", "line"),
    [
        ([meta("subtitle", "x"), meta("_edit_last", "1"), meta("mood", " ")], {}, "Custom fields left out", "subtitle"),
        ([meta("_yoast_wpseo_metadesc", "x")], {}, "Custom fields left out", "_yoast_wpseo_metadesc"),
        ([term("Horror", "genre")], {}, "Terms left out that are not categories or tags", "genre “Horror”"),
        ([term("..", "post_tag", "x")], {}, "Tags left out because they have no letters", ".."),
        ([meta("_thumbnail_id", "7")], {}, "Missing featured images", "attachment 7"),
    ],
)
def test_report_lists_unsupported_parts_of_a_post(run, parts, values, heading, line):
    assert listed(run(export(item(1, "One", "x", *parts, **values))), heading) == [f"post 1 “One”: {line}"]


def test_theme_settings_are_not_reported(run):
    said = run(export(item(1, "One", "x", term("Gallery", "post_format"), meta("_wp_page_template", "x"))))
    assert said[1] == "1 post"


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"post_password": "x"}, "password-protected"),
        ({"status": "private"}, "private"),
        ({"status": "future"}, "scheduled"),
    ],
)
def test_report_lists_posts_unpublished_here(run, values, why):
    assert listed(run(export(item(1, "One", "x", **values))), "Unpublished here") == [f"post 1 “One”, {why}"]


def test_report_lists_sticky_posts(run):
    said = run(export(item(1, "One", "x", is_sticky=1)))
    assert listed(said, "No longer sticky because posts are listed by date") == ["post 1 “One”"]


def test_report_lists_items_of_other_types(run):
    said = run(
        export(item(1, "Shoe", "x", post_type="product"), item(2, "", post_type="nav_menu_item"), item(3, "One", "x"))
    )
    assert listed(said, "Left out because they are neither posts nor pages") == ["product 1 “Shoe”"]
    assert "Left out: 1 nav_menu_item, 1 product" in said


def test_report_lists_links_to_the_old_site(run):
    body = (
        '<a href="https://old.example/category/x/">c</a> <a href="https://old.example/?p=2">two</a>'
        '<a href="https://old.example/wp-content/uploads/a.pdf">a</a> <a href="https://elsewhere.example/">e</a>'
    )
    said = run(export(item(1, "One", body), item(2, "Two", "x", status="draft")))
    assert listed(said, "Links that still point to the old site") == [
        "post 1 “One”: https://old.example/category/x/",
        "post 1 “One”: https://old.example/?p=2",
        "post 1 “One”: https://old.example/wp-content/uploads/a.pdf",
    ]


def test_report_lists_files_that_are_no_pictures(run, tmp_path):
    (tmp_path / "a.pdf").write_bytes(b"%PDF")
    (tmp_path / "b.jpg").write_bytes(pictures.jpeg())
    uploads = "https://old.example/wp-content/uploads"
    said = run(export(attachment(1, f"{uploads}/a.pdf"), attachment(2, f"{uploads}/b.jpg")), media=tmp_path)
    assert listed(said, "Files left out because they are not photos") == ["a.pdf"]
