"""Tags and redirects in a browser, by keyboard."""

from playwright.sync_api import expect

from cms.testing.build import node


def test_tag_is_renamed_by_keyboard(browsing, account, page):
    blog = node("blog", "news", tags=("paper",))
    node("blog-entry", "one", parent=blog, tags=("paper", "ink"))
    ann = browsing(account("ann"))
    ann.goto("/admin/tags/")
    ann.get_by_role("link", name="paper").focus()
    ann.keyboard.press("Enter")
    name = ann.get_by_label("Name")
    name.focus()
    name.press("ControlOrMeta+a")
    ann.keyboard.type("vellum")
    ann.keyboard.press("Enter")
    expect(ann.get_by_role("link", name="vellum")).to_be_visible()
    expect(ann.get_by_text("Formerly: paper")).to_be_visible()
    page.goto("/tag/paper")
    expect(page).to_have_url("/tag/vellum")
    page.get_by_role("link", name="All tags").click()
    expect(page.get_by_role("link", name="ink 1")).to_be_visible()
