# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The container runtime, through crictl: what it is, which images and containers it has, and pulls."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket as sockets
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.containers import ContainerState, PullImages, RuntimeState

# What the kubelet's unit would find, which a shell that Ansible opens may lack.
_PLACES = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin"
_PASSWORD = re.compile(r"://[^/@\s]+@")
_LOGGED = re.compile(r'level=\w+ msg="(.*)"$')
_SHOWN = 300


class Cri:
    """One container runtime behind its socket."""

    applies = (PullImages,)

    def __init__(self, program: str = "") -> None:
        self._program = program or shutil.which("crictl", path=f"{os.environ.get('PATH', '')}:{_PLACES}") or ""

    def look(self, socket: str, config: bool = True) -> RuntimeState:
        """Ask a runtime what it is; config says whether to ask for its RuntimeConfig too, which costs a process."""
        endpoint = _endpoint(socket)
        problem = _connection_problem(endpoint)
        if problem or not self._program:
            return RuntimeState(self._program, problem)
        # Three processes that wait for the same server: together they take as long as one.
        with ThreadPoolExecutor(3) as pool:
            info, images = pool.submit(self._call, endpoint, "info"), pool.submit(self._call, endpoint, "images", "-o", "json")
            asked = pool.submit(self._call, endpoint, "runtime-config") if config else None
            about, tells, driver = _mapping(info.result().output), None, ""
            if asked is not None:
                tells, driver = _runtime_config(asked.result())
            listed = images.result()
        return RuntimeState(
            self._program,
            info.result().problem or _not_ready(about) or listed.problem,
            sandbox_image=str(_dig(about, "config", "sandboxImage") or ""),
            cgroup_driver=driver or _containerd_driver(about),
            tells_config=tells,
            images=_names(_mapping(listed.output)),
        )

    def containers(self, socket: str, component: str) -> tuple[ContainerState, ...]:
        """List the containers of a control plane component, the dead ones too, newest first."""
        label = f"io.kubernetes.container.name={component}"
        answer = self._call(_endpoint(socket), "ps", "-a", "--label", label, "-o", "json")
        if answer.problem:
            raise Unusable(socket, f"the containers cannot be listed: {answer.problem}", "See that the container runtime is running")
        found = [_container(each) for each in _dig(_mapping(answer.output), "containers") or () if isinstance(each, dict)]
        return tuple(sorted(found, key=lambda each: each.created, reverse=True))

    def version(self, socket: str) -> str:
        """Tell the runtime and its version, such as containerd 1.7.27."""
        answer = self._call(_endpoint(socket), "version")
        if answer.problem:
            raise Unusable(socket, f"the runtime does not tell its version: {answer.problem}", "See that the container runtime is running")
        said = {name.strip(): value.strip() for name, _colon, value in (line.partition(":") for line in answer.output.splitlines())}
        return f"{said.get('RuntimeName', '')} {said.get('RuntimeVersion', '')}".strip()

    def logs(self, socket: str, container: str, lines: int = 20) -> str:
        """Give a container's last lines; what cannot be read is no reason to hide the real problem."""
        answer = self._call(_endpoint(socket), "logs", "--tail", str(lines), container, both=True)
        return answer.output if not answer.problem else f"(no logs: {answer.problem})"

    def apply(self, action: Action) -> None:
        """Carry out one of the actions of ``applies``."""
        if isinstance(action, PullImages):
            self._pull(action)

    def _pull(self, action: PullImages) -> None:
        endpoint = _endpoint(action.socket)
        with ThreadPoolExecutor(1 if action.serial else max(1, len(action.images))) as pool:
            problems = list(pool.map(lambda image: self._pull_one(endpoint, image, action.tries), action.images))
        findings = tuple(
            Unusable(
                f"ImagePull {image}",
                problem,
                "See that the host reaches the registry (name resolution, proxy of the runtime, credentials), or load the image beforehand",
            )
            for image, problem in zip(action.images, problems)
            if problem
        )
        if findings and action.required:
            failed = {"name": "ImagePull", "severity": "error", "outcome": "failed", "fix": findings[0].fix}
            found = "; ".join(f"{each.where.partition(' ')[2]}: {each.found}" for each in findings)
            raise ManyUnusable(findings, {"checks": [*action.checks, {**failed, "found": found}]})

    def _pull_one(self, endpoint: str, image: str, tries: int) -> str:
        problem = ""
        for _try in range(tries):
            problem = self._call(endpoint, "pull", image, timeout=1800).problem
            if not problem:
                break
        return problem

    def _call(self, endpoint: str, *arguments: str, both: bool = False, timeout: int = 30) -> _Answer:
        if not self._program:
            return _Answer("", "crictl is not installed")
        command = [self._program, "--runtime-endpoint", endpoint, "--image-endpoint", endpoint, "--timeout", "10s", *arguments]
        try:
            done = subprocess.run(  # noqa: S603
                command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=timeout
            )
        except subprocess.TimeoutExpired:
            return _Answer("", f"no answer within {timeout} seconds")
        except OSError as error:
            return _Answer("", error.strerror or "crictl cannot be run")
        output, said = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        problem = _last_line(said) or f"crictl ended with {done.returncode}"
        return _Answer(output + said if both else output, problem if done.returncode else "")


class _Answer:
    """What crictl printed, and what went wrong."""

    def __init__(self, output: str, problem: str) -> None:
        self.output = output
        self.problem = problem


def _endpoint(socket: str) -> str:
    return f"unix://{socket}" if socket.startswith("/") else socket


def _connection_problem(endpoint: str) -> str:
    """Say why a socket of the file system cannot be connected to; crictl would take seconds to find out."""
    if not endpoint.startswith("unix://"):
        return ""
    path = endpoint[len("unix://") :]
    try:
        with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as attempt:
            attempt.settimeout(5)
            attempt.connect(path)
    except FileNotFoundError:
        return f"{path} does not exist"
    except ConnectionRefusedError:
        return f"nobody listens on {path}"
    except OSError as error:
        return f"{path} cannot be connected to: {error.strerror or error}"
    return ""


def _last_line(text: str) -> str:
    """The line that says what went wrong, out of crictl's log format; of a long one the end, where the cause is."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    logged = _LOGGED.search(lines[-1])
    line = _PASSWORD.sub("://***@", logged.group(1).replace('\\"', '"') if logged else lines[-1])
    return line if len(line) <= _SHOWN else f"…{line[-_SHOWN:]}"


def _mapping(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _dig(holder: Any, *keys: str) -> Any:
    for key in keys:
        if not isinstance(holder, dict):
            return None
        holder = holder.get(key)
    return holder


def _not_ready(about: Mapping[str, Any]) -> str:
    """Judge only RuntimeReady, as kubeadm does: the network cannot be ready before there is a network plugin."""
    for condition in _dig(about, "status", "conditions") or ():
        if isinstance(condition, dict) and condition.get("type") == "RuntimeReady" and not condition.get("status"):
            details = f"{condition.get('reason') or 'no reason given'}, {condition.get('message') or 'no message'}"
            return f"its condition RuntimeReady is not true: {details}"[:_SHOWN]
    return ""


def _runtime_config(answer: _Answer) -> tuple[bool | None, str]:
    if answer.problem:
        # An old crictl has no such command, and then nothing is known.
        return (False if "Unimplemented" in answer.problem else None), ""
    driver = _dig(_mapping(answer.output), "linux", "cgroupDriver")
    # Numbers are the protocol's: crictl versions differ in how they print them.
    return True, {"SYSTEMD": "systemd", "0": "systemd", "CGROUPFS": "cgroupfs", "1": "cgroupfs"}.get(str(driver).upper(), "")


def _containerd_driver(about: Mapping[str, Any]) -> str:
    """Read containerd's setting for the runtime that pods get; other runtimes do not show theirs."""
    containerd = _dig(about, "config", "containerd")
    runtime = _dig(containerd, "runtimes", str(_dig(containerd, "defaultRuntimeName")))
    if not isinstance(runtime, dict) or runtime.get("runtimeType") != "io.containerd.runc.v2":
        return ""
    return "systemd" if _dig(runtime, "options", "SystemdCgroup") else "cgroupfs"


def _names(listed: Mapping[str, Any]) -> tuple[str, ...]:
    images = [each for each in _dig(listed, "images") or () if isinstance(each, dict)]
    return tuple(str(name) for each in images for kind in ("repoTags", "repoDigests") for name in each.get(kind) or ())


def _container(listed: Mapping[str, Any]) -> ContainerState:
    return ContainerState(
        identity=str(listed.get("id", "")),
        name=str(_dig(listed, "metadata", "name") or ""),
        state=str(listed.get("state", "")).replace("CONTAINER_", "").lower(),
        attempt=int(_dig(listed, "metadata", "attempt") or 0),
        created=int(listed.get("createdAt") or 0),
        pod=str(_dig(listed, "labels", "io.kubernetes.pod.name") or ""),
    )
