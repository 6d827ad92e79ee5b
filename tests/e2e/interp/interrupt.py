# SPDX-License-Identifier: Apache-2.0
"""Run in a sandbox: the Python runtime's own loop, interrupted at any moment of thousands of cells. Ends with 3 when
one of them hangs."""

import faulthandler
import random
import signal
import sys

sys.path.insert(0, "/opt/atoll/runtimes/python")

from atoll_kernel.loop import Kernel  # noqa: E402

ROUNDS = 5000
STUCK_S = 30
CODE = "rec = globals().get('rec', []); rec.append(1); rec[0]"


class Wire:
    def __init__(self):
        self.sent = []

    def send(self, message):
        self.sent.append(message)

    def send_result(self, cell, bundle, main):
        self.sent.append({"type": "result"})

    def foreign(self):
        return False


def cell(kernel, n, code, after_s):
    """The names of what it answers, errors by their own."""
    kernel.wire.sent.clear()
    faulthandler.dump_traceback_later(STUCK_S, exit=True, file=sys.__stderr__)
    signal.setitimer(signal.ITIMER_REAL, after_s)
    kernel.execute({"id": n, "count": n, "code": code})
    signal.setitimer(signal.ITIMER_REAL, 0)
    return [m["name"] if m["type"] == "error" else m["type"] for m in kernel.wire.sent]


def main():
    kernel = Kernel()
    kernel.wire = Wire()
    signal.signal(signal.SIGALRM, kernel._on_interrupt)
    hit = 0
    for n in range(1, ROUNDS + 1):
        got = cell(kernel, n, CODE, random.uniform(1e-6, 1.5e-3))
        if got.pop() != "done" or not set(got) <= {"result", "KeyboardInterrupt"}:
            sys.exit(f"round {n}: {kernel.wire.sent}")
        hit += "KeyboardInterrupt" in got
    for code in (
        "while True: pass",
        "import time; time.sleep(60)",
        "import asyncio; await asyncio.sleep(60)",
        "import threading; threading.Event().wait(60)",
    ):
        got = cell(kernel, n, code, 0.3)
        if got != ["KeyboardInterrupt", "done"]:
            sys.exit(f"{code}: {got}")
    got = cell(kernel, n, "'still here'", 0)
    faulthandler.cancel_dump_traceback_later()
    print(f"{ROUNDS} cells, {'some' if hit else 'none'} interrupted, then {got}")


main()
