// SPDX-License-Identifier: Apache-2.0
// Limits that are asked for and changed: each holds, is told, goes up and down while the sandbox runs; bad ones are
// refused by name.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { addressOf, api, createRaw, endOf, killRaw, server, shell, start, withRaw } from '../../lib/client.mjs'
import { runCode } from '../../lib/interp.mjs'
import { copiesOf, sleep, stateOf, traceOf, until } from '../../lib/host.mjs'
import { outside } from '../../lib/outside.mjs'
import { newServer } from '../../lib/server.mjs'

const MIB = 1 << 20
const FIELDS = [
	'cpus',
	'diskMB',
	'egressKBps',
	'egressMB',
	'ioMBps',
	'iops',
	'memoryMB',
	'openFiles',
	'processes',
	'swapMB',
]

const box = (limits, use, more = {}) => withRaw({ timeout: 300, ...(limits && { limits }), ...more }, use)
const run = async (sbx, command) => (await shell(sbx, command)).stdout.trim()
const limitsOf = async (sbx) => (await api('GET', `/sandboxes/${sbx.sandboxID}/limits`)).json
const change = (sbx, limits) => api('PATCH', `/sandboxes/${sbx.sandboxID}/limits`, limits)

async function changed(sbx, limits) {
	const res = await change(sbx, limits)
	assert.equal(res.status, 200, res.text)
	for (const [name, value] of Object.entries(limits)) assert.equal(res.json.limits[name], value, name)
	return res.json
}

// The kernel's own word for it, v1 or v2.
async function kernel(sbx, ...names) {
	const trace = traceOf(server.slot, await addressOf(sbx))
	return trace.cgroups
		.flatMap((dir) => names.map((name) => path.join(dir, name)))
		.filter((file) => fs.existsSync(file))
		.map((file) => fs.readFileSync(file, 'utf8').trim())
}

test('all limits are told, with the most that can be asked for', async () => {
	await box(null, async (sbx) => {
		const told = await limitsOf(sbx)
		assert.deepEqual(Object.keys(told.limits).sort(), FIELDS)
		assert.deepEqual(Object.keys(told.maxima).sort(), FIELDS)
		const info = (await api('GET', `/sandboxes/${sbx.sandboxID}`)).json
		assert.deepEqual(info.limits, told.limits)
		assert.equal(info.memoryMB, told.limits.memoryMB)
		assert.equal(info.diskSizeMB, told.limits.diskMB)
		assert.equal(await run(sbx, 'ulimit -Hn'), String(told.limits.openFiles))
	})
})

test('limits of its own hold from the first instruction on', async () => {
	const own = { memoryMB: 200, cpus: 0.5, processes: 60, diskMB: 100, openFiles: 300 }
	await box(own, async (sbx) => {
		const told = (await limitsOf(sbx)).limits
		for (const [name, value] of Object.entries(own)) assert.equal(told[name], value, name)
		assert.deepEqual(await kernel(sbx, 'memory.limit_in_bytes', 'memory.max'), [String(200 * MIB)])
		assert.deepEqual(await kernel(sbx, 'pids.max'), ['60'])
		assert.equal(await run(sbx, 'ulimit -n; ulimit -Hn'), '300\n300')
		assert.match(
			await run(sbx, 'ulimit -n 400 2>&1 || sudo sh -c "ulimit -Hn 400" 2>&1 || echo held'),
			/held/,
		)
	})
})

test('the interpreter has the limit of open files, too', async () => {
	await box(
		{ openFiles: 256 },
		async (sbx) => {
			const got = await runCode(sbx, 'import resource; resource.getrlimit(resource.RLIMIT_NOFILE)')
			assert.equal(got.text, '(256, 256)')
			const over = await runCode(sbx, 'x = []\nwhile True: x.append(open("/dev/null"))')
			assert.equal(over.error.name, 'OSError')
		},
		{ templateID: 'code-interpreter-v1' },
	)
})

test('memory: up and down while it runs', async () => {
	const eat = (mb) =>
		`python3 -c "b = bytearray(${mb} << 20); b[::4096] = b'x' * len(b[::4096]); print('had it')"`
	await box({ memoryMB: 128 }, async (sbx) => {
		assert.notEqual(await run(sbx, `${eat(200)} 2>/dev/null`), 'had it')
		await changed(sbx, { memoryMB: 400 })
		assert.deepEqual(await kernel(sbx, 'memory.limit_in_bytes', 'memory.max'), [String(400 * MIB)])
		assert.equal(await run(sbx, eat(200)), 'had it')
		await changed(sbx, { memoryMB: 128 })
		assert.notEqual(await run(sbx, `${eat(200)} 2>/dev/null`), 'had it')
		assert.equal((await api('GET', `/sandboxes/${sbx.sandboxID}`)).json.memoryMB, 128)
	})
})

test('memory: less than it holds is refused, and nothing changes', async () => {
	await box({ memoryMB: 300 }, async (sbx) => {
		const holder = await start(
			sbx,
			"python3 -c \"b = bytearray(150 << 20); b[::4096] = b'x' * len(b[::4096]); print(1, " +
				'flush=True); import time; time.sleep(60)"',
		)
		assert.ok(await until(() => holder.events.some((e) => e.event.data), 20000))
		const res = await change(sbx, { memoryMB: 64, cpus: 0.1 })
		assert.equal(res.status, 409, res.text)
		assert.match(res.json.message, /uses 1\d\d MiB/)
		const told = (await limitsOf(sbx)).limits
		assert.equal(told.memoryMB, 300)
		assert.notEqual(told.cpus, 0.1)
		assert.deepEqual(await kernel(sbx, 'memory.limit_in_bytes', 'memory.max'), [String(300 * MIB)])
		holder.close()
	})
})

test('memory: a command that is killed at the limit says so, in its end, in the log and in the counters', async () => {
	await box({ memoryMB: 96 }, async (sbx) => {
		const eat = 'python3 -c "b=[]\nwhile True: b.append(bytearray(8<<20))"'
		for (const [command, code] of [
			[eat, -1],
			[`${eat}; exit $?`, 137],
		]) {
			const got = await start(sbx, command)
			await got.ended
			const end = endOf(got.events)
			assert.equal(end.exitCode, code)
			assert.match(end.error, /^MEMORY_LIMIT: .* 96 MiB/)
		}
		for (const command of ['kill -9 $$', 'exit 137']) {
			// not for want of memory
			const got = await start(sbx, command)
			await got.ended
			assert.doesNotMatch(endOf(got.events).error, /MEMORY/)
		}
		const log = (await api('GET', `/v2/sandboxes/${sbx.sandboxID}/logs`)).json.logs
		assert.ok(
			log.some(
				(en) =>
					en.fields.error === 'MEMORY_LIMIT' &&
					en.fields.limit_mb === '96' &&
					en.level === 'warn',
			),
			JSON.stringify(log),
		)
		assert.ok(log.some((en) => en.message === 'process ended' && en.fields.error === 'MEMORY_LIMIT'))
		assert.ok(await until(async () => (await limitsOf(sbx)).used?.memoryLimitKills >= 2, 10000))
		const metrics = (await api('GET', '/metrics')).text
		assert.ok(Number(/^atoll_memory_limit_kills_total (\d+)/m.exec(metrics)[1]) >= 2)
		assert.equal(await run(sbx, 'echo alive'), 'alive')
	})
})

test('memory: a cell that is killed at the limit says so, and the next one runs', async () => {
	await box(
		{ memoryMB: 300 },
		async (sbx) => {
			const got = await runCode(sbx, 'b = []\nwhile True: b.append(bytearray(8 << 20))')
			assert.equal(got.error.name, 'MEMORY_LIMIT')
			assert.match(got.error.value, /300 MiB/)
			assert.equal((await runCode(sbx, '1+1')).text, '2')
		},
		{ templateID: 'code-interpreter-v1' },
	)
})

test('cpu: up and down while it runs', async () => {
	// Without what the interpreter needs to start, which is much on a slow machine.
	const burn =
		'python3 -c "import time; b, e = time.process_time(), time.time() + 1.5\n' +
		'while time.time() < e: pass\n' +
		'print((time.process_time() - b) / 1.5)"'
	await box({ cpus: 0.2 }, async (sbx) => {
		const within = async () => {
			const share = await run(sbx, burn)
			assert.ok(Number(share) < 0.35, share)
		}
		await within()
		await changed(sbx, { cpus: 2 })
		const [quota, period] = (await kernel(sbx, 'cpu.cfs_quota_us', 'cpu.cfs_period_us', 'cpu.max'))
			.join(' ')
			.split(' ')
			.map(Number)
		assert.equal(quota / period, 2)
		await changed(sbx, { cpus: 0.2 })
		await within()
	})
})

test('processes: up and down while it runs', async () => {
	const forks = `python3 -c "
import os
n, (r, w) = 0, os.pipe()
try:
    for i in range(300):
        if os.fork() == 0: os.close(w); os.read(r, 1); os._exit(0)
        n += 1
except OSError: pass
print(n); os.close(w)
for i in range(n): os.wait()"`
	await box({ processes: 40 }, async (sbx) => {
		assert.ok(Number((await run(sbx, forks)).split('\n')[0]) < 40)
		await changed(sbx, { processes: 120 })
		const more = Number((await run(sbx, forks)).split('\n')[0])
		assert.ok(more > 60 && more < 120, String(more))
		await changed(sbx, { processes: 40 })
		assert.ok(Number((await run(sbx, forks)).split('\n')[0]) < 40)
	})
})

test('disk: up and down while it runs', async () => {
	const write = (mb) => `head -c ${mb}M /dev/zero > /tmp/f 2>/dev/null && sync && echo all; stat -c %s /tmp/f`
	await box({ diskMB: 64 }, async (sbx) => {
		assert.doesNotMatch(await run(sbx, write(100)), /all/)
		await run(sbx, 'rm /tmp/f; sync')
		await changed(sbx, { diskMB: 256 })
		assert.match(await run(sbx, write(100)), /all/)
		await changed(sbx, { diskMB: 64 }) // less than it has: it keeps that, and gets no more
		assert.doesNotMatch(
			await run(sbx, 'head -c 20M /dev/zero > /tmp/g 2>/dev/null && sync && echo all'),
			/all/,
		)
		assert.equal(await run(sbx, 'stat -c %s /tmp/f'), String(100 * MIB))
	})
})

test('io: direct reads are slow while there is a limit, and told by the kernel', async () => {
	await box({ diskMB: 256 }, async (sbx) => {
		await run(sbx, 'head -c 24M /dev/urandom > /tmp/f; sync')
		const read =
			"python3 -c \"\nimport os, mmap, time\nt = time.time(); fd = os.open('/tmp/f', os.O_RDONLY |" +
			' os.O_DIRECT); m = mmap.mmap(-1, 1 << 20)\nn = 0\nwhile (k := os.readv(fd, ' +
			'[m])) > 0: n += k\nprint(n, time.time() - t)"'
		await changed(sbx, { ioMBps: 8 })
		const [bytes, slow] = (await run(sbx, read)).split(' ').map(Number)
		assert.equal(bytes, 24 * MIB)
		assert.ok(slow > 2, `24 MiB in ${slow} s at 8 MiB/s`)
		assert.ok(
			(await kernel(sbx, 'blkio.throttle.read_bps_device', 'io.max')).some((z) =>
				z.includes(String(8 * MIB)),
			),
		)
		await changed(sbx, { ioMBps: null })
		const [, quick] = (await run(sbx, read)).split(' ').map(Number)
		assert.ok(quick < slow / 2, `${quick} s without, ${slow} s with`)
	})
})

// Who is killed has to run to end: a quota would draw that out.
test(
	'H7: while processes are killed for want of memory, the quota of processor time is lifted, and ' + 'comes back',
	async () => {
		const storm = `python3 -c "
import os
def eat():
    b = bytearray(40 << 20)
    b[::4096] = b'x' * len(b[::4096])
    os._exit(0)
kids = []
for i in range(12):
    p = os.fork()
    if p == 0: eat()
    kids.append(p)
for p in kids: os.waitpid(p, 0)"`
		await box({ cpus: 0.5, memoryMB: 128, processes: 100 }, async (sbx) => {
			const quota = async () =>
				(await kernel(sbx, 'cpu.cfs_quota_us', 'cpu.max')).map((text) => text.split(' ')[0])
			const files = traceOf(server.slot, await addressOf(sbx))
				.cgroups.flatMap((dir) =>
					['cpu.cfs_quota_us', 'cpu.max'].map((name) => path.join(dir, name)),
				)
				.filter((file) => fs.existsSync(file))
			const now = () => fs.readFileSync(files[0], 'utf8').split(/[ \n]/)[0]
			assert.deepEqual(await quota(), ['50000'])
			let lifted = false,
				over = false
			const looking = until(() => (lifted ||= ['-1', 'max'].includes(now())) || over, 120000, 5)
			for (let i = 0; i < 30 && !lifted; i++) await run(sbx, `${storm} 2>/dev/null; true`)
			over = true
			await looking
			assert.ok(lifted, 'the quota held all the time')
			assert.ok(await until(() => now() === '50000', 60000), `it is ${now()} for good`)
		})
	},
)

// On v2 a limited rate would count for what we write to keep the sandbox, too.
test('H2: while a sandbox is paused its io has no limit, and has it again when it goes on', async () => {
	await box({ ioMBps: 8, diskMB: 256 }, async (sbx) => {
		const { cgroups } = traceOf(server.slot, await addressOf(sbx))
		const limits = () =>
			cgroups
				.flatMap((dir) =>
					[
						'blkio.throttle.read_bps_device',
						'blkio.throttle.write_bps_device',
						'io.max',
					].map((name) => path.join(dir, name)),
				)
				.filter((file) => fs.existsSync(file))
				.map((file) => fs.readFileSync(file, 'utf8'))
				.filter((text) => text.includes(String(8 * MIB))).length
		const before = limits()
		assert.ok(before > 0)
		await run(sbx, 'head -c 20M /dev/urandom > /tmp/f')
		assert.equal((await api('POST', `/sandboxes/${sbx.sandboxID}/pause`)).status, 204)
		assert.equal(limits(), 0)
		assert.equal((await api('POST', `/sandboxes/${sbx.sandboxID}/connect`, { timeout: 300 })).status, 201)
		assert.equal(limits(), before)
		assert.equal(await run(sbx, 'stat -c %s /tmp/f'), String(20 * MIB))
	})
})

test('what a limit may not be is refused by name, and the old ones hold', async () => {
	await box({ memoryMB: 256 }, async (sbx) => {
		const { limits, maxima } = await limitsOf(sbx)
		const bad = {
			memoryMB: [-1, 0, 31, maxima.memoryMB + 1, 1e15, '256', 25.5, true, [], {}],
			swapMB: [-1, maxima.swapMB + 1, '0'],
			cpus: [-1, 0, 0.01, maxima.cpus + 0.1, '2', 1e300, null === 0],
			processes: [-5, 0, 15, maxima.processes + 1, '60'],
			diskMB: [-1, 0, maxima.diskMB + 1, 'all'],
			openFiles: [-1, 0, maxima.openFiles + 1, '1024'],
			ioMBps: [-1, 0, 'fast', 1.5],
			iops: [-1, 0, 4294967296, '9'],
			egressMB: [-1, 0, '5'],
			egressKBps: [-1, 0, 2.5],
			memory: [256],
		}
		for (const [name, values] of Object.entries(bad)) {
			for (const value of values) {
				const res = await change(sbx, { cpus: 0.3, [name]: value })
				assert.equal(res.status, 400, `${name} = ${JSON.stringify(value)}: ${res.text}`)
				assert.match(res.json.message, new RegExp(`field '${name}'`), res.text)
				const made = await api('POST', '/v2/sandboxes', {
					templateID: 'base',
					limits: { [name]: value },
				})
				assert.equal(made.status, 400, `${name} = ${JSON.stringify(value)}: ${made.text}`)
				assert.match(made.json.message, new RegExp(`field 'limits.${name}'`), made.text)
			}
		}
		for (const body of ['[]', '{', '"x"', '{"cpus":1,"cpus":2}'])
			assert.equal((await api('PATCH', `/sandboxes/${sbx.sandboxID}/limits`, body)).status, 400, body)
		assert.equal((await api('POST', '/v2/sandboxes', { templateID: 'base', limits: 5 })).status, 400)
		const open = await change(sbx, { openFiles: limits.openFiles - 1 })
		assert.equal(open.status, 400)
		assert.match(open.json.message, /openFiles.*while the sandbox runs/)
		assert.deepEqual((await limitsOf(sbx)).limits, limits)
		assert.deepEqual(await kernel(sbx, 'memory.limit_in_bytes', 'memory.max'), [String(256 * MIB)])
	})
})

test('null is the default again; an unknown or paused sandbox has no limits to change', async () => {
	await box({ memoryMB: 200, ioMBps: 5 }, async (sbx) => {
		const res = await change(sbx, { memoryMB: null, ioMBps: null })
		assert.equal(res.json.limits.memoryMB, 512)
		assert.equal(res.json.limits.ioMBps, null)
		assert.equal((await api('POST', `/sandboxes/${sbx.sandboxID}/pause`, {})).status, 204)
		assert.equal((await change(sbx, { cpus: 1 })).status, 409)
	})
	assert.equal((await api('PATCH', '/sandboxes/iaaaaaaaaaaaaaaaaaaa/limits', { cpus: 1 })).status, 404)
})

test('limits survive a pause and a resume', async () => {
	await box({ memoryMB: 200, cpus: 0.7 }, async (sbx) => {
		await changed(sbx, { processes: 77 })
		assert.equal((await api('POST', `/sandboxes/${sbx.sandboxID}/pause`, { memory: false })).status, 204)
		assert.equal((await api('POST', `/sandboxes/${sbx.sandboxID}/connect`, { timeout: 100 })).status, 201)
		const told = (await limitsOf(sbx)).limits
		assert.deepEqual([told.memoryMB, told.cpus, told.processes], [200, 0.7, 77])
		assert.deepEqual(await kernel(sbx, 'pids.max'), ['77'])
	})
})

// --- what it sends ---

let out

before(async () => {
	out = await outside({ hosts: 1 })
})
after(() => out?.end())

// Sends so many MiB to the echo server; prints how many came back, and in how many seconds.
const send = (mb) => `timeout 80 python3 -c "
import socket, threading, time
n, t = 0, time.time()
try:
    s = socket.socket(); s.settimeout(8); s.connect(('${out.at(2)}', 7))
    def put():
        try: s.sendall(b'x' * (${mb} << 20))
        except OSError: pass
    threading.Thread(target=put, daemon=True).start()
    while n < ${mb} << 20:
        k = len(s.recv(1 << 16))
        if k == 0: break
        n += k
except OSError as e: pass
print(n >> 20, '%.2f' % (time.time() - t), flush=True)
import os; os._exit(0)"`

test('egress bytes: beyond the limit its network is refused; more of it opens it again', async () => {
	await box({ egressMB: 3 }, async (sbx) => {
		const [sent] = (await run(sbx, send(8))).split(' ').map(Number)
		assert.ok(sent < 8, `${sent} MiB went out`)
		assert.doesNotMatch(await run(sbx, send(1)), /^1 /)
		await changed(sbx, { egressMB: 40 })
		assert.match(await run(sbx, send(2)), /^2 /)
		await changed(sbx, { egressMB: 4 }) // less than it has sent
		assert.doesNotMatch(await run(sbx, send(1)), /^1 /)
		await changed(sbx, { egressMB: null })
		assert.match(await run(sbx, send(2)), /^2 /)
	})
})

test('egress rate: held, and changed while it runs', async () => {
	await box({ egressKBps: 256 }, async (sbx) => {
		const [, slow] = (await run(sbx, send(1))).split(' ').map(Number)
		assert.ok(slow > 1.5, `1 MiB in ${slow} s at 256 KiB/s, the first second's worth at once`)
		await changed(sbx, { egressKBps: null })
		const [mb, quick] = (await run(sbx, send(4))).split(' ').map(Number)
		assert.equal(mb, 4)
		assert.ok(quick < slow, `${quick} s without, ${slow} s with`)
	})
})

test('what it has sent is told', async () => {
	await box(null, async (sbx) => {
		await run(sbx, send(3))
		assert.ok(await until(async () => ((await limitsOf(sbx)).used?.egressMB ?? 0) >= 3, 15000, 500))
	})
})

test('W8: a sandbox that ends while its limits change keeps its slot until that is over', async () => {
	const own = await newServer(server.buildDir).start()
	const opt = { base: own.url, key: own.key }
	const ended = (sbx) => new RegExp(`sandbox ended.*${sbx.sandboxID}`).test(fs.readFileSync(own.log, 'utf8'))
	let stopped, changing
	try {
		const [sbx, other] = [await createRaw({ timeout: 600 }, opt), await createRaw({ timeout: 600 }, opt)]
		assert.ok(
			await until(() => copiesOf(own.pid).length === 0, 120000),
			'the warden has something else to do',
		)
		for (let i = 0; i < 100 && !stopped; i++) {
			let done = false
			changing = api(
				'PATCH',
				`/sandboxes/${sbx.sandboxID}/limits`,
				{ egressMB: 1000 + i },
				{ ...opt, timeout: 120000 },
			).finally(() => {
				done = true
			})
			await until(
				() => {
					const pid = copiesOf(own.pid)[0]
					if (pid) process.kill(pid, 'SIGSTOP')
					stopped = pid && stateOf(pid) === 'T' ? pid : undefined
					return stopped || done
				},
				60000,
				1,
			)
		}
		assert.ok(stopped, 'no child was caught at it')
		const killed = killRaw(sbx, opt)
		await killRaw(other, opt)
		assert.ok(await until(() => ended(other), 60000), 'the other one does not end')
		assert.equal(ended(sbx), false, 'its slot is free while a child works on it')
		process.kill(stopped, 'SIGCONT')
		assert.ok([404, 500].includes((await changing).status))
		await killed
		assert.ok(await until(() => ended(sbx), 60000), 'it does not end afterwards')
	} finally {
		if (stopped && stateOf(stopped) === 'T') process.kill(stopped, 'SIGCONT')
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})
