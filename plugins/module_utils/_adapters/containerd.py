# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""containerd itself: its version, whose configuration it has, and its images through ctr."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.programs import last_words_of, run_to_end, which
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.offline import ImportImages

_VERSION = re.compile(r"(?:^|\s)v?([0-9]+\.[0-9]+\.[0-9]\S*)")
_PACKAGES = ("containerd", "containerd.io")
# The namespace in which the kubelet's images are.
_NAMESPACE = "k8s.io"
_IMPORT_SECONDS = 1800


class Containerd:
    """The containerd of the machine that the module runs on."""

    applies = (ImportImages,)

    def version(self) -> str:
        """Ask the program; nothing when there is none."""
        if not which("containerd"):
            return ""
        found = _VERSION.search(run_to_end("containerd", "--version").stdout)
        return found[1] if found else "unknown"

    def is_pristine(self, path: str, content: bytes) -> bool:
        """Tell whether a configuration is as a package brought it, or as containerd writes it by itself."""
        if which("dpkg-query"):
            listed = run_to_end("dpkg-query", "--show", "--showformat", "${Conffiles}\n", *_PACKAGES).stdout
            digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
            if [path, digest] in [line.split()[:2] for line in listed.splitlines()]:
                return True
        elif which("rpm"):
            # Silent about files that are as they were packed; it knows nothing of those that no package brought.
            owned = run_to_end("rpm", "--query", "--file", path)
            if not owned.returncode and not run_to_end("rpm", "--verify", "--nomtime", "--file", path).stdout.strip():
                return True
        return bool(which("containerd")) and content == run_to_end("containerd", "config", "default").stdout.encode()

    def images(self, address: str) -> tuple[str, ...] | None:
        """List the names of the images that are there; None while nobody answers."""
        if not which("ctr") or not os.path.exists(address):
            return None
        done = run_to_end("ctr", "--address", address, "--namespace", _NAMESPACE, "images", "list", "--quiet")
        return None if done.returncode else tuple(line.strip() for line in done.stdout.splitlines() if line.strip())

    def apply(self, action: Action) -> None:
        """Import archives one by one, and see in the end that every promised image is there."""
        if not isinstance(action, ImportImages):
            raise TypeError(type(action).__name__)
        for path, (name, _images) in action.archives.items():
            words = ("--address", action.address, "--namespace", _NAMESPACE, "images", "import", path)
            done = run_to_end("ctr", *words, seconds=_IMPORT_SECONDS)
            if done.returncode:
                raise Unusable(f"{name} of the bundle", f"it cannot be imported: {last_words_of(done)}", _mend(done.stderr))
            with suppress(OSError):
                os.unlink(path)
        there = set(self.images(action.address) or ())
        lacking = {name: [image for image in images if image not in there] for name, images in action.archives.values()}
        wrong = [
            Unusable(f"{name} of the bundle", f"it was imported, and lacks {', '.join(images)}, which bundle.json promises", _MEND)
            for name, images in lacking.items()
            if images
        ]
        if wrong:
            raise ManyUnusable(tuple(wrong))


_MEND = "Save the archive anew with all its images, correct its checksum in bundle.json, and run again"


def _mend(said: str) -> str:
    if "no space left" in said.lower():
        return "Free some space on the file system of containerd's root (/var/lib/containerd), and run again"
    return "See that containerd runs and that the file is a docker-archive or an OCI archive, and run again"
