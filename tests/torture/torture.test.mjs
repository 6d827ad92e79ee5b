// SPDX-License-Identifier: Apache-2.0
// The short form of the torture: enough to see that it works at all. `make torture` is the long one.
import path from 'node:path'
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { server } from '../lib/client.mjs'
import { outcomeOf } from '../lib/host.mjs'
import { built } from '../ckpt/drive.mjs'

const tools = built('tools')
const noDisk = tools.why && `CRIU is not there: ${tools.why}`
const HERE = path.dirname(fileURLToPath(import.meta.url))

const run = (...args) => outcomeOf(path.join(HERE, 'run'), ['--build-dir', server.buildDir, ...args])

test(
	'twenty cycles of torture: every acknowledged record is there, nothing else is',
	{ skip: noDisk, timeout: 540000 },
	async () => {
		const { code, text } = await run('--cycles', '20', '--seed', String(Date.now() % 1e6), '--verbose')
		assert.match(text, /20 cycles, [1-9]\d* acknowledged records, 0 lost, 0 leaked, 0 failed/, text)
		assert.equal(code, 0, text)
	},
)
