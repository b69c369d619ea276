# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the cluster and this host are ready for one control plane more."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.shared import keys_kept_away, needed
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.belongings import authority_doubts
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.case import Case
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.selection import BOOTSTRAP_CONF, KUBELET_CONF
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.verdicts import Verdict, against, passed
from ansible_collections.kubephase.cluster.plugins.module_utils._release.preflight import ERROR, WARNING


def control_plane_endpoint(case: Case) -> Iterator[Verdict]:
    """A cluster of several control planes needs an address that does not go down with one of them."""
    if not case.docs.cluster.control_plane_endpoint:
        yield against(
            ERROR,
            "the cluster has no controlPlaneEndpoint, so that its nodes know it by the address of one control plane only",
            "Set controlPlaneEndpoint to an address that leads to all of them, and run init with it first",
        )


def shared_certificates(case: Case) -> Iterator[Verdict]:
    """The files that all control planes share: here already, and this cluster's, or to be downloaded."""
    files = case.seen.files
    missing = [path for path in needed(case.docs).values() if path not in files]
    if case.certificate_key_given and missing:
        yield passed("to be downloaded with the certificate key")
    elif missing:
        yield against(
            ERROR,
            f"not on this host, and there is no certificate key to download them with: {', '.join(missing)}",
            "Upload the certificates and give their key, or bring these files here by other means",
        )
    else:
        for path in keys_kept_away(case.docs):
            if path not in files and not case.certificate_key_given:
                found = f"{path} is not on this host, so that certificates of that authority cannot be issued here"
                yield against(WARNING, found, "Bring every certificate that it signs, or bring the key, too")
    yield from _stranger(case, needed(case.docs)["ca.crt"])


def _stranger(case: Case, authority: str) -> Iterator[Verdict]:
    """A CA that was here before must be the one that the cluster was found with; before discovery nobody can tell."""
    if authority not in case.seen.files or not {KUBELET_CONF, BOOTSTRAP_CONF} & set(case.seen.files):
        return
    doubts = authority_doubts(case, authority)
    if doubts:
        fix = "If it belongs to another cluster or is stale, move it away with all that it signed, and run again"
        yield against(ERROR, f"{authority} is not this cluster's: {doubts}", fix)
