#!/usr/bin/env bash
# Build the image `marginalia` from what is committed, and save it as build/marginalia.tar. Nothing is pulled: the root folder
# is made of Debian's packages, by their signatures, and the site's packages are those of requirements.lock, by their hashes.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:?the interpreter to install packages with}
from=build/image
rm -rf "$from" build/marginalia.tar
mkdir -p "$from/site"

git archive HEAD manage.py LICENSE api cms comments editor locale marginalia nodes photos reader static templates transfer wordpress | tar -x -C "$from/site"
"$python" -m tools.lock --into "$from/packages"
# The key is of no site; without one, another would be made and left behind.
env -i PATH="$PATH" PYTHONDONTWRITEBYTECODE=1 SECRET_KEY=of-the-build "$python" "$from/site/manage.py" collectstatic --no-input --verbosity 0

# The packages are unpacked, not set up: no script of theirs runs, so nothing is there that only scripts need. A list of them is
# left for scanners.
mmdebstrap --quiet --variant=extract --include=python3,ca-certificates,media-types \
    --extract-hook='for one in "$1"/var/cache/apt/archives/*.deb; do
        dpkg-deb --field "$one" | sed "/^Package:/a Status: install ok installed"; echo; done > "$1"/var/lib/dpkg/status' \
    --extract-hook='cd "$1"/usr && rm -rf share/doc share/info share/locale share/man share/perl5 bin/dpkg*' \
    bookworm "$from/rootfs.tar"

# What scripts would have made. Not written into the root folder from here: its links lead to this machine's own files.
mkdir -p "$from/etc/ssl/certs"
tar -x -O -f "$from/rootfs.tar" --wildcards './usr/share/ca-certificates/mozilla/*.crt' > "$from/etc/ssl/certs/ca-certificates.crt"
echo 'marginalia:x:10001:10001::/srv/marginalia:/usr/sbin/nologin' > "$from/etc/passwd"
echo 'hosts: files dns' > "$from/etc/nsswitch.conf"

# Where there are no namespaces for containers, chroot is enough: each step is our own.
export BUILDAH_ISOLATION=${BUILDAH_ISOLATION:-chroot}
# Docker's format: the other has no health check.
buildah build --quiet --format docker --file deploy/Containerfile --tag marginalia "$from"
buildah push --quiet marginalia docker-archive:build/marginalia.tar:marginalia:latest
buildah images marginalia
