// SPDX-License-Identifier: Apache-2.0
// Watchers that are polled: what a client did before it asks is in the answer, without a pause in between.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { createRaw, envd, killRaw, rpc } from '../lib/client.mjs'

const ROUNDS = 20 // each of them lost events now and then while they were left to chance
let sbx

before(async () => {
	sbx = await createRaw({ timeout: 120 })
})
after(() => killRaw(sbx))

const fs = async (method, message) => {
	const res = await rpc(sbx, `filesystem.Filesystem/${method}`, message, { user: 'user' })
	assert.equal(res.status, 200, `${method}: ${res.text}`)
	return res.json
}
const write = (path, body) =>
	envd(sbx, 'POST', `/files?path=${path}&username=user`, body, {
		headers: { 'Content-Type': 'application/octet-stream' },
	})
const has = (events, name, type) => events?.some((e) => e.name === name && e.type === `EVENT_TYPE_${type}`)

test('a write that was answered has been seen', async () => {
	await fs('MakeDir', { path: '/home/user/flat' })
	const { watcherId } = await fs('CreateWatcher', { path: '/home/user/flat' })
	for (let i = 0; i < ROUNDS; i++) {
		await write(`/home/user/flat/${i}`, 'x')
		const { events } = await fs('GetWatcherEvents', { watcherId })
		assert.ok(has(events, `${i}`, 'CREATE') && has(events, `${i}`, 'WRITE'), JSON.stringify(events))
	}
	assert.deepEqual((await fs('GetWatcherEvents', { watcherId })).events ?? [], [], 'events come once')
	await write('/home/user/flat/0', 'y')
	const { events } = await fs('GetWatcherEvents', { watcherId })
	assert.equal(
		events[0].type,
		'EVENT_TYPE_WRITE',
		"overwriting one's own file changes its content and nothing else",
	)
	await fs('RemoveWatcher', { watcherId })
})

test('so has a write into a directory that is as new', async () => {
	await fs('MakeDir', { path: '/home/user/deep' })
	const { watcherId } = await fs('CreateWatcher', { path: '/home/user/deep', recursive: true })
	for (let i = 0; i < ROUNDS; i++) {
		await fs('MakeDir', { path: `/home/user/deep/${i}` })
		await write(`/home/user/deep/${i}/f`, 'x')
		const { events } = await fs('GetWatcherEvents', { watcherId })
		assert.ok(has(events, `${i}`, 'CREATE') && has(events, `${i}/f`, 'WRITE'), JSON.stringify(events))
	}
	await fs('RemoveWatcher', { watcherId })
})
