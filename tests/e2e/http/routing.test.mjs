// SPDX-License-Identifier: Apache-2.0
// One port for the API and for every port of every sandbox: header routing, host routing, tunnels.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import http from 'node:http'
import { api, createRaw, envd, exchange, killRaw, request, routeHeaders, server, start } from '../../lib/client.mjs'
import { until } from '../../lib/host.mjs'

const host = (port, id, domain = 'localhost') => ({ Host: `${port}-${id}.${domain}` })
let sbx

before(async () => {
	sbx = await createRaw({ timeout: 300 })
})
after(() => killRaw(sbx))

test('host routing with and without port and suffix, in any case', async () => {
	for (const name of [
		`49983-${sbx.sandboxID}.localhost`,
		`49983-${sbx.sandboxID}.localhost:${new URL(server.url).port}`,
		`49983-${sbx.sandboxID}-${sbx.clientID}.sbx.example`,
		`49983-${sbx.sandboxID}.LOCALHOST`,
	]) {
		const res = await request('GET', '/health', { headers: { Host: name } })
		assert.equal(res.status, 204, name)
	}
})

test('header routing needs both headers', async () => {
	const both = routeHeaders(sbx)
	assert.equal((await request('GET', '/health', { headers: both })).status, 204)
	for (const drop of Object.keys(both).slice(0, 2)) {
		const headers = { ...both }
		delete headers[drop]
		const res = await request('GET', '/health', { headers })
		assert.equal(res.status, 400, drop)
		assert.match(res.text, /missing header/i)
	}
})

test('bad header values are 400', async () => {
	for (const port of ['0', '65536', 'x', '-1', '49983x', '']) {
		const res = await request('GET', '/health', {
			headers: { 'E2b-Sandbox-Id': sbx.sandboxID, 'E2b-Sandbox-Port': port },
		})
		assert.equal(res.status, 400, `port '${port}': ${res.status}`)
	}
	for (const id of ['UPPER', 'a_b', '../x', 'a'.repeat(500), 'ä']) {
		const res = await request('GET', '/health', {
			headers: { 'E2b-Sandbox-Id': encodeURIComponent(id), 'E2b-Sandbox-Port': '49983' },
		})
		assert.ok(res.status === 400 || res.status === 502, `id '${id}': ${res.status}`)
	}
})

test('hosts that name no sandbox are refused in words', async () => {
	const cases = [
		['x-abc.localhost', /Invalid sandbox port/],
		['99999-abc.localhost', /Invalid sandbox port/],
	]
	for (const [name, text] of cases) {
		const res = await request('GET', '/health', { headers: { Host: name } })
		assert.equal(res.status, 400, name)
		assert.match(res.text, text)
	}
})

test('a closed port of a living sandbox is 502 and names the port', async () => {
	const res = await request('GET', '/', { headers: host(8123, sbx.sandboxID) })
	assert.equal(res.status, 502)
	assert.equal(res.json.message, 'The sandbox is running but port is not open')
	assert.equal(res.json.code, 502)
	assert.equal(res.json.sandboxId, sbx.sandboxID)
	assert.equal(res.json.port, 8123)
})

test('people get a page, programs and scripts get JSON', async () => {
	const agent =
		'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36'
	const type = async (headers) =>
		(await request('GET', '/', { headers: { Host: '8080-i0000000000000000000.localhost', ...headers } }))
			.headers['content-type']
	const page = 'text/html; charset=utf-8',
		json = 'application/json; charset=utf-8'
	assert.equal(await type({ 'User-Agent': agent }), page)
	assert.equal(
		await type({
			'User-Agent': agent,
			Accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
			'Sec-Fetch-Mode': 'navigate',
		}),
		page,
	)
	assert.equal(await type({ 'User-Agent': agent, Accept: 'application/json' }), json)
	assert.equal(await type({ 'User-Agent': agent, Accept: '*/*', 'Sec-Fetch-Mode': 'cors' }), json)
	assert.equal(await type({ 'User-Agent': agent, 'X-Requested-With': 'XMLHttpRequest' }), json)
	assert.equal(await type({ 'User-Agent': 'curl/8.0', Accept: '*/*' }), json)
	assert.equal(await type({}), json)
})

test('a server on 127.0.0.1 inside is reached by host and by header', async () => {
	const run = await start(
		sbx,
		'mkdir -p /tmp/w && cd /tmp/w && echo from-inside > a.txt && exec python3 -m http.server --bind ' +
			'127.0.0.1 8000',
	)
	const up = await until(
		async () => (await request('GET', '/a.txt', { headers: host(8000, sbx.sandboxID) })).status === 200,
		10000,
	)
	assert.ok(up)
	assert.equal((await request('GET', '/a.txt', { headers: host(8000, sbx.sandboxID) })).text, 'from-inside\n')
	assert.equal((await envd(sbx, 'GET', '/a.txt', undefined, { port: 8000 })).text, 'from-inside\n')
	assert.equal((await request('GET', '/none', { headers: host(8000, sbx.sandboxID) })).status, 404)
	run.close()
})

test('an upgrade passes through, both ways', async () => {
	const code = [
		'import socket',
		's = socket.create_server(("127.0.0.1", 8001))',
		'c, _ = s.accept()',
		'd = b""',
		'while b"\\r\\n\\r\\n" not in d: d += c.recv(4096)',
		'c.sendall(b"HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: echo\\r\\nConnection: ' +
			'Upgrade\\r\\n\\r\\nhello ")',
		'while True:',
		'  x = c.recv(4096)',
		'  if not x: break',
		'  c.sendall(x.upper())',
	].join('\n')
	await envd(sbx, 'POST', '/files?path=/tmp/up.py', code, {
		headers: { 'Content-Type': 'application/octet-stream' },
	})
	const run = await start(sbx, 'exec python3 /tmp/up.py')
	assert.ok(
		await until(async () => {
			const ss = await start(sbx, 'grep -q :1F41 /proc/net/tcp && echo up')
			await ss.ended
			return ss.events.some((e) => e.event.data)
		}, 20000),
		'nobody listens',
	)
	const url = new URL(server.url)
	const got = await new Promise((done, fail) => {
		const req = http.request({
			host: url.hostname,
			port: url.port,
			path: '/',
			agent: false,
			headers: { ...host(8001, sbx.sandboxID), Connection: 'Upgrade', Upgrade: 'echo' },
		})
		req.once('error', fail)
		req.once('response', (res) => fail(new Error(`answered ${res.statusCode}`)))
		req.once('upgrade', (res, socket, head) => {
			let text = head.toString()
			socket.on('data', (part) => {
				text += part
				if (text.includes('PING')) {
					socket.destroy()
					done(text)
				}
			})
			socket.write('ping')
		})
		req.end()
	})
	assert.equal(got, 'hello PING')
	run.close()
})

test('internal paths of envd are hidden', async () => {
	for (const path of ['/init', '/freeze', '/unfreeze', '/collapse', '/fsfreeze', '/fsthaw', '/upgrade']) {
		for (const method of ['GET', 'POST']) {
			const res = await envd(sbx, method, path, method === 'POST' ? {} : undefined)
			assert.equal(res.status, 404, path)
			assert.equal(res.json.code, 404)
		}
	}
	for (const path of ['/init?x=1', '//init', '/./init', '/%69nit', '/init/']) {
		const res = await envd(sbx, 'POST', path, { envVars: { SNEAK: '1' }, accessToken: 'x' })
		assert.ok(res.status >= 400, path)
	}
	const run = await start(sbx, 'echo "[$SNEAK]"')
	await run.ended
	assert.ok(JSON.stringify(run.events).includes(Buffer.from('[]\n').toString('base64')))
})

test('/files does not swallow /filesystem', async () => {
	const res = await envd(sbx, 'POST', '/filesystem.Filesystem/ListDir', { path: '/', depth: 1 })
	assert.equal(res.status, 200)
	assert.ok(res.json.entries.some((e) => e.name === 'etc'))
})

test('one connection serves the API and two sandboxes in turn', async () => {
	const other = await createRaw({})
	const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
	const url = new URL(server.url)
	const ports = new Set()
	const get = (headers, path) =>
		new Promise((done, fail) => {
			const req = http.request(
				{ host: url.hostname, port: url.port, path, headers, agent },
				(res) => {
					ports.add(req.socket.localPort)
					res.resume()
					res.once('end', () => done(res.statusCode))
				},
			)
			req.once('error', fail)
			req.end()
		})
	try {
		for (let i = 0; i < 3; i++) {
			assert.equal(await get({ 'X-API-Key': server.key }, '/sandboxes'), 200)
			assert.equal(await get(host(49983, sbx.sandboxID), '/health'), 204)
			assert.equal(await get(routeHeaders(other), '/health'), 204)
		}
		assert.equal(ports.size, 1, 'the connection was not kept')
	} finally {
		agent.destroy()
		await killRaw(other)
	}
})

test('pipelined requests are answered in order', async () => {
	const one = (path, more = '') =>
		`GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${server.key}\r\n${more}\r\n`
	const text = await exchange(
		one('/health') + one('/sandboxes/i00000000000000000zz') + one('/health', 'Connection: close\r\n'),
		{ wait: 15000 },
	)
	assert.deepEqual(
		[...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((m) => m[1]),
		['204', '404', '204'],
	)
})

test('unknown paths are 404 and wrong methods refused, in JSON', async () => {
	for (const [method, path] of [
		['GET', '/nothing'],
		['DELETE', '/sandboxes'],
		['PUT', '/v2/sandboxes'],
		['POST', '/sandboxesX'],
	]) {
		const res = await api(method, path)
		assert.ok([404, 405].includes(res.status), `${method} ${path}: ${res.status}`)
		assert.equal(res.json.code, res.status)
	}
})

test('CORS preflight of the API and of envd', async () => {
	const headers = {
		Origin: 'http://page.example',
		'Access-Control-Request-Method': 'POST',
		'Access-Control-Request-Headers': 'x-api-key',
	}
	for (const extra of [{}, routeHeaders(sbx)]) {
		const res = await request('OPTIONS', '/v2/sandboxes', { headers: { ...headers, ...extra } })
		assert.ok(res.status === 200 || res.status === 204, `${res.status}`)
		assert.ok(res.headers['access-control-allow-origin'])
		assert.match(res.headers['access-control-allow-methods'], /POST/)
	}
})
