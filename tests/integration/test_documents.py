# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller-side step through real Ansible: files, variables, mistakes, secrets."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from integration.play import cluster, play

CERTS = [{"kubephase.cluster.pki_cert": {"names": ["ca", "apiserver"]}}]
INIT = {"localAPIEndpoint": {"advertiseAddress": "192.0.2.10"}, "nodeRegistration": {"name": "cp1"}}

CANARIES = {
    "token": "canary.t0k3nt0k3nt0k3n1",
    "second": "canar2.t0k3nt0k3nt0k3n2",
    "key": "ca9a7ca9a7ca9a7ca9a7ca9a7ca9a7ca9a7ca9a7ca9a7ca9a7ca9a7ca9a71234",
}


def kubeadm_yaml(place: Path, *documents: dict[str, Any]) -> str:
    path = place / "kubeadm.yaml"
    path.write_text(yaml.safe_dump_all(documents))
    return path.name


def cluster_document(place: Path, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "ClusterConfiguration", **cluster(place, **fields)}


def test_the_file_is_read_and_variables_win(tmp_path: Path) -> None:
    networking = {"dnsDomain": "file.test", "serviceSubnet": "10.50.0.0/16"}
    name = kubeadm_yaml(
        tmp_path,
        cluster_document(tmp_path, networking=networking),
        {**INIT, "kind": "InitConfiguration", "apiVersion": "kubeadm.k8s.io/v1beta4"},
    )
    host = {"kubephase_config_file": name, "kubephase_cluster_configuration": {"networking": {"dnsDomain": "variable.test"}}}
    played = play(tmp_path, [{"kubephase.cluster.documents": None}, *CERTS], "-v", hosts={"cp1": host})
    assert played.code == 0, played.output
    text = subprocess.run(
        ["openssl", "x509", "-noout", "-ext", "subjectAltName", "-in", str(tmp_path / "pki/apiserver.crt")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "DNS:kubernetes.default.svc.variable.test" in text
    assert "IP Address:10.50.0.1" in text
    assert "IP Address:192.0.2.10" in text


def test_an_encrypted_file_is_read(tmp_path: Path) -> None:
    name = kubeadm_yaml(tmp_path, cluster_document(tmp_path))
    (tmp_path / "password").write_text("vault")
    subprocess.run(["ansible-vault", "encrypt", "--vault-password-file", "password", name], cwd=tmp_path, check=True, capture_output=True)
    host = {"kubephase_config_file": name, "kubephase_init_configuration": INIT}
    played = play(tmp_path, CERTS, "--vault-password-file", "password", hosts={"cp1": host})
    assert played.code == 0, played.output
    assert (tmp_path / "pki/apiserver.crt").exists()


def test_a_mistake_of_one_host_stops_all_before_any_is_touched(tmp_path: Path) -> None:
    hosts = {
        "cp1": {"kubephase_cluster_configuration": cluster(tmp_path)},
        "cp2": {"kubephase_cluster_configuration": cluster(tmp_path, clusterNam="x", networking={"podSubnet": "10.0.0.0/33"})},
    }
    tasks: list[dict[str, Any]] = [{"kubephase.cluster.documents": None, "any_errors_fatal": True}, *CERTS]
    played = play(tmp_path, tasks, hosts=hosts)
    assert played.code != 0
    assert "The kubeadm documents of cp2 are not valid" in played.output
    assert "kubephase_cluster_configuration: ClusterConfiguration.clusterNam: found an unknown field" in played.output
    assert "clusterName" in played.output
    assert "ClusterConfiguration.networking.podSubnet: found '10.0.0.0/33'" in played.output
    assert not (tmp_path / "pki").exists()


BAD = [
    ({"clusterNam": "x"}, "ClusterConfiguration.clusterNam", "clusterName"),
    ({"networking": "10.0.0.0/8"}, "ClusterConfiguration.networking", "a mapping"),
    ({"networking": {"serviceSubnet": "10.96.0.0/99"}}, "ClusterConfiguration.networking.serviceSubnet", "10.96.0.0/12"),
    ({"controlPlaneEndpoint": "api.test:99999"}, "ClusterConfiguration.controlPlaneEndpoint", "65535"),
    ({"kubernetesVersion": "v1.21.3"}, "ClusterConfiguration.kubernetesVersion", "1.22"),
    ({"kubernetesVersion": "stable-1"}, "ClusterConfiguration.kubernetesVersion", "stable-1"),
    ({"encryptionAlgorithm": "DSA"}, "ClusterConfiguration.encryptionAlgorithm", "RSA-2048"),
    ({"certificateValidityPeriod": "one year"}, "ClusterConfiguration.certificateValidityPeriod", "8760h"),
    ({"apiServer": {"certSANs": ["not a name"]}}, "ClusterConfiguration.apiServer.certSANs[0]", "not a name"),
    ({"apiVersion": "kubeadm.k8s.io/v1beta2"}, "kubephase_cluster_configuration", "config migrate"),
]


@pytest.mark.parametrize(("fields", "where", "said"), BAD)
def test_bad_input_is_one_error_and_no_traceback(tmp_path: Path, fields: dict[str, Any], where: str, said: str) -> None:
    host = {"kubephase_cluster_configuration": cluster(tmp_path, **fields)}
    played = play(tmp_path, CERTS, "-vvv", hosts={"cp1": host})
    assert played.code != 0
    assert where in played.output
    assert said in played.output
    assert "Traceback" not in played.output
    assert not (tmp_path / "pki").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: ClusterConfiguration\nclusterName: a\nclusterName: b\n", "clusterName"),
        ("kind: ClusterConfiguration\n  clusterName: a\n", "line 2"),
        ("kind: ClusterConfig\n", "ClusterConfiguration"),
        ("\t\n", "kubeadm.yaml"),
        ("kind: [\n", "kubeadm.yaml"),
    ],
)
def test_a_broken_file_is_one_error_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "kubeadm.yaml").write_text(text)
    played = play(tmp_path, CERTS, "-vvv", hosts={"cp1": {"kubephase_config_file": "kubeadm.yaml"}})
    assert played.code != 0
    assert "kubeadm.yaml" in played.output
    assert said in played.output
    assert "Traceback" not in played.output


def test_a_file_that_is_not_there_is_one_error(tmp_path: Path) -> None:
    played = play(tmp_path, CERTS, hosts={"cp1": {"kubephase_config_file": "missing.yaml"}})
    assert played.code != 0
    assert f"missing.yaml is not a file on the controller. Looked at: {tmp_path}/missing.yaml" in played.output


def test_dry_run_means_check_mode(tmp_path: Path) -> None:
    host = {"kubephase_cluster_configuration": cluster(tmp_path), "kubephase_init_configuration": {**INIT, "dryRun": True}}
    played = play(tmp_path, CERTS, hosts={"cp1": host})
    assert played.code == 0, played.output
    assert played.recap()["changed"] == 1
    assert not (tmp_path / "pki").exists()


def test_a_missing_library_is_named_with_its_package(tmp_path: Path) -> None:
    subprocess.run(["python3", "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    host = {"kubephase_cluster_configuration": cluster(tmp_path), "kubephase_init_configuration": INIT}
    played = play(tmp_path, CERTS, hosts={"cp1": host}, INTERPRETER=str(tmp_path / "bare/bin/python"))
    assert played.code != 0
    assert (
        "The Python library cryptography is missing on this host. Install it, for example: apt-get install python3-cryptography"
        in played.output
    )
    assert "Traceback" not in played.output


@pytest.mark.parametrize("mistake", [False, True])
def test_secrets_leave_no_trace(tmp_path: Path, mistake: bool) -> None:
    """Canary secrets in file and variables, through the role: not in output, log, fact cache or what is sent to the host."""
    name = kubeadm_yaml(
        tmp_path,
        cluster_document(tmp_path),
        {
            "apiVersion": "kubeadm.k8s.io/v1beta4",
            "kind": "InitConfiguration",
            **INIT,
            "bootstrapTokens": [{"token": CANARIES["token"]}],
        },
    )
    host = {
        "kubephase_config_file": name,
        "kubephase_init_configuration": {
            "certificateKey": CANARIES["key"] + ("x" if mistake else ""),
            "bootstrapTokens": [{"token": CANARIES["token"]}, {"token": CANARIES["second"] + ("%" if mistake else "")}],
        },
    }
    tasks = [{"import_role": {"name": "kubephase.cluster.init", "tasks_from": "main"}}]
    played = play(
        tmp_path,
        tasks,
        "-vvvv",
        "--diff",
        "--tags",
        "certs",
        hosts={"cp1": host},
        ANSIBLE_LOG_PATH=str(tmp_path / "ansible.log"),
        ANSIBLE_CACHE_PLUGIN="jsonfile",
        ANSIBLE_CACHE_PLUGIN_CONNECTION=str(tmp_path / "facts"),
        ANSIBLE_KEEP_REMOTE_FILES="1",
    )
    assert (played.code != 0) == mistake, played.output
    given = {"inventory.yml", "play.yml", "kubeadm.yaml"}
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path.name not in given]
    for path in list(written):
        if path.name.startswith("AnsiballZ_"):
            subprocess.run(["python3", str(path), "explode"], check=True, capture_output=True)
            written += [each for each in path.parent.rglob("*") if each.is_file()]
    assert any("AnsiballZ_" in path.name for path in written) or mistake
    trace = [
        canary
        for canary in CANARIES.values()
        if (canary.partition(".")[2] and canary.partition(".")[2] in played.output) or canary in played.output
    ]
    assert trace == []
    for path in written:
        content = path.read_bytes()
        assert not [canary for canary in CANARIES.values() if (canary.partition(".")[2] or canary).encode() in content], path


def test_groups_tell_what_a_host_becomes_unless_the_task_does(tmp_path: Path) -> None:
    groups = {"control_plane": ["cp1", "cp2"], "workers": ["w1"]}
    hosts = {name: {"kubephase_cluster_configuration": cluster(tmp_path)} for name in ("cp1", "cp2", "w1")}

    def told(options: dict[str, Any], *arguments: str, **inventory: Any) -> dict[str, str]:
        tasks = [{"kubephase.cluster.cluster_info": {"parts": ["host"], **options}}]
        played = play(tmp_path, tasks, "-vvv", *arguments, hosts=hosts, **inventory)
        assert played.code == 0, played.output
        return dict(re.findall(r"^ok: \[(\w+)\].*?^ +becomes: (\w+)$", played.output, re.MULTILINE | re.DOTALL))

    assert told({}, groups=groups) == {"cp1": "init", "cp2": "control_plane", "w1": "worker"}
    # Who is first does not depend on the hosts of a run.
    assert told({}, "--limit", "cp2", groups=groups) == {"cp2": "control_plane"}
    assert told({"becomes": "control_plane"}, groups=groups) == dict.fromkeys(hosts, "control_plane")
    assert told({}) == dict.fromkeys(hosts, "init")
