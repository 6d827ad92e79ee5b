// SPDX-License-Identifier: Apache-2.0
// Keys and teams: who sees what, what ends when, what is refused, and that nothing secret is written down.
import { test, after } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { api, createRaw, envd, killRaw, request, server } from '../lib/client.mjs'
import { sleep, until } from '../lib/host.mjs'

const teams = []
const secrets = []
let n = 0

async function makeTeam(body = {}) {
	const res = await api('POST', '/admin/teams', { name: `test-${process.pid}-${n++}`, ...body })
	assert.equal(res.status, 201, res.text)
	teams.push(res.json.teamID)
	return res.json
}

async function makeKey(team, body = {}) {
	const res = await api('POST', `/admin/teams/${team.teamID}/api-keys`, { name: 'one', ...body })
	assert.equal(res.status, 201, res.text)
	secrets.push(res.json.key)
	return res.json
}

after(async () => {
	for (const id of teams) {
		await api('POST', `/admin/teams/${id}/sandboxes/kill`)
		await api('DELETE', `/admin/teams/${id}`)
	}
})

test('the connectivity probe: a good key gets an array, a wrong one 401, none 401', async () => {
	const good = await api('GET', '/sandboxes')
	assert.equal(good.status, 200)
	assert.ok(Array.isArray(good.json))
	for (const key of [null, 'e2b_0000000000000000000000000000000000000000']) {
		const res = await api('GET', '/sandboxes', undefined, { key })
		assert.equal(res.status, 401)
		assert.equal(res.json.code, 401)
	}
})

test('a key is shown once, in the form that all clients accept, and masked later', async () => {
	const team = await makeTeam()
	const key = await makeKey(team)
	assert.match(key.key, /^e2b_[0-9a-f]{40}$/)
	assert.match(key.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
	const list = await api('GET', '/api-keys', undefined, { key: key.key })
	assert.equal(list.status, 200)
	assert.equal(list.json.length, 1)
	const [row] = list.json
	assert.equal(row.key, undefined)
	assert.deepEqual(row.mask, {
		prefix: 'e2b_',
		valueLength: 40,
		maskedValuePrefix: key.key.slice(4, 6),
		maskedValueSuffix: key.key.slice(-4),
	})
	assert.ok(row.lastUsed)
	assert.ok(!list.text.includes(key.key.slice(8, -4)))
})

test('bearer works where the key header does', async () => {
	const key = await makeKey(await makeTeam())
	for (const route of ['/sandboxes', '/teams', '/templates', '/api-keys']) {
		const res = await request('GET', route, { headers: { Authorization: `Bearer ${key.key}` } })
		assert.equal(res.status, 200, route)
	}
	const res = await request('GET', '/teams', { headers: { Authorization: `Bearer ${key.key}` } })
	assert.equal(res.json[0].apiKey, key.key)
	assert.equal(res.json.filter((t) => t.isDefault).length, 1)
})

test('teams see only their own sandboxes; ids of others behave as unknown ones', async () => {
	const [red, blue] = [await makeTeam(), await makeTeam()]
	const [rk, bk] = [(await makeKey(red)).key, (await makeKey(blue)).key]
	const sbx = await createRaw({ timeout: 60 }, { key: rk })
	const mine = await api('GET', '/v2/sandboxes', undefined, { key: rk })
	assert.deepEqual(
		mine.json.map((s) => s.sandboxID),
		[sbx.sandboxID],
	)
	for (const route of ['/sandboxes', '/v2/sandboxes'])
		assert.deepEqual((await api('GET', route, undefined, { key: bk })).json, [])
	const unknown = 'i0000000000000000000'
	const calls = [
		['GET', ''],
		['DELETE', ''],
		['POST', '/timeout', { timeout: 5 }],
		['POST', '/connect', { timeout: 5 }],
		['POST', '/pause', {}],
		['POST', '/resume', {}],
		['POST', '/refreshes', {}],
		['GET', '/metrics'],
		['GET', '/logs'],
		['PUT', '/network', {}],
	]
	for (const [method, tail, body] of calls) {
		const other = await api(method, `/sandboxes/${sbx.sandboxID}${tail}`, body, { key: bk })
		const none = await api(method, `/sandboxes/${unknown}${tail}`, body, { key: bk })
		assert.equal(other.status, 404, `${method} ${tail}`)
		assert.equal(other.json.code, 404)
		assert.equal(other.text.replaceAll(sbx.sandboxID, unknown), none.text)
	}
	const many = await api('GET', `/sandboxes/metrics?sandbox_ids=${sbx.sandboxID}`, undefined, { key: bk })
	assert.deepEqual(many.json, { sandboxes: {} })
	assert.equal((await envd(sbx, 'GET', '/health')).status, 204)
	await killRaw(sbx, { key: rk })
	assert.equal((await api('GET', `/sandboxes/${sbx.sandboxID}/logs`, undefined, { key: rk })).status, 200)
	assert.equal((await api('GET', `/sandboxes/${sbx.sandboxID}/logs`, undefined, { key: bk })).status, 404)
})

test('another key of the team goes on with a sandbox after the first is revoked', async () => {
	const team = await makeTeam()
	const [one, two] = [await makeKey(team), await makeKey(team)]
	const sbx = await createRaw({ timeout: 60 }, { key: one.key })
	assert.equal((await api('DELETE', `/api-keys/${one.id}`, undefined, { key: two.key })).status, 204)
	assert.equal((await api('GET', '/sandboxes', undefined, { key: one.key })).status, 401)
	const res = await api('POST', `/sandboxes/${sbx.sandboxID}/connect`, { timeout: 60 }, { key: two.key })
	assert.equal(res.status, 200)
	assert.equal(res.json.envdAccessToken, sbx.envdAccessToken)
	assert.equal((await envd(sbx, 'GET', '/health')).status, 204)
	await killRaw(sbx, { key: two.key })
})

test('rotation: both keys work during the grace period, then only the new one', async () => {
	const team = await makeTeam()
	const old = await makeKey(team, { name: 'ci' })
	const res = await api('POST', `/api-keys/${old.id}/rotate`, { grace_s: 5 }, { key: old.key })
	assert.equal(res.status, 201)
	secrets.push(res.json.key)
	assert.equal(res.json.name, 'ci')
	for (const key of [old.key, res.json.key])
		assert.equal((await api('GET', '/sandboxes', undefined, { key })).status, 200)
	assert.ok(
		await until(
			async () => (await api('GET', '/sandboxes', undefined, { key: old.key })).status === 401,
			60000,
			500,
		),
	)
	assert.equal((await api('GET', '/sandboxes', undefined, { key: res.json.key })).status, 200)
	const now = await api('POST', `/api-keys/${res.json.id}/rotate`, undefined, { key: res.json.key })
	assert.equal(now.status, 201)
	secrets.push(now.json.key)
	assert.equal((await api('GET', '/sandboxes', undefined, { key: res.json.key })).status, 401)
})

test("names of keys can be changed, the server's own key cannot be ended", async () => {
	const team = await makeTeam()
	const key = await makeKey(team)
	const res = await api('PATCH', `/api-keys/${key.id}`, { name: 'renamed' }, { key: key.key })
	assert.equal(res.status, 200)
	assert.equal(res.headers['content-length'], '0')
	assert.equal((await api('GET', '/api-keys', undefined, { key: key.key })).json[0].name, 'renamed')
	assert.equal((await api('PATCH', '/api-keys/none', { name: 'x' }, { key: key.key })).status, 404)
	const local = (await api('GET', '/api-keys')).json.find((k) => k.name === 'local')
	assert.equal((await api('DELETE', `/api-keys/${local.id}`)).status, 409)
	assert.equal((await api('POST', `/api-keys/${local.id}/rotate`, {})).status, 409)
	assert.equal((await api('DELETE', `/api-keys/${local.id}`, undefined, { key: key.key })).status, 404)
})

test('W10: a key that is no admin key cannot rename one that is', async () => {
	const team = await makeTeam(),
		boss = await makeKey(team, { name: 'boss', admin: true }),
		key = await makeKey(team)
	assert.equal((await api('PATCH', `/api-keys/${boss.id}`, { name: 'mine' }, { key: key.key })).status, 403)
	const names = (await api('GET', '/api-keys', undefined, { key: key.key })).json.map((k) => k.name).sort()
	assert.deepEqual(names, ['boss', 'one'])
	assert.equal((await api('PATCH', `/api-keys/${boss.id}`, { name: 'chief' }, { key: boss.key })).status, 200)
	const limited = await makeKey(team, { name: 'limited', quota: { maxSandboxes: 1 } })
	assert.equal((await api('PATCH', `/api-keys/${key.id}`, { name: 'mine' }, { key: limited.key })).status, 403)
})

test('W10: what programs are given is a key of the default team, and no admin key', async () => {
	const env = (...args) =>
		JSON.parse(
			spawnSync(
				path.join(server.buildDir, 'src/cli/atoll'),
				['env', '--json', '--state', server.stateDir, ...args],
				{ encoding: 'utf8' },
			).stdout,
		).url
	const { E2B_API_KEY: key } = env()
	assert.notEqual(key, server.key)
	assert.equal(env('--admin').E2B_API_KEY, server.key)
	assert.equal(fs.statSync(path.join(server.stateDir, 'sdk-key')).mode & 0o777, 0o600)
	for (const where of ['/admin/teams', '/admin/audit', '/nodes'])
		assert.equal((await api('GET', where, undefined, { key })).status, 403, where)
	assert.equal((await api('GET', '/metrics', undefined, { key })).status, 403)
	const other = await makeKey(await makeTeam())
	assert.equal(
		(await api('GET', '/sandboxes', undefined, { key, headers: { 'X-Team-ID': teams.at(-1) } })).status,
		403,
	)
	assert.equal((await api('POST', '/api-keys', { name: 'x', admin: true }, { key })).status, 403)
	const [mine, operators] = [
		(await api('GET', '/api-keys', undefined, { key })).json,
		(await api('GET', '/api-keys')).json,
	]
	assert.deepEqual(
		mine.map((k) => k.id),
		operators.map((k) => k.id),
		'the team is the same',
	)
	assert.deepEqual(
		mine
			.filter((k) => ['local', 'sdk'].includes(k.name))
			.map((k) => [k.name, k.admin])
			.sort(),
		[
			['local', true],
			['sdk', false],
		],
	)
	assert.equal(
		(await api('DELETE', `/api-keys/${mine.find((k) => k.name === 'sdk').id}`, undefined, { key })).status,
		409,
	)
	assert.ok(other.key)
})

test('only an admin key administers', async () => {
	const team = await makeTeam()
	const key = await makeKey(team)
	const routes = [
		['GET', '/admin/teams'],
		['POST', '/admin/teams', { name: 'x' }],
		['GET', '/admin/sandboxes'],
		['GET', '/metrics'],
		['PUT', '/admin/log-level', { level: 'debug' }],
		['GET', '/nodes'],
		['DELETE', `/admin/teams/${team.teamID}`],
		['POST', `/admin/teams/${team.teamID}/sandboxes/kill`],
	]
	for (const [method, route, body] of routes) {
		const res = await api(method, route, body, { key: key.key })
		assert.equal(res.status, 403, `${method} ${route}`)
		assert.equal(res.json.code, 403)
		assert.equal((await api(method, route, body, { key: null })).status, 401, route)
	}
	assert.equal((await api('POST', '/api-keys', { name: 'x', admin: true }, { key: key.key })).status, 403)
	const token = { headers: { 'X-Admin-Token': server.key }, key: null }
	assert.equal((await api('GET', '/admin/teams', undefined, token)).status, 200)
	const forged = { headers: { 'X-Admin-Token': key.key }, key: null }
	assert.equal((await api('GET', '/admin/teams', undefined, forged)).status, 401)
})

test('an admin acts for a team by X-Team-ID, nobody else does', async () => {
	const team = await makeTeam()
	const key = await makeKey(team)
	const sbx = await createRaw({ timeout: 60 }, { key: key.key })
	const as = (id) => ({ headers: { 'X-Team-ID': id } })
	const list = await api('GET', '/v2/sandboxes', undefined, as(team.teamID))
	assert.deepEqual(
		list.json.map((s) => s.sandboxID),
		[sbx.sandboxID],
	)
	assert.equal((await api('GET', '/v2/sandboxes', undefined, as('no-such-team'))).status, 404)
	const own = (await api('GET', '/teams')).json[0].teamID
	assert.equal((await api('GET', '/v2/sandboxes', undefined, { ...as(own), key: key.key })).status, 403)
	const all = await api('GET', '/admin/sandboxes')
	assert.equal(all.json.find((s) => s.sandboxID === sbx.sandboxID).teamID, team.teamID)
	const some = await api('GET', `/admin/sandboxes?team=${team.name}`)
	assert.equal(some.json.length, 1)
	assert.equal((await api('GET', '/admin/sandboxes/running-counts')).json[team.teamID], 1)
	const kill = await api('POST', `/admin/teams/${team.teamID}/sandboxes/kill`)
	assert.deepEqual(kill.json, { killedCount: 1, failedCount: 0 })
	assert.deepEqual((await api('POST', `/admin/teams/${team.teamID}/sandboxes/kill`)).json, {
		killedCount: 0,
		failedCount: 0,
	})
	assert.equal((await envd(sbx, 'GET', '/health')).status, 502)
})

test('a quota of sandboxes is 429 without Retry-After', async () => {
	const team = await makeTeam({ maxSandboxes: 2 })
	const key = (await makeKey(team)).key
	const two = [await createRaw({ timeout: 60 }, { key }), await createRaw({ timeout: 60 }, { key })]
	const third = await api('POST', '/sandboxes', { templateID: 'base' }, { key })
	assert.equal(third.status, 429)
	assert.equal(third.json.code, 429)
	assert.deepEqual([third.headers['retry-after'], third.headers['should-retry']], [undefined, 'false'])
	await killRaw(two[0], { key })
	const again = await createRaw({ timeout: 60 }, { key })
	const set = await api('PATCH', `/admin/teams/${team.name}`, { maxSandboxes: 0 })
	assert.equal(set.json.maxSandboxes, 0)
	assert.equal(set.json.runningSandboxes, 2)
	await killRaw(two[1], { key })
	await killRaw(again, { key })
	assert.equal((await api('POST', '/sandboxes', { templateID: 'base' }, { key })).status, 429)
	assert.equal((await api('PATCH', `/admin/teams/${team.name}`, { maxSandboxes: null })).json.maxSandboxes, null)
})

test('at once, too, a quota holds', async () => {
	const team = await makeTeam({ maxSandboxes: 3 })
	const key = (await makeKey(team)).key
	const all = await Promise.all(
		Array.from({ length: 12 }, () =>
			api('POST', '/v2/sandboxes', { templateID: 'base', timeout: 60 }, { key }),
		),
	)
	assert.equal(all.filter((r) => r.status === 201).length, 3)
	assert.equal(all.filter((r) => r.status === 429).length, 9)
	await api('POST', `/admin/teams/${team.teamID}/sandboxes/kill`)
})

test('a rate limit is 429 with whole seconds to wait, per key', async () => {
	const team = await makeTeam({ rateLimit: 5 })
	const [one, two] = [(await makeKey(team)).key, (await makeKey(team)).key]
	let refused
	for (let i = 0; i < 30 && !refused; i++) {
		const res = await api('GET', '/sandboxes', undefined, { key: one })
		assert.equal(res.headers['ratelimit-limit'], '5')
		assert.match(res.headers['ratelimit-remaining'], /^\d+$/)
		assert.match(res.headers['ratelimit-reset'], /^\d+$/)
		if (res.status === 429) refused = res
	}
	assert.equal(refused.json.code, 429)
	assert.match(refused.headers['retry-after'], /^[1-9]\d*$/)
	assert.equal((await api('GET', '/sandboxes', undefined, { key: two })).status, 200)
	await sleep(Number(refused.headers['retry-after']) * 1000) // what it says is the time after which it works
	assert.equal((await api('GET', '/sandboxes', undefined, { key: one })).status, 200)
	assert.equal((await api('GET', '/sandboxes')).headers['ratelimit-limit'], undefined)
})

test('C6: a blocked team can look and delete only; a deleted one gets 401, one with sandboxes stays', async () => {
	const team = await makeTeam()
	const key = (await makeKey(team)).key
	const sbx = await createRaw({ timeout: 60 }, { key })
	const asleep = await createRaw({ timeout: 60, autoPause: true, autoResume: { enabled: true } }, { key })
	assert.equal((await api('POST', `/sandboxes/${asleep.sandboxID}/pause`, {}, { key })).status, 204)
	assert.equal((await api('DELETE', `/admin/teams/${team.teamID}`)).status, 409)
	assert.equal((await api('PATCH', `/admin/teams/${team.teamID}`, { blocked: true })).json.blocked, true)
	const as = async (method, path, body) => (await api(method, path, body, { key })).status
	for (const path of [
		'/sandboxes',
		'/v2/sandboxes',
		`/sandboxes/${sbx.sandboxID}`,
		'/templates',
		'/v2/templates',
		'/volumes',
		'/secrets',
		'/api-keys',
		'/snapshots',
	])
		assert.equal(await as('GET', path), 200, path)
	for (const [method, path, body] of [
		['POST', '/sandboxes', { templateID: 'base' }],
		['POST', `/sandboxes/${sbx.sandboxID}/pause`, {}],
		['POST', `/sandboxes/${sbx.sandboxID}/timeout`, { timeout: 9 }],
		['POST', `/sandboxes/${sbx.sandboxID}/connect`, { timeout: 9 }],
		['POST', '/volumes', { name: 'v' }],
		['POST', '/v3/templates', { name: 'x' }],
		['POST', '/api-keys', { name: 'k' }],
		['POST', '/purge', {}],
		['GET', '/agent/state'],
		['DELETE', '/agent/sessions/x'],
		['POST', '/mcp', {}],
		['GET', `/templates/x/files/${'0'.repeat(64)}`],
	]) {
		const res = await api(method, path, body, { key })
		assert.deepEqual(
			[res.status, /team is blocked/.test(res.json.message)],
			[403, true],
			`${method} ${path}`,
		)
	}
	assert.equal((await envd(asleep, 'GET', '/health')).status, 502, 'nor is one that is paused woken by traffic')
	assert.equal((await api('GET', `/sandboxes/${asleep.sandboxID}`, undefined, { key })).json.state, 'paused')
	assert.equal(await as('DELETE', `/sandboxes/${sbx.sandboxID}`), 204)
	assert.equal((await api('PATCH', `/admin/teams/${team.teamID}`, { blocked: false })).status, 200)
	assert.equal((await envd(asleep, 'GET', '/health')).status, 204)
	assert.equal(await as('DELETE', `/sandboxes/${asleep.sandboxID}`), 204)
	assert.equal((await api('DELETE', `/admin/teams/${team.teamID}`)).status, 204)
	assert.equal((await api('GET', '/sandboxes', undefined, { key })).status, 401)
	assert.equal((await api('GET', `/admin/teams/${team.teamID}`)).status, 404)
	const mine = (await api('GET', '/admin/teams')).json.find((t) => t.isDefault)
	assert.equal((await api('DELETE', `/admin/teams/${mine.teamID}`)).status, 409)
	assert.equal((await api('PATCH', `/admin/teams/${mine.teamID}`, { blocked: true })).status, 409)
})

test('guessing keys gets slower, and does not slow down who has one', async () => {
	const wrong = () => api('GET', '/sandboxes', undefined, { key: `e2b_${'0'.repeat(38)}${n++}` })
	const began = Date.now()
	for (let i = 0; i < 9; i++) assert.equal((await wrong()).status, 401)
	assert.ok(Date.now() - began > 500, `${Date.now() - began} ms for nine guesses`)
	let flooding = true
	const flood = Promise.all(Array.from({ length: 60 }, wrong)).finally(() => {
		flooding = false
	})
	assert.equal((await api('GET', '/sandboxes')).status, 200)
	assert.ok(flooding, 'it waited until the guesses were over')
	const states = (await flood).map((r) => r.status)
	assert.ok(states.every((s) => s === 401 || s === 429))
	assert.ok(states.includes(429))
})

test('neither the state file nor the log holds a key', async () => {
	assert.ok(secrets.length > 5)
	const files = fs
		.readdirSync(server.stateDir, { recursive: true })
		.filter((f) => /atoll\.db/.test(f))
		.map((f) => path.join(server.stateDir, f))
	assert.ok(files.length > 0)
	for (const file of [...files, server.log]) {
		const text = fs.readFileSync(file).toString('latin1')
		for (const secret of [...secrets, server.key])
			assert.ok(!text.includes(secret.slice(4)), `${file} holds a key`)
	}
	const log = fs.readFileSync(server.log, 'utf8')
	assert.match(log, /"event":"authentication failed","kv":"request=\S+ from=127\.0\.0\.1 /)
})
