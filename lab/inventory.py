# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Ansible inventory of an instance."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path

from lab import offers
from lab.cache import Store
from lab.identity import client_key, ssh_options
from lab.instance import Instance, directory, write_whole
from lab.layout import CONTROL_PLANE, WORKER


def path(store: Store, instance: str) -> Path:
    """Say where an instance's inventory is."""
    return directory(store, instance) / "inventory.yml"


def write(store: Store, instance: Instance) -> Path:
    """Write the inventory and say where."""
    target = path(store, instance.name)
    key = str(client_key(store, instance.name))
    write_whole(target, render(instance, key, ssh_options(store, instance.name), offers.variables(store, instance)))
    return target


def render(instance: Instance, key: str, options: list[str], variables: Mapping[str, object] | None = None) -> str:
    """Spell the inventory; a JSON string is a YAML string, so quoting needs no library."""
    lines = [
        f"# Lab instance {instance.name}, Kubernetes {instance.release}; written by `python3 -m lab up`.",
        "all:",
        "  vars:",
        "    ansible_user: root",
        "    ansible_python_interpreter: /usr/bin/python3",
        f"    ansible_ssh_private_key_file: {json.dumps(key)}",
        f"    ansible_ssh_common_args: {json.dumps(shlex.join(options))}",
        f"    lab_instance: {json.dumps(instance.name)}",
        f"    lab_kubernetes_version: {json.dumps(instance.release)}",
        *(f"    {name}: {json.dumps(value)}" for name, value in (variables or {}).items()),
        "  children:",
    ]
    for role in (CONTROL_PLANE, WORKER):
        members = [node for node in instance.nodes if node.role == role]
        lines += [f"    {role}:", "      hosts:" if members else "      hosts: {}"]
        for node in members:
            lines += [f"        {node.name}:", f"          ansible_host: {node.address}"]
    return "\n".join(lines) + "\n"
