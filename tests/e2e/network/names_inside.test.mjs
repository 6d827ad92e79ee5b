// SPDX-License-Identifier: Apache-2.0
// C5: a sandbox reaches the host names of the server as somebody outside does, and nothing else by that way.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { api, createRaw, killRaw, request, runAny, sdk, server, shell, withRaw } from '../../lib/client.mjs'
import { until } from '../../lib/host.mjs'
import { newServer } from '../../lib/server.mjs'
import { newTlsServer } from '../../lib/tls.mjs'

const port = Number(new URL(server.url).port)
const CA = path.join(server.stateDir, 'tls/ca.pem')

// Prints the status and the body, or "refused" or "timeout".
const GET = `
import json, socket, ssl, sys, urllib.error, urllib.request
url, headers = sys.argv[1], json.loads(sys.argv[2] if len(sys.argv) > 2 else "{}")
try:
    ctx = ssl.create_default_context(cafile="/tmp/ca.pem") if url.startswith("https") else None
    got = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20, context=ctx)
    print(got.status, got.read().decode())
except urllib.error.HTTPError as e:
    print(e.code, e.read().decode())
except (urllib.error.URLError, OSError) as e:
    print("timeout" if "timed out" in str(e) else "refused", e)
`

let one, two
const nameOf = (sbx, p = 8000) => `${p}-${sbx.sandboxId}.atoll.localhost:${port}`

async function get(sbx, url, headers = {}) {
	return (await runAny(sbx, `python3 /tmp/get.py '${url}' '${JSON.stringify(headers)}'`)).stdout.trim()
}

async function prepare(sbx) {
	await sbx.files.write('/tmp/get.py', GET)
	await sbx.files.write('/tmp/ca.pem', fs.readFileSync(CA, 'utf8'))
	return sbx
}

async function serve(sbx) {
	await sbx.files.write('/tmp/site/x', `page of ${sbx.sandboxId}`)
	await sbx.commands.run('python3 -m http.server 8000 -d /tmp/site', { background: true })
	assert.ok(await until(async () => (await get(sbx, 'http://127.0.0.1:8000/x')).startsWith('200'), 30000, 200))
}

before(async () => {
	const { Sandbox } = sdk()
	;[one, two] = await Promise.all(
		[1, 2].map(async () => prepare(await Sandbox.create('base', { timeoutMs: 600000 }))),
	)
	await serve(one)
})
after(() => Promise.all([one?.kill(), two?.kill()]))

test('C5: the public URL of another sandbox, and its own, by HTTP and by TLS', async () => {
	for (const from of [two, one]) {
		for (const scheme of ['http', 'https'])
			assert.equal(await get(from, `${scheme}://${nameOf(one)}/x`), `200 page of ${one.sandboxId}`)
	}
	assert.match(await get(two, `http://${nameOf(one, 8001)}/`), /^502 .*port is not open/)
	assert.match(await get(two, `http://8000-inobody.atoll.localhost:${port}/`), /^502 /)
})

test('C5: tokens are asked for as outside: of ports, of envd, of the API', async () => {
	await withRaw({ network: { allowPublicTraffic: false } }, async (sbx) => {
		const url = `http://8000-${sbx.sandboxID}.atoll.localhost:${port}/`
		assert.match(await get(two, url), /^403 /)
		assert.match(await get(two, url, { 'e2b-traffic-access-token': sbx.trafficAccessToken }), /^502 /)
	})
	assert.match(await get(two, `http://${nameOf(one, 49983)}/files?path=/etc/hostname`), /^401 /)
	const list = `http://api.atoll.localhost:${port}/v2/sandboxes`
	assert.match(await get(two, list), /^401 /)
	assert.match(await get(two, list, { 'X-API-Key': 'e2b_00' }), /^401 /)
	assert.match(await get(two, list, { 'X-API-Key': server.key }), new RegExp(`^200 .*${one.sandboxId}`))
})

test('C5: nothing but that port of that address answers', async () => {
	const [a, b] = (await runAny(two, 'grep nameserver /etc/resolv.conf')).stdout.trim().split(' ')[1].split('.')
	const names = `${a}.${b}.0.2`,
		gateway = `${a}.${b}.0.1`
	assert.equal(
		(await runAny(two, `getent ahostsv4 x.atoll.localhost | cut -d' ' -f1 | sort -u`)).stdout.trim(),
		names,
	)
	assert.equal(
		(await runAny(two, `getent ahosts localhost.example.invalid; getent ahosts x.localhost`)).stdout.trim(),
		'',
	)
	assert.match(await get(two, `http://${names}:${port}/health`), /^204/)
	const host = Object.values(os.networkInterfaces())
		.flat()
		.find((i) => i.family === 'IPv4' && !i.internal)?.address
	const closed = [
		...[22, 53, 54, 55, 80, 443, 8080, port - 1, port + 1].filter((p) => p !== port).map((p) => [names, p]),
		...[54, 55, port].map((p) => [gateway, p]),
		...(host
			? [
					[host, port],
					[host, 55],
				]
			: []),
		[`${a}.${b}.0.3`, port],
	]
	const answers = await runAny(
		two,
		`for at in ${closed.map((one) => one.join(':')).join(' ')}; do
		(exec 3<>/dev/tcp/\${at%:*}/\${at#*:}) 2>/dev/null && echo "$at is open"
	done; echo tried`,
	)
	assert.equal(answers.stdout, 'tried\n')
})

test('C5: without internet, and by lists that deny, it is closed; at once when they change', async () => {
	const change = async (body) =>
		assert.equal((await api('PUT', `/sandboxes/${two.sandboxId}/network`, body)).status, 204)
	const url = `http://${nameOf(one)}/x`
	try {
		for (const body of [
			{ allow_internet_access: false },
			{ denyOut: ['0.0.0.0/0'] },
			{ denyOut: ['10.0.0.0/8'] },
			{ allowOut: ['*.atoll.localhost'], denyOut: ['0.0.0.0/0'] },
		]) {
			await change(body)
			assert.match(await get(two, url), /^refused/, JSON.stringify(body))
		}
		await change({ denyOut: ['192.0.2.0/24'] })
		assert.match(await get(two, url), /^200 /)
	} finally {
		await change({})
	}
	assert.match(await get(two, url), /^200 /)
})

test('C5: one that asks itself in a circle comes to an end', async () => {
	await two.files.write(
		'/tmp/circle.py',
		`
import http.server, socketserver, urllib.request
count = 0
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global count
        count += 1
        try:
            if self.path == "/":
                urllib.request.urlopen("http://${nameOf(two, 8002)}/", timeout=60).read()
        except OSError:
            pass
        self.send_response(200)
        self.end_headers()
        self.wfile.write(str(count).encode())
class S(socketserver.ThreadingMixIn, http.server.HTTPServer):
    request_queue_size = 256
S(("", 8002), H).serve_forever()
`,
	)
	await two.commands.run('python3 /tmp/circle.py', { background: true })
	assert.ok(
		await until(async () => (await get(two, 'http://127.0.0.1:8002/count')).startsWith('200'), 30000, 200),
	)
	assert.match(await get(two, 'http://127.0.0.1:8002/'), /^200 /)
	const count = Number((await get(two, 'http://127.0.0.1:8002/count')).split(' ')[1])
	assert.ok(count > 50 && count < 200, `${count}`)
	assert.equal((await request('GET', '/health')).status, 204)
})

test('C5: open to this machine is not open to its sandboxes', async () => {
	const own = await newServer(server.buildDir, { open: true, metrics_open: true }).start()
	try {
		const opt = { base: own.url, key: own.key }
		const sbx = await createRaw({ templateID: 'base' }, opt)
		const ask = `import urllib.request, urllib.error
for path in ("/v2/sandboxes", "/metrics"):
    try: print(urllib.request.urlopen("http://api.atoll.localhost:${own.port}" + path).status)
    except urllib.error.HTTPError as e: print(e.code)`
		assert.equal((await api('GET', '/v2/sandboxes', undefined, { base: own.url, key: null })).status, 200)
		assert.equal((await shell(sbx, `python3 -c '${ask}'`, { base: own.url })).stdout.trim(), '401\n401')
		await killRaw(sbx, opt)
	} finally {
		await own.stop()
	}
})

test('C5: a domain and a TLS port of its own, by curl; inside_names = false closes it', async () => {
	for (const inside of [true, false]) {
		const own = await newTlsServer(server.buildDir, { domain: 'sbx.test', inside_names: inside })
		await own.start()
		try {
			const opt = { base: own.url, key: own.key }
			const sbx = await createRaw({ templateID: 'base' }, opt)
			assert.equal(sbx.domain, `sbx.test:${own.tlsPort}`)
			const got = await shell(
				sbx,
				`curl -ks -m 20 -o /dev/null -w '%{http_code}' https://api.${sbx.domain}/health; true`,
				{ base: own.url },
			)
			assert.equal(got.stdout, inside ? '204' : '000')
			await killRaw(sbx, opt)
		} finally {
			await own.stop()
		}
	}
})
