// SPDX-License-Identifier: Apache-2.0
// The runner of these tests ends what a killed file leaves, and nothing else. It reports what a sanitizer finds.
import { test } from '../lib/case.mjs'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { api, server } from '../lib/client.mjs'
import { alive, leftovers, processesOf, slotOwner, startTimeOf, until } from '../lib/host.mjs'
import { reap } from '../lib/ledger.mjs'
import { reapLost } from '../lib/lost.mjs'
import { Reports } from '../lib/reports.mjs'
import { waitForSlots } from '../lib/slots.mjs'
import { thin } from '../lib/thin.mjs'

const LIB = fileURLToPath(new URL('../lib', import.meta.url))

// A test file that starts a server with a sandbox, says so, and does not come to its end.
const HANGS =
	`
import { newServer } from '${LIB}/server.mjs'
import { createRaw, server } from '${LIB}/client.mjs'
const own = await newServer(server.buildDir, { on_stop: process.argv[1] }).start()
await createRaw({ timeout: 600 }, { base: own.url, key: own.key })
console.log(JSON.stringify({ pid: own.pid, slot: own.slot, stateDir: own.stateDir, runDir: own.runDir, base: ` +
	`own.base }))
process.stdin.resume()`

async function killed(dir, onStop) {
	const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', HANGS, onStop], {
		env: { ...process.env, ATOLL_TEST_LEDGER: dir },
		stdio: ['pipe', 'pipe', 'inherit'],
	})
	const own = JSON.parse(await new Promise((done) => child.stdout.once('data', done)))
	const gone = new Promise((done) => child.once('exit', done))
	child.kill('SIGKILL')
	await gone
	return own
}

async function gone(own) {
	assert.equal(slotOwner(own.stateDir), undefined, 'the slot is still taken')
	let left
	assert.ok(
		await until(() => {
			left = leftovers(own.slot, own.stateDir, own.runDir, own.pid)
			return Object.values(left).every((n) => n === 0)
		}),
		JSON.stringify(left),
	)
	assert.ok(!fs.existsSync(own.base))
}

async function withLedger(use) {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-ledger-'))
	try {
		await use(dir)
	} finally {
		fs.rmSync(dir, { recursive: true, force: true })
	}
}

test('the server of a file that was killed is ended, with its sandboxes; its slot is free', () =>
	withLedger(async (dir) => {
		const own = await killed(dir, 'keep')
		assert.ok(alive(own.pid))
		const found = await reap(dir)
		assert.deepEqual(found, [`${path.basename(own.base)} (pid ${own.pid})`])
		assert.ok(!alive(own.pid))
		await gone(own)
		assert.deepEqual(fs.readdirSync(dir), [])
		assert.equal((await api('GET', '/health')).status, 204, 'the shared one goes on')
	}))

test('sandboxes of a server that was killed, too, are ended', () =>
	withLedger(async (dir) => {
		const own = await killed(dir, 'kill')
		process.kill(own.pid, 'SIGKILL')
		assert.equal((await reap(dir)).length, 1)
		await gone(own)
	}))

// Only the kernel still knows of it.
test('sandboxes of a server whose directory is gone are found by their slot and ended; others are left alone', () =>
	withLedger(async (dir) => {
		const lost = await killed(dir, 'keep'),
			other = await killed(dir, 'keep'),
			alone = await killed(dir, 'kill') // its warden lives
		for (const { pid } of [lost, other]) process.kill(pid, 'SIGKILL')
		assert.ok(await until(() => !alive(lost.pid) && !alive(other.pid)))
		for (const { base, slot } of [lost, alone]) {
			fs.rmSync(base, { recursive: true })
			assert.ok(processesOf(slot).length > 0)
		}
		const found = await reapLost()
		for (const one of [lost, alone]) {
			assert.ok(found.includes(path.basename(one.base)), found.join(' '))
			await gone(one)
		}
		assert.ok(processesOf(other.slot).length > 0, 'its directory is there: a run may want it')
		assert.equal((await api('GET', '/health')).status, 204, 'the shared one goes on')
		await reap(dir)
		await gone(other)
	}))

test('a run that is ended by a signal ends its servers, also one that starts', async () => {
	const run = spawn(process.execPath, [`${LIB}/run.mjs`, '--build-dir', server.buildDir, '--only', 'e2e/time'], {
		env: { ...process.env, ATOLL_TEST_LEDGER: '', ATOLL_TEST_SERVER: '' },
		stdio: ['ignore', 'pipe', 'inherit'],
	})
	const ended = new Promise((done) => run.once('exit', done))
	const mine = () =>
		fs
			.readdirSync(os.tmpdir())
			.filter((name) => name.startsWith('atoll-run-'))
			.map((name) => path.join(os.tmpdir(), name))
			.find((one) => {
				const file = path.join(one, 'runner')
				return fs.existsSync(file) && JSON.parse(fs.readFileSync(file, 'utf8')).pid === run.pid
			})
	const records = () => {
		const dir = mine() && path.join(mine(), 'shared')
		return dir && fs.existsSync(dir) ? fs.readdirSync(dir).map((name) => path.join(dir, name)) : []
	}
	try {
		let one
		assert.ok(
			await until(() => {
				const [file] = records()
				const text = file ? fs.readFileSync(file, 'utf8') : ''
				return text.endsWith('}') && (one = JSON.parse(text))
			}, 600000),
		)
		run.kill('SIGTERM')
		assert.equal(await ended, 143)
		assert.ok(!alive(one.pid) || startTimeOf(one.pid) !== one.start)
		assert.equal(slotOwner(one.stateDir), undefined)
		assert.deepEqual(processesOf(-1, one.runDir), [])
		assert.ok(!fs.existsSync(one.base))
		assert.equal(mine(), undefined)
	} finally {
		run.kill('SIGKILL')
	}
})

test('of a server that failed, logs and databases are kept, and no image of its storage', () =>
	withLedger(async (dir) => {
		const base = fs.mkdtempSync(path.join(dir, 'base-')),
			state = path.join(base, 'state')
		fs.mkdirSync(state)
		const files = { 'server.log': 20 << 20, 'state/pool.img': 20 << 20, 'state/url': 20 }
		for (const [name, size] of Object.entries(files))
			fs.writeFileSync(path.join(base, name), Buffer.alloc(size, 1))
		const record = {
			pid: process.pid,
			start: '0',
			base,
			stateDir: state,
			runDir: base,
			buildDir: server.buildDir,
		}
		fs.writeFileSync(path.join(dir, 'x.json'), JSON.stringify(record))
		assert.deepEqual(await reap(dir), [])
		assert.deepEqual(fs.readdirSync(state), ['url'])
		assert.ok(fs.existsSync(path.join(base, 'server.log')))
		fs.writeFileSync(path.join(state, 'pool.img'), Buffer.alloc(20 << 20, 1))
		process.env.ATOLL_TEST_KEEP = '1' // as with --keep
		try {
			thin(base)
			assert.ok(fs.existsSync(path.join(state, 'pool.img')))
		} finally {
			delete process.env.ATOLL_TEST_KEEP
		}
	}))

test('who waits for instance slots says who holds them', async () => {
	const said = []
	assert.equal(await waitForSlots(1, () => assert.fail('there are free ones')), true)
	assert.equal(
		await waitForSlots(
			17,
			(text) => said.push(text),
			() => said.length > 0,
		),
		false,
	) // more than there are
	assert.match(said.join(), new RegExp(`slot ${server.slot}: ${server.stateDir}, pid ${server.pid} `))
	assert.equal(said.length, 1)
})

test('no test waits for a while, unless a comment says why time itself is tested', () => {
	const root = path.dirname(LIB)
	const files = fs
		.readdirSync(root, { recursive: true })
		.filter((file) => file.endsWith('.mjs') && !file.startsWith('lib/'))
	const waits = /\bawait sleep\(|\breturn sleep\(|^\s*await new Promise\(\(\w+\) => setTimeout\(/
	const bare = files
		.flatMap((file) =>
			fs
				.readFileSync(path.join(root, file), 'utf8')
				.split('\n')
				.map((line, i, all) => [`${file}:${i + 1}: ${line.trim()}`, line, all[i - 1]])
				.filter(([, line]) => waits.test(line))
				.filter(
					([, line, above]) =>
						!/\/\/ |\/\* /.test(line) && !/^\s*(\/\/|\/\*) /.test(above),
				),
		)
		// programs of others, in miniature: they poll
		.filter(([where]) => !where.startsWith('compat/programs/'))
	assert.deepEqual(
		bare.map(([where]) => where),
		[],
	)
})

test('a process that has the pid of a server, and is another, is left alone', () =>
	withLedger(async (dir) => {
		const other = spawn('sleep', ['1000'])
		const base = path.join(dir, 'base')
		try {
			const record = {
				pid: other.pid,
				start: String(Number(startTimeOf(other.pid)) - 1),
				base,
				stateDir: base,
				runDir: base,
				buildDir: server.buildDir,
			}
			fs.writeFileSync(path.join(dir, 'x.json'), JSON.stringify(record))
			assert.deepEqual(await reap(dir), [])
			assert.ok(alive(other.pid))
		} finally {
			other.kill()
		}
	}))

if (process.env.ATOLL_TEST_ASAN) {
	const faulty = path.join(server.buildDir, 'tests/lib/faulty')
	for (const [fault, report] of [
		['memory', /heap-buffer-overflow/],
		['undefined', /\bILL\b/],
		['leak', /detected memory leaks/],
		['assertion', /\bABRT\b/],
	]) {
		test(`a sanitizer's report is a failed case: ${fault}`, () => {
			const reports = new Reports()
			try {
				const env = { ...process.env, ...reports.env() }
				assert.equal(spawnSync(faulty, ['none'], { env }).status, 0)
				assert.deepEqual(reports.fresh(), [])
				assert.notEqual(spawnSync(faulty, [fault], { env }).status, 0)
				const [found, ...more] = reports.fresh()
				assert.deepEqual([found.outcome, more], ['fail', []])
				assert.match(found.why, report)
			} finally {
				reports.remove()
			}
		})
	}
}
