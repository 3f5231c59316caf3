"""The doctor's checks of the list of changes."""

from datetime import timedelta

from api.changes.relay import relay
from api.collections import collections
from api.doctor import changes_told
from marginalia.mongo import doctor
from marginalia.mongo.clock import now


def test_doctor_reports_how_far_the_list_is_behind(mongo):
    def found():
        examination = doctor.Examination("default", mongo, collections(), production=False)
        return [one.name for one in changes_told(examination)]

    assert found() == ["changes-not-told"]
    relay()
    assert found() == []
    mongo["cms.changes"].update_many({}, {"$set": {"marked": now() - timedelta(minutes=10)}})
    assert found() == ["changes-behind"]
