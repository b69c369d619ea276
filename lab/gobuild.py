# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Building programs from the Go module proxy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from lab.cache import Artifact, Store
from lab.command import run
from lab.gomod import build_arguments, render, staging_modules
from lab.recipes import Program
from lab.toolchain import Go, architecture


def program_artifact(store: Store, go: Go, program: Program) -> Artifact:
    """Describe a program as an artifact; its key covers module, flags, Go and architecture."""
    inputs = {
        "module": program.module,
        "version": program.version,
        "packages": list(program.packages),
        "arguments": list(build_arguments(program, "")),
        "go.mod": render(program, []),
        "cgo": program.cgo,
        "go": go.version,
        "architecture": architecture(),
    }

    def make(target: Path) -> None:
        work = store.scratch(f"{program.name}-{program.version}")
        staging: Sequence[str] = ()
        if program.kubernetes:
            staging = staging_modules((module_source(go, program) / "go.mod").read_text())
        (work / "go.mod").write_text(render(program, staging))
        (work / "go.sum").unlink(missing_ok=True)
        output = str(target) + "/" if len(program.packages) > 1 else str(target / program.name)
        log = store.log(f"{program.name}-{program.version}")
        run([go.command, *build_arguments(program, output)], cwd=work, env=environment(program), log=log)

    return Artifact(program.title, inputs, make)


def module_source(go: Go, program: Program) -> Path:
    """Fetch a module and say where its source is."""
    said = run([go.command, "mod", "download", "-json", f"{program.module}@v{program.version}"], cwd=Path("/"), env=environment(program))
    return Path(json.loads(said)["Dir"])


def environment(program: Program) -> dict[str, str]:
    """Say what the go command must not take from the caller's environment."""
    return {
        "GOTOOLCHAIN": "local",
        "GOROOT": "",
        "GOFLAGS": "",
        "GOWORK": "off",
        "GO111MODULE": "on",
        "CGO_ENABLED": "1" if program.cgo else "0",
    }
