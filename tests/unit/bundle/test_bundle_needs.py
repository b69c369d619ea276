# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What documents need, and real bundles compared with it: directories and archives, whole and with faults planted in them."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from bundles import DEBS, FILES, IMAGES, PAUSE, contents, docker_archive, lay, listing

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.needs import images_of
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.plugins.modules.offline_bundle import make

DOCUMENTS = {"ClusterConfiguration": {"kubernetesVersion": "v1.37.1"}}


def run(documents: Mapping[str, Any] = DOCUMENTS, check: bool = False, **options: Any) -> Outcome:
    given = {"becomes": "worker", "architecture": "amd64", "write": False, **options}
    phase, world = make()
    return execute(phase, world, documents, given, check=check)


def refused(**options: Any) -> list[str]:
    with pytest.raises(ManyUnusable) as refusal:
        run(**options)
    # The list is in the failure as well, for whoever mends the bundle.
    assert refusal.value.facts["files"]
    return [str(problem) for problem in refusal.value.findings]


def names(outcome: Outcome) -> list[str]:
    return [image["name"] for image in outcome.facts["images"]]


def test_the_list_needs_no_host_and_no_bundle() -> None:
    outcome = run()
    assert outcome.facts["files"] == list(FILES)
    assert names(outcome) == list(IMAGES)
    assert [image["name"] for image in outcome.facts["images"] if image["control_plane_only"]] == [*IMAGES[:3], IMAGES[6]]
    assert (outcome.facts["checked"], outcome.changed) == (False, False)
    for line in (*FILES, PAUSE, f"{IMAGES[0]} (control planes only)", "Offline bundle for Kubernetes 1.37.1 on amd64"):
        assert line in outcome.facts["text"].splitlines()


@pytest.mark.parametrize(
    ("cluster", "there", "gone"),
    [
        ({"imageRepository": "mirror.example/k8s"}, "mirror.example/k8s/coredns:v1.14.6", PAUSE),
        ({"etcd": {"external": {"endpoints": ["https://192.0.2.1:2379"]}}}, PAUSE, IMAGES[6]),
        ({"dns": {"disabled": True}}, PAUSE, IMAGES[4]),
        ({"proxy": {"disabled": True}}, PAUSE, IMAGES[3]),
        ({"dns": {"imageTag": "v9"}}, "registry.k8s.io/coredns/coredns:v9", IMAGES[4]),
        ({"kubernetesVersion": "v1.28.15"}, "registry.k8s.io/etcd:3.5.15-0", IMAGES[6]),
    ],
)
def test_images_follow_the_documents(cluster: Mapping[str, Any], there: str, gone: str) -> None:
    found = names(run({"ClusterConfiguration": {"kubernetesVersion": "v1.37.1", **cluster}}))
    assert there in found
    assert gone not in found


@pytest.mark.parametrize(("version", "more"), [("v1.37.1", []), ("v1.31.4", ["conntrack", "iptables"])])
def test_packages_follow_what_preflight_of_the_release_looks_for(version: str, more: list[str]) -> None:
    outcome = run({"ClusterConfiguration": {"kubernetesVersion": version}})
    assert outcome.facts["packages"] == sorted(["containerd", "python3-cryptography", "python3-yaml", *more])


def test_images_of_others_are_added_once() -> None:
    manifest = f"  - image: 'example.org/net:1' # ours\n    image: \"{PAUSE}\"\n    imagePullPolicy: Never\n#  image: example.org/off:1\n"
    assert images_of(manifest) == ("example.org/net:1", PAUSE)
    assert images_of('containers: [{image: "example.org/a:1"}, {name: b, image: example.org/b@sha256:00}]') == (
        "example.org/a:1",
        "example.org/b@sha256:00",
    )
    outcome = run(manifest_content=manifest, images=["example.org/tool:2", PAUSE])
    assert names(outcome) == [*IMAGES, "example.org/net:1", "example.org/tool:2"]


def test_the_version_is_not_taken_from_the_controller() -> None:
    with pytest.raises(Unusable, match="kubernetesVersion: it is not set"):
        run({})


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    place = tmp_path / "bundle"
    lay(place, contents(), listing(contents()))
    return place


def test_a_whole_bundle_passes(bundle: Path) -> None:
    outcome = run(bundle=str(bundle))
    assert (outcome.facts["checked"], outcome.changed, outcome.warnings) == (True, False, ())


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz"])
@pytest.mark.parametrize("inside", [".", "some/where"])
def test_an_archive_is_as_good_as_its_directory(bundle: Path, tmp_path: Path, suffix: str, inside: str) -> None:
    packed = tmp_path / f"b{suffix}"
    with tarfile.open(packed, "w:gz" if suffix.endswith("gz") else "w") as archive:
        archive.add(bundle, inside)
    assert run(bundle=str(packed)).facts["checked"]
    (bundle / "bin/kubelet").write_text("another")
    with tarfile.open(packed, "w:gz" if suffix.endswith("gz") else "w") as archive:
        archive.add(bundle, inside)
    assert [text.partition(":")[0] for text in refused(bundle=str(packed))] == [f"{packed}/bin/kubelet"]


def test_every_fault_is_found_at_once(bundle: Path) -> None:
    (bundle / "bin/kubelet").unlink()
    (bundle / "cni/loopback").write_text("tampered")
    (bundle / "images/first.tar").write_bytes(docker_archive(*IMAGES[:2]))
    (bundle / "images/second.tar.gz").write_text("no archive")
    listed = listing(contents())
    del listed["files"]["bin/crictl"]
    (bundle / "bundle.json").write_text(json.dumps({**listed, "kubernetes": "1.36.0"}))
    found = refused(bundle=str(bundle), architecture="arm64", images=["example.org/net:1"])
    for expected in (
        "bin/kubelet: bundle.json lists it, and it is not there",
        "cni/loopback: its SHA-256 is",
        "images/first.tar: its SHA-256 is",
        f"images/first.tar: it lacks {IMAGES[2]}",
        "images/second.tar.gz: it is no image archive",
        "bundle.json: it is for Kubernetes 1.36.0",
        "bundle.json: it is for amd64, and the host is arm64",
        "bundle.json: it lists no bin/crictl",
        "bundle.json: no archive of it promises the image example.org/net:1",
    ):
        assert any(expected in text for text in found), expected


@pytest.mark.parametrize("deb", DEBS)
def test_a_package_that_is_missing_is_only_a_warning(bundle: Path, deb: str) -> None:
    (bundle / "debs" / deb).unlink()
    assert run(bundle=str(bundle), write=True).warnings == (
        f"The bundle has no package {deb.partition('_')[0]}: hosts must have what is missing there already",
    )


@pytest.mark.parametrize(
    ("make_it", "said"), [("nothing", "no such file"), ("file", "not a whole tar archive"), ("cut", "not a whole tar archive")]
)
def test_what_is_no_bundle_is_one_error(bundle: Path, tmp_path: Path, make_it: str, said: str) -> None:
    place = tmp_path / "b.tar"
    if make_it == "file":
        place.write_text("x" * 2000)
    if make_it == "cut":
        with tarfile.open(place, "w:gz") as archive:
            archive.add(bundle, ".")
        place.write_bytes(place.read_bytes()[:3000])
    with pytest.raises(Unusable, match=said):
        run(bundle=str(place))


def test_a_bundle_without_a_list_says_how_to_make_one(bundle: Path) -> None:
    (bundle / "bundle.json").unlink()
    assert refused(bundle=str(bundle)) == [
        f"{bundle}/bundle.json: it is not there. Make it: kubephase.cluster.bundle with kubephase_bundle_write"
    ]


def test_the_list_is_written_from_what_is_there_and_then_kept(bundle: Path) -> None:
    (bundle / "bundle.json").unlink()
    foreseen = run(bundle=str(bundle), write=True, check=True)
    assert foreseen.changed
    assert not (bundle / "bundle.json").exists()
    assert run(bundle=str(bundle), write=True).plan == foreseen.plan
    assert json.loads((bundle / "bundle.json").read_text()) == listing(contents())
    assert not run(bundle=str(bundle), write=True).changed
    assert run(bundle=str(bundle)).facts["checked"]


def test_a_list_is_not_written_over_what_is_missing_or_into_an_archive(bundle: Path, tmp_path: Path) -> None:
    before = (bundle / "bundle.json").read_bytes()
    (bundle / "bin/kubelet").unlink()
    assert [text.partition(": ")[2] for text in refused(bundle=str(bundle), write=True)] == [
        "it lists no bin/kubelet. Add the file and its SHA-256 to the bundle"
    ]
    assert (bundle / "bundle.json").read_bytes() == before
    with tarfile.open(tmp_path / "b.tar", "w") as archive:
        archive.add(bundle, ".")
    assert "cannot be written into an archive" in refused(bundle=str(tmp_path / "b.tar"), write=True)[0]


def test_a_list_that_would_not_be_taken_back_is_not_written(bundle: Path) -> None:
    before = (bundle / "bundle.json").read_bytes()
    (bundle / "bin/odd\\name").write_text("x")
    assert "which is not a plain path inside the bundle" in refused(bundle=str(bundle), write=True)[0]
    assert (bundle / "bundle.json").read_bytes() == before
