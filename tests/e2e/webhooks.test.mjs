// SPDX-License-Identifier: Apache-2.0
// Events of sandboxes and webhooks: what is told, how it is signed, targets that misbehave, and what survives what.
// The receivers are servers of this test.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import fs from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { api, createRaw, killRaw, sdk, server as shared, shell } from '../lib/client.mjs'
import { selfSigned } from '../lib/certificate.mjs'
import { alive, childrenOf, nameOf, until } from '../lib/host.mjs'
import { newServer } from '../lib/server.mjs'

const SECRET = 'a-secret-of-4711-letters'
const LIFE = ['created', 'killed', 'paused', 'resumed', 'updated', 'checkpointed'].map(
	(name) => `sandbox.lifecycle.${name}`,
)
let own,
	dir,
	calls = [],
	receiver,
	secure

const call = (method, where, body, key = own.key, base = own.url) => api(method, where, body, { base, key })
const at = (where) => `http://127.0.0.1:${receiver.address().port}${where}`
const told = (where) => calls.filter((one) => one.url === where)
const signed = (secret, body) =>
	crypto
		.createHash('sha256')
		.update(secret + body)
		.digest('base64')
		.replace(/\+/g, '-')
		.replace(/\//g, '_')
		.replace(/=+$/, '')

async function hook(url, more = {}) {
	const res = await call('POST', '/events/webhooks', {
		name: 'mine',
		url,
		events: ['sandbox.lifecycle.killed'],
		signatureSecret: SECRET,
		...more,
	})
	assert.equal(res.status, 201, res.text)
	return res.json
}
const deliveries = async (w) => (await call('GET', `/events/webhooks/${w.id}/deliveries`)).json

// The one test delivery of a webhook, once it is settled.
async function tried(url) {
	const w = await hook(url)
	assert.equal((await call('POST', `/events/webhooks/${w.id}/test`, {})).status, 202)
	assert.ok(
		await until(async () => (await deliveries(w))[0].state !== 'waiting', 30000, 50),
		JSON.stringify(await deliveries(w)),
	)
	const [one] = await deliveries(w)
	assert.equal((await call('DELETE', `/events/webhooks/${w.id}`)).status, 200)
	return one
}

function onRequest(req, res) {
	let body = ''
	req.on('data', (chunk) => (body += chunk))
	req.on('end', () => {
		calls.push({ url: req.url, headers: req.headers, body, method: req.method })
		switch (req.url) {
			case '/500':
				return res.writeHead(500).end('no')
			case '/410':
				return res.writeHead(410).end()
			case '/redirect':
				return res.writeHead(302, { Location: at('/landed') }).end()
			case '/hang':
				return
			case '/third':
				return res.writeHead(told('/third').length < 3 ? 503 : 204).end()
			case '/endless': {
				res.writeHead(200)
				const more = () => {
					while (res.write('x'.repeat(65536)));
				}
				res.on('drain', more)
				return more()
			}
			case '/slow-body':
				return res.writeHead(200).write('x')
			default:
				return res.writeHead(200).end('thanks')
		}
	})
}

// Answers with whatever it is given, and perhaps goes on and on.
function rawServer(text, again) {
	return new Promise((done) => {
		const s = net
			.createServer((c) => {
				c.on('error', () => {})
				c.once('data', () => {
					c.write(text)
					const timer = again && setInterval(() => c.write(again), 1)
					c.on('close', () => clearInterval(timer))
					if (!again) c.end()
				})
			})
			.listen(0, '127.0.0.1', () => done(s))
	})
}

before(async () => {
	dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-webhooks-'))
	for (const [name, san] of [
		['good', 'IP:127.0.0.1'],
		['other', 'DNS:elsewhere.test'],
		['stranger', 'IP:127.0.0.1'],
	])
		selfSigned({ key: `${dir}/${name}.key`, cert: `${dir}/${name}.pem`, name, san })
	fs.writeFileSync(
		`${dir}/ca.pem`,
		fs.readFileSync(`${dir}/good.pem`, 'utf8') + fs.readFileSync(`${dir}/other.pem`, 'utf8'),
	)
	fs.chmodSync(dir, 0o755)
	receiver = http.createServer(onRequest)
	await new Promise((done) => receiver.listen(0, '127.0.0.1', done))
	secure = await Promise.all(
		['good', 'other', 'stranger'].map(
			(name) =>
				new Promise((done) => {
					const s = https.createServer(
						{
							key: fs.readFileSync(`${dir}/${name}.key`),
							cert: fs.readFileSync(`${dir}/${name}.pem`),
						},
						onRequest,
					)
					s.on('tlsClientError', () => {})
					s.listen(0, '127.0.0.1', () => done(s))
				}),
		),
	)
	own = await newServer(shared.buildDir, {
		webhook_allow_own: true,
		webhook_retry_ms: 100,
		webhook_attempts: 3,
		webhook_timeout_s: 2,
		webhook_ca_file: `${dir}/ca.pem`,
		default_memory_mb: 256,
	}).start()
})

after(async () => {
	const end = await own.stop()
	for (const s of [receiver, ...secure]) {
		s.closeAllConnections()
		s.close()
	}
	fs.rmSync(dir, { recursive: true })
	assert.equal(end.how, 0)
	assert.ok(end.clean, JSON.stringify(end.left))
})

test('a life, told in order and signed as E2B signs, and listed the same', async () => {
	const w = await hook(at('/life'), { events: LIFE })
	assert.deepEqual(
		Object.keys(w).filter((key) => /secret/i.test(key)),
		[],
		'what was given is not told',
	)
	const { Sandbox } = sdk()
	const opts = { apiKey: own.key, apiUrl: own.url, sandboxUrl: own.url }
	const sbx = await Sandbox.create({ ...opts, timeoutMs: 60000, metadata: { agent: 'ada' } })
	await sbx.setTimeout(120000)
	await sbx.createSnapshot({ name: 'for-hooks' })
	await sbx.pause()
	const again = await Sandbox.connect(sbx.sandboxId, opts)
	await again.kill()
	const kinds = () =>
		told('/life')
			.map((one) => JSON.parse(one.body).type.replace('sandbox.lifecycle.', ''))
			.filter((kind, i, all) => !(kind === 'updated' && all[i - 1] === 'updated'))
	assert.ok(await until(() => kinds().at(-1) === 'killed', 10000), kinds().join())
	assert.deepEqual(kinds(), ['created', 'updated', 'checkpointed', 'paused', 'resumed', 'killed'])
	for (const one of told('/life')) {
		assert.equal(one.method, 'POST')
		assert.equal(one.headers['content-type'], 'application/json')
		assert.equal(one.headers['e2b-webhook-id'], w.id)
		assert.match(one.headers['e2b-delivery-id'], /^[0-9a-f-]{36}$/)
		assert.equal(one.headers['e2b-signature-version'], 'v1')
		assert.equal(one.headers['e2b-signature'], signed(SECRET, one.body))
		const event = JSON.parse(one.body)
		assert.equal(event.version, 'v2')
		assert.equal(event.sandbox_id, sbx.sandboxId)
		assert.equal(event.sandbox_team_id, w.teamId)
		assert.deepEqual(event.event_data.sandbox_metadata, { agent: 'ada' })
		for (const field of ['id', 'sandbox_execution_id', 'sandbox_build_id'])
			assert.match(event[field], /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
	}
	const events = told('/life').map((one) => JSON.parse(one.body)),
		of = (kind) => events.find((one) => one.type.endsWith(kind))
	const template = (await call('GET', '/default-templates')).json.find(
		(one) => one.templateID === of('created').sandbox_template_id,
	)
	assert.deepEqual([...new Set(events.map((one) => one.sandbox_build_id))], [template.buildID])
	const snapshot = (await call('POST', '/sandboxes', { templateID: 'for-hooks', timeout: 60 })).json
	await call('DELETE', `/sandboxes/${snapshot.sandboxID}`)
	const [born] = (await call('GET', `/events/sandboxes/${snapshot.sandboxID}?orderAsc=true`)).json,
		[tag] = (await call('GET', '/templates/for-hooks/tags')).json
	assert.deepEqual(
		[born.type, born.sandbox_build_id],
		['sandbox.lifecycle.created', tag.buildID],
		'of a snapshot, which is a build of its own',
	)
	assert.ok(new Date(of('updated').event_data.set_timeout) - new Date(of('created').timestamp) > 100000)
	assert.equal(of('killed').event_data.kill_reason, 'request')
	for (const kind of ['paused', 'killed']) {
		const run = of(kind).event_data.execution
		assert.equal(run.memory_mb, 256)
		assert.equal(run.execution_time, new Date(of(kind).timestamp) - new Date(run.started_at))
	}
	assert.equal(of('created').sandbox_execution_id, of('paused').sandbox_execution_id)
	assert.notEqual(of('created').sandbox_execution_id, of('resumed').sandbox_execution_id)
	const list = async (query) => (await call('GET', `/events/sandboxes/${sbx.sandboxId}${query}`)).json
	assert.deepEqual(await list('?limit=100&orderAsc=true'), events)
	assert.deepEqual(
		(await list('?limit=2')).map((one) => one.id),
		events
			.slice(-2)
			.reverse()
			.map((one) => one.id),
	)
	assert.deepEqual(
		(await list('?types=sandbox.lifecycle.paused&types=sandbox.lifecycle.killed&orderAsc=true')).map(
			(one) => one.type,
		),
		[LIFE[2], LIFE[1]],
	)
	assert.deepEqual(
		(await list('?limit=1&offset=1&orderAsc=true')).map((one) => one.id),
		[events[1].id],
	)
	assert.ok((await call('GET', '/events/sandboxes')).json.length > 0)
	await call('DELETE', `/events/webhooks/${w.id}`)
	await Sandbox.deleteSnapshot?.('for-hooks', opts)
})

test('what a target can do wrong: each has its outcome', async () => {
	const closed = await rawServer(''),
		noise = await rawServer('SSH-2.0-OpenSSH_9.2\r\n'),
		heads = await rawServer('HTTP/1.1 200 OK\r\n', `X-More: ${'y'.repeat(4000)}\r\n`)
	const interim = await rawServer('HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 100 Continue\r\n\r\n')
	const of = (s) => `http://127.0.0.1:${s.address().port}/`
	try {
		const got = await Promise.all(
			['/fine', '/500', '/410', '/redirect', '/hang', '/third', '/endless', '/slow-body'].map(
				(where) => tried(at(where)),
			),
		)
		assert.deepEqual(
			got.map((one) => [one.state, one.attempts, one.outcome, one.statusCode]),
			[
				['delivered', 1, 'ok', 200],
				['failed', 3, 'status', 500],
				['failed', 1, 'status', 410],
				['failed', 3, 'redirect', 302],
				['failed', 3, 'timeout', null],
				['delivered', 3, 'ok', 204],
				['delivered', 1, 'ok', 200],
				['delivered', 1, 'ok', 200],
			],
		)
		assert.equal(told('/landed').length, 0, 'a redirect is not followed')
		assert.deepEqual(
			told('/third').map((one) => one.headers['atoll-delivery-attempt']),
			['1', '2', '3'],
		)
		assert.equal(
			new Set(told('/third').map((one) => one.headers['e2b-delivery-id'])).size,
			3,
			'each attempt has an id of its own',
		)
		assert.deepEqual(
			[...new Set(told('/third').map((one) => one.headers['atoll-delivery-id']))],
			[got[5].id],
			'and they are of one delivery, which is listed',
		)
		assert.equal(new Set(told('/third').map((one) => one.body)).size, 1, 'what is told is the same')
		const raw = await Promise.all([closed, noise, heads, interim].map((s) => tried(of(s))))
		assert.deepEqual(
			raw.map((one) => [one.state, one.statusCode]),
			raw.map(() => ['failed', null]),
		)
		assert.deepEqual(raw.map((one) => one.outcome).slice(0, 3), ['connect', 'protocol', 'protocol'])
		assert.ok(['protocol', 'timeout'].includes(raw[3].outcome), raw[3].outcome)
		const port = closed.address().port
		closed.close()
		const gone = await tried(`http://127.0.0.1:${port}/`)
		assert.deepEqual(
			[gone.state, gone.attempts, gone.outcome, gone.error],
			['failed', 3, 'connect', 'could not connect'],
		)
		const nowhere = await tried('http://no-such-name.invalid/')
		assert.ok(['resolve', 'timeout'].includes(nowhere.outcome), JSON.stringify(nowhere))
	} finally {
		for (const s of [closed, noise, heads, interim]) s.close()
	}
})

test('TLS: an authority that is trusted and the right name, or nothing is sent', async () => {
	const [good, other, stranger] = secure.map((s) => `https://127.0.0.1:${s.address().port}/tls`)
	assert.deepEqual(
		[await tried(good)].map((one) => [one.outcome, one.statusCode]),
		[['ok', 200]],
	)
	assert.equal(told('/tls').length, 1)
	for (const url of [other, stranger, at('/tls').replace('http:', 'https:')])
		assert.equal((await tried(url)).outcome, 'tls', url)
	assert.equal(told('/tls').length, 1)
})

test('what waits survives the front and atoll-webhooks, and comes in order', async () => {
	const port = await new Promise((done) => {
		const s = net.createServer().listen(0, '127.0.0.1', () => {
			const p = s.address().port
			s.close(() => done(p))
		})
	})
	const slow = await newServer(shared.buildDir, {
		webhook_allow_own: true,
		webhook_retry_ms: 1000,
		webhook_timeout_s: 2,
	}).start()
	const got = []
	let late
	try {
		const w = (
			await call(
				'POST',
				'/events/webhooks',
				{ name: 'late', url: `http://127.0.0.1:${port}/late`, events: LIFE },
				slow.key,
				slow.url,
			)
		).json
		assert.match(w.signatureSecret, /^[0-9a-f]{48}$/, 'one is made up, and told this once')
		const boxes = []
		for (let i = 0; i < 3; i++)
			boxes.push(await createRaw({ timeout: 300 }, { base: slow.url, key: slow.key }))
		for (const name of ['atoll-webhooks', 'atoll-front']) {
			const pid = childrenOf(slow.pid).find((child) => nameOf(child) === name)
			process.kill(pid, 'SIGKILL')
			assert.ok(await until(() => !alive(pid), 5000))
		}
		assert.ok(
			await until(
				async () =>
					(await call('GET', '/health', undefined, '', slow.url).catch(() => ({})))
						.status === 204,
				20000,
				100,
			),
		)
		assert.ok((await call('GET', '/events/webhooks', undefined, slow.key, slow.url)).json[0].waiting >= 3)
		late = http
			.createServer((req, res) => {
				let body = ''
				req.on('data', (chunk) => (body += chunk))
				req.on('end', () => {
					got.push(JSON.parse(body))
					assert.equal(req.headers['e2b-signature'], signed(w.signatureSecret, body))
					res.writeHead(200).end()
				})
			})
			.listen(port, '127.0.0.1')
		for (const sbx of boxes) await killRaw(sbx, { base: slow.url, key: slow.key })
		const types = () =>
			got
				.filter((one, i) => got.findIndex((two) => two.id === one.id) === i)
				.map((one) => one.type.replace('sandbox.lifecycle.', ''))
		assert.ok(await until(() => types().length >= 6, 60000), types().join())
		assert.deepEqual(types(), ['created', 'created', 'created', 'killed', 'killed', 'killed'])
		assert.deepEqual(
			got
				.filter((one) => one.type.endsWith('created'))
				.map((one) => one.sandbox_id)
				.filter((id, i, all) => all.indexOf(id) === i),
			boxes.map((sbx) => sbx.sandboxID),
		)
	} finally {
		late?.closeAllConnections()
		late?.close()
		assert.equal((await slow.stop()).how, 0)
	}
})

test(
	'private addresses are refused unless the operator allows them: by number at once, by name when ' +
		'it is called',
	async () => {
		const strict = await newServer(shared.buildDir, { webhook_retry_ms: 100 }).start()
		try {
			const port = receiver.address().port
			const add = (url) =>
				call(
					'POST',
					'/events/webhooks',
					{ name: 'x', url, events: LIFE },
					strict.key,
					strict.url,
				)
			for (const host of [
				'127.0.0.1',
				'10.1.2.3',
				'192.168.1.1',
				'172.16.0.1',
				'169.254.169.254',
				'0.0.0.0',
				'[::1]',
				'[fe80::1]',
				'[fd00::1]',
				'[::ffff:127.0.0.1]',
				'100.64.0.1',
			]) {
				const res = await add(`http://${host}:${port}/ssrf`)
				assert.equal(res.status, 400, host)
				assert.match(res.json.message, /'url'.*private address.*webhook_allow_private/)
			}
			for (const host of ['localhost', '2130706433', '0x7f.1', '127.1']) {
				// what a resolver makes of it
				const w = (await add(`http://${host}:${port}/ssrf`)).json
				assert.equal(
					(
						await call(
							'POST',
							`/events/webhooks/${w.id}/test`,
							{},
							strict.key,
							strict.url,
						)
					).status,
					202,
				)
				const list = async () =>
					(
						await call(
							'GET',
							`/events/webhooks/${w.id}/deliveries`,
							undefined,
							strict.key,
							strict.url,
						)
					).json[0]
				assert.ok(
					await until(async () => (await list()).state === 'failed', 20000, 100),
					JSON.stringify(await list()),
				)
				assert.deepEqual(
					[(await list()).outcome, (await list()).attempts, (await list()).error],
					['refused', 1, 'its address is not a public one'],
					host,
				)
			}
			assert.equal(told('/ssrf').length, 0)
		} finally {
			assert.equal((await strict.stop()).how, 0)
		}
		for (const host of ['169.254.169.254', '10.200.1.1', '[fe80::1]'])
			// what nobody can allow: metadata services, sandboxes
			assert.equal(
				(
					await call('POST', '/events/webhooks', {
						name: 'x',
						url: `http://${host}/`,
						events: LIFE,
					})
				).status,
				400,
				host,
			)
	},
)

test('what is asked for wrongly is named', async () => {
	const good = { name: 'x', url: at('/bad'), events: [LIFE[0]] }
	for (const [more, field] of [
		[{ name: '' }, 'name'],
		[{ name: 'x'.repeat(129) }, 'name'],
		[{ name: 5 }, 'name'],
		[{ name: 'a\nb' }, 'name'],
		[{ name: undefined }, 'name'],
		[{ url: undefined }, 'url'],
		[{ url: 'ftp://x' }, 'url'],
		[{ url: 'http://user:pw@example.com/' }, 'url'],
		[{ url: 'http://example.com/#x' }, 'url'],
		[{ url: `http://example.com/${'x'.repeat(2048)}` }, 'url'],
		[{ events: [] }, 'events'],
		[{ events: 'x' }, 'events'],
		[{ events: [LIFE[0], 'sandbox.lifecycle.exploded'] }, 'events[1]'],
		[{ events: ['webhook.test'] }, 'events[0]'],
		[{ events: [7] }, 'events[0]'],
		[{ events: undefined }, 'events'],
		[{ enabled: 'yes' }, 'enabled'],
		[{ signatureSecret: '' }, 'signatureSecret'],
		[{ signatureSecret: 'x'.repeat(257) }, 'signatureSecret'],
	]) {
		const res = await call('POST', '/events/webhooks', { ...good, ...more })
		assert.equal(res.status, 400, JSON.stringify(more))
		assert.ok(res.json.message.includes(`'${field}'`), res.json.message)
	}
	for (const [query, field] of [
		['limit=0', 'limit'],
		['limit=101', 'limit'],
		['limit=x', 'limit'],
		['offset=-1', 'offset'],
		['orderAsc=1', 'orderAsc'],
		['types=x', 'types'],
	]) {
		const res = await call('GET', `/events/sandboxes?${query}`)
		assert.equal(res.status, 400, query)
		assert.ok(res.json.message.includes(`'${field}'`), res.json.message)
	}
	for (const [method, where] of [
		['GET', ''],
		['PATCH', ''],
		['DELETE', ''],
		['POST', '/test'],
		['GET', '/deliveries'],
	])
		assert.equal(
			(
				await call(
					method,
					`/events/webhooks/00000000-0000-4000-8000-000000000000${where}`,
					method === 'GET' ? undefined : {},
				)
			).status,
			404,
		)
})

test("changed, switched off, limited in number, and nobody else's", async () => {
	const w = await hook(at('/old'), { events: [LIFE[0]] })
	const opt = { base: own.url, key: own.key }
	const off = await call('PATCH', `/events/webhooks/${w.id}`, { enabled: false, name: 'renamed' })
	assert.deepEqual(
		[off.status, off.json.enabled, off.json.name, off.json.url],
		[200, false, 'renamed', at('/old')],
	)
	assert.equal((await call('POST', `/events/webhooks/${w.id}/test`, {})).status, 409)
	await killRaw(await createRaw({ timeout: 60 }, opt), opt)
	assert.equal(
		(
			await call('PATCH', `/events/webhooks/${w.id}`, {
				enabled: true,
				url: at('/new'),
				signatureSecret: 'another',
			})
		).status,
		200,
	)
	await killRaw(await createRaw({ timeout: 60 }, opt), opt)
	assert.ok(await until(() => told('/new').length === 1, 5000))
	assert.equal(told('/new')[0].headers['e2b-signature'], signed('another', told('/new')[0].body))
	assert.equal(told('/old').length, 0)
	const team = (await call('POST', '/admin/teams', { name: 'others' })).json
	const key = (await call('POST', `/admin/teams/${team.teamID}/api-keys`, { name: 'x' })).json.key
	assert.deepEqual((await call('GET', '/events/webhooks', undefined, key)).json, [])
	for (const [method, where] of [
		['GET', ''],
		['PATCH', ''],
		['DELETE', ''],
		['POST', '/test'],
		['GET', '/deliveries'],
	])
		assert.equal(
			(await call(method, `/events/webhooks/${w.id}${where}`, method === 'GET' ? undefined : {}, key))
				.status,
			404,
		)
	assert.deepEqual((await call('GET', '/events/sandboxes', undefined, key)).json, [])
	for (let i = 0; i < 20; i++)
		assert.equal(
			(await call('POST', '/events/webhooks', { name: `n${i}`, url: at('/many'), events: LIFE }, key))
				.status,
			201,
		)
	assert.equal(
		(await call('POST', '/events/webhooks', { name: 'more', url: at('/many'), events: LIFE }, key)).status,
		409,
	)
	assert.equal((await call('DELETE', `/admin/teams/${team.teamID}`)).status, 204)
	assert.equal((await call('DELETE', `/events/webhooks/${w.id}`)).status, 200)
})

test('secrets stand in no list, no log and no file', async () => {
	const w = await hook(at('/quiet'))
	await call('POST', `/events/webhooks/${w.id}/test`, {})
	assert.ok(await until(() => told('/quiet').length === 1, 5000))
	for (const where of ['', `/${w.id}`, `/${w.id}/deliveries`])
		assert.ok(!(await call('GET', `/events/webhooks${where}`)).text.includes(SECRET))
	assert.ok(!fs.readFileSync(own.log, 'utf8').includes(SECRET))
	assert.ok(!fs.readFileSync(own.log, 'utf8').includes('/quiet'), 'nor the URL, which may be one')
	for (const file of fs.readdirSync(`${own.stateDir}/front`).filter((name) => name.startsWith('atoll.db')))
		assert.ok(!fs.readFileSync(`${own.stateDir}/front/${file}`).includes(SECRET), file)
	await call('DELETE', `/events/webhooks/${w.id}`)
})

test('near a limit: one event and one call per crossing', async () => {
	const w = await hook(at('/near'), { events: ['sandbox.resource.threshold'] })
	const opt = { base: own.url, key: own.key }
	const sbx = await createRaw({ timeout: 300 }, opt)
	const load = `python3 -c "
import os, time
x = bytearray(215 << 20)
for i in range(0, len(x), 4096): x[i] = 1
while not os.path.exists('/tmp/enough'): time.sleep(0.05)"; rm /tmp/enough`
	const loaded = async (n) => {
		const over = shell(sbx, load, opt)
		assert.ok(await until(() => near().length === n, 30000), `the crossing ${n}`)
		await shell(sbx, 'touch /tmp/enough', opt)
		await over
	}
	const near = () =>
		told('/near')
			.map((one) => JSON.parse(one.body))
			.filter((one) => one.event_data.resource === 'memory')
	await loaded(1)
	const { event_data: data, type } = near()[0]
	assert.equal(type, 'sandbox.resource.threshold')
	assert.equal(data.threshold, 80)
	assert.ok(data.percent >= 80 && data.used >= 0.8 * data.limit && data.limit === 256 << 20, JSON.stringify(data))
	const looked = async () => (await call('GET', `/sandboxes/${sbx.sandboxID}/metrics`)).json.at(-1)
	assert.ok(await until(async () => (await looked()).memUsed < 0.5 * data.limit, 30000, 200), 'below again')
	assert.equal(near().length, 1)
	await loaded(2)
	const metrics = await call('GET', '/metrics')
	assert.match(metrics.text, /^atoll_alerts_total\{resource="memory"\} 2$/m)
	assert.match(metrics.text, /^atoll_webhook_attempts_total\{outcome="ok"\} [1-9]/m)
	assert.match(metrics.text, /^atoll_webhook_attempts_total\{outcome="timeout"\} [1-9]/m)
	assert.match(metrics.text, /^atoll_webhook_failures_total [1-9]/m)
	assert.match(fs.readFileSync(own.log, 'utf8'), /sandbox is near a limit/)
	const log = (await call('GET', `/v2/sandboxes/${sbx.sandboxID}/logs`)).text
	assert.match(log, /near a limit/)
	await killRaw(sbx, opt)
	await call('DELETE', `/events/webhooks/${w.id}`)
})

test('atoll webhook', async () => {
	const cli = (...args) =>
		spawnSync(own.atoll(), ['webhook', ...args, '--api-url', own.url, '--api-key', own.key], {
			encoding: 'utf8',
			env: { ...process.env, ATOLL_WEBHOOK_SECRET: '' },
		})
	const made = cli('add', at('/cli'), '--name', 'cli', '--events', 'created,threshold')
	assert.match(made.stdout, /^[0-9a-f-]{36}\nsecret [0-9a-f]{48}\n$/, made.stderr)
	const id = made.stdout.split('\n')[0]
	assert.deepEqual(JSON.parse(cli('list', '--json').stdout).find((w) => w.id === id).events, [
		'sandbox.lifecycle.created',
		'sandbox.resource.threshold',
	])
	assert.match(cli('list').stdout, new RegExp(`${id} +cli +yes +0 `))
	assert.equal(cli('test', 'cli').status, 0)
	assert.ok(await until(() => told('/cli').length === 1, 5000))
	assert.equal(JSON.parse(told('/cli')[0].body).type, 'webhook.test')
	assert.ok(
		await until(
			() => /delivered +1 +ok +200 +\d+ +webhook\.test/.test(cli('deliveries', id).stdout),
			5000,
			200,
		),
		cli('deliveries', id).stdout,
	)
	assert.match(cli('add', 'nonsense').stderr, /field 'url'/)
	assert.match(cli('rm', 'nobody').stderr, /webhook 'nobody' does not exist/)
	assert.equal(cli('rm', 'cli').stdout.trim(), id)
	assert.ok(!cli('list').stdout.includes(id))
})
