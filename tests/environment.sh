#!/usr/bin/env bash
# Make the virtual environment of the development tools at the given path, whole or not at all.
set -euo pipefail

target=$1
here=$(cd "$(dirname "$0")" && pwd)
PATH=${PATH//$target\/bin:/} # never the python of a half-made environment

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "The development tools need Python 3.11 or newer as python3; found $(python3 --version 2>&1)." >&2
  exit 1
fi
if ! python3 -c 'import ensurepip' 2>/dev/null; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "Python's venv module is missing: install python3-venv and run again." >&2
    exit 1
  fi
  echo "Installing python3-venv ..."
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null
fi

echo "Installing the development tools (about a minute) ..."
mkdir -p "$(dirname "$target")"
rm -rf "$target"
python3 -m venv "$target"
"$target/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
touch "$target/.complete"
