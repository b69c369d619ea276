#!/usr/bin/env bash
# Run ansible-test sanity on what users get: the built collection, unpacked where Ansible looks for it.
set -euo pipefail

cd "$(dirname "$0")/.."
work=$(mktemp -d "$KUBEPHASE_CACHE/sanity.XXXXXX")
trap 'rm -rf "$work"' EXIT

artifact=$(bash tests/build.sh "$work" | tail -n 1)
collection=$work/ansible_collections/kubephase/cluster
mkdir -p "$collection"
tar -xzf "$artifact" -C "$collection"

# ansible-test fetches pip's bootstrap script from the web; Python's own ensurepip does the same work offline.
internals=$(python -c 'import ansible_test._internal.python_requirements as module; print(module.__file__)')
pip=$(sed -n "s/.*pip='\([0-9.]*\)'.*/\1/p" "$internals" | head -n 1)
bootstrap=$HOME/.ansible/test/cache/get_pip_${pip//./_}.py
if [ ! -e "$bootstrap" ]; then
  mkdir -p "$(dirname "$bootstrap")"
  printf 'import ensurepip\nensurepip.bootstrap(upgrade=True)\n' >"$bootstrap"
fi

# Where pyenv keeps several versions, its shims answer for all of them and run only the chosen one.
tools=$(dirname "$(command -v ansible-test)")
if command -v pyenv >/dev/null; then
  for version in "$(pyenv root)"/versions/3.{9,1?}.*; do
    [ -x "$version/bin/python" ] && PATH=$version/bin:$PATH
  done
fi
export PATH=$tools:$PATH

cd "$collection"
own=$(python -c 'import sys; print(sys.version_info.minor)')
ansible-test sanity --color no --python "3.$own"
for minor in 9 10 11 12 13; do
  if [ "$minor" = "$own" ]; then
    continue
  elif "python3.$minor" -c '' 2>/dev/null; then
    ansible-test sanity --color no --test compile --python "3.$minor"
    ansible-test sanity --color no --test import --python "3.$minor"
  else
    echo "sanity: no Python 3.$minor on this machine, its compile and import tests are left out"
  fi
done
