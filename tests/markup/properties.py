"""Settings of the property tests, and the texts they use."""

from hypothesis import settings
from hypothesis import strategies as st

from marginalia.markup.tags import tag_set

# The same examples every time, because a test that fails at random says nothing about the current change.
holds = settings(max_examples=200, deadline=None, derandomize=True)

TAGS = sorted(
    tag_set(
        "a abbr article b blockquote br caption center code col colgroup dd details div dl dt em figure font form h1 h2 h3"
        " hr i iframe img li math mglyph mtext ol option p plaintext pre rp rt ruby s script select span strike strong"
        " style summary svg table tbody td template textarea tfoot th thead time title tr u ul unknown xmp"
    )
)
ATTRIBUTES = [
    'href="x"',
    "href=javascript:x",
    "href=#a",
    'href="http://a.example"',
    "id=a",
    'id="s-a"',
    'class="alignleft x language-c"',
    "style=x",
    "onclick=x",
    "src=photo:x",
    'alt="<b>"',
    "title='\"><img src=x>'",
    "colspan=2",
    "start=-1",
    "/",
    "=x",
    '"',
    'a="',
]
TEXTS = [
    "text",
    " ",
    "\n",
    "\n\n",
    "&lt;",
    "&",
    "<",
    ">",
    "</",
    "<!--",
    "-->",
    "<!",
    "<?",
    "]]>",
    "\x00",
    "\u202e",
    "&#x202e;",
    "&#0;",
    "&nbsp;",
    "\xa0",
    "\ud800",
    "`",
    "'",
    '"',
]
start_tags = st.builds(
    lambda tag, attributes, end: f"<{' '.join([tag, *attributes])}{end}",
    st.sampled_from(TAGS),
    st.lists(st.sampled_from(ATTRIBUTES), max_size=3),
    st.sampled_from([">", ">", ">", "/>", ""]),
)
end_tags = st.sampled_from([f"</{tag}>" for tag in TAGS])
soup = st.lists(st.one_of(start_tags, end_tags, st.sampled_from(TEXTS), st.text(max_size=5)), max_size=25).map("".join)
MARKS = [
    *(
        "[",
        "]",
        "(",
        ")",
        "![",
        "](",
        "*",
        "**",
        "_",
        "`",
        "```",
        "~~",
        ">",
        "-",
        "1.",
        "#",
        "|",
        "|-",
        ":-",
        "\\",
        "<",
        "&",
    ),
    *("==", "^", "$", "$$", "[^a]", "[^a]: ", ": ", "~", "[ ] ", "*[a]: ", "[!NOTE]"),
    *(";", "http://", "www.", "@", ":", "a", "b", "x.y", "photo:", " ", "\n", "\n\n", "\t"),
]
markdown = st.lists(st.one_of(st.sampled_from(MARKS), st.text(max_size=3)), max_size=40).map("".join)
