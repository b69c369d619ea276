#!/usr/bin/env bash
# Run molecule scenarios, each on nodes of its own: run.sh [SCENARIO[@RELEASE]...]; without arguments all of them.
set -euo pipefail

cd "$(dirname "$0")/.."
checkout=$(cd .. && pwd)
export KUBEPHASE_CHECKOUT=$checkout

# Scenario, control planes, workers, and whether they come bare: then the scenario has the role prepare make nodes of them.
table='default 1 0 bare
rich 1 0 bare
ha 3 2 whole
serving 1 2 whole'

if [ $# -eq 0 ]; then mapfile -t every < <(cut -d' ' -f1 <<<"$table") && set -- "${every[@]}"; fi

# Set what molecule and the lab have to know of a scenario: its instance, its nodes, its release.
instance_of() {
  local asked=$1 row control_planes workers kind
  row=$(grep "^${asked%@*} " <<<"$table") || { echo "molecule: there is no scenario ${asked%@*}" >&2; exit 2; }
  read -r _ control_planes workers kind <<<"$row"
  release=()
  [ "$asked" = "${asked%@*}" ] || release=(--release "${asked#*@}")
  export KUBEPHASE_INSTANCE KUBEPHASE_CONTROL_PLANES=$control_planes KUBEPHASE_WORKERS=$workers KUBEPHASE_RELEASE="${release[*]}"
  KUBEPHASE_INSTANCE=mol-$(printf '%s' "$checkout-$asked" | sha256sum | cut -c1-6)
  # The images are there either way: importing them takes longest, and is tried elsewhere.
  export KUBEPHASE_KIND=
  [ "$kind" = whole ] || KUBEPHASE_KIND="--bare --images"
  export KUBEPHASE_INVENTORY=$KUBEPHASE_CACHE/instances/$KUBEPHASE_INSTANCE/inventory.yml
}

scenario() {
  instance_of "$1"
  echo "scenario on $KUBEPHASE_CONTROL_PLANES control plane(s) and $KUBEPHASE_WORKERS worker(s)"
  molecule --base-config molecule/config.yml test --scenario-name "${1%@*}" && return
  (cd "$checkout" && python3 -m lab down)
  echo "scenario failed"
  return 1
}

# Building may take long and shows its progress; molecule would swallow that.
for asked in "$@"; do
  instance_of "$asked"
  (cd "$checkout" && python3 -m lab build "${release[@]}" && { [ -z "$KUBEPHASE_KIND" ] || python3 -m lab repository "${release[@]}" >/dev/null; })
done

# Two at a time: half of what a scenario does is waiting. Each line says whose it is, and an interrupt ends both.
set -m
trap 'for group in $(jobs -p); do kill -- "-$group"; done' EXIT
failed=0 running=0
for asked in "$@"; do
  if [ "$running" -eq 2 ]; then
    wait -n || failed=1
    running=1
  fi
  scenario "$asked" 2>&1 </dev/null | sed -u "s/^/$asked | /" &
  running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
  wait -n || failed=1
  running=$((running - 1))
done
[ "$failed" -eq 0 ] || { echo "molecule: a scenario failed" >&2; exit 1; }
