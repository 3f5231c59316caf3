"""Downloading pictures from the old site, which is a server on this machine."""

import io
import re
import threading
import tracemalloc
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryFile

import pytest
from django.core.management import CommandError

from tests.support.nodes import pictures
from tests.support.wxr import attachment, export, item
from tests.wordpress.stored import snapshot, stored
from wordpress.importer import Importer, Options
from wordpress.media.download import Downloader, DownloadError, DownloadsStopped, Limits, is_public

PIECE = b"x" * 32_768
LARGE = 1_000 * len(PIECE)


class OldSite:
    """Responds by path: bytes, a status, or a redirect. "drip" never ends. `asked` contains the paths in order."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes | int | str] = {}
        self.asked: list[str] = []
        self.over = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                site.answer(self, site.answers.get(self.path, 404))

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, handler: BaseHTTPRequestHandler, answer: bytes | int | str) -> None:
        if answer == "drip":
            handler.send_response(200)
            handler.end_headers()
            while not self.over.wait(0.02):
                handler.wfile.write(b"x")
        elif answer == "slow head":
            while not self.over.wait(0.02):
                handler.wfile.write(b"H")
        elif answer == "large":
            handler.send_response(200)
            handler.end_headers()
            for _piece in range(LARGE // len(PIECE)):
                handler.wfile.write(PIECE)
        elif answer == "short":
            handler.send_response(200)
            handler.send_header("Content-Length", "9")
            handler.end_headers()
            handler.wfile.write(b"x")
        elif isinstance(answer, bytes):
            handler.send_response(200)
            handler.end_headers()
            handler.wfile.write(answer)
        else:
            handler.send_response(answer if isinstance(answer, int) else 301)
            handler.send_header("Location", str(answer))
            handler.end_headers()

    def end(self) -> None:
        self.over.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def old() -> Iterator[OldSite]:
    site = OldSite()
    yield site
    site.end()


def fetched(old: OldSite, path: str, *, limits: Limits | None = None) -> bytes:
    into = io.BytesIO()
    Downloader(old.url, limits or Limits(), private=True).fetch(old.url + path, into)
    return into.getvalue()


class TestFetching:
    def test_file_is_downloaded(self, old):
        old.answers["/a%20b%C3%A9.jpg?w=1"] = b"x" * 300_000
        assert fetched(old, "/a bé.jpg?w=1") == b"x" * 300_000

    def test_redirects_stay_on_the_host(self, old):
        old.answers |= {
            "/a": "/b",
            "/b": f"{old.url}/c",
            "/c": b"here",
            "/out": "http://127.0.0.2/x",
            "/round": "/round",
        }
        assert fetched(old, "/a") == b"here"
        with pytest.raises(DownloadError, match="another host"):
            fetched(old, "/out")
        with pytest.raises(DownloadError, match="too many redirects"):
            fetched(old, "/round")

    @pytest.mark.slow_after(2)
    @pytest.mark.parametrize(
        "url",
        [
            "http://evil.example/a.jpg",
            "file:///etc/passwd",
            "ftp://127.0.0.1/a.jpg",
            "http://127.0.0.1:22/a.jpg",
            "http://127.0.0.1@evil.example/a.jpg",
            "http://me@127.0.0.1/a.jpg",
            "http://127.0.0.1.evil.example/a.jpg",
            "http://[::1/a.jpg",
            "http://127.0.0.1:99999/a.jpg",
            "/a.jpg",
        ],
    )
    def test_other_urls_are_not_requested(self, old, url):
        with pytest.raises(DownloadError):
            Downloader(old.url, Limits(), private=True).fetch(url, io.BytesIO())
        assert old.asked == []

    def test_private_network_is_requested_only_if_allowed(self, old):
        for site in (old.url, old.url.replace("127.0.0.1", "localhost")):
            with pytest.raises(DownloadsStopped, match="private network"):
                Downloader(site, Limits()).fetch(f"{site}/a.jpg", io.BytesIO())
        assert old.asked == []

    @pytest.mark.parametrize(
        "address",
        [
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::8.8.8.8",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::808:808",
            "2001:0:808:808::80ff:fffe",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "fc00::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ],
    )
    def test_non_public_address_is_not_requested(self, address):
        assert not is_public(address)
        site = f"http://[{address}]" if ":" in address else f"http://{address}"
        with pytest.raises(DownloadsStopped, match="private network"):
            Downloader(site, Limits()).fetch(f"{site}/a.jpg", io.BytesIO())

    @pytest.mark.parametrize(
        "address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]
    )
    def test_public_addresses_are_requested(self, address):
        """Behind NAT64, the name of an IPv4 host resolves to an address in 64:ff9b::/96."""
        assert is_public(address)

    def test_files_of_wordpress_com_are_downloaded(self):
        with pytest.raises(DownloadError, match="not on the web"):
            Downloader("https://a.wordpress.com", Limits()).fetch("ftp://a.files.wordpress.com/x", io.BytesIO())
        with pytest.raises(DownloadError, match="another host"):
            Downloader("https://a.wordpress.com", Limits()).fetch("https://b.files.wordpress.com/x", io.BytesIO())

    def test_files_are_downloaded_in_constant_memory(self, old):
        old.answers["/a"] = "large"
        with TemporaryFile() as into:
            tracemalloc.start()
            try:
                Downloader(old.url, Limits(), private=True).fetch(f"{old.url}/a", into)
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            assert into.tell() == LARGE
        assert peak < 2**20

    @pytest.mark.parametrize(("path", "reason"), [("/none", "returned 404"), ("/short", "incomplete")])
    def test_failed_downloads_report_the_reason(self, old, path, reason):
        old.answers["/short"] = "short"
        with pytest.raises(DownloadError, match=reason):
            fetched(old, path)

    @pytest.mark.parametrize("answer", [b"x" * 1001, "drip"])
    def test_file_over_the_size_limit_is_refused(self, old, answer):
        old.answers["/a"] = answer
        into = io.BytesIO()
        with pytest.raises(DownloadError, match="more than 10 bytes"):
            Downloader(old.url, Limits(file_bytes=10), private=True).fetch(f"{old.url}/a", into)
        assert len(into.getvalue()) <= 1001

    @pytest.mark.parametrize("way", ["drip", "slow head"])
    def test_file_over_the_time_limit_is_refused(self, old, way):
        old.answers["/a"] = way
        with pytest.raises(DownloadError, match=r"more than 0\.2 seconds"):
            fetched(old, "/a", limits=Limits(file_seconds=0.2))

    def test_run_over_its_size_limit_stops(self, old):
        old.answers["/a"] = b"x" * 600
        downloader = Downloader(old.url, Limits(total_bytes=1000), private=True)
        downloader.fetch(f"{old.url}/a", io.BytesIO())
        with pytest.raises(DownloadsStopped):
            downloader.fetch(f"{old.url}/a", io.BytesIO())

    def test_site_that_keeps_failing_is_no_longer_requested(self, old):
        downloader = Downloader(old.url, Limits(failures=2), private=True)
        old.end()
        for _attempt in range(2):
            with pytest.raises(DownloadError):
                downloader.fetch(f"{old.url}/a", io.BytesIO())
        with pytest.raises(DownloadsStopped, match="didn't respond 2 times"):
            downloader.fetch(f"{old.url}/a", io.BytesIO())


@pytest.mark.usefixtures("mongo")
class TestImporting:
    def data(self, old: OldSite, *more: str) -> bytes:
        uploads = f"{old.url}/wp-content/uploads"
        old.answers |= {
            "/wp-content/uploads/a.jpg": pictures.jpeg(),
            "/wp-content/uploads/b.png": pictures.png(),
            "/wp-content/uploads/no.jpg": b"<html>",
        }
        return export(
            attachment(1, f"{uploads}/a.jpg", "A", link=f"{old.url}/one/a/", post_parent=7),
            attachment(2, f"{uploads}/b.png", "B", post_parent=7),
            attachment(3, f"{uploads}/no.jpg", "No picture"),
            attachment(4, f"{uploads}/gone.jpg", "Gone"),
            attachment(5, f"{uploads}/c.pdf", "No picture either"),
            attachment(6, "http://elsewhere.example/x.jpg", "Elsewhere"),
            item(7, "One", f'<img src="{uploads}/a-300x200.jpg"> and [gallery]'),
            *more,
            site=old.url,
        )

    def test_pictures_become_photos_shown_in_texts(self, mongo, run, old, client):
        said = run(self.data(old), download_media=True, private_network=True)
        photos = {d["metadata"]["title"]: d["_id"] for d in mongo["cms.assets.files"].find()}
        assert set(photos) == {"A", "B"}
        text = stored(mongo)["blog/post-7"]["detail"]["text"]
        assert text.count(f"![A](photo:{photos['A']})") == 1
        assert f"::gallery{{photos=photo:{photos['A']},photo:{photos['B']}}}" in text
        assert "4 attachments missing, 2 found" in said
        assert any(line.startswith("3 pictures downloaded, ") for line in said)
        assert any("gone.jpg: the old site returned 404" in line for line in said)
        assert any("elsewhere.example/x.jpg: it is on another host than the old site" in line for line in said)
        assert any(line.startswith("  no.jpg: ") for line in said)
        assert said[-1] == "5 changes: 2 sections, 1 post, 2 photos"
        assert client.get("/?attachment_id=1")["Location"] == "/pictures/a"

    def test_links_to_a_picture_lead_to_its_page(self, mongo, run, old, client):
        url = f"{old.url}/wp-content/uploads"
        more = item(8, "Two", f'<a href="{url}/a.jpg"><img src="{url}/a-9x9.jpg"></a> <a href="{url}/gone.jpg">x</a>')
        run(self.data(old, more), download_media=True, private_network=True)
        text = stored(mongo)["blog/post-8"]["detail"]["text"]
        assert re.search(r"\[!\[A\]\(photo:\w{24}\)\]\(/pictures/a\)", text)
        assert f"[x]({url}/gone.jpg)" in text
        assert client.get("/pictures/a").status_code == 200

    def test_second_run_downloads_only_failed_files(self, mongo, run, old):
        run(self.data(old), download_media=True, private_network=True)
        before = snapshot(mongo)
        old.asked.clear()
        assert run(self.data(old), download_media=True, private_network=True)[-1] == "0 changes"
        assert old.asked == ["/wp-content/uploads/no.jpg", "/wp-content/uploads/gone.jpg"]
        assert snapshot(mongo) == before

    @pytest.mark.slow_after(1)
    @pytest.mark.parametrize("at", [1, 2])
    def test_interrupted_run_resumes(self, mongo, run, old, tmp_path, at):
        path = tmp_path / "some.xml"
        path.write_bytes(self.data(old))
        steps: list[int] = []
        downloading = False

        def begin(total: int, unit: str) -> None:
            nonlocal downloading
            downloading = unit == "pictures"

        def step(number: int) -> None:
            steps.extend([number] * downloading)
            if len(steps) == at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            Importer(path, Options(download=True, private=True), begin=begin, step=step).run()
        assert set(stored(mongo)) == {"pictures"}
        old.asked.clear()
        said = run(path.read_bytes(), download_media=True, private_network=True)
        assert len(old.asked) == 4 - at
        assert mongo["cms.assets.files"].count_documents({}) == 2
        assert "photo:" in stored(mongo)["blog/post-7"]["detail"]["text"]
        assert "1 post" in said[-1]

    def test_stopped_downloads_leave_the_texts_to_the_next_run(self, mongo, old, tmp_path):
        path = tmp_path / "some.xml"
        path.write_bytes(self.data(old))
        few = Options(download=True, private=True, limits=Limits(total_bytes=len(pictures.jpeg())))
        with pytest.raises(DownloadsStopped):
            Importer(path, few).run()
        assert set(stored(mongo)) == {"pictures"}
        Importer(path, Options(download=True, private=True)).run()
        assert stored(mongo)["blog/post-7"]["detail"]["text"].count("photo:") == 3

    def test_private_network_must_be_allowed_by_the_operator(self, mongo, run, old):
        with pytest.raises(CommandError, match="in a private network. .* Run the same command with --private-network."):
            run(self.data(old), download_media=True)
        assert old.asked == []
        assert stored(mongo) == {}

    def test_unreachable_site_is_reported(self, mongo, run, old):
        data = self.data(old, *(attachment(20 + n, f"{old.url}/{n}.jpg") for n in range(20)))
        old.end()
        with pytest.raises(CommandError, match="10 times in a row. No text was imported. Run the same command again"):
            run(data, download_media=True, private_network=True)
        assert stored(mongo) == {}

    def test_nothing_is_downloaded_in_a_dry_run_or_by_default(self, run, old):
        said = run(self.data(old), dry_run=True, download_media=True, private_network=True)
        assert "  5 pictures" in said
        assert not any("files are missing" in line for line in said)
        run(self.data(old))
        assert old.asked == []

    def test_files_in_the_folder_are_not_downloaded(self, mongo, run, old, tmp_path):
        (tmp_path / "a.jpg").write_bytes(pictures.jpeg())
        run(self.data(old), media=tmp_path, download_media=True, private_network=True)
        assert "/wp-content/uploads/a.jpg" not in old.asked
        assert mongo["cms.assets.files"].count_documents({}) == 2

    def test_temporary_files_are_deleted(self, run, old, tmp_path, monkeypatch):
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        monkeypatch.setattr("tempfile.tempdir", None)
        run(self.data(old), download_media=True, private_network=True)
        assert [path for path in Path(tmp_path).iterdir() if path.is_dir()] == []
