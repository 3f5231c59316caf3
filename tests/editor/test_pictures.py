"""The picture of a page in its form, the preview for search engines and links, and the share picture of the site."""

import re
from html import unescape

import pytest
from bson import ObjectId

from cms.testing.build import EDITOR, node, stored
from cms.testing.editors import fields
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.services import trash
from tests.support.nodes import photo_build, pictures
from tests.support.nodes.photo_build import document

SETTINGS = "/admin/nodes/sitesettings/"
WORDS = '<b>Find</b> "me" {{ now }}'


@pytest.fixture
def photo(mongo) -> ObjectId:
    return photo_build.upload(photo_build.gallery("plates"), pictures.jpeg(), "boats.jpg")


def change(node_id: ObjectId) -> str:
    return f"/admin/nodes/node/{node_id}/change/"


def preview(html: str) -> list[str]:
    """Return the texts and the image URL in the preview of a form."""
    part = html.partition('<div class="shared"')[2].partition("</div>")[0]
    image = re.search(r'<img src="([^"]*)" alt="" width="80" height="80">', part)
    words = re.findall(r"<(?:strong|span) data-\w+>(.*?)</(?:strong|span)>", part)
    return [*(unescape(word) for word in words[:2]), image[1] if image else ""]


@pytest.mark.parametrize(
    "type",
    [
        "blog-entry",
        *(pytest.param(type, marks=pytest.mark.slow) for type in ("basic-page", "folder", "blog", "gallery")),
    ],
)
def test_every_type_accepts_a_picture_by_url_or_id(photo, editor, type):
    ann, place = editor(), node("blog" if type == "blog-entry" else "folder", "place")
    page = change(node(type, "page", parent=place))
    for typed in ("/plates/boats", f"photo:{photo}"):
        assert ann.send(page, ann.open(page), picture=typed).status_code == 302
        made = database()["cms.nodes"].find_one({"metadata.slug": "page"})
        assert made["metadata"]["detail"]["picture"] == made["derived"]["picture"] == photo
        assert made["derived"]["refs"] == [photo]
        assert ann.open(page)["picture"] == ["/plates/boats"]
        assert ann.send(page, ann.open(page), picture="").status_code == 302
        assert stored(made["_id"])["detail"]["picture"] is None


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("typed", ["/place", "/nowhere", "$ne", "photo:$", "javascript:alert(1)", "photo:" + "0" * 23])
def test_invalid_picture_is_refused_at_its_field(photo, editor, typed):
    ann, page = editor(), change(node("folder", "place"))
    refused = ann.send(page, ann.open(page), picture=typed, seo_title=WORDS)
    assert refused.status_code == 200
    assert "No public photo has this URL." in refused.content.decode()
    assert ann.fields(refused)["picture"] == [typed]
    assert preview(refused.content.decode())[0] == WORDS
    assert stored(database()["cms.nodes"].find_one({"metadata.slug": "place"})["_id"])["detail"]["seo_title"] == ""


def test_pictures_merge_and_drafts_keep_their_own(photo, editor):
    page_id = node()
    page, ann, bob = change(page_id), editor("ann"), editor("bob")
    hers, his = ann.open(page), bob.open(page)
    assert bob.send(page, his, seo_title="Bob's").status_code == 302
    assert ann.send(page, hers, picture=f"photo:{photo}", seo_description="Ann's").status_code == 302
    detail = stored(page_id)["detail"]
    assert (detail["picture"], detail["seo_title"], detail["seo_description"]) == (photo, "Bob's", "Ann's")
    assert ann.send(page, ann.open(page), "_draft", picture="").status_code == 302
    drafted = database()["cms.nodes"].find_one({"_id": page_id})
    assert (drafted["metadata"]["detail"]["picture"], drafted["draft"]["metadata"]["detail"]["picture"]) == (
        photo,
        None,
    )


def test_preview_shows_values_and_fallbacks(photo, editor):
    page, ann = change(node(title="Quay", text="Of the sea.")), editor()
    html = ann.client.get(page).content.decode()
    assert preview(html) == ["Quay", "Of the sea.", ""]
    ann.send(page, ann.open(page), summary="A summary", picture=f"photo:{photo}")
    title, description, image = preview(ann.client.get(page).content.decode())
    assert (title, description) == ("Quay", "A summary")
    assert f"/{photo}/" in image
    ann.send(page, ann.open(page), seo_title=WORDS, seo_description="x" * 400)
    html = ann.client.get(page).content.decode()
    assert preview(html)[:2] == [WORDS, "x" * 159 + "…"]
    assert WORDS not in html


def test_trashed_picture_is_kept_and_reported(photo, editor):
    page_id, ann = node(**{"detail.picture": photo}), editor()
    trash.trash(EDITOR, photo, document(photo)["metadata"]["nonce"], "cms.assets.files")
    html = ann.client.get(change(page_id)).content.decode()
    assert fields(html)["picture"] == [f"photo:{photo}"]
    assert "in the trash" in html
    assert preview(html)[2] == ""
    assert ann.send(change(page_id), ann.open(change(page_id)), title="Other").status_code == 302
    assert stored(page_id)["detail"]["picture"] == photo


class TestSettings:
    def form(self, editor) -> dict:
        return fields(editor.client.get(SETTINGS).content.decode(), "settings_form")

    def stored(self) -> dict:
        return database()["cms.site"].find_one().get("settings", {})

    @pytest.mark.slow
    def test_share_picture_is_set_kept_and_removed(self, photo, editor):
        ann = editor()
        assert ann.send(SETTINGS, self.form(ann), share_picture="/plates/boats").status_code == 302
        assert self.stored() == {"share_picture": photo}
        assert ann.send(SETTINGS, self.form(ann), tagline="More").status_code == 302
        assert self.stored() == {"share_picture": photo, "tagline": "More"}
        assert ann.send(SETTINGS, self.form(ann), share_picture="").status_code == 302
        assert self.stored()["share_picture"] is None

    @pytest.mark.slow_after(1)
    @pytest.mark.parametrize("setting", ["share_picture", "logo", "logo_dark"])
    def test_trashing_the_share_picture_needs_confirmation(self, photo, editor, setting):
        ann, address = editor(), f"/admin/nodes/photo/{photo}/"
        told = "This photo is the site's logo or link preview photo"
        throw = {"nonce": document(photo)["metadata"]["nonce"]}
        assert told not in ann.client.get(f"{address}change/").content.decode()
        ann.send(SETTINGS, self.form(ann), **{setting: "/plates/boats"})
        shown = ann.client.get(f"{address}change/").content.decode()
        assert told in shown
        assert "This photo isn't used on any page." not in shown
        asked = ann.client.post(f"{address}trash/", throw).content.decode()
        assert told in asked
        assert f'class="closelink" href="{address}change/"' in asked
        bulk = {"action": "unpublish", "chosen": str(photo), f"nonce-{photo}": throw["nonce"]}
        assert told in ann.client.post("/admin/nodes/photo/", bulk).content.decode()
        assert document(photo)["metadata"]["published"]
        assert ann.client.post(f"{address}trash/", throw | {"confirmed": "1"}).status_code == 302
        assert database()["cms.trash"].find_one({"_id": photo})

    def test_two_share_pictures_chosen_at_once_conflict(self, photo, editor):
        other = photo_build.upload(photo_build.gallery("walls"), pictures.jpeg(2), "wall.jpg")
        ann, bob = editor("ann"), editor("bob")
        hers, his = self.form(ann), self.form(bob)
        bob.send(SETTINGS, his, share_picture="/walls/wall")
        answer = ann.send(SETTINGS, hers, share_picture="/plates/boats")
        assert answer.status_code == 409
        assert "to “/walls/wall”" in answer.content.decode()
        assert self.stored() == {"share_picture": other}
        assert ann.send(SETTINGS, fields(answer.content.decode(), "settings_form")).status_code == 302
        assert self.stored() == {"share_picture": photo}

    def test_invalid_share_picture_is_refused(self, photo, editor):
        ann = editor()
        refused = ann.send(SETTINGS, self.form(ann), share_picture="/plates")
        assert "No public photo has this URL." in refused.content.decode()
        assert "share_picture" not in self.stored()


@pytest.mark.slow
def test_new_pictures_go_to_the_last_used_gallery(photo, editor):
    ann, bob, add = editor("ann"), editor("bob"), "/admin/nodes/node/add/?type=basic-page"
    other = photo_build.gallery("zoo")

    def chosen(who) -> list[str]:
        form = who.client.get(add).content.decode().partition('<select name="gallery">')[2].partition("</select>")[0]
        return re.findall(r'<option value="(\w+)" selected', form)

    assert (chosen(ann), chosen(bob)) == ([], [])
    for gallery in (other, database()["cms.assets.files"].find_one({"_id": photo})["metadata"]["parent_id"]):
        made = photo_build.upload(gallery, pictures.jpeg(7), "own.jpg")
        own = {"metadata.author": {"_id": ann.user.pk, "name": "ann"}, "metadata.updated": now()}
        database()["cms.assets.files"].update_one({"_id": made}, {"$set": own})
        assert (chosen(ann), chosen(bob)) == ([str(gallery)], [])
