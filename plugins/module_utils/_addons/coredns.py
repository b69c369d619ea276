# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The CoreDNS add-on: the objects that kubeadm of a release makes for it."""

from __future__ import annotations

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._addons.corefile import default_corefile
from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import parse_networks
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._release import Release, coredns_image

NAMESPACE = "kube-system"
CONFIG_MAP = ObjectKey("v1", "ConfigMap", NAMESPACE, "coredns")
DEPLOYMENT = ObjectKey("apps/v1", "Deployment", NAMESPACE, "coredns")
PATCH_TARGET = "corednsdeployment"

_ROLE = "system:coredns"
_RBAC = "rbac.authorization.k8s.io"
_LABELS = {"k8s-app": "kube-dns"}
_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
_MASTER = "node-role.kubernetes.io/master"


def image(docs: Documents) -> str:
    """Name the image: the documents' own repository and tag where they say so, else the release's."""
    release, dns = docs.known_release, docs.cluster.dns
    repository = dns.image_repository or docs.cluster.image_repository
    return coredns_image(repository, dns.image_tag or release.coredns_tag, release.image_repository)


def dns_address(docs: Documents) -> str:
    """Tell the address of the cluster's DNS: the tenth of the first service network."""
    networks = parse_networks(docs.cluster.networking.service_subnet)
    if not networks or networks[0].num_addresses <= 10:
        raise Unusable(
            "ClusterConfiguration.networking.serviceSubnet", "it has no tenth address for the DNS service", "Choose a larger one"
        )
    return str(networks[0][10])


def config_map(docs: Documents) -> dict[str, Any]:
    """Render the ConfigMap with the release's own Corefile."""
    corefile = default_corefile(docs.cluster.networking.dns_domain, docs.known_release.coredns_no_negative_cache)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIG_MAP.name, "namespace": NAMESPACE},
        "data": {"Corefile": corefile},
    }


def access(docs: Documents) -> tuple[dict[str, Any], ...]:
    """Render role, binding and account."""
    rules: list[dict[str, Any]] = [
        {"apiGroups": [""], "resources": ["endpoints", "services", "pods", "namespaces"], "verbs": ["list", "watch"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
    ]
    if docs.known_release.coredns_reads_nodes:
        rules.insert(1, {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]})
    return (
        {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": _ROLE}, "rules": rules},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": _ROLE},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": _ROLE},
            "subjects": [{"kind": "ServiceAccount", "name": "coredns", "namespace": NAMESPACE}],
        },
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "coredns", "namespace": NAMESPACE}},
    )


def service(docs: Documents) -> dict[str, Any]:
    """Render the Service, whose name is still that of CoreDNS's predecessor."""
    ports = [("dns", 53, "UDP"), ("dns-tcp", 53, "TCP"), ("metrics", 9153, "TCP")]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kube-dns",
            "namespace": NAMESPACE,
            "labels": {**_LABELS, "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS"},
            "annotations": {"prometheus.io/port": "9153", "prometheus.io/scrape": "true"},
        },
        "spec": {
            "clusterIP": dns_address(docs),
            "ports": [{"name": name, "port": port, "protocol": protocol, "targetPort": port} for name, port, protocol in ports],
            "selector": _LABELS,
        },
    }


def deployment(docs: Documents, replicas: int) -> dict[str, Any]:
    """Render the Deployment."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": DEPLOYMENT.name, "namespace": NAMESPACE, "labels": dict(_LABELS)},
        "spec": {
            "replicas": replicas,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "selector": {"matchLabels": dict(_LABELS)},
            "template": {"metadata": {"labels": dict(_LABELS)}, "spec": _pod(docs)},
        },
    }


def _pod(docs: Documents) -> dict[str, Any]:
    release = docs.known_release
    tolerations = [{"key": "CriticalAddonsOnly", "operator": "Exists"}]
    tainted = (_MASTER, _CONTROL_PLANE) if release.coredns_tolerates_master else (_CONTROL_PLANE,)
    tolerations += [{"key": key, "effect": "NoSchedule"} for key in tainted]
    items = [{"key": "Corefile", "path": "Corefile"}]
    pod: dict[str, Any] = {
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": "coredns",
        "tolerations": tolerations,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "containers": [_container(image(docs), release)],
        "dnsPolicy": "Default",
        "volumes": [{"name": "config-volume", "configMap": {"name": CONFIG_MAP.name, "items": items}}],
    }
    if release.coredns_anti_affinity:
        selector = {"matchExpressions": [{"key": "k8s-app", "operator": "In", "values": ["kube-dns"]}]}
        term = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
        preferred = [{"weight": 100, "podAffinityTerm": term}]
        pod["affinity"] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    return pod


def _container(image_name: str, release: Release) -> dict[str, Any]:
    ports = [("dns", 53, "UDP"), ("dns-tcp", 53, "TCP"), ("metrics", 9153, "TCP")]
    alive: str | int = 8080
    ready: str | int = 8181
    if release.coredns_probe_ports_named:
        ports += [("liveness-probe", 8080, "TCP"), ("readiness-probe", 8181, "TCP")]
        alive, ready = "liveness-probe", "readiness-probe"
    return {
        "name": "coredns",
        "image": image_name,
        "imagePullPolicy": "IfNotPresent",
        "resources": {"limits": {"memory": "170Mi"}, "requests": {"cpu": "100m", "memory": "70Mi"}},
        "args": ["-conf", "/etc/coredns/Corefile"],
        "volumeMounts": [{"name": "config-volume", "mountPath": "/etc/coredns", "readOnly": True}],
        "ports": [{"name": name, "containerPort": port, "protocol": protocol} for name, port, protocol in ports],
        "livenessProbe": {
            "httpGet": {"path": "/health", "port": alive, "scheme": "HTTP"},
            "initialDelaySeconds": 60,
            "timeoutSeconds": 5,
            "successThreshold": 1,
            "failureThreshold": 5,
        },
        "readinessProbe": {"httpGet": {"path": "/ready", "port": ready, "scheme": "HTTP"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": [release.coredns_drops_capability]},
            "readOnlyRootFilesystem": True,
        },
    }
