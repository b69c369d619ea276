# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Phases of init and join, in their order."""

from __future__ import annotations

from ansible_collections.kubephase.cluster.plugins.module_utils._release.timeline import Always, Before, Row, Steps

_INIT_HEAD = ("preflight", "certs", "kubeconfig")
_INIT_TAIL = (
    "wait-control-plane",
    "upload-config",
    "upload-certs",
    "mark-control-plane",
    "bootstrap-token",
    "kubelet-finalize",
    "addon",
)
# The kubelet used to start before there was anything for it to run.
_KUBELET_FIRST = ("kubelet-start", "control-plane", "etcd")
_KUBELET_LAST = ("etcd", "control-plane", "kubelet-start")
_JOIN_HEAD = ("preflight", "control-plane-prepare", "check-etcd", "kubelet-start")

CERTS = (
    "ca",
    "apiserver",
    "apiserver-kubelet-client",
    "front-proxy-ca",
    "front-proxy-client",
    "etcd-ca",
    "etcd-server",
    "etcd-peer",
    "etcd-healthcheck-client",
    "apiserver-etcd-client",
    "sa",
)
CONTROL_PLANE = ("apiserver", "controller-manager", "scheduler")
KUBECONFIGS = ("admin", "super-admin", "kubelet", "controller-manager", "scheduler")


class PhaseFacts:
    """What runs, and after what."""

    init_phases: Row[tuple[str, ...]] = Steps(
        ("1.22.0", (*_INIT_HEAD, *_KUBELET_FIRST, *_INIT_TAIL)),
        ("1.26.0", (*_INIT_HEAD, *_KUBELET_FIRST, *_INIT_TAIL, "show-join-command")),
        ("1.28.0", (*_INIT_HEAD, *_KUBELET_LAST, *_INIT_TAIL, "show-join-command")),
    )
    # etcd-join and kubelet-wait-bootstrap run only with the gate ControlPlaneKubeletLocalMode while it is asked;
    # the gate's value is that of the cluster's stored configuration.
    join_phases: Row[tuple[str, ...]] = Steps(
        ("1.22.0", (*_JOIN_HEAD, "control-plane-join")),
        ("1.30.0", (*_JOIN_HEAD, "control-plane-join", "wait-control-plane")),
        ("1.31.0", (*_JOIN_HEAD, "etcd-join", "kubelet-wait-bootstrap", "control-plane-join", "wait-control-plane")),
    )
    certs_phases: Row[tuple[str, ...]] = Always(CERTS)
    kubeconfig_phases: Row[tuple[str, ...]] = Steps(
        ("1.22.0", ("admin", "kubelet", "controller-manager", "scheduler")),
        ("1.29.0", KUBECONFIGS),
    )
    join_kubeconfig_phases: Row[tuple[str, ...]] = Always(("admin", "controller-manager", "scheduler"))
    control_plane_phases: Row[tuple[str, ...]] = Always(CONTROL_PLANE)
    kubelet_finalize_phases: Row[tuple[str, ...]] = Steps(
        ("1.22.0", ("experimental-cert-rotation",)),
        ("1.31.0", ("enable-client-cert-rotation", "experimental-cert-rotation")),
        ("1.32.0", ("enable-client-cert-rotation",)),
    )
    # update-status did nothing in this range. The etcd of 1.35 is listed and never runs.
    control_plane_join_phases: Row[tuple[str, ...]] = Steps(
        ("1.22.0", ("etcd", "update-status", "mark-control-plane")),
        ("1.31.0", ("etcd", "mark-control-plane")),
        ("1.36.0", ("mark-control-plane",)),
    )
    wait_control_plane_hidden = Before("1.34.0")
