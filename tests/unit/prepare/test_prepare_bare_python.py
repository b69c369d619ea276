# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The modules that bring the libraries of all others run without them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COLLECTIONS = Path(__file__).resolve().parents[3] / ".ansible" / "collections"
MODULES = ("prepare_plan", "node_packages", "host_setup", "container_runtime")
WITHOUT = """
import importlib, sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("yaml", "cryptography", "kubernetes"):
            raise ImportError(name)

sys.meta_path.insert(0, Without())
module = importlib.import_module("ansible_collections.kubephase.cluster.plugins.modules.%s")
module.make()
"""


@pytest.mark.parametrize("module", MODULES)
def test_a_host_with_nothing_but_python(module: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(COLLECTIONS), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", WITHOUT % module], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_means_of_this_test_would_notice() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(COLLECTIONS), os.environ.get("PYTHONPATH", "")])}
    text = WITHOUT.replace("plugins.modules.%s", "plugins.module_utils._adapters.files") + "\nimport yaml\n"
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
