// SPDX-License-Identifier: Apache-2.0
// ElizaOS with its E2B plugin, and what the server saw of it.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { api, server } from '../lib/client.mjs'
import { until } from '../lib/host.mjs'
import { installPackages } from '../lib/npm.mjs'
import { newServer } from '../lib/server.mjs'
import { DOMAIN, shellEnv } from '../lib/tls.mjs'
import { counts, HERE, LIMIT_MS, records, run } from './programs/run.mjs'

// The plugin must have spoken to the server: without a key it would play everything to itself and pass its tests all
// the same.
test('ElizaOS with its plugin', { timeout: LIMIT_MS + 300000 }, async (t) => {
	const dir = path.join(server.buildDir, 'test-clients/eliza')
	const names = spawnSync('getent', ['ahosts', `x.${DOMAIN}`]).status === 0
	const why = names
		? installPackages(dir, { '@elizaos/plugin-e2b': '1.2.0', '@elizaos/core': '1.7.2', esbuild: '^0.25.0' })
		: 'libnss-myhostname is not installed'
	if (why) {
		t.skip(why)
		return
	}
	const own = await newServer(server.buildDir).start() // C4: as it comes; its SDK knows E2B_DOMAIN only
	const steps = (text) => [...text.matchAll(/^STEP (.*)$/gm)].map(([, line]) => JSON.parse(line))
	const logOf = async (id) =>
		(
			await api('GET', `/v2/sandboxes/${id}/logs?direction=forward`, undefined, {
				base: own.url,
				key: own.key,
			})
		).text
	let found, stopping
	const look = async () => {
		const ids = steps(found.text).flatMap((one) => one.sandboxes ?? one.killed ?? [])
		const seen = {}
		await until(
			async () => {
				// the plugin asks its sandboxes how they are all the time: a moment when none of that
				// is under way
				Object.assign(seen, { counts: await counts(own), records: await records(own) })
				return (
					seen.records.begun.length === seen.counts.code &&
					seen.records.ended.length === seen.counts.code
				)
			},
			30000,
			200,
		)
		found = {
			...found,
			...seen,
			logs: Object.fromEntries(await Promise.all(ids.map(async (id) => [id, await logOf(id)]))),
		}
		await own.stop()
	}
	const got = await run(process.execPath, ['--no-warnings', path.join(HERE, 'eliza.mjs'), dir], {
		env: { ...shellEnv(own), LOG_LEVEL: 'info' },
		onText: (text) => {
			if (stopping || !text.includes('"step":"served"')) return
			found = { text }
			stopping = look()
		},
	})
	await (stopping ?? own.stop())
	assert.equal(got.code, 0, got.text)
	const all = steps(got.text)
	assert.equal(all.find((one) => one.step === 'registered').status, 'registered')
	assert.deepEqual(
		all.filter((one) => one.step === 'own test').map((one) => one.name),
		[
			'Should initialize E2B service correctly',
			'Should execute code in sandbox',
			'Should execute JavaScript code in local mode',
		],
	)
	assert.equal(all.at(-1).step, 'unhealthy')
	assert.doesNotMatch(got.text, /MOCK EXECUTION|initialized in mock mode|mock-sandbox/)
	assert.ok(found.counts.started >= 3 && found.counts.code >= 7, JSON.stringify(found.counts))
	// Audit and usage show each of these calls, too.
	assert.equal(found.records.begun.length, found.counts.code, JSON.stringify(found.records))
	assert.deepEqual(
		found.records.begun.filter((request) => !found.records.ended.includes(request)),
		[],
	)
	assert.ok(found.records.sandboxes >= 3, JSON.stringify(found.records))
	const { killed } = all.find((one) => one.step === 'calls')
	assert.match(found.logs[killed], /sandbox killed/)
	assert.ok(
		Object.values(found.logs).some((log) => log.includes('/execute')),
		JSON.stringify(found.logs),
	)
})
