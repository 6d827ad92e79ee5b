// SPDX-License-Identifier: Apache-2.0
// What a pause keeps: memory in RAM and on disk, or the disk alone; over restarts of the server; and what it leaves
// behind.
import fs from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import {
	addressOf,
	api,
	asUser,
	createRaw,
	endOf,
	envd,
	killRaw,
	outputOf,
	rpc,
	server,
	start,
	stream,
} from '../lib/client.mjs'
import { newServer } from '../lib/server.mjs'
import { childrenOf, commOf, initOf, keptBy, poolOf, sleep, traceOf, until } from '../lib/host.mjs'
import { runCode } from '../lib/interp.mjs'
import { built } from '../ckpt/drive.mjs'

const tools = built('tools')
const noDisk = tools.why && `CRIU is not there: ${tools.why}`
const { buildDir } = server

// All calls go to one server.
function via(own) {
	const opt = { base: own.url, key: own.key }
	const call = (sbx, what, body) => api('POST', `/sandboxes/${sbx.sandboxID}/${what}`, body, opt)
	return {
		create: (body) => createRaw({ templateID: 'code-interpreter-v1', timeout: 600, ...body }, opt),
		kill: (sbx) => killRaw(sbx, opt),
		info: async (sbx) => (await api('GET', `/sandboxes/${sbx.sandboxID}`, undefined, opt)).json,
		pause: (sbx, body = {}) => call(sbx, 'pause', body),
		connect: (sbx, body = {}) => call(sbx, 'connect', { timeout: 600, ...body }),
		envd: (sbx, method, path, body) => envd(sbx, method, path, body, { base: own.url }),
		rpc: (sbx, method, message) => rpc(sbx, method, message, { base: own.url, headers: asUser('user') }),
		code: (sbx, code) => runCode(sbx, code, {}, own.url),
		start: (sbx, command) => start(sbx, command, { base: own.url, user: 'user' }),
		sh: async (sbx, command) => {
			const run = await start(sbx, command, { base: own.url, user: 'user' })
			await run.ended
			assert.equal(
				endOf(run.events)?.status,
				'exit status 0',
				`${command}: ${outputOf(run.events, 'stderr')}`,
			)
			return outputOf(run.events).trim()
		},
	}
}

const bootId = (at, sbx) => at.sh(sbx, 'cat /proc/sys/kernel/random/boot_id')

// Names in the pool of a server that belong to no running sandbox: what is kept of paused ones.
async function withServer(config, use) {
	const own = await newServer(buildDir, { checkpoint_after_s: 0, ...config }).start()
	try {
		await use(own, via(own))
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
}

async function restart(own, signal = 'SIGTERM') {
	own.signal(signal)
	await own.exited
	await own.start()
}

const onDisk = (at, sbx) => until(async () => (await at.info(sbx)).pausedMemory === 'ram+disk', 30000, 100)

async function prepare(at) {
	const sbx = await at.create({ metadata: { kept: 'yes' }, envVars: { GIVEN: 'at creation' } })
	await at.code(sbx, 'x = 41')
	const run = await at.start(sbx, 'n=0; while :; do n=$((n + 1)); echo $n; echo $n >/tmp/beat; sleep 0.05; done')
	assert.ok(await until(() => outputOf(run.events).includes('3\n'), 10000, 20))
	return { sbx, run, pid: run.events[0].event.start.pid, boot: await bootId(at, sbx) }
}

// The same processes go on with what they had in memory.
async function proveMemory(at, { sbx, pid, boot }) {
	assert.equal((await at.code(sbx, 'x + 1')).text, '42')
	assert.equal(await bootId(at, sbx), boot)
	const list = await at.rpc(sbx, 'process.Process/List', {})
	assert.ok(
		list.json.processes.some((p) => p.pid === pid),
		list.text,
	)
	// It waits between two lines. Its file proves less: a full disk takes nothing.
	const waits = async () =>
		Number(await at.sh(sbx, `sed -n 's/^voluntary_ctxt_switches://p' /proc/${pid}/status`))
	const before = await waits()
	assert.ok(await until(async () => (await waits()) > before, 10000, 50), 'it stands still')
	assert.equal(await at.sh(sbx, 'echo $GIVEN'), 'at creation')
}

test('a pause in memory: the same processes go on, streams are cut and can be taken up again', async () => {
	const at = via(server)
	const it = await prepare(at)
	try {
		assert.equal((await at.pause(it.sbx)).status, 204)
		assert.equal((await it.run.ended).how, 'cut')
		const paused = await at.info(it.sbx)
		assert.equal(paused.state, 'paused')
		assert.deepEqual([paused.pausedMemory, paused.pauseMode], ['ram', 'full'])
		assert.equal((await at.envd(it.sbx, 'GET', '/health')).status, 502)
		assert.equal((await at.pause(it.sbx)).status, 409)
		const back = await at.connect(it.sbx)
		assert.equal(back.status, 201)
		assert.equal(back.json.envdAccessToken, it.sbx.envdAccessToken)
		assert.equal((await at.info(it.sbx)).pausedMemory, undefined)
		await proveMemory(at, it)
		const again = await stream(
			it.sbx,
			'process.Process/Connect',
			{ process: { pid: it.pid } },
			{ base: server.url, user: 'user' },
		)
		assert.ok(
			await until(() => outputOf(again.events).length > 3, 10000, 20),
			'nothing comes from the process',
		)
		again.close()
	} finally {
		await at.kill(it.sbx)
	}
})

test('an init that was too slow to close its connections before a pause does not close new ones after it', async () => {
	const at = via(server)
	const sbx = await at.create({ templateID: 'base', autoPause: true, autoResume: { enabled: true } })
	const init = initOf(traceOf(server.slot, await addressOf(sbx)))
	try {
		for (let i = 0; i < 5; i++) {
			process.kill(init, 'SIGSTOP')
			assert.equal((await at.pause(sbx)).status, 204)
			// it is frozen by now, and finds the request of before when it goes on
			process.kill(init, 'SIGCONT')
			assert.equal(await at.sh(sbx, 'echo here'), 'here') // which wakes it
		}
	} finally {
		process.kill(init, 'SIGCONT')
		await at.kill(sbx)
	}
})

test('a pause that wants a healthy guest is refused while its agent does not answer', async () => {
	const at = via(server)
	const sbx = await at.create({ templateID: 'base' })
	const init = initOf(traceOf(server.slot, await addressOf(sbx)))
	try {
		assert.equal((await at.pause(sbx, { requireHealthyGuest: 1 })).status, 400)
		process.kill(init, 'SIGSTOP')
		const no = await at.pause(sbx, { requireHealthyGuest: true })
		assert.equal(no.status, 503)
		assert.match(no.json.message, /agent does not answer/)
		process.kill(init, 'SIGCONT')
		assert.equal((await at.info(sbx)).state, 'running')
		assert.equal((await at.pause(sbx, { requireHealthyGuest: true })).status, 204)
		assert.equal((await at.pause(sbx, { requireHealthyGuest: true })).status, 409)
	} finally {
		process.kill(init, 'SIGCONT')
		await at.kill(sbx)
	}
})

test('a pause of the disk alone: files are kept, the resume is a boot, and traffic does not cause it', async () => {
	const at = via(server)
	const it = await prepare(at)
	try {
		// The server writes resolv.conf when the sandbox boots. It must not wait for who would read that FIFO.
		await at.sh(
			it.sbx,
			'mkdir -p ~/d && echo one >~/d/f && ln ~/d/f ~/d/g && sudo -n rm -r /usr/share/doc && sudo ' +
				'-n touch /etc/by-root; echo two >/tmp/t; ' +
				'sudo -n sh -c "rm /etc/resolv.conf && mkfifo /etc/resolv.conf"',
		)
		assert.equal((await at.pause(it.sbx, { memory: false })).status, 204)
		const paused = await at.info(it.sbx)
		assert.deepEqual([paused.pausedMemory, paused.pauseMode], ['none', 'filesystem'])
		assert.deepEqual(paused.metadata, { kept: 'yes' })
		assert.equal((await at.pause(it.sbx)).status, 409)
		assert.equal((await at.envd(it.sbx, 'GET', '/health')).status, 502)
		assert.equal((await at.connect(it.sbx)).status, 201)
		assert.notEqual(await bootId(at, it.sbx), it.boot)
		assert.equal(
			await at.sh(
				it.sbx,
				'cat ~/d/f ~/d/g /tmp/t; stat -c %U /etc/by-root; ls -d /usr/share/doc 2>&1 | grep ' +
					'-c cannot; stat -c %F /etc/resolv.conf; echo $GIVEN',
			),
			'one\none\ntwo\nroot\n1\nregular file\nat creation',
		)
		assert.equal((await at.code(it.sbx, 'x')).error.name, 'NameError')
		const list = await at.rpc(it.sbx, 'process.Process/List', {})
		assert.ok(
			!list.json.processes?.some((p) => p.pid === it.pid && /while/.test(JSON.stringify(p))),
			list.text,
		)
		assert.equal((await at.info(it.sbx)).envdAccessToken, it.sbx.envdAccessToken)
	} finally {
		await at.kill(it.sbx)
	}
})

test('a sandbox that was paused with its memory can be booted from its disk', async () => {
	const at = via(server)
	const it = await prepare(at)
	try {
		assert.equal((await at.pause(it.sbx)).status, 204)
		assert.equal((await at.connect(it.sbx, { memory: false })).status, 201)
		assert.notEqual(await bootId(at, it.sbx), it.boot)
		assert.ok(Number(await at.sh(it.sbx, 'cat /tmp/beat')) > 2)
		assert.equal(
			(await at.connect(it.sbx, { memory: false })).status,
			200,
			'nothing happens to one that runs',
		)
		assert.equal(await at.sh(it.sbx, 'pgrep -fc "while :" || true'), '1', 'only the shell that asks')
	} finally {
		await at.kill(it.sbx)
	}
})

test('auto-pause of the disk alone: due, paused without memory, never woken by traffic', async () => {
	const at = via(server)
	const sbx = await at.create({ timeout: 2, autoPause: true, autoPauseMemory: false })
	try {
		await at.sh(sbx, 'echo kept >/home/user/f')
		assert.ok(await until(async () => (await at.info(sbx)).pausedMemory === 'none', 15000, 100))
		assert.equal((await at.envd(sbx, 'GET', '/health')).status, 502)
		assert.equal((await at.connect(sbx)).status, 201)
		assert.equal(await at.sh(sbx, 'cat /home/user/f'), 'kept')
	} finally {
		await at.kill(sbx)
	}
	const no = await api('POST', '/sandboxes', {
		templateID: 'base',
		autoPause: true,
		autoPauseMemory: false,
		autoResume: { enabled: true },
	})
	assert.equal(no.status, 400)
})

test('pause and resume in turns, as fast as they go, lose nothing and leave nothing', async () => {
	await withServer({ checkpoint_after_s: 3600 }, async (own, at) => {
		const it = await prepare(at)
		for (let i = 0; i < 15; i++) {
			assert.equal((await at.code(it.sbx, `y = ${i}`)).error, undefined)
			await at.sh(it.sbx, `echo ${i} >>/tmp/log`)
			const memory = i % 5 !== 4
			const paused = await at.pause(it.sbx, { memory })
			assert.equal(paused.status, 204, paused.text)
			assert.equal((await at.connect(it.sbx)).status, 201)
			assert.equal(await at.sh(it.sbx, 'wc -l </tmp/log'), String(i + 1))
			assert.equal((await at.code(it.sbx, 'y')).text, memory ? String(i) : undefined)
		}
		assert.equal((await at.pause(it.sbx)).status, 204)
		assert.equal((await at.kill(it.sbx)).status, 204)
		assert.ok(await until(() => keptBy(own).length === 0, 15000, 200), keptBy(own).join(' '))
	})
})

test('paused ones outlive the server: on disk with their memory, or without', { skip: noDisk }, async () => {
	await withServer({}, async (own, at) => {
		const it = await prepare(at)
		const bare = await at.create()
		await at.sh(bare, 'echo kept >/home/user/f')
		assert.equal((await at.pause(bare, { memory: false })).status, 204)
		assert.equal((await at.pause(it.sbx)).status, 204)
		assert.ok(await onDisk(at, it.sbx), JSON.stringify(await at.info(it.sbx)))
		await restart(own) // which ends all that runs, the frozen one, too
		assert.equal((await at.info(it.sbx)).pausedMemory, 'disk')
		assert.deepEqual((await at.info(it.sbx)).metadata, { kept: 'yes' })
		assert.equal((await at.info(bare)).pausedMemory, 'none')
		const both = await Promise.all([at.connect(it.sbx), at.connect(bare)])
		assert.deepEqual(
			both.map((r) => r.status),
			[201, 201],
			both.map((r) => r.text).join(),
		)
		await proveMemory(at, it)
		assert.equal(await at.sh(bare, 'cat /home/user/f'), 'kept')
		// What came from disk is like any other: it can be paused, in memory and to disk, and taken up again.
		assert.equal((await at.pause(it.sbx)).status, 204)
		assert.ok(await onDisk(at, it.sbx), JSON.stringify(await at.info(it.sbx)))
		assert.equal((await at.connect(it.sbx)).status, 201)
		await proveMemory(at, it)
		await Promise.all([at.kill(it.sbx), at.kill(bare)])
		assert.ok(await until(() => keptBy(own).length === 0, 15000, 200), keptBy(own).join(' '))
	})
})

// Each way in which a connection to a port can be open: full with what nobody reads, on either side, silent, and
// upgraded.
const BUSY = `
import os, socket, threading
begun, ended, sent = [], [], 0
def hold(c):
    global sent
    head = b""
    try:
        while b"\\r\\n\\r\\n" not in head: head += c.recv(4096)
        path = head.split()[1].decode()
        if path in ("/begun", "/ended", "/sent"):
            what = {"/begun": " ".join(sorted(begun)), "/ended": " ".join(sorted(ended)), "/sent": sent}[path]
            text = ("%d %s" % (os.getpid(), what)).encode()
            c.sendall(b"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(text) + text)
            return c.close()
        begun.append(path)
        if path == "/up":
            while not quiet.wait(0.05): pass
            while c.recv(1 << 20): pass
        elif path == "/upgraded":
            c.sendall(b"HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\nhi")
            while c.recv(4096): pass
        else:
            c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/plain\\r\\n\\r\\nhi")
            while path == "/down": sent += c.send(bytes(1 << 16))
            while c.recv(4096): pass
    except OSError: pass
    ended.append(path)
quiet = threading.Event()
s = socket.create_server(("127.0.0.1", 9100)); print("up", flush=True)
def go():
    while not os.path.exists("/tmp/go"): threading.Event().wait(0.05)
    quiet.set()
threading.Thread(target=go, daemon=True).start()
while True: threading.Thread(target=hold, args=(s.accept()[0],), daemon=True).start()
`

function openTo(own, sbx, head, body) {
	const socket = net.connect(Number(new URL(own.url).port), '127.0.0.1')
	const it = { cut: false }
	socket.on('error', () => {})
	it.closed = new Promise((done) => socket.once('close', () => done((it.cut = true))))
	const answered = new Promise((done) => socket.once('data', done))
	it.begun = body ? Promise.resolve() : answered
	const more = body ? `Content-Length: ${1 << 30}` : 'Connection: Upgrade\r\nUpgrade: echo'
	socket.write(`${head} HTTP/1.1\r\nHost: 9100-${sbx.sandboxID}.localhost\r\n${more}\r\n\r\n`)
	if (body) socket.write(Buffer.alloc(body))
	answered.then(() => head.includes('/down') && socket.pause())
	it.unsent = () => socket.writableLength
	it.free = () => socket.destroy()
	it.resume = () => socket.resume()
	return it
}

test(
	'connections to its ports that are open when it is paused are cut, on both sides, and do not keep it from ' +
		'the disk',
	{ skip: noDisk },
	async () => {
		await withServer({}, async (own, at) => {
			const sbx = await at.create()
			const get = (path) =>
				new Promise((done, fail) =>
					http
						.get(
							`${own.url}${path}`,
							{
								agent: false,
								headers: { Host: `9100-${sbx.sandboxID}.localhost` },
							},
							async (res) => {
								let text = ''
								for await (const part of res) text += part
								done(text)
							},
						)
						.once('error', fail),
				)
			await at.sh(sbx, `echo ${Buffer.from(BUSY).toString('base64')} | base64 -d >/tmp/busy.py`)
			const run = await at.start(sbx, 'exec python3 -u /tmp/busy.py')
			assert.ok(
				await until(() => outputOf(run.events).includes('up'), 10000, 20),
				JSON.stringify(run.events),
			)
			const [pid] = (await get('/ended')).split(' ')
			const open = [
				openTo(own, sbx, 'GET /down'),
				openTo(own, sbx, 'GET /silent'),
				openTo(own, sbx, 'GET /upgraded'),
				openTo(own, sbx, 'POST /up', 16 << 20),
			]
			await Promise.all(open.map((o) => o.begun))
			assert.ok(
				await until(
					async () => (await get('/begun')) === `${pid} /down /silent /up /upgraded`,
					20000,
					50,
				),
				await get('/begun'),
			)
			let before = ''
			const stands = async () => {
				const now = `${await get('/sent')}, ${open.map((o) => o.unsent())}`
				const same = now === before
				before = now
				return same
			}
			assert.ok(await until(stands, 20000, 200), 'what nobody reads does not fill up')
			assert.equal((await at.pause(sbx)).status, 204)
			open.forEach((o) => o.resume())
			assert.ok(await until(() => open.every((o) => o.cut), 10000, 50), JSON.stringify(open))
			assert.ok(await onDisk(at, sbx), JSON.stringify(await at.info(sbx)))
			await restart(own)
			assert.equal((await at.info(sbx)).pausedMemory, 'disk')
			assert.equal((await at.connect(sbx)).status, 201)
			await at.sh(sbx, 'touch /tmp/go')
			assert.ok(
				await until(
					async () => (await get('/ended')) === `${pid} /down /silent /up /upgraded`,
					10000,
					100,
				),
				await get('/ended'),
			)
			await at.kill(sbx)
		})
	},
)

test(
	'SIGKILL of front and warden: a frozen one is found frozen, whatever was being written',
	{ skip: noDisk },
	async () => {
		await withServer({}, async (own, at) => {
			const it = await prepare(at)
			assert.equal((await at.pause(it.sbx)).status, 204)
			await until(() => fs.readFileSync(own.log, 'utf8').includes('"event":"checkpoint"'), 10000, 10)
			await restart(own, 'SIGKILL')
			const { state, pausedMemory } = await at.info(it.sbx)
			assert.equal(state, 'paused')
			assert.match(pausedMemory, /^ram/)
			assert.ok(await onDisk(at, it.sbx), 'it is tried again')
			assert.equal((await at.connect(it.sbx)).status, 201)
			await proveMemory(at, it)
			await at.kill(it.sbx)
			assert.ok(await until(() => keptBy(own).length === 0, 15000, 200), keptBy(own).join(' '))
		})
	},
)

test(
	'SIGKILL of the warden while paused ones come back from disk: asked for again at once, they come back',
	{ skip: noDisk },
	async () => {
		await withServer({}, async (own, at) => {
			const all = await Promise.all([1, 2, 3].map(() => at.create()))
			await Promise.all(all.map((sbx, i) => at.code(sbx, `x = ${i}`)))
			for (const sbx of all) {
				assert.equal((await at.pause(sbx)).status, 204)
				assert.ok(await onDisk(at, sbx), 'its memory does not get to disk')
			}
			await restart(own)
			at = via(own)
			const waking = all.map((sbx) => at.connect(sbx).catch(() => null))
			await until(() => fs.readdirSync(`${own.runDir}/sandboxes`).length === all.length, 5000, 1)
			await sleep(100) // well into it: what there is by then takes a moment to be cleared away
			await restart(own, 'SIGKILL')
			at = via(own)
			await Promise.all(waking)
			for (const res of await Promise.all(all.map((sbx) => at.connect(sbx))))
				assert.ok([200, 201].includes(res.status), res.text)
			for (const [i, sbx] of all.entries()) assert.equal((await at.code(sbx, 'x')).text, String(i))
		})
	},
)

test('when memory is short, paused ones that are on disk leave it, and come back', { skip: noDisk }, async () => {
	await withServer({ mem_total_mb: 1200, warm_pool_size: 0, default_memory_mb: 700 }, async (own, at) => {
		const it = await prepare(at)
		await at.code(it.sbx, 'big = bytearray(b"x") * (450 << 20)')
		assert.equal((await at.pause(it.sbx)).status, 204)
		assert.ok(await onDisk(at, it.sbx), JSON.stringify(await at.info(it.sbx)))
		const other = await at.create()
		await at.code(other, 'big = bytearray(b"x") * (630 << 20)')
		assert.ok(
			await until(async () => (await at.info(it.sbx)).pausedMemory === 'disk', 30000, 200),
			JSON.stringify(await at.info(it.sbx)),
		)
		await at.kill(other)
		assert.equal((await at.connect(it.sbx)).status, 201)
		await proveMemory(at, it)
		assert.equal((await at.code(it.sbx, 'len(big)')).text, String(450 << 20))
		await at.kill(it.sbx)
	})
})

test('a memory that is lost is not passed over in silence: the disk is still there', async () => {
	await withServer({ checkpoint_after_s: 3600 }, async (own, at) => {
		const it = await prepare(at)
		const address = await at.sh(it.sbx, 'hostname -I')
		assert.equal((await at.pause(it.sbx)).status, 204)
		process.kill(initOf(traceOf(own.slot, address.split(' ')[0])), 'SIGKILL')
		await restart(own, 'SIGKILL') // a frozen process on cgroup v1 feels it when somebody thaws it
		await restart(own)
		assert.equal((await at.info(it.sbx)).pausedMemory, 'lost')
		const no = await at.connect(it.sbx)
		assert.equal(no.status, 409, no.text)
		assert.match(no.json.message, /memory is lost.*memory: false/)
		assert.equal((await at.info(it.sbx)).state, 'paused')
		assert.equal((await at.connect(it.sbx, { memory: false })).status, 201)
		assert.ok(Number(await at.sh(it.sbx, 'cat /tmp/beat')) > 2)
		await at.kill(it.sbx)
	})
})

test('killed while it is being paused, resumed or written to disk: gone, and nothing is left', async () => {
	await withServer({}, async (own, at) => {
		for (const ms of [0, 2, 10, 40, 150, 400]) {
			const { sbx } = await prepare(at)
			const pausing = at.pause(sbx)
			await sleep(ms) // it is killed at one moment of the pause or another
			assert.equal((await at.kill(sbx)).status, 204)
			assert.ok([204, 404, 503].includes((await pausing).status))
			assert.equal(
				(
					await api('GET', `/sandboxes/${sbx.sandboxID}`, undefined, {
						base: own.url,
						key: own.key,
					})
				).status,
				404,
			)
		}
		for (const ms of [0, 2, 10]) {
			const { sbx } = await prepare(at)
			assert.equal((await at.pause(sbx, { memory: false })).status, 204)
			const resuming = at.connect(sbx)
			await sleep(ms) // ... and of the resume
			assert.equal((await at.kill(sbx)).status, 204)
			assert.ok([201, 404].includes((await resuming).status))
		}
		assert.ok(await until(() => keptBy(own).length === 0, 20000, 200), keptBy(own).join(' '))
	})
})

// Open, without a name, and too large for an image.
const GHOST = `import os
ghost = os.open("/tmp/ghost", os.O_RDWR | os.O_CREAT)
for i in range(300):
    os.write(ghost, bytes(1 << 20))
os.unlink("/tmp/ghost")
os.pwrite(ghost, b"still here", 0)`

test(
	'what cannot be written to disk stays frozen, and the reason is told; nothing is lost',
	{ skip: noDisk },
	async () => {
		await withServer({ default_disk_mb: 1024, pool_size_mb: 3072 }, async (own, at) => {
			const it = await prepare(at)
			assert.equal((await at.code(it.sbx, GHOST)).error, undefined)
			assert.equal((await at.pause(it.sbx)).status, 204)
			assert.ok(
				await until(async () => (await at.info(it.sbx)).pausedMemoryReason, 30000, 100),
				JSON.stringify(await at.info(it.sbx)),
			)
			const info = await at.info(it.sbx)
			assert.deepEqual([info.state, info.pausedMemory], ['paused', 'ram'])
			assert.match(info.pausedMemoryReason, /ghost/i)
			const fork = await api(
				'POST',
				`/sandboxes/${it.sbx.sandboxID}/fork`,
				{},
				{ base: own.url, key: own.key },
			)
			assert.equal(fork.status, 409, fork.text)
			assert.equal((await at.connect(it.sbx)).status, 201)
			await proveMemory(at, it)
			assert.equal((await at.code(it.sbx, 'os.pread(ghost, 10, 0)')).text, "b'still here'")
			assert.equal((await at.info(it.sbx)).pausedMemoryReason, undefined)
			const refused = await api(
				'POST',
				`/sandboxes/${it.sbx.sandboxID}/fork`,
				{},
				{ base: own.url, key: own.key },
			)
			assert.equal(refused.status, 503, refused.text)
			assert.match(refused.json.message, /ghost/i)
			await proveMemory(at, it)
			// F3: a snapshot without the memory is one only if that was asked for.
			const snapshot = (body) =>
				api('POST', `/sandboxes/${it.sbx.sandboxID}/snapshots`, body, {
					base: own.url,
					key: own.key,
				})
			const not = await snapshot({})
			assert.equal(not.status, 503, not.text)
			assert.match(not.json.message, /ghost/i)
			const kept = await snapshot({ memory: false })
			assert.deepEqual([kept.status, kept.json.memory], [201, false])
			await proveMemory(at, it)
		})
	},
)

// The one that listens, and the one that would start another.
function helpersOf(own) {
	const named = (pid) => childrenOf(pid).filter((child) => commOf(child) === 'atoll-ckpt')
	const [outer] = named(own.pid)
	return { outer, inner: named(outer)[0] }
}

test(
	'atoll-ckpt is killed: there is another one at once, and what it worked on fails or works, but goes on',
	{ skip: noDisk },
	async () => {
		await withServer({ checkpoint_after_s: 3600, pool_size_mb: 3072 }, async (own, at) => {
			const it = await prepare(at)
			const fork = () =>
				api(
					'POST',
					`/sandboxes/${it.sbx.sandboxID}/fork`,
					{ timeout: 600 },
					{ base: own.url, key: own.key },
				)
			for (let i = 0; i < 3; i++) {
				const { inner } = helpersOf(own)
				assert.ok(inner, 'there is no atoll-ckpt')
				const forking = fork()
				await sleep(20 * i) // at one moment of the fork or another
				process.kill(inner, 'SIGKILL')
				const res = await forking
				assert.ok([201, 503].includes(res.status), res.text)
				assert.ok(
					await until(
						() => helpersOf(own).inner && helpersOf(own).inner !== inner,
						5000,
						20,
					),
					'there is no other',
				)
				await proveMemory(at, it)
			}
			const res = await fork()
			assert.equal(res.status, 201, res.text)
			assert.ok(res.json[0].sandbox, res.text)
		})
	},
)

test(
	'F3: whichever atoll-ckpt is killed, there are two again and no zombie; of both at once every request tells',
	{ skip: noDisk },
	async () => {
		await withServer({ checkpoint_after_s: 3600, pool_size_mb: 3072 }, async (own, at) => {
			const it = await prepare(at)
			const ask = (what, body = {}) =>
				api(
					'POST',
					`/sandboxes/${it.sbx.sandboxID}/${what}`,
					{ ...body },
					{ base: own.url, key: own.key },
				)
			const server_of = (pid) => childrenOf(pid).find((child) => commOf(child) === 'atoll-ckpt')
			let { outer, inner } = helpersOf(own)
			for (let i = 0; i < 2; i++) {
				process.kill(outer, 'SIGKILL')
				assert.ok(
					await until(
						() => server_of(inner) && !fs.existsSync(`/proc/${outer}`),
						20000,
						20,
					),
					'nobody took its place, or it is a zombie',
				)
				const res = await ask('fork', { timeout: 600 })
				assert.ok(res.json[0]?.sandbox, res.text)
				await at.kill(res.json[0].sandbox)
				outer = inner
				inner = server_of(outer)
			}
			for (const signal of ['SIGSTOP', 'SIGKILL'])
				// neither sees the end of the other
				for (const pid of [outer, inner]) process.kill(pid, signal)
			for (const what of ['fork', 'snapshots']) {
				const res = await ask(what)
				assert.equal(res.status, 503, res.text)
				assert.match(res.json.message, /atoll-ckpt has ended; restart the server/)
			}
			const disk = await ask('snapshots', { memory: false })
			assert.deepEqual([disk.status, disk.json.memory], [201, false], disk.text)
			await proveMemory(at, it)
			await restart(own, 'SIGKILL')
			const kept = await ask('snapshots')
			assert.deepEqual([kept.status, kept.json.memory], [201, true], kept.text)
			for (const one of [disk, kept])
				await api(
					'DELETE',
					`/templates/${encodeURIComponent(one.json.snapshotID)}`,
					undefined,
					{ base: own.url, key: own.key },
				)
			await at.kill(it.sbx)
		})
	},
)

test(
	'the pool is full: what needs room of it is refused with 503, and the sandbox is as it was',
	{ skip: noDisk },
	async () => {
		await withServer({ pool_size_mb: 1024, pool_max_mb: 1024, default_disk_mb: 1024 }, async (own, at) => {
			const it = await prepare(at)
			// One alone leaves a part to those who use little, so there are several, and each takes what
			// it gets.
			const hogs = await Promise.all([1, 2, 3, 4].map(() => at.create({ templateID: 'base' })))
			const fill =
				'for m in 600 200 100 50 20 5 2 1; do fallocate -l ${m}M $(mktemp -p /tmp ' +
				'hog.XXXXXX) 2>/dev/null; done; true'
			assert.ok(
				await until(async () => {
					for (const hog of hogs) await at.sh(hog, fill)
					const res = await api(
						'POST',
						`/sandboxes/${it.sbx.sandboxID}/fork`,
						{},
						{ base: own.url, key: own.key },
					)
					for (const one of res.status === 201 ? res.json : []) await at.kill(one.sandbox)
					return res.status !== 201
				}, 120000),
				'the pool is full',
			)
			for (const what of ['fork', 'pause']) {
				const res = await api(
					'POST',
					`/sandboxes/${it.sbx.sandboxID}/${what}`,
					{},
					{ base: own.url, key: own.key },
				)
				assert.ok([503, 204].includes(res.status), `${what}: ${res.text}`)
				assert.ok(what === 'pause' || /pool/.test(res.json.message), res.text)
				assert.ok([200, 201].includes((await at.connect(it.sbx)).status))
				await proveMemory(at, it)
			}
			for (const hog of hogs) {
				await at.sh(hog, 'rm -f /tmp/hog.*; sync')
				await at.kill(hog)
			}
		})
	},
)

test('without memory, in turns as fast as they go: each boot finds the disk of the one before', async () => {
	await withServer({}, async (own, at) => {
		const sbx = await at.create({ templateID: 'base' })
		for (let i = 1; i <= 12; i++) {
			await at.sh(sbx, `echo ${i} >>/home/user/turns`)
			assert.equal((await at.pause(sbx, { memory: false })).status, 204)
			const again = await at.connect(sbx)
			assert.equal(again.status, 201, again.text)
		}
		assert.equal(await at.sh(sbx, 'wc -l </home/user/turns'), '12')
		const removed = () => !poolOf(own).some((name) => name.startsWith('gone-'))
		assert.ok(await until(removed, 30000), 'the disks of the boots before are not removed')
		await at.sh(sbx, 'echo 13 >>/home/user/turns')
		assert.equal(await at.sh(sbx, 'wc -l </home/user/turns'), '13')
		await at.kill(sbx)
	})
})
