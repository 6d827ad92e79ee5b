// SPDX-License-Identifier: Apache-2.0
// Pause and resume, in memory and from disk; the disk alone; snapshots with something to write; forks.
import { Caller, stats } from './measure.mjs'
import { until } from '../tests/lib/host.mjs'
import { warm } from './versus.mjs'

export const CONFIG = { log_level: 'warn', checkpoint_after_s: 0, pool_size_mb: 4096, pool_max_mb: 16384 }

const port = (sbx, which) => ({
	'E2b-Sandbox-Id': sbx.sandboxID,
	'E2b-Sandbox-Port': String(which),
	...(sbx.envdAccessToken && { 'X-Access-Token': sbx.envdAccessToken }),
})

// The last call of a series counts; all must have worked.
function check(res, ...good) {
	if (!good.includes(res.status)) throw new Error(`${res.status}: ${res.body}`)
	return res
}

const execute = (caller, sbx, code) => caller.call('POST', '/execute', { code }, port(sbx, 49999))
const info = async (caller, sbx) => JSON.parse(check(await caller.call('GET', `/sandboxes/${sbx.sandboxID}`), 200).body)

async function make(caller, timeout) {
	const res = await caller.call('POST', '/v2/sandboxes', { templateID: 'code-interpreter-v1', timeout })
	return JSON.parse(check(res, 201).body)
}

async function turns(caller, sbx, rounds, pauseBody) {
	const pause = [],
		resume = []
	for (let i = 0; i < rounds; i++) {
		// 1 MB that is not on disk yet
		check(await execute(caller, sbx, `open("/home/user/f${i}", "wb").write(bytes(1 << 20))`), 200)
		pause.push(check(await caller.call('POST', `/sandboxes/${sbx.sandboxID}/pause`, pauseBody), 204).ms)
		resume.push(
			check(await caller.call('POST', `/sandboxes/${sbx.sandboxID}/connect`, { timeout: 3600 }), 201)
				.ms,
		)
	}
	return { pause: stats(pause), resume: stats(resume) }
}

// To disk with its memory, out of memory with the server, and back.
async function fromDisk(server, caller, sbx, rounds) {
	const resume = []
	let dump
	for (let i = 0; i < rounds; i++) {
		check(await caller.call('POST', `/sandboxes/${sbx.sandboxID}/pause`, {}), 204)
		if (!(await until(async () => (await info(caller, sbx)).pausedMemory === 'ram+disk', 60000, 100)))
			throw new Error('its memory is not written to disk')
		const { logs } = JSON.parse(
			check(await caller.call('GET', `/v2/sandboxes/${sbx.sandboxID}/logs?limit=1000`), 200).body,
		)
		dump = logs.findLast((l) => l.message === 'memory written to disk').fields
		server.signal('SIGTERM')
		await server.exited
		await server.start()
		caller.url = new URL(server.url)
		await warm({ caller })
		resume.push(
			check(await caller.call('POST', `/sandboxes/${sbx.sandboxID}/connect`, { timeout: 3600 }), 201)
				.ms,
		)
		check(await execute(caller, sbx, 'x'), 200)
	}
	return { resume: stats(resume), bytes: Number(dump.bytes), dumpMs: Number(dump.dump_ms) }
}

async function forks(caller, sbx, count) {
	const began = performance.now()
	const all = JSON.parse(
		check(await caller.call('POST', `/sandboxes/${sbx.sandboxID}/fork`, { count, timeout: 600 }), 201).body,
	)
	const made = all.filter((f) => f.sandbox).map((f) => f.sandbox)
	await Promise.all(made.map(async (s) => check(await execute(caller, s, 'x'), 200)))
	const ms = performance.now() - began
	await Promise.all(made.map((s) => caller.call('DELETE', `/sandboxes/${s.sandboxID}`)))
	return { ms, made: made.length, count }
}

export async function pausing(server, quick) {
	const caller = new Caller(server, 16)
	const rounds = quick ? 5 : 20
	await warm({ caller })
	const sbx = await make(caller, 3600)
	check(await execute(caller, sbx, 'import pandas\nx = 1'), 200)
	const ram = await turns(caller, sbx, rounds, {})
	const disk = await fromDisk(server, caller, sbx, quick ? 2 : 5)
	const fresh = await make(caller, 3600)
	check(await execute(caller, fresh, 'import pandas\nx = 1'), 200)
	const one = []
	for (let i = 0; i < (quick ? 2 : 5); i++) one.push((await forks(caller, fresh, 1)).ms)
	const ten = await forks(caller, fresh, 10)
	const boot = await turns(caller, fresh, quick ? 3 : 10, { memory: false })
	for (const s of [sbx, fresh]) await caller.call('DELETE', `/sandboxes/${s.sandboxID}`)
	caller.close()
	return { ram, disk, boot, fork: stats(one), ten }
}
