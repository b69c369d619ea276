# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kubelet's unit and the part of it that hands over the files and variables which kubeadm's phases write."""

from __future__ import annotations

SERVICE = "kubelet"
PROGRAM = "/usr/bin/kubelet"
UNIT = "/etc/systemd/system/kubelet.service"
DROP_IN = "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf"
# Wherever a package or a person may have put it.
DROP_IN_PLACES = (
    DROP_IN,
    "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf",
    "/lib/systemd/system/kubelet.service.d/10-kubeadm.conf",
    "/usr/local/lib/systemd/system/kubelet.service.d/10-kubeadm.conf",
)

UNIT_TEXT = f"""[Unit]
Description=kubelet, the agent of Kubernetes on this node
Documentation=https://kubernetes.io/docs/
Wants=network-online.target
After=network-online.target containerd.service

[Service]
ExecStart={PROGRAM}
Restart=always
StartLimitInterval=0
RestartSec=10

[Install]
WantedBy=multi-user.target
"""

_KUBECONFIGS = "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
DROP_IN_TEXT = f"""[Service]
Environment="KUBELET_KUBECONFIG_ARGS={_KUBECONFIGS}"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
# Written by the phase kubelet-start; missing until then.
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
# For flags of the administrator's, best set as nodeRegistration.kubeletExtraArgs instead.
EnvironmentFile=-/etc/default/kubelet
EnvironmentFile=-/etc/sysconfig/kubelet
ExecStart=
ExecStart={PROGRAM} $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
"""
