// SPDX-License-Identifier: Apache-2.0
// The lists: order, pages, filters; and the rules of timeouts around them.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { INFO_FIELDS, api, createRaw, killRaw, request } from '../lib/client.mjs'

const N = 7
const all = []
let team
let key

const list = async (query = '', opt = {}) => {
	const res = await api('GET', `/v2/sandboxes?${query}`, undefined, { key, ...opt })
	assert.equal(res.status, 200, `${query}: ${res.text}`)
	return res
}
const ids = (res) => res.json.map((s) => s.sandboxID)
// As the SDKs do it: each key and value, then the pairs, then the whole.
const filter = (o) => {
	const pairs = Object.entries(o).map((pair) => pair.map(encodeURIComponent))
	return `metadata=${encodeURIComponent(new URLSearchParams(pairs).toString())}`
}

before(async () => {
	team = (await api('POST', '/admin/teams', { name: `lists-${process.pid}` })).json
	key = (await api('POST', `/admin/teams/${team.teamID}/api-keys`, { name: 'k' })).json.key
	for (let i = 0; i < N; i++)
		all.push(
			await createRaw(
				{ timeout: 600, metadata: { n: String(i), odd: String(i % 2), 'a&b=c %': 'ä/+ ?%25' } },
				{ key },
			),
		)
	await api('POST', `/sandboxes/${all[0].sandboxID}/pause`, {}, { key })
})

after(async () => {
	await api('POST', `/admin/teams/${team.teamID}/sandboxes/kill`)
	await api('DELETE', `/admin/teams/${team.teamID}`)
})

test('templates tell when they were built', async () => {
	const found = (await api('GET', '/default-templates')).json
	assert.ok(found.length >= 2)
	for (const t of found) {
		const cache = process.env.ATOLL_CACHE ?? '/var/cache/atoll'
		const info = fs.readFileSync(`${cache}/templates/${t.buildID.replaceAll('-', '')}/info`, 'utf8')
		const built = Date.parse(/^created=(.*)$/m.exec(info)[1])
		assert.ok(Math.abs(Date.parse(t.createdAt) - built) < 60000, `${t.names}: ${t.createdAt}`)
		assert.equal((await api('GET', `/templates/${t.templateID}/tags`)).json[0].createdAt, t.createdAt)
	}
})

test('newest first; ascending is the exact reverse', async () => {
	const want = all.map((s) => s.sandboxID).reverse()
	assert.deepEqual(ids(await list()), want)
	assert.deepEqual(ids(await list('order=desc')), want)
	assert.deepEqual(ids(await list('order=asc')), [...want].reverse())
})

test('pages: every one once, the last without a token, in both orders', async () => {
	for (const order of ['asc', 'desc']) {
		const seen = []
		let token = ''
		for (let pages = 0; pages < 10; pages++) {
			const res = await list(`limit=3&order=${order}&nextToken=${encodeURIComponent(token)}`)
			seen.push(...ids(res))
			assert.equal(res.headers['x-total-running'], String(N - 1))
			token = res.headers['x-next-token']
			if (!token) break
			assert.equal(res.json.length, 3)
		}
		assert.deepEqual(seen, ids(await list(`order=${order}`)))
	}
})

test('a page survives what happens between two of them', async () => {
	const first = await list('limit=3')
	const extra = await createRaw({ timeout: 60 }, { key })
	await killRaw({ sandboxID: ids(first)[2] }, { key })
	all.splice(
		all.findIndex((s) => s.sandboxID === ids(first)[2]),
		1,
	)
	const second = await list(`limit=100&nextToken=${encodeURIComponent(first.headers['x-next-token'])}`)
	assert.ok(!ids(second).includes(extra.sandboxID))
	assert.deepEqual(
		ids(second),
		all
			.slice(0, all.length - 2)
			.map((s) => s.sandboxID)
			.reverse(),
	)
	await killRaw(extra, { key })
})

test('a token is bound to its order', async () => {
	const { headers } = await list('limit=2&order=desc')
	const res = await api(
		'GET',
		`/v2/sandboxes?order=asc&nextToken=${encodeURIComponent(headers['x-next-token'])}`,
		undefined,
		{ key },
	)
	assert.equal(res.status, 400)
	assert.deepEqual(res.json, { code: 400, message: 'Invalid next token' })
})

test('states, and when the total of running ones is told', async () => {
	assert.deepEqual(ids(await list('state=paused')), [all[0].sandboxID])
	assert.equal((await list('state=paused')).headers['x-total-running'], undefined)
	assert.equal((await list('state=running')).json.length, all.length - 1)
	assert.equal((await list('state=running,paused')).json.length, all.length)
	assert.deepEqual((await list('state=paused')).json[0].state, 'paused')
	const v1 = await api('GET', '/sandboxes', undefined, { key })
	assert.equal(v1.json.length, all.length - 1)
	assert.ok(v1.json.every((s) => s.state === 'running'))
})

test('metadata: all pairs must match, whatever characters they have', async () => {
	assert.deepEqual(ids(await list(filter({ n: '3' }))), [all[3].sandboxID])
	assert.deepEqual(ids(await list(filter({ n: '3', odd: '0' }))), [])
	assert.equal((await list(filter({ 'a&b=c %': 'ä/+ ?%25' }))).json.length, all.length)
	assert.deepEqual(ids(await list(filter({ 'a&b=c %': 'ä/+ ?%2' }))), [])
	const v1 = await api('GET', `/sandboxes?${filter({ odd: '1' })}`, undefined, { key })
	assert.ok(v1.json.length >= 2 && v1.json.every((s) => s.metadata.odd === '1'))
})

test('template by id and by name; an unknown one gives an empty list', async () => {
	assert.equal((await list('template=base')).json.length, all.length)
	assert.equal((await list(`template=${all[0].templateID}`)).json.length, all.length)
	assert.deepEqual((await list('template=nothing')).json, [])
})

test('startedAfter includes its own moment', async () => {
	const info = await api('GET', `/sandboxes/${all[2].sandboxID}`, undefined, { key })
	const after_ = ids(await list(`startedAfter=${encodeURIComponent(info.json.startedAt)}`))
	assert.ok(after_.includes(all[2].sandboxID))
	assert.ok(!after_.includes(all[1].sandboxID))
	assert.deepEqual(ids(await list('startedAfter=2999-01-01T00:00:00Z')), [])
})

test("what a list shows is what the clients' parsers need", async () => {
	for (const s of [
		...(await list()).json,
		(await api('GET', `/sandboxes/${all[1].sandboxID}`, undefined, { key })).json,
	]) {
		for (const field of INFO_FIELDS) assert.ok(field in s, field)
		assert.ok(Date.parse(s.lastActivityAt) >= Date.parse(s.startedAt) - 1)
	}
})

test('connect only extends, timeout sets, refreshes extend by at least 15 s', async () => {
	const one = all[4].sandboxID
	const end = async () => Date.parse((await api('GET', `/sandboxes/${one}`, undefined, { key })).json.endAt)
	const near = (ms, want) => assert.ok(Math.abs(ms - want) < 8000, `${ms} against ${want}`)
	const long = await end()
	assert.equal((await api('POST', `/sandboxes/${one}/connect`, { timeout: 10 }, { key })).status, 200)
	assert.equal(await end(), long)
	assert.equal((await api('POST', `/sandboxes/${one}/timeout`, { timeout: 20 }, { key })).status, 204)
	near(await end(), Date.now() + 20000)
	assert.equal((await api('POST', `/sandboxes/${one}/connect`, { timeout: 100 }, { key })).status, 200)
	near(await end(), Date.now() + 100000)
	assert.equal((await api('POST', `/v2/sandboxes/${one}/connect`, {}, { key })).status, 200)
	near(await end(), Date.now() + 300000)
	assert.equal((await api('POST', `/sandboxes/${one}/timeout`, { timeout: 5 }, { key })).status, 204)
	assert.equal((await api('POST', `/sandboxes/${one}/refreshes`, undefined, { key })).status, 204)
	near(await end(), Date.now() + 15000)
	assert.equal((await api('POST', `/sandboxes/${one}/refreshes`, { duration: 3600 }, { key })).status, 204)
	near(await end(), Date.now() + 3600000)
})

test('timeouts of what does not run', async () => {
	const paused = all[0].sandboxID
	for (const [tail, body] of [
		['timeout', { timeout: 5 }],
		['refreshes', {}],
	])
		assert.equal((await api('POST', `/sandboxes/${paused}/${tail}`, body, { key })).status, 404, tail)
	assert.equal((await api('POST', `/sandboxes/${paused}/pause`, {}, { key })).json.code, 409)
	assert.equal((await api('PUT', `/sandboxes/${paused}/network`, {}, { key })).status, 404)
	assert.equal((await api('POST', `/sandboxes/${all[1].sandboxID}/resume`, {}, { key })).json.code, 409)
})

test('defaults of both versions: 15 s and open, 300 s and secured', async () => {
	const v1 = await createRaw({}, { key, version: 'v1' })
	const v2 = await createRaw({}, { key })
	const left = async (s) =>
		Date.parse((await api('GET', `/sandboxes/${s.sandboxID}`, undefined, { key })).json.endAt) - Date.now()
	assert.ok(Math.abs((await left(v1)) - 15000) < 3000)
	assert.ok(Math.abs((await left(v2)) - 300000) < 3000)
	assert.equal(v1.envdAccessToken, undefined)
	assert.ok(v2.envdAccessToken)
	assert.equal(v1.trafficAccessToken, null)
	await killRaw(v1, { key })
	await killRaw(v2, { key })
})

test('pages of other origins: preflight and headers', async () => {
	const res = await request('OPTIONS', '/v2/sandboxes', {
		headers: { Origin: 'https://x.example', 'Access-Control-Request-Method': 'POST' },
	})
	assert.equal(res.status, 204)
	for (const m of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])
		assert.match(res.headers['access-control-allow-methods'], new RegExp(m))
	for (const h of ['X-API-Key', 'Authorization', 'X-Team-ID', 'lang_version', 'browser'])
		assert.match(res.headers['access-control-allow-headers'], new RegExp(h, 'i'))
	const refused = await request('GET', '/v2/sandboxes')
	assert.equal(refused.headers['access-control-allow-origin'], '*')
	assert.match(refused.headers['access-control-expose-headers'], /X-Next-Token.*Retry-After/)
})
