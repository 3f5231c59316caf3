"""Splitting text into words and terms, and reading queries."""

import pytest

from nodes.search import languages, query, words

ENGLISH = "The letters that we have were all on the table, and there they are to this day."


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (ENGLISH, "en"),
        ("Die Briefe, die wir haben, lagen alle auf dem Tisch, und da sind sie noch.", "de"),
        ("Les lettres que nous avons sont dans la maison, et elles sont à vous.", "fr"),
        ("Письма, которые лежали на столе", "ru"),
        ("Letters", ""),
        ("红楼梦", "zh"),
        ("红楼梦は小説です", "ja"),
        ("שלום", "he"),
        ("", ""),
    ],
)
def test_language_is_guessed_from_function_words_and_scripts(text, language):
    assert languages.guess(text) == language


@pytest.mark.parametrize(
    ("one", "other", "language"),
    [
        ("letters", "letter", "en"),
        ("Writers", "writer", "en"),
        ("Häuser", "hauser", "de"),
        ("publiée", "publiees", "fr"),
        ("Søren", "soren", "da"),
        ("Łódź", "lodz", "pl"),
        ("письма", "письмо", "ru"),
        ("ＩＮＫ", "ink", "en"),
        ("cafe\u0301", "café", "en"),
        ("straße", "STRASSE", "de"),
        ("it’s", "it's", "en"),
        ("e-mail", "email", "en"),
        ("l’arbre", "arbre", "fr"),
        ("shop\u00adkeeper", "shopkeeper", "en"),
        ("iPhone手机", "手机", "zh"),
    ],
)
def test_forms_of_a_word_have_a_term_in_common(one, other, language):
    assert words.all_terms(one, language) & words.all_terms(other, language)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("letter writers", {"words": ("letter", "writers")}),
        ('"wide margin" ink', {"words": ("wide", "margin", "ink"), "phrases": (("wide", "margin"),)}),
        ("“wide margin", {"words": ("wide", "margin"), "phrases": (("wide", "margin"),)}),
        ("ink-galls e-mail", {"words": ("ink", "galls", "email")}),
        ('tag:craft tag:"letter writing"', {"tags": ("craft", "letter writing")}),
        ("author:ines in:essays", {"authors": ("ines",), "sections": ("essays",)}),
        ("红楼梦 ink", {"words": ("红楼梦", "ink")}),
        ("Tag:craft IN:essays", {"tags": ("craft",), "sections": ("essays",)}),
        ("tag:", {"words": ("tag",)}),
        ('tag:, author:- in:-- tag:🙂 tag:"', {}),
        ("- -- \x00", {}),
    ],
)
def test_query_is_parsed(typed, expected):
    parsed = query.parse(typed)
    assert parsed.required == query.Criteria(**expected)
    assert parsed.is_empty == (not expected)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("-galls", {"words": ("galls",)}),
        ("-e-mail", {"words": ("email",)}),
        ('-"oak galls"', {"phrases": (("oak", "galls"),)}),
        ('-"oak', {"words": ("oak",)}),
        (
            '-tag:craft -author:ann -in:"field notes"',
            {"tags": ("craft",), "authors": ("ann",), "sections": ("field notes",)},
        ),
        ('-tag: -"" - --', {"words": ("tag",)}),
    ],
)
def test_excluded_parts_are_parsed(typed, expected):
    assert query.parse(f"ink {typed}").excluded == query.Criteria(**expected)
    assert query.parse(typed).is_empty
