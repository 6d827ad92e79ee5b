// SPDX-License-Identifier: Apache-2.0
// As many live sandboxes as a machine is asked for: what each takes, what one answers that is touched, the list,
// metrics and expiry at that size, an honest refusal of the next one, and that nothing is left of them.
import fs from 'node:fs'
import { cgroupsOf, linksOf, preparedOf, until } from '../tests/lib/host.mjs'
import { Caller, cpuSeconds, daemonRss, inParallel, memAvailable, sandboxMemory, stats, timed } from './measure.mjs'

const SPARE = 4 * 2 ** 30 /* memory of the machine that is left alone */
const WIDTH = 8
const TOUCHED = 200
const EXPIRED = 100 /* at one moment */
const LIFE_S = 20 /* of these */
const IDLE_S = 10 /* over which the daemons are watched */
const GONE_MS = 600000

export const config = (n) => ({
	log_level: 'warn',
	max_sandboxes: n,
	pool_size_mb: 4096,
	pool_max_mb: 32768,
	default_memory_mb: 256,
	default_disk_mb: 256,
	warm_pool_size: 0,
})

const body = (res) => JSON.parse(res.body)

// Sandboxes until there are n, or something is used up.
async function grow(caller, template, ids, n) {
	const samples = []
	let why = null
	const ms = await timed(() =>
		inParallel(
			n - ids.length,
			WIDTH,
			async () => {
				const res = await caller.call('POST', '/sandboxes', {
					templateID: template,
					timeout: 86400,
				})
				if (res.status !== 201) why ??= `create answers ${res.status}: ${res.body}`
				else {
					ids.push(body(res).sandboxID)
					samples.push(res.ms)
				}
			},
			() => {
				if (memAvailable() < SPARE) why ??= `less than ${SPARE >> 20} MB are available`
				return why !== null
			},
		),
	)
	return { ms, create: stats(samples), why }
}

// A command in sandboxes that have done nothing since they were made: its start, its output and its end.
function touch(caller, id) {
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

async function touched(caller, ids) {
	const chosen = Array.from(
		{ length: Math.min(TOUCHED, ids.length) },
		() => ids[Math.floor(Math.random() * ids.length)],
	)
	const samples = []
	let bad = 0
	for (const id of chosen) {
		const res = await touch(caller, id)
		samples.push(res.ms)
		bad += res.status !== 200 || !String(res.body).includes(Buffer.from('here\n').toString('base64'))
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
	const some = ids.slice(0, EXPIRED)
	const ends = []
	await inParallel(some.length, WIDTH, async (i) => {
		await caller.call('POST', `/sandboxes/${some[i]}/timeout`, { timeout: LIFE_S })
		ends.push(Date.now() + LIFE_S * 1000)
	})
	const due = Math.max(...ends)
	const isGone = async (id) => (await caller.call('GET', `/sandboxes/${id}`)).status === 404
	for (const id of some)
		if (!(await until(() => isGone(id), LIFE_S * 1000 + 60000, 20)))
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
		await grow(caller, template, ids, Math.min(8, n))
		const before = memAvailable(),
			rss = daemonRss(server)
		const got = { asked: n, template, ...(await grow(caller, template, ids, n)), live: ids.length }
		got.each = (before - memAvailable()) / (ids.length - 8)
		got.rss = { before: rss, after: daemonRss(server) }
		got.charged = sandboxMemory(server).cgroup
		got.idle = await idle(server)
		got.touched = await touched(one, ids)
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
		ids.splice(0, EXPIRED)
		const began = performance.now()
		await inParallel(ids.length, 32, (i) => caller.call('DELETE', `/sandboxes/${ids[i]}`))
		got.killed = { n: ids.length, answered: performance.now() - began }
		ids.length = 0
		if (!(await until(() => left(server) === 0, GONE_MS, 200)))
			throw new Error(`${left(server)} links and cgroups are left`)
		got.killed.gone = performance.now() - began
		return got
	} finally {
		await inParallel(ids.length, 32, (i) => caller.call('DELETE', `/sandboxes/${ids[i]}`))
		caller.close()
		one.close()
	}
}
