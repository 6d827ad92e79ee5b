// SPDX-License-Identifier: Apache-2.0
// When sandboxes end, by the hour and by the day: the clocks of the front are moved, so nothing here waits for them.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { api, createRaw, envd, endOf, killRaw, outputOf, server, start } from '../lib/client.mjs'
import { Clock, DAY, HOUR, MINUTE, serverWithClock } from '../lib/clock.mjs'
import { childrenOf, nameOf, remains, traceOf, until } from '../lib/host.mjs'
import { atoll } from '../lib/cli.mjs'

const CONFIG = { max_lifetime_s: 0, history_kept_s: 14 * 24 * 3600, paused_kept_s: 7 * 24 * 3600 }
const SLACK = 20_000 // what the calls themselves may take
let clock, own

before(async () => {
	clock = new Clock()
	own = await serverWithClock(server.buildDir, clock, CONFIG).start()
})
after(async () => {
	const end = own && (await own.stop())
	clock.remove()
	assert.ok(!end || end.clean, JSON.stringify(end?.left))
})

const opt = (at = own) => ({ base: at.url, key: at.key })
const create = (body, at) => createRaw({ ...body }, opt(at))
const call = (sbx, what, body, at) => api('POST', `/sandboxes/${sbx.sandboxID}/${what}`, body, opt(at))
const info = async (sbx, at) => (await api('GET', `/sandboxes/${sbx.sandboxID}`, undefined, opt(at))).json
const isThere = async (sbx, at) => (await api('GET', `/sandboxes/${sbx.sandboxID}`, undefined, opt(at))).status === 200
// As the API tells it already while it is being paused; where its memory is only afterwards.
const isPaused = async (sbx, at) => (await info(sbx, at)).pausedMemory !== undefined
const gone = (sbx, at) => until(async () => !(await isThere(sbx, at)), 5000, 50)

async function run(sbx, command) {
	const got = await start(sbx, command, { base: own.url })
	const over = await got.ended
	assert.equal(
		endOf(got.events)?.status,
		'exit status 0',
		`${command}: ${JSON.stringify([got.status, over, got.events])}`,
	)
	// The front has to have seen the end as well, or time passes while it still counts as used: then this moves on.
	const used = async () => (await info(sbx)).lastActivityAt
	assert.ok(await until(async () => (await used()) === (await used()), 5000, 20))
	return outputOf(got.events).trim()
}

// Time passes, and the front has noticed: what is due is done in the round of its loop after the first of these.
async function pass(ms, at = own) {
	clock.pass(ms)
	for (let i = 0; i < 2; i++) assert.equal((await api('GET', '/health', undefined, opt(at))).status, 204)
}

async function endsIn(sbx, ms, at) {
	const left = new Date((await info(sbx, at)).endAt) - clock.now()
	assert.ok(left <= ms + 1000 && left > ms - SLACK, `it ends in ${left / 1000} s, not in ${ms / 1000} s`)
}

test('a sandbox is there until its hour has come, and then nothing of it is', async () => {
	const [hour, two] = [await create({ timeout: 3600 }), await create({ timeout: 7200 })]
	const traces = await Promise.all(
		[hour, two].map(async (sbx) => traceOf(own.slot, (await run(sbx, 'hostname -I')).split(' ')[0])),
	)
	assert.ok(
		traces.every((trace) => trace.pids.length > 0),
		'they run',
	)
	await endsIn(hour, HOUR)
	await pass(59 * MINUTE)
	assert.equal(await run(hour, 'echo here'), 'here', 'a minute before')
	await endsIn(hour, MINUTE) // what is done in it does not move its end
	await pass(MINUTE)
	assert.ok(await gone(hour))
	assert.equal((await envd(hour, 'GET', '/health', undefined, { base: own.url })).status, 502)
	assert.ok(await isThere(two), 'the other one has an hour more')
	const logs = await api('GET', `/v2/sandboxes/${hour.sandboxID}/logs`, undefined, opt())
	assert.ok(
		logs.json.logs.some((l) => l.message === 'sandbox expired'),
		logs.text,
	)
	await pass(HOUR)
	assert.ok(await gone(two))
	assert.ok(
		await until(() => traces.every((trace) => remains(trace).length === 0), 20000),
		`outlive their sandboxes: ${traces.flatMap(remains)}`,
	)
})

test('timeouts that nobody gave, and the longest that can be given', async () => {
	const short = (await api('POST', '/sandboxes', { templateID: 'base' }, opt())).json,
		longer = (await api('POST', '/v2/sandboxes', { templateID: 'base' }, opt())).json
	const longest = await create({ timeout: 86400 })
	await endsIn(short, 15_000)
	await endsIn(longer, 300_000)
	assert.equal((await api('POST', '/sandboxes', { templateID: 'base', timeout: 86401 }, opt())).status, 400)
	await pass(16_000)
	assert.ok(await gone(short))
	assert.ok(await isThere(longer))
	await pass(5 * MINUTE)
	assert.ok(await gone(longer))
	await pass(DAY - 10 * MINUTE)
	assert.ok(await isThere(longest))
	await pass(10 * MINUTE)
	assert.ok(await gone(longest))
})

test('timeout sets the end, sooner and later', async () => {
	const sbx = await create({ timeout: 3600 })
	assert.equal((await call(sbx, 'timeout', { timeout: 86400 })).status, 204)
	await endsIn(sbx, DAY)
	await pass(23 * HOUR)
	assert.ok(await isThere(sbx))
	assert.equal((await call(sbx, 'timeout', { timeout: 600 })).status, 204)
	await endsIn(sbx, 10 * MINUTE)
	await pass(11 * MINUTE)
	assert.ok(await gone(sbx))
	assert.equal((await call(sbx, 'timeout', { timeout: 600 })).status, 404)
})

test('connect and refreshes make it longer, never shorter', async () => {
	const sbx = await create({ timeout: 3600 })
	for (const [what, body] of [
		['connect', { timeout: 60 }],
		['connect', { timeout: 0 }],
		['refreshes', { duration: 600 }],
		['refreshes', undefined],
	]) {
		assert.ok((await call(sbx, what, body)).status < 300)
		await endsIn(sbx, HOUR)
	}
	await pass(50 * MINUTE)
	assert.equal((await call(sbx, 'connect', { timeout: 3600 })).status, 200)
	await endsIn(sbx, HOUR) // from now, not on top of what was left
	await pass(55 * MINUTE)
	assert.equal((await api('POST', `/v2/sandboxes/${sbx.sandboxID}/connect`, {}, opt())).status, 200)
	await endsIn(sbx, 5 * MINUTE) // its own default of five minutes is not longer
	await pass(2 * MINUTE)
	assert.equal((await api('POST', `/v2/sandboxes/${sbx.sandboxID}/connect`, {}, opt())).status, 200)
	await endsIn(sbx, 5 * MINUTE) // now it is
	assert.equal((await call(sbx, 'refreshes', { duration: 3601 })).status, 400)
	assert.equal((await call(sbx, 'refreshes', { duration: 3600 })).status, 204)
	await endsIn(sbx, HOUR)
	await pass(HOUR - 10_000)
	assert.equal((await call(sbx, 'refreshes', { duration: 0 })).status, 204)
	await endsIn(sbx, 15_000) // at least that much
	await pass(16_000)
	assert.ok(await gone(sbx))
})

test('due, a sandbox with autoPause is paused; its time stands still until somebody comes', async () => {
	const sbx = await create({ timeout: 3600, autoPause: true })
	const pid = await run(sbx, 'sleep 100000 >/dev/null 2>&1 & echo $!')
	await pass(61 * MINUTE)
	assert.ok(await until(() => isPaused(sbx), 5000, 50))
	await pass(5 * DAY)
	assert.equal((await info(sbx)).state, 'paused')
	assert.equal(
		(await envd(sbx, 'GET', '/health', undefined, { base: own.url })).status,
		502,
		'traffic does not wake it',
	)
	assert.equal((await call(sbx, 'connect', { timeout: 600 })).status, 201)
	await endsIn(sbx, 10 * MINUTE)
	assert.match(await run(sbx, `ps -o pid= -C sleep`), new RegExp(`^\\s*${pid}$`), 'the same processes')
	await pass(11 * MINUTE)
	assert.ok(await until(() => isPaused(sbx), 5000, 50), 'again at its end')
	assert.equal((await killRaw(sbx, opt())).status, 204)
})

test('autoResume: traffic wakes what was paused at its end', async () => {
	const sbx = await create({ timeout: 3600, autoPause: true, autoResume: { enabled: true } })
	assert.equal(await run(sbx, 'echo kept >/home/user/f'), '')
	await pass(2 * HOUR)
	assert.ok(await until(() => isPaused(sbx), 5000, 50))
	await pass(DAY)
	assert.equal(await run(sbx, 'cat /home/user/f'), 'kept')
	assert.equal((await info(sbx)).state, 'running')
	assert.ok(new Date((await info(sbx)).endAt) > clock.now(), 'it has time again')
	await killRaw(sbx, opt())
})

test('paused ones are kept for as long as the settings say', async () => {
	const sbx = await create({ timeout: 3600 })
	assert.equal((await call(sbx, 'pause')).status, 204)
	await pass(6 * DAY)
	assert.equal((await info(sbx)).state, 'paused')
	await pass(2 * DAY)
	assert.ok(await until(async () => !(await isThere(sbx)), 20000, 200), 'after a week it is gone')
})

test('a front, or all of the server, that was away is back with the ends that it had', async () => {
	const [soon, later] = [await create({ timeout: 3600 }), await create({ timeout: 5 * 3600 })]
	const front = childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-front')
	clock.pass(30 * MINUTE)
	process.kill(front, 'SIGKILL')
	assert.ok(
		await until(
			async () => (await api('GET', '/health', undefined, opt()).catch(() => ({}))).status === 204,
			10000,
			50,
		),
	)
	await endsIn(soon, 30 * MINUTE)
	await endsIn(later, 4.5 * HOUR)
	own.signal('SIGKILL')
	await own.exited
	clock.pass(HOUR) // nobody was there when its time came
	await own.start()
	assert.ok(await gone(soon))
	await endsIn(later, 3.5 * HOUR)
	await pass(4 * HOUR)
	assert.ok(await gone(later))
})

test('a clock that goes back does not make a sandbox live for ever', async () => {
	const ahead = clock.ahead
	const sbx = await create({ timeout: 600 })
	clock.set(ahead - MINUTE) // less than the host's own would have to be set back to hurt anybody
	assert.ok(await isThere(sbx))
	clock.set(ahead)
	await pass(11 * MINUTE)
	assert.ok(await gone(sbx))
})

test('reap --idle: who was used an hour ago stays, who was not goes', async () => {
	const [used, idle, paused] = [
		await create({ timeout: 86400 }),
		await create({ timeout: 86400 }),
		await create({ timeout: 86400 }),
	]
	assert.equal((await call(paused, 'pause')).status, 204)
	const reap = (...args) => {
		const got = atoll(['reap', ...args], {
			env: { E2B_API_URL: own.url, E2B_API_KEY: own.key, ATOLL_NOW_MS: String(clock.now()) },
		})
		assert.equal(got.code, 0, got.err)
		return got.out.trim().split('\n').filter(Boolean)
	}
	await pass(3 * HOUR)
	assert.equal(await run(used, 'echo here'), 'here')
	await pass(HOUR)
	assert.deepEqual(reap('--idle', '5h'), [])
	assert.deepEqual(reap('--idle', '2h', '--dry-run'), [idle.sandboxID])
	assert.ok(await isThere(idle))
	assert.deepEqual(reap('--idle', '2h'), [idle.sandboxID])
	assert.ok(!(await isThere(idle)))
	assert.deepEqual(reap('--idle', '2h', '--paused'), [paused.sandboxID])
	assert.ok(await isThere(used))
	await pass(HOUR)
	assert.deepEqual(reap('--idle', '2h'), [used.sandboxID])
})

test('max_lifetime_s: no call makes it longer, and a pause begins a new life', async () => {
	const short = await serverWithClock(server.buildDir, clock, { max_lifetime_s: 7200 }).start()
	try {
		const [sbx, pausing, paused] = [
			await create({ timeout: 86400 }, short),
			await create({ timeout: 600, autoPause: true }, short),
			await create({ timeout: 600 }, short),
		]
		await endsIn(sbx, 2 * HOUR, short)
		await pass(9 * MINUTE, short)
		for (const [what, body] of [
			['timeout', { timeout: 86400 }],
			['connect', { timeout: 86400 }],
			['refreshes', { duration: 3600 }],
		]) {
			assert.ok((await call(pausing, what, body, short)).status < 300)
			await endsIn(pausing, 2 * HOUR - 9 * MINUTE, short)
		}
		assert.equal((await call(paused, 'pause', {}, short)).status, 204)
		await pass(2 * HOUR - 10 * MINUTE, short)
		assert.ok(await isThere(sbx, short))
		await pass(2 * MINUTE, short)
		assert.ok(await gone(sbx, short))
		assert.ok(await until(() => isPaused(pausing, short), 5000, 50))
		for (const one of [pausing, paused]) {
			assert.equal((await call(one, 'connect', { timeout: 86400 }, short)).status, 201)
			await endsIn(one, 2 * HOUR, short)
		}
		await pass(2 * HOUR + MINUTE, short)
		assert.ok(await gone(paused, short))
		assert.ok(await until(() => isPaused(pausing, short), 5000, 50))
		await killRaw(pausing, opt(short))
	} finally {
		const end = await short.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})

test('the front that is installed has no such clock', async () => {
	const plain = await serverWithClock(server.buildDir, clock, {})
	plain.more.args = []
	await plain.start()
	try {
		const sbx = await create({ timeout: 600 }, plain)
		const left = new Date((await info(sbx, plain)).endAt) - Date.now()
		assert.ok(left <= 601_000 && left > 600_000 - SLACK, String(left))
		await killRaw(sbx, opt(plain))
	} finally {
		await plain.stop()
	}
})
