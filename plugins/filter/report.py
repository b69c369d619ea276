# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of a cluster: what its hosts told as one piece of data, and that as a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_data import collected
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_page import page
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_time import moment

INFO = "kubephase_report_info"
PLAN = "kubephase_report_plan"


def report_data(hostvars: Mapping[str, Any], hosts: Sequence[str], generated: str) -> dict[str, Any]:
    """Gather what the hosts' tasks have registered."""
    if moment(generated) is None:
        raise AnsibleFilterError(f"report_data: {generated!r} is not a moment such as 2030-01-31T12:00:00Z")
    known = [(name, hostvars[name]) for name in hosts]
    return collected([{"name": name, "info": of.get(INFO), "plan": of.get(PLAN)} for name, of in known], generated)


def report_page(data: Any) -> str:
    """Draw the page."""
    if not isinstance(data, Mapping) or not {"generated", "cluster", "hosts", "concerns"} <= set(data):
        raise AnsibleFilterError("report_page: this is not what report_data gives")
    return page(data)


class FilterModule:
    """Make both known to Ansible."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name them."""
        return {"report_data": report_data, "report_page": report_page}
