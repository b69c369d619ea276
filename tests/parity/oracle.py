# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real kubeadm as the oracle: it renders each case once into a root of its own, and the result is kept in the cache."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.kubephase.cluster.tests.parity.cases import Case
from ansible_collections.kubephase.cluster.tests.parity.given import certificates_dir, prepare

CHECKOUT = Path(__file__).resolve().parents[2]
DOCUMENT = "kubeadm.yaml"

# A change to how the oracle renders or stores a case gets a new number, so that nothing stored before is taken for it.
LAYOUT = 3

# The shortest validity in the corpus is 90 days; a stored tree must be far from expiry when our modules look at it.
KEPT_FOR = 7 * 24 * 3600.0


@dataclass(frozen=True)
class User:
    """An additional user, for whom `kubeadm kubeconfig user` prints a file; without hours its default period counts."""

    name: str
    organisations: tuple[str, ...] = ()
    hours: int | None = None

    @property
    def file(self) -> str:
        """Where both sides put the user's kubeconfig."""
        return f"{self.name}.conf"


USERS = (User("plain-user"), User("grouped-user", ("dev", "Ops team"), 48))


class OracleFailed(Exception):
    """kubeadm refused a case of the corpus."""


@dataclass(frozen=True)
class Rendering:
    """A tree that somebody rendered, when, and what had been put there before."""

    root: Path
    given: Path
    started: float
    ended: float


def cache_root() -> Path:
    """Where results are kept between runs; never inside the checkout."""
    named = os.environ.get("KUBEPHASE_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kubephase"


@functools.cache
def kubeadm(release: str) -> Path:
    """The kubeadm binary of a release: from KUBEPHASE_KUBEADM_DIR where that has it, else built or found by the lab."""
    directory = os.environ.get("KUBEPHASE_KUBEADM_DIR")
    if directory:
        binary = Path(directory) / f"k{release}" / "bin" / "kubeadm"
        if binary.exists():
            return binary
    done = subprocess.run([sys.executable, "-m", "lab", "kubeadm", release], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise OracleFailed(f"there is no kubeadm {release}: python3 -m lab kubeadm {release} failed; its messages are above")
    return Path(done.stdout.strip().splitlines()[-1])


@functools.cache
def digest(binary: Path) -> str:
    """What the stored results of a binary are filed under."""
    return hashlib.sha256(binary.read_bytes()).hexdigest()


def run_kubeadm(binary: Path, root: Path, *words: str) -> str:
    """Run kubeadm with root as its whole file system, so that it finds and writes /etc/kubernetes there."""
    # chroot(2) wants root; anybody else gets it in a user namespace.
    prefix = [] if os.geteuid() == 0 else ["unshare", "--map-root-user"]
    command = [*prefix, str(binary), *words, "--rootfs", str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, umask=0o022, env={"PATH": os.environ["PATH"]})
    if done.returncode:
        raise OracleFailed(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def configured(root: Path, document: str) -> Iterator[str]:
    """Lay the document into root for as long as kubeadm runs; its path as kubeadm sees it."""
    config = root / DOCUMENT
    config.write_text(document, encoding="utf-8")
    try:
        yield f"/{DOCUMENT}"
    finally:
        config.unlink()


def render_phases(binary: Path, root: Path, document: str) -> None:
    """Let kubeadm run its certs and kubeconfig phases over root."""
    with configured(root, document) as config:
        run_kubeadm(binary, root, "init", "phase", "certs", "all", "--config", config)
        run_kubeadm(binary, root, "init", "phase", "kubeconfig", "all", "--config", config)


def render_user(binary: Path, root: Path, document: str, user: User) -> str:
    """What kubeadm prints as the kubeconfig of an additional user."""
    words = ["--client-name", user.name]
    words += ["--org", ",".join(user.organisations)] if user.organisations else []
    words += ["--validity-period", f"{user.hours}h"] if user.hours else []
    with configured(root, document) as config:
        printed = run_kubeadm(binary, root, "kubeconfig", "user", *words, "--config", config)
    # Warnings may come first, and the command ends the file that it prints with one more newline.
    return printed[printed.index("apiVersion: ") :].removesuffix("\n")


def check_expiration(binary: Path, root: Path, document: str) -> str:
    """The table that kubeadm prints of a tree that it takes for its own."""
    with configured(root, document) as config:
        return run_kubeadm(binary, root, "certs", "check-expiration", "--config", config, "--cert-dir", f"/{certificates_dir(document)}")


def users_of(case: Case) -> tuple[User, ...]:
    """The additional users of a case; without the CA's key nobody can sign for one."""
    return () if case.given == "external-ca" else USERS


def render_into(home: Path, binary: Path, case: Case, release: str) -> None:
    """Render a case into home: what was given, what kubeadm made of it, and when."""
    given, tree = home / "given", home / "tree"
    document = case.document(release)
    given.mkdir()
    prepare(case.given, given, document, functools.partial(render_phases, binary))
    shutil.copytree(given, tree, dirs_exist_ok=True)
    (tree / "etc").mkdir(exist_ok=True)
    started = time.time()
    render_phases(binary, tree, document)
    for user in users_of(case):
        (tree / user.file).write_text(render_user(binary, tree, document, user), encoding="utf-8")
        (tree / user.file).chmod(0o600)
    (home / "times.json").write_text(json.dumps([started, time.time()]), encoding="utf-8")


def stored(home: Path) -> Rendering | None:
    """A result of an earlier run, unless it is missing or old."""
    times = home / "times.json"
    if not times.exists():
        return None
    started, ended = json.loads(times.read_text(encoding="utf-8"))
    if not 0 <= time.time() - started < KEPT_FOR:
        return None
    return Rendering(home / "tree", home / "given", started, ended)


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Let one worker or checkout at a time render a case."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def rendered(case: Case, release: str) -> Rendering:
    """kubeadm's rendering of a case, made now or in an earlier run; treat it as read-only."""
    binary = kubeadm(release)
    filed_under = "\n".join((str(LAYOUT), digest(binary), case.given, case.document(release)))
    home = cache_root() / "parity" / hashlib.sha256(filed_under.encode()).hexdigest()[:32]
    with lock(home.with_suffix(".lock")):
        found = stored(home)
        if found is None:
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir()
            render_into(home, binary, case, release)
            found = stored(home)
    if found is None:
        raise OracleFailed(f"the rendering of {case.name} with {release} vanished from {home}")
    return found
