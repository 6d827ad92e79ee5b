# SPDX-License-Identifier: Apache-2.0
"""The warm Python of a template: started once, copied into each of its sandboxes (atoll_kernel/zygote.py)."""
import sys

if __name__ == "__main__":
    from atoll_kernel.zygote import main

    # As main.py has it: user code sees no difference.
    sys.path[0] = ""
    sys.argv[0] = __file__.replace("zygote.py", "main.py")
    join, idle_s = sys.argv.pop(1), int(sys.argv.pop(1))
    main(join, idle_s)
