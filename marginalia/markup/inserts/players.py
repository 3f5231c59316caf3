"""Players: pages on other sites that show a video or post in an iframe."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_ID: Final = r"([\w-]{1,64})"
_HOST: Final = r"((?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24})"
_END: Final = r"(?:[/?#&].*)?"


@dataclass(frozen=True)
class Player:
    """A page on another site that shows a video or post in an iframe.

    Attributes:
        src: The URL of the player page.
        origin: The origin that the Content-Security-Policy has to allow.
        site: The name of the other site.
    """

    site: str
    origin: str
    src: str


# Maps each URL pattern to the name of the site, the origin, and the path of the player page. The pattern's groups are
# inserted into the origin and the path.
_SITES: Final[Mapping[str, tuple[str, str, str]]] = {
    rf"https?://(?:www\.|m\.)?youtube\.com/(?:watch\?(?:[^#]{{0,300}}&)?v=|shorts/|live/|embed/){_ID}{_END}": (
        "YouTube",
        "https://www.youtube-nocookie.com",
        "/embed/{0}?autoplay=1",
    ),
    rf"https?://youtu\.be/{_ID}{_END}": ("YouTube", "https://www.youtube-nocookie.com", "/embed/{0}?autoplay=1"),
    rf"https?://(?:www\.|player\.)?vimeo\.com/(?:video/)?(\d{{1,20}}){_END}": (
        "Vimeo",
        "https://player.vimeo.com",
        "/video/{0}?autoplay=1&dnt=1",
    ),
    rf"https://{_HOST}/(?:w|videos/watch|videos/embed)/{_ID}{_END}": (
        "PeerTube",
        "https://{0}",
        "/videos/embed/{1}?autoplay=1&p2p=0",
    ),
    rf"https://{_HOST}/@([\w.@-]{{1,200}})/(\d{{1,30}}){_END}": ("Mastodon", "https://{0}", "/@{1}/{2}/embed"),
}
_PATTERNS: Final = [(re.compile(pattern, re.ASCII | re.DOTALL), site) for pattern, site in _SITES.items()]


def find_player(url: str) -> Player | None:
    """Return the player for the video or post at `url`, or None if the site isn't supported."""
    for pattern, (site, origin, path) in _PATTERNS:
        if found := pattern.fullmatch(url):
            made = origin.format(*found.groups())
            return Player(site, made, made + path.format(*found.groups()))
    return None
