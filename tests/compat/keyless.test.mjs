// SPDX-License-Identifier: Apache-2.0
// The probe of people's set-up guides, and an old client without any key against an open server.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import path from 'node:path'
import { spawn, spawnSync } from 'node:child_process'
import { server } from '../lib/client.mjs'
import { installPackages } from '../lib/npm.mjs'
import { DOMAIN, newTlsServer, tlsEnv } from '../lib/tls.mjs'

function curl(...headers) {
	const run = spawnSync(
		'curl',
		['-s', '-w', '\n%{http_code}', ...headers.flatMap((one) => ['-H', one]), `${server.url}/sandboxes`],
		{ encoding: 'utf8' },
	)
	const [body, status] = run.stdout.split(/\n(?=\d+$)/)
	return { status, json: JSON.parse(body) }
}

test('GET /sandboxes tells a good key from a wrong one', () => {
	const good = curl(`X-API-Key: ${server.key}`)
	assert.equal(good.status, '200')
	assert.ok(Array.isArray(good.json))
	for (const headers of [[], [`X-API-Key: e2b_${'0'.repeat(40)}`]]) {
		const bad = curl(...headers)
		assert.deepEqual([bad.status, bad.json.code], ['401', 401])
	}
})

const PROGRAM = `
const { Sandbox } = require('@e2b/code-interpreter')
Sandbox.create({ timeoutMs: 60000 }).then(async (sandbox) => {
	console.log((await sandbox.runCode('6 * 7')).text, (await sandbox.commands.run('whoami')).stdout.trim())
	await sandbox.kill()
})`

test('SDK 1.x without a key on an open server', { timeout: 400000 }, async (t) => {
	const dir = path.join(server.buildDir, 'test-clients/js-1')
	const why =
		spawnSync('getent', ['ahosts', `x.${DOMAIN}`]).status !== 0
			? 'libnss-myhostname is not installed'
			: installPackages(
					dir,
					{ e2b: '1.13.2', '@e2b/code-interpreter': '1.5.1' },
					{ overrides: { e2b: '1.13.2' } },
				)
	if (why) {
		t.skip(why)
		return
	}
	const own = await (await newTlsServer(server.buildDir, { open: true })).start()
	try {
		const { E2B_API_KEY: _, ...env } = tlsEnv(own)
		const text = await new Promise((done) => {
			const child = spawn(process.execPath, ['-e', PROGRAM], { cwd: dir, env, timeout: 60000 })
			let all = ''
			child.stdout.on('data', (part) => {
				all += part
			})
			child.stderr.on('data', (part) => {
				all += part
			})
			child.once('close', () => done(all))
		})
		assert.equal(text, '42 user\n')
	} finally {
		await own.stop()
	}
})
