#!/usr/bin/env bash
# Measure on lab nodes of their own, and take them away again.
set -euo pipefail

cd "$(dirname "$0")/../.."
instance=bench-$(printf '%s' "$PWD" | sha256sum | cut -c1-6)
trap 'python3 -m lab down --instance "$instance"' EXIT
inventory=$(python3 -m lab up --instance "$instance" --control-planes 1 --workers 0)
python3 tests/bench/bench.py --inventory "$inventory" "$@"
python3 tests/bench/init.py --instance "$instance-i"
