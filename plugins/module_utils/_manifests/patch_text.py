# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The documents of a patch file, read strictly: a key twice is a slip, and a date is a text as in kubeadm."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable

try:
    import yaml
except ImportError:
    pass  # the runner says so before any of this is called

_TAG = "tag:yaml.org,2002:"
_FIX = "Mend the file and run again"
_NUMBERS = {
    f"{_TAG}int": re.compile(r"[-+]?(?:0|[1-9][0-9]*|0x[0-9a-fA-F]+|0[0-7]+|0b[01]+)\Z"),
    f"{_TAG}float": re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z"),
}


def documents(path: str, content: bytes) -> list[Any]:
    """Read every document that is not empty; the error names the line and quotes nothing."""
    try:
        return [each for each in yaml.load_all(content.decode(), Loader=_reader()) if each is not None]
    except UnicodeDecodeError:
        raise Unusable(path, "it is not UTF-8 text", "Write it as YAML or JSON") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{path}, line {mark.line + 1}" if mark else path
        raise Unusable(place, error.problem or "it is not valid YAML", _FIX) from None
    except (yaml.YAMLError, RecursionError, ValueError):
        raise Unusable(path, "it is not valid YAML", _FIX) from None


@lru_cache(maxsize=1)
def _reader() -> Any:
    base: Any = getattr(yaml, "CSafeLoader", None) or yaml.SafeLoader

    class Reader(base):  # type: ignore[misc]
        """Takes texts as keys, each once."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            own = [key for key, _value in node.value if key.tag != f"{_TAG}merge"]
            for place, key in enumerate(own):
                if not isinstance(key, yaml.ScalarNode):
                    raise yaml.constructor.ConstructorError(None, None, "a key is not a text", key.start_mark)
                if any(other.value == key.value for other in own[:place]):
                    raise yaml.constructor.ConstructorError(None, None, "a key is there for a second time", key.start_mark)
                key.tag = f"{_TAG}str"
            return super().construct_mapping(node, deep=True)

    dropped = {f"{_TAG}timestamp", *_NUMBERS}
    Reader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in dropped]
        for first, resolvers in base.yaml_implicit_resolvers.items()
    }
    for tag, pattern in _NUMBERS.items():
        Reader.add_implicit_resolver(tag, pattern, list("-+.0123456789"))
    return Reader
