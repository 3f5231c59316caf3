"""Every registered content type, and one with a field of every class. No type is listed by hand.

Under the settings of an app, its types are included: `pytest tests/nodes/content/test_every_type.py`.
"""

from collections import Counter
from typing import Any

import pytest
from bson import ObjectId
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cms.testing import generated
from cms.testing.build import EDITOR, node, nonce, stored
from nodes import content, merging
from nodes.checks import check_content
from nodes.content import declared_fields, values
from nodes.errors import EditConflict
from nodes.selectors import stored_nodes
from nodes.services import editing
from tests.support.nodes.content import Everything

NAMES = [type.type_name for type in content.types() if not type.is_file] + [Everything.type_name]
holds = settings(
    deadline=None,
    derandomize=True,
    database=None,
    # Each example writes, so failing examples are not shrunk.
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
# A test with few examples, and a slow one with many.
AMOUNTS = [pytest.param(4, id="few"), pytest.param(150, id="many", marks=pytest.mark.slow)]


every_type = pytest.mark.parametrize("place", NAMES, indirect=True)
several = pytest.mark.parametrize("amount", AMOUNTS)


def made(place: tuple[str, ObjectId | None], fields: dict[str, Any]) -> ObjectId:
    type, section = place
    if content.get(type).unique_together_in_section:
        # Generated values can occur twice, so each node gets a section of its own.
        section = generated.create_parent(type) or node("folder", f"home-{ObjectId()}")
    return node(type, f"n{ObjectId()}", parent=section, **fields)


def as_told(field: Any, value: Any) -> Any:
    """Return a value without distinctions that don't matter, such as None and an empty list."""
    if isinstance(value, list):
        return [as_told(field, one) for one in value]
    if model := getattr(field, "embedded_model", None):
        if value is None:
            return None
        told = value if isinstance(value, dict) else vars(value)
        known = [one for one in values.stored_fields(model) if not one.primary_key]
        return {one.attname: as_told(one, told[one.attname]) for one in known}
    return value


@pytest.mark.slow_after(2)
@every_type
def test_declaration_passes_the_checks(place):
    assert [fault for fault in check_content() if place[0] in str(fault.obj)] == []


@pytest.mark.slow_after(2)
@every_type
@several
def test_written_values_are_read_back_and_pass_the_validator(place, amount):
    type = place[0]

    @settings(holds, max_examples=amount)
    @given(generated.field_values(type))
    def check(given):
        read = stored_nodes.get(made(place, given)).metadata.detail
        for path, field in declared_fields.own_fields(type):
            assert as_told(field, getattr(read, field.attname)) == as_told(field, given[path]), path
        assert read.text == given["detail.text"]

    check()


@pytest.mark.slow_after(1)
@every_type
@several
def test_saving_unchanged_values_writes_nothing(place, amount):
    type = place[0]

    @settings(holds, max_examples=amount)
    @given(generated.field_values(type))
    def check(given):
        node_id = made(place, given)
        before = stored(node_id)
        said = merging.fields(before)
        again = {path: said[path] for path in given}
        assert editing.save(EDITOR, node_id, before["nonce"], again).changed == ()
        as_read = vars(stored_nodes.get(node_id).metadata.detail)
        again = {path: as_read[path.removeprefix("detail.")] for path in given}
        assert editing.save(EDITOR, node_id, before["nonce"], again).changed == ()
        assert stored(node_id) == before

    check()


@pytest.mark.slow_after(1)
@every_type
@several
def test_unchanged_form_changes_nothing(place, amount, editor):
    type, ann = place[0], editor()

    @settings(holds, max_examples=max(amount // 2, 2))
    @given(generated.field_values(type))
    def check(given):
        node_id = made(place, given)
        before, address = stored(node_id), f"/admin/nodes/node/{node_id}/change/"
        answer = ann.send(address, ann.open(address))
        assert answer.status_code == 302, answer.content.decode().partition("errornote")[2][:2_000]
        after = stored(node_id)
        changed = {path: (before["detail"].get(path), value) for path, value in after["detail"].items()}
        assert {path: both for path, both in changed.items() if both[0] != both[1]} == {}
        assert after == before

    check()


@pytest.mark.slow_after(1)
@every_type
@several
def test_merge_of_two_editors_loses_nothing(place, amount):
    type = place[0]

    @st.composite
    def edits(draw):
        """Return the first values of a node, and the edits of two editors."""
        base = draw(generated.field_values(type))
        either = []
        for _side in range(2):
            anew, names = draw(generated.field_values(type)), draw(st.sets(st.sampled_from(sorted(base)), max_size=6))
            either.append({path: draw(st.just(anew[path]) | _longer(base[path], anew[path])) for path in names})
        return base, *either

    @settings(holds, max_examples=amount)
    @given(edits())
    def check(edits):
        base, theirs, mine = edits
        node_id = made(place, base)
        seen, before = nonce(node_id), merging.fields(stored(node_id))
        mine, theirs = (editing.normalized(_kept_ids(side, before), type) for side in (mine, theirs))
        editing.save(EDITOR, node_id, seen, theirs)
        between = merging.fields(stored(node_id))
        try:
            editing.save(EDITOR, node_id, seen, mine)
        except EditConflict as error:
            assert merging.fields(stored(node_id)) == between, "a conflict writes nothing"
            for conflict in error.merge.conflicts:
                path = conflict.path
                assert not merging.same(mine[path], before.get(path))
                assert not merging.same(theirs[path], before.get(path))
                way = declared_fields.merge_strategy(type, path)
                assert not _added(way, before.get(path), mine[path]) - _items(way, conflict.mine)
                assert not _added(way, before.get(path), theirs[path]) - _items(way, conflict.theirs)
            decided = {**error.merge.changes, **{one.path: one.mine for one in error.merge.conflicts}}
            editing.save(EDITOR, node_id, nonce(node_id), decided)
        after = merging.fields(stored(node_id))
        for path in base:
            ours, others = mine.get(path, before.get(path)), theirs.get(path, before.get(path))
            if merging.same(ours, before.get(path)):
                assert merging.same(after.get(path), others), path
            elif merging.same(others, before.get(path)):
                assert merging.same(after.get(path), ours), path
            else:
                way = declared_fields.merge_strategy(type, path)
                assert not _added(way, before.get(path), ours) - _items(way, after.get(path)), path
        stored_nodes.get(node_id)

    check()


def _longer(before: Any, anew: Any) -> st.SearchStrategy[Any]:
    """Return the edit of an editor who adds to a list or a text instead of replacing it."""
    if isinstance(before, list) and isinstance(anew, list):
        return st.sampled_from([[*before, *anew], [*anew, *before], before[1:]])
    if isinstance(before, str) and isinstance(anew, str):
        return st.just(before)
    return st.just(anew)


def _kept_ids(side: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Return fields with the ids of parts that equal stored ones, as the form sends them."""
    found = {}
    for path, value in side.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            ids = [part["_id"] for part in before.get(path) or ()]
            value = [{**part, "_id": ids[n]} if n < len(ids) else part for n, part in enumerate(value)]
        found[path] = value
    return found


def _items(way: str, value: Any) -> Counter[str]:
    """Return the pieces of a value with their counts: everything that an editor would miss."""
    if way == declared_fields.TEXT:
        return Counter(part.strip() for part in (value or "").split("\n\n") if part.strip())
    if way == declared_fields.PARTS:
        return Counter(str(part["_id"]) for part in value or ())
    return Counter(repr(item) for item in value or ()) if way == declared_fields.ITEMS else Counter()


def _added(way: str, before: Any, value: Any) -> Counter[str]:
    return _items(way, value) - _items(way, before)
