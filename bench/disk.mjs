// SPDX-License-Identifier: Apache-2.0
// Resumes from disk: the first one after a restart of the server, when nothing of the storage is in memory, the next
// ones, and those with everything in memory; with --against also of another build, in turns.
import fs from 'node:fs'
import { cgroupsOf, until } from '../tests/lib/host.mjs'
import { CONFIG } from './pause.mjs'
import { Caller, ratioOf, stats } from './measure.mjs'
import { create, execute, fromSnapshot, good, kill, prepareSnapshot, serverOf, warm } from './versus.mjs'

const TEMPLATES = { base: 'base', interpreter: 'code-interpreter-v1' }
const EACH = 4 /* sandboxes of each template that a restart finds */
const SAVED_MS = 60000

const isInterpreter = (what) => what === 'interpreter'

// Milliseconds that a sandbox is charged with: CRIU once it is in the sandbox's cgroups, and what it brings back.
function cpuOf(server, id) {
	for (const dir of cgroupsOf(server.slot).filter((name) => name.endsWith(`/${id}`))) {
		for (const file of ['cpuacct.usage', 'cpu.stat']) {
			const text = fs.existsSync(`${dir}/${file}`) ? fs.readFileSync(`${dir}/${file}`, 'utf8') : ''
			const n = /^(?:usage_usec )?(\d+)/.exec(text)
			if (n) return Number(n[1]) / (file === 'cpu.stat' ? 1e3 : 1e6)
		}
	}
	return NaN
}

async function begin(buildDir) {
	const server = serverOf(buildDir, { ...CONFIG, warm_pool_size: 0 })
	await server.start()
	const side = { server, caller: new Caller(server, 8), samples: {}, sandboxes: [] }
	await prepareSnapshot(side)
	for (const [what, template] of Object.entries(TEMPLATES)) {
		for (let i = 0; i < EACH; i++) {
			const sbx = await create(side.caller, template)
			if (isInterpreter(what)) await execute(side.caller, sbx, 'import pandas\nx = 1')
			side.sandboxes.push({ what, sbx })
		}
	}
	return side
}

const add = (side, what, value) => (side.samples[what] ??= []).push(value)

async function resume(side, { what, sbx }, name) {
	const res = await side.caller.call('POST', `/sandboxes/${sbx.sandboxID}/connect`, { timeout: 3600 })
	good(res, 201)
	add(side, name, res.ms)
	add(side, `${name}, its CPU`, cpuOf(side.server, sbx.sandboxID))
	if (isInterpreter(what)) await execute(side.caller, sbx, 'x')
}

async function restart(side) {
	const { server } = side
	for (const { sbx } of side.sandboxes)
		good(await side.caller.call('POST', `/sandboxes/${sbx.sandboxID}/pause`, {}), 204)
	for (const { sbx } of side.sandboxes) {
		const info = async () => good(await side.caller.call('GET', `/sandboxes/${sbx.sandboxID}`), 200)
		if (!(await until(async () => (await info()).pausedMemory === 'ram+disk', SAVED_MS, 100)))
			throw new Error('memory is not written to disk')
	}
	side.caller.close()
	server.signal('SIGTERM')
	await server.exited
	await server.start()
	side.caller = new Caller(server, 8)
	await warm(side)
}

async function afterRestart(side) {
	await restart(side)
	const met = new Set()
	for (const one of side.sandboxes) {
		const name = `${one.what} from disk, ${met.has(one.what) ? 'later' : 'the first after a restart'}`
		met.add(one.what)
		await resume(side, one, name)
	}
}

async function inMemory(side) {
	add(side, 'interpreter from a snapshot in memory', (await fromSnapshot(side)).resume)
}

export async function disk(buildDir, against, quick) {
	const sides = []
	let clean = true
	try {
		for (const dir of [buildDir, against].filter(Boolean)) sides.push(await begin(dir))
		for (const [round, rounds] of [
			[afterRestart, quick ? 2 : 6],
			[inMemory, quick ? 15 : 60],
		])
			for (let i = 0; i < rounds; i++)
				for (const side of i % 2 ? sides : sides.toReversed()) await round(side)
		for (const side of sides) for (const { sbx } of side.sandboxes) await kill(side.caller, sbx)
	} finally {
		for (const { server, caller } of sides) {
			caller.close()
			clean = (await server.stop()).clean && clean
		}
	}
	const [ours, theirs] = sides.map((s) => s.samples)
	return {
		clean,
		rows: Object.keys(ours).map((what) => ({
			what,
			ours: stats(ours[what]),
			theirs: theirs && stats(theirs[what]),
			ratio: theirs && ratioOf(ours[what], theirs[what]),
		})),
	}
}
