import pytest

from marginalia.markup.markdown import render


def links(source, profile="article"):
    """Return the rendered paragraph with links as {address|text}."""
    html = render(source, profile).removeprefix("<p>").removesuffix("</p>")
    html = html.replace(' rel="noopener"', "").replace(' rel="ugc nofollow noopener"', "")
    return html.replace('<a href="', "{").replace('">', "|").replace("</a>", "}")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("see http://a.example.", "see {http://a.example|http://a.example}."),
        ("HTTPS://a.example/b?c=d&e=f#g", "{HTTPS://a.example/b?c=d&amp;e=f#g|HTTPS://a.example/b?c=d&amp;e=f#g}"),
        ("(http://a.example/b_(c))", "({http://a.example/b_(c)|http://a.example/b_(c)})"),
        ("http://a.example/b)c", "{http://a.example/b)c|http://a.example/b)c}"),
        ('"http://a.example"', '"{http://a.example|http://a.example}"'),
        ("**http://a.example**", "<strong>{http://a.example|http://a.example}</strong>"),
        ("http://a.example/b_c_d*e*", "{http://a.example/b_c_d*e|http://a.example/b_c_d*e}*"),
        ("http://a.example/&lt;b", "{http://a.example/|http://a.example/}&lt;b"),
        ("http://a.example/?b&amp;c", "{http://a.example/?b&amp;c|http://a.example/?b&amp;c}"),
        ("http://a.example/b&nbsp;", "{http://a.example/b|http://a.example/b}&nbsp;"),
        ("http://a.example，b", "{http://a.example|http://a.example}，b"),
        ("xhttp://a.example", "xhttp://a.example"),
        ("中http://a.example", "中{http://a.example|http://a.example}"),
        ("http:// a", "http:// a"),
        ("http://", "http://"),
        ("ftp://a.example", "ftp://a.example"),
        ("javascript://a.example", "javascript://a.example"),
        ("http\\://a.example", "http://a.example"),
        ("`http://a.example`", "<code>http://a.example</code>"),
        ("[b](http://a.example)", "{http://a.example|b}"),
        ("[http://b.example](http://a.example)", "{http://a.example|http://b.example}"),
        ("[www.b.example](http://a.example)", "{http://a.example|www.b.example}"),
        ("<http://a.example>", "{http://a.example|http://a.example}"),
        ("a www.b.example/c, d", "a {http://www.b.example/c|www.b.example/c}, d"),
        ("www.a", "www.a"),
        ("awww.b.example", "awww.b.example"),
        ("me@a.example", "{mailto:me@a.example|me@a.example}"),
        ("me@a", "me@a"),
        ("README.md file.py 1.2.3 a.b", "README.md file.py 1.2.3 a.b"),
        ("http://a.example/" + "x" * 3000, "http://a.example/" + "x" * 3000),
        ('<a href="/x">http://a.example www.b.example</a>', "{/x|http://a.example www.b.example}"),
    ],
)
def test_addresses_become_links(source, expected):
    assert links(source) == expected


def test_comments_do_not_link_email_addresses():
    assert links("me@a.example www.b.example", "comment") == "me@a.example {http://www.b.example|www.b.example}"
