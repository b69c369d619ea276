# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filters of the report in a real play: what hosts tell is never taken for a template."""

from __future__ import annotations

import json
from pathlib import Path

from integration.play import play
from unit.report.reported import WELL, info, node, plan

TEMPLATE = "{{ 40 + 2 }}"
GATHERED = "2026-11-16T12:00:00Z"
TASKS = [
    {
        "ansible.builtin.set_fact": {
            "kubephase_report_info": "{{ lookup('ansible.builtin.file', inventory_hostname ~ '-info.json') | from_json }}",
            "kubephase_report_plan": "{{ lookup('ansible.builtin.file', inventory_hostname ~ '-plan.json') | from_json }}",
        }
    },
    {
        "ansible.builtin.set_fact": {
            "found": "{{ hostvars | kubephase.cluster.report_data(ansible_play_hosts_all, '" + GATHERED + "') }}",
        },
        "run_once": True,
    },
    {
        "ansible.builtin.copy": {
            "content": "{{ found | kubephase.cluster.report_page }}",
            "dest": "{{ playbook_dir }}/page.html",
            "mode": "0644",
        },
        "run_once": True,
    },
    {
        "ansible.builtin.copy": {"content": "{{ found | to_nice_json }}", "dest": "{{ playbook_dir }}/data.json", "mode": "0644"},
        "run_once": True,
    },
]


def test_a_template_in_a_label_is_a_text(tmp_path: Path) -> None:
    evil = node("cp1", "control-plane")
    evil["labels"][TEMPLATE] = TEMPLATE
    told = {"cp1": (info("cp1", nodes=[evil, node("worker1")]), plan()), "worker1": (WELL[1]["info"], WELL[1]["plan"])}
    for name, (found, planned) in told.items():
        (tmp_path / f"{name}-info.json").write_text(json.dumps(found))
        (tmp_path / f"{name}-plan.json").write_text(json.dumps(planned))
    done = play(tmp_path, TASKS, hosts={"cp1": {}, "worker1": {}})
    assert done.code == 0, done.output
    written = (tmp_path / "page.html").read_text()
    assert f"{TEMPLATE}={TEMPLATE}" in written
    data = json.loads((tmp_path / "data.json").read_text())
    assert data["nodes"][0]["labels"][TEMPLATE] == TEMPLATE
    assert data["concerns"] == []
