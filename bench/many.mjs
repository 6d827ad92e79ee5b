// SPDX-License-Identifier: Apache-2.0
// A server with many live sandboxes: the list, the rate of small requests, the memory of it all.
import { spawn, spawnSync } from 'node:child_process'
import os from 'node:os'
import {
	Caller,
	cpuSeconds,
	daemonRss,
	frontOf,
	inParallel,
	memAvailable,
	sandboxMemory,
	stats,
	timed,
} from './measure.mjs'

const GROW_MS = 60000 /* for the sandboxes of one step */
const SPARE = 2 * 2 ** 30 /* memory that is left alone */
const CONNECTIONS = 16

export const config = (n) => ({ log_level: 'warn', max_sandboxes: n, pool_size_mb: 2048, default_memory_mb: 512 })

// Starts sandboxes until there are n, or the time or the memory is used up.
async function grow(caller, ids, n) {
	const began = performance.now()
	let why = null
	await inParallel(
		n - ids.length,
		8,
		async () => {
			const res = await caller.call('POST', '/sandboxes', { templateID: 'base', timeout: 3600 })
			if (res.status === 201) ids.push(JSON.parse(res.body).sandboxID)
			else why ??= `create answers ${res.status}: ${res.body}`
		},
		() => {
			if (performance.now() - began > GROW_MS) why ??= `${GROW_MS / 1000} s were not enough`
			else if (memAvailable() < SPARE) why ??= 'memory is short'
			return why !== null
		},
	)
	return { asked: n, live: ids.length, ms: performance.now() - began, why }
}

async function listTimes(server, n, count) {
	const caller = new Caller(server, 1)
	const samples = []
	let bytes
	for (let i = 0; i < n + 5; i++) {
		const res = await caller.call('GET', '/sandboxes')
		if (i === 0 && (res.status !== 200 || JSON.parse(res.body).length !== count))
			throw new Error(
				`the list answers ${res.status}, ` +
					`with ${JSON.parse(res.body).length} of ${count} sandboxes`,
			)
		bytes = res.body.length
		if (i >= 5) samples.push(res.ms)
	}
	caller.close()
	return { ...stats(samples), bytes }
}

function withWrk(url, headers, seconds, pin) {
	const args = ['wrk', '-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, ...headers.flatMap((h) => ['-H', h]), url]
	return new Promise((done, fail) => {
		const child = spawn(pin ? 'taskset' : args[0], pin ? ['-c', '1', ...args] : args.slice(1), {
			stdio: ['ignore', 'pipe', 'inherit'],
		})
		let text = ''
		child.stdout.on('data', (part) => {
			text += part
		})
		child.once('error', fail)
		child.once('close', () => {
			const m = /(\d+) requests in ([\d.]+)(m?s|m)/.exec(text)
			const bad = /Non-2xx or 3xx responses: (\d+)/.exec(text) ?? /Socket errors: (.*)/.exec(text)
			if (!m || bad) fail(new Error(`wrk ${url}: ${bad?.[0] ?? text}`))
			else done({ requests: Number(m[1]), seconds })
		})
	})
}

async function withNode(server, where, seconds) {
	const caller = new Caller(server, CONNECTIONS)
	const end = performance.now() + seconds * 1000
	let requests = 0
	await inParallel(
		Infinity,
		CONNECTIONS,
		async () => {
			const res = await caller.call('GET', where)
			if (res.status >= 300) throw new Error(`${where} answers ${res.status}`)
			requests++
		},
		() => performance.now() > end,
	)
	caller.close()
	return { requests, seconds }
}

// Requests per second of a front that has one core to itself, as far as the machine is ours; and per second of CPU
// time that it used.
async function rate(server, where, seconds) {
	const front = frontOf(server)
	const wrk = spawnSync('wrk', ['-v'], { stdio: 'ignore' }).error === undefined
	const pin =
		os.cpus().length > 1 &&
		spawnSync('taskset', ['-a', '-c', '-p', '0', front], { stdio: 'ignore' }).status === 0
	try {
		const before = cpuSeconds(front)
		const got = wrk
			? await withWrk(server.url + where, [`X-API-Key: ${server.key}`], seconds, pin)
			: await withNode(server, where, seconds)
		const cpu = cpuSeconds(front) - before
		return {
			client: wrk ? 'wrk' : 'node',
			connections: CONNECTIONS,
			pinned: pin,
			...got,
			perSecond: got.requests / got.seconds,
			cpuSeconds: cpu,
			perCpuSecond: got.requests / cpu,
		}
	} finally {
		if (pin)
			spawnSync('taskset', ['-a', '-c', '-p', `0-${os.cpus().length - 1}`, front], {
				stdio: 'ignore',
			})
	}
}

async function step(server, caller, ids, n, opt) {
	const before = daemonRss(server)
	const grown = await grow(caller, ids, n)
	if (!ids.length) throw new Error(`no sandbox starts: ${grown.why}`)
	const rss = daemonRss(server) /* of the sandboxes, before the lists */
	const list = await listTimes(server, opt.quick ? 50 : 200, ids.length)
	return { ...grown, before, rss, list, listRss: daemonRss(server), sandbox: sandboxMemory(server) }
}

// One step per number of sandboxes; the rates are taken with all of the first step live.
export async function many(server, numbers, opt) {
	const caller = new Caller(server, 8)
	const ids = []
	const seconds = opt.quick ? 2 : 5
	const result = { steps: [] }
	try {
		result.health = await rate(server, '/health', seconds)
		for (const n of numbers) {
			result.steps.push(await step(server, caller, ids, n, opt))
			result.listRate ??= { live: ids.length, ...(await rate(server, '/sandboxes', seconds)) }
			if (result.steps.at(-1).why) break
		}
	} finally {
		result.killMs = await timed(() =>
			inParallel(ids.length, 8, (i) => caller.call('DELETE', `/sandboxes/${ids[i]}`)),
		)
		caller.close()
	}
	return result
}
