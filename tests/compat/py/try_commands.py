# SPDX-License-Identifier: Apache-2.0
"""Commands and terminals."""

import asyncio
import re

from main import done


async def run(c):
    sbx = await c.shell()
    got = await done(
        sbx.commands.run('id -un; pwd; echo "$A ä"; echo e >&2', user="root", cwd="/tmp", envs={"A": "'q'"})
    )
    assert (got.exit_code, got.stdout, got.stderr) == (0, "root\n/tmp\n'q' ä\n", "e\n"), got


async def error(c):
    sbx = await c.shell()
    err = await c.raises(c.core.CommandExitException, lambda: sbx.commands.run("echo o; echo e >&2; exit 3"))
    assert (err.exit_code, err.stdout, err.stderr) == (3, "o\n", "e\n"), err


async def stream(c):
    """Goes on only when its first line has been seen."""
    sbx = await c.shell()
    waiting = (
        "echo first; for i in $(seq 200); do [ -e /tmp/go ] && break; sleep 0.1; done; [ -e /tmp/go ] && echo last"
    )
    tasks = []

    def on_stdout(text):
        if "first" in text:
            told = sbx.files.write("/tmp/go", "")
            if not c.sync:
                tasks.append(asyncio.ensure_future(told))

    got = await done(sbx.commands.run(waiting, on_stdout=on_stdout))
    assert got.stdout == "first\nlast\n", got


async def background(c):
    sbx = await c.shell()
    command = "until [ -e /tmp/seen ]; do sleep 0.1; done; echo done"
    handle = await done(sbx.commands.run(command, background=True, envs={"A": "b"}))
    entry = next(p for p in await done(sbx.commands.list()) if p.pid == handle.pid)
    assert (entry.args[-1], entry.envs["A"]) == (command, "b"), entry
    await done(sbx.files.write("/tmp/seen", ""))
    assert (await done(handle.wait())).stdout == "done\n"


async def kill(c):
    sbx = await c.shell()
    handle = await done(sbx.commands.run("sleep 300", background=True))
    assert await done(sbx.commands.kill(handle.pid)) is True
    assert await done(sbx.commands.kill(handle.pid)) is False
    await c.raises(c.core.CommandExitException, handle.wait)


async def cat(c, command):
    sbx = await c.shell()
    options = {"stdin": True} if "stdin" in sbx.commands.run.__code__.co_varnames else {}
    return sbx, await done(sbx.commands.run(command, background=True, **options))


async def stdin(c):
    sbx, handle = await cat(c, 'read -r line; echo "got $line"')
    await done(sbx.commands.send_stdin(handle.pid, "a line\n"))
    assert (await done(handle.wait())).stdout == "got a line\n"


async def eof(c):
    c.needs((await c.shell()).commands, "close_stdin")
    sbx, handle = await cat(c, "cat")
    await done(sbx.commands.send_stdin(handle.pid, "all"))
    await done(sbx.commands.close_stdin(handle.pid))
    assert (await done(handle.wait())).stdout == "all"


async def input_stream(c):
    c.needs((await c.shell()).commands, "stream_input")
    sbx, handle = await cat(c, "head -c 9")
    if c.sync:
        sbx.commands.stream_input(handle.pid, ["one", b"two", "six"])
    else:
        pipe = await done(sbx.commands.stream_input(handle.pid))
        for part in ("one", b"two", "six"):
            await pipe.send(part)
        await pipe.close()
    assert (await done(handle.wait())).stdout == "onetwosix"


async def connect(c):
    sbx, handle = await cat(c, 'read -r line; echo "got $line"')
    await done(handle.disconnect())
    again = await done(sbx.commands.connect(handle.pid))
    await done(sbx.commands.send_stdin(handle.pid, "later\n"))
    assert (await done(again.wait())).stdout == "got later\n"


async def timeout(c):
    sbx = await c.shell()
    await c.raises(c.core.TimeoutException, lambda: sbx.commands.run("sleep 300", timeout=1))


class Terminal:
    """Types first and reads to the end: the synchronous client reads nothing before wait()."""

    def __init__(self, c, sbx):
        self.c, self.sbx, self.data = c, sbx, b""

    def on_data(self, data):
        self.data += data

    async def open(self, **opt):
        size = self.c.core.PtySize(24, 80)
        self.handle = await done(self.sbx.pty.create(size, **({} if self.c.sync else {"on_data": self.on_data}), **opt))
        return self

    def type(self, text):
        return done(self.sbx.pty.send_stdin(self.handle.pid, text.encode()))

    async def end(self, handle=None):
        got = await done((handle or self.handle).wait(**({"on_pty": self.on_data} if self.c.sync else {})))
        return got.exit_code, self.data.decode(errors="replace")


async def terminal(c, **opt):
    return await Terminal(c, await c.shell()).open(**opt)


async def pty_create(c):
    t = await terminal(c, cwd="/tmp", envs={"A": "b"})
    await t.type('tty; pwd; echo "<$A>"; exit 0\n')
    code, text = await t.end()
    assert code == 0 and re.search(r"/dev/pts/\d+.*/tmp.*<b>", text, re.S), text


async def pty_resize(c):
    t = await terminal(c)
    await done(t.sbx.pty.resize(t.handle.pid, c.core.PtySize(45, 123)))
    await t.type("stty size; exit 0\n")
    _, text = await t.end()
    assert "45 123" in text, text


async def pty_kill(c):
    t = await terminal(c)
    c.needs(t.sbx.pty, "kill")
    assert await done(t.sbx.pty.kill(t.handle.pid)) is True
    await c.raises(c.core.CommandExitException, t.handle.wait)


async def pty_connect(c):
    t = await terminal(c)
    c.needs(t.sbx.pty, "connect")
    await done(t.handle.disconnect())
    again = await done(t.sbx.pty.connect(t.handle.pid, **({} if c.sync else {"on_data": t.on_data})))
    await t.type("echo a$((1+1))b; exit 0\n")
    _, text = await t.end(again)
    assert "a2b" in text, text


CAPABILITIES = {
    "commands.run": run,
    "commands.error": error,
    "commands.stream": stream,
    "commands.background": background,
    "commands.kill": kill,
    "commands.stdin": stdin,
    "commands.eof": eof,
    "commands.input-stream": input_stream,
    "commands.connect": connect,
    "commands.timeout": timeout,
    "pty.create": pty_create,
    "pty.resize": pty_resize,
    "pty.kill": pty_kill,
    "pty.connect": pty_connect,
}
