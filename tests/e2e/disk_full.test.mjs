// SPDX-License-Identifier: Apache-2.0
// A full disk: 507, nothing half-written, neighbours and server unharmed.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { api, createRaw, envd, killRaw, outputOf, rpc, start, withRaw } from '../lib/client.mjs'

const OCTET = { headers: { 'Content-Type': 'application/octet-stream' } }
const q = (path) => `/files?path=${encodeURIComponent(path)}`

async function fill(sbx) {
	const run = await start(sbx, 'head -c 20G /dev/zero > /tmp/fill 2>/tmp/err; sync; echo $?; df -B1M --output=avail /tmp | tail -1', {})
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
			assert.ok(Number(size.json.entry.size) <= diskSizeMB * 1.1 * 1024 * 1024, `wrote ${size.json.entry.size}`)
			const up = await envd(sbx, 'POST', q('/tmp/new'), Buffer.alloc(8 << 20, 'x'), OCTET)
			assert.equal(up.status, 507, up.text)
			assert.equal(up.json.code, 507)
			assert.equal((await envd(sbx, 'GET', q('/tmp/new'))).status, 404, 'half a file stays')
			const over = await envd(sbx, 'POST', q('/tmp/old'), Buffer.alloc(8 << 20, 'x'), OCTET)
			assert.equal(over.status, 507)
			assert.equal((await envd(sbx, 'GET', q('/tmp/old'))).text, 'old content', 'the old content is lost')
			assert.equal((await envd(neighbour, 'POST', q('/tmp/n'), Buffer.alloc(4 << 20, 'x'), OCTET)).status, 200, 'the neighbour is full too')
			const free = await start(sbx, 'rm /tmp/fill; sync; echo ok > /tmp/again && cat /tmp/again')
			await free.ended
			assert.match(outputOf(free.events), /ok/)
		})
	} finally {
		await killRaw(neighbour)
	}
})
