"""Texts of old WordPress posts, for property tests."""

from hypothesis import strategies as st

TAGS = (
    "p",
    "b",
    "i",
    "span",
    "div",
    "ul",
    "li",
    "blockquote",
    "pre",
    "code",
    "h2",
    "table",
    "tr",
    "td",
    "dl",
    "dt",
    "figure",
)
STARTS = [f"<{name}>" for name in TAGS]
ENDS = [f"</{name}>" for name in TAGS]
ODD_TAGS = [
    "<p class='x'>",
    '<a href="#">',
    "<a name='here'>",
    "</a>",
    "<br />",
    "<br>",
    "<img src=x>",
    "<hr>",
    "<!-- c -->",
]
TEXTS = ["word", "two words", " ", "\n", "\n\n", "\n \n", "\t", "\r\n", "*", "é", "<", ">", "&lt;", "&amp;", "&nbsp;"]
SHORTCODES = ["[x]", "[caption]", "[/caption]"]
FRAGMENTS = st.sampled_from([*STARTS, *ENDS, *ODD_TAGS, *TEXTS, *SHORTCODES])
SOURCES = st.lists(FRAGMENTS, max_size=30).map("".join) | st.text()
