# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ClusterConfiguration as kubeadm stores it in the cluster: the release's API version, every default, nothing empty."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.durations import format_duration
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import (
    Arg,
    ControlPlaneComponent,
    EnvVar,
    Etcd,
    ExternalEtcd,
    HostPathMount,
    LocalEtcd,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.text import dump

_AUTHORIZATION = "authorization-mode"
_DEFAULT_MODES = "Node,RBAC"
_KNOWN_MODES = ("Node", "RBAC", "Webhook", "ABAC", "AlwaysAllow", "AlwaysDeny")


def render(docs: Documents) -> str:
    """Write the document as kubeadm of the release uploads it at the end of init."""
    cluster, edition = docs.cluster, _Edition(docs)
    document = {
        "apiVersion": f"kubeadm.k8s.io/{docs.known_release.stored_config_api}",
        "kind": "ClusterConfiguration",
        # Structures are printed even when they are empty; texts, lists and maps are not.
        "apiServer": edition.api_server(),
        "controllerManager": edition.component(cluster.controller_manager),
        "dns": {
            **_filled(imageRepository=cluster.dns.image_repository, imageTag=cluster.dns.image_tag),
            **edition.disabled("addon/coredns"),
        },
        "etcd": edition.etcd(cluster.etcd),
        "networking": _filled(
            dnsDomain=cluster.networking.dns_domain,
            podSubnet=cluster.networking.pod_subnet,
            serviceSubnet=cluster.networking.service_subnet,
        ),
        "scheduler": edition.component(cluster.scheduler),
        **_filled(
            certificatesDir=cluster.certificates_dir,
            clusterName=cluster.cluster_name,
            controlPlaneEndpoint=cluster.control_plane_endpoint,
            featureGates=dict(cluster.feature_gates),
            imageRepository=cluster.image_repository,
            kubernetesVersion=cluster.kubernetes_version,
        ),
        **edition.later_fields(),
    }
    return dump(document)


class _Edition:
    """The parts whose shape depends on the API version that the release stores."""

    def __init__(self, docs: Documents) -> None:
        self._docs = docs
        self._release = docs.known_release
        self._v1beta3 = docs.known_release.stored_config_api == "v1beta3"

    def api_server(self) -> dict[str, Any]:
        server = self._docs.cluster.api_server
        document = self.component(server)
        if self._v1beta3:
            document["timeoutForControlPlane"] = format_duration(self._docs.init.timeouts.control_plane_component_health_check)
        if self._release.authorization_mode_stored:
            arguments = dict(document.get("extraArgs", {}))
            document["extraArgs"] = {**arguments, _AUTHORIZATION: _modes(arguments.get(_AUTHORIZATION, ""))}
        return {**document, **_filled(certSANs=list(server.cert_sans))}

    def component(self, given: ControlPlaneComponent) -> dict[str, Any]:
        volumes = [_volume(volume) for volume in given.extra_volumes]
        return _filled(extraArgs=self._arguments(given.extra_args), extraVolumes=volumes, extraEnvs=self._environment(given.extra_envs))

    def disabled(self, phase: str) -> dict[str, Any]:
        """A skipped add-on is stored as disabled, so that an upgrade does not bring it back."""
        addon = self._docs.cluster.dns if phase == "addon/coredns" else self._docs.cluster.proxy
        skipped = {"addon", phase}.intersection(self._docs.init.skip_phases)
        return _filled(disabled=bool(addon.disabled or skipped)) if self._release.addon_disabled_fields else {}

    def etcd(self, given: Etcd) -> dict[str, Any]:
        if given.external is not None:
            return {"external": self._external(given.external)}
        return {"local": self._local(given.local or LocalEtcd())}

    def later_fields(self) -> dict[str, Any]:
        if self._v1beta3:
            return {}
        cluster = self._docs.cluster
        return {
            "proxy": self.disabled("addon/kube-proxy"),
            "caCertificateValidityPeriod": format_duration(cluster.ca_certificate_validity_period),
            "certificateValidityPeriod": format_duration(cluster.certificate_validity_period),
            "encryptionAlgorithm": cluster.encryption_algorithm,
        }

    def _local(self, given: LocalEtcd) -> dict[str, Any]:
        return {
            "dataDir": given.data_dir,
            **_filled(
                extraArgs=self._arguments(given.extra_args),
                extraEnvs=self._environment(given.extra_envs),
                imageRepository=given.image_repository,
                imageTag=given.image_tag,
                peerCertSANs=list(given.peer_cert_sans),
                serverCertSANs=list(given.server_cert_sans),
            ),
        }

    def _external(self, given: ExternalEtcd) -> dict[str, Any]:
        asked = list(given.http_endpoints) if self._release.external_etcd_http_endpoints else []
        return {
            "caFile": given.ca_file,
            "certFile": given.cert_file,
            "endpoints": list(given.endpoints),
            "keyFile": given.key_file,
            **_filled(httpEndpoints=asked),
        }

    def _arguments(self, given: Iterable[Arg]) -> Any:
        if self._v1beta3:
            return {argument.name: argument.value for argument in given}
        return [{"name": argument.name, "value": argument.value} for argument in given]

    def _environment(self, given: Iterable[EnvVar]) -> list[dict[str, Any]]:
        if not self._release.extra_envs:
            return []
        return [{"name": each.name, **_filled(value=each.value, valueFrom=_plain(each.value_from))} for each in given]


def _volume(volume: HostPathMount) -> dict[str, Any]:
    return {
        "hostPath": volume.host_path,
        "mountPath": volume.mount_path,
        "name": volume.name,
        **_filled(pathType=volume.path_type, readOnly=volume.read_only),
    }


def _modes(asked: str) -> str:
    """The modes that the API server's flag carries, which old releases wrote back into the documents."""
    known = [mode for mode in asked.split(",") if mode in _KNOWN_MODES]
    return ",".join(known) or _DEFAULT_MODES


def _filled(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else value
