# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Discovery with an authority that is known already: TLS proves who answers, and nobody else is believed."""

from __future__ import annotations

from typing import Any

import pytest
from unit.discovery.clusters import BOOTSTRAP, TOKEN, Authority, Joining, Reply, Server, cluster_info, kubeconfig, status
from unit.discovery.conftest import Start
from unit.world import snapshot

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable


def by_authority(host: Joining, server: Server, authority: Authority, **options: Any) -> Any:
    return host.run(**{"token": TOKEN, "api_server_endpoint": server.endpoint, "ca_cert": authority.pem.decode(), **options})


def unsigned(authority: Authority) -> Reply:
    return cluster_info(kubeconfig(authority.pem), of="another token")


def test_a_signature_is_not_waited_for(host: Joining, start: Start, authority: Authority) -> None:
    server = start(lambda count, path: unsigned(authority))
    outcome = by_authority(host, server, authority)
    assert (outcome.facts["method"], outcome.facts["ca_cert_hashes"]) == ("authority", [authority.pin])
    assert outcome.changed
    assert TOKEN in (host.root / BOOTSTRAP).read_text()
    assert len(server.requests) == 1
    assert not by_authority(host, server, authority).changed


def test_the_file_is_that_of_a_discovery_by_token(host: Joining, start: Start, authority: Authority) -> None:
    server = start(lambda count, path: cluster_info(kubeconfig(authority.pem)))
    by_authority(host, server, authority)
    assert not host.run(token=TOKEN, api_server_endpoint=server.endpoint, ca_cert_hashes=[authority.pin]).changed


def test_who_shows_another_authoritys_certificate_is_refused(
    host: Joining, start: Start, authority: Authority, stranger: Authority
) -> None:
    server = start(lambda count, path: cluster_info(kubeconfig(authority.pem)), stranger)
    before = snapshot(host.root)
    with pytest.raises(Unusable, match="its certificate does not fit"):
        by_authority(host, server, authority)
    assert (server.requests, snapshot(host.root)) == ([], before)


def test_another_authority_in_cluster_info_is_refused(host: Joining, start: Start, authority: Authority, stranger: Authority) -> None:
    server = start(lambda count, path: cluster_info(kubeconfig(stranger.pem)))
    before = snapshot(host.root)
    with pytest.raises(Unusable, match="its certificate authority is another one"):
        by_authority(host, server, authority)
    assert snapshot(host.root) == before


def test_a_cluster_info_that_comes_late_is_waited_for(host: Joining, start: Start, authority: Authority) -> None:
    server = start(lambda count, path: status(404) if count < 2 else unsigned(authority))
    assert by_authority(host, server, authority).changed


def test_what_is_no_authority_is_refused_before_anybody_is_asked(host: Joining, start: Start, authority: Authority) -> None:
    server = start(lambda count, path: unsigned(authority))
    with pytest.raises(Unusable, match="ca_cert: it is of no use"):
        by_authority(host, server, authority, ca_cert="no certificate")
    assert server.connections == 0
