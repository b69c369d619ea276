# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Feature gates of kubeadm: which a release knows, what they are by default and whether its code still asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ansible_collections.kubephase.cluster.plugins.module_utils._release.timeline import Derived, Each, Steps
from ansible_collections.kubephase.cluster.plugins.module_utils._release.version import Version


@dataclass(frozen=True)
class GateState:
    """One gate in one release."""

    known: bool
    default: bool
    locked: bool = False
    # False once the behaviour is built in: a value in the documents is then accepted and has no effect.
    asked: bool = True


ABSENT = GateState(known=False, default=False, asked=False)
OFF = GateState(known=True, default=False)
ON = GateState(known=True, default=True)
# kubeadm does not enforce the lock: an explicit false counts wherever the code still asks.
LOCKED = GateState(known=True, default=True, locked=True)
BUILT_IN = GateState(known=True, default=True, locked=True, asked=False)
GONE_ON = GateState(known=False, default=True, locked=True, asked=False)


def _defaults(gates: Mapping[str, GateState], version: Version) -> Mapping[str, bool]:
    return {name: state.default for name, state in gates.items() if state.known}


class GateFacts:
    """The gates that featureGates of ClusterConfiguration may name."""

    gates = Each(
        {
            "ControlPlaneKubeletLocalMode": Steps(
                ("1.22.0", ABSENT), ("1.31.0", OFF), ("1.33.0", ON), ("1.35.0", BUILT_IN), ("1.36.0", GONE_ON)
            ),
            "EtcdLearnerMode": Steps(("1.22.0", ABSENT), ("1.27.0", OFF), ("1.29.0", ON), ("1.32.0", LOCKED), ("1.33.0", GONE_ON)),
            "IPv6DualStack": Steps(("1.22.0", ON), ("1.23.0", BUILT_IN), ("1.24.0", GONE_ON)),
            "NodeLocalCRISocket": Steps(("1.22.0", ABSENT), ("1.32.0", OFF), ("1.34.0", ON), ("1.36.0", LOCKED), ("1.37.0", GONE_ON)),
            "PublicKeysECDSA": Steps(("1.22.0", OFF), ("1.37.0", ABSENT)),
            "RootlessControlPlane": Steps(("1.22.0", OFF)),
            "UnversionedKubeletConfigMap": Steps(
                ("1.22.0", ABSENT), ("1.23.0", OFF), ("1.24.0", ON), ("1.25.0", BUILT_IN), ("1.26.0", GONE_ON)
            ),
            "UpgradeAddonsBeforeControlPlane": Steps(("1.22.0", ABSENT), ("1.28.0", OFF), ("1.31.0", ABSENT)),
            "WaitForAllControlPlaneComponents": Steps(
                ("1.22.0", ABSENT), ("1.30.0", OFF), ("1.33.0", ON), ("1.34.0", BUILT_IN), ("1.35.0", GONE_ON)
            ),
        }
    )
    deprecated_gates = Each(
        {
            "PublicKeysECDSA": Steps(("1.22.0", False), ("1.29.0", True), ("1.37.0", False)),
            "RootlessControlPlane": Steps(("1.22.0", False), ("1.31.0", True)),
            "UpgradeAddonsBeforeControlPlane": Steps(("1.22.0", False), ("1.28.0", True), ("1.31.0", False)),
        }
    )
    # Name and default of the gates that a document of this release may set.
    feature_gates = Derived(gates, _defaults)


def gate_is_on(gates: Mapping[str, GateState], name: str, asked_for: Mapping[str, bool]) -> bool:
    """Tell how kubeadm decides a gate, given the featureGates of the documents."""
    state = gates[name]
    return asked_for.get(name, state.default) if state.asked else state.default
