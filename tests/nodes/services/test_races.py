"""Long races: one save wins each round, all edits survive, no move makes a cycle."""

import pytest

from cms.testing.build import EDITOR, node, nonce, stored
from marginalia.mongo.connection import database
from nodes.access import System
from nodes.actions import PublishListed, SelectedNode, execute_all
from nodes.errors import InvalidPlace, TooBusy
from nodes.models import tree
from nodes.services import editing, retrying, write
from nodes.types import Actor, Change
from tests.support.concurrency import run_concurrently


@pytest.mark.parametrize("rounds", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_one_of_64_saves_of_a_nonce_wins_each_round(mongo, rounds):
    node_id = node(text="0")
    for round_ in range(rounds):
        seen = database()["cms.nodes"].find_one()
        changes = [Change({"detail.text": f"{round_}/{i}"}) for i in range(64)]
        won = run_concurrently(64, lambda i: write.compare_and_set(EDITOR, seen, changes[i]))  # noqa: B023
        (winner,) = [i for i, nonce_ in enumerate(won) if nonce_]
        assert (won[winner], f"{round_}/{winner}") == (nonce(node_id), stored(node_id)["detail"]["text"])


@pytest.mark.parametrize("rounds", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_edits_of_eight_editors_all_survive(mongo, rounds):
    """Tests the merge base: every editor's form is as old as the round."""
    node_id = node(text="\n\n".join(f"paragraph {i}" for i in range(4)))
    fields = {4: "title", 5: "summary", 6: "author", 7: "slug"}
    for round_ in range(rounds):
        before, seen = stored(node_id), nonce(node_id)

        def edit(i, before=before, seen=seen, round_=round_):
            said = {"title": before["title"], "detail.text": before["detail"]["text"], "slug": before["slug"]}
            if i < 4:
                paragraphs = said["detail.text"].split("\n\n")
                paragraphs[i] += f" +{round_}"
                said["detail.text"] = "\n\n".join(paragraphs)
            else:
                value = f"{fields[i]}-{round_}"
                said[fields[i]] = {"_id": None, "name": value} if fields[i] == "author" else value
            editing.save(Actor(None, str(i)), node_id, seen, said)

        run_concurrently(8, edit)
        after = stored(node_id)
        grown = "".join(f" +{n}" for n in range(round_ + 1))
        assert after["detail"]["text"] == "\n\n".join(f"paragraph {i}{grown}" for i in range(4))
        assert (after["title"], after["summary"]) == (f"title-{round_}", f"summary-{round_}")
        assert (after["author"]["name"], after["slug"]) == (f"author-{round_}", f"slug-{round_}")


@pytest.mark.slow
def test_concurrent_moves_never_make_a_cycle_or_an_island(mongo):
    """a below b and b below a, 200 rounds."""
    for round_ in range(200):
        pair = node("folder", f"a{round_}"), node("folder", f"b{round_}")

        def move(i, pair=pair):
            try:
                editing.save(EDITOR, pair[i], nonce(pair[i]), {"parent_id": pair[1 - i]})
            except InvalidPlace:
                return False
            return True

        assert sorted(run_concurrently(2, move)) == [False, True]
        sections = tree.load()
        assert all(sections.ancestors(section) is not None for section in pair)


@pytest.mark.parametrize("rounds", [3, pytest.param(40, marks=pytest.mark.slow)])
def test_bulk_publish_during_saves_loses_no_update(mongo, rounds):
    made = [node(slug=f"p{i}", published=None, text="0") for i in range(8)]
    for round_ in range(rounds):
        seen = {m: nonce(m) for m in made}

        def work(i, seen=seen, round_=round_):
            if i == 0:
                return execute_all(
                    (SelectedNode(m, seen[m], ""), PublishListed(user=System(EDITOR), node_id=m, seen=seen[m]))
                    for m in made
                )
            return editing.save(EDITOR, made[i], seen[made[i]], {"detail.text": str(round_)})

        summary = run_concurrently(8, work)[0]
        refused = {one.selected.id for one in summary.refused}
        assert summary.done == 8 - len(refused)
        for m in made:
            # The save that published it was based on the seen version.
            query = {"node_id": m, "parent": seen[m], "metadata.published": {"$ne": None}}
            went_on = mongo["cms.revisions"].count_documents(query)
            assert (bool(stored(m)["published"]), went_on) == ((False, went_on) if m in refused else (True, 1))
        assert all(stored(m)["detail"]["text"] == str(round_) for m in made[1:])
        for m in made:
            editing.save(EDITOR, m, nonce(m), {"published": None})


def test_too_many_retries_raise_and_change_nothing(mongo, monkeypatch):
    node_id = node()
    monkeypatch.setattr(retrying, "ATTEMPTS", 0)
    with pytest.raises(TooBusy):
        editing.save(EDITOR, node_id, nonce(node_id), {"title": "x"})
    assert stored(node_id)["title"] == "Page"
