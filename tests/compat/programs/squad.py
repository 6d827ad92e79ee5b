# SPDX-License-Identifier: Apache-2.0
"""Several agents at work on one repository: a pool of sandboxes, git in each of them, pushes that collide and are
tried again, metrics.

The agents share one sandbox that holds the repository and each has a sandbox of its own; commits travel between them
as git bundles through the file API, so nothing has to be reachable over a network."""

import asyncio
import os

from e2b import AsyncSandbox, CommandExitException

AGENTS = 4
TRIES = 8
TOKEN = "ghp_not_a_real_token_0123456789"
ORIGIN = "/workspace/origin.git"


class Pool:
    """Warm sandboxes; one that was used is never given to the next."""

    def __init__(self, size):
        self.size, self.warm, self.made, self.used = size, [], 0, []

    async def fill(self):
        missing = self.size - len(self.warm)
        self.warm += await asyncio.gather(
            *(
                AsyncSandbox.create("base", timeout=600, metadata={"program": "squad"}, envs={"GITHUB_TOKEN": TOKEN})
                for _ in range(missing)
            )
        )
        self.made += missing

    async def take(self):
        if not self.warm:
            await self.fill()
        sandbox = self.warm.pop()
        self.used.append(sandbox)
        return sandbox

    async def close(self):
        await asyncio.gather(*(one.kill() for one in self.warm + self.used))


async def run(sandbox, command, **options):
    """Agents look at exit codes; the SDK raises."""
    try:
        return await sandbox.commands.run(command, **options)
    except CommandExitException as failed:
        return failed


async def make_origin(shared):
    await shared.git.init(ORIGIN, bare=True, initial_branch="main")
    await shared.git.clone(f"file://{ORIGIN}", path="/workspace/first")
    await shared.git.configure_user("Squad", "squad@example.test")
    await shared.files.write("/workspace/first/log.txt", "start\n")
    await shared.git.add("/workspace/first")
    await shared.git.commit("/workspace/first", "start; $(touch /tmp/injected) `touch /tmp/injected` 'x' \"y\"")
    await shared.git.push("/workspace/first", remote="origin", branch="main")


async def push_until_it_works(sandbox, path, name):
    """All of them change the same line: whoever is late has to start again from what is there."""
    for attempt in range(1, TRIES + 1):
        await run(sandbox, "git fetch -q origin && git reset -q --hard origin/main", cwd=path)
        text = await sandbox.files.read(f"{path}/log.txt")
        await sandbox.files.write(f"{path}/log.txt", f"{text}{name}\n")
        await sandbox.git.add(path)
        await sandbox.git.commit(path, f"work of {name}", author_name=name, author_email=f"{name}@example.test")
        if (await run(sandbox, "git push -q origin HEAD:main", cwd=path)).exit_code == 0:
            return attempt
        await run(sandbox, "git rebase --abort; git merge --abort", cwd=path)
    raise RuntimeError(f"{name} could not push")


async def work_together(sandbox_id, name):
    """Each agent connects by itself, to what another has made."""
    sandbox = await AsyncSandbox.connect(sandbox_id)
    path = f"/workspace/{name}"
    await sandbox.git.clone(f"file://{ORIGIN}", path=path)
    tries = await push_until_it_works(sandbox, path, name)
    status = await sandbox.git.status(path)
    assert status.is_clean, status
    return tries


async def work_apart(pool, shared, name):
    """In a sandbox of its own: the repository comes as a bundle, and goes back as one."""
    await shared.commands.run(f"git -C {ORIGIN} bundle create -q /tmp/{name}.bundle main")
    sandbox = await pool.take()
    await sandbox.files.write(
        "/workspace/in.bundle", bytes(await shared.files.read(f"/tmp/{name}.bundle", format="bytes"))
    )
    await sandbox.git.clone("/workspace/in.bundle", path="/workspace/repo", branch="main")
    await sandbox.git.create_branch("/workspace/repo", f"feature/{name}")
    await sandbox.files.write(f"/workspace/repo/{name}.py", f"print('{name}')\n")
    await sandbox.git.add("/workspace/repo")
    await sandbox.git.commit("/workspace/repo", f"add {name}", author_name=name, author_email=f"{name}@example.test")
    assert (await sandbox.commands.run(f"python3 {name}.py", cwd="/workspace/repo")).stdout == f"{name}\n"
    assert (await sandbox.commands.run('test -n "$GITHUB_TOKEN" && git diff --stat main', cwd="/workspace/repo")).stdout
    await sandbox.commands.run(f"git bundle create -q /tmp/out.bundle main..feature/{name}", cwd="/workspace/repo")
    await shared.files.write(f"/tmp/{name}.back", bytes(await sandbox.files.read("/tmp/out.bundle", format="bytes")))
    await shared.commands.run(f"git -C {ORIGIN} fetch -q /tmp/{name}.back feature/{name}:feature/{name}")


async def check(shared, names):
    log = (await shared.commands.run(f"git -C {ORIGIN} log --format=%an main")).stdout.split()
    assert sorted(log) == sorted([*names, "Squad"]), log
    text = (await shared.commands.run(f"git -C {ORIGIN} show main:log.txt")).stdout
    assert sorted(text.split()) == sorted([*names, "start"]), text
    branches = (await shared.commands.run(f"git -C {ORIGIN} branch --format='%(refname:short)'")).stdout.split()
    assert sorted(branches) == sorted([*(f"feature/{name}" for name in names), "main"]), branches
    assert not await shared.files.exists("/tmp/injected")


async def metrics(sandbox):
    for _ in range(300):
        points = await sandbox.get_metrics()
        if points:
            return points[-1]
        await asyncio.sleep(0.1)
    raise TimeoutError("no metrics")


async def main():
    names = [f"agent{i}" for i in range(AGENTS)]
    pool = Pool(2)
    await pool.fill()
    try:
        shared = await pool.take()
        await make_origin(shared)
        tries = await asyncio.gather(*(work_together(shared.sandbox_id, name) for name in names))
        await asyncio.gather(*(work_apart(pool, shared, name) for name in names))
        await check(shared, names)
        point = await metrics(shared)
        assert point.mem_used > 0 and point.cpu_count > 0, point
        print(f"tries {tries}, sandboxes {pool.made}")
    finally:
        await pool.close()
    print("done")


asyncio.run(main())
os._exit(0)
