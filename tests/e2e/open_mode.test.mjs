// SPDX-License-Identifier: Apache-2.0
// Settings that need a server of their own: no keys on loopback, open metrics, default limits, a shorter longest life.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { api, envd, request, server as shared } from '../lib/client.mjs'
import { until } from '../lib/host.mjs'
import { newServer } from '../lib/server.mjs'

let own

before(async () => {
	own = await newServer(shared.buildDir, {
		open: true,
		metrics_open: true,
		team_max_sandboxes: 2,
		rate_limit: 50,
		max_timeout_s: 100,
	}).start()
})
after(() => own?.stop())

const call = (method, route, body, opt = {}) => api(method, route, body, { key: null, base: own.url, ...opt })

test('without a key one is the default team, and no admin', async () => {
	const made = await call('POST', '/sandboxes', { templateID: 'base' })
	assert.equal(made.status, 201)
	const withKey = await call('GET', '/v2/sandboxes', undefined, { key: own.key })
	assert.deepEqual(
		withKey.json.map((s) => s.sandboxID),
		[made.json.sandboxID],
	)
	for (const route of ['/admin/teams', '/admin/log-level', '/nodes'])
		assert.equal((await call('GET', route)).status, 403, route)
	assert.equal((await call('POST', '/api-keys', { name: 'x', admin: true })).status, 403)
	assert.equal((await call('DELETE', `/sandboxes/${made.json.sandboxID}`)).status, 204)
})

test('a wrong key is refused all the same', async () => {
	assert.equal((await call('GET', '/sandboxes', undefined, { key: 'e2b_00' })).status, 401)
})

test('a page in a browser is not one of us: not by its origin, not by a name that it made point here', async () => {
	assert.equal(
		(await call('GET', '/sandboxes', undefined, { headers: { Origin: 'https://evil.example' } })).status,
		401,
	)
	assert.equal(
		(await call('POST', '/sandboxes', { templateID: 'base' }, { headers: { Origin: 'null' } })).status,
		401,
	)
	assert.equal((await call('GET', '/sandboxes', undefined, { headers: { Host: 'evil.example' } })).status, 401)
	assert.equal(
		(await call('GET', '/sandboxes', undefined, { headers: { 'X-Forwarded-For': '192.0.2.1' } })).status,
		401,
	)
	for (const host of ['localhost', `localhost:${own.port}`, '127.0.0.1', '[::1]:1', 'api.localhost'])
		assert.equal(
			(await call('GET', '/sandboxes', undefined, { headers: { Host: host } })).status,
			200,
			host,
		)
	assert.equal(
		(await request('GET', '/metrics', { base: own.url, headers: { Host: 'evil.example' } })).status,
		401,
	)
})

test('W10: a page that a sandbox has written is not one of us either, also with the origin of the API', async () => {
	const made = (await call('POST', '/v2/sandboxes', { templateID: 'base' })).json
	try {
		const body = '<script>fetch("/v2/sandboxes")</script>'
		const put = await envd(made, 'POST', '/files?path=/tmp/page.html', Buffer.from(body), {
			base: own.url,
			headers: { 'Content-Type': 'application/octet-stream' },
		})
		assert.equal(put.status, 200, put.text)
		const signature =
			'v1_' +
			crypto
				.createHash('sha256')
				.update(`/tmp/page.html:read::${made.envdAccessToken}`)
				.digest('base64')
				.replace(/=+$/, '')
		const page = await request(
			'GET',
			`/files?path=/tmp/page.html&signature=${encodeURIComponent(signature)}`,
			{ base: own.url },
		)
		assert.equal(page.text, body)
		assert.match(page.headers['content-security-policy'], /^sandbox /, 'its origin is its own')
		assert.doesNotMatch(page.headers['content-security-policy'], /allow-same-origin/)
		const routed = await envd(made, 'GET', '/files?path=/tmp/page.html', undefined, { base: own.url })
		assert.match(routed.headers['content-security-policy'], /^sandbox /, 'nor by the headers of a request')
	} finally {
		await call('DELETE', `/sandboxes/${made.sandboxID}`)
	}
	for (const site of ['same-origin', 'same-site', 'cross-site'])
		assert.equal(
			(
				await call('GET', '/v2/sandboxes', undefined, {
					headers: { 'Sec-Fetch-Site': site, 'Sec-Fetch-Mode': 'cors' },
				})
			).status,
			401,
			site,
		)
	assert.equal(
		(await call('GET', '/v2/sandboxes', undefined, { headers: { 'Sec-Fetch-Site': 'none' } })).status,
		200,
		'typed by a person',
	)
	assert.equal(
		(await call('GET', '/v2/sandboxes', undefined, { headers: { 'Sec-Fetch-Mode': 'cors' } })).status,
		200,
		'fetch() of node says so',
	)
})

test('open metrics need no key', async () => {
	const res = await request('GET', '/metrics', { base: own.url })
	assert.equal(res.status, 200)
	assert.match(res.headers['content-type'], /^text\/plain; version=0\.0\.4/)
	assert.match(res.text, /^atoll_sandboxes\{state="running"\} \d+$/m)
})

test('the defaults of quota, rate and longest life hold', async () => {
	const made = [
		await call('POST', '/sandboxes', { templateID: 'base', timeout: 100 }),
		await call('POST', '/sandboxes', { templateID: 'base' }),
	]
	assert.deepEqual(
		made.map((r) => r.status),
		[201, 201],
	)
	assert.equal((await call('POST', '/sandboxes', { templateID: 'base' })).status, 429)
	for (const r of made) await call('DELETE', `/sandboxes/${r.json.sandboxID}`)
	assert.equal((await call('POST', '/sandboxes', { templateID: 'base', timeout: 101 })).status, 400)
	const v2 = await call('POST', '/v2/sandboxes', { templateID: 'base' })
	const info = await call('GET', `/sandboxes/${v2.json.sandboxID}`)
	assert.equal(info.json.timeoutSeconds, 100, 'a default above the maximum is cut to it')
	await call('DELETE', `/sandboxes/${v2.json.sandboxID}`)
	assert.equal((await call('GET', '/sandboxes', undefined, { key: own.key })).headers['ratelimit-limit'], '50')
})

test('SIGHUP takes the log level again, for the front too', async () => {
	const file = path.join(own.base, 'atoll.conf')
	fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('log_level = info', 'log_level = warn'))
	own.signal('SIGHUP')
	const level = async () => (await call('GET', '/admin/log-level', undefined, { key: own.key })).json
	assert.ok(await until(async () => (await level()).level === 'warn'), JSON.stringify(await level()))
})

for (const key of ['open', 'metrics_open']) {
	test(`${key} is refused on an address that others can reach`, () => {
		const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-open-'))
		const file = path.join(dir, 'c')
		fs.writeFileSync(file, `${key} = true\nlisten = 0.0.0.0:0\n`)
		const run = spawnSync(
			path.join(shared.buildDir, 'src/warden/atolld'),
			['--config', file, '--state', path.join(dir, 's'), '--run', path.join(dir, 'r')],
			{ encoding: 'utf8', timeout: 20000 },
		)
		assert.equal(run.status, 2)
		assert.match(run.stderr, new RegExp(`${key} = true: only with a loopback address`))
		fs.rmSync(dir, { recursive: true })
	})
}
