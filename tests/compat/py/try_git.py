# SPDX-License-Identifier: Apache-2.0
"""Git, copies of sandboxes, network rules, templates and volumes."""

import os

from main import done


async def repository(c, path):
    sbx = await c.shell()
    c.needs(sbx, "git")
    await done(sbx.git.init(path, initial_branch="main"))
    await done(sbx.git.configure_user("Some Body", "some@example.test", scope="local", path=path))
    await done(sbx.files.write(f"{path}/a file", "one"))
    await done(sbx.git.add(path))
    await done(sbx.git.commit(path, 'first; "quoted"'))
    return sbx


async def work(c):
    path = "/home/user/repo"
    sbx = await repository(c, path)
    await done(sbx.files.write(f"{path}/b", "two"))
    status = await done(sbx.git.status(path))
    assert (status.current_branch, [one.name for one in status.file_status]) == ("main", ["b"]), status
    await done(sbx.git.create_branch(path, "other"))
    assert sorted((await done(sbx.git.branches(path))).branches) == ["main", "other"]
    assert (await done(sbx.commands.run("git log --format=%s", cwd=path))).stdout == 'first; "quoted"\n'


async def remote(c):
    path, copy = "/home/user/origin", "/home/user/copy"
    sbx = await repository(c, path)
    await done(sbx.commands.run("git clone -q --bare /home/user/origin /home/user/bare.git"))
    await done(sbx.git.clone("file:///home/user/bare.git", path=copy))
    await done(sbx.git.configure_user("Some Body", "some@example.test", scope="local", path=copy))
    await done(sbx.files.write(f"{copy}/c", "three"))
    await done(sbx.git.add(copy))
    await done(sbx.git.commit(copy, "second"))
    await done(sbx.git.push(copy))
    await done(sbx.git.remote_add(path, "up", "/home/user/bare.git"))
    await done(sbx.git.pull(path, remote="up", branch="main"))
    assert await done(sbx.files.read(f"{path}/c")) == "three"


async def snapshot(c):
    sbx = await c.shell()
    c.needs(sbx, "create_snapshot")
    made = await done(sbx.create_snapshot())
    copy = await c.create(made.snapshot_id)
    assert await done(copy.is_running())
    assert await done(c.sandbox_class().delete_snapshot(made.snapshot_id)) is True


async def fork(c):
    sbx = await c.shell()
    c.needs(sbx, "fork")
    copies = await done(sbx.fork())
    c.made.extend(one for one in copies if not isinstance(one, Exception))
    assert (await done(copies[0].commands.run("echo copy"))).stdout == "copy\n"


async def network(c):
    c.takes(c.sandbox_class().create if hasattr(c.sandbox_class(), "create") else c.sandbox_class().__init__, "network")
    sbx = await c.create(network={"deny_out": ["192.0.2.0/24"]})
    refused = 'timeout 5 bash -c "</dev/tcp/192.0.2.1/80" 2>/dev/null || echo refused'
    assert (await done(sbx.commands.run(refused))).stdout == "refused\n"
    await done(sbx.update_network({"deny_out": ["198.51.100.0/24"], "allow_out": ["198.51.100.7"]}))
    assert (await done(sbx.commands.run("echo up"))).stdout == "up\n"


async def template(c):
    c.needs(c.core, "Template")
    name = f"compat-py-{os.getpid()}"
    builder = c.named("Template")
    await done(builder.build(c.core.Template().from_template("base").run_cmd("echo made > /home/user/made"), name))
    sbx = await c.create(name)
    assert await done(sbx.files.read("made")) == "made\n"


async def volume(c):
    c.needs(c.core, "Volume")
    cls = c.named("Volume")
    made = await done(cls.create(f"compat-py-{os.getpid()}"))
    await done(cls.destroy(made.volume_id))


CAPABILITIES = {
    "git.work": work,
    "git.remote": remote,
    "sandbox.snapshot": snapshot,
    "sandbox.fork": fork,
    "network.rules": network,
    "template.build": template,
    "volume.create": volume,
}
