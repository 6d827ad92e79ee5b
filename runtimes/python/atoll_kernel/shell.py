# SPDX-License-Identifier: Apache-2.0
"""The shell: IPython's own, with its output turned into messages."""
import builtins
import os
import sys
import warnings

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Any, Type
from traitlets.config import Config

from . import formats, hooks


class Publisher(DisplayPublisher):
    """display(): results beside the main one."""

    emit = Any()

    def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **kwargs):
        if not update and self.emit:
            self.emit(formats.bundle(data), False)

    def clear_output(self, wait=False):
        pass


class Hook(DisplayHook):
    """The value of a cell's last expression."""

    emit = Any()

    def write_output_prompt(self):
        pass

    def write_format_data(self, format_dict, md_dict=None):
        if self.emit:
            self.emit(formats.bundle(format_dict), True)

    def finish_displayhook(self):
        pass


class Shell(InteractiveShell):
    displayhook_class = Type(Hook)
    display_pub_class = Type(Publisher)
    last_traceback = Any()
    make_up = Any()  # for an interrupt that came too early

    async def run_code(self, code_obj, result=None, *, async_=False):
        self.make_up()
        return await super().run_code(code_obj, result, async_=async_)

    # Children inherit our streams, which atoll-init reads: nothing has to be copied through this process.
    system = InteractiveShell.system_raw

    def init_io(self):
        pass

    def enable_gui(self, gui=None):
        pass

    def ask_exit(self):
        raise SystemExit(0)

    def _showtraceback(self, etype, evalue, stb):
        self.last_traceback = stb

    def init_virtualenv(self):
        pass


def _no_input(prompt=""):
    raise EOFError("input() has nobody to ask: code runs here without a terminal")


def make(emit, make_up):
    """The one shell of this process. emit(bundle, is_main) is called for every result, make_up() before code of the
    user runs."""
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    config = Config()
    config.HistoryManager.enabled = False  # a database, and a thread, for nobody
    config.InteractiveShell.colors = "NoColor"
    config.InteractiveShell.separate_in = ""
    config.PlainTextFormatter.max_seq_length = 0
    config.InteractiveShell.xmode = "Context"
    shell = Shell.instance(config=config)
    shell.make_up = make_up
    shell.display_pub.emit = emit
    shell.displayhook.emit = emit
    formats.install(shell)
    hooks.install()
    builtins.input = _no_input
    # Advice for people at a terminal.
    warnings.filterwarnings("ignore", message="To exit: use")
    warnings.filterwarnings("ignore", message="You executed the system command")
    return shell


def error_of(shell, result):
    """What went wrong in a run, as (name, value, traceback), or None."""
    error = result.error_before_exec or result.error_in_exec
    if error is None:
        return None
    stb, shell.last_traceback = shell.last_traceback, None
    if stb is None:
        stb = shell.InteractiveTB.structured_traceback(type(error), error, error.__traceback__)
    text = stb if isinstance(stb, str) else "\n".join(stb)
    try:
        value = str(error)
    except Exception:  # noqa: BLE001 - user code wrote that __str__
        value = "<the error has no text>"
    if isinstance(error, SystemExit) and error.code is None:
        value = "0"
    return type(error).__name__, value, text


def reset_streams(saved):
    """Puts standard output and error back if the code before has closed them."""
    for fd, (copy, name, stream) in saved.items():
        try:
            os.fstat(fd)
        except OSError:
            os.dup2(copy, fd)
        for attr in (name, f"__{name}__"):
            if getattr(getattr(sys, attr), "closed", False):
                setattr(sys, attr, stream())
