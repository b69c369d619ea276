# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of the modules that prepare a host; the survey takes those of all of them."""

from __future__ import annotations

from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.bundle_images import PART as IMAGES
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.host_setup import AUTO, IGNORE, KEEP, LIST, OFF, OPEN
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.node_packages import PART as PACKAGES
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.node_packages import SOURCES

PACKAGE_OPTIONS: dict[str, Any] = {
    "source": {"type": "str", "choices": list(SOURCES), "default": "auto"},
    "repository": {"type": "str"},
    # Public, and yet its name makes Ansible wonder.
    "repository_key": {"type": "str", "no_log": False},
    "repository_suite": {"type": "str", "default": "/"},
    "repository_components": {"type": "list", "elements": "str", "default": []},
    "bundle": {"type": "str"},
    "bundle_list": {"type": "str"},
    "staged": {"type": "str"},
}
PARTS: dict[str, Any] = {"parts": {"type": "list", "elements": "str", "choices": [PACKAGES, IMAGES], "default": [PACKAGES]}}
HOST_OPTIONS: dict[str, Any] = {
    "swap": {"type": "str", "choices": [AUTO, OFF, KEEP], "default": AUTO},
    "firewall": {"type": "str", "choices": [LIST, OPEN, IGNORE], "default": LIST},
    "extra_ports": {"type": "list", "elements": "str", "default": []},
}
RUNTIME_OPTIONS: dict[str, Any] = {
    "replace": {"type": "bool", "default": False},
    "registry_mirrors": {"type": "dict"},
    "registry_credentials": {"type": "dict", "no_log": True},
    # The address of a proxy may carry a password.
    "proxy_env": {"type": "dict", "no_log": True},
    "settings": {"type": "dict"},
}
