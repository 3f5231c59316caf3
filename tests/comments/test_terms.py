"""Terms of comments: words, names, domains and shingles."""

from marginalia.comments import terms
from marginalia.comments.terms import Kind, Pattern


def of(source="", html="", name="", account="", email=""):
    return terms.of_comment(name=name, account=account, email=email, source=source, html=html)


def likeness(first: str, second: str) -> float:
    one, two = (set(terms.values(of(source), Kind.SHINGLE)) for source in (first, second))
    return len(one & two) / len(one)


def test_words_ignore_case_accents_and_punctuation():
    assert terms.values(of("Cheap, CHEAP pills! Café"), Kind.WORD) == ["cheap", "pills", "cafe"]


def test_scripts_without_spaces_are_split_into_pairs():
    assert terms.values(of("买药 now"), Kind.WORD) == ["now", "买药"]
    assert terms.values(of("便宜药品"), Kind.WORD) == ["便宜", "宜药", "药品"]


def test_author_has_terms_for_name_account_and_email():
    author = of(name=" Ann  Lee ", account="7", email="Ann@Mail.Example")
    assert author == ["name:ann lee", "account:7", "email:ann@mail.example", "from:mail.example"]


def test_links_have_terms_for_their_domain_and_its_parents():
    html = '<p><a href="https://www.casino.example:8080/a?b" rel="ugc">x</a> <a href="http://[bad">y</a></p>'
    assert terms.values(of("x", html), Kind.LINK_DOMAIN) == ["www.casino.example", "casino.example"]
    assert terms.values(of("x", '<a href="mailto:a@b.example">x</a>'), Kind.LINK_DOMAIN) == []


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


def test_pattern_matches_texts_with_all_its_words():
    pattern = Pattern.parse("Cheap,  CASINO* !")
    assert str(pattern) == "cheap casino*"
    assert pattern.matches(sorted(terms.split("Two casinos, very cheap!")))
    assert not pattern.matches(sorted(terms.split("cheapest casinos")))
    assert not pattern.matches(terms.split("cheap"))


def test_pattern_without_words_is_empty():
    assert not Pattern.parse(" * ?? ")
    assert Pattern.parse("a" * 100_000).longest == terms.MAX_WORD
