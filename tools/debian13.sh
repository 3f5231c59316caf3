#!/usr/bin/env bash
# Run a command in this folder on Debian 13, which has Python 3.13. Needs root and mmdebstrap.
#
# Debian 13 is installed into /var/tmp/marginalia-debian13, or into $DEBIAN13. The command also sees the folders in
# $MOUNTS, for example a folder of Python packages.
set -euo pipefail
cd "$(dirname "$0")/.."
export DEBIAN13=${DEBIAN13:-/var/tmp/marginalia-debian13}
packages=ca-certificates,chromium-headless-shell,fonts-dejavu-core,fonts-wqy-microhei,git,libcurl4t64,make,media-types,npm,procps,python3-venv,tzdata

if [ ! -e "$DEBIAN13/complete" ]; then
    rm -rf --one-file-system "$DEBIAN13"
    mmdebstrap --quiet --include="$packages" trixie "$DEBIAN13"
    touch "$DEBIAN13/complete"
fi
# Use this machine's network, certificates, and settings of pip and npm.
for file in /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt /etc/pip.conf /etc/xdg/pip/* ~/.config/pip/pip.conf ~/.npmrc; do
    [ ! -f "$file" ] || install -D "$file" "$DEBIAN13$file"
done

# The mounts are visible only to this command, and end with it.
# shellcheck disable=SC2016 - the inner shell expands the variables
exec unshare --mount --propagation private bash -euc '
    mount -t proc proc "$DEBIAN13/proc"
    for folder in /dev /sys "$PWD" ${MOUNTS:-}; do
        mkdir -p "$DEBIAN13$folder"
        mount --rbind "$folder" "$DEBIAN13$folder"
    done
    exec chroot "$DEBIAN13" env --chdir="$PWD" "$@"
' bash "$@"
