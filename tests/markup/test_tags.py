import pytest
from hypothesis import given

from marginalia.markup.tags import Token, attributes, quote, tokens
from tests.markup.properties import holds, soup


def shown(html):
    return [t.text if not t.name else f"</{t.name}>" if t.closing else f"<{t.name}|{t.text}>" for t in tokens(html)]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("a<b>c</b>", ["a", "<b|>", "c", "</b>"]),
        ('<P Class="x>y">z', ['<p| Class="x>y">', "z"]),
        ("<a href='>'x=\">\">y", ["<a| href='>'x=\">\">", "y"]),
        ("<br/><br />", ["<br|/>", "<br| />"]),
        ("a<!-- <b> -->c<!-->d<!--->e<!--f--!>g", ["a", "c", "d", "e", "g"]),
        ("a<!DOCTYPE x><?php ?></ x></>b", ["a", "b"]),
        ("<script><b></script>x", ["<script|>", "</script>", "x"]),
        ("<SCRIPT><b></Script >x", ["<script|>", "</script>", "x"]),
        ("<script>x</scripty></script>", ["<script|>", "</script>"]),
        ("a <script> b <b>c", ["a ", "<script|>", " b ", "<b|>", "c"]),
        ("1 < 2 <3 & <é>", ["1 < 2 <3 & <é>"]),
        ("a<b", ["a<b"]),
        ('a<b c="d>e', ['a<b c="d>e']),
        ("a<!-- b", ["a<!-- b"]),
        ("<a b==c d = e f= >x", ["<a| b==c d = e f= >", "x"]),
    ],
)
def test_tokens_follow_the_html_standard(html, expected):
    assert shown(html) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (' href="a&amp;b" Title=\'x "y"\' open', {"href": "a&b", "title": 'x "y"', "open": ""}),
        (" a=1 a=2", {"a": "1"}),
        ("/a=/b/", {"a": "/b/"}),
        ('a="x"b=y', {"a": "x", "b": "y"}),
        (" =x=y", {"=x": "y"}),
    ],
)
def test_attributes_are_parsed(text, expected):
    assert attributes(text) == expected


def test_attributes_beyond_the_limit_are_dropped():
    assert len(attributes(" ".join(f"a{n}" for n in range(1000)), limit=10)) == 10


def test_quoted_value_is_parsed_back():
    value = "a \"b\" 'c' <d> & &amp; \xa0"
    assert attributes(f' x="{quote(value)}"') == {"x": value}


@holds
@given(html=soup)
def test_tokens_contain_only_source_text(html):
    for token in tokens(html):
        assert isinstance(token, Token)
        assert token.text in html
