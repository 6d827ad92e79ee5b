// SPDX-License-Identifier: Apache-2.0
// The console's files: what is served, under which names and headers, to whom, over HTTP/1.1, TLS and HTTP/2.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import zlib from 'node:zlib'
import { createRaw, exchange, killRaw, request, server as shared } from '../lib/client.mjs'
import { ask, session } from '../lib/h2.mjs'
import { newServer } from '../lib/server.mjs'
import { newTlsServer, secureRequest } from '../lib/tls.mjs'

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-console-'))
const APP = `export const text = '${'x'.repeat(5000)}'\n`
const BIG = crypto.randomBytes(3 << 20)
const put = (name, data) => {
	fs.mkdirSync(path.dirname(path.join(dir, name)), { recursive: true })
	fs.writeFileSync(path.join(dir, name), data)
}
const get = (name, headers = {}, method = 'GET') => request(method, name, { base: own.url, headers })
let own, sbx

before(async () => {
	fs.chmodSync(dir, 0o755)
	put('index.html', '<!doctype html><title>console</title>')
	put('assets/app-ABCDEF27.js', APP)
	put('assets/app-ABCDEF27.js.gz', zlib.gzipSync(APP))
	put('assets/app-ABCDEF27.js.br', zlib.brotliCompressSync(APP))
	put('assets/style.css', 'body{}')
	put('assets/big-ABCDEF27.wasm', BIG)
	put('assets/only.js.gz', zlib.gzipSync('x'))
	put('frame.html', '<!doctype html>')
	put('empty.txt', '')
	put('.hidden', 'secret')
	put('odd name.txt', 'x')
	fs.symlinkSync('/etc/passwd', path.join(dir, 'link.txt'))
	fs.symlinkSync('/etc', path.join(dir, 'etc'))
	own = await newTlsServer(shared.buildDir, { console_dir: dir })
	await own.start()
	sbx = await createRaw({ timeout: 600 }, { base: own.url, key: own.key })
	fs.rmSync(path.join(dir, 'assets/style.css')) // what is served was read before
})
after(async () => {
	await killRaw(sbx, { base: own.url, key: own.key })
	const end = await own.stop()
	assert.equal(end.how, 0)
	fs.rmSync(dir, { recursive: true })
})

test('the page, and its views, without a key', async () => {
	const moved = await get('/console')
	assert.equal(moved.status, 308)
	assert.equal(moved.headers.location, '/console/')
	for (const name of ['/console/', '/console/index.html', '/console/sandboxes/i123', '/console/a/b/c?x=1.2']) {
		const res = await get(name)
		assert.equal(res.status, 200, name)
		assert.equal(res.headers['content-type'], 'text/html; charset=utf-8')
		assert.equal(res.headers['cache-control'], 'no-cache')
		assert.match(res.text, /<title>console/)
	}
	assert.equal((await get('/consoles')).status, 404)
	assert.equal((await get('/console/', {}, 'POST')).status, 405)
	assert.equal((await get('/console/', {}, 'HEAD')).text, '')
})

test('every answer forbids what a page could be made to do', async () => {
	for (const name of ['/console', '/console/', '/console/assets/app-ABCDEF27.js', '/console/none.js']) {
		const { headers } = await get(name)
		assert.equal(headers['x-content-type-options'], 'nosniff', name)
		assert.equal(headers['x-frame-options'], 'DENY')
		assert.equal(headers['referrer-policy'], 'no-referrer')
		assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
		assert.equal(headers['cross-origin-resource-policy'], 'same-origin')
		assert.equal(headers['access-control-allow-origin'], undefined)
	}
	const policy = (await get('/console/')).headers['content-security-policy']
	for (const part of [
		"default-src 'none'",
		"script-src 'self'",
		"connect-src 'self'",
		"frame-ancestors 'none'",
		"base-uri 'none'",
		"form-action 'self'",
		"require-trusted-types-for 'script'",
		`frame-src 'self' http://*.${own.domain}`,
	])
		assert.ok(policy.split('; ').includes(part), `${part}: ${policy}`)
	assert.ok(!policy.includes('unsafe'))
	const evil = await get('/console/', { Host: "x.example; script-src 'unsafe-inline'" })
	assert.ok(!`${evil.headers['content-security-policy']}`.includes('unsafe'))
})

test('the frame for HTML of sandboxes has no origin and reaches nothing', async () => {
	const { headers, status } = await get('/console/frame.html')
	assert.equal(status, 200)
	const parts = headers['content-security-policy'].split('; ')
	for (const part of [
		'sandbox allow-scripts',
		"default-src 'none'",
		"frame-ancestors 'self'",
		"form-action 'none'",
	])
		assert.ok(parts.includes(part), part)
	assert.ok(!parts.some((part) => /connect-src|allow-same-origin|allow-top|allow-popups/.test(part)))
	assert.equal(headers['x-frame-options'], 'SAMEORIGIN')
	assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
})

test('compressed forms, tags and caching', async () => {
	const name = '/console/assets/app-ABCDEF27.js'
	const plain = await get(name)
	assert.equal(plain.text, APP)
	assert.equal(plain.headers['content-type'], 'text/javascript; charset=utf-8')
	assert.equal(plain.headers['cache-control'], 'public, max-age=31536000, immutable')
	assert.match(plain.headers.vary, /Accept-Encoding/)
	const br = await get(name, { 'Accept-Encoding': 'gzip, deflate, br' })
	assert.equal(br.headers['content-encoding'], 'br')
	assert.equal(zlib.brotliDecompressSync(br.body).toString(), APP)
	const gz = await get(name, { 'Accept-Encoding': 'br;q=0, gzip' })
	assert.equal(zlib.gunzipSync(gz.body).toString(), APP)
	for (const none of ['identity', 'gzip;q=0', 'x-gzip', ''])
		assert.equal(
			(await get(name, { 'Accept-Encoding': none })).headers['content-encoding'],
			undefined,
			none,
		)
	assert.notEqual(br.headers.etag, gz.headers.etag)
	const again = await get(name, { 'If-None-Match': `"x", W/${plain.headers.etag}` })
	assert.equal(again.status, 304)
	assert.equal(again.text, '')
	assert.equal((await get(name, { 'If-None-Match': br.headers.etag })).status, 200)
	assert.equal((await get('/console/assets/style.css')).headers['cache-control'], 'no-cache')
	assert.equal((await get('/console/empty.txt')).headers['content-length'], '0')
})

test('nothing but what was listed: no path, link or hidden file', async () => {
	const names = [
		'/console/../etc/passwd.x',
		'/console/assets/../../etc/passwd.x',
		'/console/%2e%2e/%2e%2e/etc/passwd.x',
		'/console//etc/passwd.x',
		'/console/assets//app-ABCDEF27.js',
		'/console/assets\\app-ABCDEF27.js',
		'/console/.hidden',
		'/console/odd%20name.txt',
		'/console/link.txt',
		'/console/etc/passwd.x',
		'/console/assets/only.js',
		'/console/assets/app-ABCDEF27.js.gz',
		'/console/assets/app-abcdef27.js',
		`/console/${'a'.repeat(2000)}.js`,
	]
	for (const name of names) {
		const res = await get(name)
		assert.equal(res.status, 404, name)
	}
	const got = await exchange('GET /console/index.html\0.js HTTP/1.1\r\nHost: localhost\r\n\r\n', {
		base: own.url,
	})
	assert.match(got.toString(), /^HTTP\/1\.1 400/)
})

test('a large file is complete over HTTP/1.1, TLS and HTTP/2', async () => {
	const name = '/console/assets/big-ABCDEF27.wasm'
	assert.ok((await get(name)).body.equals(BIG))
	const tls = await secureRequest(own, 'api', 'GET', '/console/')
	assert.equal(tls.status, 200)
	assert.match(tls.headers['content-security-policy'], new RegExp(`frame-src 'self' https://\\*\\.${own.domain}`))
	const h2 = await session(own)
	const page = await ask(h2, 'api', 'GET', '/console/')
	assert.equal(page.status, 200)
	const big = await ask(h2, 'api', 'GET', name)
	assert.equal(big.status, 200)
	assert.equal(Number(big.headers['content-length']), BIG.length)
	h2.close()
})

test('never under the host name of a sandbox', async () => {
	for (const port of [49983, 49999, 3000]) {
		const res = await secureRequest(own, `${port}-${sbx.sandboxID}`, 'GET', '/console/')
		assert.ok(res.status >= 400, `${port}: ${res.status}`)
		assert.ok(!res.text.includes('<title>console'))
		assert.equal(res.headers['content-security-policy']?.includes('script-src'), undefined)
	}
	const byHeaders = await get('/console/', { 'E2b-Sandbox-Id': sbx.sandboxID, 'E2b-Sandbox-Port': '49983' })
	assert.ok(byHeaders.status >= 400)
})

test('console = false: no page, no log-in, no session', async () => {
	const off = await newServer(shared.buildDir, { console: false, console_dir: dir }).start()

	try {
		const headers = { 'X-Atoll-Console': '1', Cookie: 'atoll_session=x' }
		for (const [method, name] of [
			['GET', '/console'],
			['GET', '/console/'],
			['GET', '/console/api/session'],
			['POST', '/console/api/login'],
			['POST', '/console/api/logout'],
		])
			assert.equal((await request(method, name, { base: off.url, headers })).status, 404, name)
		const key = { 'X-API-Key': off.key }
		assert.equal((await request('POST', '/console/api/links', { base: off.url, headers: key })).status, 404)
		assert.equal((await request('GET', '/sandboxes', { base: off.url, headers })).status, 401)
	} finally {
		await off.stop()
	}
})

test('a directory that is not there stops the server at its start, and says so', async () => {
	const missing = newServer(shared.buildDir, { console_dir: '/nonexistent/console' })

	await assert.rejects(missing.start(), /console/)
})
