// SPDX-License-Identifier: Apache-2.0
// NAT out, nothing in, never a neighbour, never the host's own services.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import dgram from 'node:dgram'
import { spawnSync } from 'node:child_process'
import { runAny, sdk, server } from '../../lib/client.mjs'
import { gatewayOf, initOf, sleep, traceOf, until } from '../../lib/host.mjs'

let one, two
const root = { user: 'root' }

// Exit 0 when a TCP connection is made, 1 when refused or unreachable, 2 on timeout.
const TRY = `
import socket, sys, time
host, port, wait = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
t = time.time()
try:
    socket.create_connection((host, port), wait).close()
    print("connected"); sys.exit(0)
except socket.timeout:
    print("timeout"); sys.exit(2)
except OSError as e:
    print("refused %.2f %s" % (time.time() - t, e)); sys.exit(1)
`
const connect = (sbx, host, port, wait = 3) => runAny(sbx, `python3 /tmp/try.py ${host} ${port} ${wait}`)

function hostAddresses() {
	return Object.values(os.networkInterfaces())
		.flat()
		.filter((a) => a.family === 'IPv4')
		.map((a) => a.address)
}

before(async () => {
	const { Sandbox } = sdk()
	;[one, two] = await Promise.all([1, 2].map(() => Sandbox.create('base', { timeoutMs: 600000 })))
	await Promise.all([one, two].map((s) => s.files.write('/tmp/try.py', TRY)))
})
after(() => Promise.all([one?.kill(), two?.kill()]))

async function address(sbx) {
	const got = await sbx.commands.run('ip -o -4 addr show dev eth0')
	return /inet (\d+\.\d+\.\d+\.\d+)/.exec(got.stdout)[1]
}

// A server inside, once it listens.
async function serve(sbx, port, bind) {
	await sbx.commands.run(`python3 -m http.server ${port} --bind ${bind}`, { background: true })
	assert.ok(
		await until(async () => (await connect(sbx, '127.0.0.1', port)).exitCode === 0, 30000, 200),
		`nobody listens on ${port}`,
	)
}

test('loopback inside works', async () => {
	await serve(one, 9001, '127.0.0.1')
	assert.equal((await connect(one, 'localhost', 9001)).exitCode, 0)
})

test('an address of its own in the range of the instance', async () => {
	const [a, b] = await Promise.all([one, two].map(address))
	assert.notEqual(a, b)
	assert.ok(a.startsWith(`10.${200 + server.slot}.`), a)
})

test('a sandbox cannot reach another one', async () => {
	await serve(two, 9002, '0.0.0.0')
	const ip = await address(two)
	assert.equal((await connect(two, ip, 9002)).exitCode, 0, 'the listener is up')
	const got = await connect(one, ip, 9002)
	assert.notEqual(got.exitCode, 0, 'connected to a neighbour')
	assert.equal(got.exitCode, 1, `refused at once, not left to hang: ${got.stdout}`)
})

test('the host cannot be reached: all addresses, TCP and UDP', async () => {
	const tcp = net.createServer((s) => s.end('host'))
	await new Promise((done) => tcp.listen(0, '0.0.0.0', done))
	const udp = dgram.createSocket('udp4')
	let heard = 0
	udp.on('message', () => heard++)
	await new Promise((done) => udp.bind(0, '0.0.0.0', done))
	try {
		const { port } = tcp.address()
		for (const host of [...hostAddresses(), gatewayOf(server.slot), '0.0.0.0', '127.0.0.1']) {
			const got = await connect(one, host, port, 2)
			assert.notEqual(got.exitCode, 0, `reached the host at ${host}:${port}`)
			await runAny(
				one,
				`python3 -c "import socket; socket.socket(socket.AF_INET, ` +
					`socket.SOCK_DGRAM).sendto(b'x', ('${host}', ${udp.address().port}))"`,
			)
		}
		await sleep(300) // for a datagram that must not come
		assert.equal(heard, 0, 'a datagram reached the host')
	} finally {
		tcp.close()
		udp.close()
	}
})

test('the API of the server itself cannot be reached from inside', async () => {
	const { port } = new URL(server.url)
	for (const host of [...hostAddresses(), gatewayOf(server.slot)])
		assert.notEqual((await connect(one, host, port, 2)).exitCode, 0, host)
})

test('metadata and link-local addresses are closed at once', async () => {
	for (const host of ['169.254.169.254', '169.254.0.1']) {
		const got = await connect(one, host, 80, 3)
		assert.equal(got.exitCode, 1, `${host}: ${got.stdout}`)
	}
})

test('nothing outside can connect in: no route leads to a sandbox', async () => {
	const ip = await address(two)
	await serve(two, 9003, '0.0.0.0')
	const reached = await new Promise((done) => {
		const s = net.connect({ host: ip, port: 9003, timeout: 1500 }, () => {
			s.destroy()
			done(true)
		})
		s.once('error', () => done(false))
		s.once('timeout', () => {
			s.destroy()
			done(false)
		})
	})
	assert.equal(reached, false, 'the host connects into the sandbox directly')
})

test('root inside cannot change its network', async () => {
	for (const cmd of [
		'ip link del eth0',
		'ip link set eth0 down',
		'ip addr add 10.0.0.9/8 dev eth0',
		'ip link set eth0 address 02:00:00:00:00:99',
		'ip route add 1.2.3.0/24 dev lo',
		'ip link add v0 type veth',
		'ip neigh add 10.1.1.1 lladdr 02:00:00:00:00:01 dev eth0',
	])
		assert.notEqual((await runAny(one, cmd, root)).exitCode, 0, cmd)
	assert.match(await address(one), /^10\./)
})

// With the host's power inside the sandbox's network namespace: what a kernel bug might give root of the sandbox.
test('source address and MAC are pinned outside', async () => {
	const trace = traceOf(server.slot, await address(one))
	const within = (cmd) =>
		spawnSync('nsenter', ['-t', String(initOf(trace)), '-n', 'sh', '-c', cmd], {
			encoding: 'utf8',
			timeout: 20000,
		})
	const mac = /ether ([0-9a-f:]+)/.exec(within('ip link show dev eth0').stdout)[1]
	const gateway = gatewayOf(server.slot)
	const from = (source) =>
		within(`python3 -c "
import socket
s = socket.socket(); s.settimeout(1.5); s.bind(('${source}', 0)); s.connect(('${gateway}', 53))"`).status
	const mine = await address(one)
	assert.equal(from(mine), 0, 'the resolver answers to the own address')
	const foreign = `10.${200 + server.slot}.77.7`
	within(`ip addr add ${foreign}/32 dev eth0`)
	assert.notEqual(from(foreign), 0, 'a foreign source address passes')
	within(`ip addr del ${foreign}/32 dev eth0; ip link set eth0 address 02:00:00:00:00:77`)
	assert.notEqual(from(mine), 0, 'a foreign MAC passes')
	within(`ip link set eth0 address ${mac}`)
	assert.equal(from(mine), 0)
	assert.equal(fs.readFileSync(`/proc/sys/net/ipv6/conf/${trace.link}/disable_ipv6`, 'utf8').trim(), '1')
})

test('IPv6 leads nowhere', async () => {
	const got = await runAny(one, 'python3 -c "import socket; socket.create_connection((\'2001:db8::1\', 80), 3)"')
	assert.notEqual(got.exitCode, 0)
})

function registryHost() {
	const run = spawnSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' })
	try {
		return new URL(run.stdout.trim().split('\n').pop())
	} catch {
		return null
	}
}

function reachable(url) {
	return new Promise((done) => {
		const s = net.connect(
			{ host: url.hostname, port: url.port || (url.protocol === 'https:' ? 443 : 80), timeout: 5000 },
			() => {
				s.destroy()
				done(true)
			},
		)
		s.once('error', () => done(false))
		s.once('timeout', () => {
			s.destroy()
			done(false)
		})
	})
}

const registry = registryHost()
const offline = registry && (await reachable(registry)) ? false : 'the npm registry of this machine is not reachable'

test('names resolve inside, unknown ones fail quickly', { skip: offline }, async () => {
	const got = await one.commands.run(`getent ahostsv4 ${registry.hostname}`)
	assert.match(got.stdout, /^\d+\.\d+\.\d+\.\d+/)
	const began = Date.now()
	assert.notEqual((await runAny(one, 'getent hosts no-such-name.invalid')).exitCode, 0)
	assert.ok(Date.now() - began < 6000)
})

test('npm, pip and apt-get work inside as on the host', { skip: offline, timeout: 300000 }, async () => {
	const npm = await runAny(one, `cd /tmp && npm view left-pad version --registry=${registry.href}`, {
		timeoutMs: 120000,
	})
	assert.equal(npm.exitCode, 0, npm.stderr.slice(-500))
	const apt = await runAny(
		one,
		'sudo apt-get update -qq && sudo apt-get install -y -qq --no-install-recommends tree >/dev/null && ' +
			'tree --version',
		{ timeoutMs: 240000 },
	)
	assert.equal(apt.exitCode, 0, apt.stderr.slice(-500))
	const pip = await runAny(
		one,
		'python3 -m pip --version >/dev/null 2>&1 || exit 99; cd /tmp && python3 -m pip download --no-deps ' +
			'-q six',
		{ timeoutMs: 120000 },
	)
	if (pip.exitCode !== 99) assert.equal(pip.exitCode, 0, pip.stderr.slice(-500))
})

test('a registry connection from inside goes out', { skip: offline }, async () => {
	const port = registry.port || (registry.protocol === 'https:' ? 443 : 80)
	assert.equal((await connect(one, registry.hostname, port, 10)).exitCode, 0)
})
