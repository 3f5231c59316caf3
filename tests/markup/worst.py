"""Texts with the highest cost: repetition, nesting, and sizes just below the limits of `markup.markdown`."""

from collections.abc import Callable
from itertools import count
from typing import Final

# Repeated until the text is long enough.
UNITS: Final = (
    *("www.a.b ", "www.a.b,", "a@b.cd ", "<a@b.c>", "@", "a@b-.b-.", "http://a ", "http://a", "http://(", "://"),
    *(
        "[",
        "[]",
        "[a](b)",
        "![a](b)",
        "![a](photo:b)\n\n",
        "[a]",
        "[a](",
        "](",
        "[^1]",
        "[^1]: a\n",
        "[a]: b\n",
        "[a]: b '",
    ),
    *("`", "`a``b```c", "*", "*a ", "**a *b ", "a**b", "_a_ ", "~~a~~ ", "\\", "&amp;", "&", "&#1;", "&#x", "<", ">"),
    *(
        "<b>",
        "<b a=b>",
        "<b " + "a=b " * 100 + ">",
        "</b>",
        "<br>",
        "<p>",
        "<h1>",
        "<h1>a</h1>",
        "<h1><h2>",
        "<h2 id=a>a</h2>",
    ),
    *(
        "<td>",
        "<td>1</td>",
        "<table><tr><td>",
        "<table><caption>",
        "<p><table><b>",
        "<li>",
        "<ul><li>",
        "<dl><dt>",
        "<dt><dd>",
    ),
    *("<a href=x>", "<a href=http://x>y</a>", "<a href=#a>", "<img src=x>", "<img src=photo:a>", "<b><p></b></p>"),
    *(
        "<!--",
        "<!-- -->",
        "<![CDATA[",
        "<?",
        "<!A ",
        "<script>",
        "<textarea>",
        "<svg>",
        "<select>",
        "<ruby><rt>",
        "<pre>\n",
    ),
    *(
        "\n",
        " \n",
        "a\n",
        "a  \n",
        "a\n\n",
        "---\n",
        "# a\n",
        "a\n=\n",
        "- ",
        "- a\n",
        " - a\n",
        "- - - a\n",
        "- a\n1. a\n",
        "> - a\n\n",
        "1. a\n",
        "#\n",
        ">",
        "> a\nb\n",
        "    a\n",
    ),
    *(
        "```\n",
        "~~~a\n",
        "|a",
        "a|b\n",
        "|a|b|\n|-|-|\n|c|d|\n",
        "|a|b|\n|-|-|\n|c|d|\n\n",
        "a|b\n-|-\na\na\na\n\n",
        "中",
        "ก",
        "e\u0301",
        "\u200d",
        "\U0001f468\u200d",
        "\U0001f1e6",
    ),
    *("::a\n", "::a{b=1}\n\n", ":::a\n", ":::\n", ":::a\n:::\n", "- :::a\n", "> ::a\n", "::a{" + "b" * 400 + "\n", ":"),
    *("==", "==a== ", "==a ", "^", "^a^", "^a ", "~a~", "~a ", "$", "$a$ ", "$a", "$$\n", "$$a\n", "$$a$$\n", "\\$"),
    *("a\n: b\n\n", "a\n: b\n", "a\n\n: b\n\n", ": ", "a\n: : b\n", "~ ", "- [ ] a\n", "[ ] ", "*[a]: b\n", "*[a"),
    *("[^", "[^a", "[^a]: [^a]\n", "> [!NOTE]\n> a\n\n", "> [!NOTE]\n", ">[!tip]", "> [!NOTE] a\n\n"),
    *("a", "a ", " ", "\t", "'", '"', '<a title="', "<div>", "<header>", "<acronym>"),
    # Just below the limit at a megabyte.
    *("www.a.b " + "x " * 14, "a@b.cd " + "x " * 14, "[a](b) " + "x " * 10, "![a](b) " + "x " * 12, "xxxxxxxxx\n"),
    *(
        "# xxxxxxxxxxx\n\n",
        "> xxxxxxxxxxxxx\n\n",
        "`xxxxxxx` xxxx ",
        "<b>xx</b>xxxxxxx",
        "|xxxxxxxxx|xxxxxxxx|xxxxxxxx|\n",
    ),
)
# Text that is written once, before the repeated part.
HEADS: Final = {
    "deep, an end": ("<b>" * 98, "</i>"),
    "deep, paragraphs": ("<b>" * 98, "<p>"),
    "deep, headings": ("<b>" * 98, "<h2>a</h2>"),
    "deep, links": ("<b>" * 98, "<a href=x>"),
    "behind a wall": ("<p><table><tr><td>" + "<b>" * 95, "</p>"),
    "behind a wall, in turns": ("<p><table><tr><td>" + "<b>" * 93, "<i></i></p>"),
    "one long address": ("[a]: " + "b" * 1_000 + "\n\n", "[a] "),
    "wide table": ("|" + "a|" * 1_000 + "\n|" + "-|" * 1_000 + "\n", "|" + "a|" * 1_000 + "\n"),
    "short rows": ("|" + "a|" * 300 + "\n|" + "-|" * 300 + "\n", "a\n"),
    "one column": ("|a|\n|-|\n", "a\n"),
    "two columns": ("a|b\n-|-\n", "a|b\n"),
    "ten columns": ("|a" * 10 + "\n" + "|-" * 10 + "\n", "|a" * 10 + "|\n"),
    "containers, then their ends": (":::a\n" * 500, ":::\n"),
    "deep, inserts": ("<div data-insert=a>" * 98, "</div>"),
    "one footnote": ("[^1]: a\n\n", "[^1]"),
    "one footnote, unended": ("[^1]: a\n\n", "[^"),
    "one abbreviation": ("*[a]: " + "b" * 200 + "\n\n", "a "),
    "definitions of one term": ("a\n", ": b\n"),
    "backslashes in signs": ("^", "\\\\"),
    "backslashes in maths": ("$", "\\\\"),
    "unended maths": ("$$\n", "a\n"),
    "links to a heading": ("<h2 id=a>a</h2>", "<a href=#a>b</a>"),
}


def texts(size: int) -> dict[str, str]:
    """Return every text by name, each of about `size` characters."""
    found = {repr(unit[:20]): unit * (size // len(unit)) for unit in UNITS}
    found |= {name: head + unit * ((size - len(head)) // len(unit)) for name, (head, unit) in HEADS.items()}
    found["brackets"] = "[" * (size // 2) + "]" * (size // 2)
    found["deep quotations"] = (">" * 60 + "a\n") * (size // 62)
    found["deep quotations of paragraphs"] = (">" * 55 + "a\n\n") * (size // 57)
    found["deep lists"] = _numbered(size, lambda n: "  " * min(n % 30, 29) + "- a\n")
    found["definitions"] = _numbered(size, lambda n: f"[{n}]: b\n")
    found["footnotes"] = _numbered(size, lambda n: f"[^{n}]\n\n[^{n}]: [^{n + 1}]\n\n")
    found["abbreviations"] = _numbered(size, lambda n: f"*[a{n}]: b\n") + "a1 " * (size // 30)
    found["deep definitions"] = _numbered(size, lambda n: "  " * min(n % 30, 29) + ("a\n" if n % 2 else ": b\n"))
    found["deep notes"] = (">" * 50 + "[!NOTE]\n" + ">" * 50 + "a\n\n") * (size // 112)
    found["runs of backticks"] = _numbered(size, lambda n: "`" * n + " ")
    found["identifiers"] = _numbered(size, lambda n: f"<h2 id=x{n}>a</h2>")
    found["photos"] = _numbered(size, lambda n: f"![a](photo:{n})\n\n")
    return found


def _numbered(size: int, made: Callable[[int], str]) -> str:
    parts: list[str] = []
    length = 0
    for number in count(1):
        part = made(number)
        length += len(part)
        if length > size:
            return "".join(parts)
        parts.append(part)
    raise AssertionError("count() does not end")


def versions(size: int) -> dict[str, tuple[str, str, str]]:
    """Return, by name, a text of about `size` characters and two versions of it that are hard to compare and merge."""
    short = [f"p {number}" for number in range(size // 9)]
    mine = [f"{text} m" if number % 2 else text for number, text in enumerate(short)]
    theirs = [text if number % 2 else f"{text} t" for number, text in enumerate(short)]
    words = [f"w{number % 997} x{number * 7919 % 1009}" for number in range(size // 9)]
    return {
        "every other paragraph": (_joined(short), _joined(mine), _joined(theirs)),
        "all others": (_joined(short), _joined(f"q{text}" for text in short), _joined(f"r{text}" for text in short)),
        "backwards": (_joined(short), _joined(reversed(short)), _joined([*short[::2], *short[1::2]])),
        "few words": tuple(_joined(chr(97 + number * step % 7) for number in range(size // 3)) for step in (1, 3, 5)),  # type: ignore[dict-item]
        "blocks of paragraphs": tuple(_blocks(size, side) for side in range(3)),  # type: ignore[dict-item]
        "fifty long paragraphs": tuple(_long(words, side) for side in (1, 2, 3)),  # type: ignore[dict-item]
        "one paragraph": (" ".join(words), " ".join(reversed(words)), " ".join(words[::-3])),
        "links": ("www.a.b " * (size // 8), "www.c.d " * (size // 8), "www.e.f " * (size // 8)),
    }


def _joined(paragraphs: object) -> str:
    return "\n\n".join(paragraphs)  # type: ignore[call-overload, no-any-return]


def _blocks(size: int, side: int) -> str:
    """Return some 50 changed paragraphs between two unchanged ones, repeatedly, in different numbers."""
    length = 48 + side
    return _joined(
        part
        for block in range(size // 900)
        for part in (f"same {block}", *(f"{side} {block} {n} aa bb" for n in range(length)))
    )


def _long(words: list[str], side: int) -> str:
    """Return fifty paragraphs of words, different ones on each side."""
    many = len(words) // 50
    return _joined(" ".join(words[n * many + side : (n + 1) * many]) + f" {side}" for n in range(50))
