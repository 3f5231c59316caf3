"""`manage.py check --database`: what an upgrade has left to do in the database."""

import pytest
from django.core.management import CommandError, call_command

from cms.testing.build import node
from marginalia.mongo import indexes


def test_up_to_date_database_needs_nothing(mongo):
    node("blog", "journal")
    call_command("check", databases=["default"])


def test_steps_after_an_upgrade_are_listed_in_order(mongo):
    page = node("basic-page", "about")
    mongo["cms.nodes"].update_one({"_id": page}, {"$set": {"metadata.schema_version": 0}})
    applied = mongo["django_migrations"].find_one_and_delete({"app": "cms", "name": "0003_comments_label"})
    mongo["cms.nodes"].drop_index(next(name for name in mongo["cms.nodes"].index_information() if name != "_id_"))
    try:
        with pytest.raises(CommandError) as refused:
            call_command("check", databases=["default"])
    finally:
        mongo["django_migrations"].insert_one(applied)
        indexes.ensure()
    assert refused.value.returncode == 1
    lines = str(refused.value).splitlines()
    assert lines[:2] == [
        "The database isn't up to date:",
        "- Unapplied migrations: 1. Run manage.py migrate.",
    ]
    assert lines[2].startswith("- Missing or different indexes")
    assert lines[3].endswith("Run manage.py upgrade_nodes basic-page.")


def test_without_the_option_the_database_is_not_read(mongo, commands):
    with commands.recorded():
        call_command("check")
    assert commands.names == []
