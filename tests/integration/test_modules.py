# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The modules through real Ansible: changed, diff, check mode, and hosts that refuse to be written to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from integration.play import cluster, play
from unit.adapters.test_files import mounted
from unit.world import snapshot

INIT = {"localAPIEndpoint": {"advertiseAddress": "192.0.2.10"}, "nodeRegistration": {"name": "cp1"}}


def tasks(place: Path) -> list[dict[str, Any]]:
    return [
        {"kubephase.cluster.pki_cert": None},
        {"kubephase.cluster.kubeconfig_file": {"client_name": "jane", "path": str(place / "jane.conf")}},
    ]


def host(place: Path, **fields: Any) -> dict[str, Any]:
    return {"cp1": {"kubephase_cluster_configuration": cluster(place, **fields), "kubephase_init_configuration": INIT}}


def test_check_run_and_run_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    checked = play(tmp_path, tasks(data), "--check", "--diff", hosts=host(data))
    assert checked.recap()["changed"] == 2, checked.output
    assert snapshot(data) == {}
    real = play(tmp_path, tasks(data), "--diff", hosts=host(data))
    assert real.recap()["changed"] == 2
    assert "pki/apiserver.crt (it does not exist)" in real.output
    before = snapshot(data)
    again = play(tmp_path, tasks(data), "--diff", hosts=host(data))
    assert (again.recap()["ok"], again.recap()["changed"]) == (2, 0)
    assert snapshot(data) == before
    wanted = host(data, apiServer={"certSANs": ["api.example.test"]})
    changed = play(tmp_path, tasks(data), "--check", "--diff", hosts=wanted)
    assert "it lacks the name api.example.test" in changed.output
    assert snapshot(data) == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"renew_before": "soon"}, "renew_before: 'soon' is not a duration. Give one such as 720h"),
        ({"renew_before": "-1h"}, "renew_before: '-1h' is not a duration"),
        ({"names": ["nothing"]}, "value of names must be one or more of"),
        ({"nam": ["ca"]}, "Unsupported parameters"),
    ],
)
def test_bad_options_are_one_error(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    played = play(tmp_path, [{"kubephase.cluster.pki_cert": options}], "-vvv", hosts=host(tmp_path))
    assert played.code != 0
    assert said in played.output
    assert "Traceback" not in played.output


def test_a_full_disk_a_read_only_one_and_a_directory_in_the_way(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for options, said in (("ro", "the file system is read-only. Remount"), ("size=4k", "the file system is full. Free some space")):
        with mounted(data, options):
            played = play(tmp_path, tasks(data), "-vvv", hosts=host(data))
            assert played.code != 0
            assert said in played.output
            assert "Traceback" not in played.output
            assert not [name for _, _, names in os.walk(data) for name in names if "kubephase-" in name]
    (data / "pki/ca.crt").mkdir(parents=True)
    played = play(tmp_path, tasks(data), "-vvv", hosts=host(data))
    assert f"{data}/pki/ca.crt: a directory is where a file should be. Move the directory away" in played.output
    assert "Traceback" not in played.output


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_modes_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    data = tmp_path / "data"
    before = os.umask(umask)
    try:
        assert play(tmp_path, tasks(data), hosts=host(data)).code == 0
    finally:
        os.umask(before)
    modes = {str(path.relative_to(data)): path.stat().st_mode & 0o777 for path in data.rglob("*")}
    assert {mode for name, mode in modes.items() if name.endswith((".key", ".conf", ".pub"))} == {0o600}
    assert {mode for name, mode in modes.items() if name.endswith(".crt")} == {0o644}
    assert (modes["pki"], modes["pki/etcd"]) == (0o755, 0o755)


def test_corrupt_files_are_all_named_and_none_is_quoted(tmp_path: Path) -> None:
    play(tmp_path, tasks(tmp_path), hosts=host(tmp_path))
    key = (tmp_path / "pki/ca.key").read_text()
    (tmp_path / "pki/ca.crt").write_text(key)
    (tmp_path / "pki/etcd/peer.key").write_text("nonsense")
    played = play(tmp_path, tasks(tmp_path)[:1], "-vvv", hosts=host(tmp_path))
    assert "pki/ca.crt: it holds no PEM certificate" in played.output
    assert "pki/etcd/peer.key: it holds no PEM private key that can be read" in played.output
    assert key.splitlines()[1] not in played.output
    assert "Traceback" not in played.output
