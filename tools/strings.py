"""`python -m tools.strings`: write the English interface strings to build/strings/, as texts for the prose check.

Each string is on the same line as in its catalogue.
"""

from pathlib import Path

from babel.messages.pofile import read_po

ROOT = Path(__file__).parents[1]
OUT = ROOT / "build/strings"
CATALOGUES = {"site": ROOT / "locale", "comments": ROOT / "comments/locale"}


def write() -> None:
    """Write a text file for each catalogue."""
    OUT.mkdir(parents=True, exist_ok=True)
    for name, folder in CATALOGUES.items():
        with (folder / "zh_Hans/LC_MESSAGES/django.po").open("rb") as file:
            catalogue = read_po(file)
        lines: dict[int, str] = {}
        for message in catalogue:
            strings = message.id if isinstance(message.id, tuple) else (message.id,)
            lines[message.lineno or 0] = " ".join(" ".join(strings).split())
        text = "\n".join(lines.get(number, "") for number in range(1, max(lines) + 1))
        (OUT / f"{name}.txt").write_text(text + "\n")


if __name__ == "__main__":
    write()
