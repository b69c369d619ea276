# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Small files around a container runtime: the proxy of its unit, and the settings of crictl."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.secrets import names_password

PROXY = "/etc/systemd/system/containerd.service.d/kubephase-proxy.conf"
CRICTL = "/etc/crictl.yaml"
_ENDPOINT = re.compile(r"(?m)^\s*(?:\"?)runtime-endpoint(?:\"?)\s*:\s*[\"']?([^\"'\s#]*)")


def proxy_unit(given: Mapping[str, Any] | None) -> str:
    """Write the part of the unit that hands proxy variables to the runtime; nothing when there are none."""
    lines = [f'Environment="{_escaped(f"{name}={value}")}"\n' for name, value in sorted((given or {}).items()) if value]
    return "[Service]\n" + "".join(lines) if lines else ""


def carries_secret(given: Mapping[str, Any] | None) -> bool:
    """Tell whether a proxy is used with a user and a password."""
    return any(names_password(value) for value in (given or {}).values())


def crictl_settings(address: str) -> str:
    """Write where crictl finds the runtime."""
    return f"runtime-endpoint: unix://{address}\nimage-endpoint: unix://{address}\n"


def crictl_endpoint(text: str) -> str:
    """Read where crictl looks for the runtime; nothing when the file does not say."""
    found = _ENDPOINT.search(text)
    path = found[1].partition("://")[2] or found[1] if found else ""
    return path[len("/var") :] if path.startswith("/var/run/") else path


def _escaped(text: str) -> str:
    """Quote for a unit file, where a percent sign begins a specifier."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
