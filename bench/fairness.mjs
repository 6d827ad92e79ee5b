// SPDX-License-Identifier: Apache-2.0
// One sandbox sends all that it can through the front: how long its neighbour's commands and the API take meanwhile.
//
// What it sends is read by a process of its own (fairness_reader.mjs), so that the clients of the flood and the client
// that is measured do not wait for each other.
import path from 'node:path'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Caller, cpuSeconds, frontOf, stats, timed } from './measure.mjs'
import { sleep } from '../tests/lib/host.mjs'

const HERE = path.dirname(fileURLToPath(import.meta.url))
const CHURN = `python3 -c '
import os
os.makedirs("/tmp/churn", exist_ok=True)
os.chdir("/tmp/churn")
while True:
    for i in range(64):
        open("f%d" % i, "w").write("x")
        os.rename("f%d" % i, "g%d" % i)
        os.unlink("g%d" % i)'`

export const CONFIG = {
	log_level: 'warn',
	pool_size_mb: 4096,
	default_memory_mb: 1024,
	default_disk_mb: 1024,
	warm_pool_size: 0,
}

// What prints takes a processor, and so does the client that reads it. The same programs into nothing, beside a client
// that burns as much, show how much of the delay that is: nothing goes through the front then.
const busy = (n, program) => `for i in $(seq ${n}); do setsid ${program} >/dev/null 2>&1 & done`
const YES = 'yes a line of a log that nobody will ever read',
	CELL = 'python3 -c \'while True: print("x" * 70)\''

// streams: how many clients read; how: what each of them asks for; busy: what is run instead for the comparison.
const FLOODS = {
	'30 watched streams of a churning directory': {
		streams: 30,
		how: 'watch',
		setUp: 'mkdir -p /tmp/churn',
		command: CHURN,
	},
	'8 commands that only print': { streams: 8, how: 'print', busy: busy(8, YES) },
	'4 terminals that only print': { streams: 4, how: 'terminal', busy: busy(4, YES) },
	'4 cells that only print': { streams: 4, how: 'execute', template: 'code-interpreter-v1', busy: busy(4, CELL) },
	'4 downloads': { streams: 4, how: 'download', setUp: 'head -c 64M /dev/zero > /tmp/big' },
	'4 uploads': { streams: 4, how: 'upload' },
}

async function look(server, caller, neighbour, ms) {
	const end = performance.now() + ms,
		run = [],
		health = [],
		began = cpuSeconds(frontOf(server))
	while (performance.now() < end) {
		run.push(await timed(() => neighbour.commands.run('true')))
		health.push((await caller.call('GET', '/health')).ms)
		await sleep(5)
	}
	return { run: stats(run), health: stats(health), cpu: (cpuSeconds(frontOf(server)) - began) / (ms / 1000) }
}

function reader(server, sbx, flood) {
	const child = spawn(
		process.execPath,
		[
			'--no-warnings',
			path.join(HERE, 'fairness_reader.mjs'),
			server.url,
			JSON.stringify(sbx),
			flood.how,
			String(flood.streams),
		],
		{ stdio: ['ignore', 'pipe', 'inherit'] },
	)
	const ready = new Promise((done, fail) => {
		child.stdout.once('data', done)
		child.once('exit', (code) => fail(new Error(`the reader ended with ${code}`)))
	})
	ready.catch(() => {})
	return { child, ready }
}

async function busyAlone(server, caller, Sandbox, neighbour, flood, ms) {
	const sbx = await Sandbox.create(flood.template ?? 'base', { timeoutMs: 600000 })
	const client = spawn(process.execPath, ['-e', 'for (;;);'])
	try {
		await sbx.commands.run(flood.busy)
		await sleep(500)
		return await look(server, caller, neighbour, ms)
	} finally {
		client.kill('SIGKILL')
		await sbx.kill()
	}
}

async function flooded(server, caller, Sandbox, neighbour, flood, ms) {
	const busyOnly = flood.busy ? await busyAlone(server, caller, Sandbox, neighbour, flood, ms) : null
	const sbx = await Sandbox.create(flood.template ?? 'base', { timeoutMs: 600000 })
	let clients
	try {
		if (flood.setUp) await sbx.commands.run(flood.setUp)
		const alone =
			flood.command && (await sbx.commands.run(flood.command, { background: true, timeoutMs: 0 }))
		await sleep(500)
		// what the command costs without anybody who watches
		const before = alone ? await look(server, caller, neighbour, ms) : null
		clients = reader(server, { sandboxID: sbx.sandboxId, envdAccessToken: sbx.envdAccessToken }, flood)
		await clients.ready
		return { ...(await look(server, caller, neighbour, ms)), alone: before, busy: busyOnly }
	} finally {
		clients?.child.kill('SIGKILL')
		await sbx.kill()
	}
}

export async function fairness(server, Sandbox, quick, only = process.env.FLOODS?.split(',')) {
	const caller = new Caller(server, 1),
		ms = quick ? 4000 : 10000
	const neighbour = await Sandbox.create('base', { timeoutMs: 3600000 })
	const result = { floods: {} }
	try {
		for (let i = 0; i < 20; i++) await neighbour.commands.run('true')
		result.quiet = await look(server, caller, neighbour, ms)
		for (const [name, flood] of Object.entries(FLOODS)) {
			if (!only || only.includes(flood.how))
				result.floods[name] = await flooded(server, caller, Sandbox, neighbour, flood, ms)
		}
		result.quietAfter = await look(server, caller, neighbour, ms)
	} finally {
		await neighbour.kill()
		caller.close()
	}
	return result
}
