// SPDX-License-Identifier: Apache-2.0
// Who runs with which power: each daemon's uid, capabilities, filter and what is linked into it.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { execFileSync, spawnSync } from 'node:child_process'
import { sdk, server } from '../lib/client.mjs'
import { childrenOf, commOf, gatewayOf, initOf, nameOf, processesOf, until } from '../lib/host.mjs'

const FRONT_SOCKET = path.join(import.meta.dirname, '../lib/front_socket.py')

function statusOf(pid) {
	return Object.fromEntries(
		fs
			.readFileSync(`/proc/${pid}/status`, 'utf8')
			.trim()
			.split('\n')
			.map((line) => line.split(/:\s+/, 2)),
	)
}

function pidOf(name) {
	const pid = childrenOf(server.pid).find((child) => nameOf(child) === name || commOf(child) === name)
	assert.ok(pid, `no ${name} below the warden`)
	return pid
}

function isOf(pid, sandbox) {
	try {
		return fs.readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(sandbox)
	} catch {
		return false /* ended meanwhile, of another sandbox */
	}
}

const uidOf = (user) => execFileSync('id', ['-u', user], { encoding: 'utf8' }).trim()
const NOTHING = '0'.repeat(16)

// A leak checker has to trace its own process, and needs system calls of its own: src/base/build.h.
const confined = { skip: process.env.ATOLL_TEST_ASAN && 'a build with sanitizers is not confined' }

for (const [name, user, own] of [
	/* its stores, the segment of the trail that it appends to, how large it is, what memory is left */
	[
		'atoll-front',
		'atoll',
		new RegExp(
			'/(atoll|uploads|console|audit|notebooks)\\.db(-wal|-shm)?$|/audit/\\d{8}\\.jsonl$|' +
				'/front/write-memory$|^/proc/(\\d+/statm|meminfo)$',
		),
	],
	['atoll-agent', 'atoll', /\/sessions\.log$/],
	['atoll-egress', 'atoll-egress', /^\/etc$/] /* to see a new resolv.conf */,
	['atoll-webhooks', 'atoll-hooks', /^$/],
	[
		'atoll-view',
		'atoll-egress',
		/^\/dev\/fuse$|^\/\d?$/,
	] /* the device, and the mounts of its root and of the file system */,
	...(childrenOf(server.pid).some((pid) => nameOf(pid) === 'atoll-refusals')
		? [['atoll-refusals', 'atoll-egress', /^$/]]
		: []) /* none where the kernel tells nothing */,
]) {
	test(`${name} has a uid of its own, no capability, a filter`, name === 'atoll-view' ? confined : {}, () => {
		const pid = pidOf(name)
		const s = statusOf(pid)
		const uid = uidOf(user)
		assert.notEqual(uid, '0')
		assert.deepEqual(s.Uid.split(/\s+/), [uid, uid, uid, uid])
		assert.ok(!s.Gid.split(/\s+/).includes('0'))
		assert.ok(!(s.Groups ?? '').split(/\s+/).includes('0'))
		for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) assert.equal(s[set], NOTHING, set)
		assert.equal(s.NoNewPrivs, '1')
		assert.equal(s.Seccomp, '2')
		if (name !== 'atoll-agent') /* which waits on threads */ assert.equal(s.Threads, '1')
	})

	test(`${name} is not dumpable: what it has in memory is for root alone`, confined, () => {
		const pid = pidOf(name)
		assert.equal(
			fs.statSync(`/proc/${pid}/mem`).uid,
			0,
			'the kernel gives these files to root when a process is not dumpable',
		)
		for (const file of ['mem', 'environ', 'maps', 'fd'])
			assert.notEqual(
				spawnSync('setpriv', [
					'--reuid',
					uidOf(user),
					'--clear-groups',
					'--',
					'ls',
					`/proc/${pid}/${file}/`,
				]).status,
				0,
				file,
			)
		const read = spawnSync(
			'setpriv',
			['--reuid', uidOf(user), '--clear-groups', '--', 'head', '-c1', `/proc/${pid}/environ`],
			{ encoding: 'utf8' },
		)
		assert.match(read.stderr, /Permission denied/)
	})

	test(`${name} holds no fd but its own`, () => {
		const dir = `/proc/${pidOf(name)}/fd`
		const odd = fs
			.readdirSync(dir)
			.map((fd) => {
				try {
					return fs.readlinkSync(path.join(dir, fd))
				} catch {
					return '' /* closed meanwhile */
				}
			})
			.filter(
				(to) =>
					to &&
					!/^(socket:|pipe:|anon_inode:|\/dev\/(null|urandom)$)/.test(to) &&
					!own.test(to),
			)
		assert.deepEqual(odd, [])
	})

	test(`${name} sees no variable of the one who started the server`, () => {
		const env = fs.readFileSync(`/proc/${pidOf(name)}/environ`, 'utf8')
		assert.ok(!env.includes('canary-of-the-host'), env)
	})
}

test("the front cannot read what is root's in the state directory", () => {
	const uid = Number(uidOf('atoll'))
	const st = fs.statSync(path.join(server.stateDir, 'pool.img'))
	assert.equal(st.uid, 0)
	assert.equal(st.mode & 0o077, 0)
	assert.equal(fs.statSync(path.join(server.stateDir, 'key')).mode & 0o077, 0)
	assert.notEqual(uid, 0)
})

test(
	'a socket that the front has in a sandbox leads nowhere but to that sandbox, whatever is done ' + 'with it',
	async () => {
		const sbx = await sdk().Sandbox.create('base')
		try {
			const run = await sbx.commands.run(
				'exec python3 -u -c \'import socket; s = socket.create_server(("127.0.0.1", 9000)); ' +
					'c, _ = s.accept(); c.recv(1000); ' +
					'c.sendall(b"HTTP/1.1 200 OK\\r\\n\\r\\nhi"); c.recv(1)\'',
				{ background: true },
			)
			const answer = await until(async () => {
				const res = await fetch(server.url, {
					headers: { 'E2b-Sandbox-Id': sbx.sandboxId, 'E2b-Sandbox-Port': '9000' },
				})
				return res.status === 200 && res
			})
			assert.equal(answer.status, 200)
			const init = initOf({
				pids: processesOf(server.slot).filter((pid) => isOf(pid, sbx.sandboxId)),
			})
			const tried = spawnSync(
				'python3',
				[
					FRONT_SOCKET,
					String(pidOf('atoll-front')),
					String(init),
					gatewayOf(server.slot),
					'53',
				],
				{ encoding: 'utf8' },
			)
			assert.equal(tried.stderr, '')
			assert.deepEqual(tried.stdout.trim().split('\n'), [
				'another socket made there: connected',
				'the same by fast open: connected',
				'sockets: 1',
				'tied to: lo',
				'untie: EPERM',
				'connect: refused',
				'fast open: refused',
			])
			await answer.body.cancel().catch(() => {})
			await run.kill()
		} finally {
			await sbx.kill()
		}
	},
)

// Of linux/capability.h: what making, limiting and ending sandboxes never takes.
const NEVER = {
	LINUX_IMMUTABLE: 9,
	NET_BROADCAST: 11,
	SYS_MODULE: 16,
	SYS_RAWIO: 17,
	SYS_PACCT: 20,
	SYS_BOOT: 22,
	SYS_TIME: 25,
	SYS_TTY_CONFIG: 26,
	LEASE: 28,
	AUDIT_WRITE: 29,
	MAC_OVERRIDE: 32,
	MAC_ADMIN: 33,
	SYSLOG: 34,
	WAKE_ALARM: 35,
	BLOCK_SUSPEND: 36,
	AUDIT_READ: 37,
	PERFMON: 38,
	BPF: 39,
}

test('the warden is filtered, has one thread, and not the powers it never needs', () => {
	const s = statusOf(server.pid)
	assert.equal(s.Seccomp, '2')
	assert.equal(s.Threads, '1')
	for (const set of ['CapPrm', 'CapEff', 'CapBnd'])
		for (const [name, bit] of Object.entries(NEVER))
			assert.equal((BigInt(`0x${s[set]}`) >> BigInt(bit)) & 1n, 0n, `${set} has ${name}`)
	assert.equal(s.CapAmb, NOTHING)
	assert.equal(s.CapInh, NOTHING)
})

test('atoll-ckpt has no filter: CRIU could not suspend those of a sandbox', () => {
	for (const pid of childrenOf(server.pid).filter((p) => nameOf(p) === 'atoll-ckpt'))
		assert.equal(statusOf(pid).Seccomp, '0')
})

// chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service sys_chroot audit_write setfcap
const KEPT = 0xa00405fbn

// What comes with setuid or setgid in Debian's packages.
const SETUID = new RegExp(
	'^/usr/(bin/(sudo|su|passwd|chfn|chsh|newgrp|gpasswd|mount|umount|chage|expiry|wall|ssh-agent|' +
		'crontab|fusermount3?)|sbin/unix_chkpwd|lib/openssh/ssh-keysign|' +
		'lib/dbus-1\\.0/dbus-daemon-launch-helper)$',
)

test('in a sandbox, root and everybody else is filtered and has twelve capabilities at most', async () => {
	const sbx = await sdk().Sandbox.create('base')
	try {
		for (const [user, most] of [
			['root', KEPT],
			['user', 0n],
		]) {
			const run = await sbx.commands.run('cat /proc/self/status; readlink /proc/self/ns/user', {
				user,
			})
			const s = Object.fromEntries(
				run.stdout
					.trim()
					.split('\n')
					.map((line) => line.split(/:\s+/, 2)),
			)
			assert.equal(s.Seccomp, '2')
			assert.ok(Number(s.Seccomp_filters) >= 4, "the warden's and three of its own")
			assert.equal(BigInt(`0x${s.CapEff}`) & ~most, 0n, `${user} has ${s.CapEff}`)
			assert.equal(BigInt(`0x${s.CapBnd}`) & ~KEPT, 0n, s.CapBnd)
			assert.equal(s.CapAmb, NOTHING)
		}
	} finally {
		await sbx.kill()
	}
})

test('no setuid program of the template but those that are expected, and none in what others may write', async () => {
	const sbx = await sdk().Sandbox.create('base')
	try {
		const run = await sbx.commands.run(
			'find / -xdev -perm /6000 -type f 2>/dev/null; grep -c nosuid /proc/self/mountinfo',
			{ user: 'root' },
		)
		const lines = run.stdout.trim().split('\n')
		const odd = lines.slice(0, -1).filter((f) => !SETUID.test(f))
		assert.deepEqual(odd, [])
		assert.ok(Number(lines.at(-1)) >= 5, '/proc, /sys, /dev, /dev/pts, /dev/shm are nosuid')
	} finally {
		await sbx.kill()
	}
})

test('the privileged program contains no parser of what comes from outside', () => {
	/* what it names itself: libnftables brings jansson along, for an output format that nobody asks for */
	const linked = execFileSync('readelf', ['-dW', path.join(server.buildDir, 'src/warden/atolld')], {
		encoding: 'utf8',
	})
		.split('\n')
		.filter((line) => line.includes('NEEDED'))
		.join('\n')
	for (const lib of ['llhttp', 'jansson', 'sqlite', 'curl', 'ssl', 'crypto', 'nghttp2', 'expat', 'xml'])
		assert.ok(!linked.includes(`lib${lib}`), `atolld links ${lib}`)
	const names = execFileSync('nm', ['-a', path.join(server.buildDir, 'src/warden/atolld')], { encoding: 'utf8' })
	assert.ok(!/\b(llhttp_|json_loads|sqlite3_|http_server_)/.test(names), 'a parser is linked into atolld')
})

test('atoll-init is static', () => {
	const head = execFileSync('readelf', ['-lW', path.join(server.buildDir, 'src/init/atoll-init')], {
		encoding: 'utf8',
	})
	assert.ok(!/INTERP/.test(head))
})

// What the loader and the kernel read of a program: its kind, its segments, and the flags of its dynamic section.
function elfOf(file) {
	const b = fs.readFileSync(file),
		at = (o) => Number(b.readBigUInt64LE(o)),
		segments = []
	for (let i = 0, o = at(32); i < b.readUInt16LE(56); i++, o += b.readUInt16LE(54))
		segments.push({
			type: b.readUInt32LE(o),
			flags: b.readUInt32LE(o + 4),
			offset: at(o + 8),
			size: at(o + 32),
		})
	const dynamic = segments.find((s) => s.type === 2),
		tags = {}
	for (let o = dynamic?.offset ?? 0; dynamic && o < dynamic.offset + dynamic.size; o += 16)
		tags[at(o)] = at(o + 8)
	return { kind: b.readUInt16LE(16), segments, tags }
}

test('W10: all programs are position independent, and nothing that is linked can be changed later', () => {
	const top = path.join(server.buildDir, 'src')
	const programs = fs
		.readdirSync(top)
		.flatMap((dir) => fs.readdirSync(path.join(top, dir)).map((name) => path.join(top, dir, name)))
		.filter((file) => /^atoll[a-z-]*$/.test(path.basename(file)) && fs.statSync(file).isFile())
	assert.ok(
		['atoll', 'atolld', 'atoll-front', 'atoll-init', 'atoll-holder', 'atoll-egress', 'atoll-pull'].every(
			(name) => programs.some((file) => path.basename(file) === name),
		),
		programs.join(),
	)
	for (const file of programs) {
		const { kind, segments, tags } = elfOf(file),
			name = path.basename(file)
		assert.equal(kind, 3, `${name} is not position independent`)
		assert.ok(tags[0x6ffffffb] & 0x08000000, `${name} is no PIE`)
		assert.ok(tags[0x6ffffffb] & 1 || tags[30] & 8, `${name} is not bound at its start`)
		assert.ok(
			segments.some((s) => s.type === 0x6474e552),
			`${name} has no part that becomes read-only`,
		)
		assert.ok(
			segments.some((s) => s.type === 0x6474e551 && !(s.flags & 1)),
			`the stack of ${name} can be executed`,
		)
		assert.ok(
			!segments.some((s) => s.type === 1 && (s.flags & 3) === 3),
			`${name} has a segment to write and execute`,
		)
	}
})
