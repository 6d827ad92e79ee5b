# SPDX-License-Identifier: Apache-2.0
"""The bash runtime: runs cells for atoll-init in one shell that stays (docs/protocol-runtime.md).

The shell is an interactive one without a terminal: only such a shell gives up a whole cell on an interrupt and goes on.
It reads commands from a pipe and writes each cell's exit status to another; output is its own business: it inherits
the streams that atoll-init reads.
"""
import json
import os
import re
import signal
import subprocess

CONTROL_FD = 3
STATUS_FD = 6
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
SHELL = ["/bin/bash", "--norc", "--noprofile", "--noediting", "-i"]
# stderr comes last: until then the shell complains about its missing terminal.
PREPARE = """PS1= PS2= PROMPT_COMMAND=; set +o history +H; unset HISTFILE
exit() { builtin exit "$@" 2>/dev/null; }  # which says "exit" elsewhere
exec 2>&7 7>&-
"""


def quoted(text):
    return "$'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\0", "") + "'"


def environment(env):
    """Commands that set variables for one cell, and those that put the former values back."""
    before = after = ""
    for name in filter(NAME.match, env):
        kept = f"__atoll_was_{name}"
        before += f'[ -z "${{{name}+x}}" ] || {kept}=${name}; export {name}={quoted(env[name])}; '
        after += f'if [ -n "${{{kept}+x}}" ]; then {name}=${kept}; unset {kept}; else unset {name}; fi; '
    return before, after


class Shell:
    def __init__(self):
        status_r, status_w = os.pipe()
        os.dup2(status_w, STATUS_FD, inheritable=True)
        os.dup2(2, 7, inheritable=True)
        self.process = subprocess.Popen(
            SHELL, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, pass_fds=(STATUS_FD, 7)
        )
        for fd in (status_w, STATUS_FD, 7):
            os.close(fd)
        self.status = os.fdopen(status_r, "rb")
        self._write(PREPARE)

    def _write(self, text):
        try:
            self.process.stdin.write(text.encode("utf-8", "surrogateescape"))
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended: the status tells

    def run(self, code, env):
        """The exit status, and whether the shell is still there."""
        before, after = environment(env)
        self._write(f"{before}:\neval {quoted(code)} </dev/null {STATUS_FD}>&-\n"
                    f"__atoll_status=$?; {after}echo $__atoll_status >&{STATUS_FD}\n")
        line = self.status.readline()
        if line:
            return int(line), True
        return self.process.wait(), False

    def close(self):
        self.status.close()
        self.process.stdin.close()


class Kernel:
    def __init__(self):
        os.set_inheritable(CONTROL_FD, False)
        self.control = os.fdopen(CONTROL_FD, "r+b", buffering=0)
        self.shell = None

    def send(self, **message):
        data = memoryview(json.dumps(message).encode() + b"\n")
        while data:
            data = data[self.control.write(data):]

    def start(self, message):
        os.chdir(message["cwd"])
        if message.get("env") is not None:
            os.environ.clear()
            os.environ.update(message["env"])
        self.shell = Shell()
        self.send(type="ready")

    def execute(self, message):
        status, alive = self.shell.run(message["code"], message.get("env") or {})
        if not alive:
            self.shell.close()
            self.shell = Shell()
        if status != 0:
            name = "KeyboardInterrupt" if status == 130 else "ExitStatus"
            self.send(type="error", id=message["id"], name=name, value=str(status), traceback="")
        self.send(type="done", id=message["id"])

    def serve(self):
        for line in iter(self.readline, b""):
            message = json.loads(line)
            if message["op"] == "start":
                self.start(message)
            elif message["op"] == "execute":
                self.execute(message)

    def readline(self):
        parts = []
        while not parts or not parts[-1].endswith(b"\n"):
            part = self.control.read(65536)
            if not part:
                return b""
            parts.append(part)
        # One message at a time: the next comes after "done".
        return b"".join(parts)


if __name__ == "__main__":
    # A handler, not "ignore": the shell and its commands would inherit that.
    signal.signal(signal.SIGINT, lambda signo, frame: None)
    Kernel().serve()
