"""Every page of the admin that is not in `pages.EDITORS`, in the same form, for checks of all pages."""

from collections.abc import Callable
from urllib.parse import urlencode

from bson import ObjectId
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from playwright.sync_api import Page, Response

from api.rights import tokens
from api.rights.scopes import Scope
from cms.testing.build import EDITOR, node, nonce
from marginalia.comments.backends import backend
from marginalia.comments.models import StoredBucket, StoredComment, StoredDiscussion
from marginalia.comments.moderation import pending
from marginalia.comments.operations import converting
from marginalia.comments.posting import flags, services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, Order, Selection, Target, TermKind, Verdict
from marginalia.mongo.connection import database
from marginalia.tasks import queue
from nodes.access import System
from nodes.actions import SaveRedirect
from nodes.collections import ASSET_FILES, NODES
from nodes.content import FILE
from nodes.services import drafts, tags, trash, working_copies
from nodes.types import TagChange
from photos.actions import UploadFile
from tests.browser.pages import EDITORS, Site, _at
from transfer import uploads


def prepare(site: Site) -> None:
    """Create content for each page: failed jobs, decisions, flags, ordered sections, drafts, and unsaved text.

    The caller registers the content types of handbooks.
    """
    queue.put("unheard-of", [], {})
    database()["jobs"].update_many({"kind": "unheard-of"}, {"$set": {"state": queue.FAILED, "error": "no such kind"}})
    for verdict in (Verdict.SPAM, Verdict.REJECTED):
        reasons = ["links", "policy: hold-first"]
        held = services.hold(
            site.target, author=CommentAuthor("A"), source="No", token=verdict.value, reasons=reasons
        ).held
        pending.reject(held.id, verdict=verdict)
    flags.flag(selectors.recent(1)[0], "ip_hash:x")
    backend().bans.add(TermKind.LINK_DOMAIN, "casino.example", reason="A wave", by="", expires=None)
    backend().work_on_batch(backend().start_batch(Selection(comments=()), Verdict.SPAM).id)
    other = Target("nodes.node", str(site.folder_page))
    services.post(other, author=CommentAuthor("A"), source="In a bucket", token="bucket")
    converting.convert(other, "buckets", Order.OLDEST)
    node("chapter", "first", parent=node("handbook", "handbook", title="Handbook"), title="First")
    drafts.save_draft(EDITOR, site.post, nonce(site.post), {"detail.text": "A [link](/nowhere)."}, TagChange())
    thrown = node(slug="thrown", title="Thrown away")
    trash.trash(EDITOR, thrown, nonce(thrown), NODES)
    ann = get_user_model().objects.get(username="ann")
    tags.describe("paper", "Sheets", None)
    SaveRedirect(user=System("A"), url="/old", target="/news").execute()
    upload = uploads.create(ann, "export.xml", 1)
    uploads.add_piece(upload, 0, b"x")
    uploads.finish(uploads.begin(upload, is_dry_run=True), ["1 post", "2 pages"], "1 problem")
    tokens.create(ann, "mirror", (Scope.READ, Scope.PUBLISH))
    UploadFile(user=ann, gallery_id=None, filename="programme.pdf").execute([b"%PDF-1.7"])
    working_copies.store(ann.pk, ObjectId(), 1, [("title", "Typed")], type="basic-page", node_id=None)


def _of_node(name: str) -> Callable[[Page, Site], Response]:
    return _at(lambda site: f"/admin/nodes/node/{site.post}/{name}/")


def _of_handbook(page: Page, site: Site) -> Response:
    section = database()[NODES].find_one({"metadata.slug": "handbook"})["_id"]
    return _at(f"/admin/nodes/node/{section}/order/")(page, site)


def _of_tree(page: Page, site: Site) -> Response:
    opened = urlencode([("open", section["_id"]) for section in database()[NODES].find({"metadata.type": "folder"})])
    return _at(f"/admin/nodes/node/tree/?{opened}")(page, site)


def _of_thrown(name: str) -> Callable[[Page, Site], Response]:
    def go(page: Page, site: Site) -> Response:
        return _at(f"/admin/nodes/node/{database()['cms.trash'].find_one()['_id']}/{name}/")(page, site)

    return go


def _of_version(page: Page, site: Site) -> Response:
    first = database()["cms.revisions"].find_one({"node_id": site.post})["_id"]
    return _at(f"/admin/nodes/node/{site.post}/history/{first}/")(page, site)


def _of_file(name: str) -> Callable[[Page, Site], Response]:
    def go(page: Page, site: Site) -> Response:
        file_id = database()[ASSET_FILES].find_one({"metadata.type": FILE})["_id"]
        return _at(f"/admin/nodes/file/{file_id}/{name}/")(page, site)

    return go


def _of_tag(page: Page, site: Site) -> Response:
    tag = database()[NODES].find_one({"_id": site.post})["metadata"]["tags"][0]
    return _at(f"/admin/tags/change/?{urlencode({'tag': tag})}")(page, site)


def _typed(page: Page, site: Site) -> Response:
    copy = database()["cms.working_copies"].find_one({"type": "basic-page"})["_id"]["copy"]
    return _at(f"/admin/nodes/node/typed/{copy}/")(page, site)


def _one(listed: str, model: type, name: str) -> Callable[[Page, Site], Response]:
    return lambda page, site: _at(f"/admin/{listed}/{model.objects.first().pk}/{name}/")(page, site)  # type: ignore[attr-defined]


def _batch(page: Page, site: Site) -> Response:
    return _at(f"/admin/marginalia_comments/moderation/decisions/{backend().batches(limit=1)[0].id}")(page, site)


# The pages by the names of their routes, so that a test can check that none is missing.
ADMIN: dict[str, Callable[[Page, Site], Response]] = {
    **EDITORS,
    "jobs": _at("/admin/jobs/"),
    "search": _at("/admin/search/?q=hel"),
    "tokens of the API": _at("/admin/tokens/"),
    "tags": _at("/admin/tags/"),
    "tag_change": _of_tag,
    "redirects": _at("/admin/redirects/?test=/old"),
    "redirect_add": _at("/admin/redirects/add/"),
    "redirect_change": _at("/admin/redirects/change/?url=/old"),
    "redirect_import": _at("/admin/redirects/import/"),
    "imports": _at("/admin/import/"),
    "import": lambda page, site: _at(f"/admin/import/{uploads.newest()[0].id}/")(page, site),
    "password_change": _at("/admin/password_change/"),
    "password_change_done": _at("/admin/password_change/done/"),
    "nodes_node_add": _at("/admin/nodes/node/add/"),
    "nodes_node_typed": _typed,
    "nodes_node_tree": _of_tree,
    "nodes_node_trash": _at("/admin/nodes/node/trash/"),
    "nodes_node_broken_links": _at("/admin/nodes/node/broken-links/"),
    "nodes_node_filters": _at("/admin/nodes/node/filters/?query=state%3Dlive"),
    "nodes_node_move": _of_node("move"),
    "nodes_node_order": _of_handbook,
    "nodes_node_unpublish": _of_node("unpublish"),
    "nodes_node_duplicate": _of_node("duplicate"),
    "nodes_node_delete": _of_node("delete"),
    "nodes_node_restore": _of_thrown("restore"),
    "nodes_node_delete_for_good": _of_thrown("delete-for-good"),
    "nodes_node_history": _of_node("history"),
    "nodes_node_restore_version": _of_version,
    "nodes_node_publish": _of_node("publish"),
    "nodes_node_schedule": _of_node("schedule"),
    "nodes_node_unschedule": _of_node("unschedule"),
    "nodes_node_discard": _of_node("discard"),
    "nodes_node_preview": _of_node("preview"),
    "nodes_photo_history": _at(lambda site: f"/admin/nodes/photo/{site.photo}/history/"),
    "nodes_photo_stalled": _at("/admin/nodes/photo/stalled/"),
    "nodes_file_changelist": _at("/admin/nodes/file/"),
    "nodes_file_change": _of_file("change"),
    "nodes_file_history": _of_file("history"),
    "nodes_sitesettings_changelist": _at("/admin/nodes/sitesettings/"),
    "queue of spam": _at("/admin/marginalia_comments/moderation/?state=spam"),
    "queue of rejected": _at("/admin/marginalia_comments/moderation/?state=rejected"),
    "marginalia_comments_moderation_comment": _at(
        lambda site: "/admin/marginalia_" + site.comment("moderation/comment", f"/{site.deep}")[1:]
    ),
    "marginalia_comments_moderation_search": _at("/admin/marginalia_comments/moderation/search?q=no*&state=spam"),
    "marginalia_comments_moderation_alike": _at(
        lambda site: "/admin/marginalia_" + site.comment("moderation/alike", f"/{site.deep}")[1:]
    ),
    "marginalia_comments_moderation_bans": _at("/admin/marginalia_comments/moderation/bans"),
    "marginalia_comments_moderation_ban": _at(
        "/admin/marginalia_comments/moderation/bans/add?kind=link&value=casino.example"
    ),
    "marginalia_comments_moderation_batches": _at("/admin/marginalia_comments/moderation/decisions"),
    "marginalia_comments_moderation_batch": _batch,
    "marginalia_comments_storeddiscussion_changelist": _at("/admin/marginalia_comments/storeddiscussion/"),
    "marginalia_comments_storeddiscussion_change": _one(
        "marginalia_comments/storeddiscussion", StoredDiscussion, "change"
    ),
    "marginalia_comments_storeddiscussion_history": _one(
        "marginalia_comments/storeddiscussion", StoredDiscussion, "history"
    ),
    "marginalia_comments_storedcomment_changelist": _at("/admin/marginalia_comments/storedcomment/"),
    "marginalia_comments_storedcomment_change": _one("marginalia_comments/storedcomment", StoredComment, "change"),
    "marginalia_comments_storedcomment_history": _one("marginalia_comments/storedcomment", StoredComment, "history"),
    "marginalia_comments_storedbucket_changelist": _at("/admin/marginalia_comments/storedbucket/"),
    "marginalia_comments_storedbucket_change": _one("marginalia_comments/storedbucket", StoredBucket, "change"),
    "marginalia_comments_storedbucket_history": _one("marginalia_comments/storedbucket", StoredBucket, "history"),
    "auth_group_changelist": _at("/admin/auth/group/"),
    "auth_group_add": _at("/admin/auth/group/add/"),
    "auth_group_change": _one("auth/group", Group, "change"),
    "auth_group_history": _one("auth/group", Group, "history"),
    "auth_group_delete": _one("auth/group", Group, "delete"),
    "account_name": _at("/admin/name/"),
    "auth_user_changelist": _at("/admin/auth/user/"),
    "auth_user_add": _at("/admin/auth/user/add/"),
    "auth_user_change": _one("auth/user", get_user_model(), "change"),
    "auth_user_history": _one("auth/user", get_user_model(), "history"),
    "auth_user_delete": _one("auth/user", get_user_model(), "delete"),
    "auth_user_password_change": _one("auth/user", get_user_model(), "password"),
}
