# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of the container runtime."""

from __future__ import annotations


class ModuleDocFragment:
    """Shared options, written once."""

    DOCUMENTATION = r"""
options:
  replace:
    description:
      - Replace files that somebody else wrote or edited. A copy of C(config.toml) is kept beside it.
    type: bool
    default: false
  registry_mirrors:
    description:
      - Mirrors by the name of the registry, as a list of URLs, or as a dictionary with C(endpoints), C(ca) (a file on the host),
        C(skip_verify) and C(override_path). They are asked in this order, the registry itself last.
    type: dict
  registry_credentials:
    description:
      - Credentials by the name of the registry, as C(username) and C(password), or C(auth), or C(identity_token).
      - With any, C(config.toml) has the mode 0600.
    type: dict
  proxy_env:
    description:
      - Proxy variables (HTTP_PROXY, HTTPS_PROXY, NO_PROXY) that containerd pulls images with.
      - A password in them is kept out of results, and out of the eyes of others by the mode of the file; systemd shows the
        environment of its services to every user of the host all the same.
      - When not given, a file of them that was written before is removed.
    type: dict
  settings:
    description:
      - More settings for C(config.toml), as the tree of its tables; they win over those of the module.
    type: dict
"""
