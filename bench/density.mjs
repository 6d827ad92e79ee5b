// SPDX-License-Identifier: Apache-2.0
// As many live sandboxes as a machine is asked for: what each takes, what one answers that is touched, the list,
// metrics and expiry at that size, an honest refusal of the next one, and that nothing is left of them.
import fs from 'node:fs'
import { cgroupsOf, linksOf, preparedOf, swapsOf, until } from '../tests/lib/host.mjs'
import { Caller, cpuSeconds, daemonRss, inParallel, memAvailable, sandboxMemory, stats, timed } from './measure.mjs'
import { warm } from './versus.mjs'

const SPARE = 4 * 2 ** 30 /* memory of the machine that is left alone */
const WIDTH = 8
const TOUCHED = 200
const LATE_MAX = 100 /* creates that may take too long on a busy machine before this is given up */
const LIFE_S = 30 /* of those that end at one moment */
const WIDE = 32
const ENDS = 200 /* first and last creates that are compared */
const IDLE_S = 10 /* over which the daemons are watched */
const GONE_MS = 600000
const SETTLE_MS = 3600000
const SETTLE_STEP_MS = 30000 /* longer than a round of the reclaimer */
const SETTLED = 0.02

export const config = (n, opt) => ({
	log_level: 'warn',
	max_sandboxes: n,
	idle_memory: opt.zram ? 'compress' : 'keep',
	idle_after_s: opt.idleAfter ?? 60,
	idle_zram_mb: opt.zram ?? 0,
	pool_size_mb: 4096,
	pool_max_mb: 32768,
	default_memory_mb: 256,
	default_disk_mb: 256,
	warm_pool_size: 0,
})

const isInterpreter = (template) => template.startsWith('code-interpreter')

// What the machine's memory is used for, in bytes.
const KINDS = ['AnonPages', 'Shmem', 'PageTables', 'KernelStack', 'SReclaimable', 'SUnreclaim', 'Percpu', 'Cached']

function kinds() {
	const text = fs.readFileSync('/proc/meminfo', 'utf8')
	const of = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0) * 1024
	return {
		used: of('MemTotal') - of('MemAvailable'),
		...Object.fromEntries(KINDS.map((name) => [name, of(name)])),
	}
}

// Of the server's own compressed swap: bytes that are in it, and memory that they take.
function compressed(server) {
	for (const name of swapsOf(server.slot)) {
		const [held, , memory] = fs
			.readFileSync(`/sys/block/${name}/mm_stat`, 'utf8')
			.trim()
			.split(/\s+/)
			.map(Number)
		return { held, memory }
	}
	return { held: 0, memory: 0 }
}

// What each of n sandboxes takes of the machine, by kind, and what it is charged for.
function cost(server, base, n) {
	const now = kinds(),
		swap = compressed(server)
	const parts = Object.fromEntries(Object.entries(now).map(([name, bytes]) => [name, (bytes - base[name]) / n]))
	return { ...parts, charged: sandboxMemory(server).cgroup.p50, swapped: swap.held / n, zram: swap.memory / n }
}

// Until the reclaimer has little left to do, or an hour: it takes a tenth of a processor.
async function settle(server) {
	const began = performance.now()
	let last = 0
	await until(
		() => {
			const { held } = compressed(server),
				done = held > 0 && Math.abs(held - last) < SETTLED * held
			last = held
			return done
		},
		SETTLE_MS,
		SETTLE_STEP_MS,
	)
	return performance.now() - began
}

// Sandboxes until there are n, or something is used up.
async function grow(caller, template, ids, n) {
	const samples = []
	let why = null,
		late = 0
	const ms = await timed(() =>
		inParallel(
			n - ids.length,
			WIDTH,
			async () => {
				const body = { templateID: template, timeout: 86400 }
				let res
				do res = await caller.call('POST', '/sandboxes', body)
				while (res.status === 504 && ++late <= LATE_MAX)
				if (res.status !== 201) {
					why ??= `create answers ${res.status}: ${res.body}`
					return
				}
				const id = JSON.parse(res.body).sandboxID
				ids.push(id)
				samples.push(res.ms)
				if (isInterpreter(template)) await prepare(caller, id)
			},
			() => {
				if (memAvailable() < SPARE) why ??= `less than ${SPARE >> 20} MB are available`
				return why !== null
			},
		),
	)
	const rate = samples.length / (ms / 1000)
	return {
		ms,
		late,
		rate,
		create: stats(samples),
		first: stats(samples.slice(0, ENDS)),
		last: stats(samples.slice(-ENDS)),
		why,
	}
}

function execute(caller, id, code) {
	return caller.send('POST', '/execute', JSON.stringify({ code }), {
		'Content-Type': 'application/json',
		'E2b-Sandbox-Id': id,
		'E2b-Sandbox-Port': '49999',
	})
}

// An interpreter is alive when it has run a cell, and knows something that no other does.
async function prepare(caller, id) {
	const res = await execute(caller, id, `import pandas; mine = '${id}'`)
	if (res.status !== 200 || String(res.body).includes('"error"')) throw new Error(`${id}: ${res.body}`)
}

// A command in sandboxes that have done nothing since they were made: its start, its output and its end. In an
// interpreter it is a cell that asks for what an earlier one has left.
async function touch(caller, id, template) {
	if (isInterpreter(template)) {
		const res = await execute(caller, id, 'print(mine)')
		return { ...res, good: res.status === 200 && String(res.body).includes(`${id}\\n`) }
	}
	const res = await command(caller, id)
	return {
		...res,
		good: res.status === 200 && String(res.body).includes(Buffer.from('here\n').toString('base64')),
	}
}

function command(caller, id) {
	const bytes = Buffer.from(JSON.stringify({ process: { cmd: '/bin/echo', args: ['here'] }, stdin: false }))
	const head = Buffer.alloc(5)
	head.writeUInt32BE(bytes.length, 1)
	return caller.send('POST', '/process.Process/Start', Buffer.concat([head, bytes]), {
		'Content-Type': 'application/connect+json',
		'Connect-Protocol-Version': '1',
		'E2b-Sandbox-Id': id,
		'E2b-Sandbox-Port': '49983',
	})
}

async function touched(caller, ids, template) {
	const chosen = Array.from(
		{ length: Math.min(TOUCHED, ids.length) },
		() => ids[Math.floor(Math.random() * ids.length)],
	)
	const samples = []
	let bad = 0
	for (const id of chosen) {
		const res = await touch(caller, id, template)
		samples.push(res.ms)
		bad += !res.good
	}
	return { ...stats(samples), bad }
}

async function times(n, call) {
	const samples = []
	for (let i = 0; i < n; i++) samples.push((await call()).ms)
	return stats(samples)
}

// Some end by themselves at one moment: how long after it the last is gone from the list.
async function expiry(caller, ids) {
	const some = ids.splice(0, Math.ceil(ids.length / 2))
	let due = 0
	await inParallel(some.length, WIDE, async (i) => {
		await caller.call('POST', `/sandboxes/${some[i]}/timeout`, { timeout: LIFE_S })
		due = Math.max(due, Date.now() + LIFE_S * 1000)
	})
	const isGone = async (id) => (await caller.call('GET', `/sandboxes/${id}`)).status === 404
	for (const id of some)
		if (!(await until(() => isGone(id), LIFE_S * 1000 + GONE_MS, 20)))
			throw new Error(`${id} does not expire`)
	return { n: some.length, lateMs: Math.max(0, Date.now() - due) }
}

// Processor time of the daemons while nobody asks for anything, as a share of one processor.
async function idle(server) {
	const all = fs
		.readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8')
		.trim()
		.split(' ')
		.map(Number)
	const used = () => [server.pid, ...all].map(cpuSeconds)
	const before = used()
	await new Promise((done) => setTimeout(done, IDLE_S * 1000))
	const shares = used().map((now, i) => (now - before[i]) / IDLE_S)
	const names = [server.pid, ...all].map((pid) => fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim())
	return Object.fromEntries(names.map((name, i) => [name, shares[i]]).filter(([, share]) => share >= 0.005))
}

const left = ({ slot, pid }) =>
	linksOf(slot).length - preparedOf(pid) + cgroupsOf(slot).filter((dir) => /\/i[a-z0-9]{19}$/.test(dir)).length

export async function density(server, n, opt) {
	const caller = new Caller(server, WIDTH)
	const one = new Caller(server, 1)
	const ids = []
	const template = opt.template ?? 'base'
	try {
		/* the first ones start what all of them share */
		if (isInterpreter(template)) await warm({ caller: one })
		await grow(caller, template, ids, Math.min(8, n))
		const before = kinds(),
			rss = daemonRss(server)
		const got = { asked: n, template, ...(await grow(caller, template, ids, n)), live: ids.length }
		got.each = cost(server, before, ids.length - 8)
		if (opt.zram) {
			got.settled = await settle(server)
			got.reclaimed = cost(server, before, ids.length - 8)
		}
		got.rss = { before: rss, after: daemonRss(server) }
		got.idle = await idle(server)
		got.touched = await touched(one, ids, template)
		got.list = await times(10, () => one.call('GET', '/sandboxes'))
		got.page = await times(50, () => one.call('GET', '/v2/sandboxes?limit=100'))
		got.metrics = await times(10, () => one.call('GET', '/metrics'))
		got.info = await times(50, () =>
			one.call('GET', `/sandboxes/${ids[Math.floor(Math.random() * ids.length)]}`),
		)
		if (!got.why) {
			const res = await one.call('POST', '/sandboxes', { templateID: template, timeout: 60 })
			got.beyond = { status: res.status, text: String(res.body) }
		}
		got.expiry = await expiry(caller, ids)
		const began = performance.now()
		await inParallel(ids.length, WIDE, (i) => caller.call('DELETE', `/sandboxes/${ids[i]}`))
		got.killed = { n: ids.length, answered: performance.now() - began }
		ids.length = 0
		if (!(await until(() => left(server) === 0, GONE_MS, 200)))
			throw new Error(`${left(server)} links and cgroups are left`)
		got.killed.gone = performance.now() - began
		return got
	} finally {
		await inParallel(ids.length, WIDE, (i) => caller.call('DELETE', `/sandboxes/${ids[i]}`))
		caller.close()
		one.close()
	}
}
