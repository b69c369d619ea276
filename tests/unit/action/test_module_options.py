# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which phases and parts of them a run covers, and which secrets a module is given."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._config.selection import (
    INIT_PHASES,
    JOIN_PHASES,
    PARTS,
    Selection,
    select,
    select_join,
    unknown,
)
from ansible_collections.kubephase.cluster.plugins.modules.pki_cert import NAMES
from ansible_collections.kubephase.cluster.plugins.plugin_utils.module_options import (
    JOIN,
    PHASES,
    SECRET_OPTIONS,
    carries_secrets,
    chosen_of_join,
    chosen_parts,
    secret_options,
)


@pytest.mark.parametrize(
    ("phase", "skipped", "only", "expected"),
    [
        ("certs", [], [], Selection(True)),
        ("certs", ["certs"], [], Selection(False)),
        ("certs", ["certs/all"], [], Selection(False)),
        ("certs", [], ["kubeconfig"], Selection(False)),
        ("certs", [], ["certs"], Selection(True)),
        ("certs", [], ["certs/apiserver", "certs/etcd-ca"], Selection(True, ("apiserver", "etcd/ca"))),
        ("certs", ["certs/apiserver"], ["certs/apiserver", "certs/sa"], Selection(True, ("sa",))),
        ("certs", ["certs"], ["certs/sa"], Selection(False)),
        ("control-plane", ["control-plane/scheduler"], [], Selection(True, ("kube-apiserver", "kube-controller-manager"))),
        ("etcd", ["etcd/local"], [], Selection(False)),
        ("addon", [], ["addon/coredns"], Selection(True, ("coredns",))),
        ("upload-config", ["upload-config/kubelet"], [], Selection(True, ("kubeadm",))),
        ("preflight", [], ["certs"], Selection(False)),
        ("kubelet-finalize", [], ["kubelet-finalize/enable-client-cert-rotation"], Selection(True)),
    ],
)
def test_what_is_left_of_a_phase(phase: str, skipped: list[str], only: list[str], expected: Selection) -> None:
    assert select(phase, skipped, only) == expected


@pytest.mark.parametrize(
    ("phase", "skipped", "only", "runs"),
    [
        ("kubelet-start", [], [], True),
        ("kubelet-start", ["kubelet-start"], [], False),
        ("kubelet-start", [], ["preflight"], False),
        ("control-plane-prepare/certs", ["control-plane-prepare"], [], False),
        ("control-plane-prepare/certs", ["control-plane-prepare/all"], [], False),
        ("control-plane-prepare/certs", ["control-plane-prepare/kubeconfig"], [], True),
        ("control-plane-prepare/certs", [], ["control-plane-prepare"], True),
        ("etcd-join", ["control-plane-join/etcd"], [], False),
        ("etcd-join", ["control-plane-join"], [], False),
        ("etcd-join", [], ["etcd-join"], True),
        ("control-plane-join/mark-control-plane", ["control-plane-join/etcd"], [], True),
    ],
)
def test_what_is_left_of_join(phase: str, skipped: list[str], only: list[str], runs: bool) -> None:
    assert select_join(phase, skipped, only) == Selection(runs)


@pytest.mark.parametrize(
    ("module", "options", "skipped", "expected"),
    [
        ("pki_cert", {}, [], {}),
        ("pki_cert", {}, ["control-plane-prepare/certs"], None),
        ("static_pod", {"components": ["kube-scheduler"]}, ["control-plane-prepare/control-plane"], None),
        ("static_pod", {"components": ["etcd"]}, ["control-plane-prepare/control-plane"], {}),
        ("static_pod", {"components": ["etcd"]}, ["etcd-join"], None),
        ("join_secrets", {}, ["preflight"], {}),
        ("phase_plan", {}, ["preflight"], {"phases": {phase: [] for phase in JOIN_PHASES if phase != "preflight"}}),
    ],
)
def test_what_a_module_has_left_of_join(module: str, options: dict[str, Any], skipped: list[str], expected: dict[str, Any] | None) -> None:
    assert chosen_of_join(module, options, skipped, []) == expected


def test_every_phase_of_join_has_a_module() -> None:
    assert set(JOIN.values()) == set(JOIN_PHASES)


def test_names_that_are_no_phase_are_told() -> None:
    assert unknown(["control-plane-prepare/certs", "control-plane-join/all", "etcd-join"]) == ()
    assert unknown(["certs", "certs/apiserver", "addon/all", "cert", "certs/api"]) == ("cert", "certs/api")


@pytest.mark.parametrize(
    ("module", "options", "skipped", "only", "expected"),
    [
        ("pki_cert", {}, [], [], {}),
        ("pki_cert", {}, ["certs"], [], None),
        ("pki_cert", {}, [], ["certs/sa"], {"names": ["sa"]}),
        ("pki_cert", {"names": ["ca"]}, [], ["certs/sa"], None),
        ("pki_cert", {"names": ["ca", "sa"]}, ["certs/ca"], [], {"names": ["sa"]}),
        ("static_pod", {"components": ["etcd"]}, ["etcd"], [], None),
        (
            "static_pod",
            {"components": ["kube-apiserver", "kube-scheduler"]},
            ["control-plane/scheduler"],
            [],
            {"components": ["kube-apiserver"]},
        ),
        ("static_pod", {"components": ["etcd"]}, [], ["control-plane"], None),
        ("kubelet_start", {}, [], ["certs"], None),
        ("control_plane_state", {}, ["certs"], ["certs"], {}),
        ("phase_plan", {}, ["certs/ca"], ["certs/ca", "certs/sa"], {"phases": {"certs": ["sa"]}}),
    ],
)
def test_a_module_is_narrowed_to_what_is_left(
    module: str, options: dict[str, Any], skipped: list[str], only: list[str], expected: dict[str, Any] | None
) -> None:
    assert chosen_parts(module, options, skipped, only) == expected


SECRETS = {
    "InitConfiguration.bootstrapTokens[0].token": "aaaaaa.0123456789abcdef",
    "InitConfiguration.bootstrapTokens[2].token": "cccccc.0123456789abcdef",
    "InitConfiguration.certificateKey": "00" * 32,
    "JoinConfiguration.controlPlane.certificateKey": "22" * 32,
    "JoinConfiguration.discovery.tlsBootstrapToken": "dddddd.0123456789abcdef",
    "JoinConfiguration.discovery.bootstrapToken.token": "ffffff.0123456789abcdef",
}


@pytest.mark.parametrize(
    ("module", "options", "expected"),
    [
        ("pki_cert", {}, {}),
        ("phase_plan", {}, {}),
        ("upload_certs", {}, {"certificate_key": "00" * 32}),
        ("upload_certs", {"certificate_key": "11" * 32}, {}),
        ("download_certs", {}, {"certificate_key": "22" * 32}),
        ("download_certs", {"certificate_key": "11" * 32}, {}),
        ("join_secrets", {}, {}),
        ("preflight_check", {}, {"certificate_key_given": True}),
        ("bootstrap_token", {}, {"tokens": ["aaaaaa.0123456789abcdef", "", "cccccc.0123456789abcdef"]}),
        ("bootstrap_token", {"tokens": ["eeeeee.0123456789abcdef"]}, {}),
        ("cluster_discovery", {}, {"token": "ffffff.0123456789abcdef", "tls_bootstrap_token": "dddddd.0123456789abcdef"}),
        ("cluster_discovery", {"token": "eeeeee.0123456789abcdef"}, {}),
        ("cluster_discovery", {"tls_bootstrap_token": "eeeeee.0123456789abcdef"}, {"token": "ffffff.0123456789abcdef"}),
    ],
)
def test_a_module_gets_only_the_secrets_it_works_with(module: str, options: dict[str, Any], expected: dict[str, Any]) -> None:
    assert secret_options(module, options, SECRETS) == expected


def test_the_tables_agree_with_the_modules() -> None:
    assert list(PARTS["certs"].paths) == NAMES
    assert {phase for module, phases in PHASES.items() for phase in phases} == set(INIT_PHASES)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, False),
        ({"becomes": "worker", "renew_before": "720h", "token": "", "tokens": None}, False),
        ({"token": "abcdef.0123456789abcdef"}, True),
        ({"tls_bootstrap_token": "abcdef.0123456789abcdef"}, True),
        ({"tokens": ["", "abcdef.0123456789abcdef"]}, True),
        ({"certificate_key": "00"}, True),
        ({"certificate_key_given": True, "secret_name": "kubeadm-certs"}, False),
        ({"manifest_content": "kind: Secret"}, True),
        ({"registry_credentials": {"registry.test": {"username": "u", "password": "p"}}}, True),
        ({"proxy_env": {"HTTPS_PROXY": "http://proxy.test:3128", "NO_PROXY": "10.0.0.1"}}, False),
        ({"proxy_env": {"NO_PROXY": "10.0.0.1", "HTTPS_PROXY": "http://me:word@proxy.test:3128"}}, True),
        ({"proxy_env": "HTTPS_PROXY=http://me:word@proxy.test:3128"}, True),
    ],
)
def test_which_calls_carry_secrets(options: dict[str, Any], expected: bool) -> None:
    assert carries_secrets(options) is expected


def test_every_hidden_option_of_a_module_is_known_as_a_secret() -> None:
    plugins = Path(__file__).resolve().parents[3] / "plugins"
    hidden = set()
    for path in (*(plugins / "modules").glob("*.py"), *(plugins / "module_utils").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            for name, spec in zip(node.keys, node.values) if isinstance(node, ast.Dict) else ():
                if isinstance(name, ast.Constant) and isinstance(spec, ast.Dict) and "'no_log': True" in ast.unparse(spec):
                    hidden.add(name.value)
    assert hidden == set(SECRET_OPTIONS)
