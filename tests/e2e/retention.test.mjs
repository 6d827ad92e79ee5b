// SPDX-License-Identifier: Apache-2.0
// How long things are kept, how long a sandbox may live, and what a purge leaves of a team.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { api, createRaw, request, server } from '../lib/client.mjs'
import { newServer } from '../lib/server.mjs'
import { poolOf, until } from '../lib/host.mjs'

async function withServer(config, use) {
	const own = await newServer(server.buildDir, config).start()
	try {
		await use(own, (method, where, body, key = own.key) => api(method, where, body, { base: own.url, key }))
	} finally {
		const end = await own.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
}

test('what is older than the settings say is removed, with its files', () =>
	withServer({ paused_kept_s: 2, snapshots_kept_s: 2, history_kept_s: 1 }, async (own, call) => {
		const opt = { base: own.url, key: own.key }
		const kept = await createRaw({ timeout: 600 }, opt),
			sbx = await createRaw({ timeout: 600 }, opt)
		assert.equal((await call('POST', `/sandboxes/${sbx.sandboxID}/snapshots`, { name: 'old' })).status, 201)
		assert.ok(
			poolOf(own).some((name) => name.includes('+')),
			poolOf(own).join(),
		)
		assert.equal((await call('POST', `/sandboxes/${sbx.sandboxID}/pause`)).status, 204)
		assert.ok(
			await until(
				async () => (await call('GET', `/sandboxes/${sbx.sandboxID}`)).status === 404,
				30000,
			),
			'the paused one is gone',
		)
		assert.ok(
			await until(async () => (await call('GET', '/snapshots')).json.length === 0, 30000),
			'the snapshot is gone',
		)
		assert.ok(await until(() => !poolOf(own).some((name) => name.includes('+')), 30000), poolOf(own).join())
		assert.equal((await call('GET', `/sandboxes/${kept.sandboxID}`)).status, 200)
	}))

test('a sandbox lives no longer than max_lifetime_s, however often its timeout is set', () =>
	withServer({ max_lifetime_s: 5 }, async (own, call) => {
		const opt = { base: own.url, key: own.key }
		const sbx = await createRaw({ timeout: 3 }, opt),
			began = Date.parse((await call('GET', `/sandboxes/${sbx.sandboxID}`)).json.startedAt)
		const end = async () => new Date((await call('GET', `/sandboxes/${sbx.sandboxID}`)).json.endAt) - began
		for (const [where, body] of [
			['timeout', { timeout: 600 }],
			['connect', { timeout: 600 }],
			['refreshes', { duration: 3600 }],
		]) {
			const got = await call('POST', `/sandboxes/${sbx.sandboxID}/${where}`, body)
			assert.ok(got.status < 300, got.text)
			assert.ok((await end()) <= 5500, `${where}: ${await end()}`)
		}
		assert.ok(
			await until(
				async () => (await call('GET', `/sandboxes/${sbx.sandboxID}`)).status === 404,
				10000,
			),
		)
		assert.ok(Date.now() - began >= 4000)
	}))

test('a purge leaves nothing of a team but its keys, and nothing of others is touched', () =>
	withServer({}, async (own, call) => {
		const team = (await call('POST', '/admin/teams', { name: 'blue' })).json
		const key = (await call('POST', `/admin/teams/${team.teamID}/api-keys`, { name: 'ci' })).json.key
		const opt = { base: own.url, key }
		const other = await createRaw({ timeout: 600 }, { base: own.url, key: own.key })
		const volume = (await call('POST', '/volumes', { name: 'mine' })).json
		const theirs = (await call('POST', '/volumes', { name: 'theirs' }, key)).json
		await request('PUT', `/volumecontent/${theirs.volumeID}/file?path=/x`, {
			base: own.url,
			body: 'x',
			headers: { Authorization: `Bearer ${theirs.token}` },
		})
		await call('POST', '/secrets', { name: 'blue-secret', value: 'hush-hush-4711' }, key)
		const running = await createRaw(
				{ timeout: 600, volumeMounts: [{ name: 'theirs', path: '/data' }] },
				opt,
			),
			paused = await createRaw({ timeout: 600 }, opt)
		assert.equal(
			(await call('POST', `/sandboxes/${running.sandboxID}/snapshots`, { name: 'snap' }, key)).status,
			201,
		)
		assert.equal((await call('POST', `/sandboxes/${paused.sandboxID}/pause`, {}, key)).status, 204)
		const ended = await createRaw({ timeout: 600, metadata: { mark: 'of-a-past-sandbox-0815' } }, opt)
		await call('DELETE', `/sandboxes/${ended.sandboxID}`, undefined, key)
		assert.equal(
			(
				await call(
					'POST',
					'/events/webhooks',
					{
						name: 'w',
						url: 'https://203.0.113.1/',
						events: ['sandbox.resource.threshold'],
					},
					key,
				)
			).status,
			201,
		)
		const cli = (...args) =>
			spawnSync(own.atoll(), ['purge', '--api-url', own.url, ...args], {
				encoding: 'utf8',
				env: { ...process.env, E2B_API_KEY: '' },
			})
		const asked = cli('--key', key)
		assert.equal(asked.status, 2)
		assert.match(asked.stderr, /--yes/)
		const done = cli('--key', key, '--yes')
		assert.equal(done.status, 0, done.stderr)
		assert.match(
			done.stdout,
			/^2 sandboxes, 1 snapshots, 1 volumes, 0 templates, 1 secrets, 3 records, 3 logs/,
		)
		assert.deepEqual((await call('GET', '/v2/sandboxes', undefined, key)).json, [])
		assert.deepEqual((await call('GET', '/snapshots', undefined, key)).json, [])
		assert.deepEqual((await call('GET', '/volumes', undefined, key)).json, [])
		assert.deepEqual((await call('GET', '/secrets', undefined, key)).json, [])
		assert.equal((await call('GET', `/sandboxes/${ended.sandboxID}/logs`, undefined, key)).status, 404)
		for (const where of ['/events/sandboxes', '/events/webhooks'])
			assert.deepEqual((await call('GET', where, undefined, key)).json, [], where)
		assert.deepEqual((await call('GET', '/usage', undefined, key)).json.rows, [])
		assert.ok(
			await until(
				() =>
					poolOf(own).every(
						(name) => name === other.sandboxID || name === `${volume.volumeID}+v`,
					),
				60000,
			),
			poolOf(own).join(),
		)
		const found = () =>
			['atoll.db', 'atoll.db-wal'].flatMap((file) => {
				const bytes = fs.readFileSync(path.join(own.stateDir, 'front', file))
				return ['of-a-past-sandbox-0815', 'blue-secret']
					.filter((mark) => bytes.includes(mark))
					.map((mark) => `${mark} in ${file}`)
			})
		assert.ok(await until(() => found().length === 0, 2000), `still there: ${found()}`)
		assert.equal((await call('GET', `/sandboxes/${other.sandboxID}`)).status, 200)
		assert.equal((await call('GET', '/volumes')).json.length, 1)
		const id = (await call('GET', '/api-keys', undefined, key)).json[0].id,
			again = await createRaw({ timeout: 600 }, opt)
		assert.equal((await call('POST', '/purge', { key: 'nobody' }, key)).status, 404)
		assert.equal(
			(await call('POST', '/purge', { key: (await call('GET', '/api-keys')).json[0].id }, key))
				.status,
			404,
			"another team's is nobody's",
		)
		assert.equal((await call('POST', '/purge', { key: 7 }, key)).status, 400)
		assert.match(
			cli('--key', id, '--api-key', own.key, '--yes').stdout,
			/^1 sandboxes, /,
			'an admin, by the id of a key',
		)
		assert.equal((await call('GET', `/sandboxes/${again.sandboxID}`, undefined, key)).status, 404)
		assert.equal((await call('GET', `/sandboxes/${other.sandboxID}`)).status, 200)
	}))

test('a state directory of a newer version is refused at once, and says so', async () => {
	const own = await newServer(server.buildDir, {}).start()
	await own.stop({ remove: false })
	const db = path.join(own.stateDir, 'front/atoll.db')
	assert.equal(
		spawnSync('python3', [
			'-c',
			`import sqlite3; c = sqlite3.connect('${db}'); c.execute('PRAGMA user_version=1000'); ` +
				`c.commit()`,
		]).status,
		0,
	)
	const before = fs.readFileSync(db)
	await assert.rejects(own.start(), /was written by a newer atoll/)
	assert.ok(before.equals(fs.readFileSync(db)))
	own.discard()
})
