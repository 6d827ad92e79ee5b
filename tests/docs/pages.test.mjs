// SPDX-License-Identifier: Apache-2.0
// Every command and program of README, manual pages and docs/, run as it stands there. A block that is not run is
// listed with the reason.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { server } from '../lib/client.mjs'
import { pages, read, TOP } from './blocks.mjs'
import { all, needsNone, playAll } from './play.mjs'
import { leaveRunDir, pageServer, somebodysServer } from './stage.mjs'

const NOT_RUN_MAX = 12 // of all pages; each with a reason that is worth reading
const busy = await somebodysServer()
let own

before(async () => {
	if (!busy)
		own = await pageServer(server.buildDir, {
			pool_size_mb: 2048,
			warm_pool_size: 2,
			default_memory_mb: 1024,
			default_disk_mb: 1024,
		}).start()
})
after(async () => {
	if (!own) return
	spawnSync(path.join(server.buildDir, 'src/cli/atoll'), ['kill', '--all', '--state', own.stateDir])
	const end = await own.stop()
	leaveRunDir()
	assert.ok(end.clean, JSON.stringify(end.left))
})

playAll(
	all.filter((b) => !needsNone(b)),
	() => own,
	busy,
)

test('nearly all of them are run', () => {
	const none = all.filter((b) => b.what === 'not run')
	assert.ok(none.length <= NOT_RUN_MAX, none.map((b) => `${b.page}:${b.line}: ${b.why}`).join('\n'))
	assert.ok(
		none.every((b) => b.why.length > 15),
		'each has a reason',
	)
})

// The anchors that a page has, as GitHub makes them of its headings.
function anchors(page) {
	const headings = [
		...read(page)
			.replace(/^```[^]*?^```/gm, '')
			.matchAll(/^#+ (.*)$/gm),
	].map((m) => m[1])
	return new Set(
		headings.map((h) =>
			h
				.toLowerCase()
				.replace(/[^\p{L}\p{N}\s_-]/gu, '')
				.replace(/\s/g, '-'),
		),
	)
}

test('what pages link to is there', () => {
	const broken = []
	for (const page of pages().filter((p) => p.endsWith('.md'))) {
		for (const [, to, , anchor] of read(page).matchAll(/\]\((?!https?:)([^)#]*)(#([^)]*))?\)/g)) {
			const target = to ? path.join(path.dirname(page), to) : page
			if (!fs.existsSync(path.join(TOP, target)) || (anchor && !anchors(target).has(anchor)))
				broken.push(`${page}: ${to}${anchor ? `#${anchor}` : ''}`)
		}
	}
	assert.deepEqual(broken, [])
})
