// SPDX-License-Identifier: Apache-2.0
// Every command and program of README, manual pages and docs/, run as it stands there. A block that is not run is listed with the reason.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { server } from '../lib/client.mjs'
import { pages, read, TOP } from './blocks.mjs'
import { all, needsNone, playAll } from './play.mjs'
import { leaveRunDir, pageServer, somebodysServer } from './stage.mjs'

const NOT_RUN_MAX = 12			// of all pages; each with a reason that is worth reading
const busy = await somebodysServer()
let own

before(async () => {
	if (!busy)
		own = await pageServer(server.buildDir, { pool_size_mb: 2048, warm_pool_size: 2, default_memory_mb: 1024, default_disk_mb: 1024 }).start()
})
after(async () => {
	if (!own)
		return
	spawnSync(path.join(server.buildDir, 'src/cli/atoll'), ['kill', '--all', '--state', own.stateDir])
	const end = await own.stop()
	leaveRunDir()
	assert.ok(end.clean, JSON.stringify(end.left))
})

playAll(all.filter((b) => !needsNone(b)), () => own, busy)

test('nearly all of them are run', () => {
	const none = all.filter((b) => b.what === 'not run')
	assert.ok(none.length <= NOT_RUN_MAX, none.map((b) => `${b.page}:${b.line}: ${b.why}`).join('\n'))
	assert.ok(none.every((b) => b.why.length > 15), 'each has a reason')
})

test('what pages link to is there', () => {
	const broken = pages().filter((page) => page.endsWith('.md')).flatMap((page) =>
		[...read(page).matchAll(/\]\((?!https?:)([^)#]+)(#[^)]*)?\)/g)].map((m) => m[1])
			.filter((to) => !fs.existsSync(path.resolve(TOP, path.dirname(page), to))).map((to) => `${page}: ${to}`))
	assert.deepEqual(broken, [])
})
