# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one way in which the lab refuses or gives up."""

from __future__ import annotations


class LabError(Exception):
    """A sentence for the person at the terminal: what is wrong and what to do."""
