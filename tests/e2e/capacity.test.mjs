// SPDX-License-Identifier: Apache-2.0
// The report of capacity: what is in use, what was at most, what came out of the pool, and how many more fit.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { api, createRaw, killRaw, server as shared, shell } from '../lib/client.mjs'
import { until } from '../lib/host.mjs'
import { newServer } from '../lib/server.mjs'

let own
const call = (method, where, body, key = own.key) => api(method, where, body, { base: own.url, key })
const report = async (query = '') => (await call('GET', `/admin/capacity${query}`)).json

before(async () => {
	own = await newServer(shared.buildDir, { max_sandboxes: 12, warm_pool_size: 1, warm_pool_max: 2 }).start()
})
after(async () => {
	assert.equal((await own.stop()).how, 0)
})

test('peaks, hits of the pool, and how many more fit', async () => {
	const opt = { base: own.url, key: own.key }
	assert.ok(await until(async () => (await report()).now.pool.ready >= 1, 60000, 200), 'the pool is filled')
	const boxes = []
	for (let i = 0; i < 5; i++) boxes.push(await createRaw({ timeout: 300 }, opt))
	// It computes until its sandbox is killed: on a busy machine the samples need more than a few seconds.
	const load = shell(boxes[0], 'while :; do :; done', opt).catch(() => {})
	assert.ok(
		await until(async () => (await report()).peaks.at(-1)?.cpuCores > 0.2, 120000, 500),
		JSON.stringify(await report()),
	)
	const busy = await report()
	assert.deepEqual([busy.now.sandboxes.running, busy.now.sandboxes.max], [5, 12])
	assert.equal(busy.fits.by.max_sandboxes, 7)
	assert.ok(
		busy.fits.more <= 7 &&
			busy.fits.more === Math.min(...Object.values(busy.fits.by).filter((n) => n !== null)),
		JSON.stringify(busy.fits),
	)
	assert.ok(busy.fits.by[busy.fits.bound] === busy.fits.more)
	assert.ok(busy.fits.moreAtFullUse <= busy.fits.more)
	assert.ok(
		busy.now.memory.usedBytes > 1 << 20 && busy.now.memory.limitBytes === 5 * 512 * (1 << 20),
		JSON.stringify(busy.now),
	)
	assert.ok(busy.now.disk.poolBytes > 100 << 20 && busy.now.disk.freeBytes <= busy.now.disk.poolBytes)
	assert.ok(busy.now.processes.used > 10 && busy.now.processes.max > busy.now.processes.used)
	assert.ok(
		busy.now.pool.hits >= 1 && busy.now.pool.hits + busy.now.pool.misses === 5,
		JSON.stringify(busy.now.pool),
	)
	for (const sbx of boxes) await killRaw(sbx, opt)
	await load
	const later = await report('?by=hour&days=1')
	const peak = later.peaks.reduce(
		(sum, row) => ({
			sandboxes: Math.max(sum.sandboxes, row.sandboxes),
			starts: sum.starts + row.starts,
			pool: sum.pool + row.poolHits + row.poolMisses,
		}),
		{ sandboxes: 0, starts: 0, pool: 0 },
	)
	assert.deepEqual(peak, { sandboxes: 5, starts: 5, pool: 5 })
	assert.equal(later.now.sandboxes.running, 0)
	assert.ok(later.peaks.at(-1).memoryBytes > 0)
	assert.match(later.peaks[0].from, /T\d\d:00:00/)
	assert.match((await report()).peaks[0].from, /T00:00:00/)
})

test('for the operator alone, and what is asked for wrongly is named', async () => {
	const team = (await call('POST', '/admin/teams', { name: 'plain' })).json
	const key = (await call('POST', `/admin/teams/${team.teamID}/api-keys`, { name: 'x' })).json.key
	assert.equal((await call('GET', '/admin/capacity', undefined, key)).status, 403)
	for (const [query, name] of [
		['days=0', 'days'],
		['days=401', 'days'],
		['days=x', 'days'],
		['by=week', 'by'],
	]) {
		const res = await call('GET', `/admin/capacity?${query}`)
		assert.equal(res.status, 400, query)
		assert.match(res.json.message, new RegExp(`'${name}'`))
	}
})

test('atoll capacity prints it', () => {
	const cli = (...args) =>
		spawnSync(own.atoll(), ['capacity', '--api-url', own.url, '--api-key', own.key, ...args], {
			encoding: 'utf8',
		})
	const lines = [
		'sandboxes +0 running, 0 paused, 12 at most',
		'memory .*',
		'processor .*',
		'pool +\\d+ hits, \\d+ misses.*',
		'fits +\\d+ more .*',
		'',
		'FROM \\(UTC\\) +SANDBOXES .*',
		'\\d{4}-\\d\\d-\\d\\dT00:00 +5 ',
	]
	assert.match(cli().stdout, new RegExp('^' + lines.join('\n')))
	assert.equal(JSON.parse(cli('--hours', '--json').stdout).fits.by.max_sandboxes, 12)
	assert.equal(cli('--days', '0').status, 2)
})
