"""docs/how-to/backup.md: its commands are executed as written."""

import os
import shutil
import subprocess
import sys
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient, WriteConcern

from marginalia.local.mongod import initiate, locate
from marginalia.local.ports import free_port, is_free
from marginalia.testing.mongod import Member
from tests.docs.pages import ROOT, tried, tried_with
from tests.support.processes import until
from tests.support.running import Site

pytestmark = pytest.mark.slow
PAGE = "backup.md"
SMALL = "--networkMessageCompressors disabled --wiredTigerCacheSizeGB 0.25"


def run(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment or None,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done


def test_copy_of_var_and_deleted_section_are_restored(tmp_path):
    site = Site(tmp_path / "var", DEMO="1", MONGODB_DATABASE="marginalia")
    site.start()
    before = counts(site)
    site.stop()
    (tmp_path / "backups").mkdir()
    for command in ("cp -a var /backups", "cp -a /backups"):
        for line in tried_with(PAGE, command).commands():
            run(line.replace("/backups", f"{tmp_path}/backups"), tmp_path)
    looked_at = {"DEMO": "0", "EMAIL_URL": "dummymail://", "MONGODB_DATABASE": "marginalia"}
    restored = Site(tmp_path / "backups" / "looked-at", **looked_at)
    restored.start()

    def manage(line: str, **environment: str) -> None:
        line = line.replace(".venv/bin/python", sys.executable).replace("back.zip", str(tmp_path / "back.zip"))
        run(line, ROOT, **(restored.environment | environment))

    try:
        assert counts(restored) == before
        assert before["cms.nodes"] > 10
        with MongoClient(restored.mongod.uri) as client:
            copied(client["marginalia"], client["rehearsal"])
            for text in ("manage.py migrate", "end_sessions", "manage.py check_nodes\n"):
                for line in tried_with(PAGE, text).commands():
                    manage(line, MONGODB_DATABASE="rehearsal", CDN_PURGE_URLS="")
            nodes = client["marginalia"]["cms.nodes"]
            section = nodes.find_one({"metadata.slug": "field-notes"})
            lost = nodes.delete_many({"$or": [{"_id": section["_id"]}, {"metadata.parent_id": section["_id"]}]})
        assert lost.deleted_count > 1
        for line in tried_with(PAGE, "export_site").commands():
            manage(line)
        assert counts(restored)["cms.nodes"] == before["cms.nodes"]
    finally:
        restored.stop()


@pytest.fixture
def snapshot(tmp_path) -> Path:
    """A copy of the files of a running member, taken right after its last acknowledged write."""
    with Member(tmp_path / "db1", replset="rs0") as member:
        initiate([member])
        with MongoClient(member.uri_direct) as client:
            notes = client["marginalia"].get_collection("notes", write_concern=WriteConcern("majority", j=True))
            for number in range(200):
                notes.insert_one({"_id": number})
            shutil.copytree(member.dbpath, tmp_path / "snapshot")
    (tmp_path / "snapshot" / "mongod.lock").unlink()
    return tmp_path / "snapshot"


def test_snapshot_of_a_member_starts_without_loss(snapshot):
    port = free_port()

    def follow(block) -> None:
        for line in block.commands():
            line = line.replace("/backups", str(snapshot.parent)).replace("27117", str(port))
            is_stop = "--shutdown" in line
            run(line.replace("mongod", str(locate()), 1) + ("" if is_stop else f" {SMALL}"), snapshot.parent)
            until(lambda: is_free(port) == is_stop)  # noqa: B023 - called before the next line

    replay, start, stop = [block for block in tried(PAGE, "console") if "/backups/snapshot" in block.text]
    follow(replay)
    follow(start)
    with MongoClient(f"mongodb://127.0.0.1:{port}/?directConnection=true") as client:
        client.drop_database("local")
    follow(stop)
    with Member(snapshot, port=port, replset="rs0") as member:
        initiate([member])
        with MongoClient(member.uri_direct) as client:
            assert client["marginalia"]["notes"].count_documents({}) == 200


def test_age_check_fails_without_a_recent_dump(tmp_path):
    [check] = tried_with(PAGE, "-mmin").commands()
    deleting = tried_with(PAGE, "-delete").commands()
    recent, old, monthly = (tmp_path / f"marginalia-2026-01-{day}.gz" for day in ("31", "09", "01"))

    def passes() -> bool:
        done = subprocess.run(["bash", "-c", check.replace("/backups", str(tmp_path))], check=False)
        return done.returncode == 0

    assert not passes()
    for dump in (old, monthly):
        dump.write_text("dump")
        three_weeks_ago = dump.stat().st_mtime - 20 * 86400
        os.utime(dump, (three_weeks_ago, three_weeks_ago))
    assert not passes()
    recent.write_text("dump")
    assert passes()
    for line in deleting:
        run(line.replace("/backups", str(tmp_path)), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [monthly.name, recent.name]


# Collections written by logins, and by a worker while the site runs.
PASSING = ("django_session", "workers", "jobs", "cms.changes", "cms.renditions.files", "cms.renditions.chunks")


def counts(site: Site) -> dict[str, int]:
    """Return the number of documents in each collection that users fill."""
    with MongoClient(site.mongod.uri) as client:
        database = client["marginalia"]
        names = [listed["name"] for listed in database.list_collections() if listed["name"] not in PASSING]
        return {name: database[name].count_documents({}) for name in names}


def copied(source: Any, target: Any) -> None:
    """Copy a database as a dump does: collections with their options, documents, indexes.

    A worker writes during the dump, so files are copied before their chunks.
    """
    for listed in sorted(source.list_collections(), key=itemgetter("name"), reverse=True):
        target.create_collection(listed["name"], **listed["options"])
        if documents := list(source[listed["name"]].find()):
            target[listed["name"]].insert_many(documents)
        for name, index in source[listed["name"]].index_information().items():
            if name != "_id_":
                options = {k: v for k, v in index.items() if k not in ("v", "key", "ns", "textIndexVersion")}
                keys = [(k, d) for k, d in index["key"] if k not in ("_fts", "_ftsx")]
                keys += [(path, "text") for path in index.get("weights", ())]
                target[listed["name"]].create_index(keys, name=name, **options)
