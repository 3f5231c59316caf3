"""The image of deploy/Containerfile, built and started as its own user on a read-only root."""

import json
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from cms.testing.build import node
from marginalia.local.ports import free_port
from tests.docs.pages import DEPLOY, ROOT
from tests.support.processes import until

pytestmark = pytest.mark.slow
MOST_BYTES = 200_000_000
# What a container runtime does: a read-only root, writable mounts, no capabilities.
INSIDE = """
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && mount --bind /dev "$1/dev" &&
mount -t tmpfs -o mode=1777 none "$1/tmp" &&
root=$1 folder=$2 user=$3 group=$4 && shift 4 &&
exec unshare --root="$root" --wd="$folder" --setgid="$group" --setuid="$user" "$@"
"""


def output_of(*command: str, **options: Any) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, **{"timeout": 60, **options})
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


@dataclass(frozen=True)
class Image:
    """The image's configuration, and its mounted root folder."""

    said: dict[str, Any]
    root: Path

    def start(self, arguments: list[str], **environment: str) -> subprocess.Popen[str]:
        """Start Python in the image."""
        place = [str(self.root), self.said["WorkingDir"], *self.said["User"].split(":")]
        command = ["unshare", "--mount", "sh", "-c", INSIDE, "sh", *place, *arguments]
        env = {"PATH": os.environ["PATH"], **dict(entry.split("=", 1) for entry in self.said["Env"]), **environment}
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, *arguments: str, **environment: str) -> tuple[int, str]:
        """Run Python in the image, and return its exit code and output."""
        process = self.start([*self.said["Entrypoint"], *arguments], **environment)
        output, _ = process.communicate(timeout=60)
        return process.returncode, output


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    missing = [tool for tool in ("buildah", "mmdebstrap", "unshare", "git") if not shutil.which(tool)]
    assert not missing, f"The image needs {', '.join(missing)}: `make builders`, or apt-get install them."
    assert os.geteuid() == 0, "This test mounts the image's root folder: run it as root."
    output_of(str(DEPLOY / "build.sh"), sys.executable, timeout=1200)
    container = output_of("buildah", "from", "--pull-never", "marginalia")
    try:
        said = json.loads(output_of("buildah", "inspect", "--type", "image", "marginalia"))["Docker"]["config"]
        yield Image(said, Path(output_of("buildah", "mount", container)))
    finally:
        output_of("buildah", "rm", container)


def status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def test_image_is_small_and_has_no_shell(image):
    assert (ROOT / "build/marginalia.tar").stat().st_size < MOST_BYTES
    for program in ("bin/sh", "bin/bash", "usr/bin/apt-get", "usr/bin/dpkg", "usr/bin/perl"):
        assert not (image.root / program).exists(), program
    assert (image.root / "usr/bin/python3").exists()
    listed = (image.root / "var/lib/dpkg/status").read_text()
    assert "Package: libssl3\nStatus: install ok installed\n" in listed


def test_image_contains_no_secrets_and_no_build_files(image):
    folder = image.root / "srv/marginalia"
    assert {path.name for path in (folder / "var").iterdir()} == {"static"}
    assert not (folder / ".env").exists()
    assert not (folder / "tests").exists()


def test_only_intended_folders_are_writable(image):
    write = "import sys; open(sys.argv[1] + '/x', 'w').close()"
    assert image.run("-c", write, "/tmp") == (0, "")
    for folder in ("/srv/marginalia", "/srv/marginalia/var/static", "/usr/local/lib/python3.11"):
        code, said = image.run("-c", write, folder)
        assert code == 1
        assert "Read-only file system" in said or "Permission denied" in said


def test_image_trusts_public_certificates(image):
    count = "import ssl; print(len(ssl.create_default_context().get_ca_certs()))"
    code, said = image.run("-c", count)
    assert code == 0, said
    assert int(said) > 100


def test_image_serves_the_site(image, mongo):
    node(title="Ours")
    port = free_port()
    environment = {
        "SECRET_KEY": "of-a-test",
        "MONGODB_URI": connection.settings_dict["HOST"],
        "WEB_CONCURRENCY": "1",
        "MONGODB_DATABASE": connection.settings_dict["NAME"],
    }
    serve = [word.replace("0.0.0.0:8000", f"127.0.0.1:{port}") for word in image.said["Cmd"]]
    assert serve != image.said["Cmd"]
    kind, *ask = [word.replace(":8000", f":{port}") for word in image.said["Healthcheck"]["Test"]]
    assert kind == "CMD"
    assert image.run(*ask[1:])[0] == 1, "nothing serves yet"
    process = image.start([*image.said["Entrypoint"], *serve], **environment)
    try:
        until(lambda: status(f"http://127.0.0.1:{port}/readyz") == 200 or process.poll() is not None, seconds=60)
        assert process.poll() is None, process.stdout.read()
        assert image.run(*ask[1:]) == (0, "")
        assert status(f"http://127.0.0.1:{port}/page") == 200
        [style] = (image.root / "srv/marginalia/var/static/site").glob("site.*.css")
        assert status(f"http://127.0.0.1:{port}/static/site/{style.name}") == 200
        assert status(f"http://127.0.0.1:{port}/no-such-page") == 404
    finally:
        process.terminate()
        output, _ = process.communicate(timeout=30)
    assert "Traceback" not in output, output
    code, said = image.run("manage.py", "work", "--once", **environment)
    assert code == 0, said
