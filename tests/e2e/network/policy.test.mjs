// SPDX-License-Identifier: Apache-2.0
// Allow and deny lists of addresses: what they say holds, at once, and after a restart.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
	addressOf,
	api,
	createRaw,
	endOf,
	killRaw,
	outputOf,
	server,
	start,
	stream,
	withRaw,
} from '../../lib/client.mjs'
import { newServer } from '../../lib/server.mjs'
import { copiesOf, sleep, stateOf, traceOf, until } from '../../lib/host.mjs'
import { outside } from '../../lib/outside.mjs'

let out

before(async () => {
	out = await outside({ hosts: 3 })
})
after(() => out?.end())

// One line: "connected", "refused", "timeout"; for UDP "echo", "refused", "timeout". Seconds it took behind it.
const TRY = (proto, host, port) => `python3 -c "
import socket, time
t = time.time()
s = socket.socket(socket.AF_INET, socket.SOCK_${proto === 'udp' ? 'DGRAM' : 'STREAM'}); s.settimeout(4)
try:
    s.connect(('${host}', ${port}))
    if '${proto}' == 'udp':
        s.send(b'x'); s.recv(9)
    r = 'through'
except socket.timeout: r = 'timeout'
except OSError as e: r = 'refused'
print(r, '%.1f' % (time.time() - t))"`

async function run(sbx, command, base) {
	const got = await start(sbx, command, { base })
	await got.ended
	assert.ok(endOf(got.events), `the command did not end: ${JSON.stringify(got.events)}`)
	return outputOf(got.events).trim()
}

async function reach(sbx, host, port = 7, proto = 'tcp', base = undefined) {
	const [how, seconds] = (await run(sbx, TRY(proto, host, port), base)).split(' ')
	assert.ok(how !== 'refused' || Number(seconds) < 2, `refused after ${seconds} s: not at once`)
	return how
}

const withPolicy = (network, use, more = {}) => withRaw({ timeout: 120, network, ...more }, use)

const update = (sbx, body) => api('PUT', `/sandboxes/${sbx.sandboxID}/network`, body)
const ALL = '0.0.0.0/0'

test('without lists everything outside is reached', async () => {
	await withPolicy(undefined, async (sbx) => {
		for (const a of out.addresses) assert.equal(await reach(sbx, a), 'through')
		assert.equal(await reach(sbx, out.at(2), 7, 'udp'), 'through')
	})
})

test('all denied but one address: that one by TCP and UDP, no other', async () => {
	await withPolicy({ denyOut: [ALL], allowOut: [out.at(2)] }, async (sbx) => {
		assert.equal(await reach(sbx, out.at(2)), 'through')
		assert.equal(await reach(sbx, out.at(2), 7, 'udp'), 'through')
		assert.equal(await reach(sbx, out.at(3)), 'refused')
		assert.equal(await reach(sbx, out.at(3), 7, 'udp'), 'refused')
		assert.equal(await reach(sbx, out.at(4), 443), 'refused')
	})
})

test('all denied but one address: names cannot carry anything out', async () => {
	await withPolicy({ denyOut: [ALL], allowOut: [out.at(2)] }, async (sbx) => {
		const gateway = `10.${200 + server.slot}.0.1`
		assert.equal(await reach(sbx, gateway, 53), 'refused')
		assert.equal(await reach(sbx, gateway, 53, 'udp'), 'refused')
	})
})

test('allow_internet_access false keeps what allowOut names', async () => {
	await withPolicy(
		{ allowOut: [out.at(2)] },
		async (sbx) => {
			assert.equal(await reach(sbx, out.at(2)), 'through')
			assert.equal(await reach(sbx, out.at(3)), 'refused')
		},
		{ allow_internet_access: false },
	)
})

test('one address denied: only that one', async () => {
	await withPolicy({ denyOut: [out.at(3)] }, async (sbx) => {
		assert.equal(await reach(sbx, out.at(2)), 'through')
		assert.equal(await reach(sbx, out.at(3)), 'refused')
		assert.equal(await reach(sbx, out.at(3), 7, 'udp'), 'refused')
		assert.equal(await reach(sbx, out.at(4)), 'through')
	})
})

test('ranges, and what is allowed beats what is denied', async () => {
	const range = out.at(2).replace(/\d+$/, '0/24')
	await withPolicy({ denyOut: [range], allowOut: [out.at(3)] }, async (sbx) => {
		assert.equal(await reach(sbx, out.at(2)), 'refused')
		assert.equal(await reach(sbx, out.at(3)), 'through')
	})
	await withPolicy({ denyOut: [ALL], allowOut: [ALL] }, async (sbx) => {
		assert.equal(await reach(sbx, out.at(2)), 'through')
	})
})

test('entries can be narrowed to ports', async () => {
	await withPolicy({ denyOut: [ALL], allowOut: [`${out.at(2)}:7000-7010`, `${out.at(3)}:443`] }, async (sbx) => {
		assert.equal(await reach(sbx, out.at(2), 7000), 'through')
		assert.equal(await reach(sbx, out.at(2), 7), 'refused')
		assert.equal(await reach(sbx, out.at(3), 443, 'udp'), 'through')
		assert.equal(await reach(sbx, out.at(3), 7), 'refused')
	})
	await withPolicy({ denyOut: [`${ALL}:7`] }, async (sbx) => {
		assert.equal(await reach(sbx, out.at(2), 7), 'refused')
		assert.equal(await reach(sbx, out.at(2), 7000), 'through')
	})
})

test('private ranges, the host and metadata stay closed whatever is allowed', async () => {
	const host = out.at(1)
	await withPolicy(
		{ allowOut: ['10.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '192.168.0.0/16', host] },
		async (sbx) => {
			for (const a of ['169.254.169.254', '192.168.0.1', `10.${200 + server.slot}.0.1`, host])
				assert.equal(await reach(sbx, a, new URL(server.url).port), 'refused', a)
		},
	)
})

test('an update holds at once, cuts what it forbids and leaves the rest alone', async () => {
	await withPolicy(undefined, async (sbx) => {
		// Two connections that say something every 100 ms, until they break.
		const talk = await start(
			sbx,
			`python3 -u -c "
import socket, threading, time
up = set()
def talk(host):
    s = socket.create_connection((host, 7), 5)
    try:
        while True:
            s.sendall(b'x'); s.recv(1); up.add(host); time.sleep(0.1)
    except OSError as e: print('cut', host)
for h in ('${out.at(2)}', '${out.at(3)}'): threading.Thread(target=talk, args=(h,)).start()
while len(up) < 2: time.sleep(0.05)
print('both talk')"`,
		)
		const cuts = () =>
			outputOf(talk.events)
				.split('\n')
				.filter((line) => line.startsWith('cut'))
		assert.ok(await until(() => outputOf(talk.events).includes('both talk'), 20000), outputOf(talk.events))
		assert.equal((await update(sbx, { denyOut: [out.at(3)] })).status, 204)
		assert.ok(await until(() => cuts().length > 0), 'the connection went on')
		assert.equal(await reach(sbx, out.at(3)), 'refused')
		assert.equal(await reach(sbx, out.at(2)), 'through')
		assert.deepEqual(cuts(), [`cut ${out.at(3)}`])
		assert.equal((await update(sbx, {})).status, 204)
		assert.equal(await reach(sbx, out.at(3)), 'through')
		assert.equal((await update(sbx, { denyOut: [ALL] })).status, 204)
		assert.equal(await reach(sbx, out.at(2)), 'refused')
		assert.ok(await until(() => cuts().includes(`cut ${out.at(2)}`)), 'the other connection went on')
		assert.equal((await update(sbx, { denyOut: [ALL], allowOut: [out.at(4)] })).status, 204)
		assert.equal(await reach(sbx, out.at(4)), 'through')
		assert.equal(await reach(sbx, out.at(2)), 'refused')
	})
})

test('a malformed policy is refused by the name of its field, and the old one stays', async () => {
	await withPolicy({ denyOut: [out.at(3)] }, async (sbx) => {
		const bad = [
			[{ denyOut: ['1.2.3.4/40'] }, 'network.denyOut[0]'],
			[{ denyOut: [out.at(2), 'nonsense/8'] }, 'network.denyOut[1]'],
			[{ allowOut: [''] }, 'network.allowOut[0]'],
			[{ allowOut: ['1.2.3.4:99999'] }, 'network.allowOut[0]'],
			[{ denyOut: ['example.com'] }, 'network.denyOut[0]'],
			[{ denyOut: 'all' }, 'network.denyOut'],
			[
				{
					allowOut: Array(300)
						.fill(0)
						.map((_, i) => `1.1.${i >> 8}.${i & 255}`),
				},
				'network.allowOut',
			],
		]
		for (const [body, field] of bad) {
			const res = await update(sbx, body)
			assert.equal(res.status, 400, JSON.stringify(body))
			assert.ok(res.json.message.includes(field), res.json.message)
			assert.equal(
				(await api('POST', '/sandboxes', { templateID: 'base', network: body })).status,
				400,
			)
		}
		assert.equal(await reach(sbx, out.at(3)), 'refused')
		assert.equal(await reach(sbx, out.at(2)), 'through')
		assert.deepEqual((await api('GET', `/sandboxes/${sbx.sandboxID}`)).json.network, {
			denyOut: [out.at(3)],
		})
	})
})

const chains = (slot) => execFileSync('nft', ['list', 'table', 'inet', `atoll${slot}`], { encoding: 'utf8' })

test('nothing of a policy is left behind', async () => {
	let link
	await withPolicy({ denyOut: [ALL], allowOut: [out.at(2)] }, async (sbx) => {
		link = traceOf(server.slot, await addressOf(sbx)).link
		assert.match(chains(server.slot), new RegExp(`"${link}" : jump`))
	})
	const k = link.replace(/^at\d+s/, '')
	// one after the other: first what jumps there, then the chains
	const left = new RegExp(`"${link}" :|chain (rules|divert)${k} `)
	assert.ok(await until(() => !left.test(chains(server.slot))), 'a chain is left')
})

test('a killed warden puts every policy back, and connections go on', async () => {
	const own = await newServer(server.buildDir).start()
	const opt = { base: own.url, key: own.key }
	try {
		const sbx = await createRaw({ timeout: 300, network: { denyOut: [ALL], allowOut: [out.at(2)] } }, opt)
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
s = socket.create_connection(('${out.at(2)}', 7), 5)
open('/tmp/talk', 'w').write('up')
try:
    while True:
        s.sendall(b'x'); s.recv(1); time.sleep(0.05)
except OSError as e: open('/tmp/talk', 'w').write('cut %s' % e)`,
					],
				},
				stdin: false,
			},
			{ base: own.url },
		)
		assert.equal(await until(() => run(sbx, 'cat /tmp/talk', own.url)), 'up')
		own.signal('SIGKILL')
		await own.exited
		await own.start()
		opt.key = own.key
		assert.equal(await reach(sbx, out.at(2), 7, 'tcp', own.url), 'through')
		assert.equal(await reach(sbx, out.at(3), 7, 'tcp', own.url), 'refused')
		assert.equal(await run(sbx, 'cat /tmp/talk', own.url), 'up')
		talk.close()
		assert.equal((await api('PUT', `/sandboxes/${sbx.sandboxID}/network`, {}, opt)).status, 204)
		assert.equal(await reach(sbx, out.at(3), 7, 'tcp', own.url), 'through')
		await killRaw(sbx, opt)
	} finally {
		const left = await own.stop()
		assert.ok(left.clean, JSON.stringify(left))
	}
})

test('an operator can open private ranges, and only those', async () => {
	const part = out.at(2).split('.')[3],
		inner = `10.99.${part}.2` // nobody else's, as the network outside is
	execFileSync('ip', ['-n', out.ns, 'addr', 'add', `${inner}/32`, 'dev', 'lo'])
	execFileSync('ip', [
		'route',
		'add',
		`${inner}/32`,
		'via',
		out.at(2),
		'dev',
		`ato${process.pid % 10000000}`,
		'onlink',
	])
	const echo = `
import socket, threading
s = socket.create_server(('${inner}', 7))
while True: s.accept()[0].sendall(b'x')`
	const child = (await import('node:child_process')).spawn(
		'ip',
		['netns', 'exec', out.ns, 'python3', '-c', echo],
		{ stdio: 'ignore' },
	)
	const own = await newServer(server.buildDir, { allow_private: `10.99.${part}.0/24` }).start()
	const opt = { base: own.url, key: own.key }
	try {
		const sbx = await createRaw({ timeout: 120 }, opt)
		assert.ok(await until(async () => (await reach(sbx, inner, 7, 'tcp', own.url)) === 'through'))
		assert.equal(await reach(sbx, `10.98.${part}.1`, 7, 'tcp', own.url), 'refused')
		assert.equal(
			(await api('PUT', `/sandboxes/${sbx.sandboxID}/network`, { denyOut: ['10.0.0.0/8'] }, opt))
				.status,
			204,
		)
		assert.equal(await reach(sbx, inner, 7, 'tcp', own.url), 'refused')
		await killRaw(sbx, opt)
		const shared = await createRaw({ timeout: 60 })
		assert.equal(await reach(shared, inner), 'refused')
		await killRaw(shared)
	} finally {
		child.kill('SIGKILL')
		await own.stop()
	}
})

test(
	'what the firewall refuses by its address is in the audit trail and in the log of the sandbox, a ' +
		'few of it',
	async () => {
		const own = await newServer(server.buildDir, {}).start(),
			opt = { base: own.url, key: own.key } /* on which nothing else is refused */
		const of = async (sbx) =>
			(await api('GET', `/audit?kind=violation.egress&sandbox=${sbx.sandboxID}`, undefined, opt)).text
				.split('\n')
				.filter(Boolean)
				.map((line) => JSON.parse(line).fields)
		try {
			await withRaw(
				{ timeout: 300, network: { denyOut: [out.at(3)] } },
				async (sbx) => {
					assert.equal(await reach(sbx, out.at(2), 7, 'tcp', own.url), 'through')
					assert.equal(await reach(sbx, out.at(3), 7, 'tcp', own.url), 'refused')
					assert.equal(await reach(sbx, out.at(3), 9, 'udp', own.url), 'refused')
					assert.equal(await reach(sbx, '169.254.169.254', 80, 'tcp', own.url), 'refused')
					const seen = async () =>
						[
							...new Set(
								(await of(sbx)).map(
									({ address, port, protocol, why }) =>
										[address, port, protocol, why].join(
											' ',
										),
								),
							),
						].sort()
					await until(async () => (await seen()).length >= 3, 20000, 200)
					assert.deepEqual(
						await seen(),
						[
							`${out.at(3)} 7 tcp refused by policy`,
							`${out.at(3)} 9 udp refused by policy`,
							'169.254.169.254 80 tcp refused by policy',
						].sort(),
					)
					const logs = async () =>
						(await api('GET', `/sandboxes/${sbx.sandboxID}/logs`, undefined, opt))
							.text
					assert.ok(
						await until(async () =>
							(await logs()).includes(
								`connection to ${out.at(3)}:7 refused by policy`,
							),
						),
						await logs(),
					)
				},
				opt,
			)
			await withRaw(
				{ timeout: 300, network: { denyOut: [ALL] } },
				async (sbx) => {
					const ports = Number(
						await run(
							sbx,
							`python3 -c "
import socket
n = 0
for port in range(1, 2000):
    s = socket.socket(); s.settimeout(1)
    try: s.connect(('${out.at(2)}', port))
    except OSError: n += 1
    s.close()
print(n)"`,
							own.url,
						),
					)
					assert.equal(ports, 1999)
					assert.ok(
						await until(async () => (await of(sbx)).length >= 1, 20000, 200),
						'some are recorded',
					)
					// they are read each second: two more readings, which must not add all of them
					await sleep(2500)
					assert.ok((await of(sbx)).length < 200, 'by far not all of them')
				},
				opt,
			)
		} finally {
			await own.stop()
		}
	},
)

test('W8: a change of a network that takes for ever holds nobody else up, and the last one wins', async () => {
	const own = await newServer(server.buildDir).start()
	const opt = { base: own.url, key: own.key }
	const put = (sbx, body) => api('PUT', `/sandboxes/${sbx.sandboxID}/network`, body, { ...opt, timeout: 120000 })
	let stopped
	try {
		const [busy, other] = [await createRaw({ timeout: 600 }, opt), await createRaw({ timeout: 600 }, opt)]
		// Whatever it does when it starts is over.
		assert.ok(
			await until(() => copiesOf(own.pid).length === 0, 120000),
			'the warden has something else to do',
		)
		const flood = []
		assert.ok(
			await until(
				async () => {
					if (flood.length < 24)
						flood.push(put(busy, { denyOut: [`198.51.100.${flood.length}/32`] }))
					const pid = copiesOf(own.pid)[0]
					if (!pid) return false
					process.kill(pid, 'SIGSTOP')
					if (
						(await until(() => ['T', 'Z', ''].includes(stateOf(pid)), 1000, 1)) &&
						stateOf(pid) === 'T'
					)
						stopped = pid
					return stopped
				},
				60000,
				1,
			),
			'no child was caught at it',
		)
		flood.push(...Array.from({ length: 40 }, (_, i) => put(busy, { denyOut: [`203.0.113.${i}/32`] })))
		const last = put(busy, { allow_internet_access: false })
		assert.ok((await api('GET', '/health', undefined, opt)).status < 300)
		assert.equal((await put(other, { denyOut: [ALL] })).status, 204)
		const young = await createRaw({ timeout: 600 }, opt)
		assert.equal(await run(young, 'echo here', own.url), 'here')
		await killRaw(young, opt)
		assert.equal(stateOf(stopped), 'T')
		process.kill(stopped, 'SIGCONT')
		const codes = (await Promise.all(flood)).map((r) => r.status)
		assert.ok(
			codes.every((code) => code === 204 || code === 429),
			codes.join(),
		)
		assert.ok(codes.includes(429), 'as many as one likes may wait')
		// The last one may be among those that were too many; then it is not in force, and was not said to be.
		assert.ok([204, 429].includes((await last).status))
		assert.equal((await put(busy, { allow_internet_access: false })).status, 204)
		assert.equal(await reach(busy, out.at(2), 7, 'tcp', own.url), 'refused')
		await killRaw(busy, opt)
		await killRaw(other, opt)
	} finally {
		if (stopped && stateOf(stopped) === 'T') process.kill(stopped, 'SIGCONT')
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})
