"""Payloads through every way of entering text: only content that the policy allows comes out."""

import pytest

from marginalia.markup.html import clean
from marginalia.markup.html.references import resolve_references
from marginalia.markup.markdown import render
from marginalia.markup.text import html_to_text
from tests.markup.policy import violations
from tests.support.payloads import ALL, PAYLOADS

# Surroundings of a payload: alone, within words, in a value, a table, a foreign or an unfinished element ...
HTML = [
    "{}",
    "some {} words",
    "<p title='{}'>x</p>",
    '<a href="{}">x</a>',
    '<img src="{}" alt="x">',
    "<b {}>x</b>",
    "<table><tr><td>{}</td></tr></table>",
    "<pre>{}",
    "<svg>{}",
    "<math><mtext>{}",
    "<!-- {} -->",
]
# ... and in Markdown.
MARKDOWN = [
    "> {}\n",
    "- {}\n- x",
    "| a |\n|---|\n| {} |",
    "# {}",
    "**{}**",
    "[{}](https://a.example)",
    "[x]({})",
    "![{}](photo:x)",
    "::gallery{title={}}",
    ':::note{title="{}"}\n{}\n:::',
]
WAYS = [(clean, HTML), (render, [*HTML, *MARKDOWN])]


def test_payloads_are_many_and_unique():
    assert len(ALL) == len(set(ALL))
    assert len(ALL) >= 300


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("profile", ["article", "comment"])
@pytest.mark.parametrize("kind", PAYLOADS)
def test_output_contains_only_allowed_html(kind, profile):
    for payload in PAYLOADS[kind]:
        for way, surroundings in WAYS:
            for around in surroundings:
                source = around.replace("{}", payload)
                html = way(source, profile)
                assert violations(html, profile) == [], (way, source, html)


@pytest.mark.parametrize("profile", ["article", "comment"])
def test_cleaning_the_output_changes_nothing(profile):
    for payload in ALL:
        html = clean(payload, profile)
        assert clean(html, profile) == html, payload


def test_resolvers_get_only_names_and_their_results_are_kept():
    for payload in ALL:
        seen = []

        def resolver(ref, seen=seen):
            seen.append(ref)
            return "\ue000"

        def linked(ref):
            return ref.to("/at")

        text = f"![x](photo:y) {payload}\n\n<p>{payload}</p>\n\n[x](node:y#{payload})<a href='node:{payload}'>x</a>"
        html = resolve_references(render(text, "article"), resolver, linked)
        assert html.count("\ue000") == len(seen)
        assert violations(html, "article") == [], payload


def test_plain_text_of_payloads_is_harmless():
    for payload in ALL:
        html_to_text(payload)
        assert violations(render(html_to_text(payload), "comment"), "comment") == []


@pytest.mark.parametrize(
    ("html", "is_payload"),
    [
        ("<p>fine</p>", False),
        ("<script>alert(1)</script>", True),
        ("<p onclick=alert(1)>x</p>", True),
        ('<a href="javascript:alert(1)" rel="ugc nofollow noopener">x</a>', True),
        ('<a href="java\nscript:alert(1)" rel="ugc nofollow noopener">x</a>', True),
        ('<a href="https://x">no rel</a>', True),
        ("<!-- x -->", True),
        ("a < b", True),
        ("<p", True),
    ],
)
def test_policy_detects_payloads(html, is_payload):
    assert bool(violations(html, "comment")) is is_payload
