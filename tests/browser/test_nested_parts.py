"""Parts in parts in the edit form: rows added by a script at every level."""

import pytest
from playwright.sync_api import expect

from cms.testing.build import node, stored
from tests.browser.people import PHONE
from tests.support.nodes.content import registered
from tests.support.nodes.nested import PHASES, Project


@pytest.fixture
def project(mongo):
    with registered(Project):
        yield node("project", "boat", **{"detail.phases": PHASES})


@pytest.mark.parametrize(
    "viewport",
    [
        pytest.param({"width": 1280, "height": 2400}, marks=pytest.mark.slow, id="desktop"),
        pytest.param(PHONE, id="phone"),
    ],
)
def test_rows_are_added_at_every_level(project, browsing, account, viewport):
    ann = browsing(account("ann"), viewport=viewport)
    ann.goto(f"/admin/nodes/node/{project}/change/")
    if ann.get_by_text("Details", exact=True).is_visible():
        ann.get_by_text("Details", exact=True).click()
    phases = ann.locator("[data-parts=phases]")
    phases.locator(":scope > [data-add-part]").click()
    ann.locator("#id_phases-3-title").fill("Sail")
    ann.locator("[data-parts=phases-3-tasks] > [data-add-part]").click()
    ann.locator("#id_phases-3-tasks-1-what").fill("Hoist")
    for number, name in enumerate(("rope", "hook", "knife")):
        if number:
            ann.locator("[data-parts=phases-3-tasks-1-tools] > [data-add-part]").click()
        ann.locator(f"#id_phases-3-tasks-1-tools-{number}-name").fill(name)
    ann.locator("[data-parts=phases-0-tasks-0-tools] > [data-add-part]").click()
    ann.locator("#id_phases-0-tasks-0-tools-3-name").fill("brush")
    ann.locator("#id_phases-0-tasks-0-tools-0-DELETE").check()
    assert ann.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    ann.click("[name=_continue]")
    expect(ann.locator(".messagelist")).to_contain_text("Updated.")
    first, second, third = stored(project)["detail"]["phases"]
    assert [tool["name"] for tool in first["tasks"][0]["tools"]] == ["ruler", "brush"]
    assert second["tasks"] == []
    assert (third["title"], [task["what"] for task in third["tasks"]]) == ("Sail", ["Hoist"])
    assert [tool["name"] for tool in third["tasks"][0]["tools"]] == ["rope", "hook", "knife"]
    ids = ann.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))
