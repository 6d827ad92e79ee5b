// SPDX-License-Identifier: Apache-2.0
// After 200 create/kill cycles everything is back at the starting count.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { api, createRaw, envd, killRaw, stream } from '../lib/client.mjs'
import { newServer } from '../lib/server.mjs'
import { childrenOf, counts, fdsOf, hostMounts, mountsOf, nameOf, rssOf, until } from '../lib/host.mjs'
import { execFileSync } from 'node:child_process'

const buildDir = JSON.parse(process.env.ATOLL_TEST_SERVER).buildDir
const CYCLES = process.env.ATOLL_TEST_ASAN ? 60 : 200

const frontOf = (pid) => childrenOf(pid).find((child) => nameOf(child) === 'atoll-front')

const enter = (own, ...argv) =>
	execFileSync('nsenter', ['-t', String(own.pid), '-m', '--', ...argv], {
		encoding: 'utf8',
		stdio: ['ignore', 'pipe', 'pipe'],
	})
const poolOf = (own) =>
	mountsOf(own.pid)
		.map((line) => line.split(' '))
		.find((f) => f.slice(f.indexOf('-') + 1)[0] === 'btrfs')?.[4]

// The pool as the warden sees it: number of subvolumes and bytes in use, through its own mount namespace.
function pool(own) {
	const mount = poolOf(own)
	if (!mount) return null
	const entries = enter(own, 'find', mount, '-mindepth', '1', '-maxdepth', '3', '-xdev').trim().split('\n').length
	enter(own, 'btrfs', 'filesystem', 'sync', mount) /* what is written late is in use, too */
	const used = Number(enter(own, 'df', '-B1M', '--output=used', mount).trim().split('\n').pop())
	const counters = enter(own, 'btrfs', 'qgroup', 'show', mount).trim().split('\n').length
	return { entries, counters, usedMB: used }
}

// Lines of the instance's table: a rule or a set element per sandbox would show.
function firewall(own) {
	return execFileSync('nft', ['list', 'table', 'inet', `atoll${own.slot}`], { encoding: 'utf8' }).match(
		/[\w.:"]+/g,
	).length
}

function look(own) {
	const front = frontOf(own.pid)
	return { ...counts(own), frontFds: fdsOf(front), firewall: firewall(own), pool: pool(own) }
}

const grown = (before, now) => now > before + 8 * 1024 * 1024

async function cycle(own, i) {
	const opt = { base: own.url, key: own.key }
	const sbx = await createRaw({}, opt)
	if (i % 4 === 0) {
		await envd(sbx, 'POST', '/files?path=/tmp/data', Buffer.alloc(1 << 20, 'x'), {
			base: own.url,
			headers: { 'Content-Type': 'application/octet-stream' },
		})
		const run = await stream(
			sbx,
			'process.Process/Start',
			{ process: { cmd: 'sleep', args: ['60'] }, stdin: false },
			{ base: own.url },
		)
		run.ended.catch(() => {})
	}
	if (i % 10 === 0) await api('POST', `/sandboxes/${sbx.sandboxID}/pause`, {}, opt)
	assert.equal((await killRaw(sbx, opt)).status, 204)
}

test(`${CYCLES} create/kill cycles leave nothing`, { timeout: 540000 }, async () => {
	const own = await newServer(buildDir).start()
	try {
		for (let i = 0; i < 8; i++) await cycle(own, i) /* warm-up: pools, caches, lazily opened files */
		let last = null
		await until(
			() => {
				/* a zygote that gets warm writes its memory to a file of the pool */
				const now = JSON.stringify(look(own))
				const same = now === last
				last = now
				return same && counts(own).links === 0
			},
			120000,
			3000,
		)
		const before = look(own)
		const rss = { front: rssOf(frontOf(own.pid)), warden: rssOf(own.pid) }
		for (let i = 0; i < CYCLES; i += 4) await Promise.all([0, 1, 2, 3].map((k) => cycle(own, i + k)))
		let now
		const same = await until(
			() => {
				now = look(own)
				return (
					Object.keys(before).every((key) => key === 'pool' || now[key] <= before[key]) &&
					(!now.pool ||
						(now.pool.entries <= before.pool.entries &&
							now.pool.counters <= before.pool.counters &&
							now.pool.usedMB <= before.pool.usedMB + 16))
				)
			},
			90000,
			500,
		)
		assert.ok(same, `before ${JSON.stringify(before)}\nafter  ${JSON.stringify(now)}`)
		assert.deepEqual(hostMounts(own.stateDir), [])
		assert.deepEqual(hostMounts(own.runDir), [])
		if (!process.env.ATOLL_TEST_ASAN) {
			assert.ok(
				!grown(rss.front, rssOf(frontOf(own.pid))),
				`the front grew from ${rss.front} to ${rssOf(frontOf(own.pid))}`,
			)
			assert.ok(
				!grown(rss.warden, rssOf(own.pid)),
				`the warden grew from ${rss.warden} to ${rssOf(own.pid)}`,
			)
		}
	} finally {
		const end = await own.stop()
		assert.equal(end.how, 0)
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})
