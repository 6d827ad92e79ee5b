// SPDX-License-Identifier: Apache-2.0
// Who may reach envd: access tokens, signed file URLs with and without expiry, with and without routing headers; what
// is forged, expired, or another sandbox's is refused and changes nothing.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { newServer } from '../lib/server.mjs'
import { api, createRaw, envd, killRaw, request, rpc, sdk, server, stream, withRaw } from '../lib/client.mjs'

let a, b, open
const now = () => Math.floor(Date.now() / 1000)
// Fewer mistakes come from here than are answered late, whatever other files do to the same server.
const FEW = '127.0.0.43'

before(async () => {
	a = await createRaw({ timeout: 300 })
	b = await createRaw({ timeout: 300 })
	open = await createRaw({ timeout: 300 }, { version: 'v1' })
	for (const sbx of [a, b]) await upload(sbx, '/home/user/it.txt', `file of ${sbx.sandboxID}`)
})
after(async () => {
	for (const sbx of [a, b, open]) await killRaw(sbx)
})

function upload(sbx, path, text) {
	return envd(sbx, 'POST', `/files?path=${encodeURIComponent(path)}`, Buffer.from(text), {
		headers: { 'Content-Type': 'application/octet-stream' },
	})
}

// As the documentation has it: v1_ and the unpadded base64 of sha256(path:op:user:token[:expiry]).
function sign(sbx, { path, op = 'read', user = '', expiry }) {
	const raw = [path, op, user, sbx.envdAccessToken, ...(expiry === undefined ? [] : [expiry])].join(':')
	return 'v1_' + crypto.createHash('sha256').update(raw).digest('base64').replace(/=+$/, '')
}

function url({ path, user, signature, expiry }) {
	const q = new URLSearchParams({ path })
	if (user) q.set('username', user)
	if (signature) q.set('signature', signature)
	if (expiry !== undefined) q.set('signature_expiration', String(expiry))
	return `/files?${q}`
}

const routed = (sbx) => ({ 'E2b-Sandbox-Id': sbx.sandboxID, 'E2b-Sandbox-Port': '49983' })
const octet = { 'Content-Type': 'application/octet-stream' }

async function denied(res, message) {
	assert.equal(res.status, 401, res.text)
	assert.deepEqual(res.json, { code: 401, message })
}

test('everything but health wants the token, and only its own', async () => {
	const bare = { ...a, envdAccessToken: undefined }
	assert.equal((await envd(bare, 'GET', '/health')).status, 204)
	for (const sbx of [
		bare,
		{ ...a, envdAccessToken: b.envdAccessToken },
		{ ...a, envdAccessToken: a.envdAccessToken.slice(0, -1) },
		{ ...a, envdAccessToken: a.envdAccessToken + 'x' },
		{ ...a, envdAccessToken: a.envdAccessToken.toUpperCase() },
	]) {
		for (const path of ['/metrics', '/envs', '/files?path=it.txt', '/nothing'])
			assert.equal((await envd(sbx, 'GET', path)).status, 401, path)
		assert.equal((await upload(sbx, '/home/user/it.txt', 'stolen')).status, 401)
		assert.equal((await rpc(sbx, 'process.Process/List', {})).status, 401)
		assert.equal(
			(await envd(sbx, 'POST', '/files/compose', { source_paths: ['it.txt'], destination: 'x' }))
				.status,
			401,
		)
		assert.equal(
			(await stream(sbx, 'process.Process/Start', { process: { cmd: '/bin/true' } })).status,
			401,
		)
	}
	assert.equal((await envd(a, 'GET', '/files?path=it.txt')).text, `file of ${a.sandboxID}`)
	/* the API key opens no sandbox */
	assert.equal(
		(await request('GET', '/files?path=it.txt', { headers: { ...routed(a), 'X-API-Key': server.key } }))
			.status,
		401,
	)
})

test('a wrong token in the header beats a good signature', async () => {
	const signature = sign(a, { path: 'it.txt' })
	await denied(
		await request('GET', url({ path: 'it.txt', signature }), {
			headers: { ...routed(a), 'X-Access-Token': b.envdAccessToken },
		}),
		'access token present in header but does not match',
	)
})

test('a signed URL reads and writes what it was signed for', async () => {
	const read = url({ path: 'it.txt', signature: sign(a, { path: 'it.txt' }) })
	assert.equal((await request('GET', read, { headers: routed(a) })).text, `file of ${a.sandboxID}`)
	const path = 'dir with space/ü+&.txt',
		expiry = now() + 60
	const write = url({
		path,
		user: 'root',
		expiry,
		signature: sign(a, { path, op: 'write', user: 'root', expiry }),
	})
	const put = await request('POST', write, { headers: { ...routed(a), ...octet }, body: 'by signature' })
	assert.equal(put.status, 200, put.text)
	assert.deepEqual(put.json, [{ path: `/root/${path}`, name: 'ü+&.txt', type: 'file' }])
	const plus =
		`/files?username=root&path=${encodeURIComponent(path).replaceAll('%20', '+')}` +
		`&signature=${encodeURIComponent(sign(a, { path, user: 'root' }))}`
	assert.equal((await request('GET', plus, { headers: routed(a) })).text, 'by signature')
})

test('any other use of a signature is refused', async () => {
	const expiry = now() + 60
	const good = { path: 'it.txt', expiry, signature: sign(a, { path: 'it.txt', expiry }) }
	const get = (more, sbx = a) => request('GET', url({ ...good, ...more }), { headers: routed(sbx) })
	assert.equal((await get({})).status, 200)
	await denied(await get({ path: '/etc/passwd' }), 'invalid signature')
	await denied(await get({ path: './it.txt' }), 'invalid signature')
	await denied(await get({ user: 'root' }), 'invalid signature')
	await denied(await get({ expiry: expiry + 1 }), 'invalid signature')
	await denied(await get({ expiry: undefined }), 'invalid signature')
	await denied(await get({ signature: good.signature.slice(0, -1) }), 'invalid signature')
	await denied(await get({ signature: good.signature.replace('v1_', 'v2_') }), 'invalid signature')
	await denied(await get({ signature: undefined }), 'missing signature query parameter')
	await denied(await get({}, b), 'invalid signature')
	await denied(
		await request('POST', url(good), { headers: { ...routed(a), ...octet }, body: 'x' }),
		'invalid signature',
	)
	/* it opens nothing but /files */
	for (const path of ['/envs', '/files/compose', '/process.Process/List'])
		assert.equal(
			(
				await request(path === '/envs' ? 'GET' : 'POST', url(good).replace('/files', path), {
					headers: routed(a),
					body: path === '/envs' ? undefined : {},
				})
			).status,
			401,
		)
	assert.equal((await envd(a, 'GET', '/files?path=it.txt')).text, `file of ${a.sandboxID}`)
})

test('an expired signature is refused in the exact words', async () => {
	const expiry = now() - 1
	for (const headers of [routed(a), {}])
		await denied(
			await request(
				'GET',
				url({ path: 'it.txt', expiry, signature: sign(a, { path: 'it.txt', expiry }) }),
				{ headers, from: FEW },
			),
			'signature is already expired',
		)
	for (const odd of ['', 'soon', '-5', '1e12', '99999999999999999999'])
		assert.equal(
			(
				await request(
					'GET',
					url({
						path: 'it.txt',
						expiry: odd,
						signature: sign(a, { path: 'it.txt', expiry: odd }),
					}),
					{ headers: routed(a) },
				)
			).status,
			401,
			odd,
		)
})

test('a signed URL without routing finds its sandbox by the signature alone', async () => {
	for (const sbx of [a, b]) {
		const res = await request('GET', url({ path: 'it.txt', signature: sign(sbx, { path: 'it.txt' }) }))
		assert.equal(res.text, `file of ${sbx.sandboxID}`)
		const put = await request(
			'POST',
			url({ path: 'new.txt', signature: sign(sbx, { path: 'new.txt', op: 'write' }) }),
			{ headers: octet, body: sbx.sandboxID },
		)
		assert.equal(put.status, 200)
		assert.equal((await envd(sbx, 'GET', '/files?path=new.txt')).text, sbx.sandboxID)
	}
	await denied(
		await request('GET', url({ path: 'it.txt', signature: 'v1_' + 'A'.repeat(43) }), { from: FEW }),
		'invalid signature',
	)
	/* a sandbox without a token signs nothing: the empty token must not be tried */
	const empty = 'v1_' + crypto.createHash('sha256').update('it.txt:read::').digest('base64').replace(/=+$/, '')
	await denied(
		await request('GET', url({ path: 'it.txt', signature: empty }), { from: FEW }),
		'invalid signature',
	)
})

test('the signature of a dead sandbox opens nothing', async () => {
	let old
	await withRaw({}, async (sbx) => {
		old = url({ path: '/etc/hostname', signature: sign(sbx, { path: '/etc/hostname' }) })
		assert.equal((await request('GET', old)).status, 200)
	})
	await denied(await request('GET', old, { from: FEW }), 'invalid signature')
})

test("the SDK's own upload and download URLs work, for strangers too", async () => {
	const { Sandbox } = sdk()
	const sbx = await Sandbox.create('base', { timeoutMs: 60000 })
	try {
		const form = new FormData()
		form.append('file', new Blob(['from a form']), 'hello.txt')
		const up = await fetch(await sbx.uploadUrl('hello.txt', { useSignatureExpiration: 60 }), {
			method: 'POST',
			body: form,
		})
		assert.deepEqual(await up.json(), [{ name: 'hello.txt', path: '/home/user/hello.txt', type: 'file' }])
		const down = await fetch(await sbx.downloadUrl('hello.txt', { useSignatureExpiration: 60 }))
		assert.equal(await down.text(), 'from a form')
		const late = await fetch(await sbx.downloadUrl('hello.txt', { useSignatureExpiration: -120 }))
		assert.deepEqual(
			[late.status, await late.json()],
			[401, { code: 401, message: 'signature is already expired' }],
		)
	} finally {
		await sbx.kill()
	}
})

test('a sandbox without a token is open, and its files need no signature', async () => {
	assert.equal(open.envdAccessToken, undefined)
	assert.equal((await upload(open, '/tmp/x', 'y')).status, 200)
	assert.equal(
		(await request('GET', '/files?path=/tmp/x&signature=v1_nonsense', { headers: routed(open) })).text,
		'y',
	)
})

// The code interpreter as a client that sends these headers and no others sees it.
function interpreter(sbx, method, path, body, headers = {}, base = server.url) {
	return request(method, path, {
		base,
		body,
		headers: { 'E2b-Sandbox-Id': sbx.sandboxID, 'E2b-Sandbox-Port': '49999', ...headers },
	})
}

const code = { code: 'open("/tmp/ran", "a").write("x"); 6 * 7' }
const ranInside = async (sbx) => (await envd(sbx, 'GET', '/files?path=/tmp/ran')).status === 200

test('W3: the id of a secure sandbox runs no code without the access token', async () => {
	for (const headers of [
		{},
		{ 'X-Access-Token': b.envdAccessToken },
		{ 'X-Access-Token': '' },
		{ 'E2b-Traffic-Access-Token': 'x' },
		{ 'X-API-Key': server.key },
	]) {
		for (const path of [
			'/execute',
			'/execute?source=x',
			'//execute',
			'/%65xecute',
			'/contexts/../execute',
		]) {
			const res = await interpreter(a, 'POST', path, code, headers)
			assert.equal(res.status, 401, `${path} ${JSON.stringify(headers)}: ${res.text}`)
			assert.match(res.json.message, /^access token /)
		}
	}
	assert.equal(
		(
			await request('POST', '/execute', {
				headers: { Host: `49999-${a.sandboxID}.example.org` },
				body: code,
			})
		).status,
		401,
		'by host name',
	)
	assert.equal(await ranInside(a), false)
	const ran = await interpreter(a, 'POST', '/execute', code, { 'X-Access-Token': a.envdAccessToken })
	assert.equal(ran.status, 200, ran.text)
	assert.match(ran.text, /"text": ?"42"/)
	assert.equal(await ranInside(a), true)
})

test('W3: contexts need no token, as official clients send none; a browser may ask first', async () => {
	const made = await interpreter(a, 'POST', '/contexts', { language: 'python' })
	assert.equal(made.status, 200, made.text)
	assert.ok((await interpreter(a, 'GET', '/contexts')).json.some((c) => c.id === made.json.id))
	assert.equal((await interpreter(a, 'POST', `/contexts/${made.json.id}/restart`)).status, 200)
	assert.equal((await interpreter(a, 'POST', '/execute', { ...code, context_id: made.json.id })).status, 401)
	assert.equal((await interpreter(a, 'DELETE', `/contexts/${made.json.id}`)).status, 200)
	const ask = {
		Origin: 'https://x.example',
		'Access-Control-Request-Method': 'POST',
		'Access-Control-Request-Headers': 'x-access-token',
	}
	const preflight = await interpreter(a, 'OPTIONS', '/execute', undefined, ask)
	assert.deepEqual([preflight.status, preflight.headers['access-control-allow-headers']], [204, 'x-access-token'])
})

test('W3: old clients, which make sandboxes without a token, run code without one', async () => {
	assert.match((await interpreter(open, 'POST', '/execute', code)).text, /"text": ?"42"/)
})

test('W3: the traffic token of a private sandbox opens the interpreter', async () => {
	await withRaw({ network: { allowPublicTraffic: false } }, async (sbx) => {
		assert.equal(
			(await interpreter(sbx, 'POST', '/execute', code, { 'X-Access-Token': sbx.envdAccessToken }))
				.status,
			403,
		)
		const ran = await interpreter(sbx, 'POST', '/execute', code, {
			'E2b-Traffic-Access-Token': sbx.trafficAccessToken,
		})
		assert.match(ran.text, /"text": ?"42"/)
	})
})

test('W3: the setting interpreter_token makes the interpreter strict', async () => {
	const own = await newServer(server.buildDir, { interpreter_token: 'all' }).start()
	const at = { base: own.url, key: own.key }
	try {
		await withRaw(
			{},
			async (sbx) => {
				const token = { 'X-Access-Token': sbx.envdAccessToken }
				for (const [method, path, body] of [
					['POST', '/execute', code],
					['POST', '/contexts', {}],
					['GET', '/contexts'],
				]) {
					assert.equal(
						(await interpreter(sbx, method, path, body, {}, own.url)).status,
						401,
						path,
					)
					assert.equal(
						(await interpreter(sbx, method, path, body, token, own.url)).status,
						200,
						path,
					)
				}
				assert.equal(
					(await interpreter(sbx, 'GET', '/health', undefined, {}, own.url)).status,
					200,
				)
			},
			at,
		)
	} finally {
		await own.stop()
	}
})

test('metrics of envd speak of the sandbox, not of the machine', async () => {
	const [info, res] = [
		await request('GET', `/sandboxes/${a.sandboxID}`, { headers: { 'X-API-Key': server.key } }),
		await envd(a, 'GET', '/metrics'),
	]
	assert.equal(res.status, 200)
	assert.deepEqual(Object.keys(res.json).sort(), [
		'cpu_count',
		'cpu_used_pct',
		'disk_total',
		'disk_used',
		'mem_cache',
		'mem_total',
		'mem_total_mib',
		'mem_used',
		'mem_used_mib',
		'ts',
	])
	assert.equal(res.json.mem_total_mib, info.json.memoryMB)
	assert.equal(res.json.cpu_count, info.json.cpuCount)
	assert.ok(res.json.mem_used > 0 && res.json.mem_used < res.json.mem_total)
	assert.ok(Math.abs(res.json.ts - now()) < 30)
	await withRaw({}, async (fresh) =>
		assert.ok((await envd(fresh, 'GET', '/metrics')).json.mem_used > 0),
	) /* before its first sample */
})

test('variables are listed for the interpreter', async () => {
	await withRaw({ envVars: { MINE: 'yes' } }, async (sbx) => {
		const res = await envd(sbx, 'GET', '/envs')
		assert.equal(res.headers['cache-control'], 'no-store')
		assert.equal(res.json.MINE, 'yes')
		assert.equal(res.json.E2B_SANDBOX, 'true')
		assert.equal(res.json.E2B_SANDBOX_ID, sbx.sandboxID)
	})
})

// From addresses of its own: wrong keys and signatures of the others would be answered late afterwards.
test('W4: wrong signatures without routing count as wrong keys do, and a good one is served meanwhile', async () => {
	const failures = async () =>
		Number(/^atoll_auth_failures_total (\d+)$/m.exec((await api('GET', '/metrics')).text)[1])
	const before = await failures()
	const wrong = Array.from({ length: 40 }, (_, i) =>
		request('GET', url({ path: `no/${i}`, signature: 'v1_' + 'A'.repeat(43) }), { from: '127.0.0.44' }),
	)
	const good = await request('GET', url({ path: 'it.txt', signature: sign(a, { path: 'it.txt' }) }), {
		from: '127.0.0.44',
	})
	assert.equal(good.text, `file of ${a.sandboxID}`)
	const answers = (await Promise.all(wrong)).map((res) => [res.status, res.json.code])
	assert.deepEqual(new Set(answers.map(String)), new Set(['401,401', '429,429']))
	assert.ok((await failures()) - before >= 40)
	const long = await request('GET', url({ path: 'x'.repeat(20000), signature: 'v1_' + 'A'.repeat(43) }), {
		from: '127.0.0.45',
	})
	assert.equal(long.status, 401)
})
