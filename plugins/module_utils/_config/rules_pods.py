# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rules for what goes into the pods of the control plane: arguments, environment, volumes, images."""

from __future__ import annotations

from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import (
    Arg,
    ClusterConfiguration,
    ControlPlaneComponent,
    EnvVar,
    HostPathMount,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._config.names import (
    is_absolute_path,
    is_image_repository,
    is_image_tag,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import Findings, did_you_mean, shown

_PATH_TYPES = ("", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice")


def check_pods(cluster: ClusterConfiguration, findings: Findings) -> None:
    """Judge everything that ends up in a static pod or an add-on."""
    path = "ClusterConfiguration"
    for name, component in (
        ("apiServer", cluster.api_server),
        ("controllerManager", cluster.controller_manager),
        ("scheduler", cluster.scheduler),
    ):
        _check_component(component, f"{path}.{name}", findings)
    if cluster.image_repository:
        check_repository(cluster.image_repository, f"{path}.imageRepository", findings)
    _check_image(cluster.dns.image_repository, cluster.dns.image_tag, f"{path}.dns", findings)
    if cluster.etcd.local is not None:
        local = cluster.etcd.local
        _check_image(local.image_repository, local.image_tag, f"{path}.etcd.local", findings)
        check_args(local.extra_args, f"{path}.etcd.local.extraArgs", findings)
        _check_envs(local.extra_envs, f"{path}.etcd.local.extraEnvs", findings)


def check_args(args: tuple[Arg, ...], path: str, findings: Findings) -> None:
    """Arguments need a bare name."""
    for index, arg in enumerate(args):
        place = f"{path}[{index}].name"
        if not arg.name:
            findings.problem(place, "nothing", "the name of an argument")
        elif arg.name.startswith("-"):
            # kubeadm puts its own dashes before the name, and the component would not start.
            findings.problem(place, shown(arg.name), "a name without dashes before it", f"Write {arg.name.lstrip('-')[:60]!r}.")
        elif "=" in arg.name or any(character.isspace() for character in arg.name):
            findings.problem(place, shown(arg.name), "a name without '=' and without spaces", "The value has a field of its own.")


def check_repository(repository: str, path: str, findings: Findings) -> None:
    """An image repository has to make a valid reference once an image's name is appended."""
    if not is_image_repository(repository):
        findings.problem(path, shown(repository), "an image repository such as registry.example.com/kubernetes, without a scheme")


def _check_image(repository: str, tag: str, path: str, findings: Findings) -> None:
    if repository:
        check_repository(repository, f"{path}.imageRepository", findings)
    if tag and not is_image_tag(tag):
        findings.problem(f"{path}.imageTag", shown(tag), "an image tag: letters, digits, '_', '.', '-', at most 128 characters")


def _check_component(component: ControlPlaneComponent, path: str, findings: Findings) -> None:
    check_args(component.extra_args, f"{path}.extraArgs", findings)
    _check_envs(component.extra_envs, f"{path}.extraEnvs", findings)
    _check_volumes(component.extra_volumes, f"{path}.extraVolumes", findings)


def _check_envs(envs: tuple[EnvVar, ...], path: str, findings: Findings) -> None:
    for index, env in enumerate(envs):
        place = f"{path}[{index}]"
        if not env.name:
            findings.problem(f"{place}.name", "nothing", "the name of an environment variable")
        elif "=" in env.name or "\0" in env.name:
            findings.problem(f"{place}.name", shown(env.name), "the name of an environment variable, without '='")
        if env.value_from is None:
            continue
        if env.value:
            findings.problem(f"{place}.valueFrom", "a reference beside a value", "either value or valueFrom")
        if len(env.value_from) != 1:
            findings.problem(f"{place}.valueFrom", f"{len(env.value_from)} references", "exactly one reference")
        for name in ("configMapKeyRef", "secretKeyRef"):
            if name in env.value_from:
                hint = "The kubelet refuses static pods that need API objects."
                findings.problem(f"{place}.valueFrom.{name}", "a reference to an API object", "fieldRef or resourceFieldRef", hint)


def _check_volumes(volumes: tuple[HostPathMount, ...], path: str, findings: Findings) -> None:
    names = set()
    for index, volume in enumerate(volumes):
        place = f"{path}[{index}]"
        if not volume.name:
            findings.problem(f"{place}.name", "nothing", "a name for the volume")
        elif volume.name in names:
            # kubeadm keeps only the last one without a word.
            findings.problem(f"{place}.name", shown(volume.name), "a name that no other volume of the list has")
        names.add(volume.name)
        for field, value in (("hostPath", volume.host_path), ("mountPath", volume.mount_path)):
            if not is_absolute_path(value):
                findings.problem(f"{place}.{field}", shown(value), "an absolute path")
        if volume.path_type not in _PATH_TYPES:
            hint = did_you_mean(volume.path_type, _PATH_TYPES)
            findings.problem(f"{place}.pathType", shown(volume.path_type), "one of " + ", ".join(_PATH_TYPES[1:]), hint)
