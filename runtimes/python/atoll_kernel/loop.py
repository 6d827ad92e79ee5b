# SPDX-License-Identifier: Apache-2.0
"""The life of the process: start, then one cell after the other until the socket ends."""
import asyncio
import io
import os
import signal
import sys
import time

from IPython.core.async_helpers import get_asyncio_loop
from IPython.core.interactiveshell import InteractiveShell

from . import reseed
from .shell import error_of, make, reset_streams
from .wire import Wire


class Kernel:
    def __init__(self):
        self.wire = None
        self.cell = None  # id of the one that runs
        self.missed = False  # an interrupt came when it might not hit
        self.shell = make(self._emit, self._make_up)
        self.saved = {}

    def _emit(self, bundle, main):
        if self.cell is not None and bundle:
            self.wire.send_result(self.cell, bundle, main)

    # Being interrupted: in code of the user only. IPython's own would be left as it is at that point, with a lock that
    # nobody gives back any more (tried: the next cell waits for ever); a message of ours would be cut in two. Which of
    # them runs is told by the stack, innermost first: a mark that is set and taken back would have gaps of its own.

    def _on_interrupt(self, signo, frame):
        if self.cell is None:
            return
        while frame is not None:
            hits = _HITS.get(frame.f_code)
            if hits:
                raise KeyboardInterrupt
            if hits is False:
                break
            frame = frame.f_back
        self.missed = True

    def _make_up(self):
        if self.missed:
            self.missed = False
            raise KeyboardInterrupt

    # Start.

    def _streams(self):
        """Unbuffered: atoll-init joins what belongs together, and a crash loses nothing."""

        def opened(fd):
            return io.TextIOWrapper(io.FileIO(fd, "w", closefd=False), "utf-8", "backslashreplace", write_through=True)

        for fd, name in ((1, "stdout"), (2, "stderr")):
            setattr(sys, name, opened(fd))
            setattr(sys, f"__{name}__", getattr(sys, name))
            self.saved[fd] = (os.dup(fd), name, lambda fd=fd: opened(fd))

    def _replace_env(self, env):
        env.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
        os.environ.clear()
        os.environ.update(env)
        time.tzset()

    def start(self, message):
        os.chdir(message["cwd"])
        if message.get("env") is not None:
            self._replace_env(message["env"])
        signal.signal(signal.SIGINT, self._on_interrupt)
        self.wire.send({"type": "ready"})

    def rehearse(self):
        """A cell for nobody: what the first one imports, compiles and copies is there when it comes.

        It has no result, and is in no history: nothing has to be put back.
        """
        reset_streams(self.saved)
        result = self.shell.run_cell("pass; None", silent=True)
        error_of(self.shell, result)
        self.shell.display_formatter.format("text")
        self._flush()
        self.wire.send({"type": "ready"})

    # Cells.

    def _run(self, message):
        shell = self.shell
        shell.last_traceback = None
        shell.execution_count = message["count"]
        before = {}
        for name, value in (message.get("env") or {}).items():
            before[name] = os.environ.get(name)
            os.environ[name] = value
        try:
            result = shell.run_cell(message["code"], store_history=True)
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
        return error_of(shell, result)

    def _flush(self):
        for name in ("stdout", "stderr"):
            try:
                getattr(sys, name).flush()
            except Exception:  # noqa: BLE001 - it may be anything that user code put there
                pass

    def execute(self, message):
        self.cell = message["id"]
        self.missed = False  # what came before was for the one before
        reset_streams(self.saved)
        error = None
        try:
            error = self._run(message)
        except BaseException as e:  # noqa: BLE001 - an interrupt between two lines of ours, a broken shell
            error = (type(e).__name__, str(e), "")
        if self.wire.foreign():
            os._exit(0)  # a fork() in the cell: the child ends with it
        self._flush()
        if error:
            name, value, traceback = error
            self.wire.send({"type": "error", "id": self.cell, "name": name, "value": value, "traceback": traceback})
        self.wire.send({"type": "done", "id": self.cell})
        self.cell = None

    # Idle.

    def _wait(self):
        """Tasks that a cell left in its event loop go on while we wait for the next one."""
        try:
            loop = get_asyncio_loop()
            if loop.is_running() or loop.is_closed() or not asyncio.all_tasks(loop) or self.wire.pending():
                return
            loop.add_reader(self.wire.fd, loop.stop)
            try:
                loop.run_forever()
            finally:
                loop.remove_reader(self.wire.fd)
        except Exception:  # noqa: BLE001 - the loop is user code's, whatever it is
            return

    def serve(self, wire):
        self.wire = wire
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._streams()
        message = wire.receive()
        if message is None:
            return
        self.start(message)
        while True:
            self._wait()
            message = wire.receive()
            if message is None:
                return
            if message.get("op") == "execute":
                self.execute(message)
            elif message.get("op") == "env":
                self._replace_env(message["env"])
            elif message.get("op") == "rehearse":
                self.rehearse()
            elif message.get("op") == "reseed":
                reseed.again()


_HITS = {
    Kernel._emit.__code__: False,
    InteractiveShell.run_code.__code__: True,
    InteractiveShell.run_cell_async.__code__: False,
    asyncio.BaseEventLoop.run_forever.__code__: True,  # a cell that waits: its own frames are not on the stack
    Kernel._run.__code__: False,
}


def main():
    kernel = Kernel()
    kernel.serve(Wire())
