// SPDX-License-Identifier: Apache-2.0
// A full disk: 507, nothing half-written, neighbours and server unharmed.
import { test } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import { api, createRaw, envd, killRaw, outputOf, rpc, server, start, withRaw } from '../../lib/client.mjs'
import { until } from '../../lib/host.mjs'
import { newServer } from '../../lib/server.mjs'

const OCTET = { headers: { 'Content-Type': 'application/octet-stream' } }
const q = (path) => `/files?path=${encodeURIComponent(path)}`

async function fill(sbx) {
	const run = await start(
		sbx,
		'head -c 20G /dev/zero > /tmp/fill 2>/tmp/err; sync; echo $?; df -B1M --output=avail /tmp | tail -1',
		{},
	)
	await run.ended
	return outputOf(run.events)
}

test('a sandbox cannot write more than its disk limit, and uploads answer 507', { timeout: 300000 }, async (t) => {
	const neighbour = await createRaw({ timeout: 300 })
	try {
		await withRaw({ timeout: 300 }, async (sbx) => {
			const { diskSizeMB } = (await api('GET', `/sandboxes/${sbx.sandboxID}`)).json
			if (diskSizeMB > 4096) {
				t.skip(`the disk limit is ${diskSizeMB} MB, too much to fill here`)
				return
			}
			await envd(sbx, 'POST', q('/tmp/old'), 'old content', OCTET)
			await fill(sbx)
			const size = await rpc(sbx, 'filesystem.Filesystem/Stat', { path: '/tmp/fill' })
			assert.ok(
				Number(size.json.entry.size) <= diskSizeMB * 1.1 * 1024 * 1024,
				`wrote ${size.json.entry.size}`,
			)
			const up = await envd(sbx, 'POST', q('/tmp/new'), Buffer.alloc(8 << 20, 'x'), OCTET)
			assert.equal(up.status, 507, up.text)
			assert.equal(up.json.code, 507)
			assert.equal((await envd(sbx, 'GET', q('/tmp/new'))).status, 404, 'half a file stays')
			const over = await envd(sbx, 'POST', q('/tmp/old'), Buffer.alloc(8 << 20, 'x'), OCTET)
			assert.equal(over.status, 507)
			assert.equal(
				(await envd(sbx, 'GET', q('/tmp/old'))).text,
				'old content',
				'the old content is lost',
			)
			assert.equal(
				(await envd(neighbour, 'POST', q('/tmp/n'), Buffer.alloc(4 << 20, 'x'), OCTET)).status,
				200,
				'the neighbour is full too',
			)
			const free = await start(sbx, 'rm /tmp/fill; sync; echo ok > /tmp/again && cat /tmp/again')
			await free.ended
			assert.match(outputOf(free.events), /ok/)
		})
	} finally {
		await killRaw(neighbour)
	}
})

// Each of them is within its limit: the limits add up to more than the pool has.
test('F5: one sandbox within its limit does not use up the pool of the others', { timeout: 300000 }, async () => {
	const own = await newServer(server.buildDir, {
		pool_size_mb: 1024,
		pool_max_mb: 1024,
		default_disk_mb: 4096,
	}).start()
	const opt = { base: own.url, key: own.key },
		at = { ...OCTET, base: own.url }
	try {
		const [hog, neighbour] = [
			await createRaw({ timeout: 300 }, opt),
			await createRaw({ timeout: 300 }, opt),
		]
		const run = await start(
			hog,
			'head -c 3G /dev/zero > /tmp/fill; echo $?; for i in 1 2 3 4 5 6 7 8; do fallocate -l 64M ' +
				'/tmp/more$i; done; sync; df /tmp >/dev/null; du -sm /tmp',
			{ base: own.url },
		)
		await run.ended
		assert.match(outputOf(run.events), /^1\n/, 'it could write all of it')
		assert.match(outputOf(run.events, 'stderr'), /Disk quota exceeded|No space left/)
		for (let i = 0; i < 4; i++) {
			const up = await envd(neighbour, 'POST', q(`/tmp/n${i}`), Buffer.alloc(8 << 20, 'x'), at)
			assert.equal(up.status, 200, `the neighbour is full too: ${up.text}`)
		}
		const third = await createRaw({ timeout: 300 }, opt)
		const said = await start(third, 'head -c 1M /dev/urandom > /tmp/r && wc -c < /tmp/r', { base: own.url })
		await said.ended
		assert.match(outputOf(said.events), /1048576/, 'a new one has no room')
		// What it gives back it may use again, and once there is room nothing is held back.
		const freed = await start(
			hog,
			'rm /tmp/fill /tmp/more*; sync; echo ok > /tmp/again && cat /tmp/again',
			{ base: own.url },
		)
		await freed.ended
		assert.match(outputOf(freed.events), /ok/)
		assert.ok(
			await until(
				async () =>
					(await envd(hog, 'POST', q('/tmp/big'), Buffer.alloc(200 << 20, 'x'), at))
						.status === 200,
				60000,
				500,
			),
			'it stays held back',
		)
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})
