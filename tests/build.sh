#!/usr/bin/env bash
# Build the collection artifact and see that it holds what belongs there and nothing else; prints its path.
set -euo pipefail

cd "$(dirname "$0")/.."
place=${1:-$KUBEPHASE_CACHE/artifact}
mkdir -p "$place"
ansible-galaxy collection build --force --output-path "$place" >/dev/null
version=$(sed -n 's/^version: //p' galaxy.yml)
artifact=$place/kubephase-cluster-$version.tar.gz
python3 tests/artifact.py "$artifact"
echo "$artifact"
