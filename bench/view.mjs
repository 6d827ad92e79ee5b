// SPDX-License-Identifier: Apache-2.0
// What a sandbox's own view of the machine costs: two servers of one build, one without it (own_view), in turns.
import fs from 'node:fs'
import { endOf, outputOf, stream } from '../tests/lib/client.mjs'
import { childrenOf, commOf } from '../tests/lib/host.mjs'
import { newServer } from '../tests/lib/server.mjs'
import { Caller, sandboxMemory, stats } from './measure.mjs'

const CONFIG = { log_level: 'warn', warm_pool_size: 0 }
const BATCH = 20
const READ =
	'import time\nfor i in range(50): open("/proc/meminfo").read()\nt = time.perf_counter()\nfor i in ' +
	'range(500): open("/proc/meminfo").read()\nprint((time.perf_counter() - t) * 2000)'

async function create(side, limits) {
	const res = await side.caller.call('POST', '/sandboxes', { templateID: 'base', timeout: 600, limits })
	if (res.status !== 201) throw new Error(`create answers ${res.status}: ${res.body.toString().slice(0, 200)}`)
	return { sbx: JSON.parse(res.body), ms: res.ms }
}

const kill = (side, sbx) => side.caller.call('DELETE', `/sandboxes/${sbx.sandboxID}`)

// A tenth of all is quicker than p10: what it takes when nobody else is in the way.
const quiet = (samples) => ({
	...stats(samples),
	p10: [...samples].sort((a, b) => a - b)[Math.floor(samples.length / 10)],
})

// In turns, so that both meet the same machine.
async function creates(sides, limits, rounds) {
	const took = [[], []]
	for (let i = 0; i < rounds + 2; i++) {
		for (const k of i % 2 ? [0, 1] : [1, 0]) {
			const { sbx, ms } = await create(sides[k], limits)
			await kill(sides[k], sbx)
			if (i > 1) took[k].push(ms)
		}
	}
	const [own, host] = took.map(quiet)
	return { own, host, adds: own.p10 - host.p10 }
}

async function readTime(side) {
	const { sbx } = await create(side)
	const run = await stream(
		sbx,
		'process.Process/Start',
		{ process: { cmd: 'python3', args: ['-c', READ] }, stdin: false },
		{ base: side.server.url, user: 'user' },
	)
	await run.ended
	if (endOf(run.events)?.exitCode) throw new Error(outputOf(run.events, 'stderr'))
	await kill(side, sbx)
	return Number(outputOf(run.events))
}

function pssOf(server) {
	const pid = childrenOf(server.pid).find((one) => commOf(one) === 'atoll-view')
	return Number(/^Pss:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))[1]) * 1024
}

// All that the kernel charges the sandboxes with, mounts and inodes included, and the process that serves them.
async function memory(side) {
	const made = []
	for (let i = 0; i < BATCH; i++) made.push((await create(side)).sbx)
	await readTime(side)
	const got = { each: sandboxMemory(side.server).cgroup.p50, helper: pssOf(side.server) }
	await Promise.all(made.map((sbx) => kill(side, sbx)))
	return got
}

export async function view(buildDir, quick) {
	const sides = []
	let clean = true,
		result
	try {
		for (const own_view of [true, false]) {
			const server = newServer(buildDir, { ...CONFIG, own_view })
			await server.start()
			sides.push({ server, caller: new Caller(server) })
		}
		const rounds = quick ? 50 : 200
		result = {
			create: await creates(sides, undefined, rounds),
			pinned: await creates(sides, { cpus: 0.5 }, rounds),
			read: [],
			memory: [],
		}
		for (const side of sides) {
			result.read.push(await readTime(side))
			result.memory.push(await memory(side))
		}
	} finally {
		for (const { server, caller } of sides) {
			caller.close()
			clean = (await server.stop()).clean && clean
		}
	}
	return { ...result, batch: BATCH, clean }
}
