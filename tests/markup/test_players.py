"""URLs of videos and posts, and the players that show them in a frame."""

import pytest

from marginalia.markup.inserts.players import find_player

TUBE = "https://www.youtube-nocookie.com/embed/aqz-KE-bpKQ?autoplay=1"


@pytest.mark.parametrize(
    ("url", "src"),
    [
        ("https://www.youtube.com/watch?v=aqz-KE-bpKQ", TUBE),
        ("http://youtube.com/watch?list=x&v=aqz-KE-bpKQ&t=10s", TUBE),
        ("https://m.youtube.com/shorts/aqz-KE-bpKQ", TUBE),
        ("https://youtu.be/aqz-KE-bpKQ?si=abc", TUBE),
        ("https://vimeo.com/1084537", "https://player.vimeo.com/video/1084537?autoplay=1&dnt=1"),
        ("https://player.vimeo.com/video/1084537?h=1", "https://player.vimeo.com/video/1084537?autoplay=1&dnt=1"),
        ("https://tube.example.org/w/9c9de5e8", "https://tube.example.org/videos/embed/9c9de5e8?autoplay=1&p2p=0"),
        ("https://tube.example.org/videos/watch/9c-9d", "https://tube.example.org/videos/embed/9c-9d?autoplay=1&p2p=0"),
        ("https://social.example/@ann/1234", "https://social.example/@ann/1234/embed"),
        ("https://social.example/@ann@other.example/1234#x", "https://social.example/@ann@other.example/1234/embed"),
    ],
)
def test_known_players_are_found(url, src):
    player = find_player(url)
    assert player.src == src
    assert src.startswith(f"{player.origin}/")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "https://example.org/",
        "https://evil.example/?https://youtu.be/abc",
        "https://youtube.com.evil.example/watch?v=abc",
        "https://www.youtube.com/watch?v=",
        "javascript:alert(1)//https://youtu.be/abc",
        "https://social.example;script-src/@ann/1234",
        "https://a b.example/@ann/1234",
        "https://user@social.example/@ann/1234",
        "http://social.example/@ann/1234",
        "https://localhost/@ann/1234",
        "https://vimeo.com/watch",
    ],
)
def test_other_addresses_have_no_player(url):
    assert find_player(url) is None
