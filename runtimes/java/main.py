# SPDX-License-Identifier: Apache-2.0
"""The Java runtime: runs cells for atoll-init (docs/protocol-runtime.md) in JShell.

Java cannot take over an inherited socket, so this process sits between: it starts Cells.java, which holds the JShell,
with two named pipes, and passes cells and results on as base64 words. The output of the code goes straight to
atoll-init.
"""
import base64
import json
import os
import signal
import subprocess
import sys
import tempfile

CONTROL_FD = 3
HERE = "/opt/atoll/runtimes/java"
JAVA = ["/usr/bin/java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]


def encoded(text):
    return base64.b64encode(text.encode("utf-8", "replace")).decode() or "="


def decoded(word):
    return base64.b64decode(word).decode("utf-8", "replace") if word != "=" else ""


def memory_option():
    """Java asks the kernel itself how much memory there is, which tells of the host; /proc/meminfo tells of the
    sandbox."""
    with open("/proc/meminfo", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("MemTotal:"):
                return [f"-XX:MaxRAM={line.split()[1]}k"]
    return []


class Runtime:
    def __init__(self):
        os.set_inheritable(CONTROL_FD, False)
        self.rest = b""
        self.java = None
        self.globals = {}

    def send(self, **message):
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(CONTROL_FD, data):]

    def receive(self):
        while b"\n" not in self.rest:
            data = os.read(CONTROL_FD, 65536)
            if not data:
                return None
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def start(self, message):
        os.chdir(message["cwd"])
        if message.get("env") is not None:
            os.environ.clear()
            os.environ.update(message["env"])
        self.globals = dict(os.environ)
        folder = tempfile.mkdtemp(prefix="atoll-java-")
        paths = [os.path.join(folder, name) for name in ("cells", "results")]
        for path in paths:
            os.mkfifo(path, 0o600)
        built = os.path.exists(f"{HERE}/Cells.class")
        program = ["-cp", HERE, "Cells"] if built else [f"{HERE}/Cells.java"]
        self.java = subprocess.Popen(JAVA + memory_option() + program + paths, stdin=subprocess.DEVNULL)
        # Opened for both directions: never waits for the other side, and never sees its end.
        self.cells = os.fdopen(os.open(paths[0], os.O_RDWR | os.O_CLOEXEC), "wb", buffering=0)
        self.results = os.fdopen(os.open(paths[1], os.O_RDONLY | os.O_CLOEXEC), "r", encoding="ascii")
        self.set(self.globals)
        self.send(type="ready")

    def ask(self, *words):
        """Sends one line to Java; yields its answers up to the end of that request."""
        self.cells.write((" ".join(words) + "\n").encode("ascii"))
        for line in self.results:
            kind, *rest = line.split()
            if kind == "done":
                return
            yield kind, [decoded(word) for word in rest]
        status = self.java.wait()
        if status < 0:
            signal.signal(-status, signal.SIG_DFL)
            os.kill(os.getpid(), -status)
        sys.exit(status)

    def set(self, variables):
        """Java has no way to change its environment: variables are system properties here."""
        for name, value in variables.items():
            words = ["set", encoded(name)] + ([] if value is None else [encoded(value)])
            for _ in self.ask(*words):
                pass

    def execute(self, message):
        env = message.get("env") or {}
        self.set(env)
        for kind, words in self.ask("run", encoded(message["code"])):
            if kind == "result":
                self.send(type="result", id=message["id"], main=True, data={"text/plain": words[0]})
            elif kind == "error":
                self.send(type="error", id=message["id"], name=words[0], value=words[1], traceback=words[2])
        self.set({name: self.globals.get(name) for name in env})
        self.send(type="done", id=message["id"])

    def serve(self):
        while (message := self.receive()) is not None:
            if message["op"] == "start":
                self.start(message)
            elif message["op"] == "execute":
                self.execute(message)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, lambda signo, frame: None)
    Runtime().serve()
