#!/usr/bin/env bash
# `make vendor`: make the files in static/vendor from packages of the npm registry, in pinned versions and with their checksums.
# Run this only to update a version. The files are committed, so a site needs neither npm nor a network.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# package NAME VERSION SHA512: check the checksum of a package, and unpack it into $work/NAME.
package() {
    local archive
    archive=$(cd "$work" && npm pack --silent "$1@$2")
    [ "$(openssl dgst -sha512 -binary "$work/$archive" | base64 -w0)" = "$3" ] || { echo "$1@$2 is not what it was." >&2; exit 1; }
    mkdir "$work/$1" && tar -xzf "$work/$archive" -C "$work/$1" --strip-components=1
}

# bundle NAME: bundle tools/vendor/NAME/NAME.js from the versions in package-lock.json. npm checks their checksums.
bundle() {
    local to=static/vendor/$1
    mkdir -p "$to"
    node_modules/.bin/esbuild "tools/vendor/$1/$1.js" --bundle --minify --format=esm --target=es2022 \
        --legal-comments=none --log-level=warning --metafile="$work/bundle.json" --outfile="$to/$1.js"
    # All packages in the bundle have the same licence, with different names in its first lines.
    node -e '
        const { inputs } = Object.values(require(process.argv[1]).outputs)[0];
        const folders = Object.keys(inputs).map((file) => /node_modules\/((@[^/]*\/)?[^/]*)\//.exec(file)?.[1]).filter(Boolean);
        for (const name of [...new Set(folders)].sort()) console.log(name);
    ' "$work/bundle.json" | while read -r name; do
        printf '== %s %s ==\n\n' "$name" "$(node -p "require('./node_modules/$name/package.json').version")"
        cat "node_modules/$name/LICENSE"
        echo
    done > "$to/LICENSE"
    chmod 644 "$to"/*
}
bundle codemirror
bundle turndown

# Fonts as published by their author, reduced to the characters of Latin texts.
package source-serif 4.5.1 'NUAh5IzF7KiUu2gTpqE+ed9MNbMe4st7LIIXZ0OHHSPc6gg86H67j04M8sIhU2qqFd26btXaFQ2ge5u/p72j0Q=='
package source-sans 3.52.0 'xsm7qlMI/JwxwNdp6pvpR6l+aZjn90fzOzoeUz/qoohIYbKbDwQNRIz5/ItYs7/hvqLirQNUoDFGXSVA3TU9tw=='
python3 -m venv "$work/python"
"$work/python/bin/pip" install --quiet --disable-pip-version-check fonttools==4.68.0 brotli==1.2.1

latin=U+20-7E,U+A0-A1,U+A3,U+A7-AD,U+B0,U+B7,U+BB,U+BF-FF,U+152-153,U+2009-200D,U+2010-2015,U+2018-201E,U+2020-2022
latin+=,U+2026,U+202F,U+2030,U+2032-2033,U+2039-203A,U+2044,U+20AC,U+2190-2193,U+2212
extended=U+A2,U+A4-A6,U+AE-AF,U+B1-B6,U+B8-BA,U+BC-BE,U+100-151,U+154-17F,U+218-21B,U+1E9E,U+2C6-2C7,U+2D8-2DD
extended+=,U+2116,U+2122,U+2260,U+2264-2265

# cut FONT NAME: write NAME.woff2 and NAME-extended.woff2. Browsers load the latter only for pages that contain its characters. The
# licence forbids the name "Source" for changed fonts, so the names in the file are removed, and the author and licence are kept.
cut() {
    local part
    for part in latin extended; do
        "$work/python/bin/pyftsubset" "$work/$1" --unicodes="${!part}" --flavor=woff2 --no-hinting \
            --layout-features=kern,liga,onum,lnum,tnum --name-IDs=0,1,2,3,4,6,13,14 --obfuscate-names \
            --output-file="$to/$2$([ $part = latin ] || echo -extended).woff2"
    done
}
to=static/vendor/fonts
mkdir -p "$to"
cut source-serif/TTF/SourceSerif4-Regular.ttf serif
cut source-serif/TTF/SourceSerif4-It.ttf serif-italic
cut source-serif/TTF/SourceSerif4-Semibold.ttf serif-semibold
cut source-sans/TTF/SourceSans3-Regular.ttf sans
cut source-sans/TTF/SourceSans3-Semibold.ttf sans-semibold
# The font for formulas, with the characters that most formulas contain. Its glyphs for stretched brackets and roots are kept.
# Only the package ziamath contains the font as its authors publish it.
"$work/python/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$work/maths" ziamath==0.13
echo "67a9b9714101fc90c2d6d0328e578f3ac311fb007644f2bbb9314ba2bc1c1459  $work/maths/ziamath-0.13-py3-none-any.whl" | sha256sum --check --quiet
"$work/python/bin/python" -m zipfile -e "$work/maths/ziamath-0.13-py3-none-any.whl" "$work/maths"
maths=U+20-7E,U+A0,U+AC,U+B0-B1,U+B7,U+D7,U+F7,U+302-303,U+305,U+307,U+391-3A9,U+3B1-3C9,U+3D1,U+3D5,U+3F5,U+2016
maths+=,U+2026,U+2032-2033,U+2044,U+2061-2064,U+20D7,U+2102,U+210D-210E,U+2113,U+2115,U+2119-211A,U+211D,U+2124
maths+=,U+2190-2195,U+21A6,U+21D0-21D2,U+21D4,U+2200,U+2202-2209,U+220B,U+220F-2213,U+2217-221A,U+221D-2220,U+2223
maths+=,U+2225-222B,U+222E,U+2234-2235,U+223C,U+2243,U+2245,U+2248,U+2254,U+2260-2261,U+2264-2265,U+226A-226B
maths+=,U+2282-2287,U+2295,U+2297,U+22A5,U+22C0-22C6,U+22EE-22F1,U+2308-230B,U+23DE-23DF,U+27E8-27E9,U+1D434-1D467
maths+=,U+1D6FC-1D71B
"$work/python/bin/pyftsubset" "$work/maths/ziamath/fonts/STIXTwoMath-Regular.ttf" --unicodes="$maths" --flavor=woff2 --no-hinting \
    --layout-features= --drop-tables+=GPOS,GDEF,gasp --name-IDs=0,1,2,3,4,6,13,14 --obfuscate-names --output-file="$to/maths.woff2"
{
    printf '%s\n\n' "Copyright 2001-2020 The STIX Fonts Project Authors (https://github.com/stipub/stixfonts)"
    sed -n '/^This Font Software/,$p' "$work/source-serif/LICENSE.md"
} > "$to/LICENSE-stix-two-math"
cp "$work/source-serif/LICENSE.md" "$to/LICENSE-source-serif"
cp "$work/source-sans/LICENSE.md" "$to/LICENSE-source-sans"
chmod 644 "$to"/*
(cd static/vendor && sha256sum codemirror/* fonts/* turndown/*) > "$work/sums" && mv "$work/sums" static/vendor/SHA256SUMS
chmod 644 static/vendor/SHA256SUMS
