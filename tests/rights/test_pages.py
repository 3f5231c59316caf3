"""Permissions on posts, and where they are shown: a cell for every account, state and action."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from bson import ObjectId

from cms.testing.editors import fields
from marginalia.comments.posting import services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, Target
from marginalia.mongo.connection import database
from reader.views import previews
from tests.rights import by_action, by_api
from tests.rights.world import (
    KINDS,
    NOT_TOLD,
    STATES,
    Thing,
    World,
    body,
    is_refused,
    remark,
    rows,
    stored,
    told,
    translations,
    word,
)

# + it is shown there, - nothing of it is. Public pages are the same for everybody.
READING = """
                     live  drafted  draft  scheduled  expired  private  trashed
its page             +     -        -      -          -        -        -
its old address      +     +        -      -          -        -        -
front page           +     -        -      -          -        -        -
its section          +     -        -      -          -        -        -
neighbour's page     +     -        -      -          -        -        -
search               +     -        -      -          -        -        -
suggested titles     +     -        -      -          -        -        -
tag page             +     -        -      -          -        -        -
author's page        +     -        -      -          -        -        -
its own tag          +     -        -      -          -        -        -
archive of the month +     -        -      -          -        -        -
archive of the year  +     -        -      -          -        -        -
site RSS             +     -        -      -          -        -        -
site Atom            +     -        -      -          -        -        -
site JSON Feed       +     -        -      -          -        -        -
section RSS          +     -        -      -          -        -        -
section Atom         +     -        -      -          -        -        -
section JSON Feed    +     -        -      -          -        -        -
tag RSS              +     -        -      -          -        -        -
author RSS           +     -        -      -          -        -        -
tag Atom             +     -        -      -          -        -        -
author Atom          +     -        -      -          -        -        -
tag JSON Feed        +     -        -      -          -        -        -
author JSON Feed     +     -        -      -          -        -        -
sitemap              +     +        -      -          -        -        -
discussion           +     +        -      -          -        -        -
discussion, as Node  -     -        -      -          -        -        -
discussion, by proxy -     -        -      -          -        -        -
feed, by proxy       -     -        -      -          -        -        -
thread               +     +        -      -          -        -        -
permalink            +     +        -      -          -        -        -
comment form         +     +        -      -          -        -        -
answer form          +     +        -      -          -        -        -
flag form            +     +        -      -          -        -        -
comment feed         +     +        -      -          -        -        -
my comments          +     +        -      -          -        -        -
api list             +     -        -      -          -        -        -
api list of section  +     -        -      -          -        -        -
api list of tag      +     -        -      -          -        -        -
api list of author   +     -        -      -          -        -        -
api list by words    +     -        -      -          -        -        -
"""

# o: the owner (of the group Authors), e: editors, a: administrators. Other accounts see and do nothing.
EDITING = """
                     live  drafted  draft  scheduled  expired  private  trashed
form                 oea   oea      oea    oea        oea      oea      -
preview              oea   oea      oea    oea        oea      oea      -
history              oea   oea      oea    oea        oea      oea      -
difference           oea   oea      oea    oea        oea      oea      -
older version        oea   oea      oea    oea        oea      oea      -
list                 oea   -        oea    oea        oea      oea      -
list, searched       oea   -        oea    oea        oea      oea      -
trash list           -     -        -      -          -        -        oea
restore form         -     -        -      -          -        -        ea
signed preview link  oea   oea      oea    oea        oea      oea      -
api node             +     +        oea    oea        oea      oea      -
api node by path     +     +        -      -          -        -        -
api node's draft     -     oea      -      -          -        -        -
api list by state    oea   -        oea    oea        oea      oea      -
"""

# Every cell is checked with the actions themselves (nodes.actions).
WRITING = """
                     live  drafted  draft  scheduled  expired  private  trashed
edit                 ea    ea       oea    ea         ea       ea       -
edit the draft       oea   oea      oea    oea        oea      oea      -
restore a version    ea    ea       oea    ea         ea       ea       -
move                 ea    ea       oea    ea         ea       ea       -
copy                 oea   oea      oea    oea        oea      oea      -
publish              -     -        ea     ea         ea       -        -
publish in bulk      -     -        ea     ea         ea       -        -
publish the draft    -     ea       -      -          -        -        -
discard the draft    -     oea      -      -          -        -        -
schedule             -     -        ea     ea         -        -        -
schedule the draft   -     ea       -      -          -        -        -
unpublish            ea    ea       -      ea         ea       ea       -
tag                  ea    ea       oea    ea         ea       ea       -
trash                ea    ea       oea    ea         ea       ea       -
put back             -     -        -      -          -        -        ea
delete for good      -     -        -      -          -        -        a
"""

# The admin and the API translate requests into these actions: checked with one permitted and one other account.
TRANSLATED = """
                      state    may  not
edit                  draft    o    w
edit the draft        live     o    w
restore a version     draft    o    w
move                  draft    o    w
move in bulk          draft    o    w
copy                  live     o    w
publish               draft    e    o
publish the draft     drafted  e    o
discard the draft     drafted  o    w
unpublish             live     e    o
tag                   draft    o    w
trash                 draft    o    w
trash in bulk         draft    o    w
put back              trashed  e    o
delete for good       trashed  a    e
api edit              draft    o    w
api edit the draft    live     o    w
api move              draft    o    w
api publish           draft    e    o
api publish the draft drafted  e    o
api discard the draft drafted  o    w
api schedule          draft    e    o
api unpublish         live     e    o
api tag               draft    o    w
api trash             draft    o    w
api put back          trashed  e    o
"""


@pytest.fixture(scope="module")
def things(world: World) -> dict[str, Thing]:
    """One post in every state, each with a comment from before it was hidden, and two public neighbours."""
    found = {state: world.thing(state) for state in STATES}
    for state, thing in found.items():
        target = Target("nodes.node", str(thing.id))
        if state == "trashed":
            database()["cms.nodes"].insert_one(database()["cms.trash"].find_one({"_id": thing.id}))
        for kind in ("anonymous", *world.users):
            user = world.users.get(kind)
            author = CommentAuthor(kind, str(user.pk) if user else None)
            services.post(
                target, author=author, source=f"Comment {remark(state)}", token=f"{state}-{kind}".ljust(24, "x")
            )
        if state == "trashed":
            database()["cms.nodes"].delete_one({"_id": thing.id})
    slugs = {
        state: selectors.page(Target("nodes.node", str(thing.id))).comments[0].slug for state, thing in found.items()
    }
    _comments.update({found[state].id: slug for state, slug in slugs.items()})
    _beside.append(world.thing("live", marker="other"))
    return found


def own_month(state: str) -> str:
    return {"drafted": "2021/04", "live": "2021/03", "scheduled": "2999/05"}.get(state, "2021/05")


def of(thing: Thing, page: str) -> str:
    return f"/comments/{page}/nodes.node/{thing.id}"


def one(thing: Thing, page: str) -> str:
    return f"{of(thing, page)}/{_comments[thing.id]}"


# The slug of a comment on each, and the neighbours.
_comments: dict[ObjectId, str] = {}
_beside: list[Thing] = []
PATHS: dict[str, Callable[[World, Thing, str], str]] = {
    "its page": lambda w, t, s: t.path,
    "its old address": lambda w, t, s: t.path.replace("/s", "/old-s", 1),
    "front page": lambda w, t, s: "/",
    "its section": lambda w, t, s: t.path.rpartition("/")[0],
    "neighbour's page": lambda w, t, s: _beside[0].path,
    "search": lambda w, t, s: f"/search?q=w{s}",
    "suggested titles": lambda w, t, s: f"/search/suggestions?q=zq{s}",
    "tag page": lambda w, t, s: "/tag/shared",
    "author's page": lambda w, t, s: "/author/owner",
    "its own tag": lambda w, t, s: f"/tag/tag{s}",
    "archive of the month": lambda w, t, s: f"{t.path.rpartition('/')[0]}/archive/{own_month(s)}",
    "archive of the year": lambda w, t, s: f"{t.path.rpartition('/')[0]}/archive/{own_month(s)[:4]}",
    **{
        f"{name} {label}": lambda w, t, s, before=before, form=form: f"{before(t)}/feed/{form}"
        for name, before in (
            ("site", lambda t: ""),
            ("section", lambda t: t.path.rpartition("/")[0]),
            ("tag", lambda t: "/tag/shared"),
            ("author", lambda t: "/author/owner"),
        )
        for label, form in (("RSS", "rss"), ("Atom", "atom"), ("JSON Feed", "json"))
    },
    "sitemap": lambda w, t, s: "/sitemap-blog-entry-1.xml",
    "discussion": lambda w, t, s: of(t, "on"),
    "discussion, as Node": lambda w, t, s: f"/comments/on/nodes.Node/{t.id}",
    "discussion, by proxy": lambda w, t, s: f"/comments/on/nodes.sitesettings/{t.id}",
    "feed, by proxy": lambda w, t, s: f"/comments/feed/nodes.sitesettings/{t.id}",
    "thread": lambda w, t, s: one(t, "thread"),
    "permalink": lambda w, t, s: one(t, "c"),
    "comment form": lambda w, t, s: of(t, "form"),
    "answer form": lambda w, t, s: f"{of(t, 'form')}?parent={_comments[t.id]}",
    "flag form": lambda w, t, s: one(t, "flag"),
    "comment feed": lambda w, t, s: of(t, "feed"),
    "my comments": lambda w, t, s: "/comments/mine",
    "api list": lambda w, t, s: "/api/v1/nodes?limit=100",
    "api list of section": lambda w, t, s: f"/api/v1/nodes?section={w.hidden if s == 'private' else w.blog}&limit=100",
    "api list of tag": lambda w, t, s: "/api/v1/nodes?tag=shared&include=detail,body_html&limit=100",
    "api list of author": lambda w, t, s: "/api/v1/nodes?author=owner&limit=100",
    "api list by words": lambda w, t, s: f"/api/v1/nodes?q=w{s}",
}
# What to search for if the post's own words are not shown: its URL, or those of its comment.
BY_ADDRESS = {"sitemap", "its old address", "permalink", "comment form"}
BY_REMARK = {"discussion", "thread", "answer form", "flag form", "comment feed", "my comments"}


def meets(world, things, action, state, kind, shows):
    thing = things[state]
    if action == "my comments" and kind == "anonymous":
        shows = False
    answer = world.kept(kind, PATHS[action](world, thing, state))
    shown = body_kept(answer)
    if shows:
        assert answer.status_code in (200, 301, 302)
        assert (thing.slug if action in BY_ADDRESS else remark(state) if action in BY_REMARK else word(state)) in shown
        return
    assert word(state) not in shown
    if state == "drafted":
        return
    assert remark(state) not in shown
    assert thing.slug not in shown or thing.slug in asked(answer), "but for what was asked for"
    if action in ("its page", "its old address") or (f"{thing.id}" in asked(answer)):
        assert is_refused(answer)


@pytest.mark.slow_after(2)
@pytest.mark.parametrize(("action", "row"), rows(READING, STATES))
def test_page_is_shown_to_the_right_readers(world, things, action, row):
    row.ask(partial(meets, world, things, action))


def asked(answer: Any) -> str:
    """Return the requested path, because a response may repeat it."""
    return answer.wsgi_request.path


def body_kept(answer: Any) -> str:
    if not hasattr(answer, "told"):
        answer.told = body(answer)
    return answer.told


def editing_path(thing: Thing, action: str, state: str) -> str:
    nonce = database()["cms.nodes"].find_one({"_id": thing.id}) or database()["cms.trash"].find_one({"_id": thing.id})
    match action:
        case "form":
            return thing.admin("change")
        case "difference":
            return f"{thing.admin('compare')}?old={thing.first}&new={nonce['metadata']['nonce']}"
        case "older version":
            return f"{thing.admin('history')}{thing.first}/"
        case "list":
            return "/admin/nodes/node/"
        case "list, searched":
            return f"/admin/nodes/node/?q=w{state}"
        case "trash list":
            return "/admin/nodes/node/trash/"
        case "restore form":
            return thing.admin("restore")
        case "signed preview link":
            return thing.admin("preview-link")
        case "api node" | "api node's draft":
            return f"/api/v1/nodes/{thing.id}{'?version=draft' if 'draft' in action else ''}"
        case "api node by path":
            return f"/api/v1/nodes/by-path?path={thing.path}"
        case "api list by state":
            return "/api/v1/nodes?state=any&limit=100"
    return thing.admin(action)


LISTS = ("list", "list, searched", "trash list", "api list by state")


def sees(world, things, action, state, kind, may):
    thing = things[state]
    path = editing_path(thing, action, state)
    answer = world.ask(kind, path, {} if action == "signed preview link" else None)
    if not may:
        assert is_refused(answer) or action in LISTS
        assert word(state) not in body(answer)
        is_public = action.startswith(by_api.START) and state in ("live", "drafted")
        if action not in LISTS and kind in NOT_TOLD and not is_public:
            nowhere = world.ask(
                kind, path.replace(str(thing.id), str(ObjectId())), {} if action == "signed preview link" else None
            )
            assert told(nowhere) == told(answer), "who may not see it is told what is told of nothing at all"
        return
    assert answer.status_code == 200
    if action == "signed preview link":
        link = body(answer).partition("/preview/")[2].partition('"')[0].split("<")[0]
        # For public posts without a draft, the link leads to the page.
        shown = world.clients["anonymous"].get(f"/preview/{link}", follow=state == "live")
        assert word(state) in body(shown)
        assert state == "live" or "no-store" in shown["Cache-Control"]
    elif action != "history":
        # For posts with a draft, the live version is returned, also to users who can see the draft.
        is_live_version = state == "drafted" and action.startswith("api node") and "draft" not in action
        assert (thing.slug if is_live_version else word(state)) in body(answer)


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(("action", "row"), rows(EDITING, STATES))
def test_page_is_shown_to_the_right_editors(world, things, action, row):
    row.ask(partial(sees, world, things, action))


def send(world: World, thing: Thing, action: str, kind: str) -> bool:
    """Send the action to the admin or the API, and return whether it was done."""
    before = stored(thing.id)
    copy = ObjectId()
    if action.startswith(by_api.START):
        action = action.removeprefix(by_api.START)
        by_api.send(world, thing, action, kind)
    else:
        path, data = writing(world, thing, action, copy)
        world.ask(kind, path, data)
    return by_action.is_done(world, action, before, stored(thing.id), copy)


def writing(world: World, thing: Thing, action: str, copy: ObjectId) -> tuple[str, dict[str, Any]]:
    """Return the URL of an action, and the form filled in by a permitted account."""
    document = stored(thing.id)
    nonce = str(document["metadata"]["nonce"])
    place = {"nonce": nonce, "section": str(world.second)}
    bulk = {"chosen": str(thing.id), f"nonce-{thing.id}": nonce, "target": str(world.second), "tags": "added"}
    match action:
        case "edit" | "edit the draft":
            asked_for = "draft" if action == "edit the draft" else "live"
            page = world.clients["editor"].get(f"{thing.admin('change')}?version={asked_for}").content.decode()
            button = {"_draft": "x"} if action == "edit the draft" else {"_save": "x"}
            return thing.admin("change"), {**fields(page), "title": "Changed", "version": asked_for, **button}
        case "restore a version":
            return f"{thing.admin('history')}{thing.first}/", place
        case "move":
            return thing.admin("move"), place
        case "copy":
            return thing.admin("duplicate"), {**place, "new_id": str(copy)}
        case "publish the draft" | "discard the draft":
            page = action.removesuffix(" the draft")
            return thing.admin(page), {"draft": str(document["draft"]["nonce"])}
        case "trash":
            return thing.admin("delete"), place
        case "put back":
            return thing.admin("restore"), {"nonce": nonce, "section": str(world.blog), "slug": thing.slug}
        case "delete for good":
            return thing.admin("delete-for-good"), place
    return "/admin/nodes/node/", {**bulk, "action": action.removesuffix(" in bulk"), "confirmed": "1"}


@pytest.fixture(scope="module")
def untouched(world: World) -> dict[str, Thing]:
    """Posts that only accounts without permission act on, so they stay unchanged."""
    return {state: world.thing(state) for state in STATES}


def does(world, untouched, action, state, kind, may):
    thing = world.thing(state) if may else untouched[state]
    by_action.ask(world, thing, action, kind, may)


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(("action", "row"), rows(WRITING, STATES, quick=KINDS))
def test_page_actions_need_the_right_account(world, untouched, action, row):
    row.ask(partial(does, world, untouched, action))


@pytest.mark.parametrize(("action", "state", "may", "not_"), translations(TRANSLATED))
def test_requests_have_the_same_permissions_as_actions(world, action, state, may, not_):
    thing = world.thing(state)
    before = stored(thing.id)
    assert not send(world, thing, action, not_)
    assert stored(thing.id) == before
    assert send(world, thing, action, may)


def test_signed_link_of_another_site_or_purpose_is_refused(world, things):
    from django.core import signing

    forged = signing.dumps([str(things["draft"].id), ""], salt="nodes.other")
    assert world.clients["anonymous"].get(f"/preview/{forged}").status_code == 404
    path = previews.link(previews.Preview(things["draft"].id, stored(things["draft"].id)["metadata"]["nonce"]))
    assert word("draft") in body(world.clients["anonymous"].get(path))
    assert world.clients["anonymous"].get(path[:-1]).status_code == 404
