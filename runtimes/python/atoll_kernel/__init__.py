# SPDX-License-Identifier: Apache-2.0
"""Cells in an IPython shell, their output as messages."""
