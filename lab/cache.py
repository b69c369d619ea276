# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything the lab makes, kept outside the checkout and keyed by what it was made from."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

DIGEST_CHARACTERS = 12


@dataclass(frozen=True)
class Artifact:
    """A directory that can be made again from its inputs at any time."""

    name: str
    inputs: Mapping[str, object]
    make: Callable[[Path], None] = field(compare=False)

    @property
    def digest(self) -> str:
        """Stand for everything that the artifact is made from."""
        return digest_of({"name": self.name, **self.inputs})

    @property
    def key(self) -> str:
        """Name the artifact's directory."""
        return f"{self.name.replace(' ', '-').replace('/', '-')}-{self.digest}"


def digest_of(inputs: Mapping[str, object]) -> str:
    """Turn inputs into a short key that changes whenever one of them does."""
    canonical = json.dumps(inputs, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:DIGEST_CHARACTERS]


def content_of(*paths: Path) -> str:
    """Digest files by content, so that an edited script or unit makes a new artifact."""
    total = hashlib.sha256()
    for path in paths:
        total.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def cache_root(environment: Mapping[str, str]) -> Path:
    """Find the place of the cache, as the environment says or as the desktop standard does."""
    if environment.get("KUBEPHASE_CACHE"):
        return Path(environment["KUBEPHASE_CACHE"]).absolute()
    base = environment.get("XDG_CACHE_HOME") or str(Path(environment.get("HOME", "/root")) / ".cache")
    return Path(base).absolute() / "kubephase"


class Store:
    """Artifacts, their locks and the scratch space of builds, under one root."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, artifact: Artifact) -> Path:
        """Say where the artifact is, or will be."""
        return self.root / "artifacts" / artifact.key

    def has(self, artifact: Artifact) -> bool:
        """A directory under its final name is whole: it got there by one rename."""
        return self.path(artifact).is_dir()

    def ensure(self, artifact: Artifact) -> Path:
        """Make the artifact unless it is there; two processes never make the same one at once."""
        final = self.path(artifact)
        if final.is_dir():
            return final
        with self.lock(artifact.key):
            if final.is_dir():
                return final
            for left in final.parent.glob(f"{final.name}.partial-*"):
                shutil.rmtree(left, ignore_errors=True)
            # Named after this process: a compiler that outlives its killed parent must not write into ours.
            partial = final.with_name(f"{final.name}.partial-{os.getpid()}")
            partial.mkdir(parents=True)
            artifact.make(partial)
            os.sync()
            partial.rename(final)
        return final

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Hold a lock that the kernel gives back when its holder dies."""
        place = self.root / "locks" / f"{name}.lock"
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def scratch(self, name: str) -> Path:
        """Give a directory for work that may be lost, kept so that a killed build goes on from it."""
        place = self.root / "work" / name
        place.mkdir(parents=True, exist_ok=True)
        return place

    def log(self, name: str) -> Path:
        """Say where the output of a build goes."""
        return self.root / "logs" / f"{name}.log"
