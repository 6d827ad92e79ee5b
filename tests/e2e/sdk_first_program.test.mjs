// SPDX-License-Identifier: Apache-2.0
// The first promise: an unmodified program on the npm package `e2b` runs.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { sdk, server } from '../lib/client.mjs'
import { shellEnv } from '../lib/tls.mjs'

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')

test('create, run a command, write and read a file, kill', async () => {
	const { Sandbox } = sdk()
	const sbx = await Sandbox.create()
	try {
		const hello = await sbx.commands.run('echo hello')
		assert.equal(hello.exitCode, 0)
		assert.equal(hello.stdout, 'hello\n')
		await sbx.files.write('/home/user/note.txt', 'kept')
		assert.equal(await sbx.files.read('/home/user/note.txt'), 'kept')
		assert.equal(await sbx.isRunning(), true)
	} finally {
		assert.equal(await sbx.kill(), true)
	}
	assert.equal(await sbx.isRunning(), false)
	assert.equal(await Sandbox.kill(sbx.sandboxId), false)
})

test('examples/first runs unchanged', () => {
	const copy = path.join(process.env.ATOLL_TEST_NPM, 'first.mjs')
	fs.copyFileSync(path.join(ROOT, 'examples/first/first.mjs'), copy)
	const run = spawnSync(process.execPath, [copy], { encoding: 'utf8', timeout: 60000 })
	assert.equal(run.status, 0, run.stderr)
	assert.match(run.stdout, /hello from/)
	assert.match(run.stdout, /kept/)
})

test('the program in the README runs unchanged', () => {
	const text = fs.readFileSync(path.join(ROOT, 'README.md'), 'utf8')
	const program = /```js\n(import \{ Sandbox \}[\s\S]*?)```/.exec(text)?.[1]
	assert.ok(program, 'the README shows no program')
	const copy = path.join(process.env.ATOLL_TEST_NPM, 'readme.mjs')
	fs.writeFileSync(copy, program)
	const run = spawnSync(process.execPath, [copy], { encoding: 'utf8', env: shellEnv(server), timeout: 60000 })
	assert.equal(run.status, 0, run.stderr)
	assert.match(run.stdout, /Linux/)
	assert.match(run.stdout, /hello from atoll/)
})
