# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which fields each kubeadm document has, in v1beta4 and in v1beta3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

from ansible_collections.kubephase.cluster.plugins.module_utils._config import kinds
from ansible_collections.kubephase.cluster.plugins.module_utils._config.fields import (
    Anything,
    Args,
    Duration,
    Flag,
    ListOf,
    MapOf,
    Moment,
    Object,
    Shape,
    Text,
    Whole,
)

GROUP = "kubeadm.k8s.io"
COMPONENT_APIS = {"KubeletConfiguration": "kubelet.config.k8s.io/v1beta1", "KubeProxyConfiguration": "kubeproxy.config.k8s.io/v1alpha1"}
KUBEADM_KINDS = ("ClusterConfiguration", "InitConfiguration", "JoinConfiguration")
KINDS = (*KUBEADM_KINDS, *COMPONENT_APIS)
# Documents of other kubeadm commands may stand in the same file; init and join have no use for them.
IGNORED_KINDS = ("ResetConfiguration", "UpgradeConfiguration")

_TEXT, _SECRET, _FLAG, _WHOLE, _DURATION, _MOMENT = Text(), Text(secret=True), Flag(), Whole(), Duration(), Moment()
_TEXTS = ListOf(_TEXT)
_KEY = Object(None, {"name": _TEXT, "key": _TEXT, "optional": _FLAG})


def _texts(*names: str) -> dict[str, Shape]:
    return dict.fromkeys(names, _TEXT)


_ENV = Object(
    kinds.EnvVar,
    {
        "name": _TEXT,
        # A password may be handed over in the environment.
        "value": _SECRET,
        "valueFrom": Object(
            None,
            {
                "fieldRef": Object(None, _texts("apiVersion", "fieldPath")),
                "resourceFieldRef": Object(None, _texts("containerName", "resource", "divisor")),
                "configMapKeyRef": _KEY,
                "secretKeyRef": _KEY,
            },
        ),
    },
)
_VOLUME = Object(kinds.HostPathMount, {**_texts("name", "hostPath", "mountPath", "pathType"), "readOnly": _FLAG})
_TAINT = Object(kinds.Taint, {**_texts("key", "value", "effect"), "timeAdded": _MOMENT})
_ENDPOINT = Object(kinds.APIEndpoint, {"advertiseAddress": _TEXT, "bindPort": _WHOLE})
_PATCHES = Object(kinds.Patches, {"directory": _TEXT})
_TIMEOUTS = Object(
    kinds.Timeouts,
    dict.fromkeys(
        (
            "controlPlaneComponentHealthCheck",
            "kubeletHealthCheck",
            "kubernetesAPICall",
            "etcdAPICall",
            "tlsBootstrap",
            "discovery",
            "upgradeManifests",
        ),
        _DURATION,
    ),
)
_TOKEN = Object(
    kinds.BootstrapToken,
    {"token": _SECRET, "description": _TEXT, "ttl": _DURATION, "expires": _MOMENT, "usages": _TEXTS, "groups": _TEXTS},
)


class _Edition:
    """The documents of one version of the API; the three editions differ in few fields."""

    def __init__(self, form: str, v1beta4: bool) -> None:
        self.args = Args(kinds.Arg, form)
        self.v1beta4 = v1beta4

    def only_v1beta4(self, **fields: Shape) -> dict[str, Shape]:
        return fields if self.v1beta4 else {}

    def only_v1beta3(self, **fields: Shape) -> dict[str, Shape]:
        return {} if self.v1beta4 else fields

    def component(self, make: Callable[..., Any], **more: Shape) -> Object:
        envs = self.only_v1beta4(extraEnvs=ListOf(_ENV))
        moved = {"timeoutForControlPlane": "In v1beta4 it is timeouts.controlPlaneComponentHealthCheck of the InitConfiguration."}
        return Object(make, {"extraArgs": self.args, "extraVolumes": ListOf(_VOLUME), **envs, **more}, moved)

    def etcd(self) -> Object:
        local = Object(
            kinds.LocalEtcd,
            {
                **_texts("imageRepository", "imageTag", "dataDir"),
                "extraArgs": self.args,
                **self.only_v1beta4(extraEnvs=ListOf(_ENV)),
                "serverCertSANs": _TEXTS,
                "peerCertSANs": _TEXTS,
            },
        )
        external = Object(
            kinds.ExternalEtcd,
            {"endpoints": _TEXTS, **self.only_v1beta4(httpEndpoints=_TEXTS), **_texts("caFile", "certFile", "keyFile")},
        )
        return Object(kinds.Etcd, {"local": local, "external": external})

    def cluster(self) -> Object:
        return Object(
            kinds.ClusterConfiguration,
            {
                "etcd": self.etcd(),
                "networking": Object(kinds.Networking, _texts("serviceSubnet", "podSubnet", "dnsDomain")),
                "kubernetesVersion": _TEXT,
                "controlPlaneEndpoint": _TEXT,
                "apiServer": self.component(kinds.APIServer, certSANs=_TEXTS, **self.only_v1beta3(timeoutForControlPlane=_DURATION)),
                "controllerManager": self.component(kinds.ControlPlaneComponent),
                "scheduler": self.component(kinds.ControlPlaneComponent),
                "dns": Object(kinds.DNS, {**_texts("imageRepository", "imageTag"), **self.only_v1beta4(disabled=_FLAG)}),
                **self.only_v1beta4(proxy=Object(kinds.Proxy, {"disabled": _FLAG})),
                "certificatesDir": _TEXT,
                "imageRepository": _TEXT,
                "featureGates": MapOf(_FLAG),
                "clusterName": _TEXT,
                **self.only_v1beta4(
                    encryptionAlgorithm=_TEXT,
                    certificateValidityPeriod=_DURATION,
                    caCertificateValidityPeriod=_DURATION,
                ),
            },
        )

    def node_registration(self) -> Object:
        return Object(
            kinds.NodeRegistration,
            {
                **_texts("name", "criSocket"),
                "taints": ListOf(_TAINT, keep_empty=True),
                "kubeletExtraArgs": self.args,
                "ignorePreflightErrors": _TEXTS,
                "imagePullPolicy": _TEXT,
                **self.only_v1beta4(imagePullSerial=_FLAG),
            },
        )

    def init(self) -> Object:
        return Object(
            kinds.InitConfiguration,
            {
                "bootstrapTokens": ListOf(_TOKEN),
                **self.only_v1beta4(dryRun=_FLAG),
                "nodeRegistration": self.node_registration(),
                "localAPIEndpoint": _ENDPOINT,
                "certificateKey": _SECRET,
                "skipPhases": _TEXTS,
                "patches": _PATCHES,
                **self.only_v1beta4(timeouts=_TIMEOUTS),
            },
        )

    def join(self) -> Object:
        by_token = Object(
            kinds.BootstrapTokenDiscovery,
            {"token": _SECRET, "apiServerEndpoint": _TEXT, "caCertHashes": _TEXTS, "unsafeSkipCAVerification": _FLAG},
        )
        discovery = Object(
            kinds.Discovery,
            {
                "bootstrapToken": by_token,
                "file": Object(kinds.FileDiscovery, {"kubeConfigPath": _TEXT}),
                "tlsBootstrapToken": _SECRET,
                **self.only_v1beta3(timeout=_DURATION),
            },
            {"timeout": "In v1beta4 it is timeouts.discovery."},
        )
        return Object(
            kinds.JoinConfiguration,
            {
                **self.only_v1beta4(dryRun=_FLAG),
                "nodeRegistration": self.node_registration(),
                "caCertPath": _TEXT,
                "discovery": discovery,
                "controlPlane": Object(kinds.JoinControlPlane, {"localAPIEndpoint": _ENDPOINT, "certificateKey": _SECRET}),
                "skipPhases": _TEXTS,
                "patches": _PATCHES,
                **self.only_v1beta4(timeouts=_TIMEOUTS),
            },
        )

    def documents(self) -> dict[str, Shape]:
        component = MapOf(Anything())
        return {
            "ClusterConfiguration": self.cluster(),
            "InitConfiguration": self.init(),
            "JoinConfiguration": self.join(),
            **dict.fromkeys(COMPONENT_APIS, component),
        }


_editions: dict[tuple[str, bool], Mapping[str, Shape]] = {}


def edition(form: str, v1beta4: bool) -> Mapping[str, Shape]:
    """The documents of v1beta4 or v1beta3 with arguments as a list, a map or either; made when first asked for."""
    if (form, v1beta4) not in _editions:
        _editions[form, v1beta4] = _Edition(form, v1beta4).documents()
    return _editions[form, v1beta4]


# The shape that variables have and that everything ends in: v1beta4, with arguments as a map or a list.
DOCUMENTS: Mapping[str, Shape] = edition("either", v1beta4=True)
