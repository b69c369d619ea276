#!/usr/bin/env bash
# Run the molecule scenarios, each on nodes of its own: run.sh [SCENARIO...]
set -euo pipefail

cd "$(dirname "$0")/.."
checkout=$(cd .. && pwd)
export KUBEPHASE_CHECKOUT=$checkout

# Scenario, control planes, workers.
table='default 1 0
rich 1 0'

[ $# -gt 0 ] || set -- default
while read -r scenario control_planes workers; do
  if ! printf '%s\n' "$@" | grep -qx "$scenario"; then continue; fi
  instance=$(printf '%s' "$checkout-$scenario" | sha256sum | cut -c1-6)
  export KUBEPHASE_INSTANCE=mol-$instance KUBEPHASE_CONTROL_PLANES=$control_planes KUBEPHASE_WORKERS=$workers
  export KUBEPHASE_INVENTORY=$KUBEPHASE_CACHE/instances/$KUBEPHASE_INSTANCE/inventory.yml
  # Building may take long and shows its progress; molecule would swallow that.
  (cd "$checkout" && python3 -m lab build)
  echo "molecule: scenario $scenario on $control_planes control plane(s) and $workers worker(s)"
  if ! molecule --base-config molecule/config.yml test --scenario-name "$scenario"; then
    (cd "$checkout" && python3 -m lab down)
    echo "molecule: scenario $scenario failed" >&2
    exit 1
  fi
done <<<"$table"
