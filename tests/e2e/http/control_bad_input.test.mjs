// SPDX-License-Identifier: Apache-2.0
// Every field of every request of the control API, wrong in every way: 400 that names it, nothing changed, served on.
import { test, after, afterEach, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import { api, createRaw, envd, exchange, killRaw, request, server } from '../../lib/client.mjs'

const HUGE = 1e15
const LONG = 'x'.repeat(5000)
const NUL = 'a\0b'
let sbx
let team
let key

before(async () => {
	sbx = await createRaw({ timeout: 900 })
	team = (await api('POST', '/admin/teams', { name: `bad-input-${process.pid}` })).json
	key = (await api('POST', `/admin/teams/${team.teamID}/api-keys`, { name: 'k' })).json
})

after(async () => {
	await killRaw(sbx)
	await api('DELETE', `/admin/teams/${team.teamID}`)
})

afterEach(async () => {
	assert.equal((await request('GET', '/health')).status, 204)
	assert.equal((await envd(sbx, 'GET', '/health')).status, 204)
})

// What is wrong for a field of each kind. `null` counts as absent, so it is only wrong where the field is required.
const WRONG = {
	string: [1, true, [], {}, NUL],
	name: [1, true, [], {}, NUL, '', LONG],
	bool: ['true', 1, 0, [], {}],
	timeout: ['60', 1.5, -1, HUGE, true, [], {}],
	count: ['1', 1.5, -1, HUGE, true, [], {}],
	object: [1, 'x', true, []],
	array: [1, 'x', true, {}],
	map: [1, 'x', true, [], { a: 1 }, { a: null }, { a: {} }, { a: NUL }],
	level: [1, true, [], {}, 'INFO', '', 'loud'],
}

const create = { templateID: 'base' }
const id = () => sbx.sandboxID

// [method, path, a sound body, fields with their kind, fields that must be there]
const TABLE = [
	[
		'POST',
		() => '/sandboxes',
		create,
		{
			templateID: 'name',
			timeout: 'timeout',
			secure: 'bool',
			autoPause: 'bool',
			autoPauseMemory: 'bool',
			autoResume: 'object',
			allow_internet_access: 'bool',
			network: 'object',
			metadata: 'map',
			envVars: 'map',
			mcp: 'object',
			iam: 'object',
			volumeMounts: 'array',
		},
		['templateID'],
	],
	[
		'POST',
		() => '/v2/sandboxes',
		create,
		{
			templateID: 'name',
			timeout: 'timeout',
			autoPause: 'bool',
			autoPauseMemory: 'bool',
			autoResume: 'object',
			allow_internet_access: 'bool',
			network: 'object',
			metadata: 'map',
			envVars: 'map',
			mcp: 'object',
			iam: 'object',
			volumeMounts: 'array',
		},
		['templateID'],
	],
	['POST', () => `/sandboxes/${id()}/timeout`, { timeout: 900 }, { timeout: 'timeout' }, ['timeout']],
	[
		'POST',
		() => `/sandboxes/${id()}/connect`,
		{ timeout: 900 },
		{ timeout: 'timeout', memory: 'bool' },
		['timeout'],
	],
	['POST', () => `/v2/sandboxes/${id()}/connect`, {}, { timeout: 'timeout', memory: 'bool' }, []],
	['POST', () => `/sandboxes/${id()}/refreshes`, {}, { duration: 'timeout' }, []],
	['POST', () => `/sandboxes/${id()}/pause`, {}, { memory: 'bool', requireHealthyGuest: 'bool' }, []],
	['POST', () => `/sandboxes/${id()}/resume`, {}, { timeout: 'timeout', autoPause: 'bool', memory: 'bool' }, []],
	[
		'PUT',
		() => `/sandboxes/${id()}/network`,
		{},
		{
			allow_internet_access: 'bool',
			denyOut: 'array',
			allowOut: 'array',
			rules: 'object',
			egressProxy: 'object',
		},
		[],
	],
	['POST', () => '/api-keys', { name: 'k' }, { name: 'name', admin: 'bool' }, ['name']],
	['PATCH', () => `/api-keys/${key.id}`, { name: 'k' }, { name: 'name' }, ['name'], () => key.key],
	['POST', () => `/api-keys/${key.id}/rotate`, {}, { grace_s: 'count', name: 'name' }, [], () => key.key],
	[
		'POST',
		() => '/admin/teams',
		{ name: 'never-made' },
		{ name: 'name', maxSandboxes: 'count', rateLimit: 'count' },
		['name'],
	],
	[
		'PATCH',
		() => `/admin/teams/${team.teamID}`,
		{},
		{ name: 'name', maxSandboxes: 'count', rateLimit: 'count', blocked: 'bool' },
		[],
	],
	[
		'POST',
		() => `/admin/teams/${team.teamID}/api-keys`,
		{ name: 'k' },
		{ name: 'name', admin: 'bool' },
		['name'],
	],
	['PUT', () => '/admin/log-level', { level: 'info' }, { level: 'level' }, ['level']],
]

const show = (v) => JSON.stringify(v).slice(0, 40)

for (const [method, route, sound, fields, required, useKey] of TABLE) {
	const opt = () => (useKey ? { key: useKey() } : {})

	test(`${method} ${route.toString().slice(6).replace(/`/g, '')}: a wrong field is 400 and named`, async () => {
		for (const [field, kind] of Object.entries(fields)) {
			for (const value of WRONG[kind]) {
				const res = await api(method, route(), { ...sound, [field]: value }, opt())
				assert.equal(res.status, 400, `${field} = ${show(value)}: ${res.status} ${res.text}`)
				assert.equal(res.json.code, 400)
				assert.ok(
					res.json.message.includes(field),
					`${field} = ${show(value)}: ${res.json.message}`,
				)
			}
		}
		for (const field of required) {
			for (const body of [
				{ ...sound, [field]: undefined },
				{ ...sound, [field]: null },
			]) {
				const res = await api(method, route(), body, opt())
				assert.equal(res.status, 400, `without ${field}: ${res.text}`)
				assert.ok(res.json.message.includes(field), res.json.message)
			}
		}
	})

	test(`${method} ${route.toString().slice(6).replace(/`/g, '')}: a body that is no object is 400`, async () => {
		const bad = [
			'{',
			'[]',
			'"x"',
			'null',
			'1',
			'{"a":1,"a":2}',
			'{"a":"\xff"}',
			'{"a":"\\ud800"}',
			'[['.repeat(5000),
			`{"a":${'['.repeat(100)}${']'.repeat(100)}}`,
		]
		for (const text of bad) {
			const res = await api(method, route(), Buffer.from(text, 'latin1'), opt())
			assert.equal(res.status, 400, `${text.slice(0, 20)}: ${res.status}`)
			assert.equal(res.json.code, 400)
		}
		const big = await api(method, route(), Buffer.alloc(2 * 1024 * 1024, 0x20), opt())
		assert.equal(big.status, 413)
		assert.equal(big.json.code, 413)
	})
}

test('nested fields are named with their path', async () => {
	const cases = [
		[{ iam: { tokens: 'x' } }, /'iam\.tokens'/],
		[{ iam: { tokens: { t: { audience: 'a', tokenType: 'jwt' } } } }, /'iam\.tokens' .*issues no/],
		[{ network: { allowPublicTraffic: 'x' } }, /allowPublicTraffic/],
		[{ network: { denyOut: 'x' } }, /denyOut/],
		[{ network: { denyOut: ['10.0.0.0/40'] } }, /denyOut/],
		[{ network: { allowOut: ['example.com'] } }, /allowOut/],
		[{ network: { maskRequestHost: 'a b' } }, /maskRequestHost/],
		[{ network: { maskRequestHost: '' } }, /maskRequestHost/],
		...['-https://abcd', 'http://a', 'a/b', 'a:b', 'a:', ':80', '.a', 'a:123456', 'a:80:90', '${port}'].map(
			(maskRequestHost) => [{ network: { maskRequestHost } }, /maskRequestHost/],
		),
		...[443, ['443'], [0], [65536], [1.5], [49983], [8443, 49999], Array(65).fill(1)].map((httpsPorts) => [
			{ network: { httpsPorts } },
			/httpsPorts/,
		]),
		...['1.1.1.1', ['x'], ['1.1.1.0/24'], ['::1'], [1], ['0.0.0.0'], Array(11).fill('1.1.1.1')].map(
			(dnsServers) => [{ network: { dnsServers } }, /dnsServers/],
		),
		[{ network: { rules: { a: [1] } } }, /rules/],
		[{ autoResume: { enabled: 'yes' } }, /autoResume/],
		[{ metadata: { k: 7 } }, /metadata\.k/],
		[{ envVars: { 'a=b': 'x' } }, /envVars/],
		[{ envVars: { '': 'x' } }, /envVars/],
		[{ metadata: { k: 'x'.repeat(70000) } }, /metadata/],
		[{ envVars: Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`v${i}`, 'x'])) }, /envVars/],
		[{ timeout: 0 }, /timeout/],
		[{ timeout: 86401 }, /timeout/],
		[{ templateID: 'no such!' }, /templateID/],
	]
	for (const [body, want] of cases) {
		const res = await api('POST', '/sandboxes', { templateID: 'base', ...body })
		assert.equal(res.status, 400, JSON.stringify(body).slice(0, 80))
		assert.match(res.json.message, want)
	}
})

test('queries: a wrong value is 400 and named', async () => {
	const logs = `/v2/sandboxes/${id()}/logs`
	const cases = [
		['/v2/sandboxes?limit=0', /limit/],
		['/v2/sandboxes?limit=101', /limit/],
		['/v2/sandboxes?limit=-1', /limit/],
		['/v2/sandboxes?limit=1.0', /limit/],
		['/v2/sandboxes?limit=', /limit/],
		['/v2/sandboxes?order=up', /order/],
		['/v2/sandboxes?state=dead', /state/],
		['/v2/sandboxes?state=running,', /state/],
		['/v2/sandboxes?startedAfter=yesterday', /startedAfter/],
		['/v2/sandboxes?startedAfter=2026-13-01T00:00:00Z', /startedAfter/],
		['/v2/sandboxes?metadata=a%25zz', /metadata/],
		['/v2/sandboxes?metadata=%00', /metadata/],
		['/sandboxes?metadata=%zz', /metadata/],
		['/v2/sandboxes?nextToken=x', /Invalid next token/],
		['/v2/sandboxes?nextToken=%00', /nextToken/],
		['/v2/sandboxes?template=%00', /template/],
		[`/sandboxes/${id()}/metrics?start=x`, /start/],
		[`/sandboxes/${id()}/metrics?end=-1`, /end/],
		[`/sandboxes/${id()}/metrics?start=20&end=10`, /end/],
		['/sandboxes/metrics', /sandbox_ids/],
		['/sandboxes/metrics?sandbox_ids=', /sandbox_ids/],
		['/sandboxes/metrics?sandbox_ids=A!', /sandbox_ids/],
		[`/sandboxes/metrics?sandbox_ids=${Array(101).fill('ia').join()}`, /sandbox_ids/],
		[`/sandboxes/${id()}/logs?start=x`, /start/],
		[`/sandboxes/${id()}/logs?limit=-1`, /limit/],
		[`${logs}?cursor=x`, /cursor/],
		[`${logs}?limit=1001`, /limit/],
		[`${logs}?direction=up`, /direction/],
		[`${logs}?level=loud`, /level/],
		[`${logs}?search=${'x'.repeat(300)}`, /search/],
		[`${logs}?search=%00`, /search/],
		['/admin/sandboxes?team=%00', /team/],
	]
	for (const [route, want] of cases) {
		const res = await api('GET', route)
		assert.equal(res.status, 400, `${route}: ${res.status} ${res.text}`)
		assert.equal(res.json.code, 400)
		assert.match(res.json.message, want, route)
	}
})

test('ids in paths: malformed is 400, unknown is 404 with its code', async () => {
	for (const bad of ['A', 'a_b', 'a-b-c', '%00', '%zz', 'a%2Fb', '..', 'ä'])
		assert.equal((await api('GET', `/sandboxes/${bad === 'ä' ? '%C3%A4' : bad}`)).status, 400, bad)
	for (const unknown of ['i', 'i0', 'a'.repeat(60), 'i0000000000000000000-6532622b']) {
		const res = await api('GET', `/sandboxes/${unknown}`)
		assert.equal(res.status, 404, unknown)
		assert.equal(res.json.code, 404)
	}
	assert.equal((await api('GET', `/sandboxes/${'a'.repeat(600)}`)).status, 400)
	assert.equal((await api('GET', `/sandboxes/${id()}-6532622b`)).status, 200)
	assert.equal((await api('GET', '/templates/aliases/no%2Fsuch')).status, 404)
	assert.equal((await api('GET', '/templates/aliases/default%2Fbase')).status, 200)
	assert.equal((await api('DELETE', '/admin/teams/none')).status, 404)
	assert.equal((await api('DELETE', `/admin/teams/${team.teamID}/api-keys/none`)).status, 404)
})

test('methods and paths that do not exist say so', async () => {
	for (const [method, route, allow] of [
		['PUT', '/sandboxes', /GET, POST/],
		['GET', `/sandboxes/${id()}/pause`, /POST/],
		['DELETE', '/health', /GET/],
	]) {
		const res = await api(method, route)
		assert.equal(res.status, 405)
		assert.equal(res.json.code, 405)
		assert.match(res.headers.allow, allow)
	}
	for (const route of [
		'/',
		'/x',
		'/sandboxes/',
		'//sandboxes',
		`/sandboxes/${id()}/x`,
		'/admin',
		'/v3/sandboxes',
	]) {
		const res = await api('GET', route)
		assert.equal(res.status, 404, route)
		assert.equal(res.json.code, 404)
	}
})

test('a chunked body counts like any other, an empty success has its length', async () => {
	const chunked = await api('POST', `/sandboxes/${id()}/timeout`, { timeout: 900 }, { chunked: true })
	assert.equal(chunked.status, 204)
	const rename = await api('PATCH', `/api-keys/${key.id}`, { name: 'k' }, { key: key.key, chunked: true })
	assert.equal(rename.status, 200)
	assert.equal(rename.headers['content-length'], '0')
})

test('errors tell nothing about the host', async () => {
	const all = await Promise.all([
		api('POST', '/sandboxes', { templateID: '../../etc/passwd' }),
		api('POST', '/sandboxes', { templateID: 'nope' }),
		api('GET', '/sandboxes/ixx'),
		api('GET', '/%2e%2e/etc'),
		api('POST', '/sandboxes', '{'),
		api('GET', '/sandboxes', undefined, { key: null }),
		api('POST', '/sandboxes', { templateID: 'base', network: { rules: { a: 1 } } }),
	])
	for (const res of all) {
		assert.ok(res.status >= 400)
		for (const secret of [
			server.key.slice(4),
			server.stateDir,
			server.runDir,
			'/var/cache',
			'/run/atoll',
			'/home',
			'src/',
		])
			assert.ok(!res.text.includes(secret), `${res.text} has ${secret}`)
	}
})

test('bytes that are no UTF-8 in a body, a path, a header', async () => {
	const body = Buffer.from('{"templateID":"base","metadata":{"a":"\xff\xfe"}}', 'latin1')
	const res = await api('POST', '/sandboxes', body)
	assert.equal(res.status, 400)
	const raw = await exchange(
		Buffer.from(
			`GET /sandboxes/\xff HTTP/1.1\r\nHost: x\r\nX-API-Key: ${server.key}\r\nX-Request-Id: ` +
				`\xff\r\nConnection: close\r\n\r\n`,
			'latin1',
		),
	)
	assert.match(raw, /^HTTP\/1\.1 400 /)
})
