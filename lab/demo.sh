#!/usr/bin/env bash
# The demo: five bare machines, made nodes of a cluster by the whole site, run twice, a workload that answers across nodes.
set -euo pipefail

cd "$(dirname "$0")/.."
export KUBEPHASE_INSTANCE=${KUBEPHASE_INSTANCE:-demo-$(printf '%s' "$PWD" | sha256sum | cut -c1-6)}

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
on_node() { python3 -m lab ssh cp1 "$@"; }
kubectl() { on_node kubectl --kubeconfig /etc/kubernetes/admin.conf "$@"; }

say "Five bare machines (the first time this builds Kubernetes from source: about 25 minutes on two cores)"
inventory=$(python3 -m lab up --bare --images --control-planes 3 --workers 2)
manifests=$(dirname "$inventory")/manifests
site=(ansible-playbook kubephase.cluster.site -i "$inventory"
  -e "kubephase_config_file=$manifests/kubeadm.yaml" -e "kubephase_addon_manifest=$manifests/flannel.yaml")

say "What would change: --check --diff"
"${site[@]}" --check --diff | grep -E '^(\+\+\+|\[[0-9]|.*: ok=)' || true

say "The real run"
"${site[@]}"

say "Run again: nothing changes"
# To open standard error by name would cut off the file that it may lead to.
again=$("${site[@]}" | tee >(cat >&2))
[ "$(grep -c 'changed=0 ' <<<"$again")" = 5 ]

say "A workload on every node, reached through its Service by name"
kubectl wait --for=condition=Ready node --all --timeout=180s
kubectl apply -f - <"$manifests/workload.yaml"
kubectl rollout status daemonset/agnhost --timeout=120s
kubectl -n kube-system rollout status deployment/coredns --timeout=180s
kubectl get nodes -o wide
for node in cp1 w1 w2; do
  pod=$(kubectl get pods -l app=agnhost --field-selector "spec.nodeName=$KUBEPHASE_INSTANCE-$node" -o name)
  for other in $(kubectl get pods -l app=agnhost -o "jsonpath='{.items[*].status.podIP}'"); do
    kubectl exec "$pod" -- /agnhost connect "$other:8080" --timeout 10s
  done
  kubectl exec "$pod" -- /agnhost connect agnhost.default.svc.cluster.local:80 --timeout 10s
  echo "from $node: agnhost.default.svc.cluster.local answers, and so does its pod on every node"
done

say "What kubeadm says of it, which comes from the repository just to be asked"
on_node apt-get -qq install -y --no-install-recommends kubeadm >/dev/null
on_node kubeadm certs check-expiration 2>/dev/null

say "Done. The nodes stay up: python3 -m lab ssh --instance $KUBEPHASE_INSTANCE cp1"
echo "Remove them with: python3 -m lab down --instance $KUBEPHASE_INSTANCE"
