// SPDX-License-Identifier: Apache-2.0
// Header transforms, secrets and the egress proxy: values are put in outside, for the named hosts only, and are
// nowhere else.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { api, killRaw, server, shell, withRaw } from '../../lib/client.mjs'
import { newServer } from '../../lib/server.mjs'
import { childrenOf, nameOf, sleep, until } from '../../lib/host.mjs'
import { certificates, outside } from '../../lib/outside.mjs'
import { atoll } from '../../lib/cli.mjs'
import { built } from '../../ckpt/drive.mjs'

const NAMES = ['api.example.com', 'other.example.com', 'wrong.example.com']
const ALL = '0.0.0.0/0'
const SECRET = 'sk-live-4242-do-not-leak'
const SOCKS = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../lib/socks_server.py')
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-rules-'))
const tools = built('tools')
const noMemory = tools.why && `CRIU is not there: ${tools.why}`
let out, own, opt

before(async () => {
	const tls = certificates(dir, NAMES.slice(0, 2))
	fs.chmodSync(dir, 0o755)
	out = await outside({ hosts: 3, tls })
	out.setDns({
		'api.example.com': [out.at(2)],
		'other.example.com': [out.at(3)],
		'wrong.example.com': [out.at(2)],
		'proxy.example.com': [out.at(3)],
		'plain.example.com': [out.at(3)],
		'example.com': [out.at(3)],
	})
	own = await newServer(server.buildDir, { dns_servers: out.at(4), egress_ca_file: tls.ca }).start()
	opt = { base: own.url, key: own.key }
})
after(async () => {
	const left = own && (await own.stop())
	out?.end()
	fs.rmSync(dir, { recursive: true, force: true })
	assert.ok(!left || left.clean, JSON.stringify(left))
})

const run = (sbx, command, user) => shell(sbx, command, { base: own.url, user })
const withNetwork = (network, use, more = {}) => withRaw({ timeout: 120, network, ...more }, use, opt)

async function get(sbx, url, more = '') {
	const got = await run(sbx, `curl -sS -m 10 ${more} '${url}'`)
	return got.code === 0 && got.stdout.startsWith('{') ? JSON.parse(got.stdout) : null
}

const header = (domain, headers) => ({ [domain]: [{ transform: { headers } }] })
const update = (sbx, body) => api('PUT', `/sandboxes/${sbx.sandboxID}/network`, body, opt)
const secret = (name, value, more) => api('POST', '/secrets', { name, value, ...more }, opt)

test('a header is put into requests to its host, by HTTPS and HTTP, and into no others', async () => {
	await withNetwork(
		{
			rules: header('api.example.com', {
				'X-Test-Token': 'e2b-transform-value-123',
				Authorization: 'Bearer static',
			}),
		},
		async (sbx) => {
			// No -k: the sandbox trusts the certificate that it is shown.
			const https = await get(
				sbx,
				'https://api.example.com/headers',
				'-H "Authorization: Bearer placeholder"',
			)
			assert.equal(https.headers['x-test-token'], 'e2b-transform-value-123')
			assert.equal(https.headers.authorization, 'Bearer static')
			assert.equal(https.rawHeaders.filter((h) => /^authorization$/i.test(h)).length, 1)
			assert.equal(
				(await get(sbx, 'http://api.example.com/')).headers['x-test-token'],
				'e2b-transform-value-123',
			)
			const other = await get(sbx, 'https://other.example.com/', '-k')
			assert.equal(other.headers['x-test-token'], undefined)
			assert.equal(
				await get(sbx, 'https://other.example.com/'),
				null,
				'the certificate of another host is its own, which the sandbox does not know',
			)
			assert.equal((await get(sbx, `http://${out.at(2)}/`)).headers['x-test-token'], undefined)
		},
	)
})

test('a rule of a wildcard counts for what is below, behind those that are nearer', async () => {
	const rules = {
		...header('*.example.com', { 'X-From': 'wildcard' }),
		...header('api.example.com', { 'X-From': 'name' }),
		'plain.example.com': [],
	}
	await withNetwork({ rules }, async (sbx) => {
		const from = async (url) => (await get(sbx, url)).headers['x-from']
		assert.equal(await from('https://other.example.com/'), 'wildcard')
		assert.equal(await from('http://other.example.com/'), 'wildcard')
		assert.equal(await from('https://api.example.com/'), 'name')
		assert.equal(await from('http://plain.example.com/'), undefined)
		assert.equal(await from('http://example.com/'), undefined)
	})
})

test('programs of several kinds trust the certificate', async () => {
	await withNetwork({ rules: header('api.example.com', { 'X-A': 'b' }) }, async (sbx) => {
		const python = await run(
			sbx,
			`python3 -c "import urllib.request, json; ` +
				`got = json.load(urllib.request.urlopen('https://api.example.com/')); ` +
				`print(got['headers']['x-a'])"`,
		)
		assert.equal(python.stdout.trim(), 'b', python.stderr)
		const node = await run(
			sbx,
			`node -e "fetch('https://api.example.com/').then(r => r.json()).then(j => ` +
				`console.log(j.headers['x-a']))"`,
		)
		if (node.code !== 127) assert.equal(node.stdout.trim(), 'b', node.stderr)
		const git = await run(sbx, 'GIT_TRACE_CURL=1 git ls-remote https://api.example.com/x 2>&1')
		assert.doesNotMatch(git.stdout, /certificate problem/)
		const env = await run(sbx, 'echo $SSL_CERT_FILE $NODE_EXTRA_CA_CERTS $REQUESTS_CA_BUNDLE')
		assert.match(env.stdout, /^(\/etc\/ssl\/certs\/ca-certificates\.crt\s){3}$/)
	})
})

test('bodies, kept connections and websockets pass through', async () => {
	await withNetwork({ rules: header('api.example.com', { 'X-A': 'b' }) }, async (sbx) => {
		assert.equal(
			(await run(sbx, 'curl -sS -m 60 https://api.example.com/bytes/30000000 | wc -c')).stdout.trim(),
			'30000000',
		)
		const up = await run(sbx, 'head -c 5000000 /dev/zero | curl -sS -m 60 -T - https://api.example.com/up')
		assert.equal(JSON.parse(up.stdout).bytes, 5000000)
		assert.equal(JSON.parse(up.stdout).headers['x-a'], 'b')
		const two = await run(
			sbx,
			"curl -sS -m 10 -w ' connects=%{num_connects} ' https://api.example.com/1 " +
				'https://api.example.com/2',
		)
		assert.match(two.stdout, /connects=1 .*connects=0 /s)
		assert.equal(two.stdout.match(/"x-a":"b"/g).length, 2)
		const ws = await run(
			sbx,
			`python3 -c "
import socket, ssl
s = ssl.create_default_context().wrap_socket(socket.create_connection(('api.example.com', 443), 5), ` +
				`server_hostname='api.example.com')
s.sendall(b'GET /ws HTTP/1.1\\r\\nHost: api.example.com\\r\\nConnection: ` +
				`Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n')
d = b''
while b'\\r\\n\\r\\n' not in d: d += s.recv(1000)
s.sendall(b'hello'); print(d[:12], s.recv(100))"`,
		)
		assert.match(ws.stdout, /101.*hello/, ws.stderr)
	})
})

test('a host that cannot show its certificate gets nothing', async () => {
	await withNetwork({ rules: header('wrong.example.com', { Authorization: SECRET }) }, async (sbx) => {
		out.requests.length = 0
		assert.equal(await get(sbx, 'https://wrong.example.com/', '-k'), null)
		assert.deepEqual(out.requests, [])
	})
	await withNetwork({ rules: header('api.example.com', { Authorization: SECRET }) }, async (sbx) => {
		// Where the sandbox says the host is does not count: it is looked up outside.
		const got = await get(sbx, 'https://api.example.com/', `--resolve api.example.com:443:${out.at(3)}`)
		assert.equal(got.address, out.at(2))
		assert.equal(
			(await get(sbx, 'http://api.example.com/', `--resolve api.example.com:80:${out.at(3)}`))
				.address,
			out.at(2),
		)
		// Nor does a Host inside for another one.
		out.requests.length = 0
		assert.equal(await get(sbx, 'https://api.example.com/', '-H "Host: other.example.com"'), null)
		assert.deepEqual(out.requests, [])
	})
})

// A request by a program that says nothing for a while after it has connected, as one that gets no processor does.
const lateRequest = (name, port) => `python3 -c "
import socket, ssl, time
s = socket.create_connection(('${name}', ${port}), 5)
time.sleep(1)
if ${port} == 443:
    c = ssl.create_default_context(); c.check_hostname = False; c.verify_mode = ssl.CERT_NONE
    s = c.wrap_socket(s, server_hostname='${name}')
s.sendall(b'GET /late HTTP/1.1\\r\\nHost: ${name}\\r\\nConnection: close\\r\\n\\r\\n')
print(b''.join(iter(lambda: s.recv(65536), b'')).decode())"`

test('a program that is late with its first bytes does not get past the rules', async () => {
	const rules = {
		...header('api.example.com', { 'X-A': 'b' }),
		...header('wrong.example.com', { Authorization: SECRET }),
	}
	await withNetwork({ rules }, async (sbx) => {
		// Time is what is tested: these wait for a second, which is longer than egress does where the address
		// decides.
		const late = (name, port) => run(sbx, lateRequest(name, port))
		const hear = (port, first) =>
			run(
				sbx,
				`python3 -c "
import socket
s = socket.create_connection(('${out.at(3)}', ${port}), 5); s.settimeout(60)
s.sendall(b'${first}'); print(s.recv(100))"`,
			)
		out.requests.length = 0
		out.touches.length = 0
		const [https, http, wrong, silent] = await Promise.all([
			late('api.example.com', 443),
			late('api.example.com', 80),
			late('wrong.example.com', 443),
			hear(443, ''),
		])
		assert.match(https.stdout, /"x-a":"b"/, https.stderr)
		assert.match(http.stdout, /"x-a":"b"/, http.stderr)
		assert.match(wrong.stderr, /ConnectionResetError/, wrong.stdout)
		assert.match(silent.stderr, /ConnectionResetError/, silent.stdout)
		assert.equal(out.touches.includes(`tcp ${out.at(3)} 443`), false)
		assert.deepEqual(out.requests.map((r) => [r.port, r.headers.host, r.headers['x-a']]).sort(), [
			[443, 'api.example.com', 'b'],
			[80, 'api.example.com', 'b'],
		])
		// What is neither TLS nor HTTP has no name to wait for, and goes where its address leads.
		const ssh = await hear(80, 'SSH-2.0-test\\r\\n')
		assert.match(ssh.stdout, /^b''/, ssh.stderr)
		assert.ok(await until(() => out.touches.includes(`tcp ${out.at(3)} 80`)))
	})
})

test('a secret is filled in outside: inside there is none, in the state file none, in the logs none', async () => {
	const made = await secret('Openai-Key', SECRET, { metadata: { env: 'test' } })
	assert.equal(made.status, 201)
	assert.equal(made.headers['cache-control'], 'no-store')
	assert.match(made.json.secretID, /^sec_/)
	assert.equal(made.json.name, 'openai-key')
	assert.equal(made.json.currentVersion, 1)
	assert.deepEqual(made.json.metadata, { env: 'test' })
	assert.equal(made.text.includes(SECRET), false)
	await withNetwork(
		{
			denyOut: [ALL],
			allowOut: ['api.example.com'],
			rules: header('api.example.com', { Authorization: 'Bearer ${e2b.secrets.openai-key}' }),
		},
		async (sbx) => {
			assert.equal(
				(await get(sbx, 'https://api.example.com/')).headers.authorization,
				`Bearer ${SECRET}`,
			)
			assert.equal(
				(await get(sbx, 'http://api.example.com/')).headers.authorization,
				undefined,
				'a secret goes nowhere in the clear',
			)
			const inside = await run(
				sbx,
				`grep -rIl -- '${SECRET}' /etc /home /root /run /tmp /usr/local/share ` +
					`/proc/*/environ 2>/dev/null; env | grep -c '${SECRET}'`,
				'root',
			)
			assert.equal(inside.stdout.trim(), '0')
			const info = await api('GET', `/sandboxes/${sbx.sandboxID}`, undefined, opt)
			assert.deepEqual(
				info.json.network.rules,
				header('api.example.com', { Authorization: 'Bearer ${e2b.secrets.openai-key}' }),
			)
			// A new value is used by the next request, on the same connection too.
			const id = made.json.secretID
			const changed = await api('POST', `/secrets/${id}`, { value: 'sk-new' }, opt)
			assert.equal(changed.status, 200)
			assert.equal(changed.json.currentVersion, 2)
			assert.deepEqual(changed.json.metadata, { env: 'test' })
			assert.ok(
				await until(
					async () =>
						(await get(sbx, 'https://api.example.com/'))?.headers.authorization ===
						'Bearer sk-new',
				),
			)
			assert.equal((await api('DELETE', '/secrets/OPENAI-key', undefined, opt)).status, 204)
			assert.ok(
				await until(async () => (await get(sbx, 'https://api.example.com/')) === null),
				'without its secret no request is sent',
			)
		},
	)
	for (const file of ['atoll.db', 'atoll.db-wal']
		.map((name) => path.join(own.stateDir, 'front', name))
		.filter(fs.existsSync))
		assert.equal(fs.readFileSync(file).includes(SECRET), false, file)
	assert.equal(fs.readFileSync(own.log, 'utf8').includes(SECRET), false)
	assert.equal(fs.statSync(path.join(own.stateDir, 'front/secrets.key')).mode & 0o777, 0o600)
})

test('values in rules and passwords are sealed in the state file, and survive a restart of everything', async () => {
	const rules = header('api.example.com', { 'X-Key': SECRET })
	await withNetwork({ rules }, async (sbx) => {
		const file = path.join(own.stateDir, 'front/atoll.db')
		for (const name of [file, `${file}-wal`].filter(fs.existsSync))
			assert.equal(fs.readFileSync(name).includes(SECRET), false, name)
		for (const program of ['atoll-egress', 'atoll-front']) {
			const pid = childrenOf(own.pid).find((p) => nameOf(p) === program)
			process.kill(pid, 'SIGKILL')
			assert.ok(
				await until(() => childrenOf(own.pid).some((p) => p !== pid && nameOf(p) === program)),
			)
			assert.ok(
				await until(
					async () =>
						(await get(sbx, 'https://api.example.com/').catch(() => null))?.headers[
							'x-key'
						] === SECRET,
				),
				`after ${program} was killed`,
			)
		}
		own.signal('SIGKILL')
		await own.exited
		await own.start()
		assert.ok(
			await until(
				async () =>
					(await get(sbx, 'https://api.example.com/').catch(() => null))?.headers[
						'x-key'
					] === SECRET,
			),
			'after the warden was killed',
		)
		assert.deepEqual((await api('GET', `/sandboxes/${sbx.sandboxID}`, undefined, opt)).json.network, {
			rules,
		})
	})
})

test('rules are changed while the sandbox runs', async () => {
	await withNetwork(undefined, async (sbx) => {
		assert.equal((await get(sbx, 'https://api.example.com/', '-k')).headers['x-a'], undefined)
		assert.equal((await update(sbx, { rules: header('api.example.com', { 'X-A': 'one' }) })).status, 204)
		assert.equal((await get(sbx, 'https://api.example.com/')).headers['x-a'], 'one')
		assert.equal((await update(sbx, { rules: header('api.example.com', { 'X-A': 'two' }) })).status, 204)
		assert.equal((await get(sbx, 'https://api.example.com/')).headers['x-a'], 'two')
		assert.equal(
			(await update(sbx, { denyOut: [ALL], rules: header('api.example.com', { 'X-A': 'two' }) }))
				.status,
			204,
		)
		assert.equal(await get(sbx, 'https://api.example.com/'), null, 'a rule allows nothing')
		assert.equal((await update(sbx, {})).status, 204)
		assert.equal((await get(sbx, 'https://api.example.com/', '-k')).headers['x-a'], undefined)
	})
})

const fork = async (sbx, body) => {
	const made = await api('POST', `/sandboxes/${sbx.sandboxID}/fork`, { timeout: 120, ...body }, opt)
	assert.equal(made.status, 201, made.text)
	assert.ok(made.json[0].sandbox, made.text)
	return made.json[0].sandbox
}
const networkOf = async (sbx) => (await api('GET', `/sandboxes/${sbx.sandboxID}`, undefined, opt)).json.network

test(
	'a copy has the limits of its source and none of its secrets, unless they are asked for',
	{ skip: noMemory },
	async () => {
		assert.equal((await secret('fork-key', SECRET)).status, 201)
		const lists = { denyOut: [ALL], allowOut: ['api.example.com'] }
		const rules = header('api.example.com', {
			Authorization: 'Bearer ${e2b.secrets.fork-key}',
			'X-Plain': 'a value',
		})
		await withNetwork({ ...lists, rules }, async (sbx) => {
			assert.equal(
				(await get(sbx, 'https://api.example.com/')).headers.authorization,
				`Bearer ${SECRET}`,
			)
			const copies = [
				await fork(sbx),
				await fork(sbx, { inheritSecrets: false }),
				await fork(sbx, { inheritSecrets: true }),
			]
			for (const copy of copies.slice(0, 2)) {
				assert.deepEqual(await networkOf(copy), lists)
				const { headers } = await get(copy, 'https://api.example.com/', '-k')
				assert.deepEqual([headers.authorization, headers['x-plain']], [undefined, undefined])
			}
			assert.deepEqual(await networkOf(copies[2]), { ...lists, rules })
			const { headers } = await get(copies[2], 'https://api.example.com/')
			assert.deepEqual([headers.authorization, headers['x-plain']], [`Bearer ${SECRET}`, 'a value'])
			for (const copy of copies)
				assert.equal(
					await get(copy, 'https://other.example.com/', '-k'),
					null,
					'it reaches no more than its source',
				)
			// A copy can be given secrets later, and does not pass them on, either.
			assert.equal((await update(copies[0], { ...lists, rules })).status, 204)
			assert.equal(
				(await get(copies[0], 'https://api.example.com/')).headers.authorization,
				`Bearer ${SECRET}`,
			)
			const grandchild = await fork(copies[0])
			assert.deepEqual(await networkOf(grandchild), lists)
			// From a snapshot: what the request asks for, and nothing of the source.
			const kept = await api('POST', `/sandboxes/${sbx.sandboxID}/snapshots`, {}, opt)
			assert.equal(kept.status, 201, kept.text)
			await withRaw(
				{ templateID: kept.json.snapshotID, timeout: 120 },
				async (late) => {
					assert.equal(await networkOf(late), undefined)
					assert.equal(
						(await get(late, 'https://api.example.com/', '-k')).headers
							.authorization,
						undefined,
					)
				},
				opt,
			)
			await withRaw(
				{ templateID: kept.json.snapshotID, timeout: 120, network: { rules } },
				async (late) =>
					assert.equal(
						(await get(late, 'https://api.example.com/')).headers.authorization,
						`Bearer ${SECRET}`,
					),
				opt,
			)
			assert.equal(
				(
					await api(
						'DELETE',
						`/templates/${encodeURIComponent(kept.json.snapshotID)}`,
						undefined,
						opt,
					)
				).status,
				204,
			)
			for (const copy of [...copies, grandchild]) await killRaw(copy, opt)
			for (const inheritSecrets of ['true', 1, {}]) {
				const bad = await api(
					'POST',
					`/sandboxes/${sbx.sandboxID}/fork`,
					{ inheritSecrets },
					opt,
				)
				assert.deepEqual(
					[bad.status, /field 'inheritSecrets'/.test(bad.text)],
					[400, true],
					bad.text,
				)
			}
		})
		assert.equal((await api('DELETE', '/secrets/fork-key', undefined, opt)).status, 204)
	},
)

test('atoll fork copies, with and without secrets', { skip: noMemory }, async () => {
	const rules = header('api.example.com', { 'X-Plain': 'a value' })
	await withNetwork({ rules }, async (sbx) => {
		const env = { E2B_API_URL: own.url, E2B_API_KEY: own.key }
		const two = atoll(['fork', '--count', '2', '--timeout', '120', sbx.sandboxID], { env })
		assert.equal(two.code, 0, two.err)
		const ids = two.out.trim().split('\n')
		assert.equal(new Set(ids).size, 2)
		const all = atoll(['fork', '--with-secrets', sbx.sandboxID], { env })
		assert.equal(all.code, 0, all.err)
		assert.deepEqual(await networkOf({ sandboxID: ids[0] }), {})
		assert.deepEqual(await networkOf({ sandboxID: all.out.trim() }), { rules })
		for (const sandboxID of [...ids, all.out.trim()]) await killRaw({ sandboxID }, opt)
		const none = atoll(['fork', 'i0000000000000000000'], { env })
		assert.deepEqual([none.code, none.out], [1, ''])
		assert.match(none.err, /there is no sandbox/)
		assert.equal(atoll(['fork', '--count', '0', sbx.sandboxID], { env }).code, 2)
	})
})

test('rules, secrets and proxies that make no sense are refused by the name of their field', async () => {
	const cases = [
		[{ rules: [] }, 'network.rules'],
		[{ rules: { '': [] } }, 'network.rules'],
		[{ rules: { 'a b': [] } }, 'network.rules'],
		[{ rules: { '*': [] } }, 'network.rules'],
		[{ rules: { 'a.*.com': [] } }, 'network.rules'],
		[{ rules: { 'a.com': {} } }, 'network.rules.a.com'],
		[{ rules: { 'a.com': [{}, {}] } }, 'network.rules.a.com'],
		[{ rules: header('a.com', { 'X Y': 'v' }) }, 'network.rules.a.com'],
		[{ rules: header('a.com', { Host: 'v' }) }, 'network.rules.a.com'],
		[{ rules: header('a.com', { 'Content-Length': '1' }) }, 'network.rules.a.com'],
		[{ rules: header('a.com', { 'X-A': 'a\r\nb' }) }, 'network.rules.a.com'],
		[{ rules: header('a.com', { 'X-A': 'x'.repeat(2049) }) }, 'network.rules.a.com'],
		[{ rules: header('a.com', { 'X-A': 1 }) }, 'network.rules.a.com'],
		[{ rules: header('a.com', { 'X-A': '1', 'x-a': '2' }) }, 'network.rules.a.com'],
		[{ rules: { 'a.com': [], 'A.com': [] } }, null],
		[{ rules: { ...header('a.com', { x: '1' }), ...header('A.com', { x: '1' }) } }, 'network.rules'],
		[{ rules: header('a.com', { 'X-A': '${e2b.secrets.nobodys}' }) }, 'network.rules.a.com'],
		[{ rules: header('a.com', { 'X-A': '${e2b.secrets.x' }) }, 'network.rules.a.com'],
		[{ rules: header('a.com', { 'X-A': '${e2b.identity.tokens.aws}' }) }, 'network.rules.a.com'],
		[
			{ rules: Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`a${i}.com`, []])) },
			'network.rules',
		],
		[{ egressProxy: 'a:1' }, 'network.egressProxy'],
		[{ egressProxy: {} }, 'network.egressProxy.address'],
		[{ egressProxy: { address: 'a' } }, 'network.egressProxy.address'],
		[{ egressProxy: { address: 'a.com:0' } }, 'network.egressProxy.address'],
		[{ egressProxy: { address: '127.0.0.1:1080' } }, 'network.egressProxy.address'],
		[{ egressProxy: { address: 'a.com:1', password: 'x' } }, 'network.egressProxy.password'],
		[{ egressProxy: { address: 'a.com:1', username: 'x'.repeat(256) } }, 'network.egressProxy.username'],
		[{ egressProxy: { address: 'a.com:1', protocol: 'socks5' } }, 'network.egressProxy'],
	]
	for (const [network, field] of cases) {
		const res = await api('POST', '/sandboxes', { templateID: 'base', network, timeout: 5 }, opt)
		if (!field) {
			assert.equal(res.status, 201)
			await killRaw(res.json, opt)
			continue
		}
		assert.equal(res.status, 400, JSON.stringify(network))
		assert.ok(res.json.message.includes(field), res.json.message)
	}
	for (const body of [
		{ name: '', value: 'x' },
		{ name: 'a b', value: 'x' },
		{ name: 'sec_x', value: 'x' },
		{ name: 'x'.repeat(129), value: 'x' },
		{ name: 'a' },
		{ name: 'a', value: '' },
		{ name: 'a', value: 'a\nb' },
		{ name: 'a', value: 5 },
		{ name: 'a', value: 'x'.repeat(5000) },
		{ name: 'a', value: 'x', metadata: { k: 1 } },
	]) {
		const res = await api('POST', '/secrets', body, opt)
		assert.equal(res.status, 400, JSON.stringify(body).slice(0, 80))
		assert.match(res.json.message, /field '(name|value|metadata)/)
	}
})

test('secrets are listed in pages, found by name and id, and are those of one team', async () => {
	for (const name of ['key-c', 'key-a', 'key-b']) assert.equal((await secret(name, 'v')).status, 201)
	assert.equal((await secret('KEY-a', 'v')).status, 409)
	const first = await api('GET', '/secrets?limit=2', undefined, opt)
	assert.deepEqual(
		first.json.map((s) => s.name),
		['key-a', 'key-b'],
	)
	const second = await api('GET', `/secrets?limit=2&nextToken=${first.headers['x-next-token']}`, undefined, opt)
	assert.deepEqual(
		second.json.map((s) => s.name),
		['key-c'],
	)
	assert.equal(second.headers['x-next-token'], undefined)
	assert.equal((await api('GET', `/secrets/${first.json[0].secretID}`, undefined, opt)).json.name, 'key-a')
	assert.equal((await api('GET', '/secrets/KEY-A', undefined, opt)).json.secretID, first.json[0].secretID)
	assert.equal((await api('GET', '/secrets/none', undefined, opt)).status, 404)
	assert.equal((await api('POST', '/secrets/none', { value: 'x' }, opt)).status, 404)
	assert.equal((await api('DELETE', '/secrets/none', undefined, opt)).status, 404)
	assert.equal((await api('GET', '/secrets?limit=0', undefined, opt)).status, 400)
	const team = (await api('POST', '/admin/teams', { name: 'others' }, opt)).json
	const key = (await api('POST', `/admin/teams/${team.teamID ?? team.id}/api-keys`, { name: 'k' }, opt)).json.key
	assert.ok(key)
	const theirs = { base: own.url, key }
	assert.deepEqual((await api('GET', '/secrets', undefined, theirs)).json, [])
	assert.equal((await api('GET', '/secrets/key-a', undefined, theirs)).status, 404)
	assert.equal(
		(
			await api(
				'POST',
				'/sandboxes',
				{
					templateID: 'base',
					network: { rules: header('a.com', { x: '${e2b.secrets.key-a}' }) },
				},
				theirs,
			)
		).status,
		400,
	)
	for (const name of ['key-a', 'key-b', 'key-c'])
		assert.equal((await api('DELETE', `/secrets/${name}`, undefined, opt)).status, 204)
})

function proxy(address, port, ...more) {
	return proxyWith({}, address, port, ...more)
}

function proxyWith(env, address, port, ...more) {
	const child = spawn('ip', ['netns', 'exec', out.ns, 'python3', SOCKS, address, String(port), ...more], {
		stdio: ['ignore', 'pipe', 'inherit'],
		env: { ...process.env, ...env },
	})
	const seen = []
	return new Promise((done) => {
		createInterface(child.stdout).on('line', (line) => {
			if (line === 'ready') done({ seen, end: () => child.kill('SIGKILL') })
			else seen.push(line)
		})
	})
}

test('all TCP leaves by the egress proxy, UDP not at all', async () => {
	const px = await proxy(out.at(3), 1080, 'proxy-user', 'proxy-password', `api.example.com=${out.at(2)}`)
	try {
		const egressProxy = {
			address: 'proxy.example.com:1080',
			username: 'proxy-user',
			password: 'proxy-password',
		}
		await withNetwork({ egressProxy, rules: header('api.example.com', { 'X-A': 'b' }) }, async (sbx) => {
			assert.equal((await get(sbx, 'https://api.example.com/')).headers['x-a'], 'b')
			assert.deepEqual(px.seen, ['api.example.com 443'])
			assert.equal((await get(sbx, 'http://api.example.com/')).headers['x-a'], 'b')
			const echo = await run(
				sbx,
				`python3 -c "
import socket
s = socket.create_connection(('${out.at(2)}', 7), 5); s.sendall(b'hello'); print(s.recv(9))"`,
			)
			assert.match(echo.stdout, /hello/, echo.stderr)
			assert.ok(px.seen.includes(`${out.at(2)} 7`), px.seen.join())
			const udp = await run(
				sbx,
				`python3 -c "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2)
s.connect(('${out.at(2)}', 7)); s.send(b'x'); s.recv(9)"`,
			)
			assert.notEqual(udp.code, 0)
			if (!noMemory) {
				// a copy that the proxy does not know must not go past it
				px.seen.length = 0
				const copy = await fork(sbx)
				assert.deepEqual(await networkOf(copy), {
					egressProxy: { address: 'proxy.example.com:1080' },
				})
				assert.equal(await get(copy, 'https://api.example.com/', '-k'), null)
				assert.equal(await get(copy, `http://${out.at(2)}/`), null)
				assert.deepEqual(px.seen, [])
				await killRaw(copy, opt)
			}
			const info = await api('GET', `/sandboxes/${sbx.sandboxID}`, undefined, opt)
			assert.deepEqual(info.json.network.egressProxy, {
				address: 'proxy.example.com:1080',
				username: 'proxy-user',
			})
			assert.equal(
				(await update(sbx, { egressProxy: { ...egressProxy, password: 'wrong' } })).status,
				204,
			)
			assert.equal(await get(sbx, 'https://api.example.com/', '-k'), null)
			px.seen.length = 0
			assert.equal((await update(sbx, {})).status, 204)
			assert.ok(await get(sbx, 'https://api.example.com/', '-k'))
			assert.deepEqual(px.seen, [])
			assert.equal(
				(await update(sbx, { egressProxy, denyOut: [ALL], allowOut: ['api.example.com'] }))
					.status,
				204,
			)
			assert.ok(await get(sbx, 'https://api.example.com/', '-k'))
			assert.equal(await get(sbx, 'https://other.example.com/', '-k'), null)
			assert.deepEqual(px.seen, ['api.example.com 443'])
		})
	} finally {
		px.end()
	}
})

test('an egress proxy is reached over TLS, if it is who it should be', async () => {
	const place = path.join(dir, 'proxy')
	fs.mkdirSync(place)
	const its = certificates(place, ['secure-proxy.example'])
	const caCert = fs.readFileSync(its.ca, 'utf8'),
		serverName = 'secure-proxy.example'
	const px = await proxyWith(
		{ SOCKS_CERT: its.cert, SOCKS_KEY: its.key },
		out.at(3),
		1443,
		'proxy-user',
		'proxy-password',
		`api.example.com=${out.at(2)}`,
	)
	const plain = await proxy(out.at(3), 1080)
	const egressProxy = {
		address: 'proxy.example.com:1443',
		username: 'proxy-user',
		password: 'proxy-password',
		tls: { enabled: true, serverName, caCert },
	}
	try {
		await withNetwork({ egressProxy, rules: header('api.example.com', { 'X-A': 'b' }) }, async (sbx) => {
			assert.equal((await get(sbx, 'https://api.example.com/')).headers['x-a'], 'b')
			assert.deepEqual(px.seen, ['api.example.com 443'])
			assert.equal((await get(sbx, 'http://api.example.com/')).headers['x-a'], 'b')
			assert.equal(
				(
					await run(sbx, `curl -sS -m 60 http://${out.at(2)}/bytes/30000000 | wc -c`)
				).stdout.trim(),
				'30000000',
			)
			assert.equal(
				JSON.parse(
					(
						await run(
							sbx,
							'head -c 5000000 /dev/zero | curl -sS -m 60 -T - ' +
								'https://api.example.com/up',
						)
					).stdout,
				).bytes,
				5000000,
			)
			const info = await api('GET', `/sandboxes/${sbx.sandboxID}`, undefined, opt)
			assert.deepEqual(info.json.network.egressProxy, {
				address: 'proxy.example.com:1443',
				username: 'proxy-user',
				tls: { enabled: true, serverName, caCert },
			})
			px.seen.length = 0
			for (const change of [
				{ tls: { enabled: true, serverName } },
				{ tls: { enabled: true, caCert } },
				{ tls: { enabled: true, serverName: 'other.example', caCert } },
				{ tls: { enabled: false } },
				{ tls: undefined },
				{ address: 'proxy.example.com:1080' },
			]) {
				assert.equal(
					(await update(sbx, { egressProxy: { ...egressProxy, ...change } })).status,
					204,
				)
				assert.equal(
					await get(sbx, 'https://api.example.com/', '-k'),
					null,
					JSON.stringify(change).slice(0, 100),
				)
			}
			assert.deepEqual([px.seen, plain.seen], [[], []])
			assert.equal((await update(sbx, { egressProxy })).status, 204)
			assert.ok(await get(sbx, 'https://api.example.com/', '-k'))
		})
	} finally {
		px.end()
		plain.end()
	}
	for (const [tls, field] of [
		[1, 'tls'],
		[{}, 'tls.enabled'],
		[{ enabled: 'yes' }, 'tls.enabled'],
		[{ enabled: true, verify: false }, 'tls'],
		[{ enabled: false, caCert }, 'tls.caCert'],
		[{ enabled: false, serverName }, 'tls.serverName'],
		[{ enabled: true, serverName: '*.a.com' }, 'tls.serverName'],
		[{ enabled: true, serverName: 7 }, 'tls.serverName'],
		[{ enabled: true, caCert: '' }, 'tls.caCert'],
		[{ enabled: true, caCert: 'x' }, 'tls.caCert'],
		[{ enabled: true, caCert: caCert.repeat(40) }, 'tls.caCert'],
	]) {
		const res = await api(
			'POST',
			'/v2/sandboxes',
			{ templateID: 'base', network: { egressProxy: { address: 'a.com:1', tls } } },
			opt,
		)
		assert.equal(res.status, 400, JSON.stringify(tls).slice(0, 80))
		assert.ok(res.json.message.includes(`'network.egressProxy.${field}'`), res.json.message)
	}
})
