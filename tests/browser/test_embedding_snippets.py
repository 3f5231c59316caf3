"""The snippets of the guide, on pages as each site generator makes them: on another origin and without cookies."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote_plus

import lxml.html
import pytest
from playwright.sync_api import Page, expect

from api.models import EmbeddedPage
from tests.browser import embedding
from tests.browser.axe import RUN
from tests.browser.embedding import OtherSite, post
from tests.browser.people import PHONE
from tests.docs.pages import blocks

GUIDE = "embed-comments.md"
SITE = "https://www.example.org"
PATH = "/posts/7/"
TITLE = "Seven & more"
# The HTML that the templates of Hugo and Jekyll write. Neither of them is installed for the tests.
TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>Seven</title><link rel="canonical" href="{url}"></head>
<body><main><h1>Seven</h1>{snippet}</main></body></html>
"""
# The parts of MkDocs' theme that the policy forbids: inline scripts and styles, and pictures in its style sheets.
OF_THEME = ["Content Security Policy", "CSP script-src-elem inline", "CSP style-src", " data "]
HEADINGS = ("plain HTML", "Hugo", "Jekyll")


def snippet(heading: str, server: str, url: str) -> str:
    """Return a snippet with the expressions of its template language replaced."""
    found = [block.text for block in blocks(GUIDE) if "<marginalia-comments>" in block.text]
    text = dict(zip((*HEADINGS, "MkDocs"), found, strict=True))[heading].replace(SITE, server)
    page, title = quote_plus(url), quote_plus(TITLE)
    for expression, value in (
        ("https%3A%2F%2Fblog.example.org%2Fposts%2F7%2F", page),
        ("{{ .Permalink | urlquery }}", page),
        ("{{ .Title | urlquery }}", title),
        ("{{ page.url | absolute_url | cgi_escape }}", page),
        ("{{ page.title | cgi_escape }}", title),
    ):
        text = text.replace(expression, value)
    return text


@pytest.fixture
def other(mongo, rules, settings, server) -> Iterator[OtherSite]:
    """Another site whose origin is registered."""
    with embedding.serve(server) as site:
        settings.EMBED = {"ORIGINS": [site.url], "KEYS": []}
        yield site


def check_discussion(browsing, url: str, axe: str, expected: list[str]) -> None:
    """Post a comment with the keyboard on a page, and look at it on a phone and without JavaScript."""
    page: Page = browsing()
    page.expected += expected
    page.goto(url)
    page.get_by_label("Name").focus()
    page.keyboard.type("Ann")
    page.get_by_label("Comment", exact=True).focus()
    page.keyboard.type("I agree")
    page.get_by_role("button", name="Post").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".comment:focus")).to_contain_text("I agree")
    assert page.context.cookies() == []
    assert EmbeddedPage.objects.get().address == url
    phone = browsing(bypass_csp=True, viewport=PHONE)
    phone.expected += [*expected, "422", "embed.css", "preload assets"]
    phone.goto(url)
    expect(phone.get_by_text("I agree")).to_be_visible()
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    phone.evaluate(axe)
    for scheme in ("light", "dark"):
        phone.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        faults = phone.evaluate(RUN)
        assert [fault for fault in faults if "marginalia-comments" in str(fault)] == []
    plain = browsing(java_script_enabled=False)
    plain.expected += expected
    plain.goto(url)
    plain.get_by_role("link", name="Comments", exact=True).click()
    expect(plain.get_by_text("I agree")).to_be_visible()


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("heading", HEADINGS)
def test_snippet_embeds_the_discussion(browsing, other, server, axe, heading):
    url = f"{other.url}{PATH}"
    html = snippet(heading, server, url)
    assert "{{" not in html
    other.html[PATH] = TEMPLATE.format(url=url, snippet=html)
    check_discussion(browsing, url, axe, [])


@pytest.mark.slow
def test_reader_without_javascript_writes_the_first_comment(browsing, other, server):
    url = f"{other.url}{PATH}"
    other.html[PATH] = TEMPLATE.format(url=url, snippet=snippet("Hugo", server, url))
    page = browsing(java_script_enabled=False)
    page.goto(url)
    page.get_by_role("link", name="Comments", exact=True).click()
    expect(page.get_by_role("heading", name=TITLE)).to_be_visible()
    page.get_by_role("button", name="Write a comment").click()
    expect(page.get_by_label("Name")).to_be_visible()
    page = browsing()
    page.goto(url)
    post(page, "The first")


def build_mkdocs(folder: Path, url: str, theme: str, name: str, template: str) -> Path:
    """Build a site with MkDocs and a template that overrides the one of the theme. Return the folder with the pages."""
    options = f"{{name: {theme}, custom_dir: overrides, font: false}}"
    (folder / "mkdocs.yml").write_text(f"site_name: Docs\nsite_url: {url}/\ntheme: {options}\n")
    for path, text in {
        f"overrides/{name}": template,
        "docs/index.md": "# Home\n\nNo comments here.\n",
        "docs/posts/7.md": "---\ncomments: true\n---\n# Seven\n\nText.\n",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet"], cwd=folder, check=True)
    return folder / "site"


@pytest.mark.slow
def test_mkdocs_builds_pages_with_discussions(browsing, other, server, tmp_path, axe):
    other.folder = build_mkdocs(tmp_path, other.url, "material", "main.html", snippet("MkDocs", server, ""))
    check_discussion(browsing, f"{other.url}{PATH}", axe, OF_THEME)
    assert "marginalia-comments" not in (other.folder / "index.html").read_text()


@pytest.mark.parametrize(("theme", "name"), [("readthedocs", "main.html"), ("mkdocs", "content.html")])
def test_discussion_is_below_the_text_in_other_themes_of_mkdocs(tmp_path, theme, name):
    template = snippet("MkDocs", SITE, "")
    if name == "content.html":  # as the guide tells
        template = "\n".join(["{{ page.content }}", *template.splitlines()[3:-1]])
    site = build_mkdocs(tmp_path, "https://blog.example.org", theme, name, template)
    page = lxml.html.fromstring((site / "posts/7/index.html").read_text())
    (link,) = page.xpath("//*[@role='main'][.//h1]//marginalia-comments//a")
    assert link.get("href").endswith("?page=https%3A//blog.example.org/posts/7/")
