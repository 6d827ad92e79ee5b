// SPDX-License-Identifier: Apache-2.0
// The console's server side: who is logged in, for how long, from where, and with which rights.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { api, createRaw, killRaw, request, server } from '../lib/client.mjs'
import { Visitor } from '../lib/console.mjs'

const teams = []
let team, key, other, sbx

async function makeTeam() {
	const res = await api('POST', '/admin/teams', { name: `console-${process.pid}-${teams.length}` })
	assert.equal(res.status, 201, res.text)
	teams.push(res.json.teamID)
	return res.json
}

async function makeKey(of = team, body = {}) {
	const res = await api('POST', `/admin/teams/${of.teamID}/api-keys`, { name: 'one', ...body })
	assert.equal(res.status, 201, res.text)
	return res.json
}

async function loggedIn(apiKey = key.key, body = {}) {
	const v = new Visitor()
	await v.login({ apiKey, ...body })
	return v
}

before(async () => {
	team = await makeTeam()
	key = await makeKey()
	other = await makeKey(await makeTeam())
	sbx = await createRaw({ timeout: 600 }, { key: key.key })
})
after(async () => {
	await killRaw(sbx, { key: key.key })
	for (const id of teams) {
		await api('POST', `/admin/teams/${id}/sandboxes/kill`)
		await api('DELETE', `/admin/teams/${id}`)
	}
})

test('a key logs in, the cookie is for the server alone, and says who it is', async () => {
	const v = new Visitor()
	assert.equal((await v.ask('GET', '/console/api/session')).status, 401)
	const res = await v.login({ apiKey: key.key })
	assert.match(v.cookie, /^atoll_session=[a-z0-9]{32}$/)
	assert.deepEqual(v.attributes, ['Path=/', 'HttpOnly', 'SameSite=Strict'])
	assert.equal(res.headers['cache-control'], 'no-store')
	assert.ok(!res.text.includes(key.key) && !res.text.includes(v.token))
	const me = await v.ask('GET', '/console/api/session')
	assert.equal(me.status, 200)
	assert.deepEqual(me.json.team, { id: team.teamID, name: team.name })
	assert.equal(me.json.role, 'member')
	assert.equal(me.json.user, null)
	assert.deepEqual(me.json.key, { id: key.id, name: 'one', prefix: key.key.slice(0, 6) })
	assert.match(me.json.server.version, /^\d/)
	assert.equal(me.json.server.sandboxUrl, `http://{port}-{id}.localhost:${new URL(server.url).port}`)
	assert.ok(Date.parse(me.json.expiresAt) > Date.now())
	assert.ok(me.json.idleSeconds > 0)
})

test('the session stands in for the key, for its team only', async () => {
	const v = await loggedIn()
	const list = await v.ask('GET', '/v2/sandboxes')
	assert.deepEqual(
		list.json.map((s) => s.sandboxID),
		[sbx.sandboxID],
	)
	const info = await v.ask('GET', `/sandboxes/${sbx.sandboxID}`)
	assert.equal(info.json.envdAccessToken, sbx.envdAccessToken)
	assert.equal((await v.ask('POST', `/sandboxes/${sbx.sandboxID}/timeout`, { timeout: 600 })).status, 204)
	assert.equal((await v.ask('GET', '/admin/teams')).status, 403)
	assert.equal((await (await loggedIn(other.key)).ask('GET', `/sandboxes/${sbx.sandboxID}`)).status, 404)
	assert.equal((await v.ask('GET', '/teams')).json[0].apiKey, '')
	const admin = await loggedIn(server.key)
	assert.equal((await admin.ask('GET', '/console/api/session')).json.role, 'admin')
	assert.equal((await admin.ask('GET', '/admin/teams')).status, 200)
	const acting = await admin.ask('GET', '/v2/sandboxes', undefined, { headers: { 'X-Team-ID': team.teamID } })
	assert.equal(acting.json.length, 1)
})

test('the cookie alone does nothing: not without the header, not from another page', async () => {
	const v = await loggedIn()
	const bare = await v.ask('GET', '/v2/sandboxes', undefined, { headers: { 'X-Atoll-Console': undefined } })
	assert.equal(bare.status, 401)
	const { host } = new URL(server.url)
	const foreign = [
		{ 'Sec-Fetch-Site': 'same-site' },
		{ 'Sec-Fetch-Site': 'cross-site' },
		{ 'Sec-Fetch-Site': 'none' },
		{ Origin: `http://3000-${sbx.sandboxID}.${host}` },
		{ Origin: `http://3000-${sbx.sandboxID}.localhost:${new URL(server.url).port}` },
		{ Origin: 'null' },
		{ Origin: `http://${host}.evil.example` },
		{ Origin: `http://${new URL(server.url).hostname}:1` },
		{ 'Sec-Fetch-Site': undefined, Origin: 'http://evil.example' },
	]
	for (const headers of foreign) {
		for (const [method, path] of [
			['GET', '/v2/sandboxes'],
			['DELETE', `/sandboxes/${sbx.sandboxID}`],
			['GET', '/console/api/session'],
			['POST', '/console/api/login'],
			['POST', '/console/api/logout'],
		]) {
			const res = await v.ask(method, path, method === 'POST' ? { apiKey: key.key } : undefined, {
				headers,
			})
			assert.equal(res.status, 403, `${method} ${path} ${JSON.stringify(headers)}`)
		}
	}
	for (const headers of [{ Origin: `http://${host}` }, { Origin: `http://${host}`, 'Sec-Fetch-Site': undefined }])
		assert.equal((await v.ask('GET', '/v2/sandboxes', undefined, { headers })).status, 200)
})

test('no page of another origin may send the header: preflights do not name it', async () => {
	const res = await request('OPTIONS', '/sandboxes', {
		headers: {
			Origin: 'http://evil.example',
			'Access-Control-Request-Method': 'GET',
			'Access-Control-Request-Headers': 'x-atoll-console',
		},
	})
	assert.equal(res.status, 204)
	assert.ok(!/x-atoll-console/i.test(res.headers['access-control-allow-headers']))
	assert.equal(res.headers['access-control-allow-credentials'], undefined)
})

test('logging out ends the session, and the cookie', async () => {
	const v = await loggedIn()
	const { cookie } = v
	const res = await v.ask('POST', '/console/api/logout')
	assert.equal(res.status, 200)
	assert.equal(v.cookie, undefined)
	assert.equal((await v.ask('GET', '/v2/sandboxes', undefined, { cookie })).status, 401)
	assert.equal((await v.ask('POST', '/console/api/logout')).status, 200)
})

test('a new log-in has a new token, whatever cookie the browser had', async () => {
	const v = await loggedIn()
	const { cookie } = v
	await v.login({ apiKey: key.key })
	assert.notEqual(v.cookie, cookie)
	assert.equal((await v.ask('GET', '/v2/sandboxes', undefined, { cookie })).status, 401)
	v.cookie = 'atoll_session=chosenbyanattacker00000000000000'
	await v.login({ apiKey: key.key })
	assert.ok(!v.cookie.includes('chosen'))
})

test('two session cookies in one request are refused: one of them was planted', async () => {
	const v = await loggedIn()
	const planted = await loggedIn(other.key)
	for (const cookie of [
		`${planted.cookie}; ${v.cookie}`,
		`${v.cookie}; ${planted.cookie}`,
		`${v.cookie};${v.cookie}`,
	])
		assert.equal((await v.ask('GET', '/v2/sandboxes', undefined, { cookie })).status, 401)
	assert.equal((await v.ask('GET', '/v2/sandboxes', undefined, { cookie: `a=b; ${v.cookie}; c` })).status, 200)
	const secure = v.cookie.replace('atoll_session', '__Host-atoll_session')
	assert.equal((await v.ask('GET', '/v2/sandboxes', undefined, { cookie: secure })).status, 401)
})

test('a wrong key and malformed requests', async () => {
	const v = new Visitor()
	const wrong = await v.ask('POST', '/console/api/login', { apiKey: `e2b_${'0'.repeat(40)}` })
	assert.equal(wrong.status, 401)
	assert.equal(v.cookie, undefined)
	const bad = [
		{},
		{ apiKey: 1 },
		{ link: {} },
		{ apiKey: 'a', link: 'b' },
		[],
		'x',
		{ apiKey: key.key, role: 'root' },
	]
	for (const body of bad) {
		const res = await v.ask('POST', '/console/api/login', JSON.stringify(body))
		assert.equal(res.status, 400, JSON.stringify(body))
	}
	assert.equal((await v.ask('POST', '/console/api/login', { apiKey: 'x'.repeat(5000) })).status, 413)
	assert.equal((await v.ask('POST', '/console/api/login', { apiKey: key.key, role: 'admin' })).status, 403)
	assert.equal((await v.ask('PUT', '/console/api/login')).status, 405)
	assert.equal((await v.ask('GET', '/console/api/nothing')).status, 404)
	assert.equal(v.cookie, undefined)
})
