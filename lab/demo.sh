#!/usr/bin/env bash
# The demo: a real node, the playbooks that exist on it, run twice, and what came of it.
set -euo pipefail

cd "$(dirname "$0")/.."
export KUBEPHASE_INSTANCE=${KUBEPHASE_INSTANCE:-demo-$(printf '%s' "$PWD" | sha256sum | cut -c1-6)}

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }

say "A lab node (the first time this builds Kubernetes from source: about 25 minutes)"
inventory=$(python3 -m lab up --control-planes 1 --workers 0)

say "What would change: ansible-playbook kubephase.cluster.init --check --diff"
ansible-playbook kubephase.cluster.init -i "$inventory" --check --diff | grep -E '^(\+\+\+|TASK|.*: ok=)' || true

say "The real run"
ansible-playbook kubephase.cluster.init -i "$inventory"

say "Run again: nothing changes"
ansible-playbook kubephase.cluster.init -i "$inventory" | tee /dev/stderr | grep -q 'changed=0 '

say "What kubeadm says of it, on the node"
python3 -m lab ssh cp1 kubeadm certs check-expiration 2>/dev/null
python3 -m lab ssh cp1 ls -l /etc/kubernetes /etc/kubernetes/pki

say "Done. The node stays up: python3 -m lab ssh --instance $KUBEPHASE_INSTANCE cp1; remove it with: python3 -m lab down --instance $KUBEPHASE_INSTANCE"
