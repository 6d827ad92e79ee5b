// SPDX-License-Identifier: Apache-2.0
// W1: a volume is not part of an image. Whoever has it mounted can change it between the dump of a sandbox and its
// restore, and while the restore runs. CRIU opens again by path what the processes had open there: it must never be led
// out of the sandbox by that.
//
// The long form (ATOLL_LONG=1, 'make escape-long') tries each descriptor number from 3 to 1023, and those that CRIU has
// open with each kind of reference and each way of a restore.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { spawnSync } from 'node:child_process'
import { addressOf, api, createRaw, envd, killRaw, server, shell } from '../lib/client.mjs'
import { newServer } from '../lib/server.mjs'
import { initOf, slotOf, traceOf, until } from '../lib/host.mjs'
import { built } from '../ckpt/drive.mjs'

const tools = built('tools')
const skip = tools.why && `CRIU is not there: ${tools.why}`
const LONG = Boolean(process.env.ATOLL_LONG)
const RAW = { 'Content-Type': 'application/octet-stream' }

// Every way in which a process can refer to a file that CRIU has to find again by its path. Mode 0555 is that of
// /proc: CRIU compares modes.
const HOLD =
	`
import array, ctypes, mmap, os, shutil, signal, socket, subprocess, time
V = '/v'
def fresh(name):
    os.mkdir(f'{V}/{name}'); os.chmod(f'{V}/{name}', 0o555)
    return f'{V}/{name}'
def text(name):
    with open(f'{V}/{name}', 'w') as f: f.write(name * 1024)
    return f'{V}/{name}'
keep = [os.open(fresh('dir'), os.O_RDONLY | os.O_DIRECTORY), os.open(fresh('plain'), os.O_RDONLY), ` +
	`os.open(fresh('opath'), os.O_PATH),
    os.open(text('file'), os.O_RDONLY), os.open(text('writes'), os.O_RDWR | os.O_APPEND)]
os.makedirs(V + '/deep/er'); keep.append(os.open(text('deep/er/file'), os.O_RDONLY))
fd = os.open(text('map'), os.O_RDWR); shared = mmap.mmap(fd, 0); os.close(fd)
a, b = socket.socketpair()
fd = os.open(fresh('inflight'), os.O_RDONLY | os.O_DIRECTORY)
a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [fd]))]); os.close(fd)
libc = ctypes.CDLL(None); watch = libc.inotify_init1(0); assert libc.inotify_add_watch(watch, ` +
	`fresh('watch').encode(), 0x100) > 0
gone = open(V + '/gone', 'w+'); gone.write('deleted'); gone.flush()
os.unlink(V + '/gone')
unix = socket.socket(socket.AF_UNIX); os.mkdir(V + '/sockets'); unix.bind(V + '/sockets/one'); ` +
	`unix.listen()
fifo = V + '/fifo'; os.mkfifo(fifo); keep.append(os.open(fifo, os.O_RDWR))
subprocess.Popen(['sleep', '1000000'], cwd=fresh('cwd'))
root = fresh('root')
if os.fork() == 0:
    os.chroot(root)
    while True: signal.pause()
shutil.copy('/bin/sleep', V + '/exe'); subprocess.Popen([V + '/exe', '1000000'])
open('/tmp/ready', 'w').close()
while not os.path.exists('/tmp/after'): time.sleep(0.05)
keep.append(array.array('i', b.recvmsg(1, 64)[1][0][2][:4])[0])
gone.seek(0); one = socket.socket(socket.AF_UNIX); answered = one.connect_ex(V + '/sockets/one') == 0 ` +
	`and bool(unix.accept())
os.write(keep[6], b'fifo')
open('/tmp/said', 'w').write(' '.join([gone.read(), os.read(keep[3], 4).decode(), os.read(keep[6], ` +
	`4).decode(), shared[:3].decode(), str(answered)]))
while True: signal.pause()
`
// Two names change places, over and over.
const SWAP = `
import ctypes, sys
libc = ctypes.CDLL(None); a, b = (p.encode() for p in sys.argv[1:3])
open('/tmp/swapping', 'w').close()
while True: libc.renameat2(-100, a, -100, b, 2)
`
const KINDS = [
	'dir',
	'plain',
	'opath',
	'file',
	'writes',
	'deep/er',
	'deep',
	'map',
	'inflight',
	'watch',
	'cwd',
	'root',
	'exe',
	'sockets',
]

let own, opt, slot, volume, source, other, snapshot
const call = (method, path, body) => api(method, path, body, opt)

async function put(sbx, name, text) {
	const res = await envd(sbx, 'POST', `/files?path=${name}&username=root`, Buffer.from(text), {
		headers: RAW,
		base: own.url,
	})
	assert.equal(res.status, 200, res.text)
}

async function sh(sbx, command) {
	const done = await shell(sbx, command, { user: 'root', base: own.url })
	assert.equal(done.code, 0, `${command}: ${done.stderr}`)
	return done.stdout.trim()
}

const make = (body) => createRaw({ templateID: 'base', timeout: 900, ...body }, opt)
const holding = async () => {
	const sbx = await make({ volumeMounts: [{ name: volume.name, path: '/v' }] })
	await put(sbx, '/tmp/hold.py', HOLD)
	await sh(
		sbx,
		'rm -rf /v/*; setsid python3 /tmp/hold.py >/tmp/hold.out 2>&1 </dev/null & until [ -e /tmp/ready ]; ' +
			'do grep -q Error /tmp/hold.out && { cat /tmp/hold.out >&2; exit 1; }; sleep 0.05; done',
	)
	return sbx
}

before(async () => {
	if (skip) return
	own = await newServer(server.buildDir, {
		pool_size_mb: 3072,
		checkpoint_after_s: 0,
		team_max_volumes: 5,
	}).start()
	opt = { base: own.url, key: own.key }
	slot = slotOf(own.pid)
	volume = (await call('POST', '/volumes', { name: 'shared' })).json
	source = await holding()
	other = await make({ volumeMounts: [{ name: volume.name, path: '/v' }] })
	await put(other, '/tmp/swap.py', SWAP)
	const made = await call('POST', `/sandboxes/${source.sandboxID}/snapshots`, {})
	assert.equal(made.status, 201, made.text)
	assert.equal(made.json.memory, true, 'its memory is in the snapshot')
	snapshot = made.json.snapshotID
})
after(async () => {
	if (!own) return
	const end = await own.stop()
	assert.ok(end.clean, JSON.stringify(end.left))
})

// --- where a process can get, seen from the host ---

const ids = (pid) =>
	new Set(
		fs
			.readFileSync(`/proc/${pid}/mountinfo`, 'utf8')
			.trim()
			.split('\n')
			.map((l) => l.split(' ')[0]),
	)
const NOWHERE = new RegExp(
	'^(pipe|socket|anon_inode|net|mnt|pid|user|uts|ipc|cgroup|time):|' +
		'^/(memfd:|SYSV|dev/zero \\(deleted\\))|/\\.bases/',
)

function mountOf(at) {
	let fd
	try {
		fd = fs.openSync(at, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK | 0o10000000) // O_PATH
		return /^mnt_id:\s+(\d+)/m.exec(fs.readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))[1]
	} finally {
		if (fd !== undefined) fs.closeSync(fd)
	}
}

async function foreign(sbx) {
	const trace = traceOf(slot, await addressOf(sbx, own.url)),
		init = initOf(trace),
		mine = ids(init),
		found = []
	for (const pid of trace.pids) {
		const at = ['cwd', 'root', 'exe']
		for (const dir of ['fd', 'map_files'])
			at.push(...fs.readdirSync(`/proc/${pid}/${dir}`).map((n) => `${dir}/${n}`))
		for (const one of at) {
			let link
			try {
				link = fs.readlinkSync(`/proc/${pid}/${one}`)
			} catch {
				continue
			}
			if (!NOWHERE.test(link) && !mine.has(mountOf(`/proc/${pid}/${one}`)))
				found.push(`${pid} ${one} -> ${link}`)
		}
	}
	return found
}

// What came back is all its own, and can follow links in its volume. A socket there is that of whoever came back last.
async function own_only(sbx, socket = '(True|False)') {
	assert.deepEqual(await foreign(sbx), [])
	assert.match(
		await sh(
			sbx,
			'touch /tmp/after; until [ -s /tmp/said ]; do sleep 0.02; grep Error /tmp/hold.out >&2 && ' +
				'exit 1; done; cat /tmp/said',
		),
		new RegExp(`^deleted file fifo map ${socket}$`),
	)
	assert.deepEqual(await foreign(sbx), [], 'what was on its way through a socket')
	await sh(sbx, 'ln -sfn /etc/hostname /v/link && cat /v/link >/dev/null && rm /v/link')
	const info = fs.readFileSync(`/proc/${initOf(traceOf(slot, await addressOf(sbx, own.url)))}/mountinfo`, 'utf8')
	assert.ok(!info.includes('nosymfollow'), info)
}

// Either it does not come back, for a reason that is told, or it has only what is its own.
async function attempt(socket) {
	const res = await call('POST', '/v2/sandboxes', { templateID: snapshot, timeout: 300 })
	if (res.status !== 201) {
		assert.equal(res.status, 409, res.text)
		assert.match(res.json.message, /volume/, res.text)
		assert.ok(!res.text.includes(own.stateDir), res.text)
		return res.json.message
	}
	try {
		await own_only(res.json, socket)
	} finally {
		await killRaw(res.json, opt)
	}
	return 'came back'
}

async function swapped(kind, how, use) {
	await sh(other, `mv /v/${kind} /v/real && ${how}`)
	try {
		return await use()
	} finally {
		await sh(other, `rm -rf /v/${kind} && mv /v/real /v/${kind}`)
	}
}

test(
	'control: W1: what is open on a volume comes back: files, directories, cwd, root, mappings, programs, ' +
		'deleted files, sockets',
	{ skip },
	async () => {
		assert.equal(await attempt('True'), 'came back')
	},
)

for (const kind of KINDS) {
	test(`attempt: restore: W1: ${kind} on a volume has become a link`, { skip }, async () => {
		const targets = ['/proc/self/fd/121', '/v/real']
		for (const target of targets) await swapped(kind, `ln -s ${target} /v/${kind}`, () => attempt())
	})
}

const OTHERS = {
	fifo: 'mkfifo /v/KIND',
	socket: 'python3 -c \'import socket; socket.socket(1).bind("/v/KIND")\'',
	directory: 'mkdir /v/KIND',
	nothing: 'true',
	file: 'echo x >/v/KIND',
}
for (const [what, how] of Object.entries(OTHERS)) {
	test(`attempt: restore: W1: something on a volume has become a ${what}`, { skip }, async () => {
		for (const kind of ['file', 'dir', 'exe'])
			await swapped(kind, how.replaceAll('KIND', kind), () => attempt())
	})
}

test(
	'attempt: restore: W1: a neighbour changes the volume while it comes back, from a snapshot and by fork',
	{ skip },
	async () => {
		for (const kind of ['dir', 'cwd', 'file']) {
			await sh(
				other,
				'ln -s /proc/self/fd/121 /v/evil; ' +
					`setsid python3 /tmp/swap.py /v/${kind} /v/evil >/dev/null 2>&1 </dev/null & ` +
					'until [ -e /tmp/swapping ]; do sleep 0.02; done',
			)
			try {
				for (let i = 0; i < 4; i++) await attempt()
				const forked = await call('POST', `/sandboxes/${source.sandboxID}/fork`, {
					timeout: 300,
				})
				for (const one of forked.status === 201 ? forked.json : []) {
					if (!one.sandbox) {
						assert.equal(one.error.code, 409, JSON.stringify(one))
						continue
					}
					assert.deepEqual(await foreign(one.sandbox), [])
					await killRaw(one.sandbox, opt)
				}
			} finally {
				await sh(
					other,
					`kill $(pgrep -f "[s]wap.py"); while pgrep -f "[s]wap.py"; do :; done; [ -L ` +
						`/v/evil ] || { rm -f /v/${kind}; mv /v/evil /v/${kind}; }; rm ` +
						`-f /v/evil /tmp/swapping`,
				)
			}
		}
		assert.equal(await attempt(), 'came back')
	},
)

test(
	'attempt: restore: W1: resumed from disk while a directory is a link: refused, nothing is lost, and it ' +
		'comes back later',
	{ skip },
	async () => {
		const id = source.sandboxID
		assert.equal((await call('POST', `/sandboxes/${id}/pause`)).status, 204)
		assert.ok(
			await until(
				async () => (await call('GET', `/sandboxes/${id}`)).json.pausedMemory === 'ram+disk',
				60000,
			),
		)
		await own.stop({ remove: false })
		await own.start()
		slot = slotOf(own.pid)
		other = await make({ volumeMounts: [{ name: volume.name, path: '/v' }] })
		for (const kind of ['dir', 'file', 'cwd', 'root', 'map', 'exe']) {
			await swapped(kind, `ln -s /proc/self/fd/121 /v/${kind}`, async () => {
				const res = await call('POST', `/sandboxes/${id}/connect`, { timeout: 600 })
				if (res.status === 201) assert.deepEqual(await foreign(source), [])
				assert.equal(res.status, 409, res.text)
				assert.match(res.json.message, /volume/)
			})
			assert.equal((await call('GET', `/sandboxes/${id}`)).json.state, 'paused')
		}
		assert.equal((await call('POST', `/sandboxes/${id}/connect`, { timeout: 600 })).status, 201)
		await own_only(source)
	},
)

// --- every descriptor number ---
//
// One restore tries one number: the first name that cannot be opened ends it, so of several links the others would not
// be tried. What makes a number worth more than one attempt is that CRIU has it open, and that is seen from the host
// while it restores.

const LINKED = ['dir', 'file', 'cwd', 'root', 'map', 'exe']
const LINKS = [
	'/proc/self/cwd',
	'/proc/self/root',
	'/proc/self/exe',
	'/proc/self/task',
	'/proc/self/fd',
	'/proc/self/mem',
	'/proc/self/map_files',
	'/proc/self/ns/mnt',
	'/proc/self/ns/net',
	'/proc/self/ns/user',
	'/proc/self/ns/pid',
	'/proc/self/net',
	'/proc/self/attr',
	'/proc/self/..',
	'/proc/thread-self/root',
	'/proc/1/root',
	'/proc/1/cwd',
	'/proc/2/root',
	'/proc/3/root',
	'/proc',
	'/',
]

// The volume as the host sees it: a neighbour's hand, without the cost of a command for each swap.
const volumeOnHost = () => `/proc/${own.pid}/root${own.runDir}/private/pool/${volume.volumeID}+v`

async function linked(at, kind, target, use) {
	const name = `${at}/${kind}`,
		owner = fs.statSync(at)
	fs.renameSync(name, `${at}/real`)
	fs.symlinkSync(target, name)
	fs.lchownSync(name, owner.uid, owner.gid)
	try {
		return await use()
	} finally {
		fs.unlinkSync(name)
		fs.renameSync(`${at}/real`, name)
	}
}

// Of all its processes, in one restore after the other until the ones far up were seen, which they all have.
async function openInCriu(restore) {
	const found = new Set(),
		others = new Set()
	for (let i = 0; i < 20 && ![...found].some((n) => n > 100); i++) {
		let over = false
		const done = restore().finally(() => {
			over = true
		})
		while (!over) {
			for (const pid of fs.readdirSync('/proc')) {
				if (others.has(pid) || !/^\d+$/.test(pid)) continue
				try {
					if (fs.readFileSync(`/proc/${pid}/comm`, 'utf8') === 'criu\n')
						fs.readdirSync(`/proc/${pid}/fd`).forEach((n) => found.add(Number(n)))
					else if (!fs.readlinkSync(`/proc/${pid}/exe`).includes('/atoll'))
						// those may become CRIU
						others.add(pid)
				} catch {
					// it has ended, or is the kernel's
				}
			}
			await new Promise((next) => setImmediate(next))
		}
		await done
	}
	return [...found].filter((n) => n >= 3).sort((a, b) => a - b)
}

// By name: what a restore by that way comes to. Nothing that comes back has anything foreign.
const WAYS = {
	snapshot: async () => attempt(),
	resume: async () => {
		const res = await call('POST', `/sandboxes/${source.sandboxID}/connect`, { timeout: 600 })
		if (res.status === 201) assert.deepEqual(await foreign(source), [])
		assert.equal(res.status, 409, res.text) // else there is nothing left to resume
		assert.match(res.json.message, /volume/)
	},
}

test(
	'attempt: restore: W1: links to the descriptors that CRIU has open, for each kind and way, and to what ' +
		'/proc has',
	{ skip, timeout: LONG ? 7200000 : 900000 },
	async () => {
		let open = await openInCriu(() => attempt())
		assert.ok(
			open.length > 4 && open.some((n) => n > 100),
			`the service descriptors were not seen: ${open}`,
		)
		assert.equal((await call('POST', `/sandboxes/${source.sandboxID}/pause`)).status, 204)
		await own.stop({ remove: false }) // its memory is on disk only then
		await own.start()
		slot = slotOf(own.pid)
		other = await make({ volumeMounts: [{ name: volume.name, path: '/v' }] })
		const at = volumeOnHost(),
			began = Date.now()
		let tried = 0
		const targets = LONG
			? [...LINKS, ...open.map((n) => `/proc/self/fd/${n}`)]
			: [...LINKS.filter((_, i) => i % 4 === 0), ...open.slice(-6).map((n) => `/proc/self/fd/${n}`)]
		for (const [i, target] of targets.entries()) {
			for (const [k, kind] of LINKED.entries()) {
				for (const [w, way] of Object.keys(WAYS).entries()) {
					if (!LONG && (i + k + w) % 6)
						// each target, kind and way, not each of all of them
						continue
					await linked(at, kind, target, WAYS[way])
					tried++
				}
			}
		}
		process.stderr.write(
			`# CRIU has open: ${open}; ${tried} restores with ${targets.length} targets ` +
				`in ${Math.round((Date.now() - began) / 1000)} s\n`,
		)
		assert.equal(
			(await call('POST', `/sandboxes/${source.sandboxID}/connect`, { timeout: 600 })).status,
			201,
			'nothing is lost',
		)
		await own_only(source)
	},
)

test(
	'attempt: restore: W1: links to each descriptor number from 3 to 1023',
	{ skip: skip || (!LONG && 'ATOLL_LONG=1 runs it'), timeout: 7200000 },
	async () => {
		const at = volumeOnHost(),
			began = Date.now()
		let back = 0
		for (let n = 3; n < 1024; n++)
			back +=
				(await linked(at, LINKED[n % LINKED.length], `/proc/self/fd/${n}`, () => attempt())) ===
				'came back'
		process.stderr.write(
			`# 1021 numbers, ${back} came back with what is theirs only, ` +
				`in ${Math.round((Date.now() - began) / 1000)} s\n`,
		)
	},
)

// A device cannot be made inside, nor by whoever has only a volume; a host's administrator can put one there.
test(
	'attempt: restore: W1: a device node, a FIFO or a socket that the host put in place of a file is not opened',
	{ skip },
	async () => {
		const at = volumeOnHost()
		const refused = await shell(other, 'mknod /v/node c 1 1 || mknod /v/node b 7 0', {
			user: 'root',
			base: own.url,
		})
		assert.notEqual(refused.code, 0)
		assert.match(refused.stderr, /Operation not permitted/)
		const nodes = { 'c 1 1': '/dev/mem', 'b 7 0': 'a loop device', 'c 10 229': '/dev/fuse', p: 'a FIFO' }
		for (const [node, what] of Object.entries(nodes)) {
			for (const kind of ['file', 'writes', 'map', 'exe', 'dir']) {
				fs.renameSync(`${at}/${kind}`, `${at}/real`)
				try {
					const made = spawnSync(
						'mknod',
						['-m', '666', `${at}/${kind}`, ...node.split(' ')],
						{ encoding: 'utf8' },
					)
					assert.equal(made.status, 0, made.stderr)
					const end = await attempt()
					assert.notEqual(end, 'came back', `${kind} was ${what}`)
				} finally {
					fs.rmSync(`${at}/${kind}`, { force: true })
					fs.renameSync(`${at}/real`, `${at}/${kind}`)
				}
			}
		}
		assert.equal(await attempt(), 'came back')
	},
)
