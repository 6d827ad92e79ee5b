# SPDX-License-Identifier: Apache-2.0
"""Sandboxes themselves, their ports and addresses."""

import re

from main import done


async def listed(c, metadata):
    cls = c.sandbox_class()
    query = c.core.SandboxQuery(metadata=metadata) if hasattr(c.core, "SandboxQuery") else None
    if query is None:  # 1.x: the class is not exported
        from e2b.sandbox.sandbox_api import SandboxQuery

        query = SandboxQuery(metadata=metadata)
    got = await done(cls.list(query=query))
    items = got if isinstance(got, list) else await done(got.next_items())
    return [one.sandbox_id for one in items]


async def create(c):
    c.marked = await c.create(timeout=120, metadata={"mark": c.mark}, envs={"A": "b c"})
    assert re.fullmatch("[a-z0-9]{20}", c.marked.sandbox_id)
    assert (await done(c.marked.commands.run('printf %s "$A"'))).stdout == "b c"


async def connect(c):
    again = await done(c.sandbox_class().connect(c.marked.sandbox_id))
    await done(again.files.write("/tmp/shared", "seen"))
    assert await done(c.marked.files.read("/tmp/shared")) == "seen"


async def list_(c):
    assert await listed(c, {"mark": c.mark}) == [c.marked.sandbox_id]
    assert await listed(c, {"mark": c.mark + "x"}) == []


async def info(c):
    sbx = await c.create(timeout=120, metadata={"a": "b"})
    c.needs(sbx, "get_info")
    got = await done(sbx.get_info())
    assert (got.sandbox_id, got.metadata) == (sbx.sandbox_id, {"a": "b"}), got
    assert abs((got.end_at - got.started_at).total_seconds() - 120) < 2, got


async def timeout(c):
    sbx = await c.create()
    await done(sbx.set_timeout(1))

    async def over():
        return not await done(sbx.is_running())

    await c.until(over, "expired")
    assert await done(c.marked.is_running())


async def kill(c):
    sbx = await c.create()
    assert await done(c.sandbox_class().kill(sbx.sandbox_id)) is True
    assert await done(c.sandbox_class().kill(sbx.sandbox_id)) is False
    assert await done(sbx.is_running()) is False
    await c.raises(Exception, lambda: sbx.commands.run("true"))


async def metrics(c):
    c.needs(c.marked, "get_metrics")
    got = await c.until(c.marked.get_metrics, "metrics")
    assert got[0].cpu_count > 0 and got[0].mem_total > 0, got


async def pause(c):
    sbx = await c.create()
    if not hasattr(sbx, "pause"):
        c.needs(sbx, "beta_pause")
    run = await done(sbx.commands.run("sleep 300", background=True))
    await done(getattr(sbx, "pause", None)() if hasattr(sbx, "pause") else sbx.beta_pause())
    assert await done(sbx.is_running()) is False
    again = await done(c.sandbox_class().connect(sbx.sandbox_id))
    assert any(p.pid == run.pid for p in await done(again.commands.list()))


async def secure(c):
    c.secured = await c.create(secure=True)
    assert (await done(c.secured.commands.run("echo in"))).stdout == "in\n"
    bare = await c.fetch(f"https://{c.secured.get_host(49983)}/files?path=/etc/hostname&username=user")
    assert bare[0] == 401, bare


async def offline(c):
    sbx = await c.create(allow_internet_access=False)
    out = await done(sbx.commands.run('timeout 5 bash -c "</dev/tcp/192.0.2.1/80" 2>/dev/null || echo refused'))
    assert out.stdout == "refused\n", out


async def host(c):
    sbx = await c.shell()
    await done(sbx.files.write("/tmp/www/page", "from inside"))
    await done(sbx.commands.run("python3 -m http.server 8123 --directory /tmp/www", background=True, timeout=0))
    await done(sbx.commands.run("until (</dev/tcp/127.0.0.1/8123) 2>/dev/null; do sleep 0.1; done"))
    assert await c.fetch(f"https://{sbx.get_host(8123)}/page") == (200, "from inside")


async def download(c):
    await done(c.secured.files.write("down.txt", "signed"))
    url = c.secured.download_url("down.txt", use_signature_expiration=60)
    assert await c.fetch(url) == (200, "signed")
    forged = re.sub("signature=[^&]*", "signature=v1_x", url)
    assert forged != url and (await c.fetch(forged))[0] == 401


async def upload(c):
    url = c.secured.upload_url("up.txt", use_signature_expiration=60)
    form = '--b\r\nContent-Disposition: form-data; name="file"; filename="up.txt"\r\n\r\nbrought\r\n--b--\r\n'
    got = await c.fetch(url, "POST", form, {"Content-Type": "multipart/form-data; boundary=b"})
    assert got[0] == 200, got
    assert await done(c.secured.files.read("up.txt")) == "brought"


CAPABILITIES = {
    "sandbox.create": create,
    "sandbox.connect": connect,
    "sandbox.list": list_,
    "sandbox.info": info,
    "sandbox.timeout": timeout,
    "sandbox.kill": kill,
    "sandbox.metrics": metrics,
    "sandbox.pause": pause,
    "sandbox.secure": secure,
    "sandbox.offline": offline,
    "ports.host": host,
    "urls.download": download,
    "urls.upload": upload,
}
