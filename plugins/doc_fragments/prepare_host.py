# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of host set-up."""

from __future__ import annotations


class ModuleDocFragment:
    """Shared options, written once."""

    DOCUMENTATION = r"""
options:
  swap:
    description:
      - What to do about swap. V(auto) turns it off, now and in C(/etc/fstab), unless C(failSwapOn) of KubeletConfiguration is
        false; V(off) turns it off in any case, V(keep) never.
    type: str
    choices: [auto, "off", keep]
    default: auto
  firewall:
    description:
      - What to do about firewalld or ufw where it is active. V(list) warns with the ports that others must reach, V(open) opens
        them, V(ignore) does neither. The ports are in the result in any case.
    type: str
    choices: [list, open, ignore]
    default: list
  extra_ports:
    description:
      - Ports besides those of Kubernetes, for example V(8472/udp) for a network plugin, or V(4000-4010/tcp).
    type: list
    elements: str
    default: []
"""
