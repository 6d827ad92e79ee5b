// SPDX-License-Identifier: Apache-2.0
// The short form of the soak: enough to see that it works at all, and that what comes goes again. `make soak` is the
// long one.
import path from 'node:path'
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { server } from '../lib/client.mjs'
import { outcomeOf } from '../lib/host.mjs'

const HERE = path.dirname(fileURLToPath(import.meta.url))

const run = (...args) => outcomeOf(path.join(HERE, 'run'), ['--build-dir', server.buildDir, ...args])

test('A11: some seconds of mixed use: nothing fails, grows or stays', { timeout: 540000 }, async () => {
	const { code, text } = await run('--duration', '8', '--sandboxes', '10', '--users', '4')
	assert.match(text, /[1-9]\d* acts, 0 failed, 0 bounds missed/, text)
	assert.equal(code, 0, text)
})
