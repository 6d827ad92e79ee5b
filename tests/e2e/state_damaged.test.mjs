// SPDX-License-Identifier: Apache-2.0
// State that is damaged or cannot be written: the server says which file and what to do, ends by itself, and leaves
// every byte of it as it was.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { api, createRaw, killRaw, server, shell } from '../lib/client.mjs'
import { childrenOf, nameOf, until } from '../lib/host.mjs'
import { newServer, tail } from '../lib/server.mjs'

const MB = 1 << 20

// Read in pieces: a pool has holes of hundreds of megabytes.
function sumOf(file) {
	const sum = crypto.createHash('sha256'),
		fd = fs.openSync(file),
		piece = Buffer.alloc(4 * MB)
	for (let n; (n = fs.readSync(fd, piece)) > 0;) sum.update(piece.subarray(0, n))
	fs.closeSync(fd)
	return sum.digest('hex')
}

function put(file, at, bytes) {
	const fd = fs.openSync(file, 'r+')
	fs.writeSync(fd, bytes, 0, bytes.length, at)
	fs.closeSync(fd)
}

// A server that has a volume, stopped; what it needs to be as it was can be put back from a copy.
async function withState(run) {
	const own = newServer(server.buildDir, { pool_size_mb: 300, pool_max_mb: 300 })
	const call = (method, where, body) => api(method, where, body, { base: own.url, key: own.key })
	try {
		await own.start()
		assert.equal((await call('POST', '/volumes', { name: 'kept', sizeMB: 10 })).status, 201)
		own.signal('SIGTERM')
		await own.exited
		await run(own, call)
		await own.start()
		assert.deepEqual(
			(await call('GET', '/volumes')).json.map((v) => v.name),
			['kept'],
		)
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
}

// It ends by itself, with such words at the end, and has not touched the file.
async function refuses(own, file, words) {
	const before = sumOf(file)
	await assert.rejects(own.start(), (err) => {
		assert.match(err.message, /ended before it was ready \(1\)/)
		assert.match(err.message, words)
		return true
	})
	assert.equal(sumOf(file), before, 'it was changed')
	assert.ok(!fs.existsSync(`${file}.new`))
}

test('a damaged pool is told with its name and what is wrong, and left as it is', () =>
	withState(async (own) => {
		const pool = path.join(own.stateDir, 'pool.img'),
			good = path.join(own.stateDir, 'pool.good')
		const again = () => assert.equal(spawnSync('cp', ['--sparse=always', good, pool]).status, 0)
		assert.equal(spawnSync('cp', ['--sparse=always', pool, good]).status, 0)
		put(pool, 65536, Buffer.alloc(4096))
		const empty = "pool\\.img' is damaged \\(there is no file system in it\\), "
		await refuses(own, pool, new RegExp(empty + 'and was left as it is: restore a backup'))
		again()
		fs.truncateSync(pool, 150 * MB)
		await refuses(own, pool, /pool\.img' is damaged \(150 of 300 MiB are there\)/)
		fs.truncateSync(pool, 0)
		await refuses(own, pool, /pool\.img' is damaged \(there is no file system in it\)/)
		again()
		for (let at = 1; at < 300; at++) put(pool, at * MB, Buffer.alloc(MB))
		await refuses(own, pool, /pool\.img' is damaged \(.*error.*\)/i)
		fs.rmSync(pool)
		fs.symlinkSync(good, pool) // whatever it is: not to be replaced
		await refuses(own, good, /pool\.img': Too many levels of symbolic links/)
		fs.rmSync(pool)
		fs.renameSync(good, pool)
	}))

test('a database that is damaged or read-only ends the start, with what to do', () =>
	withState(async (own) => {
		const db = path.join(own.stateDir, 'front/atoll.db'),
			copy = path.join(own.stateDir, 'db.good')
		const parts = ['', '-wal', '-shm'].filter((end) => fs.existsSync(db + end))
		const again = () =>
			parts.forEach((end) => assert.equal(spawnSync('cp', ['-a', copy + end, db + end]).status, 0))
		parts.forEach((end) => assert.equal(spawnSync('cp', ['-a', db + end, copy + end]).status, 0))
		fs.chmodSync(db, 0o400)
		const beside = () => ['-wal', '-shm'].map((end) => fs.existsSync(db + end))
		const was = beside()
		await refuses(own, db, /state' has a 'front\/atoll\.db' that cannot be written to: nothing was changed/)
		assert.deepEqual(beside(), was, 'a file beside it would be as read-only')
		again()
		for (const end of parts.slice(1)) fs.rmSync(db + end)
		put(db, 0, Buffer.from('this was a database once'))
		const overwritten = "state' has a damaged 'front/atoll\\.db', see above: "
		await refuses(own, db, new RegExp(overwritten + 'nothing in it was changed; restore a backup'))
		again()
		for (const end of parts) fs.rmSync(copy + end)
	}))

// Writes what waits in the log of the database into it, and says where a table begins: PAGE SIZE.
const ROOT = `import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=30)
assert db.execute('PRAGMA wal_checkpoint(TRUNCATE)').fetchone()[0] == 0
print(*db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'snapshots'").fetchone(),
      *db.execute('PRAGMA page_size').fetchone())`

// A table that the front reads last: when it compares the store with what the warden has. Returns what repairs it.
function damageSnapshots(db) {
	const got = spawnSync('python3', ['-c', ROOT, db], { encoding: 'utf8' })
	assert.equal(got.status, 0, got.stderr)
	const [page, size] = got.stdout.split(' ').map(Number)
	const fd = fs.openSync(db, 'r'),
		was = Buffer.alloc(size)
	fs.readSync(fd, was, 0, size, (page - 1) * size)
	fs.closeSync(fd)
	put(db, (page - 1) * size, Buffer.alloc(size, 0xff))
	return () => put(db, (page - 1) * size, was)
}

test('damage that shows when the front compares its store ends the server, and its sandboxes live on', async () => {
	const own = newServer(server.buildDir, { on_stop: 'keep', pool_size_mb: 300, pool_max_mb: 300 })
	const db = path.join(own.stateDir, 'front/atoll.db')
	const words = /state' has a damaged 'front\/atoll\.db', see above: restore a backup/
	try {
		await own.start()
		const sbx = await createRaw({ timeout: 600 }, { base: own.url, key: own.key })
		const sh = async (command) => (await shell(sbx, command, { base: own.url })).stdout
		await sh('setsid sleep 4711 >/dev/null 2>&1 &')
		const runs = () => sh('pgrep -x sleep')
		const before = await until(runs) // it has been executed
		assert.match(before, /^\d+$/m)
		own.signal('SIGTERM')
		await own.exited

		let repair = damageSnapshots(db) // at the start, with a sandbox that runs
		await assert.rejects(own.start(), (err) => {
			assert.match(err.message, /ended before it was ready \(1\)/)
			assert.match(err.message, words)
			return true
		})
		repair()
		await own.start()
		assert.equal(await runs(), before)

		repair = damageSnapshots(db) // while it serves: the next front sees it
		process.kill(
			childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-front'),
			'SIGKILL',
		)
		assert.equal(await own.exited, 1)
		assert.match(tail(own.log), words)
		repair()
		await own.start()
		assert.equal(await runs(), before)
		await killRaw(sbx, { base: own.url, key: own.key })
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	} finally {
		await own.stop()
	}
})
