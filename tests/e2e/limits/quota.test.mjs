// SPDX-License-Identifier: Apache-2.0
// Quotas of teams and keys: what is beyond them is refused with what and how much, and nobody has one who was given
// none.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import { api, createRaw, killRaw, shell } from '../../lib/client.mjs'
import { until } from '../../lib/host.mjs'
import { outside } from '../../lib/outside.mjs'

const teams = []
let n = 0
let out

before(async () => {
	out = await outside({ hosts: 1 })
})
after(async () => {
	out?.end()
	for (const id of teams) {
		await api('POST', `/admin/teams/${id}/sandboxes/kill`)
		await api('DELETE', `/admin/teams/${id}`)
	}
})

async function makeTeam(body = {}) {
	const res = await api('POST', '/admin/teams', { name: `quota-${process.pid}-${n++}`, ...body })
	assert.equal(res.status, 201, res.text)
	teams.push(res.json.teamID)
	return res.json
}

async function makeKey(team, body = {}) {
	const res = await api('POST', `/admin/teams/${team.teamID}/api-keys`, { name: 'one', ...body })
	assert.equal(res.status, 201, res.text)
	return res.json
}

const create = (key, body = {}) =>
	api('POST', '/v2/sandboxes', { templateID: 'base', timeout: 300, ...body }, { key: key.key })
const teamOf = async (team) => (await api('GET', `/admin/teams/${team.teamID}`)).json

function refused(res, scope, what, limit) {
	assert.equal(res.status, 429, res.text)
	assert.equal(res.json.code, 429)
	assert.equal(res.json.quota.scope, scope)
	assert.equal(res.json.quota.what, what)
	assert.equal(res.json.quota.limit, limit)
	assert.ok(res.json.quota.used >= limit)
	assert.ok(res.json.message.includes(`${what} of this ${scope}`), res.json.message)
}

test('without a quota there is none', async () => {
	const team = await makeTeam(),
		key = await makeKey(team)
	assert.equal(team.quota, null)
	assert.equal(key.quota, null)
	assert.deepEqual(team.usage, { cpuSecondsToday: 0, egressMBToday: 0, createsLastMinute: 0 })
})

test('sandboxes at once, of a key: the others of its team do not count', async () => {
	const team = await makeTeam(),
		key = await makeKey(team, { quota: { maxSandboxes: 1 } }),
		free = await makeKey(team)
	const one = await create(key),
		other = await create(free)
	assert.equal(one.status, 201, one.text)
	assert.equal(other.status, 201, other.text)
	const res = await create(key)
	refused(res, 'key', 'maxSandboxes', 1)
	assert.equal(res.headers['retry-after'], undefined)
	await killRaw(one.json, { key: key.key })
	const again = await create(key)
	assert.equal(again.status, 201, again.text)
	await killRaw(again.json, { key: key.key })
	await killRaw(other.json, { key: free.key })
})

test('creations per minute, of a team and of a key: when to try again is told', async () => {
	const team = await makeTeam({ quota: { createsPerMinute: 3 } })
	const a = await makeKey(team),
		b = await makeKey(team, { quota: { createsPerMinute: 1 } })
	assert.equal((await create(b)).status, 201)
	refused(await create(b), 'key', 'createsPerMinute', 1)
	assert.equal((await create(a)).status, 201)
	assert.equal((await create(a)).status, 201)
	const res = await create(a)
	refused(res, 'team', 'createsPerMinute', 3)
	const wait = Number(res.headers['retry-after'])
	assert.ok(wait >= 1 && wait <= 60, res.headers['retry-after'])
	assert.equal((await teamOf(team)).usage.createsLastMinute, 3)
})

test('cpu-seconds of a day: what runs is paused, what is paused stays so, and nothing new is made', async () => {
	const team = await makeTeam({ quota: { cpuSecondsPerDay: 2 } }),
		key = await makeKey(team)
	const { json: sbx } = await create(key)
	const opt = { key: key.key }
	void shell(sbx, 'for i in 1 2 3; do (timeout 20 sh -c "while :; do :; done") & done; wait').catch(() => {})
	assert.ok(
		await until(
			async () =>
				(await api('GET', `/sandboxes/${sbx.sandboxID}`, undefined, opt)).json.state ===
				'paused',
			40000,
			300,
		),
	)
	refused(await create(key), 'team', 'cpuSecondsPerDay', 2)
	refused(
		await api('POST', `/sandboxes/${sbx.sandboxID}/connect`, { timeout: 60 }, opt),
		'team',
		'cpuSecondsPerDay',
		2,
	)
	refused(
		await api('POST', `/sandboxes/${sbx.sandboxID}/resume`, { timeout: 60 }, opt),
		'team',
		'cpuSecondsPerDay',
		2,
	)
	const used = (await teamOf(team)).usage.cpuSecondsToday
	assert.ok(used >= 2 && used < 60, String(used))
	assert.equal(
		(await api('PATCH', `/admin/teams/${team.teamID}`, { quota: { cpuSecondsPerDay: 100000 } })).status,
		200,
	)
	assert.equal((await api('POST', `/sandboxes/${sbx.sandboxID}/connect`, { timeout: 60 }, opt)).status, 201)
	await killRaw(sbx, opt)
})

test('what a sandbox used that lived for a moment counts, too', async () => {
	const team = await makeTeam(),
		key = await makeKey(team)
	for (let i = 0; i < 3; i++) {
		const { json: sbx } = await create(key)
		await shell(sbx, 'python3 -c "import time\nwhile time.process_time() < 0.6: pass"')
		await killRaw(sbx, { key: key.key })
	}
	assert.ok(
		await until(async () => (await teamOf(team)).usage.cpuSecondsToday >= 1, 10000),
		JSON.stringify((await teamOf(team)).usage),
	)
})

test('egress of a day', async () => {
	const team = await makeTeam(),
		key = await makeKey(team, { quota: { egressMBPerDay: 4 } })
	const { json: sbx } = await create(key)
	const opt = { key: key.key }
	void shell(
		sbx,
		`timeout 30 python3 -c "
import socket, threading
s = socket.socket(); s.connect(('${out.at(2)}', 7))
threading.Thread(target=lambda: [None for _ in iter(lambda: s.recv(65536), b'')], daemon=True).start()
for i in range(200): s.sendall(b'x' * 65536)
import time; time.sleep(20)"`,
	).catch(() => {})
	assert.ok(
		await until(
			async () =>
				(await api('GET', `/sandboxes/${sbx.sandboxID}`, undefined, opt)).json.state ===
				'paused',
			40000,
			300,
		),
	)
	refused(await create(key), 'key', 'egressMBPerDay', 4)
	await killRaw(sbx, opt)
})

test('a team and a key may be allowed smaller sandboxes than others', async () => {
	const team = await makeTeam({ quota: { limits: { memoryMB: 128, cpus: 1 } } }),
		key = await makeKey(team, { quota: { limits: { processes: 50 } } })
	const res = await create(key)
	assert.equal(res.status, 201, res.text)
	const told = (await api('GET', `/sandboxes/${res.json.sandboxID}/limits`, undefined, { key: key.key })).json
	assert.deepEqual([told.limits.memoryMB, told.limits.cpus, told.limits.processes], [128, 1, 50])
	assert.equal(told.maxima.memoryMB, 128)
	const over = await create(key, { limits: { memoryMB: 129 } })
	assert.equal(over.status, 400)
	assert.match(over.json.message, /limits\.memoryMB.*32 to 128/)
	const up = await api('PATCH', `/sandboxes/${res.json.sandboxID}/limits`, { processes: 51 }, { key: key.key })
	assert.equal(up.status, 400)
	await killRaw(res.json, { key: key.key })
})

test('a key with a quota is no way around it; a rotated one has it still', async () => {
	const team = await makeTeam(),
		key = await makeKey(team, { quota: { createsPerMinute: 1 } })
	assert.equal((await api('POST', '/api-keys', { name: 'more' }, { key: key.key })).status, 403)
	assert.equal((await api('POST', `/api-keys/${key.id}/rotate`, {}, { key: key.key })).status, 403)
	assert.equal((await create(key)).status, 201)
	const rotated = await api('POST', `/admin/teams/${team.teamID}/api-keys/${key.id}/rotate`, {})
	assert.equal(rotated.status, 201, rotated.text)
	assert.equal(rotated.json.quota.createsPerMinute, 1)
	refused(await create(rotated.json), 'key', 'createsPerMinute', 1)
	const free = await makeKey(team)
	assert.equal(
		(await api('POST', '/api-keys', { name: 'x', quota: { maxSandboxes: 5 } }, { key: free.key })).status,
		403,
	)
})

test('W10: a key with a quota cannot remove all that its team has', async () => {
	const team = await makeTeam(),
		key = await makeKey(team, { quota: { maxSandboxes: 2 } }),
		free = await makeKey(team)
	assert.equal((await api('POST', '/volumes', { name: 'kept' }, { key: free.key })).status, 201)
	const refused = await api('POST', '/purge', {}, { key: key.key })
	assert.equal(refused.status, 403, refused.text)
	assert.match(refused.json.message, /a key with a quota/)
	assert.equal((await api('GET', '/volumes', undefined, { key: free.key })).json.length, 1)
	assert.equal((await api('POST', '/purge', {}, { key: free.key })).status, 200)
})

test('bad quotas are refused by name, and the old one holds', async () => {
	const team = await makeTeam({ quota: { cpuSecondsPerDay: 50 } }),
		key = await makeKey(team, { quota: { maxSandboxes: 9 } })
	const bad = [
		[{ cpuSecondsPerDay: 0 }, 'cpuSecondsPerDay'],
		[{ createsPerMinute: -1 }, 'createsPerMinute'],
		[{ egressMBPerDay: '5' }, 'egressMBPerDay'],
		[{ maxSandboxes: 3 }, 'maxSandboxes'],
		[{ cpu: 1 }, 'cpu'],
		[{ limits: [] }, 'limits'],
		[{ limits: { memoryMB: 1e9 } }, 'limits.memoryMB'],
		[{ limits: { cpus: 'x' } }, 'limits.cpus'],
	]
	for (const [quota, name] of bad) {
		const res = await api('PATCH', `/admin/teams/${team.teamID}`, { quota })
		assert.equal(res.status, 400, JSON.stringify(quota))
		assert.ok(res.json.message.includes(`'quota.${name}'`), res.json.message)
		assert.equal((await api('POST', '/admin/teams', { name: `bad-${process.pid}`, quota })).status, 400)
	}
	assert.equal((await api('PATCH', `/admin/teams/${team.teamID}`, { quota: 5 })).status, 400)
	const keyPath = `/admin/teams/${team.teamID}/api-keys/${key.id}`
	assert.equal((await api('PATCH', keyPath, { quota: { maxSandboxes: 0 } })).status, 400)
	assert.equal((await teamOf(team)).quota.cpuSecondsPerDay, 50)
	const changed = await api('PATCH', keyPath, { quota: { egressMBPerDay: 7 } })
	assert.deepEqual([changed.json.quota.maxSandboxes, changed.json.quota.egressMBPerDay], [9, 7])
	assert.equal((await api('PATCH', keyPath, { quota: null })).json.quota, null)
	assert.equal((await api('PATCH', `/admin/teams/${team.teamID}`, { quota: null })).json.quota, null)
})
