#!/usr/bin/env bash
# Build the `marginalia` image from the last commit, and save it as build/marginalia.tar. No base image is pulled. The
# root file system contains Debian packages, whose signatures are verified, and the packages in requirements.lock, whose
# hashes are verified.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:?the interpreter to install packages with}
from=build/image
rm -rf "$from" build/marginalia.tar
mkdir -p "$from/site"

# APPS contains the names of a site's own folders, such as its package and its theme.
# shellcheck disable=SC2086 - each word of APPS is a folder
git archive HEAD ${APPS:-} manage.py gunicorn.conf.py LICENSE api cms comments editor locale marginalia nodes photos reader static templates transfer wordpress | tar -x -C "$from/site"
"$python" -m tools.lock --into "$from/packages"
# No site uses this key. Without SECRET_KEY, the command would generate a key and leave it in the image.
env -i PATH="$PATH" PYTHONDONTWRITEBYTECODE=1 SECRET_KEY=of-the-build "$python" "$from/site/manage.py" collectstatic --no-input --verbosity 0

# The packages are only unpacked and their scripts don't run, so the image doesn't need the programs that only these
# scripts use. The list of packages is kept for vulnerability scanners.
mmdebstrap --quiet --variant=extract --include=python3,ca-certificates,media-types \
    --extract-hook='for one in "$1"/var/cache/apt/archives/*.deb; do
        dpkg-deb --field "$one" | sed "/^Package:/a Status: install ok installed"; echo; done > "$1"/var/lib/dpkg/status' \
    --extract-hook='cd "$1"/usr && rm -rf share/doc share/info share/locale share/man share/perl5 bin/dpkg*' \
    bookworm "$from/rootfs.tar"

# Create the files that the packages' scripts would have created. They aren't written to the unpacked root file system,
# because its symbolic links would point to files on this machine.
mkdir -p "$from/etc/ssl/certs"
tar -x -O -f "$from/rootfs.tar" --wildcards './usr/share/ca-certificates/mozilla/*.crt' > "$from/etc/ssl/certs/ca-certificates.crt"
echo 'marginalia:x:10001:10001::/srv/marginalia:/usr/sbin/nologin' > "$from/etc/passwd"
echo 'hosts: files dns' > "$from/etc/nsswitch.conf"

# chroot works on machines without namespaces for containers. It is sufficient, because the build runs only the
# project's own steps.
export BUILDAH_ISOLATION=${BUILDAH_ISOLATION:-chroot}
# Use Docker's image format, because the OCI format doesn't support health checks.
buildah build --quiet --format docker --file deploy/Containerfile --tag marginalia "$from"
buildah push --quiet marginalia docker-archive:build/marginalia.tar:marginalia:latest
buildah images marginalia
