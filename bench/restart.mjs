// SPDX-License-Identifier: Apache-2.0
// A restart of the daemons with many live sandboxes: how long nobody is served, and whether all of them still answer.
import { Caller, frontOf, inParallel, stats } from './measure.mjs'

export const CONFIG = {
	log_level: 'warn',
	max_sandboxes: 260,
	pool_size_mb: 2048,
	default_memory_mb: 512,
	on_stop: 'keep',
}

const ENVD = '49983'
const LATE_MS = 30000

// As a client would: ask until the list is there again, each time on a new connection.
async function untilListed(server, n, began) {
	for (;;) {
		const caller = new Caller(server, 1)
		const res = await caller.call('GET', '/sandboxes').catch(() => null)
		caller.close()
		if (res?.status === 200 && JSON.parse(res.body).length === n) return performance.now() - began
		if (performance.now() - began > LATE_MS) throw new Error(`not back after ${LATE_MS} ms: ${res?.status}`)
		await new Promise((done) => setTimeout(done, 5))
	}
}

async function answering(server, ids) {
	const caller = new Caller(server, 16)
	let good = 0
	await inParallel(ids.length, 16, async (i) => {
		const res = await caller.call('GET', '/health', undefined, {
			'E2b-Sandbox-Id': ids[i],
			'E2b-Sandbox-Port': ENVD,
		})
		good += res.status === 204
	})
	caller.close()
	return good
}

async function populate(server, n) {
	const caller = new Caller(server, 4)
	const ids = []
	await inParallel(n, 4, async () => {
		const res = await caller.call('POST', '/sandboxes', { templateID: 'base', timeout: 3600 })
		if (res.status !== 201) throw new Error(`create answers ${res.status}: ${res.body}`)
		ids.push(JSON.parse(res.body).sandboxID)
	})
	caller.close()
	return ids
}

export async function restarts(server, quick) {
	const n = quick ? 50 : 200,
		rounds = quick ? 3 : 5
	const ids = await populate(server, n)
	let starting = null
	const ways = {
		'SIGKILL of the front': async () => process.kill(frontOf(server), 'SIGKILL'),
		'SIGKILL of both, started again': async () => {
			server.signal('SIGKILL')
			await server.exited
			starting = server.start()
		},
		'SIGTERM, started again': async () => {
			server.signal('SIGTERM')
			await server.exited
			starting = server.start()
		},
	}
	const result = { n, ways: {} }
	for (const [name, way] of Object.entries(ways)) {
		const back = []
		let good = n
		for (let i = 0; i < rounds; i++) {
			await way()
			back.push(await untilListed(server, n, performance.now()))
			await starting
			good = Math.min(good, await answering(server, ids))
			await new Promise((done) => setTimeout(done, 500))
		}
		result.ways[name] = { back: stats(back), good }
	}
	const caller = new Caller(server, 16)
	await inParallel(n, 16, async (i) => caller.call('DELETE', `/sandboxes/${ids[i]}`))
	caller.close()
	return result
}
