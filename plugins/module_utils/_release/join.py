# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Joining: discovery, the etcd member and what is asked of the cluster first."""

from __future__ import annotations

from ansible_collections.kubephase.cluster.plugins.module_utils._release.timeline import Always, Before, Since, Steps


class JoinFacts:
    """What join does differently from release to release."""

    # A discovery file's server and CA count, instead of those of cluster-info.
    discovery_file_wins = Since("1.27.0")
    # Before, whatever an HTTPS discovery answered was read as a kubeconfig.
    discovery_https_checks_status = Since("1.37.0")
    discovery_needs_ca = Since("1.36.0")

    # A new member votes at once, is a learner if the gate EtcdLearnerMode says so, or always is one.
    etcd_member_joins_as = Steps(("1.22.0", "voter"), ("1.27.0", "gate"), ("1.33.0", "learner"))
    learner_promotion_waits_for_start = Since("1.32.12", "1.33.8", "1.34.4", "1.35.1", "1.36.0")
    # A member that is there already, voter or learner, is found before it is added again.
    etcd_member_add_lists_first = Since("1.28.15", "1.29.10", "1.30.6", "1.31.2", "1.32.0")
    etcd_health_by_quorum = Since("1.33.12", "1.34.8", "1.35.5", "1.36.1")
    etcd_availability_tries = Always(8)
    etcd_availability_poll_seconds = Always(5)
    etcd_call_seconds = Always(2)
    # Before timeouts.etcdAPICall: 18 tries with pauses from 0.1 s on, each half as long again.
    etcd_backoff_seconds = Always(197)

    kubeadm_config_read_retried = Since("1.34.10", "1.35.7", "1.36.3")
    worker_needs_default_route = Before("1.33.12", "1.34.8", "1.35.5", "1.36.1")
    # healthz and TLS bootstrap of the kubelet were awaited side by side.
    kubelet_waits_parallel = Before("1.30.0")
    # An sa.key of another type than RSA was refused where shared files are checked.
    ecdsa_service_account_key = Since("1.22.15", "1.23.12", "1.24.6", "1.25.2", "1.26.0")
