# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The way to a serving certificate that the collection asked for: kept in config.yaml, and only there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from unit.kubelet.kubelet_cases import Services, docs, run

from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.config import render_config
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.start import KubeletStartPhase

CONFIG = "var/lib/kubelet/config.yaml"
LINK = "/var/lib/kubelet/pki/kubelet-server-current.pem"
OWN = {"tlsCertFile": LINK, "tlsPrivateKeyFile": LINK}


def settings(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((root / CONFIG).read_text())
    return {name: found[name] for name in OWN if name in found}


@pytest.mark.parametrize(
    ("on_disk", "there", "kubelet", "kept"),
    [
        (OWN, True, {}, OWN),
        # A kubelet that is pointed at nothing would not start.
        (OWN, False, {}, {}),
        ({"tlsCertFile": LINK}, True, {}, {}),
        ({"tlsCertFile": "/elsewhere.crt", "tlsPrivateKeyFile": "/elsewhere.key"}, True, {}, {}),
        (OWN, True, {"serverTLSBootstrap": True}, {}),
        (
            OWN,
            True,
            {"tlsCertFile": "/mine.crt", "tlsPrivateKeyFile": "/mine.key"},
            {"tlsCertFile": "/mine.crt", "tlsPrivateKeyFile": "/mine.key"},
        ),
    ],
)
def test_it_is_kept_where_it_leads_to_the_certificate(
    tmp_path: Path, on_disk: dict[str, str], there: bool, kubelet: dict[str, Any], kept: dict[str, str]
) -> None:
    run(KubeletStartPhase(), tmp_path, Services(), kubelet=kubelet)
    (tmp_path / CONFIG).write_text(yaml.safe_dump({**yaml.safe_load((tmp_path / CONFIG).read_text()), **on_disk}))
    if there:
        (tmp_path / LINK[1:]).parent.mkdir(parents=True)
        (tmp_path / LINK[1:]).touch()
    outcome = run(KubeletStartPhase(), tmp_path, Services(), kubelet=kubelet)
    assert settings(tmp_path) == kept
    written = [fact["path"] for fact in outcome.plan.facts["kubelet_files"] if fact["done"] == "written"]
    assert written == ([] if kept == on_disk else [f"/{CONFIG}"])


def test_the_configuration_that_nodes_share_has_none_of_it() -> None:
    assert "tlsCertFile" not in render_config(docs())
