"""The accounts that get a response from each admin page: a row for every route, including Django's own."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group
from django.contrib.contenttypes.models import ContentType
from django.urls import URLResolver

from marginalia.comments.backends import backend
from marginalia.comments.models import StoredBucket, StoredComment, StoredDiscussion
from marginalia.comments.operations import converting
from marginalia.comments.posting import services
from marginalia.comments.types import CommentAuthor, Order, Selection, Target, Verdict
from nodes.access import System
from nodes.actions import SaveRedirect
from nodes.services import tags
from photos.actions import UploadFile
from tests.rights.world import LETTERS, NOT_TOLD, Thing, World, body, is_refused, stored, table, word
from transfer import uploads

# The accounts (letters as in `world`) that get a response to GET, and to a POST that changes nothing. Redirects to
# another admin page have no permission of their own, because that page is in the table too.
TABLE = r"""
                                                       get     post
jobs/                                                  a       a
search/                                                owema   -
tags/                                                  ea      -
tags/change/                                           ea      ea
import/                                                a       a
import/<objectid:import_id>/                           a       -
import/<objectid:import_id>/pieces/<int:number>/       -       a
import/<objectid:import_id>/start/                     -       a
import/<objectid:import_id>/delete/                    -       a
redirects/                                             ea      -
redirects/add/                                         ea      ea
redirects/change/                                      ea      ea
redirects/delete/                                      -       ea
redirects/import/                                      ea      ea
tokens/                                                oweam   oweam
(start)                                                owema   owema
login/                                                 nr      +
logout/                                                -       owema
password_change/                                       owema   owema
password_change/done/                                  owema   -
autocomplete/                                          a       -
jsi18n/                                                owema   -
search/                                                owema   -
nodes/node/                                            owea    owea
nodes/node/tree/                                       ea      ea
nodes/node/add/                                        owea    owea
nodes/node/propose-slug/                               owea    -
nodes/node/undo/                                       -       owema
nodes/node/show-typed/                                 -       owea
nodes/node/keep-typed/                                 -       owea
nodes/node/typed/<objectid:copy_id>/                   -       -
nodes/node/typed/<objectid:copy_id>/discard/           -       -
nodes/node/tags/                                       owea    -
nodes/node/photos/                                     owea    -
nodes/node/choose/                                     owea    -
nodes/node/link-to/                                    owea    -
nodes/node/targets/                                    owea    -
nodes/node/trash/                                      owea    -
nodes/node/broken-links/                               owea    -
nodes/node/filters/                                    owea    owea
nodes/node/<objectid:node_id>/change/                  oea     oea
nodes/node/<objectid:node_id>/move/                    oea     oea
nodes/node/<objectid:node_id>/order/                   ea      ea
nodes/node/<objectid:node_id>/unpublish/               ea      ea
nodes/node/<objectid:node_id>/schedule/                ea      ea
nodes/node/<objectid:node_id>/unschedule/              ea      ea
nodes/node/<objectid:node_id>/duplicate/               oea     oea
nodes/node/<objectid:node_id>/delete/                  oea     oea
nodes/node/<objectid:node_id>/restore/                 ea      ea
nodes/node/<objectid:node_id>/delete-for-good/         a       a
nodes/node/<objectid:node_id>/history/                 oea     -
nodes/node/<objectid:node_id>/compare/                 oea     -
nodes/node/<objectid:node_id>/history/<objectid:nonce>/ oea    oea
nodes/node/<objectid:node_id>/publish/                 ea      ea
nodes/node/<objectid:node_id>/discard/                 oea     oea
nodes/node/<objectid:node_id>/preview-frame/           oea     -
nodes/node/<objectid:node_id>/preview/                 oea     -
nodes/node/<objectid:node_id>/preview-link/            -       oea
nodes/node/<objectid:node_id>/presence/                owea    -
nodes/photo/                                           owea    ea
nodes/photo/describe/                                  ea      ea
nodes/photo/stalled/                                   ea      ea
nodes/photo/upload/top/                                -       owea
nodes/photo/upload/<objectid:gallery_id>/              -       owea
nodes/photo/<objectid:photo_id>/replace/               -       ea
nodes/photo/<objectid:photo_id>/go-back/               -       ea
nodes/photo/<objectid:photo_id>/trash/                 -       ea
nodes/photo/<objectid:photo_id>/history/               owea    -
nodes/photo/<objectid:photo_id>/change/                owea    ea
nodes/file/                                           owea    ea
nodes/file/upload/top/                                -       owea
nodes/file/upload/<objectid:gallery_id>/              -       owea
nodes/file/<objectid:photo_id>/replace/               -       ea
nodes/file/<objectid:photo_id>/go-back/               -       ea
nodes/file/<objectid:photo_id>/trash/                 -       ea
nodes/file/<objectid:photo_id>/history/               owea    -
nodes/file/<objectid:photo_id>/change/                owea    ea
nodes/sitesettings/                                    a       a
nodes/sitesettings/preview/                            -       a
marginalia_comments/moderation/                                   ma      ma
marginalia_comments/moderation/decide                             -       ma
marginalia_comments/moderation/reported                           ma      ma
marginalia_comments/moderation/comment/<label:label>/<commentkey:pk>/<commentslug:slug> ma ma
marginalia_comments/moderation/search                             ma      ma
marginalia_comments/moderation/alike/<label:label>/<commentkey:pk>/<commentslug:slug> ma ma
marginalia_comments/moderation/decisions                          ma      ma
marginalia_comments/moderation/decisions/<str:batch_id>           ma      ma
marginalia_comments/moderation/bans                               ma      ma
marginalia_comments/moderation/bans/add                           ma      ma
marginalia_comments/moderation/bans/<str:ban_id>/lift             -       ma
marginalia_comments/storeddiscussion/                             a       a
marginalia_comments/storeddiscussion/add/                         -       -
marginalia_comments/storeddiscussion/<path:object_id>/history/    a       a
marginalia_comments/storeddiscussion/<path:object_id>/delete/     -       -
marginalia_comments/storeddiscussion/<path:object_id>/change/     a       -
marginalia_comments/storeddiscussion/<path:object_id>/            owema   owema
marginalia_comments/storedcomment/                                a       a
marginalia_comments/storedcomment/add/                            -       -
marginalia_comments/storedcomment/<path:object_id>/history/       a       a
marginalia_comments/storedcomment/<path:object_id>/delete/        -       -
marginalia_comments/storedcomment/<path:object_id>/change/        a       -
marginalia_comments/storedcomment/<path:object_id>/               owema   owema
marginalia_comments/storedbucket/                                 a       a
marginalia_comments/storedbucket/add/                             -       -
marginalia_comments/storedbucket/<path:object_id>/history/        a       a
marginalia_comments/storedbucket/<path:object_id>/delete/         -       -
marginalia_comments/storedbucket/<path:object_id>/change/         a       -
marginalia_comments/storedbucket/<path:object_id>/                owema   owema
auth/group/                                            a       a
auth/group/add/                                        a       a
auth/group/<path:object_id>/history/                   a       a
auth/group/<path:object_id>/delete/                    a       a
auth/group/<path:object_id>/change/                    a       a
auth/group/<path:object_id>/                           owema   owema
auth/user/                                             a       a
auth/user/add/                                         a       a
auth/user/<path:object_id>/history/                    a       a
auth/user/<path:object_id>/delete/                     a       a
auth/user/<path:object_id>/change/                     a       a
auth/user/<path:object_id>/                            owema   owema
auth/user/<id>/password/                               a       a
auth/user/<id>/invitation/                             -       a
^(?P<app_label>auth|nodes|marginalia_comments)/$                  -       -
(?P<url>.*)$                                           -       -
"""
METHODS = ("get", "post")
# The state of the node in a route. The default is a draft without changes.
STATE = {"restore": "trashed", "delete-for-good": "trashed"} | dict.fromkeys(
    ("publish", "discard", "schedule", "unschedule"), "drafted"
)
NOTHING = "0" * 24
# Query parameters and posted data of routes that would otherwise refuse everybody.
QUERIES = {
    "nodes/photo/describe/": lambda s: f"?photo={s.photo.id}",
    "tags/change/": lambda s: "?tag=paper",
    "redirects/change/": lambda s: "?url=/old",
    "redirects/delete/": lambda s: "?url=/old",
    "autocomplete/": lambda s: "?app_label=admin&model_name=logentry&field_name=user",
    "nodes/node/<objectid:node_id>/compare/": lambda s: f"?old={s.things['draft'].first}&new={s.nonce}",
    "nodes/photo/<objectid:photo_id>/replace/": lambda s: f"?seen={NOTHING}",
    "nodes/file/<objectid:photo_id>/replace/": lambda s: f"?seen={NOTHING}",
}
POSTED: dict[str, Callable[["Samples"], dict[str, str]]] = {
    "redirects/delete/": lambda s: {"seen": NOTHING},
    "import/": lambda s: {"filename": "export.xml", "size": "1"},
    "nodes/node/show-typed/": lambda s: {"type": "basic-page"},
    "nodes/node/tree/": lambda s: {"move": f"{s.things['draft'].id}:{NOTHING}:before:{NOTHING}"},
    "nodes/node/undo/": lambda s: {"items": f"{s.things['trashed'].id}:{NOTHING}"},
    "nodes/photo/describe/": lambda s: {"photo": str(s.photo.id)},
    "nodes/photo/<objectid:photo_id>/go-back/": lambda s: {"content": NOTHING, "nonce": NOTHING},
    "nodes/photo/<objectid:photo_id>/trash/": lambda s: {"nonce": NOTHING},
    "nodes/file/<objectid:photo_id>/go-back/": lambda s: {"content": NOTHING, "nonce": NOTHING},
    "nodes/file/<objectid:photo_id>/trash/": lambda s: {"nonce": NOTHING},
    "marginalia_comments/moderation/alike/<label:label>/<commentkey:pk>/<commentslug:slug>": lambda s: {
        "by": "link:nowhere.example"
    },
}


def state(route: str) -> str:
    """Return the state of the node in a route."""
    return STATE.get(route.strip("/").rpartition("/")[2], "draft")


def routes(resolver: URLResolver | None = None, before: str = "") -> Iterator[str]:
    """Yield every route of the admin, without the admin's own prefix."""
    for pattern in resolver.url_patterns if resolver else admin.site.get_urls():
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern, route)
        else:
            yield route


class Samples:
    """Values for the parameters of routes."""

    def __init__(self, world: World) -> None:
        self.things = {state: world.thing(state) for state in ("draft", "drafted", "trashed")}
        self.nonce = stored(self.things["draft"].id)["metadata"]["nonce"]
        self.photo, self.gallery = world.photo("private"), world.gallery
        self.file = UploadFile(user=System("A"), gallery_id=None, filename="private.pdf").execute([b"%PDF-1.7"]).id
        tags.describe("paper", "Sheets", None)
        SaveRedirect(user=System("A"), url="/old", target="https://example.org/").execute()
        for layout in ("documents", "buckets"):
            target = Target("nodes.node", str(world.thing("live", marker="plain").id))
            slug = services.post(
                target, author=CommentAuthor("A"), source="Said", token=layout.ljust(24, "x")
            ).comment.slug
            converting.convert(target, layout, Order.OLDEST)
        user = world.users["reader"].pk
        self.objects = {
            "r": self.things["draft"].id,
            "marginalia_comments/storeddiscussion": StoredDiscussion.objects.first().pk,
            "marginalia_comments/storedcomment": StoredComment.objects.first().pk,
            "marginalia_comments/storedbucket": StoredBucket.objects.first().pk,
            "auth/group": Group.objects.get(name="Authors").pk,
            "auth/user": user,
        }
        self.filled = {
            "<objectid:gallery_id>": self.gallery,
            "<objectid:import_id>": uploads.create(System("A"), "export.xml", 1).id,
            "<int:number>": 0,
            # Nobody's, because typed text is private to its author.
            "<objectid:copy_id>": NOTHING,
            "<path:content_type_id>": ContentType.objects.get(app_label="nodes", model="node").pk,
            "<label:label>": target.label,
            "<commentkey:pk>": target.pk,
            "<commentslug:slug>": slug,
            "<str:batch_id>": backend().start_batch(Selection(comments=()), Verdict.SPAM).id,
            "<str:ban_id>": NOTHING,
            "<id>": user,
            "^(?P<app_label>auth|nodes|marginalia_comments)/$": "nodes/",
            "(?P<url>.*)$": "nowhere",
        }

    def thing(self, route: str) -> Thing:
        return self.things[state(route)]

    def path(self, route: str) -> str:
        """Return the URL of a route, for the matching kind of object."""
        thing, query = self.thing(route), QUERIES.get(route, lambda s: "")(self)
        own = {
            "<objectid:node_id>": thing.id,
            "<objectid:nonce>": thing.first,
            "<path:object_id>": self.objects.get(route.partition("/<")[0]),
            "<objectid:photo_id>": self.file if route.startswith("nodes/file/") else self.photo.id,
        }
        for parameter, value in {**self.filled, **own}.items():
            route = route.replace(parameter, str(value))
        assert "<" not in route, f"Samples has nothing for a parameter of {route}"
        return f"/admin/{route}{query}"


def cells() -> list[Any]:
    """Return a parameter (route, method, accounts) for every cell of the table. Those of POST are slow."""
    marks = {"get": (), "post": pytest.mark.slow}
    return [
        pytest.param(route.replace("(start)", ""), method, accounts, id=f"{method} {route}", marks=marks[method])
        for route, method, accounts in table(TABLE, METHODS)
    ]


@pytest.fixture(scope="module")
def samples(world: World) -> Samples:
    return Samples(world)


def test_table_contains_exactly_the_routes_of_the_admin():
    known = {route.replace("(start)", "") for route, _method, _who in table(TABLE, METHODS)}
    assert known == set(routes())


@pytest.mark.parametrize(("route", "method", "accounts"), cells())
def test_route_responds_to_the_right_accounts(world, samples, route, method, accounts):
    wanted = set(LETTERS.values()) if accounts == "+" else {LETTERS[letter] for letter in accounts.strip("-")}
    answered, path = set(), samples.path(route)
    for kind in LETTERS.values():
        data = POSTED.get(route, lambda s: {})(samples) if method == "post" else None
        answer = world.ask(kind, path, data)
        if route == "logout/" and kind in world.users:
            world.clients[kind].force_login(world.users[kind])
        if not is_refused(answer) and answer.status_code != 405 and answer.headers.get("Location") != "/admin/":
            answered.add(kind)
        if kind in NOT_TOLD:
            assert word(state(route)) not in body(answer)
            assert samples.thing(route).slug not in body(answer)
    assert answered == wanted


def test_staff_are_not_redirected_to_hidden_pages(world, samples):
    """The admin's redirect to the page of any object, by its content type, checked no permission."""
    drafts = {"node": samples.things["draft"], "photo": samples.photo}
    for model, thing in drafts.items():
        content_type = ContentType.objects.get(app_label="nodes", model=model)
        for kind in NOT_TOLD:
            answer = world.ask(kind, f"/admin/r/{content_type.pk}/{thing.id}/")
            assert is_refused(answer)
            assert thing.slug not in body(answer)
