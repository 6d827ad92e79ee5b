# SPDX-License-Identifier: Apache-2.0
"""Files."""

from main import collect, done

TEXT = 'ä "quoted" \\ back\r\n\U0001f600 $HOME `x`\n'


async def text(c):
    files = (await c.shell()).files
    info = await done(files.write("text/new dir/a.txt", TEXT))
    assert info.path == "/home/user/text/new dir/a.txt", info
    assert await done(files.read("text/new dir/a.txt")) == TEXT
    await done(files.write("text/empty", ""))
    assert await done(files.read("text/empty")) == ""
    await c.raises(c.core.NotFoundException, lambda: files.read("text/none"))


async def bytes_(c):
    files = (await c.shell()).files
    data = bytes((i * 7 + (i >> 8)) & 255 for i in range(300000))
    await done(files.write("bytes.bin", data))
    assert bytes(await done(files.read("bytes.bin", format="bytes"))) == data


async def stream(c):
    sbx = await c.shell()
    await done(sbx.commands.run('head -c 3000000 /dev/zero | tr "\\0" x > stream.txt'))
    assert sum(len(part) for part in await collect(sbx.files.read("stream.txt", format="stream"))) == 3000000


async def many(c):
    files = (await c.shell()).files
    entries = [{"path": f"many/{i}.txt", "data": f"file {i}"} for i in range(3)]
    infos = await done(files.write_files(entries) if hasattr(files, "write_files") else files.write(entries))
    assert [one.path for one in infos] == [f"/home/user/{one['path']}" for one in entries], infos
    assert await done(files.read("many/2.txt")) == "file 2"


async def list_(c):
    files = (await c.shell()).files
    await done(files.write("tree/a/b.txt", "x"))
    await done(files.write("tree/c.txt", "x"))
    assert [(e.name, e.type.value) for e in await done(files.list("tree"))] == [("a", "dir"), ("c.txt", "file")]
    assert [e.path for e in await done(files.list("tree", depth=2))] == [
        "/home/user/tree/a",
        "/home/user/tree/a/b.txt",
        "/home/user/tree/c.txt",
    ]
    await c.raises(c.core.NotFoundException, lambda: files.list("none"))


async def info(c):
    files = (await c.shell()).files
    await done(files.write("info.txt", "12345"))
    assert (await done(files.exists("info.txt")), await done(files.exists("none"))) == (True, False)
    if not hasattr(files, "get_info"):
        return
    got = await done(files.get_info("info.txt"))
    assert (got.name, got.path, got.type.value, got.size, got.owner, got.permissions) == (
        "info.txt",
        "/home/user/info.txt",
        "file",
        5,
        "user",
        "-rw-r--r--",
    ), got


async def dirs(c):
    files = (await c.shell()).files
    assert await done(files.make_dir("dirs/a/b")) is True
    assert await done(files.make_dir("dirs/a/b")) is False


async def rename(c):
    files = (await c.shell()).files
    await done(files.write("old.txt", "x"))
    assert (await done(files.rename("old.txt", "new.txt"))).path == "/home/user/new.txt"
    assert await done(files.exists("old.txt")) is False
    await c.raises(c.core.NotFoundException, lambda: files.rename("old.txt", "newer.txt"))


async def remove(c):
    files = (await c.shell()).files
    await done(files.write("gone/f", "x"))
    await done(files.remove("gone"))
    assert await done(files.exists("gone")) is False


async def watched(c, directory, act, want, **opt):
    files = (await c.shell()).files
    await done(files.make_dir(directory))
    seen = []

    def on_event(event):
        seen.append(f"{event.type.value} {event.name}")

    handle = await done(files.watch_dir(directory, **({} if c.sync else {"on_event": on_event}), **opt))
    await act(files)

    def holds():
        if c.sync:
            for event in handle.get_new_events():
                on_event(event)
        return all(one in seen for one in want)

    try:
        await c.until(holds, f"{want} in {seen}")
    finally:
        await done(handle.stop())


async def watch(c):
    async def act(files):
        await done(files.write("watched/f", "x"))

    await watched(c, "/home/user/watched", act, ["create f", "write f"])


async def watch_tree(c):
    async def act(files):
        await done(files.make_dir("watched-tree/sub"))
        await done(files.write("watched-tree/sub/f", "x"))

    c.takes((await c.shell()).files.watch_dir, "recursive")
    await watched(c, "/home/user/watched-tree", act, ["create sub", "write sub/f"], recursive=True)


async def metadata(c):
    files = (await c.shell()).files
    c.takes(files.write, "metadata")
    await done(files.write("meta.txt", "x", metadata={"author": "somebody"}))
    assert (await done(files.get_info("meta.txt"))).metadata == {"author": "somebody"}


async def gzip(c):
    files = (await c.shell()).files
    c.takes(files.write, "gzip")
    words = "again and " * 50000
    await done(files.write("zip.txt", words, gzip=True))
    assert await done(files.read("zip.txt", gzip=True)) == words


CAPABILITIES = {
    "files.text": text,
    "files.bytes": bytes_,
    "files.stream": stream,
    "files.many": many,
    "files.list": list_,
    "files.info": info,
    "files.dirs": dirs,
    "files.rename": rename,
    "files.remove": remove,
    "files.watch": watch,
    "files.watch-tree": watch_tree,
    "files.metadata": metadata,
    "files.gzip": gzip,
}
