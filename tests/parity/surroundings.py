# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What surrounds a rendering of manifests: directories of the host, patches on it, proxy variables of the shell."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from ansible_collections.kubephase.cluster.tests.parity.cases import Case

PATCHES = Path(__file__).parent / "patches"
PATCHES_DIRECTORY = re.compile(r"^patches:\n  directory: (\S+)$", re.MULTILINE)

DIRECTORIES = {
    "host-paths": (
        "etc/pki/ca-trust",
        "etc/pki/tls/certs",
        "etc/ca-certificates",
        "usr/share/ca-certificates",
        "usr/local/share/ca-certificates",
    ),
    "external-etcd": ("usr/share/ca-certificates",),
}
PROXIES: Mapping[str, Mapping[str, str]] = {
    "proxy-env": {
        "HTTPS_PROXY": "http://proxy.example.test:3128",
        "no_proxy": "10.0.0.0/8,.svc",
        "Ftp_Proxy": "",
        "http_proxy": "http://p",
    },
    "extra-envs": {"HTTPS_PROXY": "http://proxy.example.test:3128"},
}


def surround(case: Case, root: Path) -> None:
    """Put into a root what the manifests of a case depend on."""
    for path in (*DIRECTORIES.get(case.name, ()), "var/lib", "srv"):
        (root / path).mkdir(parents=True, exist_ok=True)
    directory = PATCHES_DIRECTORY.search(case.text)
    if directory:
        shutil.copytree(PATCHES / case.name, root / directory[1].strip("/"), dirs_exist_ok=True)


def proxies(case: str) -> Mapping[str, str]:
    """The proxy variables that a case is rendered with."""
    return PROXIES.get(case, {})
