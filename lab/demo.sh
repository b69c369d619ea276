#!/usr/bin/env bash
# The demo: a real node, init on it, run twice, a workload that answers.
set -euo pipefail

cd "$(dirname "$0")/.."
export KUBEPHASE_INSTANCE=${KUBEPHASE_INSTANCE:-demo-$(printf '%s' "$PWD" | sha256sum | cut -c1-6)}

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
on_node() { python3 -m lab ssh cp1 "$@"; }
kubectl() { on_node kubectl --kubeconfig /etc/kubernetes/admin.conf "$@"; }

say "A lab node (the first time this builds Kubernetes from source: about 25 minutes on two cores)"
inventory=$(python3 -m lab up --control-planes 1 --workers 0)
manifests=$(dirname "$inventory")/manifests
init=(ansible-playbook kubephase.cluster.init -i "$inventory"
  -e "kubephase_config_file=$manifests/kubeadm.yaml" -e "kubephase_addon_manifest=$manifests/flannel.yaml")

say "What would change: --check --diff"
"${init[@]}" --check --diff | grep -E '^(\+\+\+|TASK|.*: ok=)' || true

say "The real run"
"${init[@]}"

say "Run again: nothing changes"
"${init[@]}" | tee /dev/stderr | grep -q 'changed=0 '

say "A workload, reached through its Service by name"
kubectl wait --for=condition=Ready node --all --timeout=180s
kubectl apply -f - <"$manifests/workload.yaml"
kubectl rollout status daemonset/agnhost --timeout=120s
kubectl -n kube-system rollout status deployment/coredns --timeout=180s
kubectl exec daemonset/agnhost -- /agnhost connect agnhost.default.svc.cluster.local:80 --timeout 10s
echo "agnhost.default.svc.cluster.local answers"
kubectl get nodes,pods -A -o wide

say "What kubeadm says of it"
on_node kubeadm certs check-expiration 2>/dev/null

say "Done. The node stays up: python3 -m lab ssh --instance $KUBEPHASE_INSTANCE cp1"
echo "Remove it with: python3 -m lab down --instance $KUBEPHASE_INSTANCE"
