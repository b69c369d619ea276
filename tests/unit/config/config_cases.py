# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One valid set of documents and a table of single changes to it, each with the place of the problem it makes."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

TOKEN = "abcdef.0123456789abcdef"
PIN = "sha256:" + "ab" * 32
KEY = "0123456789abcdef" * 4

VALID: dict[str, dict[str, Any]] = {
    "ClusterConfiguration": {"kubernetesVersion": "v1.37.1"},
    "InitConfiguration": {
        "localAPIEndpoint": {"advertiseAddress": "10.0.0.1"},
        "nodeRegistration": {"name": "one", "criSocket": "unix:///run/containerd/containerd.sock"},
    },
    "JoinConfiguration": {
        "discovery": {"bootstrapToken": {"token": TOKEN, "apiServerEndpoint": "10.0.0.1:6443", "caCertHashes": [PIN]}},
        "nodeRegistration": {"name": "two", "criSocket": "unix:///run/containerd/containerd.sock"},
    },
}


class Case(NamedTuple):
    """A change to the valid documents; problem is empty when it stays valid; kubeadm says where kubeadm 1.37.1 thinks otherwise."""

    path: str
    value: Any
    problem: str = ""
    kubeadm: str = "agrees"


def changed(path: str, value: Any) -> dict[str, dict[str, Any]]:
    """The valid documents with the value at the path, whose parents are made where they are missing."""
    documents = copy.deepcopy(VALID)
    holder: dict[str, Any] = documents
    *parents, last = path.split(".")
    for parent in parents:
        holder = holder.setdefault(parent, {})
    holder[last] = value
    return documents


C, INIT, J = "ClusterConfiguration", "InitConfiguration", "JoinConfiguration"
NET, CP, LAE, NODE, TOKENS = (
    f"{C}.networking",
    f"{C}.controlPlaneEndpoint",
    f"{INIT}.localAPIEndpoint",
    f"{INIT}.nodeRegistration",
    f"{INIT}.bootstrapTokens",
)
EXT, LOCAL, DISC, ARGS = f"{C}.etcd.external", f"{C}.etcd.local", f"{J}.discovery", f"{C}.apiServer.extraArgs"
URL = "https://10.0.0.9:2379"
ACCEPTS, REFUSES = "accepts", "refuses"


def _refused(path: str, *values: Any, at: str = "", kubeadm: str = "agrees") -> list[Case]:
    return [Case(path, value, path + at, kubeadm) for value in values]


def _accepted(path: str, *values: Any, kubeadm: str = "agrees") -> list[Case]:
    return [Case(path, value, "", kubeadm) for value in values]


CASES: list[Case] = [
    # networks
    *_refused(f"{NET}.podSubnet", "10.244.0.0", "10.244.0.0/33", "nonsense", "10.244.0.0/16 ", "10.244.0.0/16,10.245.0.0/16"),
    *_refused(
        f"{NET}.podSubnet",
        "10.244.0.0/16,fd00:10::/48,fd00:11::/48",
        "10.244.0.0/29",
        "10.244.0.0/25",
        "10.0.0.0/7",
        "10.244.0.0/255.255.0.0",
    ),
    *_refused(f"{NET}.podSubnet", "10.96.0.0/16", "10.104.0.0/13", "fd00:10::/56", kubeadm=ACCEPTS),
    *_refused(f"{NET}.podSubnet", "010.244.0.0/16", kubeadm=ACCEPTS),
    *_accepted(f"{NET}.podSubnet", "10.244.0.0/16", "10.244.0.0/24", "192.168.0.0/16", "10.244.1.0/16", "", "10.0.0.0/16"),
    *_accepted(f"{NET}.podSubnet", "10.244.0.0/16,fd00:10::/56", "fd00:10::/56,10.244.0.0/16"),
    *_refused(f"{NET}.serviceSubnet", "10.96.0.0/29", "10.96.0.0/11", "10.96.0.0", "fd00::/107", "10.96.0.0/12,10.112.0.0/12", "x"),
    *_refused(f"{NET}.serviceSubnet", "fd00::/108", "10.0.0.0/24", "fd00::/108,10.96.0.0/12", kubeadm=ACCEPTS),
    *_accepted(f"{NET}.serviceSubnet", "10.96.0.0/12", "10.96.0.0/28", "10.96.0.0/12,fd00::/108", "172.30.0.0/16"),
    *_refused(f"{NET}.dnsDomain", "Cluster.local", "cluster_local", "-x", "x..y", "a" * 254),
    *_accepted(f"{NET}.dnsDomain", "cluster.local", "k8s", "a.b-c.d1"),
    # endpoint
    *_refused(CP, "https://lb:6443", "lb:0", "lb:65536", "lb:http", "[fd00::1]", "LB.example.com", "lb_1", ":6443", "lb:6443:1"),
    *_refused(CP, "10.0.0.300", "10.0.0.300:6443", kubeadm=ACCEPTS),
    *_accepted(CP, "lb", "lb.example.com:8443", "10.0.0.5", "10.0.0.5:443", "fd00::1", "[fd00::1]:6443", "lb:", ""),
    # API address
    *_refused(f"{LAE}.advertiseAddress", "nonsense", "10.0.0.1/24", "host.example.com", "fe80::1%eth0"),
    *_refused(f"{LAE}.advertiseAddress", "224.0.0.1", "169.254.1.1", "010.0.0.1", kubeadm=ACCEPTS),
    Case(f"{LAE}.advertiseAddress", "fd00::1", f"{NET}.serviceSubnet", ACCEPTS),
    Case(f"{LAE}.advertiseAddress", "10.96.0.7", f"{NET}.serviceSubnet", ACCEPTS),
    *_refused(f"{LAE}.bindPort", -1, 65536, 70000),
    *_accepted(f"{LAE}.bindPort", 1, 65535, 0),
    # node registration
    *_refused(f"{NODE}.name", "a_b", "-a", "a" * 254, "a..b"),
    *_accepted(f"{NODE}.name", "Node1", "a.b", " padded "),
    *_refused(f"{NODE}.criSocket", "tcp://127.0.0.1:1234", "npipe:////./pipe/containerd", "unix:", "containerd.sock", kubeadm=ACCEPTS),
    *_accepted(f"{NODE}.criSocket", "/run/containerd/containerd.sock", "unix:///var/run/crio/crio.sock", ""),
    *_refused(f"{NODE}.imagePullPolicy", "Sometimes", "always"),
    *_accepted(f"{NODE}.imagePullPolicy", "Always", "Never", "IfNotPresent", ""),
    *_refused(f"{NODE}.ignorePreflightErrors", ["all", "Swap"], kubeadm=ACCEPTS),
    *_accepted(f"{NODE}.ignorePreflightErrors", ["ALL"], ["Swap", "Mem"], ["all", "All"]),
    *_refused(f"{NODE}.taints", [{"key": "k", "effect": "NoSchedul"}], [{"key": "k"}], at="[0].effect", kubeadm=ACCEPTS),
    *_refused(f"{NODE}.taints", [{"key": "a b", "effect": "NoExecute"}], [{"effect": "NoExecute"}], at="[0].key", kubeadm=ACCEPTS),
    *_refused(f"{NODE}.taints", [{"key": "k", "value": "a b", "effect": "NoExecute"}], at="[0].value", kubeadm=ACCEPTS),
    *_accepted(f"{NODE}.taints", [], [{"key": "example.com/k", "value": "v", "effect": "NoExecute"}], None),
    *_refused(f"{NODE}.kubeletExtraArgs", [{"name": "", "value": "x"}], [{"value": "x"}], at="[0].name"),
    *_refused(f"{NODE}.kubeletExtraArgs", [{"name": "--v", "value": "4"}], [{"name": "v=4"}], at="[0].name", kubeadm=ACCEPTS),
    *_accepted(f"{NODE}.kubeletExtraArgs", [{"name": "v", "value": "4"}, {"name": "v", "value": "5"}], [{"name": "v"}]),
    # arguments, environment, volumes
    *_refused(ARGS, [{"name": "", "value": "x"}], at="[0].name"),
    *_refused(ARGS, [{"name": "v", "value": 4}], at="[0].value"),
    *_refused(ARGS, [{"name": "v", "valeu": "4"}], at="[0].valeu"),
    *_refused(ARGS, [{"name": "--v", "value": "4"}], at="[0].name", kubeadm=ACCEPTS),
    *_refused(ARGS, "v=4", 4),
    *_refused(f"{C}.scheduler.extraArgs", [{"name": "", "value": "x"}], at="[0].name"),
    *_refused(f"{LOCAL}.extraArgs", [{"name": "", "value": "x"}], at="[0].name"),
    *_refused(f"{C}.apiServer.extraEnvs", [{"value": "x"}], at="[0].name", kubeadm=ACCEPTS),
    *_refused(f"{C}.apiServer.extraEnvs", [{"name": "A", "valueFrom": {}}], at="[0].valueFrom", kubeadm=ACCEPTS),
    *_accepted(
        f"{C}.apiServer.extraEnvs", [{"name": "A", "value": "x"}], [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
    ),
    *_refused(f"{C}.apiServer.extraVolumes", [{"name": "a", "hostPath": "x", "mountPath": "/y"}], at="[0].hostPath", kubeadm=ACCEPTS),
    *_refused(f"{C}.apiServer.extraVolumes", [{"hostPath": "/x", "mountPath": "/y"}], at="[0].name", kubeadm=ACCEPTS),
    *_refused(
        f"{C}.apiServer.extraVolumes",
        [{"name": "a", "hostPath": "/x", "mountPath": "/y", "pathType": "Dir"}],
        at="[0].pathType",
        kubeadm=ACCEPTS,
    ),
    *_accepted(f"{C}.apiServer.extraVolumes", [{"name": "a", "hostPath": "/x", "mountPath": "/y", "pathType": "File", "readOnly": True}]),
    # images
    *_refused(f"{C}.imageRepository", "https://registry.example.com", "UPPER/Case", "a b", "registry.example.com/", "a//b"),
    *_accepted(
        f"{C}.imageRepository", "registry.example.com:5000/k8s", "registry.example.com", "UPPER.example.com", "a/b/c", "localhost:5000", ""
    ),
    *_refused(f"{C}.dns.imageRepository", "a b", "http://x"),
    *_refused(f"{C}.dns.imageTag", "a b", kubeadm=ACCEPTS),
    # certificates
    *_refused(f"{C}.certificatesDir", "pki", "./pki"),
    *_accepted(f"{C}.certificatesDir", "/etc/pki/", "//etc//pki", ""),
    *_refused(f"{C}.apiServer.certSANs", ["a_b"], ["*.*.example.com"], [""], ["a b"], at="[0]"),
    *_refused(f"{C}.apiServer.certSANs", ["10.0.0.256"], at="[0]", kubeadm=ACCEPTS),
    *_refused(f"{C}.apiServer.certSANs", ["ok", "https://x"], at="[1]"),
    *_accepted(f"{C}.apiServer.certSANs", ["LB.Example.com", "10.0.0.1", "fd00::1", "*.example.com"], []),
    *_refused(f"{C}.encryptionAlgorithm", "RSA-1024", "rsa-2048", "ECDSA"),
    *_accepted(f"{C}.encryptionAlgorithm", "RSA-2048", "RSA-3072", "RSA-4096", "ECDSA-P256", "ECDSA-P384", ""),
    *_refused(f"{C}.certificateValidityPeriod", "-1h", "0s", kubeadm=ACCEPTS),
    *_refused(f"{C}.certificateValidityPeriod", "1d", "1", "", "one year", "h", 8760, "9999999h"),
    *_refused(f"{C}.caCertificateValidityPeriod", "-87600h", kubeadm=ACCEPTS),
    *_accepted(f"{C}.certificateValidityPeriod", "8760h", "1h30m", "90000h", "1.5h", "+1h"),
    # etcd
    *_refused(f"{LOCAL}.dataDir", "data"),
    *_refused(f"{LOCAL}.serverCertSANs", ["A.example.com"], ["a_b"], at="[0]"),
    *_refused(f"{LOCAL}.peerCertSANs", ["a b"], at="[0]"),
    *_accepted(LOCAL, {}, {"dataDir": "/data", "serverCertSANs": ["10.0.0.9", "*.x"]}, None),
    *_refused(f"{C}.etcd", {"local": {}, "external": {"endpoints": [URL]}}),
    *_refused(EXT, {}, {"endpoints": []}, at=".endpoints"),
    *_refused(EXT, {"endpoints": ["10.0.0.9:2379"]}, {"endpoints": ["//10.0.0.9:2379"]}, at=".endpoints[0]"),
    *_refused(EXT, {"endpoints": ["http://10.0.0.9:2379"], "caFile": "/ca.crt"}, at=".endpoints[0]"),
    *_refused(EXT, {"endpoints": [URL], "caFile": "/ca", "certFile": "/crt"}, at=".keyFile"),
    *_refused(EXT, {"endpoints": [URL], "caFile": "/ca", "keyFile": "/key"}, at=".certFile"),
    *_refused(EXT, {"endpoints": [URL], "certFile": "/crt", "keyFile": "/key"}, {"endpoints": [URL], "caFile": "ca"}, at=".caFile"),
    *_refused(EXT, {"endpoints": [URL], "httpEndpoints": ["10.0.0.9"]}, at=".httpEndpoints[0]"),
    *_accepted(EXT, {"endpoints": [URL], "caFile": "/ca", "certFile": "/crt", "keyFile": "/key"}, {"endpoints": ["http://10.0.0.9:2379"]}),
    # tokens
    *_refused(TOKENS, [{"token": "abc"}], [{"token": "ABCDEF.0123456789abcdef"}], [{"token": 123456.1234}], at="[0].token"),
    *_refused(TOKENS, [{"token": TOKEN, "ttl": "1h", "expires": "2030-01-01T00:00:00Z"}], at="[0].expires"),
    *_refused(TOKENS, [{"token": TOKEN, "expires": "tomorrow"}], [{"token": TOKEN, "expires": "2030-13-01T00:00:00Z"}], at="[0].expires"),
    *_refused(TOKENS, [{"token": TOKEN, "usages": ["sign"]}], at="[0].usages[0]"),
    *_refused(TOKENS, [{"token": TOKEN, "usages": ["signing"]}], at="[0].usages"),
    *_refused(TOKENS, [{"token": TOKEN, "groups": ["system:masters"]}], at="[0].groups[0]"),
    *_refused(TOKENS, [{"token": TOKEN, "ttl": "-1h"}], at="[0].ttl", kubeadm=ACCEPTS),
    *_accepted(
        TOKENS, [{"token": TOKEN}], [{"description": "made later"}], [], [{"token": TOKEN, "ttl": "0s", "usages": ["authentication"]}]
    ),
    *_accepted(TOKENS, [{"token": TOKEN, "expires": "2030-01-01T00:00:00Z"}], kubeadm=REFUSES),
    *_refused(f"{INIT}.certificateKey", "abc", "zz" * 32, "ab" * 31, "ab" * 33),
    *_accepted(f"{INIT}.certificateKey", KEY, KEY.upper(), ""),
    # join
    *_refused(
        DISC,
        {"bootstrapToken": {"token": TOKEN, "apiServerEndpoint": "10.0.0.1", "caCertHashes": [PIN]}},
        at=".bootstrapToken.apiServerEndpoint",
    ),
    *_refused(DISC, {"bootstrapToken": {"token": TOKEN, "caCertHashes": [PIN]}}, at=".bootstrapToken.apiServerEndpoint"),
    *_refused(
        DISC,
        {"bootstrapToken": {"token": TOKEN, "apiServerEndpoint": "https://a:1", "caCertHashes": [PIN]}},
        at=".bootstrapToken.apiServerEndpoint",
    ),
    *_refused(
        DISC,
        {"bootstrapToken": {"token": TOKEN, "apiServerEndpoint": "a:x", "caCertHashes": [PIN]}},
        at=".bootstrapToken.apiServerEndpoint",
        kubeadm=ACCEPTS,
    ),
    *_refused(DISC, {"bootstrapToken": {"token": TOKEN, "apiServerEndpoint": "a:1"}}, at=".bootstrapToken.caCertHashes"),
    *_refused(
        DISC,
        {"bootstrapToken": {"token": TOKEN, "apiServerEndpoint": "a:1", "caCertHashes": ["sha256:ab"]}},
        at=".bootstrapToken.caCertHashes[0]",
        kubeadm=ACCEPTS,
    ),
    *_refused(DISC, {"bootstrapToken": {"token": "abc", "apiServerEndpoint": "a:1", "caCertHashes": [PIN]}}, at=".bootstrapToken.token"),
    *_refused(f"{DISC}.tlsBootstrapToken", "abc"),
    Case(f"{DISC}.file", {"kubeConfigPath": "/etc/hostname"}, DISC),
    *_refused(
        DISC,
        {"file": {"kubeConfigPath": "http://x/y"}},
        {"file": {"kubeConfigPath": "discovery.conf"}},
        {"file": {}},
        at=".file.kubeConfigPath",
    ),
    *_accepted(
        DISC,
        {"file": {"kubeConfigPath": "https://x/y"}},
        {"file": {"kubeConfigPath": "/etc/hostname"}},
        {"file": {"kubeConfigPath": "file:///etc/hostname"}},
    ),
    *_accepted(DISC, {"bootstrapToken": {"token": TOKEN, "apiServerEndpoint": "[fd00::1]:6443", "unsafeSkipCAVerification": True}}),
    *_accepted(DISC, {}, kubeadm=REFUSES),
    *_refused(f"{J}.caCertPath", "ca.crt", "/etc/ca.pem"),
    *_refused(f"{J}.controlPlane", {"certificateKey": "abc"}, at=".certificateKey"),
    *_refused(f"{J}.controlPlane", {"localAPIEndpoint": {"bindPort": 70000}}, at=".localAPIEndpoint.bindPort"),
    *_accepted(f"{J}.controlPlane", {}, {"certificateKey": KEY, "localAPIEndpoint": {"advertiseAddress": "10.0.0.2"}}),
    # the rest
    *_refused(f"{C}.featureGates", {"NoSuchGate": True}, at=".NoSuchGate"),
    *_refused(f"{C}.featureGates", {"RootlessControlPlane": "true"}, at=".RootlessControlPlane"),
    *_accepted(f"{C}.featureGates", {"RootlessControlPlane": False}, {}),
    *_refused(f"{C}.kubernetesVersion", "1.37", "v1", "nonsense", "v1.21.0", 1.37),
    *_refused(f"{C}.kubernetesVersion", "stable-1", "latest", "ci/latest", "stable-1.36", kubeadm=ACCEPTS),
    *_refused(f"{C}.kubernetesVersion", "v1.99.0", "v2.0.0", kubeadm=ACCEPTS),
    *_accepted(f"{C}.kubernetesVersion", "1.37.1", "v1.36.4", "v1.37.0"),
    *_refused(f"{INIT}.timeouts", {"kubernetesAPICall": "-1m"}, {"kubernetesAPICall": "0s"}, at=".kubernetesAPICall", kubeadm=ACCEPTS),
    *_refused(f"{INIT}.patches", {"directory": "patches"}, at=".directory", kubeadm=ACCEPTS),
    *_refused(f"{C}.nettworking", {}),
    *_refused(f"{C}.networking", {"podSubent": "10.244.0.0/16"}, at=".podSubent"),
    *_refused(f"{C}.networking", [], "x", 1),
    *_refused(f"{C}.apiServer", {"timeoutForControlPlane": "4m"}, at=".timeoutForControlPlane"),
    *_refused(f"{C}.dns", {"disabled": "yes"}, at=".disabled"),
    *_refused(f"{C}.apiServer.certSANs", "lb.example.com"),
    *_refused(f"{LAE}.bindPort", "6443", 6443.5, True),
    *_accepted(f"{C}.clusterName", "prod", ""),
    *_accepted(f"{INIT}.skipPhases", ["addon/kube-proxy"], [], ["preflight", "certs/all", "kubeconfig/super-admin"]),
    # kubeadm looks at these names when init and join start, not when it validates the file.
    *_refused(f"{INIT}.skipPhases", ["addons"], ["Preflight"], ["addon/corends"], ["control-plane-join"], at="[0]", kubeadm=ACCEPTS),
    *_refused(f"{J}.skipPhases", ["addon"], at="[0]", kubeadm=ACCEPTS),
    *_accepted(f"{J}.skipPhases", ["control-plane-prepare/certs", "kubelet-wait-bootstrap"]),
]
