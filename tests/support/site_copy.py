"""Create a site with everything that an export can contain, and run the commands that export and import it."""

import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any

from bson import ObjectId
from django.core.management import CommandError, call_command

from cms.testing import build
from marginalia.comments.backends import backend
from marginalia.comments.operations import maintenance
from marginalia.comments.types import Target
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.access import System
from nodes.actions import SaveRedirect
from nodes.models import tree
from nodes.models.stored_site import StoredSettings
from nodes.services import drafts, tags
from nodes.services.site import save_settings
from nodes.types import TagChange
from photos.services import photos
from tests.support.comments.making import ANN, imported, new
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import document, gallery, replace, upload
from transfer.archive import FILES, MANIFEST, Archive
from transfer.lines import decode, encode

LAYOUTS = ("embedded", "documents", "buckets")
ADDRESS = "commenter@example.org"


def run(name: str, *arguments: object) -> tuple[int, str]:
    """Run a management command, and return its exit code and output."""
    out = io.StringIO()
    try:
        call_command(name, *map(str, arguments), stdout=out, stderr=io.StringIO())
    except CommandError as error:
        return error.returncode, f"{out.getvalue()}{error}"
    return 0, out.getvalue()


def target(node_id: ObjectId) -> Target:
    return Target("nodes.node", str(node_id))


def site(formats: tuple[str, ...] = ("jpeg",)) -> dict[str, ObjectId]:
    """Create a site with nested sections, pages with history and drafts, photos and discussions. Return ids by slug."""
    ids = {"news": build.node("blog", "news"), "attic": build.node("folder", "attic")}
    ids["lakes"] = gallery("lakes", parent=ids["attic"])
    for name in formats:
        ids[name] = upload(ids["lakes"], getattr(pictures, name)(), f"{name}.{'jpg' if name == 'jpeg' else name}")
    first = ids[formats[0]]
    photos.save(build.EDITOR, first, document(first)["metadata"]["nonce"], {"detail.rotation": 90})
    ids["crop"] = upload(ids["lakes"], pictures.png(), "crop.png", slug="crop")
    replace(ids["crop"], pictures.jpeg((80, 60)), "crop.jpg")
    cut = {"detail.crop": [0.0, 0.0, 0.5, 0.5]}
    photos.save(build.EDITOR, ids["crop"], document(ids["crop"])["metadata"]["nonce"], cut)
    for number, layout in enumerate(LAYOUTS):
        slug = f"post-{layout}"
        ids[slug] = build.node(
            "blog-entry", slug, parent=ids["news"], text=f"A lake ![it](photo:{first})", tags=("a", "b")
        )
        build.save(ids[slug], build.nonce(ids[slug]), slug=f"{slug}-now", detail__text=f"{number} ![it](photo:{first})")
        discussion = target(ids[slug])
        oldest = backend().import_(discussion, [imported(n, email=ADDRESS) for n in range(6)])
        assert oldest == 6
        above = backend().post(discussion, new("above")).comment
        reply = backend().post(discussion, new("below", above.slug)).comment
        backend().edit(discussion, reply.slug, source="edited", html="", rev=1, token="e")
        backend().remove(discussion, above.slug, rev=1, token="r")
        backend().hold(discussion, new("waits", author=ANN, email=ADDRESS))
        maintenance.convert(discussion, layout)
    backend().close(target(ids["post-buckets"]))
    for slug in ("post-embedded", "post-documents"):
        seen = build.nonce(ids[slug])
        draft = drafts.save_draft(build.EDITOR, ids[slug], seen, {"title": "Drafted"}, TagChange.between("b", "c"))
        if slug == "post-documents":
            drafts.schedule(build.EDITOR, ids[slug], draft.nonce, now() + timedelta(days=1))
    ids["page"] = build.node(slug="page", published=None)
    usual = asdict(StoredSettings())
    menu = [{"label": "News", "target": f"node:{ids['news']}"}, {"label": "Out", "target": "https://example.org/"}]
    chosen = {"name": "Lakes", "share_picture": first, "menu": menu, "accent": "#7a2233", "posts_per_page": 7}
    save_settings(chosen, {name: usual[name] for name in chosen})
    SaveRedirect(user=System("A"), url="/gone", target="/news").execute()
    SaveRedirect(user=System("A"), url="/away", target="https://example.org/").execute()
    tags.describe("a", "The first", None)
    tags.import_tag("alpha", "", "a")
    link = {"path": "2009/lake", "source": "old", "host": "old.example.org", "node_id": ids["page"]}
    database()["wordpress.links"].insert_one(link)
    return ids


def empty() -> None:
    """Delete all documents that an export can contain, and related documents such as jobs."""
    for name in database().list_collection_names():
        if name.startswith(("cms.", "comment", "discussions", "wordpress.", "jobs")):
            database()[name].delete_many({})
    tree.clear()


def read(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the documents in an archive by file, sorted as text, because the order of queued comments is arbitrary."""
    with Archive.open(path) as archive:
        archive.check()
        return {name: sorted(archive.records(name), key=str) for name in FILES}


def change_file(path: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """Change a file in an exported folder, but don't update the manifest."""
    (path / name).write_bytes(change((path / name).read_bytes()))


def change_file_and_manifest(path: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """Change a file in an exported folder, and update the manifest."""
    change_file(path, name, change)
    data = (path / name).read_bytes()
    manifest = json.loads((path / MANIFEST).read_text())
    manifest["files"][name] |= {
        "sha256": hashlib.sha256(data).hexdigest(),
        "bytes": len(data),
        "records": data.count(b"\n"),
    }
    (path / MANIFEST).write_text(json.dumps(manifest))


def change_records(path: Path, name: str, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    """Let `change` modify the list of documents in a file of an exported folder, and update the manifest."""

    def rewrite(data: bytes) -> bytes:
        records = [decode(line) for line in data.splitlines()]
        change(records)
        return b"".join(map(encode, records))

    change_file_and_manifest(path, name, rewrite)
