#!/usr/bin/env bash
# `make vendor`: fetch what static/vendor holds, from the npm registry, in the versions and with the sums that stand here.
# Only for those who raise a version: what is fetched is committed, so that a site needs neither npm nor a network.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# package NAME VERSION SHA512: unpack a package into $work/NAME, once its sum was found right.
package() {
    local archive
    archive=$(cd "$work" && npm pack --silent "$1@$2")
    [ "$(openssl dgst -sha512 -binary "$work/$archive" | base64 -w0)" = "$3" ] || { echo "$1@$2 is not what it was." >&2; exit 1; }
    mkdir "$work/$1" && tar -xzf "$work/$archive" -C "$work/$1" --strip-components=1
}

package easymde 2.21.0 '5uE7I/DEN8gvGRwxaqAv7h1PMEK2ykNXVX5zL0dK3nCYROGja3AMbdQz8eCEELnfvCfy7tRkTmLuvyJG8uSWjQ=='
# What easymde.min.js contains: fetched for their licences.
package codemirror 5.65.15 'YC4EHbbwQeubZzxLl5G4nlbLc1T21QTrKGaOal/Pkm9dVDMZXMH7+ieSPEOZCtO9I68i8/oteJKOxzHC2zR+0g=='
package marked 4.3.0 'PRsaiG84bK+AMvxziE/lCFss8juXjNaWzVbN5tXAm4XjeaS9NAHhop+PjQxz2A9h8Q4M/xGmzP8vqNwy6JeK0A=='
package codemirror-spell-checker 1.1.2 '2Tl6n0v+GJRsC9K3MLCdLaMOmvWL0uukajNJseorZJsslaxZyZMgENocPU8R0DyoTAiKsyqiemSOZo7kjGV0LQ=='
package typo-js 1.2.4 'Oy/k+tFle5NAA3J/yrrYGfvEnPVrDZ8s8/WCwjUE75k331QyKIsFss7byQ/PzBmXLY6h1moRnZbnaxWBe3I3CA=='

to=static/vendor/easymde
mkdir -p "$to"
cp "$work/easymde/dist/easymde.min.js" "$work/easymde/dist/easymde.min.css" "$work/easymde/LICENSE" "$to/"
cp "$work/typo-js/README.md" "$to/LICENSE-typo-js"
for name in codemirror marked codemirror-spell-checker; do
    found=$(find "$work/$name" -maxdepth 1 -iname 'licen[sc]e*' | head -1)
    cp "$found" "$to/LICENSE-$name"
done
chmod 644 "$to"/*
(cd static/vendor && sha256sum easymde/*) > "$work/sums" && mv "$work/sums" static/vendor/SHA256SUMS
chmod 644 static/vendor/SHA256SUMS
