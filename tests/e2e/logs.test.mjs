// SPDX-License-Identifier: Apache-2.0
// The log of a sandbox: what it did is still known after its end and after a restart of the front, once, and to its
// team only.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { api, createRaw, envd, killRaw, stream } from '../lib/client.mjs'
import { newServer } from '../lib/server.mjs'
import { rows } from '../lib/db.mjs'
import { childrenOf, nameOf, until } from '../lib/host.mjs'

const { buildDir } = JSON.parse(process.env.ATOLL_TEST_SERVER)
let own, opt

before(async () => {
	own = await newServer(buildDir, { logs_kept_s: 3600 }).start()
	opt = { base: own.url, key: own.key }
})
after(async () => {
	const end = await own.stop()
	assert.deepEqual([end.how, end.clean], [0, true], JSON.stringify(end))
})

// Entries are written some seconds after the first new one. Until so many ends of processes are on disk.
async function saved(sbx, ends) {
	const text = () =>
		Buffer.from(
			rows(
				`${own.stateDir}/front/atoll.db`,
				'SELECT HEX(bytes) FROM log_pieces WHERE id=? ORDER BY gen, seq',
				sbx.sandboxID,
			).join(''),
			'hex',
		).toString('latin1')
	assert.ok(await until(() => text().split('process ended').length > ends, 30000, 200), text())
}

async function run(sbx, command) {
	const it = await stream(
		sbx,
		'process.Process/Start',
		{ process: { cmd: '/bin/sh', args: ['-c', command] }, stdin: false },
		{ base: own.url },
	)
	await it.ended
	return it.events[0].event.start.pid
}

async function logOf(sbx, query = '', more = {}) {
	const res = await api('GET', `/v2/sandboxes/${sbx.sandboxID}/logs?direction=forward${query}`, undefined, {
		...opt,
		...more,
	})
	return res.status === 200 ? res.json.logs : res.status
}

const processes = (log) =>
	log.filter((l) => l.fields.type === 'process').map((l) => `${l.message.split(' ')[1]} ${l.fields.pid}`)
const inOrder = (log) => log.every((l, i) => i === 0 || Date.parse(l.timestamp) >= Date.parse(log[i - 1].timestamp))

const frontOf = () => childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-front')

async function killFront() {
	const front = frontOf()
	process.kill(front, 'SIGKILL')
	assert.ok(await until(() => frontOf() && frontOf() !== front, 10000, 20), 'no new front')
	assert.ok(
		await until(
			async () => (await api('GET', '/health', undefined, opt).catch(() => ({}))).status === 204,
			10000,
			20,
		),
	)
}

test('what ran in a sandbox is known after it was killed, to the last process', async () => {
	const sbx = await createRaw({ timeout: 60 }, opt)
	const pids = [await run(sbx, 'exit 3'), await run(sbx, 'true')]
	await killRaw(sbx, opt)
	const log = await logOf(sbx)
	assert.deepEqual(
		processes(log),
		pids.flatMap((pid) => [`started ${pid}`, `ended ${pid}`]),
	)
	assert.equal(log[0].message, 'sandbox created')
	assert.equal(log.at(-1).message, 'sandbox killed')
	assert.equal(log.find((l) => l.message === 'process ended').fields.exit_code, '3')
	assert.ok(inOrder(log))
	assert.ok(!JSON.stringify(log).includes('.event'), 'a mark of ours is shown')
})

test('a sandbox that was never used has a log, too', async () => {
	const sbx = await createRaw({ timeout: 60 }, opt)
	assert.deepEqual(
		(await logOf(sbx)).map((l) => l.message),
		['sandbox created'],
	)
	await killRaw(sbx, opt)
	assert.deepEqual(
		(await logOf(sbx)).map((l) => l.message),
		['sandbox created', 'sandbox killed'],
	)
})

test('a front that is killed takes no log with it, and the next one tells nothing twice', async () => {
	const sbx = await createRaw({ timeout: 300 }, opt),
		ended = await createRaw({ timeout: 60 }, opt)
	const pids = [await run(sbx, 'true'), await run(sbx, 'true')]
	await run(ended, 'true')
	await killRaw(ended, opt)
	const before_ = { live: await logOf(sbx), ended: await logOf(ended) }
	await saved(sbx, pids.length)
	await saved(ended, 1)
	for (let i = 0; i < 2; i++) {
		await killFront()
		assert.deepEqual(await logOf(ended), before_.ended)
		assert.deepEqual(
			processes(await logOf(sbx)),
			pids.flatMap((pid) => [`started ${pid}`, `ended ${pid}`]),
		)
		pids.push(await run(sbx, 'true'))
		await saved(sbx, pids.length)
	}
	const log = await logOf(sbx)
	assert.deepEqual(log.slice(0, before_.live.length), before_.live)
	assert.ok(inOrder(log))
	await killRaw(sbx, opt)
	assert.deepEqual(
		processes(await logOf(sbx)),
		pids.flatMap((pid) => [`started ${pid}`, `ended ${pid}`]),
	)
})

test('processes that run on while the front is gone are known to the next', async () => {
	const sbx = await createRaw({ timeout: 300 }, opt)
	const it = await stream(
		sbx,
		'process.Process/Start',
		{ process: { cmd: '/bin/sh', args: ['-c', 'sleep 1; exit 7'] }, stdin: false },
		{ base: own.url },
	)
	assert.ok(await until(() => it.events.length > 0))
	const { pid } = it.events[0].event.start
	await killFront()
	assert.ok(await until(async () => processes(await logOf(sbx)).includes(`ended ${pid}`), 30000, 100))
	assert.equal((await logOf(sbx)).filter((l) => l.fields.pid === String(pid)).length, 2)
	await killRaw(sbx, opt)
})

test('a paused and resumed sandbox goes on with its log', async () => {
	const sbx = await createRaw({ timeout: 300 }, opt)
	const pids = [await run(sbx, 'true')]
	assert.equal((await api('POST', `/sandboxes/${sbx.sandboxID}/pause`, {}, opt)).status, 204)
	assert.deepEqual(processes(await logOf(sbx)), [`started ${pids[0]}`, `ended ${pids[0]}`])
	assert.equal((await api('POST', `/sandboxes/${sbx.sandboxID}/connect`, { timeout: 60 }, opt)).status, 201)
	pids.push(await run(sbx, 'true'))
	assert.deepEqual(
		processes(await logOf(sbx)),
		pids.flatMap((pid) => [`started ${pid}`, `ended ${pid}`]),
	)
	await killRaw(sbx, opt)
})

test('another team sees nothing of it, before and after the end', async () => {
	const team = (await api('POST', '/admin/teams', { name: 'other' }, opt)).json
	const { key } = (await api('POST', `/admin/teams/${team.teamID}/api-keys`, { name: 'k' }, opt)).json
	const sbx = await createRaw({ timeout: 60 }, opt)
	assert.equal(await logOf(sbx, '', { key }), 404)
	await killRaw(sbx, opt)
	assert.equal(await logOf(sbx, '', { key }), 404)
	assert.ok(Array.isArray(await logOf(sbx)))
	assert.equal(await logOf({ sandboxID: 'i0000000000000000000' }), 404)
})

test('a busy sandbox has the newest of its entries, and the front stays small', async () => {
	const sbx = await createRaw({ timeout: 300 }, opt)
	for (let i = 0; i < 20; i++)
		await Promise.all(
			Array.from({ length: 200 }, (_, k) =>
				envd(sbx, 'GET', `/files?path=/none-${i}-${k}`, undefined, { base: own.url }),
			),
		)
	const log = await logOf(sbx, '&limit=1000')
	assert.equal(log.length, 1000)
	const newest = (await api('GET', `/v2/sandboxes/${sbx.sandboxID}/logs?limit=1`, undefined, opt)).json.logs
	assert.equal(newest[0].message, 'GET /files')
	await killRaw(sbx, opt)
})

test('after its time a log is forgotten', async () => {
	const brief = await newServer(buildDir, { logs_kept_s: 1 }).start()
	const at = { base: brief.url, key: brief.key }
	try {
		const sbx = await createRaw({ timeout: 60 }, at)
		await killRaw(sbx, at)
		assert.ok(
			await until(
				async () =>
					(await api('GET', `/v2/sandboxes/${sbx.sandboxID}/logs`, undefined, at))
						.status === 404,
				60000,
				200,
			),
		)
	} finally {
		await brief.stop()
	}
})
