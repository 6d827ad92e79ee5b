// SPDX-License-Identifier: Apache-2.0
// How figures grow: with the number of sandboxes that are alive, with the processors that the server may use, and with
// the size of a file.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { sleep } from '../tests/lib/host.mjs'
import { newServer } from '../tests/lib/server.mjs'
import { headersOf } from './calls.mjs'
import { Caller, inParallel, memAvailable, stats, timed } from './measure.mjs'
import { create, execute, kill, warm } from './versus.mjs'

const SIZES = path.join(path.dirname(fileURLToPath(import.meta.url)), 'sizes.py')
const SPARE = 2 * 2 ** 30 /* memory that is left alone */
const GROW_MS = 120000,
	GROW_EACH_MS = 60 /* for all sandboxes, and more for each */
const SAMPLES = 20
const ALIVE = [1, 10, 50, 100, 200, 500, 1000, 2000, 5000, 10000]
const WIDTH = 8

const common = { log_level: 'warn', warm_pool_size: 0, default_memory_mb: 512, pool_size_mb: 4096 }

async function sampleAt(caller, all, n, free) {
	const made = [],
		cell = []
	for (let i = 0; i < SAMPLES; i++) {
		let sbx
		made.push(await timed(async () => (sbx = await create(caller))))
		await kill(caller, sbx)
		cell.push(await timed(() => execute(caller, all[(i * 7919) % all.length], '1+1')))
	}
	const memory = (free - memAvailable()) / n
	const list = await caller.call('GET', '/sandboxes?limit=100')
	return { alive: n, create: stats(made), cell: stats(cell), memory, listMs: list.ms }
}

// Sandboxes with a Python context each, all of them alive.
async function alive(server, most) {
	const caller = new Caller(server, WIDTH)
	const all = [],
		steps = []
	let why = null
	await warm({ caller })
	await sleep(1000)
	const free = memAvailable(),
		patience = GROW_MS + GROW_EACH_MS * most,
		began = performance.now()
	try {
		for (const n of [...new Set([...ALIVE.filter((n) => n < most), most])]) {
			await inParallel(
				n - all.length,
				WIDTH,
				async () => {
					const sbx = await create(caller).catch((err) => (why ??= err.message) && null)
					if (!sbx) return
					all.push(sbx)
					await execute(caller, sbx, 'x = 1')
				},
				() => {
					if (memAvailable() < SPARE) why ??= 'memory is short'
					else if (performance.now() - began > GROW_MS)
						why ??= `${GROW_MS / 1000} s were not enough`
					return why !== null
				},
			)
			if (why) break
			steps.push(await sampleAt(caller, all, n, free))
		}
		if (why && all.length > (steps.at(-1)?.alive ?? 0) + 10)
			steps.push(await sampleAt(caller, all, all.length, free).catch(() => null))
	} finally {
		await inParallel(all.length, WIDTH, (i) => kill(caller, all[i]))
		caller.close()
	}
	return {
		asked: most,
		why: why && `${all.length} of ${most}: ${why.slice(0, 200)}`,
		steps: steps.filter(Boolean),
	}
}

// wrk keeps several cores busy, if it is there: one client in node would be what is measured.
function cellsByWrk(server, all, seconds) {
	const list = all.map((sbx) => `{${Object.entries(headersOf(sbx, 49999)).map(([k, v]) => `["${k}"]="${v}"`)}}`)
	const script = path.join(os.tmpdir(), `atoll-bench-${process.pid}.lua`)
	fs.writeFileSync(
		script,
		`local all = {${list}}
local i = 0
request = function()
	i = i % #all + 1
	all[i]["Content-Type"] = "application/json"
	return wrk.format("POST", "/execute", all[i], '{"code": "1+1"}')
end
`,
	)
	const threads = Math.max(1, Math.floor(os.cpus().length / 2))
	const args = [`-t${threads}`, `-c${Math.max(16, threads)}`, `-d${seconds}s`, '-s', script, server.url]
	const run = spawnSync('wrk', args, { encoding: 'utf8' })
	fs.rmSync(script)
	const m = /(\d+) requests in ([\d.]+)s/.exec(run.stdout)
	if (!m || /Non-2xx|Socket errors/.test(run.stdout)) throw new Error(`wrk: ${run.stdout} ${run.stderr}`)
	return Number(m[1]) / Number(m[2])
}

async function cellsByNode(caller, all, seconds) {
	const end = performance.now() + seconds * 1000
	let done = 0
	await inParallel(
		Infinity,
		16,
		async (i) => {
			await execute(caller, all[i % all.length], '1+1')
			done++
		},
		() => performance.now() > end,
	)
	return done / seconds
}

async function rates(server, seconds) {
	const caller = new Caller(server, 16)
	await warm({ caller })
	const end = performance.now() + seconds * 1000
	let done = 0
	await inParallel(
		Infinity,
		WIDTH,
		async () => {
			await kill(caller, await create(caller))
			done++
		},
		() => performance.now() > end,
	)
	const creates = done / seconds
	const all = []
	for (let i = 0; i < 8; i++) {
		all.push(await create(caller))
		await execute(caller, all[i], '0')
	}
	const wrk = spawnSync('wrk', ['-v'], { stdio: 'ignore' }).error === undefined
	const cells = wrk ? cellsByWrk(server, all, seconds) : await cellsByNode(caller, all, seconds)
	for (const sbx of all) await kill(caller, sbx)
	caller.close()
	return { creates, cells, client: wrk ? 'wrk' : 'node' }
}

// The server and all its sandboxes on the first 1, 2, 4, … processors; the client may use all of them.
async function processors(buildDir, seconds) {
	const most = os.cpus().length
	const steps = []
	let clean = true
	for (const n of [1, 2, 4, 8, 16, 32, 64].filter((k) => k < most).concat(most)) {
		const by = { before: ['taskset', '-c', `0-${n - 1}`] }
		const server = await newServer(buildDir, { ...common, max_sandboxes: 100 }, { by }).start()
		try {
			steps.push({ processors: n, ...(await rates(server, seconds)) })
		} finally {
			clean = (await server.stop()).clean && clean
		}
	}
	return { steps, clean }
}

function bySize(port, size, rounds, headers) {
	const child = spawn('python3', [SIZES, port, size, rounds], { stdio: ['pipe', 'pipe', 'pipe'] })
	let out = '',
		said = ''
	child.stdout.on('data', (part) => (out += part))
	child.stderr.on('data', (part) => (said += part))
	child.stdin.end(headers)
	return new Promise((done, fail) =>
		child.once('close', (code) => (code === 0 ? done(JSON.parse(out)) : fail(new Error(said.trim())))),
	)
}

async function sizes(server, quick) {
	const caller = new Caller(server, 1)
	const sbx = await create(caller, 'base')
	const headers = Object.entries(headersOf(sbx, 49983)).map(([name, value]) => `${name}: ${value}\r\n`)
	const steps = []
	for (let size = 1000; size <= 1e9; size *= 10) {
		const rounds = Math.max(size > 1e8 ? 3 : 5, Math.min(quick ? 100 : 300, Math.floor(1e7 / size)))
		const got = await bySize(server.port, size, rounds, headers.join(''))
		const ms = (list) => stats(list.map((s) => s * 1000))
		steps.push({ size, rounds, up: ms(got.up), down: ms(got.down) })
	}
	await kill(caller, sbx)
	caller.close()
	return { steps }
}

async function withServer(buildDir, config, use) {
	const server = await newServer(buildDir, { ...common, ...config }).start()
	let result
	try {
		result = await use(server)
	} finally {
		const { clean } = await server.stop()
		if (result) result.clean = clean
	}
	return result
}

// opt: { buildDir, quick, sandboxes }
export async function growth(opt) {
	const most = opt.sandboxes ?? (opt.quick ? 500 : 1000)
	const room = { default_disk_mb: 5120, pool_max_mb: 8192, default_memory_mb: 3072 }
	const result = {
		sizes: await withServer(opt.buildDir, room, (server) => sizes(server, opt.quick)),
		processors: await processors(opt.buildDir, opt.quick ? 5 : 10),
		alive: await withServer(opt.buildDir, { max_sandboxes: most + 8 }, (server) => alive(server, most)),
	}
	result.clean = Object.values(result).every((part) => part.clean)
	return result
}
