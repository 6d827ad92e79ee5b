// SPDX-License-Identifier: Apache-2.0
// The short form of the torture: enough to see that it works at all. `make torture` is the long one.
import path from 'node:path'
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { server } from '../lib/client.mjs'
import { built } from '../ckpt/drive.mjs'

const tools = built('tools')
const noDisk = tools.why && `CRIU is not there: ${tools.why}`
const HERE = path.dirname(fileURLToPath(import.meta.url))

function run(...args) {
	return new Promise((done, fail) => {
		const child = spawn(path.join(HERE, 'run'), ['--build-dir', server.buildDir, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
		let text = ''
		for (const out of [child.stdout, child.stderr])
			out.on('data', (part) => { text += part })
		child.once('error', fail)
		child.once('close', (code) => done({ code, text }))
	})
}

test('twenty cycles of torture: every acknowledged record is there, nothing else is', { skip: noDisk, timeout: 540000 }, async () => {
	const { code, text } = await run('--cycles', '20', '--seed', String(Date.now() % 1e6), '--verbose')
	assert.match(text, /20 cycles, [1-9]\d* acknowledged records, 0 lost, 0 leaked, 0 failed/, text)
	assert.equal(code, 0, text)
})
