# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which configuration API versions a release takes, and how long it waits unless told otherwise."""

from __future__ import annotations

from ansible_collections.kubephase.cluster.plugins.module_utils._release.timeline import Always, Each, Since, Steps

ACCEPTED = "accepted"
DEPRECATED = "deprecated"
EXPERIMENTAL = "experimental"
REFUSED = "refused"


class ConfigApiFacts:
    """What kubeadm.k8s.io documents may look like."""

    # Experimental ones are known, but init and join refuse them all the same.
    config_api = Each(
        {
            "v1beta2": Steps(("1.22.0", ACCEPTED), ("1.24.0", DEPRECATED), ("1.27.0", REFUSED)),
            "v1beta3": Steps(("1.22.0", ACCEPTED), ("1.31.0", DEPRECATED), ("1.37.0", REFUSED)),
            "v1beta4": Steps(("1.22.0", REFUSED), ("1.28.0", EXPERIMENTAL), ("1.31.0", ACCEPTED)),
            "v1": Steps(("1.22.0", REFUSED), ("1.37.0", EXPERIMENTAL)),
        }
    )
    # What kubeadm writes by default and stores in ConfigMap kubeadm-config.
    stored_config_api = Steps(("1.22.0", "v1beta3"), ("1.31.0", "v1beta4"))
    external_etcd_http_endpoints = Since("1.35.0")
    merge_method = Since("1.37.0")
    extra_envs = Since("1.31.0")
    # dns.disabled and proxy.disabled; a skipped add-on phase is stored as disabled where they exist.
    addon_disabled_fields = Since("1.31.0")


class TimeoutFacts:
    """Seconds, unless the documents say otherwise; a wait that has no setting in a release is 0 there."""

    timeouts = Each(
        {
            "controlPlaneComponentHealthCheck": Always(240),
            "kubeletHealthCheck": Steps(("1.22.0", 0), ("1.30.0", 240)),
            "kubernetesAPICall": Steps(("1.22.0", 40), ("1.30.0", 60)),
            "etcdAPICall": Steps(("1.22.0", 0), ("1.30.0", 120)),
            "tlsBootstrap": Always(300),
            "discovery": Always(300),
            "upgradeManifests": Always(300),
        }
    )
    # Before the timeouts structure: reads and node patches had limits of their own.
    api_read_seconds = Steps(("1.22.0", 15), ("1.30.0", 60))
    patch_node_seconds = Steps(("1.22.0", 120), ("1.30.0", 60))
    # timeoutForControlPlane of v1beta3 was read, then only ever converted, until each minor learnt to read it again.
    timeout_for_control_plane_counts = Steps(
        ("1.22.0", True),
        ("1.30.0", False),
        ("1.31.13", True),
        ("1.32.0", False),
        ("1.32.9", True),
        ("1.33.0", False),
        ("1.33.5", True),
        ("1.34.0", False),
        ("1.34.1", True),
        ("1.37.0", False),
    )
    api_poll_seconds = Always(0.5)
    discovery_poll_seconds = Always(5)
    tls_bootstrap_poll_seconds = Steps(("1.22.0", 5), ("1.26.0", 1))
    # Every create-or-update is tried again until kubernetesAPICall has passed; before, mostly once.
    object_writes_retried = Since("1.30.0")
    token_ttl_hours = Always(24)
    certificate_key_ttl_hours = Always(2)
