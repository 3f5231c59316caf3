"""Declared fields in the edit form: rows of parts, added by a script."""

import pytest
from playwright.sync_api import expect

from cms.testing.build import node, stored
from tests.browser.people import PHONE
from tests.support.nodes.content import Cookbook, Recipe, registered


@pytest.fixture
def stew(mongo):
    with registered(Recipe, Cookbook):
        steps = [{"what": "Soak the beans", "minutes": 60}, {"what": "Cook", "minutes": 90}]
        fields = {"detail.course": "main", "detail.ingredients": ["beans", "salt"], "detail.steps": steps}
        yield node("recipe", "stew", parent=node("cookbook", "cooking"), text="Hot", **fields)


@pytest.mark.parametrize(
    "viewport",
    [
        pytest.param({"width": 1280, "height": 2400}, marks=pytest.mark.slow, id="desktop"),
        pytest.param(PHONE, id="phone"),
    ],
)
def test_rows_are_added_and_saved(stew, browsing, account, viewport):
    ann = browsing(account("ann"), viewport=viewport)
    ann.goto(f"/admin/nodes/node/{stew}/change/")
    for number, name in enumerate(("One", "Two", "Three", "Four"), 2):
        if number > 4:
            ann.get_by_role("button", name="Add row").first.click()
        ann.locator(f"#id_steps-{number}-what").fill(name)
    assert ann.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    ann.locator("#id_steps-0-DELETE").check()
    if viewport == PHONE:
        ann.get_by_text("Details", exact=True).click()
    ann.locator("#id_servings").fill("8")
    ann.click("[name=_continue]")
    expect(ann.locator(".messagelist")).to_contain_text("Updated.")
    detail = stored(stew)["detail"]
    assert [step["what"] for step in detail["steps"]] == ["Cook", "One", "Two", "Three", "Four"]
    assert detail["servings"] == 8
