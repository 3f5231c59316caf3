"""The settings of the site in the API: for administrators, with the checks of their form."""

import json

from api.rights.scopes import Scope
from cms.testing import build
from nodes.models import stored_site
from nodes.services.site import save_settings
from tests.support.interrupting import stopped_before_command

PATH = "/site/settings"


def test_settings_are_changed_at_the_version_read(account, asker, mongo):
    page = build.node(slug="about")
    chief = asker(account("adm", "Administrators"), Scope.ADMINISTER)
    read = chief.get(PATH)
    assert json.loads(read.content)["name"] == "Marginalia"
    menu = [{"label": "", "target": "/about"}, {"label": "Elsewhere", "target": "https://example.org"}]
    said = {"name": "Margins", "posts_per_page": 7, "menu": menu, "accent": "#205030"}
    assert chief.send("PATCH", PATH, said).status_code == 428
    changed = chief.send("PATCH", PATH, said, If_Match=read["ETag"])
    assert changed.status_code == 200, changed.content
    kept = mongo["cms.site"].find_one()["settings"]
    assert (kept["name"], kept["posts_per_page"], kept["accent"]) == ("Margins", 7, "#205030")
    assert kept["menu"] == [{"label": "", "target": f"node:{page}"}, menu[1]]
    assert chief.get(PATH)["ETag"] == changed["ETag"]
    assert chief.send("PATCH", PATH, {"name": None}, If_Match=changed["ETag"]).status_code == 200
    assert stored_site.read().settings.name == "Marginalia"
    save_settings({"tagline": "Theirs"}, {"tagline": ""})
    stale = chief.send("PATCH", PATH, {"tagline": "Mine"}, If_Match=changed["ETag"])
    told = json.loads(stale.content)
    assert (stale.status_code, told["stored"], told["yours"]) == (412, {"tagline": "Theirs"}, {"tagline": "Mine"})
    assert chief.send("PATCH", PATH, {"tagline": "Mine"}, If_Match=told["etag"]).status_code == 200
    assert stored_site.read().settings.tagline == "Mine"


def test_settings_of_a_dead_writer_reach_readers_on_retry(account, asker, mongo):
    chief = asker(account("adm", "Administrators"), Scope.ADMINISTER)
    chief.send("PATCH", PATH, {"tagline": "First"}, If_Match=chief.get(PATH)["ETag"])
    etag, before = chief.get(PATH)["ETag"], mongo["cms.site"].find_one()["frame"]
    with stopped_before_command("update", "cms.site", lambda command: "nonce" not in command["updates"][0]["q"]):
        chief.send("PATCH", PATH, {"tagline": "Mine"}, If_Match=etag)
    stored = mongo["cms.site"].find_one()
    assert (stored["settings"]["tagline"], stored["frame"]) == ("Mine", before)
    assert chief.send("PATCH", PATH, {"tagline": "Mine"}, If_Match=etag).status_code == 200
    assert mongo["cms.site"].find_one()["frame"] != before


def test_settings_refuse_invalid_values_and_other_roles(account, asker, mongo):
    chief = asker(account("adm", "Administrators"), Scope.ADMINISTER)
    etag = chief.get(PATH)["ETag"]
    for name, value in (
        ("posts_per_page", 0),
        ("posts_per_page", "x"),
        ("language", "xx"),
        ("time_zone", "Moon"),
        ("accent", "#ffff00"),
        ("menu", [{"label": "x", "target": "javascript:alert(1)"}]),
        ("menu", [{"label": "\0", "target": "/?a"}]),
        ("footer_links", [{"label": "x", "target": "/?\0"}]),
        ("name", ""),
        ("name", {"$ne": 1}),
        ("home", "no"),
        ("tree", 5),
        ("settings.name", "x"),
    ):
        answer = chief.send("PATCH", PATH, {name: value}, If_Match=etag)
        assert answer.status_code == 422, (name, value)
        assert json.loads(answer.content)["errors"][0]["field"].startswith(f"body.{name}")
    every = tuple(set(Scope) - {Scope.ADMINISTER})
    for other in (
        asker(account("ed", "Editors"), *Scope),
        asker(account("adm2", "Administrators"), *every),
        asker(account("r"), *Scope),
    ):
        assert other.get(PATH).status_code == 403
        assert other.send("PATCH", PATH, {"name": "x"}, If_Match=etag).status_code == 403
    assert stored_site.read().settings.name == "Marginalia"
