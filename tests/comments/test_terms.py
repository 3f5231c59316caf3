"""Terms of comments: words, names, domains and shingles."""

import pytest

from marginalia.comments import terms
from marginalia.comments.terms import Kind, Pattern


def of(source="", html="", name="", account="", email=""):
    return terms.of_comment(name=name, account=account, email=email, source=source, html=html)


def likeness(first: str, second: str) -> float:
    one, two = (set(terms.values(of(source), Kind.SHINGLE)) for source in (first, second))
    return len(one & two) / len(one)


def test_words_ignore_case_accents_and_punctuation():
    assert terms.values(of("Cheap, CHEAP pills! Café"), Kind.WORD) == ["cheap", "pills", "cafe"]


@pytest.mark.parametrize(
    "written",
    [
        "CASINO",
        "c\u0430sin\u043e",  # Cyrillic
        "c\u03b1\u0455\u03b9n\u03bf",  # Greek and Cyrillic
        "\uff43\uff41sino",  # full width
        "ca\u0301si\u0308no",
        "ca\u200bsi\u00adno",
        "ca\u202esi\x08no",
        "ca\U000e0061si\u2064no",
        "\u24d2asino",  # circled
    ],
)
def test_words_that_look_alike_are_the_same(written):
    assert terms.split(written) == ["casino"]


def test_words_of_other_scripts_stay_as_they_are():
    assert terms.split("\u0420\u0443\u0441\u0441\u043a\u0438\u0435 \u03bb\u03cc\u03b3\u03bf\u03b9") == [
        "\u0440\u0443\u0441\u0441\u043a\u0438\u0435",
        "\u03bb\u03bf\u03b3\u03bf\u03b9",
    ]


def test_scripts_without_spaces_are_split_into_pairs():
    assert terms.values(of("买药 now"), Kind.WORD) == ["now", "买药"]
    assert terms.values(of("便宜药品"), Kind.WORD) == ["便宜", "宜药", "药品"]


def test_author_has_terms_for_name_account_and_email():
    author = of(name=" Ann  Lee ", account="7", email="Ann@Mail.Example")
    assert author == ["name:ann lee", "account:7", "email:ann@mail.example", "from:mail.example"]


def test_links_have_terms_for_their_domain_and_its_parents():
    html = '<p><a href="https://www.casino.example:8080/a?b" rel="ugc">x</a> <a href="http://[bad">y</a></p>'
    assert terms.values(of("x", html), Kind.LINK_DOMAIN) == ["www.casino.example", "casino.example"]
    for url in ("mailto:a@b.example", "/about", "about.example", "#note"):
        assert terms.values(of("x", f'<a href="{url}">x</a>'), Kind.LINK_DOMAIN) == []


@pytest.mark.parametrize(
    "host",
    [
        "CAF\u00c9.example",
        "cafe\u0301.example",
        "xn--caf-dma.example",
        "caf\u00e9\u3002example",
        "user:pw@xn--caf-dma.example.:80",
        "%78n--caf-dma.example",
    ],
)
@pytest.mark.parametrize("scheme", ["http://", "HTTPS:/", "http:", "http:///", "//", "\\\\/"])
def test_domains_are_compared_in_punycode(host, scheme):
    html = f'<a href="{scheme}{host}/x">x</a>'
    assert terms.values(of(html=html), Kind.LINK_DOMAIN) == ["xn--caf-dma.example"]


def test_long_domains_have_terms_for_themselves_and_the_last_parents():
    html = '<a href="http://a.b.c.d.e.f.casino.example">x</a>'
    assert terms.values(of(html=html), Kind.LINK_DOMAIN) == [
        "a.b.c.d.e.f.casino.example",
        "d.e.f.casino.example",
        "e.f.casino.example",
        "f.casino.example",
        "casino.example",
    ]


def test_similar_texts_share_most_shingles():
    spam = "You can win one million dollars today if you only visit our new and shiny casino, number {}, right now"
    assert likeness(spam.format(1), spam.format(2)) >= terms.ALIKE
    assert likeness(spam, "A thoughtful answer about the history of bridges, with an example from our own city") == 0


def test_short_texts_are_alike_only_if_they_are_equal():
    assert likeness("Nice post!", "nice POST") == 1
    assert likeness("Nice post!", "Nice photo!") == 0
    assert terms.values(of("?!"), Kind.SHINGLE) == []


def test_number_and_length_of_words_are_limited():
    long = terms.values(of(" ".join(f"{n}" * 50 for n in range(1000))), Kind.WORD)
    assert len(long) == terms.MAX_WORDS
    assert max(map(len, long)) == terms.MAX_WORD
    links = "".join(f'<a href="http://{n}.example">x</a>' for n in range(1000))
    assert len(of(html=links)) == terms.MAX_LINKS
    every = terms.of_comment(
        name="", account="", email="", source=" ".join(map(str, range(1000))), html=links, are_all=True
    )
    assert {"word:999", "link:999.example"} <= set(every)


def test_pattern_matches_texts_with_all_its_words():
    pattern = Pattern.parse("Cheap,  CASINO* !")
    assert str(pattern) == "cheap casino*"
    assert pattern.matches(sorted(terms.split("Two casinos, very cheap!")))
    assert not pattern.matches(sorted(terms.split("cheapest casinos")))
    assert not pattern.matches(terms.split("cheap"))


def test_pattern_without_words_is_empty():
    assert not Pattern.parse(" * ?? ")
    assert Pattern.parse("a" * 100_000).longest == terms.MAX_WORD
