// SPDX-License-Identifier: Apache-2.0
// Idle sandboxes give their memory back: to compressed swap, and from there when something touches it; never more than
// the limit, nothing wrong after a pause, a fork, a restart; and the device goes with the server.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { api, createRaw, killRaw, outputOf, server, start } from '../../lib/client.mjs'
import { cgroupsOf, childrenOf, commOf, swapsOf, until } from '../../lib/host.mjs'
import { runCode } from '../../lib/interp.mjs'
import { newServer } from '../../lib/server.mjs'
import { built } from '../../ckpt/drive.mjs'

const MB = 1 << 20
const tools = built('tools')
const noDisk = tools.why && `CRIU is not there: ${tools.why}`
const noZram = !fs.existsSync('/sys/class/zram-control') && 'the kernel makes no zram device here'
const few = { skip: noZram, timeout: 300000 }
/* numbers from 0 on, as text: 20 MB that compress well, and that an error would show in */
const HOLD = 'data = [str(i) for i in range(300_000)]'
const CHECK = 'all(data[i] == str(i) for i in range(300_000))'

let own
const opt = () => ({ base: own.url, key: own.key })
const create = (body) => createRaw({ templateID: 'code-interpreter-v1', timeout: 600, ...body }, opt())
const kill = (sbx) => killRaw(sbx, opt())
const code = (sbx, text) => runCode(sbx, text, {}, own.url)
const post = (sbx, what, body = {}) => api('POST', `/sandboxes/${sbx.sandboxID}/${what}`, body, opt())

before(async () => {
	if (noZram) return
	// to any swap: a host may have some on a disk, and ours comes first
	const config = { idle_memory: 'swap', idle_after_s: 2, idle_zram_mb: 256, checkpoint_after_s: 0 }
	own = await newServer(server.buildDir, config).start()
})

after(async () => {
	if (!own) return
	const end = await own.stop()
	assert.ok(end.clean, JSON.stringify(end.left))
})

// Of its cgroup, in bytes: what is in memory, and what is in swap.
function memoryOf(sbx) {
	const of = (...files) =>
		cgroupsOf(own.slot)
			.filter((dir) => dir.endsWith(`/${sbx.sandboxID}`))
			.flatMap((dir) => files.map((file) => path.join(dir, file)))
			.filter((file) => fs.existsSync(file))
			.map((file) => fs.readFileSync(file, 'utf8'))[0]
	const ram = Number(of('memory.usage_in_bytes', 'memory.current'))
	const stat = /^swap (\d+)/m.exec(of('memory.stat') ?? '')
	return { ram, swap: stat ? Number(stat[1]) : Number(of('memory.swap.current')) }
}

const isReclaimed = (sbx, bytes = 16 * MB) => until(() => memoryOf(sbx).swap > bytes, 120000, 100)

async function withHeld(use, body) {
	const sbx = await create(body)
	try {
		assert.equal((await code(sbx, HOLD)).error, undefined)
		await use(sbx)
	} finally {
		await kill(sbx)
	}
}

test('an idle sandbox gives its memory back, and finds it as it was', few, () =>
	withHeld(async (sbx) => {
		const had = memoryOf(sbx).ram
		assert.ok(await isReclaimed(sbx), JSON.stringify(memoryOf(sbx)))
		// until nothing more of it goes: two looks with a round of the reclaimer between them
		let last
		const rests = () => last === (last = memoryOf(sbx).swap)
		assert.ok(await until(() => rests() && memoryOf(sbx).ram < had / 2, 120000, 2000))
		const { ram, swap } = memoryOf(sbx)
		assert.equal((await code(sbx, CHECK)).text, 'True')
		const now = memoryOf(sbx)
		assert.ok(now.ram > ram + 12 * MB && now.swap < swap - 12 * MB, JSON.stringify([ram, swap, now]))
	}),
)

test('what was reclaimed still counts as its memory, for clients and inside', few, () =>
	withHeld(async (sbx) => {
		const metric = async () =>
			(await api('GET', `/sandboxes/${sbx.sandboxID}/metrics`, undefined, opt())).json.at(-1)?.memUsed
		assert.ok(await isReclaimed(sbx))
		assert.ok(await until(async () => (await metric()) > 16 * MB, 60000, 500), String(await metric()))
		const run = await start(sbx, "awk '/^MemTotal|^MemFree/ { print $2 }' /proc/meminfo", { base: own.url })
		await run.ended
		const [total, free] = outputOf(run.events).trim().split('\n').map(Number)
		const { ram, swap } = memoryOf(sbx)
		assert.ok(swap > 16 * MB, 'a command does not bring it back')
		assert.ok(total - free > 16 << 10, `${total} ${free} ${ram} ${swap}`)
	}),
)

test('a busy sandbox keeps its memory while an idle one gives it back', few, async () => {
	const busy = await create()
	try {
		await code(busy, HOLD)
		const run = code(busy, 'import time\nend = time.time() + 600\nwhile time.time() < end: pass')
		await withHeld(async (sbx) => assert.ok(await isReclaimed(sbx)))
		assert.ok(memoryOf(busy).ram > 16 * MB, JSON.stringify(memoryOf(busy)))
		await kill(busy)
		await run.catch(() => {})
	} finally {
		await kill(busy)
	}
})

test('no sandbox has more than its limit because some of it is in swap', few, () =>
	withHeld(
		async (sbx) => {
			assert.ok(await isReclaimed(sbx))
			const got = await code(sbx, 'more = bytearray(150 << 20)')
			assert.equal(got.error?.name, 'MEMORY_LIMIT', JSON.stringify(got.error))
		},
		{ limits: { memoryMB: 160 } },
	),
)

test('a pause, a snapshot and a fork have what was reclaimed', { ...few, skip: noZram || noDisk }, () =>
	withHeld(async (sbx) => {
		assert.ok(await isReclaimed(sbx))
		const forked = await post(sbx, 'fork', { timeout: 600 })
		assert.equal(forked.status, 201, forked.text)
		const copy = forked.json[0].sandbox
		try {
			assert.equal((await code(copy, CHECK)).text, 'True')
		} finally {
			await kill(copy)
		}
		assert.equal((await post(sbx, 'pause')).status, 204)
		const info = async () =>
			(await api('GET', `/sandboxes/${sbx.sandboxID}`, undefined, opt())).json.pausedMemory
		assert.ok(await until(async () => (await info()) === 'ram+disk', 60000, 100), await info())
		assert.equal((await post(sbx, 'connect', { timeout: 600 })).status, 201)
		assert.equal((await code(sbx, CHECK)).text, 'True')
		assert.ok(await isReclaimed(sbx))
		assert.equal((await post(sbx, 'pause')).status, 204)
		assert.ok(await until(async () => (await info()) === 'ram+disk', 60000, 100), await info())
	}),
)

test('the memory outlives a warden that is killed, and the helper', few, () =>
	withHeld(async (sbx) => {
		assert.ok(await isReclaimed(sbx))
		own.signal('SIGKILL')
		await own.exited
		assert.equal(swapsOf(own.slot).length, 1, 'the sandbox still needs it')
		await own.start()
		assert.equal(swapsOf(own.slot).length, 1)
		assert.equal((await code(sbx, CHECK)).text, 'True')
		const helper = () => childrenOf(own.pid).find((pid) => commOf(pid) === 'atoll-reclaim')
		const old = helper()
		process.kill(old, 'SIGKILL')
		assert.ok(await until(() => helper() && helper() !== old, 30000), 'it is not started again')
		assert.ok(await isReclaimed(sbx))
		assert.equal((await code(sbx, CHECK)).text, 'True')
	}),
)
