// SPDX-License-Identifier: Apache-2.0
// Several instances side by side on one machine do not touch each other.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { api, createRaw, envd, killRaw, outputOf, server, stream } from '../lib/client.mjs'
import { newServer } from '../lib/server.mjs'

test('two instances: own slot, key, sandboxes, addresses', async () => {
	const own = await newServer(server.buildDir).start()
	const opt = { base: own.url, key: own.key }
	const here = await createRaw({ timeout: 120 })
	const there = await createRaw({ timeout: 120 }, opt)
	try {
		assert.notEqual(own.slot, server.slot)
		assert.notEqual(own.key, server.key)
		assert.equal((await api('GET', '/sandboxes', undefined, { ...opt, key: server.key })).status, 401)
		assert.equal((await api('GET', `/sandboxes/${here.sandboxID}`, undefined, opt)).status, 404)
		assert.equal((await api('GET', `/sandboxes/${there.sandboxID}`)).status, 404)
		const address = async (sbx, base) => {
			const run = await stream(
				sbx,
				'process.Process/Start',
				{ process: { cmd: 'hostname', args: ['-I'] }, stdin: false },
				{ base },
			)
			await run.ended
			return outputOf(run.events).trim()
		}
		const [a, b] = [await address(here, server.url), await address(there, own.url)]
		assert.ok(
			a.startsWith(`10.${200 + server.slot}.`) && b.startsWith(`10.${200 + own.slot}.`),
			`${a} ${b}`,
		)
	} finally {
		await killRaw(here)
		await killRaw(there, opt)
		const end = await own.stop()
		assert.equal(end.how, 0)
		assert.ok(end.clean, JSON.stringify(end.left))
	}
	assert.equal((await api('GET', '/health')).status, 204, 'the other instance suffered')
	const again = await createRaw({})
	assert.equal((await envd(again, 'GET', '/health')).status, 204)
	await killRaw(again)
})

test('a second server on the same state directory is refused, the first is unharmed', async () => {
	const run = spawnSync(
		`${server.buildDir}/src/cli/atoll`,
		['serve', '--listen', '127.0.0.1:0', '--state', server.stateDir, '--run', server.runDir],
		{ encoding: 'utf8', timeout: 20000 },
	)
	assert.notEqual(run.status, 0)
	assert.ok(run.status !== null, 'it kept running')
	assert.match(run.stderr + run.stdout, /directory '.*' is in use by another atolld/)
	assert.equal((await api('GET', '/health')).status, 204)
	const sbx = await createRaw({})
	await killRaw(sbx)
})

test('a port that is taken is a clear error', async () => {
	const own = newServer(server.buildDir)
	own.port = Number(new URL(server.url).port)
	const err = await own.start().catch((e) => e)
	own.discard()
	assert.ok(err instanceof Error)
	assert.match(err.message, /in use|EADDRINUSE|listen/i)
})

test('bad configuration is refused by name', async () => {
	for (const [config, word] of [
		[{ pool_size_mb: 'lots' }, /pool_size_mb/],
		[{ no_such_key: 1 }, /no_such_key/],
		[{ on_stop: 'maybe' }, /on_stop/],
	]) {
		const own = newServer(server.buildDir, config)
		const err = await own.start().catch((e) => e)
		if (!(err instanceof Error)) {
			await own.stop()
			assert.fail(`accepted ${JSON.stringify(config)}`)
		}
		own.discard()
		assert.match(err.message, word)
	}
})
