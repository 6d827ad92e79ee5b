// SPDX-License-Identifier: Apache-2.0
// Memory, processes, CPU: one sandbox hits its wall, the neighbour and the server do not notice.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { api, createRaw, envd, killRaw, outputOf, runAny, sdk, start } from '../lib/client.mjs'

let neighbour

before(async () => {
	neighbour = await createRaw({ timeout: 600 })
})
after(() => killRaw(neighbour))

async function victim(use) {
	const { Sandbox } = sdk()
	const sbx = await Sandbox.create('base', { timeoutMs: 120000 })
	try {
		return await use(sbx, (await api('GET', `/sandboxes/${sbx.sandboxId}`)).json)
	} finally {
		await sbx.kill().catch(() => {})
	}
}

async function neighbourAnswers() {
	let worst = 0
	for (let i = 0; i < 20; i++) {
		const began = performance.now()
		assert.equal((await envd(neighbour, 'GET', '/health')).status, 204)
		worst = Math.max(worst, performance.now() - began)
		await new Promise((r) => setTimeout(r, 50))
	}
	return worst
}

test('memory: a process that takes more than the limit is killed, the sandbox lives', async () => {
	await victim(async (sbx, { memoryMB }) => {
		const eat = `python3 -c "b=[]
while True: b.append(bytearray(16<<20))"`
		const got = await runAny(sbx, eat, { timeoutMs: 60000 })
		assert.notEqual(got.exitCode, 0)
		assert.ok(memoryMB > 0)
		assert.equal((await sbx.commands.run('echo alive')).stdout, 'alive\n')
	})
})

test('memory: tmpfs counts too', async () => {
	await victim(async (sbx) => {
		await runAny(sbx, 'head -c 20G /dev/zero > /dev/shm/x', { timeoutMs: 60000 })
		assert.equal((await sbx.commands.run('echo alive')).stdout, 'alive\n')
	})
})

test('memory: free and nproc agree with the limits', async () => {
	await victim(async (sbx, { memoryMB, cpuCount }) => {
		const lim = await runAny(sbx, 'cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null; nproc')
		assert.ok(memoryMB >= 64 && cpuCount >= 1, lim.stdout)
	})
})

test('pids: a fork bomb stays inside', async () => {
	await victim(async (sbx) => {
		const bomb = await sbx.commands.run(':(){ :|:& };:', { background: true }).catch(() => null)
		await new Promise((r) => setTimeout(r, 1500))
		const worst = await neighbourAnswers()
		assert.ok(worst < 1000, `the neighbour took ${worst.toFixed(0)} ms`)
		assert.equal((await envd({ sandboxID: sbx.sandboxId }, 'GET', '/health')).status, 204)
		await bomb?.kill().catch(() => {})
	})
	const run = await start(neighbour, 'echo fine')
	await run.ended
	assert.equal(outputOf(run.events), 'fine\n')
})

test('pids: more processes than allowed is an error, not a hang', async () => {
	await victim(async (sbx) => {
		const got = await runAny(sbx, `python3 -c "
import os, time
n = 0
try:
    for i in range(100000):
        if os.fork() == 0:
            time.sleep(15); os._exit(0)
        n += 1
except OSError as e:
    print('stopped', n, e.errno)
"`, { timeoutMs: 60000 })
		assert.match(got.stdout, /^stopped \d+ 11/)
	})
})

test('cpu: burners do not starve the server', async () => {
	await victim(async (sbx) => {
		const handle = await sbx.commands.run('for i in 1 2 3 4 5 6 7 8; do while :; do :; done & done; wait', { background: true })
		await new Promise((r) => setTimeout(r, 500))
		const worst = await neighbourAnswers()
		assert.ok(worst < 1000, `the neighbour took ${worst.toFixed(0)} ms`)
		await handle.kill().catch(() => {})
	})
})

test('inotify and other per-user limits are per sandbox', async () => {
	const hog = `python3 -c "
import ctypes, time
libc = ctypes.CDLL(None)
n = 0
while libc.inotify_init() >= 0: n += 1
print(n, flush=True); time.sleep(5)"`
	await victim(async (sbx) => {
		const handle = await sbx.commands.run(hog, { background: true })
		await new Promise((r) => setTimeout(r, 1500))
		const run = await start(neighbour, 'python3 -c "import ctypes; print(ctypes.CDLL(None).inotify_init())"')
		await run.ended
		assert.ok(Number(outputOf(run.events)) >= 0, 'the neighbour cannot open an inotify instance')
		await handle.kill().catch(() => {})
	})
})
