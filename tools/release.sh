#!/usr/bin/env bash
# Check, test and build the version in pyproject.toml, and tag the commit. Nothing is pushed.
#
# With --check, the script only checks whether the commit can be released.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "Not released: $1" >&2
    exit 1
}

version_in() {
    sed -n 's/^fallback-version = "\(.*\)"$/\1/p; s/^ *__version__ = "\(.*\)"$/\1/p' "$1"
}

version=$(version_in pyproject.toml)
tag=v$version
commit=$(git rev-parse HEAD)
[ -z "$(git status --porcelain)" ] || fail "The working tree has uncommitted changes. Commit or stash them."
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "The version in pyproject.toml is “$version”. Set a version such as 0.1.0."
for file in package/pyproject.toml marginalia/__init__.py; do
    [ "$(version_in "$file")" = "$version" ] || fail "The version in $file isn't $version. Set the version in pyproject.toml."
done
grep -qE "^## ${version//./\\.} - [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md ||
    fail "CHANGELOG.md has no entry for $version. Add the heading “## $version - $(date +%F)” above the changes."
[ -f "tests/releases/$version.jsonl" ] ||
    fail "tests/releases/$version.jsonl is missing. Run .venv/bin/python -m pytest tests/releases/write.py, and commit the file."
[ -z "$(git tag --list "$tag")" ] || fail "The tag $tag already exists. Set a higher version."
[ "${1:-}" != --check ] || exit 0

make lint docs test image
# Without the variable, the version would be that of a commit after the previous tag.
SETUPTOOLS_SCM_PRETEND_VERSION=$version make package
[ "$(git rev-parse HEAD)$(git status --porcelain)" = "$commit" ] || fail "Files changed during the tests. Run make release again."
git tag --annotate --message "Marginalia $version" "$tag" "$commit"
echo "Created the tag $tag. To publish it, run: git push origin $tag"
