"""The site's settings in the admin."""

from tests.support.nodes.editors import fields

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


def test_the_same_setting_saved_at_once_shows_both(mongo, editor):
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


def test_only_who_may_changes_settings(mongo, editor):
    stranger = editor("stranger", is_superuser=False)
    assert stranger.client.get(PAGE).status_code == 403
    assert stranger.client.post(PAGE, {"name": "x"}).status_code == 403


def test_settings_that_others_keep_changing_are_shown_again(mongo, editor, monkeypatch):
    ann = editor()
    form = settings_form(ann)
    monkeypatch.setattr("nodes.services.site.ATTEMPTS", 0)
    answer = ann.send(PAGE, form, name="Kept")
    html = answer.content.decode()
    assert answer.status_code == 200
    assert "Please try again" in html
    assert fields(html, "settings_form")["name"] == ["Kept"]
