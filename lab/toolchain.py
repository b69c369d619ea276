# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Go that builds: the one on the machine when it is new enough, else one from the module proxy."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from lab.cache import Artifact, Store
from lab.command import run
from lab.debian import install
from lab.errors import LabError
from lab.recipes import GO_FETCHED, GO_MINIMUM

# Where Go's own archive and distributions put it; sudo often takes these off the PATH.
USUAL_PLACES = ("/usr/local/go/bin/go", "/usr/lib/go/bin/go")


@dataclass(frozen=True)
class Go:
    """A go command and its version."""

    command: str
    version: str


def version_tuple(text: str) -> tuple[int, int, int]:
    """Read 'go version go1.26.8 linux/amd64' as numbers; a release candidate counts as its release."""
    found = re.search(r"go(\d+)\.(\d+)(?:\.(\d+))?", text)
    if found is None:
        return (0, 0, 0)
    return (int(found[1]), int(found[2]), int(found[3] or 0))


def find(store: Store) -> Go | None:
    """Look for a Go that is new enough, without installing anything."""
    fetched = store.path(_fetched(""))
    for command in (shutil.which("go"), *USUAL_PLACES, str(fetched / "go" / "bin" / "go")):
        if command is not None and Path(command).is_file():
            # GOTOOLCHAIN=local: what counts is this Go, not one that it would fetch.
            said = run([command, "version"], env={"GOTOOLCHAIN": "local", "GOROOT": ""})
            if version_tuple(said) >= GO_MINIMUM:
                return Go(command, ".".join(str(part) for part in version_tuple(said)))
    return None


def ensure(store: Store) -> Go:
    """Find a Go, or fetch one with the distribution's."""
    there = find(store)
    if there is not None:
        return there
    old = shutil.which("go")
    if old is None:
        install({"go": "golang-go"})
        old = shutil.which("go")
    if old is None:
        raise LabError("there is no go command, and the distribution's golang-go did not bring one")
    place = store.ensure(_fetched(old))
    return Go(str(place / "go" / "bin" / "go"), GO_FETCHED)


def _fetched(go: str) -> Artifact:
    """Describe the toolchain that the module proxy serves as a module."""

    def make(target: Path) -> None:
        module = f"golang.org/toolchain@v0.0.1-go{GO_FETCHED}.linux-{architecture()}"
        # In a module cache of its own, which can be taken apart afterwards.
        modules = target / "modules"
        apart = {"GOMODCACHE": str(modules), "GOFLAGS": "-modcacherw", "GO111MODULE": "on", "GOTOOLCHAIN": "local", "GOROOT": ""}
        said = run([go, "mod", "download", "-json", module], cwd=target, env=apart)
        Path(json.loads(said)["Dir"]).rename(target / "go")
        shutil.rmtree(modules)
        # A module archive carries no execute bits.
        for folder in ("bin", "pkg/tool"):
            for path in (target / "go" / folder).rglob("*"):
                path.chmod(0o755)

    return Artifact(f"go {GO_FETCHED}", {"architecture": architecture()}, make)


def architecture() -> str:
    """Name the machine's architecture as Go does."""
    machine = run(["uname", "-m"]).strip()
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)
