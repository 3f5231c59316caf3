import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginalia.markup.characters import is_blank, normalize_for_search, normalize_newlines, scrub, truncate, unescape
from tests.markup.properties import holds


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("a\tb\nc\r\n", "a\tb\nc\r\n"),
        ("a\x00b\x08c\x7fd\x9fe", "abcde"),
        ("a\x0cb", "a b"),
        ("\u202eevil\u202c \u2066x\u2069", "evil x"),
        ("\u200f\u05d0 \u200d\u200c", "\u200f\u05d0 \u200d\u200c"),
        ("\ud83d", "\ufffd"),
        ("\U0001f600", "\U0001f600"),
    ],
)
def test_scrub_removes_control_characters(text, scrubbed):
    assert scrub(text) == scrubbed


INVISIBLE = [
    "",
    " \n",
    "\u00a0\u3000",
    *"\u00ad\u034f\u115f\u180e\u200b\u200d\u2060\u2800\u3164\ufe0f\ufeff\uffa0\U000e0041",
]
WELCOME = ["a", ".", "-", "\u0301", "❤\ufe0f", "\ue000", "می\u200cخواهم", "🇧🇷"]
WELCOME += ["👩\u200d👩\u200d👧", "🏴\U000e0067\U000e0062\U000e007f"]


@pytest.mark.parametrize("text", INVISIBLE)
def test_text_without_visible_characters_is_blank(text):
    assert is_blank(text)
    assert is_blank(f"\u200b {text}\u3164")


@pytest.mark.parametrize("text", WELCOME)
def test_text_with_a_visible_character_is_not_blank(text):
    assert not is_blank(text)
    assert not is_blank(f"\u200b{text}\u00ad")


@pytest.mark.parametrize("text", ["shopkeeper's", "shopkeeper’s", "shopkeeperʼs", "shop\u00adkeeper\u200b’s\ufeff"])
def test_search_treats_all_apostrophes_alike(text):
    assert normalize_for_search(text) == "shopkeeper’s"


@holds
@given(st.text(st.characters(), max_size=50))
def test_scrubbed_text_can_be_stored_and_sent(text):
    scrubbed = scrub(text)
    scrubbed.encode()
    assert scrub(scrubbed) == scrubbed


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        ("a &amp; b", "a & b"),
        ("&#x41;&#65;&eacute;", "AAé"),
        ("&#" + "9" * 5000 + ";", "\ufffd"),
        ("&#x" + "f" * 5000 + ";", "\ufffd"),
        ("&#00000000065;", "\ufffd"),
        ("no reference", "no reference"),
        ("&unknown;", "&unknown;"),
    ],
)
def test_unescape_decodes_any_reference(text, decoded):
    assert unescape(text) == decoded


def test_newlines_become_line_feeds():
    assert normalize_newlines("a\r\nb\rc\n\r\n") == "a\nb\nc\n\n"


@pytest.mark.parametrize(
    ("text", "length", "expected"),
    [
        ("abc", 5, "abc"),
        ("abc", 2, "ab"),
        ("abc", 0, ""),
        ("ae\u0301b", 2, "a"),
        ("ae\u0301b", 3, "ae\u0301"),
        ("a\U0001f468\u200d\U0001f469\u200d\U0001f467b", 3, "a"),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", 3, "\U0001f1e9\U0001f1ea"),
        ("x\u2764\ufe0f", 2, "x"),
        ("\u0301" * 9, 4, "\u0301" * 4),
    ],
)
def test_truncate_keeps_characters_whole(text, length, expected):
    assert truncate(text, length) == expected
