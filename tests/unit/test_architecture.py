# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who may import whom: the table of the house, read from the imports of every file."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

UTILS = Path(__file__).resolve().parents[2] / "plugins" / "module_utils"
PREFIX = "ansible_collections.kubephase.cluster.plugins.module_utils."

DOMAIN = {"_plan", "_config", "_release"}
# The rooms of phases and looks that the survey runs.
SURVEYED = {
    "_addons",
    "_certs_upload",
    "_guard",
    "_kubeconfig",
    "_kubelet",
    "_manifests",
    "_node_settings",
    "_pki",
    "_serving",
    "_tokens",
    "_upload_config",
    "_wait",
}

# Room: the rooms it may import, and the libraries beyond the standard one.
ALLOWED: dict[str, tuple[set[str], set[str]]] = {
    "_plan": (set(), set()),
    "_release": (set(), set()),
    "_config": ({"_release"}, set()),
    "_pki": ({"_plan", "_config", "_release"}, {"cryptography"}),
    "_kubeconfig": ({"_plan", "_config", "_release", "_pki"}, {"yaml"}),
    "_manifests": (DOMAIN, {"yaml"}),
    "_kubelet": (DOMAIN | {"_kubeconfig", "_manifests", "_objects"}, {"yaml"}),
    "_preflight": (DOMAIN | {"_manifests", "_kubeconfig", "_certs_upload"}, {"yaml"}),
    "_objects": (DOMAIN, {"yaml"}),
    "_upload_config": (DOMAIN | {"_objects", "_kubelet"}, {"yaml"}),
    "_tokens": (DOMAIN | {"_objects", "_kubeconfig"}, {"yaml"}),
    "_discovery": (DOMAIN | {"_kubeconfig", "_tokens"}, {"yaml"}),
    "_certs_upload": (DOMAIN | {"_objects", "_tokens"}, {"cryptography"}),
    "_serving": (DOMAIN | {"_objects", "_pki", "_kubelet"}, {"cryptography"}),
    "_addons": (DOMAIN | {"_objects", "_manifests"}, {"yaml"}),
    "_guard": (DOMAIN | {"_certs_upload", "_kubeconfig", "_objects"}, {"yaml"}),
    "_etcd": (DOMAIN | {"_manifests"}, set()),
    "_wait": (DOMAIN | {"_manifests"}, set()),
    "_prepare": (DOMAIN | {"_preflight", "_kubelet"}, set()),
    "_node_settings": (DOMAIN | {"_objects"}, set()),
    "_verify": (DOMAIN | {"_objects"}, set()),
    "_info": (DOMAIN | {"_pki", "_kubeconfig", "_kubelet", "_manifests", "_etcd", "_objects", "_tokens", "_wait"}, set()),
    "_survey": (DOMAIN | SURVEYED | {"_runner"}, set()),
    "_adapters": ({"_plan"}, {"cryptography", "kubernetes", "yaml"}),
    "_runner": ({"_plan", "_config", "_release", "_adapters"}, {"ansible"}),
}

# Libraries that only one file of a room may import, because others of the room are sent where they are not needed.
ONLY_IN = {("_runner", "ansible"): {"module.py"}}

# The pure rooms take time, randomness and the outside world as arguments.
PURE = set(ALLOWED) - {"_adapters", "_runner"}
EFFECTS = {"os", "subprocess", "socket", "random", "secrets", "tempfile", "shutil", "time", "pathlib", "glob", "http", "ftplib", "smtplib"}
EFFECTFUL_CALLS = {"open", "print", "input", "exec", "eval", "now", "utcnow", "today"}


def imports(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} if node.module + "." == PREFIX else {node.module}
    return found


def violations(room: str, file: str, source: str) -> list[str]:
    """Every edge and effect in a file that the table does not allow."""
    rooms, libraries = ALLOWED[room]
    tree = ast.parse(source)
    found = []
    for name in sorted(imports(tree)):
        if name.startswith(PREFIX):
            target = name[len(PREFIX) :].partition(".")[0]
            if target != room and target not in rooms:
                found.append(f"{room}/{file} imports {target}")
            continue
        library = name.partition(".")[0]
        if library in sys.stdlib_module_names:
            if room in PURE and library in EFFECTS:
                found.append(f"{room}/{file} imports {library}, which reaches outside")
        elif library not in libraries or file not in ONLY_IN.get((room, library), {file}):
            found.append(f"{room}/{file} imports {library}")
    if room in PURE:
        found += [f"{room}/{file} calls {called}()" for called in effectful_calls(tree)]
    return found


def effectful_calls(tree: ast.AST) -> list[str]:
    """Calls that reach outside; through the world that a phase is handed they are allowed."""
    called = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [name for name in called if name.rpartition(".")[2] in EFFECTFUL_CALLS and not name.startswith("world.")]


def test_every_room_is_in_the_table() -> None:
    rooms = {path.name for path in UTILS.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms == set(ALLOWED)


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_no_edge_that_the_table_does_not_allow(room: str) -> None:
    files = sorted((UTILS / room).rglob("*.py"))
    assert files
    assert [line for path in files for line in violations(room, path.name, path.read_text())] == []


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("_pki", f"from {PREFIX}_runner.module import run"),
        ("_pki", f"from {PREFIX}_adapters import files"),
        ("_survey", f"from {PREFIX}_adapters.files import Files"),
        ("_runner", f"def table():\n    from {PREFIX}_survey import worker"),
        ("_config", f"from {PREFIX}_pki.table import rows"),
        ("_config", "import yaml"),
        ("_release", "import yaml"),
        ("_kubeconfig", "import cryptography"),
        ("_runner", f"from {PREFIX}_pki.certs import CertsPhase"),
        ("_runner", "from ansible.module_utils.basic import AnsibleModule"),
        ("_pki", "import time"),
        ("_pki", "open('/etc/passwd')"),
        ("_plan", "from datetime import datetime\ndatetime.now()"),
        ("_adapters", f"from {PREFIX}_config.resolve import resolve"),
    ],
)
def test_a_planted_violation_is_seen(room: str, source: str) -> None:
    assert violations(room, "planted.py", source)


# What finds the code cannot be part of it.
THICKER = {"with_kept_code.py": 110}


def test_modules_stay_thin() -> None:
    for path in sorted((UTILS.parent / "modules").glob("*.py")):
        tree = ast.parse(path.read_text())
        code = [node for node in tree.body if not isinstance(node, (ast.Assign, ast.Expr, ast.ImportFrom, ast.Import))]
        lines = sum((node.end_lineno or 0) - node.lineno + 1 for node in code)
        assert lines <= THICKER.get(path.name, 60), f"{path.name} holds {lines} lines of code; logic belongs to module_utils"
