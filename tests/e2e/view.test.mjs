// SPDX-License-Identifier: Apache-2.0
// What a sandbox sees of the machine: its own memory and processors, whatever happens to it and to the server (E1,
// H8); and what pip sees (E2).
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import { api, sdk, server } from '../lib/client.mjs'
import { newServer } from '../lib/server.mjs'
import { childrenOf, commOf, until } from '../lib/host.mjs'
import { built } from '../ckpt/drive.mjs'

const tools = built('tools')
const noDisk = tools.why && `CRIU is not there: ${tools.why}`
const CPUS = os.cpus().length
const LIMITS = { memoryMB: 700, cpus: 1 }

// The official SDK against that server, and its sandboxes with limits of their own, which the SDK has no words for.
function via(own) {
	const { Sandbox } = sdk()
	const opt = { apiKey: own.key, apiUrl: own.url, sandboxUrl: own.url, timeoutMs: 300000 }
	const call = async (method, path, body, status) => {
		const res = await api(method, path, body, { base: own.url, key: own.key })
		assert.equal(res.status, status, res.text)
		return res.json
	}
	const at = {
		create: async (limits, templateID = 'base') =>
			at.connect(
				(await call('POST', '/sandboxes', { templateID, timeout: 300, limits }, 201)).sandboxID,
			),
		connect: (id) => Sandbox.connect(id, opt),
		limit: (sbx, limits) => call('PATCH', `/sandboxes/${sbx.sandboxId}/limits`, limits, 200),
		info: (sbx) => call('GET', `/sandboxes/${sbx.sandboxId}`, undefined, 200),
		fork: async (sbx) => {
			const [made] = await call('POST', `/sandboxes/${sbx.sandboxId}/fork`, { timeout: 300 }, 201)
			assert.ok(made.sandbox, JSON.stringify(made))
			return at.connect(made.sandbox.sandboxID)
		},
		from: async (snapshotId) => Sandbox.create(snapshotId, opt),
	}
	return at
}

async function withBox(limits, use, own = server, template) {
	const at = via(own)
	const sbx = await at.create(limits, template)
	try {
		await use(sbx, at)
	} finally {
		await sbx.kill().catch(() => {})
	}
}

const run = async (sbx, command, opt) => (await sbx.commands.run(command, opt)).stdout.trim()

// All that tells of memory and processors, in one go.
const LOOK =
	`awk '/^MemTotal/ { print "total", $2 }' /proc/meminfo; free -m | awk '/^Mem/ { print "free", $2 }'; ` +
	`echo nproc $(nproc);
	echo online $(getconf _NPROCESSORS_ONLN); echo conf $(getconf _NPROCESSORS_CONF); echo cpuinfo ` +
	`$(grep -c ^processor /proc/cpuinfo);
	echo stat $(grep -c '^cpu[0-9]' /proc/stat); python3 -c 'import os; print("python", ` +
	`os.cpu_count()); print("affinity", len(os.sched_getaffinity(0)))'`

async function sees(sbx, { memoryMB, cpus }, when) {
	const n = String(Math.min(Math.ceil(cpus), CPUS))
	const got = Object.fromEntries((await run(sbx, LOOK)).split('\n').map((line) => line.split(' ')))
	assert.deepEqual(
		got,
		{
			total: String(memoryMB * 1024),
			free: String(memoryMB),
			nproc: n,
			online: n,
			conf: n,
			cpuinfo: n,
			stat: n,
			python: n,
			affinity: n,
		},
		when,
	)
}

test('E1, H8: memory and processors are those of the sandbox, also after a change of its limits', async () => {
	await withBox(LIMITS, async (sbx, at) => {
		await sees(sbx, LIMITS, 'at its start')
		const seen = await run(
			sbx,
			'cat /sys/devices/system/cpu/online /sys/devices/system/cpu/possible ' +
				'/sys/devices/system/cpu/present; taskset -cp $$ | sed "s/.*: //"',
		)
		assert.equal(new Set(seen.split('\n')).size, 1, seen)
		for (const limits of [
			{ memoryMB: 900, cpus: CPUS },
			{ memoryMB: 400, cpus: 0.5 },
		]) {
			await at.limit(sbx, limits)
			await sees(sbx, limits, JSON.stringify(limits))
		}
		// Root inside cannot have more.
		await sbx.commands.run(`taskset -cp 0-${CPUS - 1} $$`, { user: 'root' }).catch(() => {})
		assert.equal(await run(sbx, `sudo taskset -c 0-${CPUS - 1} nproc 2>/dev/null || echo 1`), '1')
	})
})

test('E1: what is in use, for how long, and how busy it is', async () => {
	await withBox({ memoryMB: 600, cpus: 1, swapMB: 0 }, async (sbx) => {
		const before = JSON.parse(
			await run(
				sbx,
				`python3 -c '
import json, time
def mem(): return {l.split(":")[0]: int(l.split()[1]) for l in open("/proc/meminfo")}
a = mem(); b = bytearray(200 << 20); b[::4096] = b"x" * len(b[::4096]); time.sleep(0.05)
c = mem(); t = time.process_time()
while time.process_time() - t < 0.3: pass
s = open("/proc/stat").readline().split()
print(json.dumps([a, c, open("/proc/uptime").read().split(), open("/proc/loadavg").read().split(), s, ` +
					`open("/proc/swaps").read(), open("/proc/diskstats").read()]))'`,
			),
		)
		const [a, b, uptime, load, stat, swaps, disks] = before
		const taken = a.MemFree - b.MemFree
		assert.ok(taken > 190 * 1024 && taken < 230 * 1024, `${taken} kB`)
		for (const m of [a, b])
			assert.ok(
				m.MemFree >= 0 && m.MemAvailable >= m.MemFree && m.MemAvailable <= m.MemTotal,
				JSON.stringify(m),
			)
		assert.equal(a.SwapTotal, 0)
		assert.ok(Number(uptime[0]) < os.uptime() && Number(uptime[0]) < 300, uptime[0])
		assert.equal(load.length, 5)
		assert.ok(Number(stat[1]) + Number(stat[3]) >= 20, stat.join(' '))
		assert.deepEqual([swaps.trim().split('\n').length, disks], [1, ''])
	})
})

test("E1: node, the JVM and pandas' psutil go by it", async () => {
	await withBox(
		{ memoryMB: 1024, cpus: 1 },
		async (sbx) => {
			assert.equal(
				await run(
					sbx,
					"node -p \"os.totalmem() / 1048576 + ' ' + os.cpus().length + ' ' + " +
						'os.availableParallelism()"',
				),
				'1024 1 1',
			)
			assert.ok(
				Number(await run(sbx, 'node -p "v8.getHeapStatistics().heap_size_limit / 1048576"')) <=
					1024,
			)
			assert.equal(
				await run(
					sbx,
					'python3 -c "import psutil; print(psutil.virtual_memory().total >> 20, ' +
						'psutil.cpu_count())"',
				),
				'1024 1',
			)
			const flags = await run(
				sbx,
				"java -XX:+PrintFlagsFinal -version 2>/dev/null | awk '/ MaxHeapSize / { print $4 }'",
			)
			assert.ok(Number(flags) <= 300 << 20, flags)
			assert.equal(
				await run(
					sbx,
					'echo "System.out.println(Runtime.getRuntime().availableProcessors());" | ' +
						'jshell -s - ',
				),
				'1',
			)
		},
		server,
		'code-interpreter-v1',
	)
})

test('E1: the files can be read only, tell no path of the host, and belong to nobody', async () => {
	await withBox(LIMITS, async (sbx) => {
		const root = (command) => run(sbx, command, { user: 'root' })
		assert.equal(
			await root(
				'for f in meminfo stat cpuinfo; do echo x 2>/dev/null >/proc/$f && echo written; ' +
					'done; chmod 666 /proc/meminfo 2>/dev/null && echo changed; true',
			),
			'',
		)
		const lines = (await root('grep atoll-view /proc/self/mountinfo')).split('\n')
		assert.equal(lines.length, 11)
		const mounted =
			/^\d+ \d+ \d+:\d+ \/\d+(\/[a-z]+)? \/\S+ ro,nosuid,nodev,noexec,\S+ - fuse atoll-view \S+$/
		for (const line of lines) assert.match(line, mounted)
		assert.equal(
			await root(
				'ls /dev/.atoll/view 2>&1 | grep -c "Permission denied"; umount /proc/meminfo ' +
					'2>/dev/null && echo gone; true',
			),
			'1',
		)
		// In pieces: what a reader gets hangs together.
		assert.equal(
			await root(
				'dd if=/proc/meminfo bs=7 2>/dev/null | grep -vc "^[A-Za-z()_]*: *[0-9]* kB$" || true',
			),
			'0',
		)
	})
})

const viewOf = (own) => childrenOf(own.pid).find((pid) => commOf(pid) === 'atoll-view')

test(
	'E1: over pauses, restores, snapshots, forks, and deaths of the server and of its helper',
	{ skip: noDisk },
	async () => {
		const own = await newServer(server.buildDir, { checkpoint_after_s: 0 }).start()
		try {
			const at = via(own)
			const sbx = await at.create(LIMITS)
			// A reader that has the file open all the time, and keeps it over a restore.
			await sbx.commands.run(
				'python3 -uc \'import time\nf = open("/proc/meminfo")\nwhile True:\n\tf.seek(0); ' +
					'open("/tmp/seen", "w").write(f.readline()); time.sleep(0.05)\'',
				{ background: true, timeoutMs: 0 },
			)
			const reads = async (box, mb) => {
				await run(box, 'rm -f /tmp/seen')
				assert.ok(
					await until(
						async () =>
							(await run(box, 'cat /tmp/seen 2>/dev/null || true')).includes(
								` ${mb * 1024} kB`,
							),
						15000,
						50,
					),
					'its reader goes on',
				)
			}
			await reads(sbx, LIMITS.memoryMB)

			await sbx.pause()
			const resumed = await at.connect(sbx.sandboxId)
			await sees(resumed, LIMITS, 'resumed from memory')

			const copy = await at.fork(resumed)
			await sees(copy, LIMITS, 'a fork')
			await at.limit(copy, { memoryMB: 500, cpus: CPUS })
			await sees(copy, { memoryMB: 500, cpus: CPUS }, 'a fork, changed')
			await sees(resumed, LIMITS, 'the first, beside it')
			await copy.kill()
			const { snapshotId } = await resumed.createSnapshot()
			const second = await at.from(snapshotId)
			const told = await at.info(second)
			await sees(second, { memoryMB: told.memoryMB, cpus: told.limits.cpus }, 'from a snapshot')
			await second.kill()

			const old = viewOf(own)
			process.kill(old, 'SIGKILL')
			assert.ok(await until(() => viewOf(own) && viewOf(own) !== old, 15000, 50))
			await sees(resumed, LIMITS, 'the helper was killed')
			await reads(resumed, LIMITS.memoryMB)

			own.signal('SIGKILL')
			await own.exited
			await own.start()
			await sees(await at.connect(sbx.sandboxId), LIMITS, 'the warden was killed')
			const views = fs
				.readdirSync('/proc')
				.filter(
					(pid) =>
						/^\d+$/.test(pid) &&
						commOf(pid) === 'atoll-view' &&
						fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(own.runDir),
				)
			assert.deepEqual(views.map(Number), [viewOf(own)], 'the old helper has ended')

			const again = await at.connect(sbx.sandboxId)
			await reads(again, LIMITS.memoryMB)
			await again.pause()
			assert.ok(
				await until(async () => (await at.info(sbx)).pausedMemory === 'ram+disk', 60000, 100),
				JSON.stringify(await at.info(sbx)),
			)
			own.signal('SIGTERM')
			await own.exited
			await own.start()
			assert.equal((await at.info(sbx)).pausedMemory, 'disk')
			const back = await at.connect(sbx.sandboxId)
			await sees(back, LIMITS, 'restored from disk')
			await reads(back, LIMITS.memoryMB)
			await at.limit(back, { memoryMB: 800, cpus: CPUS })
			await sees(back, { memoryMB: 800, cpus: CPUS }, 'restored, changed')
			await back.kill()
		} finally {
			const end = await own.stop()
			assert.ok(end.clean, JSON.stringify(end.left))
		}
	},
)

// As those of a version that knew no views.
test(
	'E1: a sandbox that was made without a view is paused, restored and limited as ever',
	{ skip: noDisk },
	async () => {
		const own = newServer(server.buildDir, { checkpoint_after_s: 0, own_view: false })
		await own.start()
		try {
			const at = via(own)
			const sbx = await at.create(LIMITS)
			assert.equal(
				await run(sbx, 'nproc; grep -c atoll-view /proc/self/mountinfo || true'),
				`${CPUS}\n0`,
			)
			own.config.own_view = true
			own.signal('SIGKILL')
			await own.exited
			await own.start()
			const again = await at.connect(sbx.sandboxId)
			await at.limit(again, { memoryMB: 800, cpus: 1 })
			assert.equal(await run(again, 'nproc'), '1')
			await again.pause()
			assert.ok(
				await until(async () => (await at.info(sbx)).pausedMemory === 'ram+disk', 60000, 100),
				JSON.stringify(await at.info(sbx)),
			)
			own.signal('SIGTERM')
			await own.exited
			await own.start()
			const back = await at.connect(sbx.sandboxId)
			assert.equal(await run(back, 'nproc; grep -c atoll-view /proc/self/mountinfo || true'), '1\n0')
			await back.kill()
		} finally {
			const end = await own.stop()
			assert.ok(end.clean, JSON.stringify(end.left))
		}
	},
)

test('E1: a sandbox that reads all the time does not keep its neighbour from it', async () => {
	await withBox({ ...LIMITS, cpus: CPUS }, async (flood, at) => {
		const other = await at.create(LIMITS)
		try {
			const readers = await flood.commands.run(
				'for i in $(seq 50); do (while :; do read x </proc/meminfo; done) & done; ' +
					'echo begun; wait',
				{ background: true, timeoutMs: 0 },
			)
			assert.ok(await until(() => readers.stdout.includes('begun')))
			await sees(other, LIMITS, 'beside a flood')
			await readers.kill()
		} finally {
			await other.kill()
		}
	})
})

test('E2: pip finds nothing that lacks what it needs', async () => {
	for (const template of ['base', 'code-interpreter-v1']) {
		await withBox(
			{},
			async (sbx) => {
				assert.equal(
					await run(sbx, 'pip check 2>&1 || true'),
					'No broken requirements found.',
					template,
				)
				assert.equal(
					await run(sbx, 'pip list 2>/dev/null | grep -ci ^types- || true'),
					'0',
					template,
				)
			},
			server,
			template,
		)
	}
})
