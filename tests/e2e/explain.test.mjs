// SPDX-License-Identifier: Apache-2.0
// A refused system call is told of: to the operator by name, process and reason; a flood of them harms nobody.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { atoll, ok, withId } from '../lib/cli.mjs'
import { api, createRaw, endOf, server, start } from '../lib/client.mjs'
import { childrenOf, nameOf, until } from '../lib/host.mjs'
import { newServer } from '../lib/server.mjs'
import { built } from '../ckpt/drive.mjs'

const reader = () => childrenOf(server.pid).find((pid) => nameOf(pid) === 'atoll-refusals')
const skip = reader() ? false : 'the kernel has no audit system that can be listened to'
const explain = (id) => JSON.parse(ok(['explain', id, '--json']))
const refused = (id, call) => explain(id).find((row) => row.refused === call)
const KEYCTL =
	'import ctypes; l = ctypes.CDLL(None, use_errno=True)\nfor i in range(%): l.syscall(250, 0, 0)\n' +
	'print(ctypes.get_errno())'
const keyctl = (id, times) => ok(['exec', id, '--', 'python3', '-c', KEYCTL.replace('%', times)]).trim()

async function metric(name) {
	const text = (await api('GET', '/metrics')).text
	return Number(text.match(new RegExp(`^${name} (\\d+)$`, 'm'))[1])
}

test('a refused call is explained: name, process, how often, why', { skip }, async () => {
	await withId(async (id) => {
		const before = await metric('atoll_refused_calls_total')
		assert.equal(ok(['explain', id]), 'no refusals recorded\n')
		assert.equal(keyctl(id, 3), '1')
		assert.ok(
			await until(() => refused(id, 'keyctl')?.times === 3, 60000, 100),
			JSON.stringify(explain(id)),
		)
		const row = refused(id, 'keyctl')
		assert.equal(row.process, 'python3')
		assert.ok(
			row.pid === undefined || (row.pid > 1 && row.pid < 1000),
			`pid ${row.pid} is not one of inside`,
		)
		assert.match(row.why, /keys are not separate/)
		assert.match(ok(['explain', id]), /keyctl +the kernel's keys/)
		assert.ok((await metric('atoll_refused_calls_total')) >= before + 3)
		const logs = (await api('GET', `/v2/sandboxes/${id}/logs`)).json.logs
		const entry = logs.find((l) => l.fields.call === 'keyctl')
		assert.equal(entry.level, 'warn')
		assert.equal(entry.fields.type, 'security')
		assert.ok(!JSON.stringify(logs).includes('uid='), 'no id of the host is told')
	})
})

test('by whom: an interpreter that came out of the zygote, root, a name that is no name', { skip }, async () => {
	await withId(async (id) => {
		ok([
			'exec',
			id,
			'--user',
			'root',
			'--',
			'python3',
			'-c',
			'import ctypes; ctypes.CDLL(None).unshare(0x10000000)',
		])
		ok([
			'exec',
			id,
			'--',
			'python3',
			'-c',
			'import ctypes; l = ctypes.CDLL(None); l.prctl(15, b"a\\n uid=0 \\xff", 0, 0, 0); ' +
				'l.syscall(321, 0, 0, 0)',
		])
		assert.ok(
			await until(() => refused(id, 'unshare') && refused(id, 'bpf'), 60000, 100),
			JSON.stringify(explain(id)),
		)
		assert.equal(refused(id, 'bpf').process, 'a? uid=0 ?')
	})
})

test('programs that try clone3 and io_uring are not told of', { skip }, async () => {
	await withId(async (id) => {
		ok([
			'exec',
			id,
			'--',
			'python3',
			'-c',
			'import threading, socket; t = threading.Thread(target=print); t.start(); t.join()',
		])
		ok([
			'exec',
			id,
			'--',
			'node',
			'-e',
			'require("fs").readFile("/etc/hostname", () => {}); new ' +
				'(require("worker_threads").Worker)("1", { eval: true })',
		])
		ok(['exec', id, '--user', 'root', '--', 'sh', '-c', 'useradd -m x && su x -c true && sync'])
		assert.equal(keyctl(id, 1), '1')
		assert.ok(await until(() => refused(id, 'keyctl'), 60000, 100))
		assert.deepEqual(
			explain(id).map((row) => row.refused),
			['keyctl'],
		)
	})
})

test('a flood is silenced, for that sandbox alone and until it ends', { skip, timeout: 180000 }, async () => {
	await withId((noisy) =>
		withId(async (other) => {
			assert.equal(keyctl(noisy, 300000), '1')
			assert.ok(
				await until(
					() => explain(noisy).some((row) => /not counted/.test(row.refused)),
					60000,
					100,
				),
				JSON.stringify(explain(noisy)),
			)
			const counted = refused(noisy, 'keyctl').times
			assert.ok(counted >= 100 && counted < 100000, `${counted} of 300000 were told of`)
			keyctl(noisy, 10)
			keyctl(other, 2)
			assert.ok(await until(() => refused(other, 'keyctl')?.times === 2, 60000, 100))
			assert.equal(refused(noisy, 'keyctl').times, counted)
		}),
	)
})

const tools = built('tools')

test(
	'a sandbox that came back from disk is filtered as before, and heard',
	{ skip: skip || (tools.why && `CRIU is not there: ${tools.why}`) },
	async () => {
		const own = await newServer(server.buildDir, { checkpoint_after_s: 0 }).start()
		const opt = { base: own.url, key: own.key }
		try {
			const sbx = await createRaw({ timeout: 600 }, opt)
			const at = `/sandboxes/${sbx.sandboxID}`
			const filters =
				'import sys; print([l for l in open("/proc/1/status") if l.startswith("Seccomp")])'
			const python = async (code) => {
				const run = await start(sbx, `python3 -c '${code}'`, { base: own.url, user: 'user' })
				await run.ended
				assert.equal(endOf(run.events)?.status, 'exit status 0')
				return run.events.map((e) => e.event?.data?.stdout ?? '').join('')
			}
			const before = await python(filters)
			assert.equal((await api('POST', `${at}/pause`, {}, opt)).status, 204)
			assert.ok(
				await until(
					async () =>
						(await api('GET', at, undefined, opt)).json.pausedMemory === 'ram+disk',
					60000,
					100,
				),
				fs
					.readFileSync(own.log, 'utf8')
					.split('\n')
					.filter((l) => !/"request"/.test(l))
					.slice(-8)
					.join('\n'),
			)
			own.signal('SIGTERM')
			await own.exited
			await own.start()
			Object.assign(opt, { base: own.url, key: own.key })
			assert.ok((await api('POST', `${at}/connect`, { timeout: 600 }, opt)).status < 300)
			assert.equal(await python(filters), before)
			await python('import ctypes; ctypes.CDLL(None).syscall(250, 0, 0)')
			const told = async () =>
				(await api('GET', `/v2${at}/logs`, undefined, opt)).json.logs.some(
					(l) => l.fields.call === 'keyctl',
				)
			assert.ok(await until(told, 60000, 100))
		} finally {
			const end = await own.stop()
			assert.ok(end.clean, JSON.stringify(end.left))
		}
	},
)

test('it belongs to the team, as the rest of the log', { skip }, () => {
	assert.equal(atoll(['explain', 'i0000000000000000000']).code, 1)
	assert.equal(atoll(['explain']).code, 2)
	assert.equal(atoll(['explain', 'a', 'b']).code, 2)
})

test('atoll-refusals is started again when it ends', { skip }, async () => {
	const pid = reader()
	process.kill(pid, 'SIGKILL')
	assert.ok(await until(() => reader() && reader() !== pid, 60000, 50))
	await withId(async (id) => {
		assert.ok(
			await until(
				() => {
					keyctl(id, 1)
					return refused(id, 'keyctl')
				},
				60000,
				200,
			),
		)
	})
	assert.ok(!fs.existsSync(`/proc/${pid}`))
})
