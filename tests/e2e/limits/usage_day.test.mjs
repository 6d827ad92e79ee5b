// SPDX-License-Identifier: Apache-2.0
// A scripted day, hours long by a clock that is moved: the report of usage adds up to what the log of events says.
// And what is old is forgotten.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { api, createRaw, killRaw, server } from '../../lib/client.mjs'
import { Clock, DAY, HOUR, MINUTE, serverWithClock } from '../../lib/clock.mjs'
import { alive, childrenOf, nameOf, until } from '../../lib/host.mjs'

const EXACT = 0.001 // 0.1 %
let clock, own

before(async () => {
	clock = new Clock()
	own = await serverWithClock(server.buildDir, clock, {
		default_cpus: 1,
		default_memory_mb: 256,
		paused_kept_s: 0,
		history_kept_s: 3 * 86400,
		logs_kept_s: 2 * 86400,
		events_kept_s: 4 * 86400,
		snapshots_kept_s: 86400,
	}).start()
})
after(async () => {
	const end = own && (await own.stop())
	clock.remove()
	assert.ok(!end || end.clean, JSON.stringify(end?.left))
})

const opt = () => ({ base: own.url, key: own.key })
const call = (method, where, body) => api(method, where, body, opt())
const about = (sbx, what, body) => call('POST', `/sandboxes/${sbx.sandboxID}/${what}`, body)
const state = async (sbx) => (await call('GET', `/sandboxes/${sbx.sandboxID}`)).json?.state

async function pass(ms) {
	clock.pass(ms)
	for (let i = 0; i < 2; i++) assert.equal((await call('GET', '/health')).status, 204)
}

async function killFront() {
	const front = childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-front')
	process.kill(front, 'SIGKILL')
	assert.ok(await until(() => !alive(front), 5000))
	assert.ok(await until(async () => (await call('GET', '/health').catch(() => ({}))).status === 204, 20000, 50))
}

async function events() {
	const all = []
	for (;;) {
		const page = (await call('GET', `/events/sandboxes?limit=100&orderAsc=true&offset=${all.length}`)).json
		all.push(...page)
		if (page.length < 100) return all
	}
}

// What the log says: runs from created or resumed to paused or killed, with the limits of the time; by sandbox and by
// day.
function tally(log) {
	const runs = new Map(),
		sums = { seconds: 0, vcpu: 0, gib: 0, by: new Map(), days: new Map() }
	const close = (id, until) => {
		const run = runs.get(id)
		if (!run.since) return
		for (let from = run.since; from < until;) {
			const end = Math.min(until, (Math.floor(from / DAY) + 1) * DAY),
				s = (end - from) / 1000,
				day = new Date(from).toISOString().slice(0, 10)
			sums.seconds += s
			sums.vcpu += s * run.cpus
			sums.gib += (s * run.memoryMB) / 1024
			sums.by.set(id, (sums.by.get(id) ?? 0) + s)
			sums.days.set(day, (sums.days.get(day) ?? 0) + s)
			from = end
		}
		run.since = until
	}
	for (const { type, sandbox_id: id, timestamp, event_data: data } of log) {
		const at = +new Date(timestamp),
			kind = type.split('.').at(-1)
		if (kind === 'created')
			runs.set(id, { since: at, cpus: data.limits.cpus, memoryMB: data.limits.memoryMB })
		else if (kind === 'resumed') runs.get(id).since = at
		else if (kind === 'updated' && data.limits) {
			close(id, at)
			Object.assign(runs.get(id), { cpus: data.limits.cpus, memoryMB: data.limits.memoryMB })
		} else if (kind === 'paused' || kind === 'killed') {
			close(id, at)
			runs.get(id).since = 0
		}
	}
	return sums
}

const near = (got, want, what) =>
	assert.ok(Math.abs(got - want) <= EXACT * want, `${what}: ${got}, the log says ${want}`)

test(
	'a day of pauses, forks, snapshots, changed limits and killed fronts adds up to the log within ' + '0.1 %',
	async () => {
		clock.pass(2 * DAY - (+clock.now() % DAY) - 5 * HOUR) // it is 19:00: the script goes over midnight
		const a = await createRaw({ timeout: 86400, metadata: { agent: 'ada' } }, opt()),
			b = await createRaw({ timeout: 3600, metadata: { agent: 'bob' } }, opt())
		const c = await createRaw({ timeout: 7200, autoPause: true, metadata: { agent: 'ada' } }, opt())
		await pass(50 * MINUTE)
		assert.equal((await about(a, 'pause')).status, 204)
		await pass(20 * MINUTE) // b is over meanwhile
		assert.ok(await until(async () => (await state(b)) === undefined, 5000))
		assert.equal(
			(await call('POST', `/v2/sandboxes/${a.sandboxID}/connect`, { timeout: 86400 })).status,
			201,
		)
		await pass(25 * MINUTE)
		assert.equal(
			(await call('PATCH', `/sandboxes/${a.sandboxID}/limits`, { cpus: 2, memoryMB: 512 })).status,
			200,
		)
		await pass(40 * MINUTE) // c is paused at its end
		assert.ok(
			await until(
				async () =>
					(await call('GET', `/sandboxes/${c.sandboxID}`)).json.pausedMemory !==
					undefined,
				30000,
			),
		)
		await killFront()
		await pass(10 * MINUTE)
		assert.equal((await about(a, 'snapshots', { name: 'noon' })).status, 201)
		const forked = await about(a, 'fork', { count: 2 })
		assert.ok(forked.status < 300, forked.text)
		const copies = forked.json.map((one) => one.sandbox ?? one).filter((one) => one.sandboxID)
		assert.equal(copies.length, 2, forked.text)
		await pass(95 * MINUTE)
		await killFront()
		assert.equal(
			(await call('POST', `/v2/sandboxes/${c.sandboxID}/connect`, { timeout: 86400 })).status,
			201,
		)
		await pass(3 * HOUR) // past midnight
		clock.pass(7 * MINUTE) // ... and while no front is there
		await killFront()
		assert.equal((await about(c, 'pause', { memory: false })).status, 204)
		await pass(HOUR)
		await killRaw(copies[0], opt())
		await pass(2 * HOUR)
		await killRaw(copies[1], opt())
		await pass(9 * MINUTE)
		await killRaw(a, opt())
		await killRaw(c, opt()) // paused: it does not count again

		const log = tally(await events())
		const report = async (by) => (await call('GET', `/usage?by=${by}`)).json
		const all = await report('sandbox')
		assert.ok(log.seconds > 18 * 3600, `${log.seconds}`)
		near(all.total.seconds, log.seconds, 'seconds')
		near(all.total.vcpuSeconds, log.vcpu, 'vcpu-seconds')
		near(all.total.gibSeconds, log.gib, 'GiB-seconds')
		assert.equal(all.rows.length, 5)
		for (const row of all.rows) near(row.seconds, log.by.get(row.by.sandbox), row.by.sandbox)
		const days = await report('day')
		assert.equal(days.rows.length, 2)
		for (const row of days.rows) near(row.seconds, log.days.get(row.by.day), row.by.day)
		const tags = await report('tag:agent')
		near(tags.rows.find((row) => row.by['tag:agent'] === 'bob').seconds, log.by.get(b.sandboxID), 'bob')
		const runs = (await events()).filter(
			(one) => /killed|paused/.test(one.type) && one.sandbox_id !== c.sandboxID,
		)
		near(
			runs.reduce((sum, one) => sum + one.event_data.execution.execution_time / 1000, 0),
			log.seconds - log.by.get(c.sandboxID),
			'the runs that events tell of',
		)
	},
)

test('what is older than the settings say is gone: snapshots, logs, history, events', async () => {
	const sbx = await createRaw({ timeout: 600, metadata: { agent: 'old-timer' } }, opt())
	assert.equal((await about(sbx, 'snapshots', { name: 'kept' })).status, 201)
	await killRaw(sbx, opt())
	const logs = async () => (await call('GET', `/v2/sandboxes/${sbx.sandboxID}/logs`)).json?.logs?.length ?? 0
	const there = {
		snapshot: async () =>
			(await call('GET', '/snapshots')).json.some(
				(one) => one.sandboxID === sbx.sandboxID || JSON.stringify(one).includes('kept'),
			),
		logs: async () => (await logs()) > 0,
		history: async () =>
			/it ended at/.test((await call('GET', `/sandboxes/${sbx.sandboxID}`)).json.message),
		events: async () => (await call('GET', `/events/sandboxes/${sbx.sandboxID}`)).json.length > 0,
	}
	const look = async () =>
		Object.fromEntries(
			await Promise.all(Object.entries(there).map(async ([name, is]) => [name, await is()])),
		)
	let left = { snapshot: true, logs: true, history: true, events: true }
	assert.deepEqual(await look(), left)
	for (const [ms, name] of [
		[DAY + HOUR, 'snapshot'],
		[DAY, 'logs'],
		[DAY, 'history'],
		[DAY, 'events'],
	]) {
		assert.deepEqual(await look(), left)
		await pass(ms)
		left = { ...left, [name]: false }
		assert.ok(
			await until(async () => JSON.stringify(await look()) === JSON.stringify(left), 25000, 200),
			`${name}: ${JSON.stringify(await look())}`,
		)
	}
	assert.ok(
		(await call('GET', '/usage?by=tag:agent')).json.rows.some((row) => row.by['tag:agent'] === 'old-timer'),
		'the bill is kept longer',
	)
	await pass(401 * DAY)
	const from = new Date(+clock.now() - 500 * DAY).toISOString().slice(0, 10)
	assert.ok(
		await until(
			async () => (await call('GET', `/usage?by=tag:agent&from=${from}`)).json.rows.length === 0,
			25000,
			300,
		),
	)
	for (const file of fs.readdirSync(`${own.stateDir}/front`).filter((one) => one === 'atoll.db'))
		assert.ok(fs.statSync(`${own.stateDir}/front/${file}`).size < 64 << 20)
})
