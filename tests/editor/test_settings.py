"""The site's settings in the admin."""

import pytest
from django.contrib.staticfiles import finders

from cms.testing.build import node
from cms.testing.editors import fields
from editor.settings import SettingsForm
from nodes import themes

PAGE = "/admin/nodes/sitesettings/"


def settings_form(editor):
    return fields(editor.client.get(PAGE).content.decode(), "settings_form")


def stored(mongo):
    return mongo["cms.site"].find_one()["settings"]


def test_saved_settings_show_on_the_site(mongo, editor):
    ann = editor()
    assert ann.send(PAGE, settings_form(ann), name="Our paper", time_zone="Asia/Tokyo").status_code == 302
    assert stored(mongo) == {"name": "Our paper", "time_zone": "Asia/Tokyo"}
    assert "Our paper" in ann.client.get("/").content.decode()


def test_different_settings_saved_at_once_merge(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    hers, his = settings_form(ann), settings_form(bob)
    bob.send(PAGE, his, name="Bob's")
    assert ann.send(PAGE, hers, tagline="Ann's").status_code == 302
    assert stored(mongo) == {"name": "Bob's", "tagline": "Ann's"}


def test_same_setting_saved_at_once_conflicts(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    hers, his = settings_form(ann), settings_form(bob)
    bob.send(PAGE, his, name="Bob's")
    answer = ann.send(PAGE, hers, name="Ann's", tagline="kept")
    assert answer.status_code == 409
    html = answer.content.decode()
    assert "to “Bob&#x27;s”" in html
    assert stored(mongo) == {"name": "Bob's"}
    again = fields(html, "settings_form")
    assert (again["name"], again["tagline"]) == (["Ann's"], ["kept"])
    assert ann.send(PAGE, again).status_code == 302
    assert stored(mongo) == {"name": "Ann's", "tagline": "kept"}


def test_settings_need_permission(mongo, editor):
    stranger = editor("stranger", is_superuser=False)
    assert stranger.client.get(PAGE).status_code == 403
    assert stranger.client.post(PAGE, {"name": "x"}).status_code == 403


def test_save_that_keeps_conflicting_returns_the_form(mongo, editor, monkeypatch):
    ann = editor()
    form = settings_form(ann)
    monkeypatch.setattr("nodes.services.retrying.ATTEMPTS", 0)
    answer = ann.send(PAGE, form, name="Kept")
    html = answer.content.decode()
    assert answer.status_code == 200
    assert "Please try again" in html
    assert fields(html, "settings_form")["name"] == ["Kept"]


def test_unchanged_settings_are_not_stored(mongo, editor):
    node("blog", "news", title="News")
    node("blog", "世界", title="World")
    ann = editor()
    form = settings_form(ann)
    assert [form[f"menu-{row}-target"] for row in range(2)] == [["/news"], ["/世界"]]
    node("blog", "later", title="Later")
    assert ann.send(PAGE, form, tagline="Said").status_code == 302
    assert stored(mongo) == {"tagline": "Said"}


@pytest.mark.slow
def test_unchanged_long_menu_is_not_stored(mongo, editor):
    for n in range(25):
        node("folder", f"section-{n}")
    ann = editor()
    assert ann.send(PAGE, settings_form(ann), tagline="Said").status_code == 302
    assert stored(mongo) == {"tagline": "Said"}


def test_menu_is_arranged_by_rows(mongo, editor):
    news, about = node("blog", "news", title="News"), node("basic-page", "关于", title="About")
    ann = editor()
    typed = {
        "menu-0-label": "All posts", "menu-0-place": "3",
        "menu-1-target": "/%E5%85%B3%E4%BA%8E", "menu-1-place": "1",
        "menu-2-target": "https://example.org/", "menu-2-label": "Elsewhere", "menu-2-place": "2",
    }  # fmt: skip
    assert ann.send(PAGE, settings_form(ann), **typed).status_code == 302
    assert stored(mongo)["menu"] == [
        {"label": "", "target": f"node:{about}"},
        {"label": "Elsewhere", "target": "https://example.org/"},
        {"label": "All posts", "target": f"node:{news}"},
    ]
    again = settings_form(ann)
    assert [again[f"menu-{row}-target"] for row in range(3)] == [["/关于"], ["https://example.org/"], ["/news"]]
    assert ann.send(PAGE, again, tagline="x").status_code == 302
    emptied = {name: "" for name in again if name.startswith("menu-") and name.endswith(("label", "target"))}
    assert ann.send(PAGE, settings_form(ann), **emptied).status_code == 302
    assert stored(mongo)["menu"] == []


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ({"menu-0-target": "javascript:alert(1)", "menu-0-label": "x"}, "a valid URL"),
        ({"menu-0-target": "//evil.example/", "menu-0-label": "x"}, "a valid URL"),
        ({"menu-0-target": "/\\evil.example/?", "menu-0-label": "x"}, "a valid URL"),
        ({"menu-0-target": "/nowhere", "menu-0-label": "x"}, "No public page has the URL"),
        ({"social-0-target": "https://example.org/"}, "Enter a label for"),
        ({"social-0-label": "Mastodon"}, "Enter a URL for"),
        ({"accent": "#ffe066"}, "The closest readable colour is #"),
        ({"accent": "red; } body {"}, "six hexadecimal digits"),
    ],
)
def test_invalid_settings_are_refused_with_the_reason(mongo, editor, typed, reason):
    ann = editor()
    answer = ann.send(PAGE, settings_form(ann), **typed)
    assert answer.status_code == 200
    assert reason in answer.content.decode()
    assert (mongo["cms.site"].find_one() or {}).get("settings", {}) == {}
    assert ann.send(PAGE, settings_form(ann), accent="#7a1f5c").status_code == 302
    assert stored(mongo) == {"accent": "#7a1f5c"}
    # The theme's own colour, chosen explicitly, is not stored.
    assert ann.send(PAGE, settings_form(ann), accent="#1F4E8C").status_code == 302
    assert stored(mongo) == {"accent": ""}


def test_two_menus_saved_at_once_conflict(mongo, editor):
    ann, bob = editor("ann"), editor("bob")
    hers, his = settings_form(ann), settings_form(bob)
    row = {"menu-0-label": "A", "menu-0-target": "https://a.example/"}
    bob.send(PAGE, his, **row)
    answer = ann.send(PAGE, hers, **{**row, "menu-0-label": "B"})
    assert answer.status_code == 409
    assert stored(mongo)["menu"] == [{"label": "A", "target": "https://a.example/"}]
    assert ann.send(PAGE, fields(answer.content.decode(), "settings_form")).status_code == 302
    assert stored(mongo)["menu"] == [{"label": "B", "target": "https://a.example/"}]


@pytest.mark.slow
def test_preview_shows_typed_settings_and_stores_nothing(mongo, editor, client):
    ann = editor()
    before = mongo["cms.site"].find_one()
    public = client.get("/").content
    answer = ann.send(f"{PAGE}preview/", settings_form(ann), name="Previewed", accent="#7a1f5c", footer="Below")
    html = answer.content.decode()
    assert answer.status_code == 200
    assert all(part in html for part in ("Previewed", "/media/look/7a1f5c-own.css", "<p>Below</p>", "site/preview.css"))
    assert "no-store" in answer["Cache-Control"]
    assert mongo["cms.site"].find_one() == before
    assert client.get("/").content == public
    assert (
        "Enter a label for"
        in ann.send(f"{PAGE}preview/", settings_form(ann), **{"social-0-target": "https://x.example"}).content.decode()
    )
    stranger = editor("stranger", is_superuser=False)
    assert stranger.client.post(f"{PAGE}preview/", settings_form(ann)).status_code == 403
    assert ann.client.get(f"{PAGE}preview/").status_code == 405


def test_preview_for_scripts_shows_valid_settings_and_swatches(mongo, editor):
    ann = editor()
    typed = {**settings_form(ann), "name": "Previewed", "accent": "#7a1f5c", "posts_per_page": "many"}
    answer = ann.client.post(f"{PAGE}preview/", typed, headers={"Accept": "application/json"})
    preview = answer.json()
    assert "Previewed" in preview["html"]
    assert "#7a1f5c" in preview["swatches"]
    assert not (mongo["cms.site"].find_one() or {}).get("settings")


def test_tab_with_an_error_is_marked(mongo, editor):
    ann = editor()
    html = ann.send(PAGE, settings_form(ann), **{"social-0-target": "https://example.org/"}).content.decode()
    assert '<a href="#navigation" id="tab-navigation" class="has-errors">' in html
    assert html.count("has-errors") == 1


def test_each_setting_is_in_one_tab():
    shown = [name for tab in SettingsForm.TABS for name in tab.fields]
    assert sorted(shown) == sorted(SettingsForm.base_fields)


@pytest.mark.parametrize("theme", [name for name, _label in themes.THEMES])
def test_each_theme_has_a_picture(theme):
    assert finders.find(f"editor/themes/{theme}.webp")


def test_theme_is_chosen_with_a_radio_button(mongo, editor):
    ann = editor()
    assert settings_form(ann)["theme"] == ["magazine"]
    assert ann.send(PAGE, settings_form(ann), theme="documentation").status_code == 302
    assert stored(mongo) == {"theme": "documentation"}
