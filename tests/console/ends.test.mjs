// SPDX-License-Identifier: Apache-2.0
// Links that work once, people who may only look, and everything that ends a session, or must not.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { api, createRaw, killRaw, request, server as shared } from '../lib/client.mjs'
import { Visitor } from '../lib/console.mjs'
import { ask, session } from '../lib/h2.mjs'
import { childrenOf, nameOf, until } from '../lib/host.mjs'
import { newServer } from '../lib/server.mjs'
import { newTlsServer, secureRequest } from '../lib/tls.mjs'

let own, opt, sbx
let n = 0
const seen = [] // keys, codes and tokens that no log may have

const admin = (method, route, body) => api(method, route, body, opt)

async function makeTeam() {
	const res = await admin('POST', '/admin/teams', { name: `ends-${n++}` })
	assert.equal(res.status, 201, res.text)
	return res.json
}

async function makeKey(team, body = {}) {
	const res = await admin('POST', `/admin/teams/${team.teamID}/api-keys`, { name: 'k', ...body })
	assert.equal(res.status, 201, res.text)
	seen.push(res.json.key)
	return res.json
}

async function loggedIn(apiKey, body = {}) {
	const v = new Visitor({ base: own.url })
	await v.login({ apiKey, ...body })
	seen.push(v.token)
	return v
}

async function link(key, body) {
	const res = await api('POST', '/console/api/links', body, { base: own.url, key })
	if (res.status === 201) seen.push(res.json.code)
	return res
}

const isOver = async (v) => (await v.ask('GET', '/v2/sandboxes')).status === 401

before(async () => {
	own = await newTlsServer(shared.buildDir, { audit_segment_kb: 16 })
	await own.start()
	opt = { base: own.url, key: own.key }
	seen.push(own.key)
	sbx = await createRaw({ timeout: 900 }, opt)
})
after(async () => {
	await killRaw(sbx, opt)
	await own.stop()
})

test('a link logs in once, for a while, with at most the rights of its key', async () => {
	const team = await makeTeam()
	const key = await makeKey(team)
	const made = await link(key.key)
	assert.equal(made.status, 201)
	assert.match(made.json.path, /^\/console\/#login=[a-z0-9]{32}$/)
	assert.equal(made.json.role, 'member')
	const v = new Visitor({ base: own.url })
	const first = await v.login({ link: made.json.code })
	seen.push(v.token)
	assert.equal(first.json.team.id, team.teamID)
	assert.equal(first.json.key.id, key.id)
	const again = await new Visitor({ base: own.url }).ask('POST', '/console/api/login', { link: made.json.code })
	assert.equal(again.status, 401)
	assert.match(again.json.message, /used already/)
	assert.equal((await link(key.key, { role: 'admin' })).status, 403)
	for (const body of [{ seconds: 5 }, { seconds: 1e6 }, { seconds: 'x' }, { role: 7 }, { role: 'x' }])
		assert.equal((await link(key.key, body)).status, 400, JSON.stringify(body))
	assert.equal((await link(null)).status, 401)
	assert.equal((await v.ask('POST', '/console/api/links', { role: 'viewer' })).status, 201)
	const viewer = await loggedIn(key.key, { role: 'viewer' })
	assert.equal((await viewer.ask('POST', '/console/api/links')).status, 403)
	const dead = await link(key.key)
	assert.equal((await admin('DELETE', `/admin/teams/${team.teamID}/api-keys/${key.id}`)).status, 204)
	assert.equal((await v.ask('POST', '/console/api/login', { link: dead.json.code })).status, 401)
})

test('atoll console prints such a link', async () => {
	const atoll = (...args) =>
		spawnSync(own.atoll(), ['console', '--state', own.stateDir, ...args], { encoding: 'utf8' })
	const got = atoll('--for', '1m', '--role', 'viewer')
	assert.equal(got.status, 0, got.stderr)
	const m = /^(http:\/\/127\.0\.0\.1:\d+)\/console\/#login=([a-z0-9]{32})\n$/.exec(got.stdout)
	assert.ok(m, got.stdout)
	seen.push(m[2])
	assert.equal(m[1], own.url)
	const v = new Visitor({ base: own.url })
	assert.equal((await v.login({ link: m[2] })).json.role, 'viewer')
	assert.notEqual(atoll('--role', 'king').status, 0)
	assert.match(atoll('--for', '2h').stderr, /seconds/)
})

test('who may only look changes nothing, and gets no token', async () => {
	const v = await loggedIn(own.key, { role: 'viewer' })
	assert.equal((await v.session()).json.role, 'viewer')
	const volume = await admin('POST', '/volumes', { name: `v${n++}` })
	const hook = await admin('POST', '/events/webhooks', {
		name: 'h',
		url: 'https://user:pw@hooks.example.org/T000/secret-part?token=x',
		events: ['sandbox.lifecycle.created'],
	})
	const plain =
		hook.status === 201
			? hook
			: await admin('POST', '/events/webhooks', {
					name: 'h',
					url: 'https://hooks.example.org/T000/secret-part?token=x',
					events: ['sandbox.lifecycle.created'],
				})
	const tokens = [sbx.envdAccessToken, volume.json.token, 'secret-part', 'pw@']
	assert.equal(plain.status, 201, plain.text)
	assert.ok(tokens.every((token) => token))
	const { id } = plain.json
	const shown = [
		'/v2/sandboxes',
		'/sandboxes',
		`/sandboxes/${sbx.sandboxID}`,
		`/sandboxes/${sbx.sandboxID}/metrics`,
		`/sandboxes/${sbx.sandboxID}/logs`,
		'/volumes',
		`/volumes/${volume.json.volumeID}`,
		'/secrets',
		'/events/webhooks',
		`/events/webhooks/${id}`,
		'/events/sandboxes',
		'/teams',
		'/api-keys',
		'/templates',
		'/audit',
		'/usage',
		'/snapshots',
	]
	for (const route of shown) {
		const res = await v.ask('GET', route)
		assert.equal(res.status, 200, `${route}: ${res.text}`)
		for (const token of [...tokens, own.key]) assert.ok(!res.text.includes(token), `${route}: ${token}`)
	}
	assert.equal((await v.ask('GET', '/events/webhooks')).json[0].url, 'https://hooks.example.org')
	const changes = [
		['POST', '/v2/sandboxes', {}],
		['DELETE', `/sandboxes/${sbx.sandboxID}`],
		['POST', `/v2/sandboxes/${sbx.sandboxID}/connect`, { timeout: 60 }],
		['POST', `/sandboxes/${sbx.sandboxID}/connect`, { timeout: 60 }],
		['POST', `/sandboxes/${sbx.sandboxID}/pause`, {}],
		['PATCH', `/sandboxes/${sbx.sandboxID}/limits`, {}],
		['POST', '/api-keys', { name: 'x' }],
		['POST', '/purge'],
		['GET', '/templates/base/files/aa'],
		['GET', '/agent/sessions'],
		['POST', '/mcp', {}],
		['GET', '/admin/teams'],
		['GET', '/admin/audit'],
		['POST', '/console/api/links'],
	]
	for (const [method, route, body] of changes)
		assert.equal((await v.ask(method, route, body)).status, 403, `${method} ${route}`)
	const asAdmin = await v.ask('GET', '/v2/sandboxes', undefined, {
		headers: { 'X-Team-ID': (await makeTeam()).teamID },
	})
	assert.equal(asAdmin.status, 403)
})

test('it ends with its key: deleted, rotated, or of a team that is blocked or deleted', async () => {
	const team = await makeTeam()
	const [one, two, three] = [await makeKey(team), await makeKey(team), await makeKey(team)]
	const [a, b, c] = [await loggedIn(one.key), await loggedIn(two.key), await loggedIn(three.key)]
	assert.equal((await admin('DELETE', `/admin/teams/${team.teamID}/api-keys/${one.id}`)).status, 204)
	assert.ok(await isOver(a))
	const rotated = await admin('POST', `/admin/teams/${team.teamID}/api-keys/${two.id}/rotate`, {})
	assert.equal(rotated.status, 201)
	seen.push(rotated.json.key)
	assert.ok(await isOver(b))
	assert.ok(!(await isOver(c)))
	assert.equal((await admin('PATCH', `/admin/teams/${team.teamID}`, { blocked: true })).status, 200)
	assert.ok(await isOver(c))
	const refused = await new Visitor({ base: own.url }).ask('POST', '/console/api/login', { apiKey: three.key })
	assert.equal(refused.status, 403)
	assert.equal((await admin('PATCH', `/admin/teams/${team.teamID}`, { blocked: false })).status, 200)
	assert.ok(await isOver(c))
	const d = await loggedIn(three.key)
	assert.equal((await admin('DELETE', `/admin/teams/${team.teamID}`)).status, 204)
	assert.ok(await isOver(d))
})

test('a key may be logged in a limited number of times: the session unused for longest makes room', async () => {
	const key = await makeKey(await makeTeam())
	const all = []
	for (let i = 0; i < 33; i++) all.push(await loggedIn(key.key))
	const over = await Promise.all(all.map(isOver))
	assert.equal(over.filter(Boolean).length, 1)
	assert.ok(over[0])
})

test('it survives the end of the front; links do not', async () => {
	const key = await makeKey(await makeTeam())
	const [v, gone] = [await loggedIn(key.key), await loggedIn(key.key)]
	await gone.ask('POST', '/console/api/logout')
	const { code } = (await link(key.key)).json
	const front = childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-front')
	process.kill(front, 'SIGKILL')
	assert.ok(
		await until(
			() =>
				v.session().then(
					(res) => res.status === 200,
					() => false,
				),
			60000,
		),
	)
	assert.equal((await gone.session()).status, 401)
	assert.equal((await v.ask('POST', '/console/api/login', { link: code })).status, 401)
	assert.ok(!(await isOver(v)))
})

test('over TLS the cookie is of this host alone, and plain HTTP does not take it', async () => {
	const send = (method, route, { body, headers }) =>
		secureRequest(own, 'api', method, route, {
			headers: { 'Content-Type': 'application/json', ...headers },
			body: body === undefined ? undefined : JSON.stringify(body),
		}).then((res) => ({ ...res, json: res.text.startsWith('{') ? JSON.parse(res.text) : undefined }))
	const v = new Visitor({ base: own.url, send })
	const res = await v.login({ apiKey: own.key })
	seen.push(v.token)
	assert.match(v.cookie, /^__Host-atoll_session=[a-z0-9]{32}$/)
	assert.deepEqual(v.attributes, ['Path=/', 'HttpOnly', 'SameSite=Strict', 'Secure'])
	assert.equal(res.json.server.sandboxUrl, `https://{port}-{id}.${own.domain}`)
	const origin = (value) => ({ headers: { Origin: value } })
	assert.equal((await v.ask('GET', '/nodes', undefined, origin(`https://api.${own.domain}`))).status, 200)
	assert.equal((await v.ask('GET', '/nodes', undefined, origin(`http://api.${own.domain}`))).status, 403)
	const page = `https://3000-${sbx.sandboxID}.${own.domain}`
	assert.equal((await v.ask('GET', '/nodes', undefined, origin(page))).status, 403)
	// a page of a sandbox can set the other name for the whole domain
	const tossed = `atoll_session=${'a'.repeat(32)}; ${v.cookie}`
	assert.equal((await v.ask('GET', '/nodes', undefined, { cookie: tossed })).status, 200)
	const plain = new Visitor({ base: own.url })
	assert.equal((await plain.ask('GET', '/nodes', undefined, { cookie: v.cookie })).status, 401)
	const renamed = v.cookie.replace('__Host-', '')
	assert.equal((await v.ask('GET', '/nodes', undefined, { cookie: renamed })).status, 401)
	const h2 = await session(own)
	const headers = { 'x-atoll-console': '1', cookie: ['a=1', v.cookie] }
	assert.equal((await ask(h2, 'api', 'GET', '/nodes', { headers })).status, 200)
	headers.origin = page
	assert.equal((await ask(h2, 'api', 'GET', '/nodes', { headers })).status, 403)
	const twice = { 'x-atoll-console': '1', cookie: [v.cookie, v.cookie] }
	assert.equal((await ask(h2, 'api', 'GET', '/nodes', { headers: twice })).status, 401)
	h2.close()
})

test('without use it ends, and polling is no use; at its time it ends in any case', async () => {
	const short = await newServer(shared.buildDir, { console_idle_s: 2, console_session_s: 600 }).start()
	const life = await newServer(shared.buildDir, { console_idle_s: 600, console_session_s: 2 }).start()

	try {
		const poll = new Visitor({ base: short.url })
		await poll.login({ apiKey: short.key })
		const asked = (headers) => poll.ask('GET', '/nodes', undefined, { headers })
		assert.equal((await asked({ 'X-Atoll-Console': 'poll' })).status, 200)
		assert.ok(
			await until(
				async () => (await asked({ 'X-Atoll-Console': 'poll' })).status === 401,
				60000,
				100,
			),
		)
		const used = new Visitor({ base: life.url })
		await used.login({ apiKey: life.key })
		assert.ok(await until(async () => (await used.ask('GET', '/nodes')).status === 401, 60000, 100))
	} finally {
		await Promise.all([short.stop(), life.stop()])
	}
})

test('copies name what they are copies of, also after a restart of the front', async () => {
	const call = (method, route, body) => admin(method, route, body)
	const source = await createRaw({ timeout: 600 }, opt)
	const forked = await call('POST', `/sandboxes/${source.sandboxID}/fork`, { timeout: 600 })
	assert.equal(forked.status, 201, forked.text)
	const fork = forked.json[0].sandbox.sandboxID
	const snapshot = await call('POST', `/sandboxes/${fork}/snapshots`, {})
	assert.equal(snapshot.status, 201, snapshot.text)
	const child = (await createRaw({ templateID: snapshot.json.snapshotID, timeout: 600 }, opt)).sandboxID
	const parents = async () => {
		const list = (await call('GET', '/v2/sandboxes')).json
		return [source.sandboxID, fork, child].map((id) => list.find((s) => s.sandboxID === id)?.parentID)
	}
	const want = [undefined, source.sandboxID, fork]
	assert.deepEqual(await parents(), want)
	const info = (await call('GET', `/sandboxes/${child}`)).json
	assert.equal(info.parentID, fork)
	assert.ok((await call('GET', '/api-keys')).json.some((key) => key.id === info.keyID))
	process.kill(
		childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-front'),
		'SIGKILL',
	)
	const same = () =>
		parents().then(
			(got) => JSON.stringify(got) === JSON.stringify(want),
			() => false,
		)
	assert.ok(await until(same, 60000))
	for (const sandboxID of [child, fork, source.sandboxID]) await killRaw({ sandboxID }, opt)
})

test('an open server asks the console for a key all the same', async () => {
	const open = await newServer(shared.buildDir, { open: true }).start()

	try {
		const v = new Visitor({ base: open.url })
		assert.equal((await v.session()).status, 401)
		assert.equal((await v.ask('GET', '/v2/sandboxes')).status, 401)
		const res = await request('POST', '/console/api/links', { base: open.url })
		assert.equal(res.status, 403)
		await v.login({ apiKey: open.key })
		assert.equal((await v.ask('GET', '/v2/sandboxes')).status, 200)
	} finally {
		await open.stop()
	}
})

test('the audit trail says who it was; no log or file has a key, code or token', async () => {
	const team = await makeTeam()
	const key = await makeKey(team)
	const v = await loggedIn(key.key)
	const { id } = (await v.session()).json
	assert.equal((await v.ask('POST', '/api-keys', { name: 'by-console' })).status, 201)
	await v.ask('POST', '/console/api/logout')
	const audit = await api('GET', '/audit', undefined, { base: own.url, key: key.key })
	assert.equal(audit.status, 200)
	const records = audit.text
		.trim()
		.split('\n')
		.map((line) => JSON.parse(line))
	const of = (kind) => records.find((r) => r.kind === kind)
	for (const kind of ['console.login', 'key.create', 'console.logout']) {
		assert.equal(of(kind)?.fields.console, id, `${kind}: ${audit.text}`)
		assert.equal(of(kind).key, key.id)
	}
	const verified = spawnSync(own.atoll(), ['audit', 'verify', '--state', own.stateDir], { encoding: 'utf8' })
	assert.equal(verified.status, 0, verified.stdout + verified.stderr)
	const files = [
		own.log,
		...fs.readdirSync(path.join(own.stateDir, 'front')).map((f) => path.join(own.stateDir, 'front', f)),
	]
	for (const file of files.filter(
		(f) => fs.statSync(f).isFile() && path.basename(f) !== 'key' && path.basename(f) !== 'sdk-key',
	)) {
		const text = fs.readFileSync(file, 'latin1')
		for (const secret of seen) assert.ok(!text.includes(secret), `${file}: ${secret.slice(0, 8)}`)
	}
})
