// SPDX-License-Identifier: Apache-2.0
// What all sandboxes and the host share: kernel memory, connections, names, locks. None may take it from the others.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { addressOf, api, createRaw, killRaw, runAny, sdk, server, withRaw } from '../lib/client.mjs'
import { newServer } from '../lib/server.mjs'
import { childrenOf, commOf, until } from '../lib/host.mjs'

let sbx

before(async () => {
	sbx = await sdk().Sandbox.create('base', { timeoutMs: 300000 })
})
after(() => sbx?.kill())

const pages = (text) => Number(/^TCP:.* mem (\d+)/m.exec(text)[1])

test('queues of TCP connections are bounded', async () => {
	const code = `
import socket, time
ls = socket.create_server(("127.0.0.1", 7777), backlog=256)
keep, total, data = [], 0, b"z" * 65536
for i in range(100):
    c = socket.socket()
    c.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    c.connect(("127.0.0.1", 7777))
    keep += [c, ls.accept()[0]]
    c.setblocking(False)
    try:
        n = 0
        while n < 4 << 20:
            n += c.send(data)
    except BlockingIOError:
        pass
    total += n
print(total >> 20)
time.sleep(2)`
	const before = pages(fs.readFileSync('/proc/net/sockstat', 'utf8'))
	const run = runAny(sbx, `python3 -c '${code}'`)
	let most = 0
	const timer = setInterval(() => {
		most = Math.max(most, pages(fs.readFileSync('/proc/net/sockstat', 'utf8')))
	}, 100)
	const got = await run
	clearInterval(timer)
	assert.equal(got.exitCode, 0, got.stderr)
	assert.ok((most - before) * 4096 < 200 << 20, `${((most - before) * 4096) >> 20} MiB of the host's TCP memory`)
})

const LOCKS = (command, where) => `
import fcntl, os, struct, time
for i in range(100):
    fd = os.open("${where}/locks-%d" % i, os.O_RDWR | os.O_CREAT); keep.append(fd)
    for k in range(500): fcntl.fcntl(fd, ${command}, struct.pack("hhiqqi4x", 1, 0, 0, 2 * (500 - k), 1, 0))`

const HOARDERS = {
	'unread netlink answers': `
import socket, struct, time
req = struct.pack("IHHII", 32, 18, 1, 1, 0) + struct.pack("BBHiII", 0, 0, 0, 2, 0, 0)
for i in range(400):
    s = socket.socket(16, socket.SOCK_RAW, 0); s.setblocking(False); s.bind((0, 0)); keep.append(s)
    for k in range(150): s.send(req)`,
	'unread echoes': `
import socket, time
for i in range(400):
    s = socket.socket(2, 2, 1); s.setblocking(False); keep.append(s)
    for k in range(20): s.sendto(b"\\x08\\0\\0\\0\\0\\0\\0\\1" + b"x" * 8000, ("127.0.0.1", 0))`,
	'unfinished datagrams': `
import socket, time
for i in range(800):
    s = socket.socket(2, 2); s.connect(("127.0.0.1", 9)); s.send(b"x" * 60000, socket.MSG_MORE); keep.append(s)`,
	'locks of open files': LOCKS('37', '/tmp'),
	'locks of open files in memory': LOCKS('37', '/dev/shm'),
	'locks of a process': LOCKS('fcntl.F_SETLK', '/tmp'),
	'locks of files without a name': LOCKS('37', '/tmp').replace(
		/os\.open\(.*?os\.O_CREAT\)/,
		'os.memfd_create("x")',
	),
	'locks of files of the kernel': LOCKS('37', '/tmp')
		.replace(/os\.open\(.*?os\.O_CREAT\)/, 'os.open("/proc/self/status", os.O_RDONLY)')
		.replace('"hhiqqi4x", 1', '"hhiqqi4x", 0'),
}
// First of all: the cases that follow are then watched by the second one, which was made by a warden that has little
// power left.
test('the guard is replaced when it dies, and so are the sweeper and the reclaimer', async () => {
	for (const name of ['atoll-guard', 'atoll-sweeper', 'atoll-reclaim']) {
		const find = () => childrenOf(server.pid).filter((pid) => commOf(pid) === name)
		const [first] = find()
		assert.ok(first, `no ${name}`)
		process.kill(first, 'SIGKILL')
		assert.ok(await until(() => find().length === 1 && find()[0] !== first, 10000, 50), `no other ${name}`)
	}
})

for (const [name, code] of Object.entries(HOARDERS)) {
	test(`memory on nobody's account, ${name}: the sandbox is ended`, async () => {
		const victim = await createRaw({ timeout: 600 })
		const { Sandbox } = sdk()
		const it = await Sandbox.connect(victim.sandboxID, { timeoutMs: 600000 })
		try {
			await it.files.write('/tmp/hoard.py', `keep = []\n${code}\ntime.sleep(300)\n`)
			it.commands.run('python3 /tmp/hoard.py', { timeoutMs: 0 }).catch(() => {})
			const gone = await until(
				async () => (await api('GET', `/sandboxes/${victim.sandboxID}`)).status === 404,
				150000,
				200,
			) // it takes its time to get that much
			assert.ok(gone, 'it goes on')
		} finally {
			await killRaw(victim)
		}
		assert.equal((await sbx.commands.run('echo fine')).stdout, 'fine\n', 'a neighbour feels it')
	})
}

// The store is the host's, so only as much is taken as shows the guard at work: it acts when half is gone.
const JIT_LIMIT = '/proc/sys/net/core/bpf_jit_limit',
	PER_TASK = 380 << 10
const jitLimit = fs.existsSync(JIT_LIMIT) ? Number(fs.readFileSync(JIT_LIMIT, 'utf8')) : 0
const filterTasks = Math.ceil((jitLimit / 2 / PER_TASK) * 1.25)
const noStore = !/ bpf_(prog_pack|jit)_/.test(fs.readFileSync('/proc/vmallocinfo', 'utf8'))
	? 'this kernel compiles no filters, or does not tell'
	: filterTasks > 2500
		? 'the store is larger than one sandbox can fill'
		: false

test(
	'the store of filters that is one for the host is filled: the sandbox is ended',
	{ skip: noStore, timeout: 240000 },
	async () => {
		const victim = await createRaw({ limits: { processes: filterTasks + 100, memoryMB: 4096 } })
		const it = await sdk().Sandbox.connect(victim.sandboxID)
		try {
			await it.files.write(
				'/tmp/filters.py',
				`
import ctypes, os, struct, time
libc = ctypes.CDLL(None)
ins = lambda code, k: struct.pack("HBBI", code, 0, 0, k)
body = ins(6, 0x7fff0000) + ins(0x34, 7) * 4094 + ins(6, 0x7fff0000)
buf = ctypes.create_string_buffer(body, len(body))
prog = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 4096, ctypes.addressof(buf)))
libc.prctl(38, 1, 0, 0, 0)
for i in range(${filterTasks}):
    if os.fork() == 0:
        while libc.syscall(317, 1, 0, prog) == 0: pass
        time.sleep(300)
time.sleep(300)`,
			)
			it.commands.run('python3 /tmp/filters.py', { timeoutMs: 0 }).catch(() => {})
			const gone = await until(
				async () => (await api('GET', `/sandboxes/${victim.sandboxID}`)).status === 404,
				180000,
				200,
			)
			assert.ok(gone, 'it goes on')
		} finally {
			await killRaw(victim)
		}
		assert.equal((await sbx.commands.run('echo fine')).stdout, 'fine\n', 'a neighbour feels it')
		await withRaw({}, async () => {})
	},
)

// The guard looks each second or two. The programs of the next tests live through several of its looks.
test('a program with filters of its own is left alone', async () => {
	const got = await runAny(
		sbx,
		`python3 -c '
import ctypes, os, struct, time
libc = ctypes.CDLL(None)
buf = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
prog = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 1, ctypes.addressof(buf)))
libc.prctl(38, 1, 0, 0, 0)
print([libc.syscall(317, 1, 0, prog) for i in range(20)].count(0))
time.sleep(2)'`,
	)
	assert.equal(got.stdout, '20\n', got.stderr)
})

test('a program with ordinary locks is left alone', async () => {
	const got = await runAny(
		sbx,
		`python3 -c '
import fcntl, os, struct, time
for i in range(5):
    fd = os.dup(os.open("/tmp/few-%d" % i, os.O_RDWR | os.O_CREAT))
    for k in range(500): fcntl.fcntl(fd, 37, struct.pack("hhiqqi4x", 1, 0, 0, 2 * k, 1, 0))
time.sleep(5)
print("alive")'`,
	)
	assert.equal(got.stdout, 'alive\n', got.stderr)
})

test('a program with ordinary sockets is left alone', async () => {
	const got = await runAny(
		sbx,
		`python3 -c '
import socket, time
keep = [socket.socket(2, 2) for i in range(300)] + [socket.socket(16, 3, 0) for i in range(100)]
for s in keep[:300]: s.connect(("127.0.0.1", 9))
for s in keep[:300]:
    try: s.send(b"x" * 1000)
    except OSError: pass
time.sleep(2.5)
print("alive")'`,
	)
	assert.equal(got.stdout, 'alive\n', got.stderr)
})

test('without internet there are no names either: a query could carry anything out', async () => {
	const silent = await createRaw({ allow_internet_access: false })
	try {
		const it = await sdk().Sandbox.connect(silent.sandboxID)
		const got = await runAny(
			it,
			`python3 -c '
import socket, struct, time
gw = [l.split()[1] for l in open("/etc/resolv.conf") if l.startswith("nameserver")][0]
query = struct.pack(">6H", 7, 256, 1, 0, 0, 0) + b"\\x09localhost\\0" + struct.pack(">HH", 1, 1)
for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
    s = socket.socket(socket.AF_INET, kind); s.settimeout(2)
    try:
        s.connect((gw, 53)); s.send(query); s.recv(100); print("answered")
    except OSError as e: print("refused")
t = time.time()
try: socket.getaddrinfo("example.com", 80)
except OSError: pass
print("quick" if time.time() - t < 3 else "slow")'`,
		)
		assert.equal(got.stdout, 'refused\nrefused\nquick\n', got.stderr)
	} finally {
		await killRaw(silent)
	}
})

test('sync() inside does not write out the host', async () => {
	const dir = fs.mkdtempSync(path.join(server.stateDir, '..', 'dirty-'))
	const dirty = () => Number(/^Dirty:\s+(\d+)/m.exec(fs.readFileSync('/proc/meminfo', 'utf8'))[1])
	try {
		let kept = false
		for (let i = 0; i < 20 && !kept; i++) {
			// the kernel may write on its own in between, and so may others on the machine
			fs.writeFileSync(path.join(dir, 'f'), Buffer.alloc(64 << 20, i + 1))
			assert.equal((await runAny(sbx, 'python3 -c "import os; os.sync()"')).exitCode, 0)
			kept = dirty() > 32 << 10
		}
		assert.ok(kept, 'what the host had written lately is on disk')
	} finally {
		fs.rmSync(dir, { recursive: true })
	}
})

const TABLE = '/proc/net/nf_conntrack'
test(
	"connections of a dead sandbox are not its successor's",
	{ skip: fs.existsSync(TABLE) ? false : 'no list of connections in /proc' },
	async () => {
		const own = newServer(server.buildDir, { max_sandboxes: 1, pool_size_mb: 256 })
		await own.start()
		try {
			const at = { base: own.url, key: own.key }
			const has = (ip) =>
				fs
					.readFileSync(TABLE, 'utf8')
					.includes(`src=${ip} dst=10.${200 + own.slot}.0.1 sport=5555 `)
			const first = await createRaw({}, at)
			const ip = await addressOf(first, own.url)
			const { Sandbox } = sdk()
			const it = await Sandbox.connect(first.sandboxID, {
				apiKey: own.key,
				apiUrl: own.url,
				sandboxUrl: own.url,
			})
			await it.commands.run(
				`python3 -c "import socket; s = socket.socket(2, 2); s.bind(('', 5555)); ` +
					`s.sendto(b'x' * 12, ('10.${200 + own.slot}.0.1', 53))"`,
			)
			assert.ok(has(ip), 'the host has noted the connection')
			await api('DELETE', `/sandboxes/${first.sandboxID}`, undefined, at)
			for (let i = 0, same = false; !same; i++) {
				assert.ok(i < 60, 'the address does not come again')
				const made = await until(
					async () => {
						const res = await api('POST', '/sandboxes', { templateID: 'base' }, at)
						return res.status === 201 && res.json
					},
					10000,
					50,
				)
				same = (await addressOf(made, own.url)) === ip
				if (same) assert.equal(has(ip), false, 'the connection is still there')
				await api('DELETE', `/sandboxes/${made.sandboxID}`, undefined, at)
			}
		} finally {
			await own.stop()
		}
	},
)

// Whoever can open a file can lock it, and so keep a server from starting again.
test('other users of the host can open nothing of ours', () => {
	const open = (file) =>
		spawnSync('setpriv', ['--reuid=65534', '--regid=65534', '--clear-groups', 'test', '-r', file])
	assert.equal(open('/').status, 0)
	for (const file of [
		'state/key',
		'state/pool.img',
		'state/front',
		'run/warden.pid',
		'run/sandboxes',
		'run/holders',
		'run/private',
	])
		assert.notEqual(open(path.join(server.stateDir, '..', file)).status, 0, file)
	assert.notEqual(open(`/run/atoll/registry/${server.slot}`).status, 0, 'the registry')
})

// Of a few hundred bytes each, on the account of their sandbox: what the host counts must not be used up before its
// memory is (bombs/fds tries).
const noSysctl =
	/\bro\b/.test(/ \/proc\/sys \S+ (\S+)/.exec(fs.readFileSync('/proc/mounts', 'utf8'))?.[1] ?? '') &&
	'/proc/sys is read-only here'
const countOf = (file) => BigInt(fs.readFileSync(`/proc/sys/${file}`, 'utf8').trim())

test('the host has no count of open files that one sandbox could use up', { skip: noSysctl }, () => {
	assert.ok(countOf('fs/file-max') > 1n << 40n, `${countOf('fs/file-max')}`)
})

test('the host has terminals for more sandboxes than it can have, and for itself', { skip: noSysctl }, async () => {
	assert.ok(countOf('kernel/pty/max') >= 1000n * 128n + 4096n, `${countOf('kernel/pty/max')}`)
	const got = await runAny(
		sbx,
		`python3 -c '
import os
keep = []
try:
    while True: keep.append(os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY))
except OSError as e: print(len(keep), e.errno)'`,
	)
	const [, n, no] = /^(\d+) (\d+)$/m.exec(got.stdout)
	assert.ok(Number(n) <= 128 && Number(n) > 100, got.stdout + got.stderr)
	assert.ok([28, 5].includes(Number(no)), `it ends with errno ${no}`) // ENOSPC; EIO before Linux 4.8
	assert.equal(spawnSync('python3', ['-c', 'import os; os.openpty()']).status, 0, 'the host has one, too')
})

test('a flood of queries is bounded before it gets to the resolver that all share', async () => {
	const code = `
import re, socket, time
at = (re.search(r"nameserver (\\S+)", open("/etc/resolv.conf").read()).group(1), 53)
query = bytes.fromhex("12340100000100000000000007696e76616c696400000100 01".replace(" ", ""))
s = socket.socket(2, 2); s.setsockopt(1, 8, 1 << 20); s.setblocking(False)
def drain():
    n = 0
    try:
        while s.recv(600): n += 1
    except BlockingIOError: return n
began, sent, got = time.time(), 0, 0
while sent < 60000 and time.time() - began < 20:
    try: sent += s.sendto(query, at) > 0
    except BlockingIOError: pass
    got += drain()
time.sleep(1); got += drain()
print(sent, got, time.time() - began)`
	// Names beside the allowed one are answered at once, by nobody else.
	const it = await sdk().Sandbox.create('base', {
		timeoutMs: 120000,
		network: { allowOut: ['api.example.com'], denyOut: ['0.0.0.0/0'] },
	})
	const run = await runAny(it, `python3 -c '${code}'`, { timeoutMs: 60000 })
	await it.kill()
	const [sent, got, seconds] = run.stdout.trim().split(' ').map(Number)
	assert.ok(sent > 5000, `${run.stdout} ${run.stderr}`)
	assert.ok(got > 0 && got < 1500 + 500 * seconds, `${got} of ${sent} queries were answered in ${seconds} s`)
})
