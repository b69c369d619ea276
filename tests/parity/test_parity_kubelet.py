# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kubelet's files: real kubeadm and ours write the same bytes, and each takes the other's for its own."""

from __future__ import annotations

import difflib
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.clock import Clock
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.host import Host
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.finalize import KubeletFinalizePhase
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.start import KubeletStartPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Change
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import RestartService, ServiceState
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.tests.parity.cases import RELEASES, Case, pairs
from ansible_collections.kubephase.cluster.tests.parity.oracle import DOCUMENT, kubeadm, rendered, run_kubeadm
from ansible_collections.kubephase.cluster.tests.parity.ours import documents

PATCHES = Path(__file__).parent / "patches"
KUBECONFIG = "etc/kubernetes/kubelet.conf"
# The usual place of the rotating certificate, and the one that the cases with a cert-dir name.
CERTIFICATES = ("var/lib/kubelet/pki", "srv/kubelet/pki")
FINALIZED = {"defaults", "node-name", "kubelet-extra-args", "kubelet-extra-args-map"}


class NoSystemd:
    """What kubeadm finds in a bare root too: nothing runs, and a restart does nothing."""

    applies = (RestartService,)

    def state(self, name: str) -> ServiceState:
        return ServiceState(name, known=name == "kubelet", active=False, enabled=False)

    def apply(self, action: Action) -> None:
        assert isinstance(action, RestartService)


def ours(phase: Any, root: Path, document: str) -> tuple[Change, ...]:
    """One of our phases over root; the changes but for the start of a kubelet that is not there."""
    world = World(files=Files(str(root)), systemd=NoSystemd(), clock=Clock(), host=Host())
    changes = execute(phase, world, documents(document), {}).plan.changes
    return tuple(change for change in changes if not isinstance(change.action, RestartService))


def by_kubeadm(release: str, phase: list[str], root: Path, document: str) -> None:
    """One of kubeadm's phases over root."""
    config = root / DOCUMENT
    config.write_text(document, encoding="utf-8")
    try:
        run_kubeadm(kubeadm(release), root, "init", "phase", *phase, "--config", f"/{DOCUMENT}")
    finally:
        config.unlink()


def bare_root(root: Path, case: Case) -> Path:
    """A root with nothing but the patches that the case names, and the directory of static pods, which other phases of kubeadm make."""
    (root / "etc/kubernetes/manifests").mkdir(parents=True)
    for document in yaml.safe_load_all(case.text):
        directory = document.get("patches", {}).get("directory")
        if directory:
            shutil.copytree(PATCHES / case.name, root / directory.lstrip("/"))
    return root


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and content of everything that a phase put below root."""
    found = (path for path in sorted((root / "var").rglob("*")))
    return {str(path.relative_to(root)): (path.stat().st_mode, path.read_bytes() if path.is_file() else b"") for path in found}


def difference(kubeadms: dict[str, tuple[int, bytes]], mine: dict[str, tuple[int, bytes]]) -> str:
    lines = [f"{path}: {kubeadms.get(path)} {mine.get(path)}" for path in kubeadms.keys() ^ mine.keys()]
    for path in kubeadms.keys() & mine.keys():
        (mode, content), (my_mode, my_content) = kubeadms[path], mine[path]
        lines += [f"{path}: mode {mode:o} {my_mode:o}"] if mode != my_mode else []
        lines += difflib.unified_diff(
            content.decode().splitlines(), my_content.decode().splitlines(), f"kubeadm {path}", "ours", lineterm=""
        )
    return "\n".join(lines)


@pytest.fixture
def kubeadms(pair: tuple[Case, str], tmp_path: Path) -> Path:
    """The root in which kubeadm wrote the files of the pair."""
    case, release = pair
    root = bare_root(tmp_path / "kubeadm", case)
    by_kubeadm(release, ["kubelet-start"], root, case.document(release))
    return root


def test_same_bytes_and_modes(pair: tuple[Case, str], kubeadms: Path, tmp_path: Path) -> None:
    case, release = pair
    mine = bare_root(tmp_path / "ours", case)
    changes = ours(KubeletStartPhase(), mine, case.document(release))
    assert difference(tree(kubeadms), tree(mine)) == ""
    assert len(changes) == len([path for path in tree(mine) if (mine / path).is_file()]) >= 2
    assert ours(KubeletStartPhase(), mine, case.document(release)) == ()


def test_ours_keeps_kubeadms_files(pair: tuple[Case, str], kubeadms: Path) -> None:
    case, release = pair
    assert ours(KubeletStartPhase(), kubeadms, case.document(release)) == ()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give the tests of kubelet-finalize those cases that it can tell apart, with every release that they apply to."""
    if "finalized" in metafunc.fixturenames:
        chosen = [(case, release) for case, release in pairs(RELEASES) if case.name in FINALIZED]
        metafunc.parametrize("finalized", chosen, ids=[f"{case.name}-{release}" for case, release in chosen])


def test_finalize_points_kubelet_conf_where_kubeadm_does(finalized: tuple[Case, str], tmp_path: Path) -> None:
    case, release = finalized
    document = case.document(release)
    roots = [tmp_path / name for name in ("kubeadm", "ours")]
    for root in roots:
        (root / "etc/kubernetes").mkdir(parents=True)
        shutil.copy2(rendered(case, release).root / KUBECONFIG, root / KUBECONFIG)
        for directory in CERTIFICATES:
            (root / directory).mkdir(parents=True)
            (root / directory / "kubelet-client-current.pem").write_text("a certificate and its key\n", encoding="utf-8")
    by_kubeadm(release, ["kubelet-finalize", "all"], roots[0], document)
    assert len(ours(KubeletFinalizePhase(), roots[1], document)) == 1
    theirs, mine = ((root / KUBECONFIG) for root in roots)
    assert yaml.safe_load(theirs.read_text(encoding="utf-8")) == yaml.safe_load(mine.read_text(encoding="utf-8"))
    assert {path.stat().st_mode & 0o777 for path in (theirs, mine)} == {0o600}
    for root in roots:
        assert ours(KubeletFinalizePhase(), root, document) == ()
