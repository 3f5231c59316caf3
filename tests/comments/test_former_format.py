"""A database whose discussions have ids without a hash, as an older version stored them."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from cms.serving import startup
from marginalia.mongo import doctor
from marginalia.mongo.management.base import COULD_NOT_RUN
from tests.support.comments import site


@pytest.fixture
def former(mongo, post_page):
    """A site with a discussion in the former format."""
    site.post_directly(post_page, "Said before")
    mongo.command("collMod", "discussions", validationLevel="off")
    document = mongo.discussions.find_one_and_delete({})
    del document["label"]
    mongo.discussions.insert_one({**document, "_id": str(post_page)})
    yield
    mongo.discussions.delete_many({})
    call_command("setup_indexes", stdout=StringIO())


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("words", [["setup_indexes"], ["setup_indexes", "--plan"], ["migrate"]])
def test_setup_is_refused_and_changes_nothing(mongo, former, words):
    before = mongo.discussions.find_one()
    with pytest.raises(CommandError, match=f"The database {mongo.name} was written by an older version") as refused:
        call_command(*words, stdout=StringIO())
    assert "Use an empty database" in str(refused.value)
    assert mongo.discussions.find_one() == before


def test_setup_indexes_exits_with_the_code_for_could_not_run(former):
    with pytest.raises(CommandError) as refused:
        call_command("setup_indexes", stdout=StringIO())
    assert refused.value.returncode == COULD_NOT_RUN


@pytest.mark.slow
def test_serve_names_the_data_folder(mongo, former, settings, monkeypatch):
    monkeypatch.setitem(settings.DATABASES["default"], "HOST", "embedded:/srv/site/var")
    with pytest.raises(startup.CannotServe, match="^/srv/site/var: The database .* older version"):
        startup.set_up()


def test_doctor_reports_the_format(former):
    assert "former-format" in {finding.name for finding in doctor.examine()}


def test_current_format_is_accepted(mongo, post_page):
    site.post_directly(post_page, "Said now")
    assert "Nothing to do." in _plan()
    assert "former-format" not in {finding.name for finding in doctor.examine()}


def _plan() -> str:
    out = StringIO()
    call_command("setup_indexes", "--plan", stdout=out)
    return out.getvalue()
