"""The language of a node: chosen by an editor, detected from its text, or the language of the site."""

import pytest

from cms.testing.build import EDITOR, node, nonce
from nodes import languages
from nodes.selectors import stored_nodes
from nodes.services import editing
from nodes.services.site import save_settings

FRENCH = "Il y a dans la maison une table, et sur la table un livre qui est pour vous."


def language_of(key):
    return stored_nodes.get(key).language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (FRENCH, "fr"),
        ("שלום עולם", "he"),
        ("مرحبا بالعالم", "ar"),
        ("短歌を訳すということは、音を数えることだ。", "ja"),
        ("《红楼梦》是一部小说。", "zh"),
        ("안녕하세요 세계", "ko"),
        ("Lorem", "en"),
    ],
)
def test_language_is_detected_from_the_text(mongo, text, language):
    assert language_of(node(title="1", text=text)) == language


def test_chosen_language_precedes_the_detected_language(mongo):
    key = node(title="1", text=FRENCH, **{"detail.language": "pt-br"})
    assert language_of(key) == "pt-br"
    editing.save(EDITOR, key, nonce(key), {"detail.language": ""})
    assert language_of(key) == "fr"


def test_site_language_is_used_if_the_text_is_in_it(mongo):
    save_settings({"language": "zh-hans"}, {"language": "en"})
    assert language_of(node(title="红楼梦", text="《红楼梦》是一部小说。")) == "zh-hans"
    assert language_of(node(title="1", slug="one", text="1")) == "zh-hans"


def test_direction_is_of_the_language():
    assert [languages.direction(code) for code in ("he", "ar-eg", "en-gb", "tlh")] == ["rtl", "rtl", "ltr", "ltr"]
