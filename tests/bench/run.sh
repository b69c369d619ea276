#!/usr/bin/env bash
# Measure on lab nodes of their own, and take them away again. PARTS="workers site" measures only these.
set -euo pipefail

cd "$(dirname "$0")/../.."
instance=bench-$(printf '%s' "$PWD" | sha256sum | cut -c1-6)

for part in ${PARTS:-pki init workers site serving}; do
  echo "bench: $part"
  case $part in
    pki)
      trap 'python3 -m lab down --instance "$instance"' EXIT
      inventory=$(python3 -m lab up --instance "$instance" --control-planes 1 --workers 0)
      python3 tests/bench/bench.py --inventory "$inventory" "$@"
      python3 -m lab down --instance "$instance"
      trap - EXIT
      ;;
    init) python3 tests/bench/init.py --instance "$instance-i" ;;
    workers | site) python3 tests/bench/join.py --instance "$instance" --parts "$part" ;;
    serving) python3 tests/bench/serving.py ;;
    *)
      echo "bench: there is no part $part; choose from pki, init, workers, site and serving" >&2
      exit 2
      ;;
  esac
done
