#!/usr/bin/python
# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a module of the collection with code that an earlier call left on the host. The controller fills in the arguments."""

from __future__ import annotations

DOCUMENTATION = r"""
module: with_kept_code
short_description: Run a module of this collection with code that the host keeps
version_added: 0.1.0
description:
  - How the other modules of this collection reach a host; not for use in a playbook.
  - Looks for the code in a directory of root's own below C(/run), lays it there if it came along, and runs the module from it.
author:
  - The kubephase authors (@kubephase)
options:
  kept_code:
    description: The module to run, the digest of the code, and the code itself for a host that lacks it.
    type: dict
    required: true
attributes:
  check_mode:
    description: Can run in check mode and tell what would change.
    support: full
  diff_mode:
    description: Can tell the differences.
    support: full
"""

EXAMPLES = r"""
# The other modules use it by themselves.
- kubephase.cluster.pki_cert:
"""

RETURN = r"""
kept_code_missing:
  description: The host has no such code and none came along; otherwise the result is that of the module which was run.
  returned: when there is no code
  type: bool
  sample: true
"""

import importlib
import json
import os
import socket
import stat
import sys
import time
from typing import Any

# Gone with the next boot, and nobody but root may look into it.
HOME = "/run/kubephase"
UNUSED_SECONDS = 3600
# These change what others run with; nobody who has loaded it before may outlive them.
APART = ("prepare_plan", "host_setup", "container_runtime", "node_packages")
STANDBY = "ansible_collections.kubephase.cluster.plugins.module_utils._runner.standby"
REFUSAL = "with_kept_code is how the other modules of this collection reach a host; name one of those in a task"
ARGUMENTS = r"""<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>"""


def trusted(place: str) -> bool:
    """Tell whether nobody but root can have written a directory."""
    found = os.lstat(place)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == 0 and not found.st_mode & 0o022


def lay(place: str, archive: str) -> None:
    """Put the code into its place in one step, and sweep what older versions left."""
    base64, shutil, tempfile, zlib = (importlib.import_module(name) for name in ("base64", "shutil", "tempfile", "zlib"))
    os.makedirs(HOME, mode=0o700, exist_ok=True)
    if not trusted(HOME):
        return
    for name in os.listdir(HOME):
        other = os.path.join(HOME, name)
        if os.lstat(other).st_mtime < time.time() - UNUSED_SECONDS:
            shutil.rmtree(other, ignore_errors=True)
    staged = tempfile.mkdtemp(dir=HOME)
    for name, text in json.loads(zlib.decompress(base64.b64decode(archive))).items():
        path = os.path.join(staged, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    try:
        os.rename(staged, place)
    except OSError:
        # Somebody else was faster; the name says that the content is the same.
        shutil.rmtree(staged, ignore_errors=True)


def run(place: str, module: str, arguments: dict[str, Any], stays: bool) -> int:
    """Run the module in a process that stands by, or in this one, which then leaves one behind if it may."""
    path = os.path.join(place, "standby")
    os.utime(place)
    if module in APART:
        forget(path)
    else:
        code = handed_over(path, module, arguments)
        if code is not None:
            return code
    sys.path.insert(0, place)
    standby: Any = importlib.import_module(STANDBY)
    if stays and module not in APART:
        standby.leave_behind(path, module, arguments)
    standby.call(module, arguments)
    return 0


def handed_over(path: str, module: str, arguments: dict[str, Any]) -> int | None:
    """Have the process that stands by run the module, with the streams of this one; None when it has not."""
    mask = os.umask(0o077)
    os.umask(mask)
    surroundings = {"environment": dict(os.environ), "directory": os.getcwd(), "umask": mask}
    request = json.dumps({"module": module, "arguments": arguments, **surroundings}).encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(path)
            socket.send_fds(connection, [len(request).to_bytes(8, "big")], [0, 1, 2])
            connection.sendall(request)
            taken = connection.recv(1)
        except OSError:
            return None
        if not taken:
            return None
        # Once it was taken nobody else may run it: an end without an exit code is that of a killed module.
        code = connection.recv(1)
        return code[0] if code else 1


def forget(path: str) -> None:
    """Let nobody find who stands by, if anybody does."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def say(result: dict[str, Any]) -> None:
    """Give a result to the controller."""
    sys.stdout.write(json.dumps(result))


def refuse() -> None:
    """Say that this is no module for a task, as a module would."""
    spec = {"kept_code": {"type": "dict", "required": True}}
    importlib.import_module("ansible.module_utils.basic").AnsibleModule(argument_spec=spec, supports_check_mode=True).fail_json(msg=REFUSAL)


def taken() -> Any:
    """Give what the controller filled in, and let go of the text: a process that is left behind has no use for it."""
    global ARGUMENTS
    text, ARGUMENTS = ARGUMENTS, ""
    return json.loads(text)


def main() -> None:
    """Find or lay the code, then run; without code say so."""
    if not ARGUMENTS.startswith("{"):
        return refuse()
    arguments = taken()
    wanted = arguments.pop("kept_code", None)
    if not isinstance(wanted, dict) or not {"module", "digest"} <= set(wanted):
        return say({"failed": True, "msg": REFUSAL})
    place, archive = os.path.join(HOME, wanted["digest"]), wanted.pop("archive", None)
    if archive and os.geteuid() == 0 and not os.path.isdir(place):
        lay(place, archive)
    if not (os.path.isdir(place) and trusted(HOME) and trusted(place)):
        return say({"changed": False, "kept_code_missing": True})
    raise SystemExit(run(place, wanted["module"], arguments, bool(wanted.get("stays"))))


if __name__ == "__main__":
    main()
