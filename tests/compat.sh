#!/usr/bin/env bash
# Run the tests with the other Pythons and ansible-cores that the collection promises to work with.
#   compat.sh [all] [NAME ...]      the quick part or everything, in every environment or in those that are named
#   compat.sh environment NAME      make one of the environments and print its path
set -euo pipefail
shopt -s inherit_errexit

cd "$(dirname "$0")/.."
cache=${KUBEPHASE_CACHE:?name a directory for what is made once}

# One environment a row: name, Python, packages. Newer controllers with the newest Pythons that they are used with, and the
# oldest host: the libraries there are the oldest that we promise to work with, and ansible-core is none of them. The clean ones
# are for tests/live/test_live_artifact.py.
rows='
core-2.20 3.12 ansible-core==2.20.10 cryptography==50.0.2 pytest==9.2.0 pytest-xdist==3.8.0 PyYAML==6.0.3
core-2.21 3.13 ansible-core==2.21.5 cryptography==50.0.2 pytest==9.2.0 pytest-xdist==3.8.0 PyYAML==6.0.3
clean-2.20 3.12 ansible-core==2.20.10
clean-2.21 3.13 ansible-core==2.21.5
builder 3.13 ansible-builder==3.2.0 ansible-core==2.21.5
host-3.9 3.9 cryptography==38.0.4 pytest==8.4.2 pytest-xdist==3.8.0 PyYAML==6.0
'
tested=(core-2.20 core-2.21 host-3.9 builder)
# The quick part of the controller's side: all but what waits for terminals and browsers.
quick=(tests/unit/action tests/unit/progress tests/integration --ignore=tests/integration/test_{progress,report_browser}.py)
# What no host ever runs, or what needs the development tools.
not_on_a_host=(action docs lab progress release_quality report test_architecture.py test_documentation.py)
# Members of real etcd clusters take their time.
slow_on_a_host=(etcd/test_etcd_join.py)

row_of() {
  grep -E "^$1 " <<<"$rows" || { echo "compat: no environment is called $1" >&2 && return 1; }
}

python_of() {
  local found
  for found in "$(pyenv root 2>/dev/null)"/versions/"$1".*/bin/python; do
    [ -x "$found" ] && echo "$found" && return
  done
  # A shim of pyenv answers for versions that are not chosen, and fails.
  "python$1" -c 'import ensurepip, sys; print(sys.executable)' 2>/dev/null
}

# Print the path of an environment, made whole or not at all; nothing if this machine lacks its Python.
environment() {
  local row name version packages target python
  row=$(row_of "$1")
  read -r name version packages <<<"$row"
  target=$cache/venv/$name-$(sha256sum <<<"$row" | cut -c1-12)
  if [ ! -e "$target/.complete" ]; then
    python=$(python_of "$version") || return 0
    echo "compat: making $name with Python $version" >&2
    mkdir -p "$cache/venv"
    rm -rf "$target"
    "$python" -m venv "$target"
    # shellcheck disable=SC2086 # several words
    "$target/bin/python" -m pip install --quiet --disable-pip-version-check $packages >&2
    touch "$target/.complete"
  fi
  echo "$target"
}

controller() {
  local suites=("${quick[@]}")
  [ "$2" = quick ] || suites=(tests/unit tests/integration)
  PATH=$1/bin:$PATH python -m pytest -q -n 2 -p no:cacheprovider "${suites[@]}"
}

# What a host has of Ansible is what the action plugin sends there, so the modules are tested with that.
host() {
  local sent=$work/sent without=("${not_on_a_host[@]}")
  [ "$2" != quick ] || without+=("${slow_on_a_host[@]}")
  python -c '
import pathlib, sys
from ansible_collections.kubephase.cluster.plugins.plugin_utils import node_code
for name, content in node_code._files().items():
    path = pathlib.Path(sys.argv[1], name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)' "$sent"
  "$1/bin/python" -m compileall -q "$sent"
  # The tests bring the collection, with themselves in it.
  rm -rf "$sent/ansible_collections"
  PYTHONPATH=$sent "$1/bin/python" -m pytest -q -n 2 -p no:cacheprovider tests/unit "${without[@]/#/--ignore=tests/unit/}"
}

# What ansible-builder does before it needs a container engine: the build context, the collection out of it, its requirements.
builder() {
  cp execution-environment.yml "$work"
  bash tests/build.sh "$work/dist" >/dev/null
  local clean=(env -i "HOME=$work" "PATH=$1/bin:/usr/bin:/bin" LC_ALL=C.UTF-8)
  (
    cd "$work"
    "${clean[@]}" ansible-builder create
    cd context/_build
    "${clean[@]}" ansible-galaxy collection install --offline --requirements-file requirements.yml
    "${clean[@]}" ansible-builder introspect "$work/.ansible/collections" | tee "$work/found"
    grep -q "cryptography.*kubephase.cluster" "$work/found"
  )
}

if [ "${1:-}" = environment ]; then
  environment "${2:?which one}"
  exit
fi
extent=quick
[ "${1:-}" != all ] || { extent=all && shift; }
[ $# -eq 0 ] || tested=("$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONPATH=$PWD/.ansible/collections ANSIBLE_CONFIG=$PWD/ansible.cfg LC_ALL=C.UTF-8

for name in "${tested[@]}"; do
  place=$(environment "$name")
  if [ -z "$place" ]; then
    echo "compat: this machine lacks the Python of $name, its tests are left out"
    continue
  fi
  echo "compat: $name ($("$place/bin/python" --version))"
  case $name in
    core-*) controller "$place" "$extent" ;;
    host-*) host "$place" "$extent" ;;
    builder) builder "$place" ;;
  esac
  if [ "$name-$extent" = core-2.21-all ]; then PATH=$place/bin:$PATH bash tests/sanity.sh; fi
done
