# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which phases and sub-phases a run covers: those that skipPhases leaves, and of them those that were asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ansible_collections.kubephase.cluster.plugins.module_utils._release.phases import CERTS, CONTROL_PLANE, KUBECONFIGS


@dataclass(frozen=True)
class Parts:
    """A phase with sub-phases: the option that chooses among them, and each choice with kubeadm's path for it."""

    option: str
    paths: Mapping[str, str]


@dataclass(frozen=True)
class Selection:
    """What is left of a phase; parts is None when all of it is, or when it has none."""

    runs: bool
    parts: tuple[str, ...] | None = None


# Phase: its sub-phases, for those that have some. Certificates go by their path, etcd/ca, kubeadm's sub-phases by etcd-ca.
PARTS = {
    "certs": Parts("names", {name.replace("etcd-", "etcd/") if name.startswith("etcd-") else name: f"certs/{name}" for name in CERTS}),
    "kubeconfig": Parts("names", {name: f"kubeconfig/{name}" for name in KUBECONFIGS}),
    "control-plane": Parts("components", {f"kube-{name}": f"control-plane/{name}" for name in CONTROL_PLANE}),
    "etcd": Parts("components", {"etcd": "etcd/local"}),
    "upload-config": Parts("names", {name: f"upload-config/{name}" for name in ("kubeadm", "kubelet")}),
    "addon": Parts("addons", {"coredns": "addon/coredns", "kube-proxy": "addon/kube-proxy"}),
}

INIT_PHASES = (
    "preflight",
    "certs",
    "kubeconfig",
    "etcd",
    "control-plane",
    "kubelet-start",
    "wait-control-plane",
    "upload-config",
    "upload-certs",
    "mark-control-plane",
    "bootstrap-token",
    "kubelet-finalize",
    "addon",
)

# Phases of join by kubeadm's path, with the other path that some release has for it.
JOIN_PHASES = {
    "preflight": (),
    "control-plane-prepare/download-certs": (),
    "control-plane-prepare/certs": (),
    "control-plane-prepare/kubeconfig": (),
    "control-plane-prepare/control-plane": (),
    "check-etcd": (),
    "kubelet-start": (),
    "etcd-join": ("control-plane-join/etcd",),
    "kubelet-wait-bootstrap": (),
    "control-plane-join/mark-control-plane": (),
    "wait-control-plane": (),
}


def select_join(phase: str, skipped: Sequence[str], only: Sequence[str]) -> Selection:
    """Say whether a phase of join runs; its parent, alone or with /all, stands for all that is below."""
    names = {name for path in (phase, *JOIN_PHASES[phase]) for name in _covering(path)}
    return Selection(runs=not names & set(skipped) and (not only or bool(names & set(only))))


def _covering(path: str) -> set[str]:
    parent = path.partition("/")[0]
    return {path, parent, f"{parent}/all"}


def select(phase: str, skipped: Sequence[str], only: Sequence[str]) -> Selection:
    """Say what of a phase runs; an empty ``only`` asks for everything."""
    if phase in skipped or f"{phase}/all" in skipped:
        return Selection(runs=False)
    parts = PARTS.get(phase)
    whole = not only or phase in only or f"{phase}/all" in only
    if parts is None:
        return Selection(runs=whole or any(name.startswith(f"{phase}/") for name in only))
    left = tuple(name for name, path in parts.paths.items() if path not in skipped and (whole or path in only))
    if len(left) == len(parts.paths):
        return Selection(runs=True)
    return Selection(runs=True, parts=left) if left else Selection(runs=False)


def unknown(names: Sequence[str]) -> tuple[str, ...]:
    """List the names that are no phase of init or join."""
    known = {
        *(name for path, others in JOIN_PHASES.items() for each in (path, *others) for name in _covering(each)),
        *INIT_PHASES,
        *(f"{phase}/all" for phase in PARTS),
        *(path for parts in PARTS.values() for path in parts.paths.values()),
    }
    return tuple(name for name in names if name not in known)
