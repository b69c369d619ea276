#!/usr/bin/env bash
# Build the collection artifact and see that it holds what belongs there and nothing else; prints its path.
set -euo pipefail

cd "$(dirname "$0")/.."
place=${1:-$KUBEPHASE_CACHE/artifact}
mkdir -p "$place"
ansible-galaxy collection build --force --output-path "$place" >/dev/null
version=$(sed -n 's/^version: //p' galaxy.yml)
artifact=$place/kubephase-cluster-$version.tar.gz

stray=$(tar -tzf "$artifact" | grep -vE '^(FILES\.json|MANIFEST\.json|LICENSE|README\.md|CONTRIBUTING\.md|CHANGELOG\.(md|rst)|requirements\.txt|(changelogs|docs|extensions|meta|playbooks|plugins|roles)(/.*)?|tests(/(config\.yml|sanity.*)?)?)$' || true)
junk=$(tar -tzf "$artifact" | grep -E '(__pycache__|\.pyc$|\.cache|\.venv|/output/|\.tar\.gz$)' || true)
if [ -n "$stray$junk" ]; then
  printf 'The artifact holds files that do not belong there:\n%s\n%s\n' "$stray" "$junk" >&2
  exit 1
fi
echo "$artifact"
