// SPDX-License-Identifier: Apache-2.0
// What was acknowledged holds when the power fails right after it: see power.mjs.
import path from 'node:path'
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { server } from '../lib/client.mjs'

const HERE = path.dirname(fileURLToPath(import.meta.url))

test('a power failure right after an answer takes nothing of it back', { timeout: 540000 }, async () => {
	const argv = ['-m', '--propagation', 'private', process.execPath, path.join(HERE, 'power.mjs'), server.buildDir]
	const { code, text } = await new Promise((done) => {
		execFile('unshare', argv, (err, stdout, stderr) =>
			done({ code: err ? err.code : 0, text: stdout + stderr }),
		)
	})
	assert.match(text, /^power: [1-9]\d* failures, 0 took something back$/m, text)
	assert.equal(code, 0, text)
})
