import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginalia.markup.characters import normalize_newlines
from marginalia.markup.comparing.merge import Chunk, compare, fill, merge, resolve
from marginalia.markup.directives import find_fences
from tests.markup.properties import holds

BASE = "one a b\n\ntwo c d\n\nthree e f"


@pytest.mark.parametrize(
    ("mine", "theirs", "merged"),
    [
        pytest.param(
            "one X b\n\ntwo c d\n\nthree e f",
            "one a b\n\ntwo c d\n\nthree Y f",
            "one X b\n\ntwo c d\n\nthree Y f",
            id="apart",
        ),
        pytest.param(
            "one X b\n\ntwo c d\n\nthree e f",
            "one a b\n\ntwo Y d\n\nthree e f",
            "one X b\n\ntwo Y d\n\nthree e f",
            id="neighbours",
        ),
        pytest.param(
            "quite other\n\ntwo c d\n\nthree e f",
            "one a b\n\nsomething else\n\nthree e f",
            "quite other\n\nsomething else\n\nthree e f",
            id="neighbours rewritten",
        ),
        pytest.param("zero\n\n" + BASE, BASE + "\n\nfour", "zero\n\n" + BASE + "\n\nfour", id="both ends"),
        pytest.param(
            "one a b\n\nnew\n\ntwo c d\n\nthree e f",
            "one a b\n\ntwo c d\n\nthree e f\n\nmore",
            "one a b\n\nnew\n\ntwo c d\n\nthree e f\n\nmore",
            id="inserted at two places",
        ),
        pytest.param(
            "one a b\n\nnew\n\ntwo c d\n\nthree e f",
            "one X b\n\ntwo c d\n\nthree e f",
            "one X b\n\nnew\n\ntwo c d\n\nthree e f",
            id="inserted after a changed one",
        ),
        pytest.param(
            "one a b\n\nnew\n\ntwo c d\n\nthree e f",
            "one a b\n\ntwo X d\n\nthree e f",
            "one a b\n\nnew\n\ntwo X d\n\nthree e f",
            id="inserted before a changed one",
        ),
        pytest.param(
            "one X b\n\nnew\n\ntwo c d\n\nthree e f",
            "one a b\n\ntwo Y d\n\nthree e f",
            "one X b\n\nnew\n\ntwo Y d\n\nthree e f",
            id="changed and inserted beside a change",
        ),
        pytest.param("two c d\n\nthree e f", BASE + "\n\nfour", "two c d\n\nthree e f\n\nfour", id="deleted, appended"),
        pytest.param("one a b\n\ntwo c d", BASE + "\n\nfour", "one a b\n\ntwo c d\n\nfour", id="end deleted, appended"),
        pytest.param(
            "one a b\n\ntwo c d", "one X b\n\ntwo c d\n\nthree e f", "one X b\n\ntwo c d", id="deleted, changed"
        ),
        pytest.param("three e f\n\none a b\n\ntwo c d", BASE, "three e f\n\none a b\n\ntwo c d", id="moved"),
        pytest.param(
            BASE.replace("\n", "\r\n"),
            "one X b\r\n\r\ntwo c d\r\n\r\nthree e f",
            "one X b\n\ntwo c d\n\nthree e f",
            id="line ends of browsers",
        ),
        pytest.param(
            "one a b\n\n\n\ntwo c d\n\nthree e f\n",
            "one X b\n\ntwo c d\n\nthree e f",
            "one X b\n\n\n\ntwo c d\n\nthree e f\n",
            id="empty lines",
        ),
        pytest.param("", BASE, "", id="all deleted"),
        pytest.param(BASE.upper(), BASE.upper(), BASE.upper(), id="the same"),
    ],
)
def test_separate_changes_merge(mine, theirs, merged):
    assert merge(BASE, mine, theirs).text == merged
    assert merge(BASE, theirs, mine).text == merged


@pytest.mark.parametrize(
    ("mine", "theirs", "conflict"),
    [
        pytest.param(
            "one a b\n\ntwo X d\n\nthree e f",
            "one a b\n\ntwo Y d\n\nthree e f",
            ("two c d", "two X d", "two Y d"),
            id="same paragraph",
        ),
        pytest.param(
            "one a b\n\nnew\n\ntwo c d\n\nthree e f",
            "one a b\n\nother\n\ntwo c d\n\nthree e f",
            ("", "new", "other"),
            id="inserted at one place",
        ),
        pytest.param(BASE + "\n\nnew", BASE + "\n\nother", ("", "new", "other"), id="both appended"),
        pytest.param(
            "one a b\n\nthree e f",
            "one a b\n\ntwo Y d\n\nthree e f",
            ("two c d", "", "two Y d"),
            id="deleted and changed",
        ),
        pytest.param(
            "one X b\n\ntwo X d\n\nthree X f",
            "one X b\n\ntwo Y d\n\nthree X f",
            ("two c d", "two X d", "two Y d"),
            id="a conflict holds no more than it must",
        ),
        pytest.param("new", "other", (BASE, "new", "other"), id="all rewritten"),
    ],
)
def test_overlapping_changes_are_a_conflict(mine, theirs, conflict):
    merged = merge(BASE, mine, theirs)
    assert merged.text is None
    assert merged.conflicts == 1
    found = next(chunk for chunk in merged.chunks if chunk.kind == "conflict")
    assert (found.base, found.mine, found.theirs, found.text) == (*conflict, None)


@pytest.mark.parametrize(("mine", "theirs"), [("BACD", "BCDA"), ("BCDA", "BACD")])
def test_paragraph_moved_to_two_places_is_a_conflict_in_both(mine, theirs):
    base, mine, theirs = map("\n\n".join, ("ABCD", mine, theirs))
    merged = merge(base, mine, theirs)
    assert merged.conflicts == 2
    assert resolve(merged, ["mine", "mine"]) == mine
    assert resolve(merged, ["theirs", "theirs"]) == theirs


@holds
@given(st.permutations("ABCDE"), st.permutations("ABCDE"))
def test_merge_without_a_conflict_has_every_moved_paragraph_once(mine, theirs):
    merged = merge(*map("\n\n".join, ("ABCDE", mine, theirs)))
    assert merged.conflicts or sorted(merged.text.split("\n\n")) == list("ABCDE")


def test_first_versions_from_two_sides_are_merged():
    assert merge("", "a", "").text == "a"
    assert merge("", "a", "b").chunks == (Chunk("conflict", "", "a", "b", None, "\n\n"),)


@pytest.mark.parametrize(
    ("pick", "text"),
    [
        ("base", "one a b\n\ntwo c d\n\nthree T f"),
        ("mine", "one a b\n\ntwo X d\n\nthree T f"),
        ("theirs", "one a b\n\ntwo Y d\n\nthree T f"),
        ("both", "one a b\n\ntwo Y d\n\ntwo X d\n\nthree T f"),
    ],
)
def test_resolve_applies_the_choices(pick, text):
    merged = merge(BASE, "one a b\n\ntwo X d\n\nthree e f", "one a b\n\ntwo Y d\n\nthree T f")
    assert resolve(merged, [pick]) == text


@pytest.mark.parametrize("picks", [[], ["mine", "mine"]])
def test_resolve_needs_a_choice_for_each_conflict(picks):
    with pytest.raises(ValueError, match="1 conflict"):
        resolve(merge("a", "b", "c"), picks)


def test_chunks_name_the_side_that_changed_them():
    merged = merge(BASE, "one X b\n\ntwo Z d\n\nthree e f", "one a b\n\ntwo Z d\n\nthree Y f\n\nfour")
    assert [(chunk.kind, chunk.text) for chunk in merged.chunks] == [
        ("mine", "one X b"),
        ("both", "two Z d"),
        ("theirs", "three Y f"),
        ("theirs", "four"),
    ]


paragraphs = st.sampled_from(["a", "b", "c", "d", "a b", "a\nb", "long one with words", "    code", "- x\n- y", "漢字"])
gaps = st.sampled_from(["\n\n", "\n\n", "\n\n\n", "\n \n", "\n", "\r\n\r\n"])
texts = st.builds(
    lambda lead, parts, tail: lead + "".join(part + gap for part, gap in parts) + tail,
    st.sampled_from(["", "", "\n", "  "]),
    st.lists(st.tuples(paragraphs, gaps), max_size=8),
    st.sampled_from(["", "", "end", " ", "\n"]),
)


@st.composite
def versions(draw):
    """A base and two texts derived from it by some edits, or not."""
    base = draw(texts)
    return base, *(draw(texts) if draw(st.integers(0, 4)) == 0 else _edited(draw, base) for _ in range(2))


def _edited(draw, text):
    parts = text.split("\n\n")
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(parts) - 1))
        match draw(st.sampled_from(["change", "insert", "delete", "move"])):
            case "change":
                parts[place] += draw(st.sampled_from([" p", " q", "\nr"]))
            case "insert":
                parts.insert(place, draw(st.sampled_from(["new p", "new q", "a"])))
            case "delete" if len(parts) > 1:
                del parts[place]
            case "move":
                parts.append(parts.pop(place))
    return "\n\n".join(parts)


@holds
@given(texts, texts)
def test_changes_of_one_side_are_merged_unchanged(base, other):
    assert merge(base, base, other).text == normalize_newlines(other)
    assert merge(base, other, base).text == normalize_newlines(other)
    assert merge(base, other, other).text == normalize_newlines(other)


@holds
@given(versions())
def test_exchanged_sides_give_the_same_merge(three):
    base, mine, theirs = three
    one, other = merge(base, mine, theirs), merge(base, theirs, mine)
    exchanged = {"mine": "theirs", "theirs": "mine"}
    assert one.text == other.text
    assert [(exchanged.get(c.kind, c.kind), c.base, c.theirs, c.mine, c.text, c.gap) for c in one.chunks] == [
        (c.kind, c.base, c.mine, c.theirs, c.text, c.gap) for c in other.chunks
    ]


def _lines(text):
    return {line.strip() for line in normalize_newlines(text).split("\n")} - {""}


@holds
@given(versions())
def test_merge_loses_no_typed_text(three):
    base, mine, theirs = three
    merged = merge(base, mine, theirs)
    kept = set()
    for chunk in merged.chunks:
        kept |= _lines(chunk.text) if chunk.text is not None else _lines(chunk.mine) | _lines(chunk.theirs)
    assert (_lines(mine) | _lines(theirs)) - _lines(base) <= kept
    assert kept <= _lines(mine) | _lines(theirs) | _lines(base)


@pytest.mark.slow
@holds
@given(versions(), st.data())
def test_every_conflict_can_be_resolved(three, data):
    merged = merge(*three)
    picks = [data.draw(st.sampled_from(["base", "mine", "theirs", "both"])) for _ in range(merged.conflicts)]
    text = resolve(merged, picks)
    # A second merge with the same sides changes nothing in the resolved text.
    assert merge(text, text, text).text == text


@holds
@given(versions(), st.data())
def test_each_conflict_gets_its_chosen_text_and_nothing_else_changes(three, data):
    merged = merge(*three)
    conflicts = [chunk for chunk in merged.chunks if chunk.text is None]
    chosen = []
    for chunk in conflicts:
        pick = data.draw(st.sampled_from(["mine", "theirs", "both", "combined", "written"]))
        written = {"combined": chunk.combined(), "written": "# Written\n\nby hand"}
        chosen.append(written.get(pick) or chunk.side(pick))
    texts = iter(chosen)
    around = [(chunk.text if chunk.text is not None else next(texts), chunk.gap) for chunk in merged.chunks]
    expected = [part for text, gap in around if text for part in (text, gap)][:-1]
    assert fill(merged, chosen) == "".join([merged.lead, *expected, merged.tail])
    assert fill(merged.condensed(100), chosen) == fill(merged, chosen)


@holds
@given(versions())
def test_combined_text_of_a_conflict_has_every_word_that_a_side_added(three):
    for chunk in merge(*three).chunks:
        added = (set(chunk.mine.split()) | set(chunk.theirs.split())) - set(chunk.base.split())
        assert added <= set(chunk.combined().split())


@pytest.mark.parametrize(
    ("mine", "theirs", "combined"),
    [
        pytest.param("one A b c d", "one a b c D", "one A b c D", id="different words"),
        pytest.param("one A b c d", "one X b c d", "one X b c d\n\none A b c d", id="the same word"),
        pytest.param("one a", "one a b C d", "one a b C d\n\none a", id="deleted and changed"),
        pytest.param("one A b c D", "one A b c d e", "one A b c d e\n\none A b c D", id="changes side by side"),
        pytest.param("", "one a b c D", "one a b c D", id="deleted"),
    ],
)
def test_combined_text_has_the_changes_of_both_sides(mine, theirs, combined):
    assert Chunk("conflict", "one a b c d", mine, theirs, None, "\n\n").combined() == combined


@holds
@given(texts, texts, st.booleans())
def test_comparison_without_a_base_keeps_both_texts(mine, theirs, is_mine):
    merged = compare(mine, theirs)
    chosen = resolve(merged, ["mine" if is_mine else "theirs"] * merged.conflicts)
    assert chosen.split() == (mine if is_mine else theirs).split()


@holds
@given(versions(), st.integers(1, 3))
def test_condensed_merge_has_few_conflicts_and_the_same_sides(three, most):
    merged = merge(*three)
    condensed = merged.condensed(most)
    assert condensed.conflicts == min(merged.conflicts, most)
    assert len(condensed.chunks) <= 2 * most + 1
    for side in ("mine", "theirs"):
        texts = (resolve(each, [side] * each.conflicts) for each in (merged, condensed))
        one, other = (text.split() for text in texts)
        assert one == other


@holds
@given(st.lists(st.sampled_from(["keep", "mine", "theirs"]), max_size=12), st.booleans())
def test_edits_of_different_paragraphs_never_conflict(sides, rewrite):
    base = [f"paragraph {number} of the text {number}" for number in range(len(sides))]

    def version(side):
        change = "{0} anew" if rewrite else "{1} {0}"
        return [
            change.format(f"{side}{number}", text) if sides[number] == side else text
            for number, text in enumerate(base)
        ]

    mine, theirs = version("mine"), version("theirs")
    merged = merge("\n\n".join(base), "\n\n".join(mine), "\n\n".join(theirs))
    both = [m if w == "mine" else t for w, m, t in zip(sides, mine, theirs, strict=True)]
    assert merged.text == "\n\n".join(both)


@holds
@given(st.sets(st.integers(0, 8), max_size=4), st.sets(st.integers(0, 8), max_size=4))
def test_paragraphs_inserted_at_different_places_never_conflict(mine, theirs):
    base = [f"paragraph {number}" for number in range(8)]

    def version(places, name):
        parts = []
        for number in range(9):
            parts += [f"{name} at {number}"] if number in places else []
            parts += base[number : number + 1]
        return "\n\n".join(parts)

    theirs -= mine
    merged = merge("\n\n".join(base), version(mine, "mine"), version(theirs, "theirs"))
    assert merged.conflicts == 0
    assert merged.text.count("mine") == len(mine)
    assert merged.text.count("theirs") == len(theirs)


INSERT = ":::note\none\n\ntwo\n:::"


def test_container_is_one_paragraph():
    """Both sides changed different paragraphs in it. This is a conflict, because a container is not split."""
    base = f"before\n\n{INSERT}\n\nafter"
    mine, theirs = base.replace("one", "ONE"), base.replace("two", "TWO")
    (conflict,) = (chunk for chunk in merge(base, mine, theirs).chunks if chunk.kind == "conflict")
    assert (conflict.base, conflict.mine) == (INSERT, INSERT.replace("one", "ONE"))
    assert merge(base, mine, base.replace("after", "AFTER")).text == mine.replace("after", "AFTER")


@pytest.mark.parametrize("text", ["```\n:::note\n\na\n```\n\nb", "a\n\n:::note\n\nb", ":::\n\na\n\nb"])
def test_incomplete_container_is_split_into_paragraphs(text):
    first, rest = text.split("\n\n", 1)
    merged = merge(text, f"{first} x\n\n{rest}", f"{text} y")
    assert merged.text == f"{first} x\n\n{rest} y"


PIECES = [
    "a",
    "b",
    "c",
    INSERT,
    INSERT.replace("one", "uno"),
    "```\n:::note\n\n```",
    ":::x\n:::y\n\nz\n:::\n:::",
    "d\n:::z\n:::",
]


@st.composite
def contained(draw):
    """Three versions whose containers are all closed."""
    base = draw(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6))
    return tuple("\n\n".join(parts) for parts in (base, _rearranged(draw, base), _rearranged(draw, base)))


def _rearranged(draw, base):
    parts = list(base)
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(parts)))
        match draw(st.sampled_from(["insert", "delete", "change", "wrap"])):
            case "insert":
                parts.insert(place, draw(st.sampled_from(PIECES)))
            case "delete":
                del parts[place : place + 1]
            case "change":
                parts = [*parts[:place], *(part.replace("o", "0") for part in parts[place:])]
            case "wrap":
                end = draw(st.integers(place, len(parts)))
                parts[place:end] = ["\n\n".join((":::w", *parts[place:end], ":::"))]
    return parts


@holds
@given(contained())
def test_merge_of_closed_containers_leaves_none_open(three):
    merged = merge(*three)
    assert all(find_fences(text).is_balanced for text in three)
    assert merged.text is None or find_fences(merged.text).is_balanced
    assert all(
        find_fences(resolve(merged, [side] * merged.conflicts)).is_balanced for side in ("mine", "theirs", "both")
    )
