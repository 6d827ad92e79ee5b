// SPDX-License-Identifier: Apache-2.0
// The report of usage: seconds, times processors, times memory, by key, label, template and day, and over a restart
// of the front.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { api, createRaw, killRaw, server as shared, shell } from '../../lib/client.mjs'
import { alive, childrenOf, nameOf, sleep, until } from '../../lib/host.mjs'
import { outside } from '../../lib/outside.mjs'
import { newServer } from '../../lib/server.mjs'

const day = () => new Date().toISOString().slice(0, 10)
let own, team, keys, out

// Made and used with one key; the times in between are those that the server cannot have counted more or less than.
async function live(key, metadata, ms) {
	const began = Date.now()
	const sbx = await createRaw({ timeout: 300, metadata }, { base: own.url, key })
	const made = Date.now()
	await sleep(ms) // seconds of life are what is counted
	const end = Date.now()
	await killRaw(sbx, { base: own.url, key })
	return { sbx, least: (end - made) / 1000, most: (Date.now() - began) / 1000 }
}

const call = (method, path, body, key = own.key) => api(method, path, body, { base: own.url, key })
async function usage(query = '', key = keys[0].key) {
	const res = await call('GET', `/usage${query}`, undefined, key)
	assert.equal(res.status, 200, res.text)
	return res.json
}
const between = (seconds, runs, what) => {
	const [least, most] = ['least', 'most'].map((which) => runs.reduce((sum, run) => sum + run[which], 0))
	assert.ok(
		seconds >= least - 0.01 && seconds <= most + 0.01,
		`${what}: ${seconds}, not from ${least} to ${most}`,
	)
}

before(async () => {
	out = await outside({ hosts: 1 })
	own = await newServer(shared.buildDir, {
		default_cpus: 1.5,
		default_memory_mb: 768,
		prices: 'vcpu_hour=3.6 gib_hour=7.2 egress_gib=1024 currency=EUR',
	}).start()
	team = (await call('POST', '/admin/teams', { name: 'billed' })).json
	keys = await Promise.all(
		['one', 'two'].map(
			async (name) => (await call('POST', `/admin/teams/${team.teamID}/api-keys`, { name })).json,
		),
	)
})
after(async () => {
	const end = await own.stop()
	out.end()
	assert.equal(end.how, 0)
})

test('by key, by label and in all: it adds up', async () => {
	const before = day()
	const runs = await Promise.all([
		live(keys[0].key, { agent: 'ada' }, 1500),
		live(keys[0].key, { agent: 'bob' }, 3000),
		live(keys[1].key, { agent: 'ada', tag: 'x' }, 2000),
		live(own.key, {}, 500),
	])
	const byKey = await usage()
	assert.deepEqual(byKey.by, ['key'])
	assert.deepEqual(
		byKey.rows.map((row) => [row.by.key, row.keyName, row.sandboxes]),
		[
			[keys[0].id, 'one', 2],
			[keys[1].id, 'two', 1],
		],
	)
	between(byKey.rows[0].seconds, runs.slice(0, 2), 'key one')
	between(byKey.rows[1].seconds, [runs[2]], 'key two')
	for (const row of byKey.rows) {
		assert.ok(Math.abs(row.vcpuSeconds - 1.5 * row.seconds) < 1e-6, JSON.stringify(row))
		assert.ok(Math.abs(row.gibSeconds - 0.75 * row.seconds) < 1e-6, JSON.stringify(row))
	}
	const byLabel = await usage('?by=metadata.agent')
	assert.deepEqual(byLabel.rows.map((row) => row.by['metadata.agent']).sort(), ['ada', 'bob'])
	assert.ok(byLabel.rows[0].seconds >= byLabel.rows[1].seconds, 'the most first')
	between(byLabel.rows.find((row) => row.by['metadata.agent'] === 'ada').seconds, [runs[0], runs[2]], 'ada')
	const all = await usage('?by=template,metadata.tag,sandbox')
	assert.equal(all.rows.length, 3)
	assert.deepEqual(new Set(all.rows.map((row) => row.by['metadata.tag'])), new Set(['', 'x']))
	assert.ok(all.rows.every((row) => row.by.template === 'base' && row.sandboxes === 1))
	const days = await usage(`?by=day&from=${before}&to=${day()}`)
	for (const one of [byKey, byLabel, all, days])
		assert.ok(Math.abs(one.total.seconds - byKey.total.seconds) < 1e-6, JSON.stringify(one.total))
	assert.ok(Math.abs(days.rows.reduce((sum, row) => sum + row.seconds, 0) - days.total.seconds) < 1e-6)
	assert.deepEqual((await usage('?from=2001-01-01&to=2001-12-31')).rows, [])
})

test('one that runs counts up to now, a paused one does not', async () => {
	const key = keys[1].key
	const sbx = await createRaw({ timeout: 300, metadata: { agent: 'eve' } }, { base: own.url, key })
	const eve = async () =>
		(await usage('?by=metadata.agent')).rows.find((row) => row.by['metadata.agent'] === 'eve').seconds
	assert.ok(await until(async () => (await eve()) >= 0.9, 20000), `${await eve()}`)
	assert.equal((await call('POST', `/sandboxes/${sbx.sandboxID}/pause`, {}, key)).status, 204)
	const paused = await eve()
	await sleep(1500) // in which nothing is counted
	assert.equal(await eve(), paused)
	assert.equal((await call('POST', `/v2/sandboxes/${sbx.sandboxID}/connect`, { timeout: 300 }, key)).status, 201)
	assert.ok(await until(async () => (await eve()) >= paused + 0.6, 20000), 'it does not count')
	const resumed = await eve()
	assert.ok(resumed < paused + 30, `${paused} ${resumed}`)
	await killRaw(sbx, { base: own.url, key })
})

test('A10: what one uses is known right after its start, and right after a start of the front', async () => {
	const key = keys[1].key
	const sbx = await createRaw({ timeout: 300 }, { base: own.url, key })
	const points = async () => [
		(await call('GET', `/sandboxes/metrics?sandbox_ids=${sbx.sandboxID}`, undefined, key)).json.sandboxes[
			sbx.sandboxID
		],
		...(await call('GET', `/sandboxes/${sbx.sandboxID}/metrics`, undefined, key)).json,
	]
	const check = (list) => {
		assert.ok(list.length >= 2 && list[0], JSON.stringify(list))
		for (const one of list)
			assert.ok(
				one.memUsed > 0 &&
					one.memTotal === 768 << 20 &&
					one.processCount > 0 &&
					one.cpuUsedPct <= 100,
				JSON.stringify(one),
			)
	}
	check(await points())
	assert.ok((await usage('?by=sandbox')).rows.find((row) => row.by.sandbox === sbx.sandboxID).seconds > 0)
	const front = childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-front')
	process.kill(front, 'SIGKILL')
	assert.ok(await until(() => !alive(front), 5000))
	assert.ok(await until(async () => (await call('GET', '/health').catch(() => ({}))).status === 204, 20000, 5))
	check(await points())
	await killRaw(sbx, { base: own.url, key })
})

test('a front that is killed loses nothing of what runs on', async () => {
	const key = keys[0].key
	const began = Date.now()
	const sbx = await createRaw({ timeout: 300, metadata: { agent: 'kay' } }, { base: own.url, key })
	const made = Date.now()
	const front = childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-front')
	await sleep(1000) // seconds of life are what is counted
	process.kill(front, 'SIGKILL')
	assert.ok(await until(() => !alive(front), 5000))
	assert.ok(await until(async () => (await call('GET', '/health').catch(() => ({}))).status === 204, 20000, 100))
	const end = Date.now()
	const row = (await usage('?by=metadata.agent,key')).rows.find((one) => one.by['metadata.agent'] === 'kay')
	assert.equal(row.by.key, keys[0].id)
	between(row.seconds, [{ least: (end - made) / 1000, most: (Date.now() - began) / 1000 }], 'kay')
	await killRaw(sbx, { base: own.url, key })
})

test('what it sends counts, over a pause on disk and to its very end', async () => {
	const key = keys[1].key,
		opt = { base: own.url, key }
	const sbx = await createRaw({ timeout: 300, metadata: { agent: 'eli' } }, opt)
	const send = async (mib) =>
		assert.equal(
			(
				await shell(
					sbx,
					`python3 -c "
import socket, threading
s = socket.socket(); s.connect(('${out.at(2)}', 7))
t = threading.Thread(target=lambda: [None for _ in iter(lambda: s.recv(65536), b'')]); t.start()
s.sendall(bytes(${mib} << 20)); s.shutdown(1); t.join()"`,
					opt,
				)
			).code,
			0,
			'it could not send',
		)
	const eli = async () =>
		(await usage('?by=tag:agent', key)).rows.find((row) => row.by['tag:agent'] === 'eli').egressBytes
	await send(3)
	assert.ok(await until(async () => (await eli()) >= 3 << 20, 15000, 300), `${await eli()}`)
	await send(2) // the sample that would tell of it has not been taken yet
	assert.equal((await call('POST', `/sandboxes/${sbx.sandboxID}/pause`, { memory: false }, key)).status, 204)
	assert.ok(await until(async () => (await eli()) >= 5 << 20, 5000, 100), `${await eli()}`)
	assert.equal((await call('POST', `/v2/sandboxes/${sbx.sandboxID}/connect`, { timeout: 300 }, key)).status, 201)
	await send(1)
	process.kill(
		childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-front'),
		'SIGKILL',
	)
	assert.ok(await until(async () => (await call('GET', '/health').catch(() => ({}))).status === 204, 20000, 100))
	assert.ok(await until(async () => (await eli()) >= 6 << 20, 15000, 300), `${await eli()}`)
	await send(1)
	await killRaw(sbx, opt)
	assert.ok(await until(async () => (await eli()) >= 7 << 20, 5000, 100), `${await eli()}`)
	assert.ok((await eli()) < 9 << 20, `${await eli()}`)
})

test('with prices there is a cost', async () => {
	const all = await usage('?by=key,day')
	assert.deepEqual(all.prices, { currency: 'EUR', vcpuHour: 3.6, gibHour: 7.2, egressGib: 1024 })
	for (const row of [...all.rows, all.total])
		assert.ok(
			Math.abs(
				row.cost -
					(row.vcpuSeconds / 1000 + row.gibSeconds / 500 + row.egressBytes / (1 << 20)),
			) < 1e-6,
			JSON.stringify(row),
		)
})

test('each sees its own; an admin sees all', async () => {
	assert.ok(!(await usage('?by=key', own.key)).rows.some((row) => keys.some((key) => key.id === row.by.key)))
	assert.equal((await call('GET', '/admin/usage', undefined, keys[0].key)).status, 403)
	const all = (await call('GET', '/admin/usage?by=team,key')).json
	const mine = (await usage()).rows
	for (const row of mine) assert.equal(all.rows.find((one) => one.by.key === row.by.key)?.by.team, team.teamID)
	assert.ok(all.rows.some((row) => row.by.team !== team.teamID))
})

test('what is asked for wrongly is named', async () => {
	for (const [query, name] of [
		['by=colour', 'by'],
		['by=', 'by'],
		['by=key,key', 'by'],
		['by=team', 'by'],
		['by=metadata.', 'by'],
		['by=tag:', 'by'],
		['by=tagged:x', 'by'],
		['by=day,key,template,sandbox,metadata.a', 'by'],
		['from=yesterday', 'from'],
		['to=2026-02-30', 'to'],
		['from=2026-02-02&to=2026-02-01', 'to'],
		[`by=metadata.${'x'.repeat(300)}`, 'by'],
	]) {
		const res = await call('GET', `/usage?${query}`, undefined, keys[0].key)
		assert.equal(res.status, 400, query)
		assert.match(res.json.message, new RegExp(`'${name}'`))
	}
})

test('atoll usage prints it', () => {
	const cli = (...args) =>
		spawnSync(own.atoll(), ['usage', '--api-url', own.url, '--api-key', keys[0].key, ...args], {
			encoding: 'utf8',
		})
	const lines = [
		'key +SANDBOXES +SECONDS +VCPU-SECONDS +GIB-SECONDS +EGRESS-MIB +COST',
		'(one|two) +\\d+( +[\\d.]+){5}',
		'(one|two) ',
	]
	assert.match(cli().stdout, new RegExp('^' + lines.join('\n'), 'i'))
	const csv = cli('--by', 'metadata.agent,key', '--csv').stdout.trim().split('\n')
	assert.equal(csv[0], '"metadata.agent","key",sandboxes,seconds,vcpu_seconds,gib_seconds,egress_bytes,cost')
	assert.ok(
		csv.some((line) => line.startsWith(`"bob","${keys[0].id}",1,`)),
		csv.join('\n'),
	)
	assert.ok(JSON.parse(cli('--json').stdout).length === 2)
	const wrong = cli('--by', 'colour')
	assert.equal(wrong.status, 1)
	assert.match(wrong.stderr, /'by'/)
})
