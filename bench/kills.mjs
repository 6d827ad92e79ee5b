// SPDX-License-Identifier: Apache-2.0
// Many kills at once: until all are answered, until nothing is left, and what a create takes before, among and after
// them.
import { cgroupsOf, linksOf, preparedOf, until } from '../tests/lib/host.mjs'
import { inParallel, stats } from './measure.mjs'
import { create, kill, versus, warm } from './versus.mjs'

const WIDTH = 32
const AROUND = 20 /* creates before and after */
const GONE_MS = 120000

export const config = (n) => ({
	log_level: 'warn',
	max_sandboxes: n + 8,
	pool_size_mb: 4096,
	default_memory_mb: 512,
	warm_pool_size: 0,
})

async function oneCreate(caller) {
	const began = performance.now()
	const sbx = await create(caller, 'base')
	const ms = performance.now() - began
	await kill(caller, sbx)
	return ms
}

async function someCreates(caller, n) {
	const all = []
	while (all.length < n) all.push(await oneCreate(caller))
	return all
}

const left = ({ slot, pid }) =>
	linksOf(slot).length - preparedOf(pid) + cgroupsOf(slot).filter((dir) => /\/i[a-z0-9]{19}$/.test(dir)).length

// The creates among the kills are one client's, one after the other.
async function round(side, n) {
	const { server, caller } = side
	const made = []
	const before = await someCreates(caller, AROUND)
	await inParallel(n, 8, async () => made.push(await create(caller, 'base')))
	const among = []
	const began = performance.now()
	let answered = 0
	const creating = (async () => {
		do among.push(await oneCreate(caller))
		while (!answered)
	})()
	await inParallel(n, WIDTH, (i) => kill(caller, made[i]))
	answered = performance.now() - began
	await creating
	if (!(await until(() => left(server) === 0, GONE_MS, 20)))
		throw new Error(`${left(server)} links and cgroups of ${n} sandboxes are left`)
	const gone = performance.now() - began
	const after = await someCreates(caller, AROUND)
	return { answered, gone, before: stats(before).p50, among: stats(among).max, after: stats(after).p50 }
}

export async function kills(server, caller, n) {
	await warm({ caller })
	return { n, ...(await round({ server, caller }, n)) }
}

// A few rounds of each build: what is compared are the two halves of each.
export async function killsAgainst(buildDir, otherDir, n, quick) {
	return { n, ...(await versus(buildDir, otherDir, config(n), quick ? 3 : 5, (side) => round(side, n), warm, 1)) }
}
