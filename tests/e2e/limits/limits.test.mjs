// SPDX-License-Identifier: Apache-2.0
// Memory, processes, CPU: one sandbox hits its wall, the neighbour and the server do not notice.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { addressOf, api, createRaw, envd, killRaw, outputOf, runAny, sdk, server, start } from '../../lib/client.mjs'
import { cpuOfCgroups, processesOf, sleep, traceOf, until } from '../../lib/host.mjs'

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
		await sleep(50) // twenty moments of a second
	}
	return worst
}

async function holds(quiet) {
	const worst = await neighbourAnswers()
	assert.ok(worst < 1000, `the neighbour took ${worst.toFixed(0)} ms, and ${quiet.toFixed(0)} ms before`)
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

test('the limits are those that the API tells, set outside, below one parent', async () => {
	await victim(async (sbx, info) => {
		const { memoryMB, cpuCount } = info
		const trace = traceOf(server.slot, await addressOf(info))
		const value = (...names) =>
			trace.cgroups
				.flatMap((dir) => names.map((name) => path.join(dir, name)))
				.filter((file) => fs.existsSync(file))
				.map((file) => fs.readFileSync(file, 'utf8').trim())
		assert.deepEqual(value('memory.limit_in_bytes', 'memory.max'), [String(memoryMB * 1048576)])
		assert.deepEqual(value('pids.max'), ['512'])
		const v1 = value('cpu.cfs_quota_us', 'cpu.cfs_period_us').map(Number)
		const [quota, period] = v1.length ? v1 : value('cpu.max')[0].split(' ').map(Number)
		assert.equal(quota / period, cpuCount)
		assert.ok(
			trace.cgroups.every((dir) => path.basename(path.dirname(dir)) === `atoll${server.slot}`),
			trace.cgroups.join(' '),
		)
		// All together leave the host some processes, whichever of its two counts is the smaller.
		const host = Math.min(
			...['pid_max', 'threads-max'].map((name) =>
				Number(fs.readFileSync(`/proc/sys/kernel/${name}`, 'utf8')),
			),
		)
		assert.deepEqual(value('../pids.max'), [String(host - Math.floor(host / 8))])
	})
})

test('pids: a fork bomb stays inside', async () => {
	await victim(async (sbx) => {
		const quiet = await neighbourAnswers()
		const bomb = await sbx.commands.run(':(){ :|:& };:', { background: true }).catch(() => null)
		assert.ok(await until(() => processesOf(server.slot).length > 400, 60000), 'it does not fork')
		await holds(quiet)
		assert.equal((await envd({ sandboxID: sbx.sandboxId }, 'GET', '/health')).status, 204)
		await bomb?.kill().catch(() => {})
	})
	const run = await start(neighbour, 'echo fine')
	await run.ended
	assert.equal(outputOf(run.events), 'fine\n')
})

test('pids: more processes than allowed is an error, not a hang', async () => {
	await victim(async (sbx) => {
		const got = await runAny(
			sbx,
			`python3 -c "
import os
n, (r, w) = 0, os.pipe()
try:
    for i in range(100000):
        if os.fork() == 0:
            os.close(w); os.read(r, 1); os._exit(0)
        n += 1
except OSError as e:
    print('stopped', n, e.errno)
"`,
			{ timeoutMs: 60000 },
		)
		assert.match(got.stdout, /^stopped \d+ 11/)
	})
})

test('cpu: burners do not starve the server', async () => {
	await victim(async (sbx) => {
		const quiet = await neighbourAnswers()
		const handle = await sbx.commands.run('for i in 1 2 3 4 5 6 7 8; do while :; do :; done & done; wait', {
			background: true,
		})
		const before = cpuOfCgroups(server.slot)
		assert.ok(await until(() => cpuOfCgroups(server.slot) > before + 0.5, 60000), 'it does not burn')
		await holds(quiet)
		await handle.kill().catch(() => {})
	})
})

test('inotify and other per-user limits are per sandbox', async () => {
	const hog = `python3 -c "
import ctypes, time
libc = ctypes.CDLL(None)
n = 0
while libc.inotify_init() >= 0: n += 1
print(n, flush=True); time.sleep(60)"`
	await victim(async (sbx) => {
		const handle = await sbx.commands.run(hog, { background: true })
		assert.ok(await until(() => Number(handle.stdout) > 0, 30000), 'it has them all')
		const run = await start(
			neighbour,
			'python3 -c "import ctypes; print(ctypes.CDLL(None).inotify_init())"',
		)
		await run.ended
		assert.ok(Number(outputOf(run.events)) >= 0, 'the neighbour cannot open an inotify instance')
		fs.watch('/tmp', () => {}).close() /* throws when root of the host has none left */
		await handle.kill().catch(() => {})
	})
})
