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
for asked in "$@"; do
  scenario=${asked%@*}
  row=$(grep "^$scenario " <<<"$table") || { echo "molecule: there is no scenario $scenario" >&2; exit 2; }
  read -r _ control_planes workers kind <<<"$row"
  release=()
  [ "$asked" = "$scenario" ] || release=(--release "${asked#*@}")
  instance=$(printf '%s' "$checkout-$asked" | sha256sum | cut -c1-6)
  export KUBEPHASE_INSTANCE=mol-$instance KUBEPHASE_CONTROL_PLANES=$control_planes KUBEPHASE_WORKERS=$workers KUBEPHASE_RELEASE="${release[*]}"
  # The images are there either way: importing them takes longest, and is tried elsewhere.
  export KUBEPHASE_KIND=
  [ "$kind" = whole ] || KUBEPHASE_KIND="--bare --images"
  export KUBEPHASE_INVENTORY=$KUBEPHASE_CACHE/instances/$KUBEPHASE_INSTANCE/inventory.yml
  # Building may take long and shows its progress; molecule would swallow that.
  (cd "$checkout" && python3 -m lab build "${release[@]}" && { [ "$kind" = whole ] || python3 -m lab repository "${release[@]}" >/dev/null; })
  echo "molecule: scenario $asked on $control_planes control plane(s) and $workers worker(s)"
  if ! molecule --base-config molecule/config.yml test --scenario-name "$scenario"; then
    (cd "$checkout" && python3 -m lab down)
    echo "molecule: scenario $asked failed" >&2
    exit 1
  fi
done
