# SPDX-License-Identifier: Apache-2.0
"""The Python runtime: runs cells for atoll-init (docs/protocol-runtime.md)."""
import sys

if __name__ == "__main__":
    from atoll_kernel.loop import main

    # User code imports from its own directory, not from ours.
    sys.path[0] = ""
    main()
