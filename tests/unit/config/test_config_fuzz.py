# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whatever comes in, documents or InvalidDocuments come out: random changes to valid documents, the same in every run."""

from __future__ import annotations

import copy
import random
from datetime import date, datetime, timezone
from typing import Any

import pytest
import yaml
from config_cases import CASES, KEY, PIN, TOKEN, VALID

from ansible_collections.kubephase.cluster.plugins.module_utils._config import InvalidDocuments, NodeFacts, Secrets, resolve, split_secrets
from ansible_collections.kubephase.cluster.plugins.module_utils._config.sources import Source, canonical
from ansible_collections.kubephase.cluster.plugins.plugin_utils.document_stream import read

FULL: dict[str, Any] = {
    "ClusterConfiguration": {
        "kubernetesVersion": "v1.37.1",
        "controlPlaneEndpoint": "lb.example.com:6443",
        "networking": {"podSubnet": "10.244.0.0/16,fd00:10::/56", "serviceSubnet": "10.96.0.0/16,fd00::/112", "dnsDomain": "k8s.local"},
        "apiServer": {
            "extraArgs": [{"name": "v", "value": "4"}],
            "extraVolumes": [{"name": "a", "hostPath": "/a", "mountPath": "/b", "pathType": "File", "readOnly": True}],
            "extraEnvs": [{"name": "A", "value": "b"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
            "certSANs": ["lb.example.com", "10.0.0.9", "*.example.com"],
        },
        "controllerManager": {"extraArgs": [{"name": "node-cidr-mask-size-ipv4", "value": "24"}]},
        "etcd": {"local": {"dataDir": "/data", "extraArgs": [{"name": "v", "value": "1"}], "serverCertSANs": ["a"]}},
        "dns": {"disabled": False, "imageTag": "v1"},
        "featureGates": {"RootlessControlPlane": False},
        "certificateValidityPeriod": "100h",
        "encryptionAlgorithm": "RSA-3072",
    },
    "InitConfiguration": {
        "bootstrapTokens": [{"token": TOKEN, "ttl": "1h", "usages": ["authentication"]}, {"expires": "2030-01-01T00:00:00Z"}],
        "nodeRegistration": {
            "name": "one",
            "taints": [{"key": "a", "effect": "NoSchedule"}],
            "kubeletExtraArgs": [{"name": "v", "value": "2"}],
        },
        "localAPIEndpoint": {"advertiseAddress": "10.0.0.1", "bindPort": 7443},
        "certificateKey": KEY,
        "timeouts": {"discovery": "3m"},
        "skipPhases": ["addon/kube-proxy"],
    },
    "JoinConfiguration": {
        **VALID["JoinConfiguration"],
        "controlPlane": {"certificateKey": KEY, "localAPIEndpoint": {"advertiseAddress": "10.0.0.2"}},
    },
    "KubeletConfiguration": {"maxPods": 100, "clusterDNS": ["10.96.0.10"], "authentication": {"webhook": {"cacheTTL": "1m"}}},
    "KubeProxyConfiguration": {"mode": "iptables", "conntrack": {"min": 0}},
}
ODD: list[Any] = [
    None, True, False, 0, -1, 1, 65536, 2**31, 10**400, 1.5, float("nan"), float("inf"), "", " ", "\0", "\n", "-", ".", "/", ":",
    "[", "]", "[]:1", "a" * 300, "ü", "٣", "１０.0.0.1", "10.0.0.1", "::", "::ffff:10.0.0.1", "10.0.0.0/8", "0.0.0.0/0", "::/0",
    "10.0.0.0/8,", ",", "/24", "%", "v1.37.1", "stable", "v1." + "9" * 5000 + ".0", "1h", "-1h", "9" * 50 + "h",
    "2030-02-31T00:00:00Z", "https://", "https://[", "unix://", "tcp://x", TOKEN, PIN, [], {}, [None], [[]], [{}], {"": ""},
    {1: 2}, {None: None}, {"a": {"b": []}}, b"bytes", date(2030, 1, 1), datetime(2030, 1, 1, tzinfo=timezone.utc),
    {"name": "a", "value": "b"}, {"a": "b"}, {"local": {}, "external": {}}, object(), {1, 2}, (1, "a"), 1j, range(3),
]  # fmt: skip


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Every holder of a value together with the key of that value."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    for key in keys:
        found.append((value, key))
        _places(value[key], found)
    return found


def _mutate(documents: dict[str, Any], chance: random.Random) -> None:
    for _ in range(chance.choice((1, 1, 2, 5))):
        places = _places(documents, [])
        if not places:
            return
        holder, key = chance.choice(places)
        what = chance.random()
        if what < 0.6:
            holder[key] = copy.copy(chance.choice(ODD))
        elif what < 0.7:
            del holder[key]
        elif what < 0.8 and isinstance(holder, dict):
            holder[chance.choice([str(key) + "x", str(key)[1:], str(key).upper(), 7, None])] = holder.pop(key)
        elif what < 0.9 and isinstance(holder[key], str):
            text = holder[key]
            position = chance.randrange(len(text) + 1)
            holder[key] = text[:position] + chance.choice(["", "x", "9", ".", ":", "/", "-", "A", " ", "é"]) + text[position + 1 :]
        else:
            holder[key] = copy.deepcopy(chance.choice(places)[0])


def _everything(sources: list[Source], chance: random.Random) -> None:
    """The whole way from sources to resolved documents; anything but InvalidDocuments is a bug and gets out."""
    facts = chance.choice(
        [None, NodeFacts("node", "10.0.0.1", "v1.33.0", ("unix:///x",)), NodeFacts(kubelet_version=chance.choice(["", "x", "v9"]))]
    )
    try:
        found = canonical(sources)
        public, secrets = split_secrets(found.documents)
        again = Secrets.of(secrets.plain())
        resolve(
            public,
            facts,
            chance.choice([None, again]),
            becomes=chance.choice([None, "init", "worker", "control_plane"]),
            origins=found.origins,
        )
    except InvalidDocuments as invalid:
        assert invalid.problems
        assert all(problem.where and problem.found and problem.expected for problem in invalid.problems)
        assert TOKEN not in str(invalid) and KEY not in str(invalid)


@pytest.mark.parametrize("seed", range(8))
def test_changed_documents(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(150):
        documents = copy.deepcopy(FULL)
        _mutate(documents, chance)
        version = chance.choice([{}, {"apiVersion": "kubeadm.k8s.io/v1beta3"}, {"apiVersion": "kubeadm.k8s.io/v1beta4"}])
        as_variables = chance.random() < 0.5 and all(isinstance(kind, str) for kind in documents)
        sources = []
        for kind, body in documents.items():
            typed = {**version, "kind": kind, **body} if isinstance(body, dict) else body
            sources.append(Source("vars", kind, body) if as_variables else Source("file", None, typed))
        _everything(sources, chance)


@pytest.mark.parametrize("seed", range(4))
def test_changed_documents_given_straight_to_resolve(seed: int) -> None:
    chance = random.Random(1000 + seed)
    for _ in range(150):
        documents = copy.deepcopy(FULL)
        _mutate(documents, chance)
        try:
            resolve(documents, secrets=chance.choice([None, Secrets(), Secrets({"InitConfiguration.certificateKey": KEY})]))
        except InvalidDocuments as invalid:
            assert KEY not in str(invalid)


@pytest.mark.parametrize("seed", range(4))
def test_changed_text(seed: int) -> None:
    chance = random.Random(2000 + seed)
    text = "---\n".join(yaml.safe_dump({"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": kind, **body}) for kind, body in VALID.items())
    for _ in range(100):
        changed = text
        for _ in range(chance.randrange(1, 6)):
            position, end = sorted(chance.randrange(len(changed) + 1) for _ in range(2))
            piece = chance.choice(
                [
                    "",
                    "\n",
                    ":",
                    ": ",
                    "- ",
                    "[",
                    "{",
                    "}",
                    "&a ",
                    "*a",
                    "!!x ",
                    "<<: ",
                    "'",
                    '"',
                    "\t",
                    "|",
                    "\x00",
                    "\ufeff",
                    "---\n",
                    "%YAML 9\n",
                ]
            )
            changed = changed[:position] + piece + changed[position + chance.choice([0, 1, end - position]) :]
        try:
            sources = read(changed, "kubeadm.yaml")
        except InvalidDocuments as invalid:
            assert TOKEN not in str(invalid)
            continue
        _everything(sources, chance)


@pytest.mark.parametrize(
    "thing", [None, "x", 7, [], [1], {"Pod": {}}, {7: {}}, {"InitConfiguration": 7}, {"InitConfiguration": None}, object()]
)
def test_documents_that_are_none(thing: Any) -> None:
    try:
        resolve(thing)
    except InvalidDocuments as invalid:
        assert invalid.problems
    else:
        assert thing in ({}, {"InitConfiguration": None})


def test_the_table_of_cases_is_large_enough_to_mean_something() -> None:
    assert sum(1 for case in CASES if case.problem) >= 80 and sum(1 for case in CASES if not case.problem) >= 60
