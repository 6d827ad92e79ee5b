// SPDX-License-Identifier: Apache-2.0
// The code interpreter over plain HTTP: how long until the first result, and what an idle context costs.
import { Caller, inParallel, memAvailable, pssOfGroup, stats, timed } from './measure.mjs'
import { warm } from './versus.mjs'
import { sleep, until } from '../tests/lib/host.mjs'

const TEMPLATE = 'code-interpreter-v1'
const SPARE = 2 * 2 ** 30 /* memory that is left alone */
const POOL = 6
const FILL_MS = 120000

const common = { log_level: 'warn', pool_size_mb: 4096, default_memory_mb: 1024, max_sandboxes: 1000 }
export const coldConfig = { ...common, warm_pool_size: 0 }
// The default pool: servers of tests have none.
export const burstConfig = { ...common, warm_pool_size: undefined }
export const poolConfig = { ...common, warm_pool_size: POOL, warm_pool_max: POOL }

function bodyOf(res, status, what) {
	if (res.status !== status)
		throw new Error(`${what} answers ${res.status}: ${res.body.toString().slice(0, 300)}`)
	return res.body.toString()
}

async function create(caller) {
	return JSON.parse(
		bodyOf(await caller.call('POST', '/sandboxes', { templateID: TEMPLATE, timeout: 3600 }), 201, 'create'),
	)
}

async function execute(caller, sbx, code, language) {
	const headers = {
		'E2b-Sandbox-Id': sbx.sandboxID,
		'E2b-Sandbox-Port': '49999',
		...(sbx.envdAccessToken && { 'X-Access-Token': sbx.envdAccessToken }),
	}
	const text = bodyOf(await caller.call('POST', '/execute', { code, language }, headers), 200, 'execute')
	const events = text
		.trim()
		.split('\n')
		.map((line) => JSON.parse(line))
	const error = events.find((e) => e.type === 'error')
	if (error) throw new Error(`${code}: ${error.name}: ${error.value}`)
	return events.find((e) => e.is_main_result)?.text
}

async function kill(caller, sbx) {
	bodyOf(await caller.call('DELETE', `/sandboxes/${sbx.sandboxID}`), 204, 'kill')
}

// Create to the first result, of one client.
async function oneFirst(caller, samples, parts) {
	const began = performance.now()
	const sbx = await create(caller)
	const created = performance.now()
	const two = await execute(caller, sbx, '1+1')
	if (two !== '2') throw new Error(`1+1 is ${two}`)
	samples.push(performance.now() - began)
	parts.push(created - began)
	return sbx
}

// n sandboxes, `width` of them on their way at any time, each killed when it has answered.
async function firsts(server, n, width) {
	const caller = new Caller(server, width)
	const samples = [],
		parts = []
	await inParallel(n, width, async () => kill(caller, await oneFirst(caller, samples, parts)))
	caller.close()
	return { clients: width, ...stats(samples), create: stats(parts) }
}

// `width` clients at the same moment, each with one sandbox; the kills come afterwards.
async function burst(server, width) {
	const caller = new Caller(server, width)
	const samples = [],
		parts = []
	const all = await Promise.allSettled(Array.from({ length: width }, () => oneFirst(caller, samples, parts)))
	const made = all.filter((a) => a.status === 'fulfilled').map((a) => a.value)
	await inParallel(made.length, 8, (i) => kill(caller, made[i]))
	caller.close()
	return {
		clients: width,
		errors: width - made.length,
		why: all.find((a) => a.reason)?.reason.message ?? null,
		...stats(samples),
	}
}

async function perSecond(server, width, seconds) {
	const caller = new Caller(server, width)
	const began = performance.now()
	let done = 0
	await inParallel(
		Infinity,
		width,
		async () => {
			await kill(caller, await create(caller))
			done++
		},
		() => performance.now() - began > seconds * 1000,
	)
	caller.close()
	return { width, seconds, perSecond: done / ((performance.now() - began) / 1000) }
}

async function trips(server, n, language, code) {
	const caller = new Caller(server, 1)
	const sbx = await create(caller)
	const samples = []
	let first
	for (let i = 0; i < n + 6; i++) {
		const began = performance.now()
		await execute(caller, sbx, code, language)
		const ms = performance.now() - began
		if (i === 0) first = ms
		else if (i > 5) samples.push(ms)
	}
	await kill(caller, sbx)
	caller.close()
	return { first, ...stats(samples) }
}

// The first cell of JavaScript in fresh sandboxes, beside `node -e 0` in the same sandboxes.
async function firstJavaScript(server, n) {
	const caller = new Caller(server, 1)
	const cell = [],
		node = []
	const floor = `
import os, time
t = time.perf_counter()
os.waitpid(os.posix_spawn("/usr/bin/node", ["node", "-e", "0"], os.environ), 0)
(time.perf_counter() - t) * 1000`
	for (let i = 0; i < n; i++) {
		const sbx = await create(caller)
		await execute(caller, sbx, '0')
		node.push(Number(await execute(caller, sbx, floor)))
		const began = performance.now()
		await execute(caller, sbx, '1+1', 'javascript')
		cell.push(performance.now() - began)
		await kill(caller, sbx)
	}
	caller.close()
	return { cell: stats(cell), node: stats(node), ratio: stats(cell).p50 / stats(node).p50 }
}

// Sandboxes with a live context that has pandas, left alone; the cost of one is the share of all its processes.
async function idle(server, steps) {
	const caller = new Caller(server, 8)
	const all = []
	const out = []
	try {
		for (const n of steps) {
			const began = performance.now()
			let why = null
			await inParallel(
				n - all.length,
				8,
				async () => {
					const sbx = await create(caller)
					all.push(sbx)
					await execute(
						caller,
						sbx,
						'import pandas as pd; pd.DataFrame({"a": [1]}).sum()["a"]',
					)
				},
				() => {
					if (memAvailable() < SPARE) why ??= 'memory is short'
					return why !== null
				},
			)
			const grewMs = performance.now() - began
			await sleep(2000)
			out.push({
				asked: n,
				live: all.length,
				why,
				grewMs,
				memory: pssOfGroup(server),
				...(await answers(server, all)),
			})
			if (why) break
		}
	} finally {
		await inParallel(all.length, 8, (i) => kill(caller, all[i]))
		caller.close()
	}
	return out
}

async function answers(server, all) {
	const caller = new Caller(server, 1)
	const api = [],
		exec = []
	for (let i = 0; i < 200; i++) {
		api.push((await caller.call('GET', `/sandboxes/${all[(i * 7) % all.length].sandboxID}`)).ms)
		const began = performance.now()
		await execute(caller, all[(i * 13) % all.length], '1+1')
		exec.push(performance.now() - began)
	}
	caller.close()
	return { api: stats(api), execute: stats(exec) }
}

async function metric(caller, name) {
	const text = (await caller.call('GET', '/metrics')).body.toString()
	return text
		.split('\n')
		.filter((line) => line.startsWith(`${name}{`) && line.includes(TEMPLATE))
		.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

export const poolIsFull = async (caller) => (await metric(caller, 'atoll_pool_ready')) >= POOL

// Every create finds a ready sandbox: the next one waits until the pool is full again.
export async function poolHits(server, n) {
	const caller = new Caller(server, 1)
	const samples = [],
		parts = []
	for (let i = 0; i < n + 2; i++) {
		if (!(await until(() => poolIsFull(caller), FILL_MS, 20))) throw new Error('the pool does not fill')
		await sleep(50)
		await kill(caller, await oneFirst(caller, i < 2 ? [] : samples, i < 2 ? [] : parts))
	}
	const hits = await metric(caller, 'atoll_pool_hits_total')
	const misses = await metric(caller, 'atoll_pool_misses_total')
	caller.close()
	return { ...stats(samples), create: stats(parts), hits, misses }
}

// Bursts on a server with the default pool: the first of all, and another one when the pool has grown for it.
export async function bursts(server, width = 50) {
	const caller = new Caller(server, 1)
	const settled = async (least) => {
		const target = await metric(caller, 'atoll_pool_target')
		return target >= least && (await metric(caller, 'atoll_pool_ready')) >= target
	}
	await warm({ caller })
	const result = {}
	for (const [which, least] of [
		['first', 1],
		['later', width / 2],
	]) {
		if (!(await until(() => settled(least), FILL_MS, 100)))
			throw new Error(`the pool has no ${least} members`)
		await sleep(1000)
		const before = await metric(caller, 'atoll_pool_hits_total')
		const got = await burst(server, width)
		result[which] = { ...got, hits: (await metric(caller, 'atoll_pool_hits_total')) - before }
	}
	caller.close()
	return result
}

// The first sandboxes of a server start interpreters of their own, until the template's warm one is there: how long
// that lasts, and what the slowest of them took. They are not part of the other figures.
async function fromStart(server) {
	const caller = new Caller(server, 1)
	const samples = []
	const ms = await timed(() => warm({ caller }, (one) => samples.push(one)))
	caller.close()
	return { ms, n: samples.length, slowest: Math.max(...samples) }
}

export async function interpreter(server, quick) {
	const result = { start: await fromStart(server) }
	result.first = await firsts(server, quick ? 20 : 100, 1)
	result.wide = await firsts(server, quick ? 20 : 100, 10)
	result.burst = await burst(server, 50)
	result.rate = await perSecond(server, 4, quick ? 3 : 10)
	result.execute = await trips(server, quick ? 100 : 500, 'python', '1+1')
	result.javascript = await trips(server, quick ? 50 : 200, 'javascript', '1+1')
	result.firstJavaScript = await firstJavaScript(server, quick ? 5 : 20)
	result.idle = await idle(server, quick ? [50] : [50, 500])
	return result
}
