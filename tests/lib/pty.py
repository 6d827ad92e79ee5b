#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program on a terminal and types what standard input says (a JSON list of steps); see onTerminal() in
cli.mjs."""

import fcntl
import json
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time

WAIT = 60  # for hangs alone


class Terminal:
    def __init__(self, argv):
        self.master, self.slave = os.openpty()
        self.resize(24, 80)
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""
        self.at = 0  # what has been matched already
        self.child = subprocess.Popen(
            argv,
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def resize(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def read(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        self.seen += os.read(self.master, 65536)
        return True

    def expect(self, text):
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            found = self.seen.find(text.encode(), self.at)
            if found >= 0:
                self.at = found + len(text.encode())
                return
            self.read(0.1)
        sys.exit(f"no {text!r} behind {self.seen[: self.at]!r} in {self.seen[self.at :]!r}")

    def step(self, step):
        if "expect" in step:
            self.expect(step["expect"])
        elif "send" in step:
            os.write(self.master, step["send"].encode())
        elif "resize" in step:
            self.resize(*step["resize"])
        elif "signal" in step:
            self.child.send_signal(getattr(signal, step["signal"]))
        elif "run" in step:
            subprocess.run(step["run"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)

    def end(self):
        limit = time.monotonic() + WAIT
        while self.child.poll() is None and time.monotonic() < limit:
            self.read(0.05)
        while self.read(0.05):
            pass
        ended = self.child.poll() is not None
        if not ended:
            self.child.kill()
        return {
            "code": self.child.wait(),
            "ended": ended,
            "screen": self.seen.decode(errors="replace"),
            "restored": termios.tcgetattr(self.slave) == self.before,
        }


def main():
    terminal = Terminal(sys.argv[1:])
    for step in json.load(sys.stdin):
        terminal.step(step)
    print(json.dumps(terminal.end()))


main()
