"""Documentation pages as tests follow them: their blocks, and which of them are tested."""

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
_FENCE = re.compile(r"^( *)```([a-z]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_UNTESTED = re.compile(r"Not (?:tried|tested)")
_SHELL = re.compile(r"db\.adminCommand\((\{.*\})\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and whether the paragraph before marks it as not tested."""

    language: str
    text: str
    tried: bool

    def commands(self) -> list[str]:
        """Return the commands of a console block, one per line."""
        return [line.strip().removeprefix("$ ") for line in self.text.splitlines() if line.strip()]

    def typed(self) -> list[str]:
        """Return the commands of a console block that start with a dollar, each in one line, without their output."""
        lines = self.text.replace("\\\n", "").splitlines()
        return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]

    def sent(self) -> list[dict[str, Any]]:
        """Return the commands that the lines of a shell block send, as the driver would."""
        return commands_of(self.text)


def commands_of(text: str) -> list[dict[str, Any]]:
    """Return the database commands in lines of the shell."""
    return [json.loads(document) for document in _SHELL.findall(text)]


def blocks(name: str, folder: str = "how-to", heading: str = "") -> list[Block]:
    """Return the blocks of a page of docs/how-to, or of another folder, in order, optionally below one heading."""
    page = (ROOT / "docs" / folder / name).read_text()
    if heading:
        page = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
        assert page, heading
    found = []
    for match in _FENCE.finditer(page):
        paragraph = page[: match.start()].rstrip().rpartition("\n\n")[2]
        found.append(Block(match[2], dedent(match[3]), not _UNTESTED.search(paragraph)))
    return found


def tried(name: str, language: str) -> list[Block]:
    """Return the blocks in one language that a page doesn't mark as not tested."""
    return [block for block in blocks(name) if block.tried and block.language == language]


def started_by(unit: str) -> list[str]:
    """Return the words of the command that a systemd unit starts, by its file name in deploy/."""
    return shlex.split(re.search(r"^ExecStart=(.*)$", (DEPLOY / unit).read_text(), re.MULTILINE)[1])


def tried_with(name: str, text: str) -> Block:
    """Return the one tested block of a page of docs/how-to that contains a text."""
    [block] = [block for block in blocks(name) if block.tried and text in block.text]
    return block
