# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An apt repository of a release: an index of its packages, signed with a key that is made for it."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

from lab.cache import Artifact, Store, content_of
from lab.command import attempt, run
from lab.docker_archive import sha256
from lab.images import FILES
from lab.node_image import copy
from lab.packages import packages_of, write
from lab.recipes import ON_NODES, Release
from lab.toolchain import architecture

# The Kubernetes project's packages, and those of the distribution: two archives, as on any machine.
KUBERNETES, DISTRIBUTION = ARCHIVES = ("kubernetes", "distribution")
KEY = "Release.key"
PACKAGED = (*ON_NODES, "crictl", "cni-plugins")
_SIGNER = "kubephase lab <lab@kubephase.invalid>"


def repository_artifact(store: Store, of: Release, programs: Mapping[str, Artifact], distribution: Sequence[Artifact]) -> Artifact:
    """Describe the repository that bare nodes of a release take their packages from."""
    packaged = {name: programs[name] for name in PACKAGED}

    def make(target: Path) -> None:
        for archive in ARCHIVES:
            (target / archive).mkdir()
        with tempfile.TemporaryDirectory(dir=target) as scratch:
            for package in packages_of(of, {name: store.path(artifact) for name, artifact in packaged.items()}):
                write(package, target / KUBERNETES, Path(scratch))
        # Once each: what several need is in several.
        for deb in {deb.name: deb for part in distribution for deb in sorted(store.path(part).glob("*.deb"))}.values():
            # apt escapes the colon of an epoch in the names of files, and then again in their addresses.
            copy(deb, target / DISTRIBUTION / deb.name.replace("%3a", "."))
        with Signer() as signer:
            for archive in ARCHIVES:
                _index(target / archive, signer)

    inputs = {
        "programs": sorted(artifact.digest for artifact in packaged.values()),
        "distribution": [part.digest for part in distribution],
        "files": content_of(FILES / "kubelet.service", FILES / "10-kubeadm.conf"),
        "code": content_of(*(Path(__file__).parent / name for name in ("packages.py", "repository.py"))),
    }
    return Artifact(f"repository {of.version}", inputs, make)


def _index(archive: Path, signer: Signer) -> None:
    debs = sorted(archive.glob("*.deb"))
    entries = [entry(run(["dpkg-deb", "--field", str(deb)]), deb.name, deb.stat().st_size, sha256(deb)) for deb in debs]
    index = "\n".join(entries).encode()
    contents = {"Packages": index, "Packages.gz": gzip.compress(index, mtime=0)}
    for name, content in contents.items():
        (archive / name).write_bytes(content)
    released = archive / "Release"
    released.write_text(release_file(archive.name, architecture(), datetime.now(timezone.utc), contents))
    signer.sign(released, archive / "InRelease", archive / KEY)


def entry(control: str, file_name: str, size: int, digest: str) -> str:
    """Spell what the index says of one package: its control file, and where its file is."""
    return f"{control.rstrip()}\nFilename: ./{file_name}\nSize: {size}\nSHA256: {digest}\n"


def release_file(archive: str, machine: str, date: datetime, contents: Mapping[str, bytes]) -> str:
    """Spell the file that is signed: which indexes there are, and their sums."""
    sums = "".join(f" {hashlib.sha256(content).hexdigest()} {len(content)} {name}\n" for name, content in contents.items())
    return (
        f"Origin: kubephase lab\nLabel: {archive}\nArchitectures: {machine} all\n"
        f"Date: {date.strftime('%a, %d %b %Y %H:%M:%S UTC')}\nDescription: packages of the lab\nSHA256:\n{sums}"
    )


class Signer:
    """A key that lives as long as one repository is made: nobody can sign with it afterwards."""

    def __enter__(self) -> Signer:
        # Not in the cache: the path of the agent's socket must be short.
        self._home = tempfile.mkdtemp(prefix="kubephase-gpg-")
        self._gpg("--passphrase", "", "--quick-generate-key", _SIGNER, "ed25519", "sign", "never")
        return self

    def sign(self, released: Path, signed: Path, key: Path) -> None:
        """Write the signed text of a Release file, and the key to check it with."""
        self._gpg("--clearsign", "--output", str(signed), str(released))
        self._gpg("--armor", "--export", "--output", str(key))

    def _gpg(self, *arguments: str) -> None:
        run(["gpg", "--homedir", self._home, "--batch", "--quiet", "--pinentry-mode", "loopback", *arguments])

    def __exit__(self, *failure: object) -> None:
        attempt(["gpgconf", "--homedir", self._home, "--kill", "gpg-agent"])
        shutil.rmtree(self._home, ignore_errors=True)


def distribution_sources(url: str, key: str) -> str:
    """Spell the apt source that a bare node comes with, as a machine comes with its distribution's."""
    return f"Types: deb\nURIs: {url}\nSuites: /\nSigned-By: {key}\n"


def addresses(host: str, port: int, archives: Iterable[str] = ARCHIVES) -> dict[str, str]:
    """Give the address of each archive."""
    return {archive: f"http://{host}:{port}/{archive}/" for archive in archives}
