# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Health of the control plane as phases see it, and the wait that a plan may ask for."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action


@dataclass(frozen=True)
class HealthCheck:
    """One address to ask, and for how long.

    With a kubeconfig the answer must come from whom it trusts, and its user asks; without one any certificate
    will do, because controller manager and scheduler sign their own. Checks of a later stage are asked once
    those of the earlier ones are healthy.
    """

    name: str
    url: str
    seconds: float
    stage: int = 0
    # The wait may end without it; its state is only told.
    required: bool = True
    kubeconfig: str = ""
    # When the manifest of its static pod was written: for a while afterwards a container from before may still answer.
    written: float = 0.0


@dataclass(frozen=True)
class Health:
    """What one look at a component found; seconds is how long it took to answer."""

    name: str
    url: str
    healthy: bool
    seconds: float
    found: str = ""


@dataclass(frozen=True)
class WaitForControlPlane(Action):
    """Ask every check until it answers well or its time is up."""

    changes_something = False

    checks: tuple[HealthCheck, ...]
    # Where the container runtime listens, which knows more of what does not get well.
    cri_socket: str = ""
    poll_seconds: float = 0.25
