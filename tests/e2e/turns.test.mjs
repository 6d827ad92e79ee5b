// SPDX-License-Identifier: Apache-2.0
// Teams take turns when starts wait for a builder: a burst of one team is not served before the single create of
// another. What is compared is the order, not the time.
import { test, before, after } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import os from 'node:os'
import { api, createRaw, killRaw } from '../lib/client.mjs'
import { until } from '../lib/host.mjs'
import { newServer } from '../lib/server.mjs'

const BUILDERS = 2 * os.cpus().length // of the machine, as the warden counts
const BURST = Math.max(4 * BUILDERS, Math.min(12 * BUILDERS, 96))
const WAIT_MS = 12000 // the front takes a warden for hung that stands still for 15 s
let own

before(async () => {
	const { buildDir } = JSON.parse(process.env.ATOLL_TEST_SERVER)
	own = await newServer(buildDir, { max_sandboxes: BURST + 8, warm_pool_size: 0 }).start()
})

after(async () => {
	const end = await own?.stop()
	assert.ok(end?.clean ?? true, JSON.stringify(end?.left))
})

const call = (method, where, body) => api(method, where, body, { base: own.url, key: own.key })

async function newTeam(name) {
	const { teamID } = (await call('POST', '/admin/teams', { name })).json
	return (await call('POST', `/admin/teams/${teamID}/api-keys`, { name: 'k' })).json.key
}

async function waiting() {
	const { text } = await call('GET', '/metrics')
	return Number(/^atoll_starts_waiting (\d+)$/m.exec(text)?.[1])
}

async function untilWaiting(n) {
	assert.ok(await until(async () => (await waiting()) === n, WAIT_MS, 20), `${await waiting()} wait, not ${n}`)
}

test('a burst of one team delays the create of another by the starts under way, not by all of them', async () => {
	const [many, single] = [await newTeam('many'), await newTeam('single')]
	const order = [],
		made = []
	const create = async (who, key) => {
		const sbx = await createRaw({ timeout: 600 }, { base: own.url, key })
		order.push(who)
		made.push([sbx, key])
	}
	/* While the warden stands still, all come to wait in a known order. */
	process.kill(own.pid, 'SIGSTOP')
	const all = []
	try {
		for (let i = 0; i < BURST; i++) all.push(create('many', many))
		await untilWaiting(BURST - BUILDERS)
		all.push(create('single', single))
		await untilWaiting(BURST - BUILDERS + 1)
	} finally {
		process.kill(own.pid, 'SIGCONT')
	}
	await Promise.all(all)
	const at = order.indexOf('single')
	/* The warden has BUILDERS, one more of the burst comes before it, and some may overtake it there. In order of
	 * arrival it would be the last. */
	assert.ok(at <= BURST / 2, `the single create is number ${at + 1} of ${order.length}`)
	assert.equal(await waiting(), 0)
	for (const [sbx, key] of made) assert.equal((await killRaw(sbx, { base: own.url, key })).status, 204)
})
