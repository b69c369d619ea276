# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tokens and the certificate key of the documents: used, and nowhere to be found afterwards but in the cluster's Secrets."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path

import pytest
from live.beginning import CERTIFICATE_KEY, TOKENS, Beginning
from live.node import Node
from live.playbook import Playbook

SECRETS = (*(token.partition(".")[2] for token in TOKENS), CERTIFICATE_KEY)
TRACES = (*SECRETS, *(base64.b64encode(secret.encode()).decode().rstrip("=") for secret in SECRETS))


def traces(text: str) -> list[str]:
    """Name the secrets that a text gives away."""
    return [trace for trace in TRACES if trace in text]


def left_on(node: Node) -> str:
    """Name the files and log lines of a node in which a secret is found."""
    words = " ".join(f"-e {trace}" for trace in TRACES)
    return node.run(
        f"grep -rlF {words} /tmp /var/tmp /root /etc /var/log /run/log 2>/dev/null || true;"
        f"journalctl --no-pager -o cat | grep -F {words} || true"
    )


def left_in(place: Path) -> list[str]:
    """Name the files of a directory in which a secret is found."""
    return [str(path) for path in place.rglob("*") if path.is_file() and traces(path.read_text(errors="replace"))]


def test_the_secrets_were_used(beginning: Beginning) -> None:
    """Without this, that no trace is found would prove nothing."""
    node = beginning.node
    kept = node.kubectl("-n kube-system get secrets -o yaml")
    assert all(base64.b64encode(token.partition(".")[2].encode()).decode() in kept for token in TOKENS)
    assert "secret/kubeadm-certs" in node.kubectl("-n kube-system get secret kubeadm-certs -o name")


def test_the_first_runs_left_no_trace(beginning: Beginning) -> None:
    for report in (beginning.checked, beginning.ran, beginning.again):
        assert traces(report.output) == []
        assert traces(repr(report.rows)) == []
    assert (beginning.controller / "ansible.log").stat().st_size > 10000
    assert left_in(beginning.controller) == []
    assert left_on(beginning.node) == ""


@pytest.mark.parametrize("phase", ["bootstrap-token", "upload-certs"])
def test_a_failing_run_leaves_no_trace(node: Node, init: Playbook, tmp_path: Path, phase: str) -> None:
    watched = replace(init, environment={"ANSIBLE_LOG_PATH": str(tmp_path / "ansible.log")})
    node.run("mv /etc/kubernetes/admin.conf /run/admin.conf; echo '{}' > /etc/kubernetes/admin.conf")
    try:
        report = watched.play("-vvv", "--diff", "--tags", phase)
    finally:
        node.run("mv /run/admin.conf /etc/kubernetes/admin.conf")
    assert report.code != 0
    assert phase in report.ran
    assert traces(report.output) == []
    assert left_in(tmp_path) == []
    assert left_on(node) == ""


def test_a_mistake_beside_a_secret_leaves_no_trace(node: Node, init: Playbook, tmp_path: Path) -> None:
    watched = replace(init, environment={"ANSIBLE_LOG_PATH": str(tmp_path / "ansible.log")})
    wrong = {"certificateKey": CERTIFICATE_KEY + "x", "bootstrapTokens": [{"token": TOKENS[0]}, {"token": TOKENS[1] + "%"}]}
    report = watched.using(kubephase_init_configuration=wrong).play("-vvv", "--diff")
    assert report.code != 0
    assert "bootstrapTokens[1]" in report.output
    assert traces(report.output) == []
    assert left_in(tmp_path) == []
    assert left_on(node) == ""
