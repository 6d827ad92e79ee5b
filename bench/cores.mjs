// SPDX-License-Identifier: Apache-2.0
// The front with one, two and four threads (front_threads): executions per second over plain HTTP and over TLS, what
// each costs the main thread and the others, and how often a thread waits for another.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { until } from '../tests/lib/host.mjs'
import { newServer } from '../tests/lib/server.mjs'
import { headersOf } from './calls.mjs'
import { Caller, frontOf, inParallel, stats, timed } from './measure.mjs'
import { create, kill, warm } from './versus.mjs'

export const CONFIG = { default_memory_mb: 512 }
const THREADS = [1, 2, 4]
const SANDBOXES = 8
const EACH = 4 /* clients of each sandbox, with a connection each */
const ROUND = 800 /* executions of one sample */
const COUNTED = 400 /* executions whose waits are counted */

// Processor time of the threads of the front, in nanoseconds: of the main one, and of the others together.
function threadsNs(pid) {
	const sum = { main: 0, others: 0, n: 0 }
	for (const task of fs.readdirSync(`/proc/${pid}/task`)) {
		const ns = Number(fs.readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0])
		sum[Number(task) === pid ? 'main' : 'others'] += ns
		sum.n++
	}
	return sum
}

async function execute({ caller, sbx }) {
	const res = await caller.call('POST', '/execute', { code: '1+1' }, headersOf(sbx, 49999))
	if (res.status !== 200 || !res.body.toString().includes('"text":"2"'))
		throw new Error(`execute answers ${res.status}: ${res.body.toString().slice(0, 200)}`)
}

async function round(clients, n) {
	let next = 0
	await inParallel(n, clients.length * EACH, () => execute(clients[next++ % clients.length]))
}

// Calls of futex(2): a thread has found a lock taken, or has woken one that has.
async function waits(front, clients) {
	const file = path.join(os.tmpdir(), `atoll-bench-cores-${process.pid}`)
	const strace = spawn('strace', ['-f', '-c', '-e', 'trace=futex', '-o', file, '-p', String(front)], {
		stdio: ['ignore', 'ignore', 'ignore'],
	})
	const over = once(strace, 'exit')
	const traced = () => !/^TracerPid:\t0$/m.test(fs.readFileSync(`/proc/${front}/status`, 'utf8'))
	try {
		if (!(await until(traced, 10000, 10))) throw new Error('strace does not attach')
		await round(clients, COUNTED)
		strace.kill('SIGINT')
		await over
		const line = /(\d+)\s+(?:\d+\s+)?futex$/m.exec(fs.readFileSync(file, 'utf8'))
		return Number(line?.[1] ?? 0) / COUNTED
	} finally {
		strace.kill('SIGINT')
		fs.rmSync(file, { force: true })
	}
}

async function measure(buildDir, threads, rounds) {
	const server = await newServer(buildDir, { ...CONFIG, front_threads: threads }).start()
	const callers = [],
		result = { threads }
	try {
		const api = new Caller(server, 8)
		callers.push(api)
		await warm({ server, caller: api })
		const clients = []
		for (let i = 0; i < SANDBOXES; i++) {
			// As clients with a host name for each sandbox, which have connections for each.
			clients.push({ caller: new Caller(server, EACH), sbx: await create(api) })
			callers.push(clients.at(-1).caller)
		}
		await round(clients, ROUND)
		const front = frontOf(server),
			perSecond = [],
			main = [],
			others = []
		for (let i = 0; i < rounds; i++) {
			const before = threadsNs(front)
			const ms = await timed(() => round(clients, ROUND))
			const after = threadsNs(front)
			perSecond.push((ROUND / ms) * 1000)
			main.push((after.main - before.main) / ROUND / 1000)
			others.push((after.others - before.others) / ROUND / 1000)
		}
		result.running = threadsNs(front).n
		result.rss = Number(/^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${front}/status`, 'utf8'))?.[1])
		result.perSecond = stats(perSecond)
		result.mainUs = stats(main)
		result.othersUs = stats(others)
		result.waits = await waits(front, clients)
		for (const { sbx } of clients) await kill(api, sbx)
	} finally {
		for (const caller of callers) caller.close()
		result.clean = (await server.stop()).clean
	}
	return result
}

export async function cores(buildDir, quick) {
	const widths = []
	for (const threads of THREADS) widths.push(await measure(buildDir, threads, quick ? 5 : 20))
	return { widths, clean: widths.every((w) => w.clean) }
}
