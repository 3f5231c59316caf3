"""The demo's pictures: what each shows and says. They are drawn where the demo is loaded, the same each time."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from bson import ObjectId
from PIL import Image

from cms.demo import landscapes, motifs
from cms.demo.content import identifier
from cms.demo.engraving import printed

GALLERY, PORTRAITS = "plates", "authors/portraits"
AUTHOR = "Jun Watanabe"


@dataclass(frozen=True)
class Plate:
    """One picture of a gallery, published so many `days` before the demo is loaded. Lists cut it around its focal point."""

    slug: str
    title: str
    alt: str
    summary: str
    tags: tuple[str, ...]
    days: float
    motif: Callable[[random.Random], Image.Image]
    focal: tuple[float, float] = (0.5, 0.5)
    gallery: str = GALLERY

    @property
    def id(self) -> ObjectId:
        return identifier(f"{self.gallery}/{self.slug}")

    @property
    def filename(self) -> str:
        return f"{self.slug}.jpg"

    def drawn(self) -> bytes:
        """Return the picture as a JPEG."""
        return printed(self.motif(random.Random(self.slug)))


PLATES = (
    Plate(
        "morning-fog",
        "Morning, with fog",
        "Five ranges of hills in grey and green, each paler than the one before it, under a white sun.",
        "Ten to seven, from the road above the bench. The farthest range is a cloud; it took me a year to notice.",
        ("fog", "landscape"),
        6,
        partial(
            landscapes.landscape,
            sky=((196, 208, 212), (244, 240, 230)),
            land=((206, 214, 212), (54, 84, 76)),
            over=landscapes.disc(430, 240, 70, (255, 253, 246)),
        ),
        (0.3, 0.3),
    ),
    Plate(
        "swifts-over-the-mill",
        "Swifts over the mill",
        "A flock of dark birds with bent wings in a yellow evening sky above brown hills.",
        "They are gone by the first of August. No one tells them the date.",
        ("swifts", "summer"),
        11,
        partial(
            landscapes.landscape,
            sky=((240, 190, 120), (252, 236, 190)),
            land=((226, 178, 122), (84, 52, 44)),
            over=landscapes.swifts,
        ),
        (0.35, 0.3),
    ),
    Plate(
        "from-the-night-train",
        "From the night train",
        "A crescent moon and many stars over dark blue hills.",
        "Through a window, at ninety kilometres an hour, with the lamp off.",
        ("night", "train", "landscape"),
        19,
        partial(
            landscapes.landscape,
            sky=((14, 19, 44), (58, 66, 104)),
            land=((60, 70, 110), (9, 12, 26)),
            over=landscapes.stars,
        ),
        (0.76, 0.25),
    ),
    Plate(
        "three-pages-drying",
        "Three pages drying",
        "Three printed pages with a red mark in each margin, hung above low red hills.",
        "Proofs from the workshop. The marks are mine; the mistakes were, too.",
        ("paper", "letterpress"),
        27,
        partial(
            landscapes.landscape,
            sky=((222, 212, 196), (238, 230, 214)),
            land=((214, 176, 150), (120, 56, 44)),
            over=motifs.drying,
        ),
        (0.5, 0.3),
    ),
    Plate(
        "rain-in-the-margin",
        "Rain in the margin",
        "Slanting rain over blue-grey hills.",
        "The third day of it. You can hear where the gutter ends.",
        ("rain", "landscape"),
        40,
        partial(
            landscapes.landscape,
            sky=((108, 122, 134), (176, 188, 194)),
            land=((150, 164, 172), (40, 54, 66)),
            over=landscapes.rain,
        ),
        (0.5, 0.6),
    ),
    Plate(
        "the-last-warm-evening",
        "The last warm evening",
        "A large red sun sets behind violet hills.",
        "The bench is in this picture, if you know where to look.",
        ("summer", "landscape"),
        58,
        partial(
            landscapes.landscape,
            sky=((104, 74, 122), (246, 176, 130)),
            land=((206, 126, 126), (52, 34, 66)),
            over=landscapes.disc(900, 470, 150, (244, 104, 76)),
        ),
        (0.62, 0.5),
    ),
    Plate(
        "a-book-with-room",
        "A book with room in it",
        "A book lies open on a dark table; its text takes half of each page, and notes in red stand beside it.",
        "Ours, from the second shelf. The red is not ours.",
        ("paper", "margins"),
        2,
        motifs.open_book,
        (0.68, 0.4),
    ),
    Plate(
        "arches-at-six",
        "Arches at six in the evening",
        "Five dark arches in a wall of warm stone; before one of them a small table, two chairs and a sheet of paper.",
        "She had gone home. The umbrella shop keeps the table.",
        ("letters", "summer"),
        9,
        landscapes.arcade,
        (0.93, 0.75),
    ),
    Plate(
        "still-water",
        "Still water above the lock",
        "A low orange sun over a canal; round trees on the far bank stand on their heads in the water.",
        "From the bench, looking away from the view.",
        ("landscape", "walks"),
        119,
        landscapes.still_water,
        (0.66, 0.42),
    ),
    Plate(
        "the-lay-of-the-case",
        "The lay of the case",
        "A type case from above: two halves full of wooden boxes, large and small, each filled with grey metal.",
        "The largest box is the e. Do not ask which one is the q.",
        ("letterpress", "type"),
        17,
        motifs.type_case,
        (0.5, 0.5),
    ),
    Plate(
        "oak-with-galls",
        "Oak, with three galls",
        "A twig of oak with eight lobed green leaves and three round brown galls, drawn with the pen.",
        "The wasp builds the house, the tree pays, we write with it.",
        ("ink", "plants"),
        66,
        motifs.oak,
        (0.5, 0.5),
    ),
    Plate(
        "a-pressed-fern",
        "A fern, pressed",
        "One large frond of fern, green on cream paper, with a pale vein in each of its many leaves.",
        "Found in a notebook, beside the words “Ask M. about the blue one.”",
        ("notes", "plants"),
        24,
        motifs.fern,
        (0.5, 0.45),
    ),
    Plate(
        "bamboo-two-inks",
        "Bamboo, in two inks",
        "Two stalks of bamboo in grey and black ink, their leaves hanging, and a small red seal in the corner.",
        "The pale one is the same ink, an hour later.",
        ("ink", "plants"),
        21,
        motifs.bamboo,
        (0.5, 0.45),
    ),
    *(
        Plate(
            slug,
            name,
            f"{name} from the side: a black silhouette in an oval frame.",
            "",
            ("people",),
            400,
            partial(motifs.silhouette, hair, tint),
            (0.55, 0.4),
            PORTRAITS,
        )
        for slug, name, hair, tint in (
            ("ines", "Ines Okafor", motifs.CURLS, (196, 150, 120)),
            ("ada", "Ada Lindqvist", motifs.BUN, (150, 170, 180)),
            ("tomas", "Tomás Ferreira", motifs.BEARD, (180, 176, 140)),
            ("jun", "Jun Watanabe", motifs.BOB, (190, 160, 170)),
        )
    ),
)
