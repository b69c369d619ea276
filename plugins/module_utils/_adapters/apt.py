# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""apt: patient with others who hold its lock, never asking, and explained where it fails."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.programs import last_words_of, run_to_end
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.packages import InstallPackages, PackageState

_LOCK_SECONDS = 300
_SECONDS = 1800
_QUIET = {"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_MODE": "l", "APT_LISTCHANGES_FRONTEND": "none"}
_OPTIONS = (
    "-q",
    "-y",
    "-o",
    f"DPkg::Lock::Timeout={_LOCK_SECONDS}",
    "-o",
    "Dpkg::Options::=--force-confdef",
    "-o",
    "Dpkg::Options::=--force-confold",
    "-o",
    "Acquire::Retries=2",
    "-o",
    "Acquire::http::Timeout=20",
    "-o",
    "Acquire::https::Timeout=20",
)
# With these apt knows of no repository, and so fetches nothing.
_ALONE = ("-o", "Dir::Etc::SourceList=/dev/null", "-o", "Dir::Etc::SourceParts=/dev/null")
_CHANGED = ("--allow-downgrades", "--allow-change-held-packages")
_TELLING = re.compile(r"(?:E|W|Err):?[0-9]* ?.*")


def installed(names: Iterable[str]) -> dict[str, PackageState]:
    """Ask dpkg, in one process; packages that it does not know are left out."""
    form = "${Package}\t${Version}\t${db:Status-Status}\t${db:Status-Want}\n"
    found = {}
    for line in run_to_end("dpkg-query", "--show", "--showformat", form, *names).stdout.splitlines():
        name, version, status, want = [*line.split("\t"), "", "", ""][:4]
        if status == "installed":
            found[name] = PackageState(version, held=want == "hold")
    return found


def install(action: InstallPackages) -> None:
    """Refresh the lists, then install; a repository that does not answer is told apart from a version that it lacks."""
    updated = _apt("update")
    troubles = [line for line in _telling(updated) if action.repository and action.repository.rstrip("/") in line]
    if troubles:
        raise Unusable(
            action.repository,
            f"the repository does not answer as one: {'; '.join(troubles)[:600]}",
            "See that the host reaches it and trusts its key (kubephase_package_repository, kubephase_package_key), and run again",
        )
    wanted = [f"{name}={action.versions[name]}" if name in action.versions else name for name in action.packages]
    done = _apt("install", "--no-install-recommends", *_CHANGED, *wanted)
    if done.returncode:
        raise _explained(done, updated, action)


def install_files(paths: Sequence[str]) -> None:
    """Install package files together, in the order that their dependencies ask for."""
    done = _apt(*_ALONE, "install", "--no-install-recommends", *paths)
    if done.returncode:
        fix = "Add the packages that it names to the directory debs of the bundle, or install them beforehand"
        raise _common(done) or Unusable("packages of the bundle", _said(done), fix)


def hold(packages: Sequence[str]) -> None:
    """Mark packages as held."""
    done = run_to_end("apt-mark", "hold", *packages)
    if done.returncode:
        raise Unusable(f"apt-mark hold {' '.join(packages)}", last_words_of(done), "Mend what it names, and run again")


def _apt(*words: str) -> subprocess.CompletedProcess[str]:
    return run_to_end("apt-get", *_OPTIONS, *words, seconds=_SECONDS, environment=_QUIET)


def _explained(done: subprocess.CompletedProcess[str], updated: subprocess.CompletedProcess[str], action: InstallPackages) -> Unusable:
    said = _said(done)
    for name, version in action.versions.items():
        if f"for '{name}' was not found" in said or f"Unable to locate package {name}" in said:
            there = _offered(name)
            return Unusable(
                f"{name} {version}",
                f"{action.repository or 'no repository of this host'} does not have it; {'there are ' + there if there else 'it has none'}",
                "Set kubernetesVersion to one that is there, or name another repository (kubephase_package_repository)",
            )
    common = _common(done)
    if common is not None:
        return common
    if updated.returncode:
        said = f"{said}; before, apt-get update said: {_said(updated)}"
    return Unusable("apt-get install", said, "Mend what it names (apt-get install on the host says more), and run again")


def _common(done: subprocess.CompletedProcess[str]) -> Unusable | None:
    said = f"{done.stderr}\n{done.stdout}".lower()
    if "no space left" in said or "enough free space" in said:
        return Unusable("apt-get install", f"there is no space: {_said(done)}", "Free some space (apt-get clean), and run again")
    if "could not get lock" in said or "unable to acquire the dpkg" in said:
        found = f"another program has held the lock of the packages for {_LOCK_SECONDS} s: {_said(done)}"
        return Unusable("apt-get install", found, "Let it end (an automatic upgrade?), and run again")
    if "dpkg was interrupted" in said:
        return Unusable("dpkg", "it was interrupted before", "Run dpkg --configure -a on the host, and run again")
    return None


def _offered(name: str) -> str:
    rows = [line.split("|") for line in run_to_end("apt-cache", "madison", name).stdout.splitlines()]
    return ", ".join(dict.fromkeys(row[1].strip() for row in rows if len(row) > 1))[:200]


def _telling(done: subprocess.CompletedProcess[str]) -> list[str]:
    lines = f"{done.stdout}\n{done.stderr}".splitlines()
    return list(dict.fromkeys(line.strip() for line in lines if _TELLING.fullmatch(line.strip())))


def _said(done: subprocess.CompletedProcess[str]) -> str:
    return "; ".join(line for line in _telling(done) if line.startswith("E"))[-600:] or last_words_of(done)
