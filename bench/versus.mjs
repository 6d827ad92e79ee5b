// SPDX-License-Identifier: Apache-2.0
// Two builds in one run, in turns (--against BUILD_DIR): a server of each, and what one does right beside what the
// other does.
import { until } from '../tests/lib/host.mjs'
import { newServer } from '../tests/lib/server.mjs'
import { Caller, ratioOf, stats } from './measure.mjs'

const TEMPLATE = 'code-interpreter-v1'
const WARM_UP = 3 /* rounds that do not count */
const WARM_MS = 180000 /* a busy machine needs longer, and so does a single processor */
const WARM_ROW = 5 /* sandboxes in a row that come from the warm interpreter */

// A server of either build. A build of some time ago does not know the key image_packages.
export const serverOf = (buildDir, config) => newServer(buildDir, { ...config, image_packages: undefined })

export function good(res, ...statuses) {
	if (!statuses.includes(res.status)) throw new Error(`${res.status}: ${res.body.toString().slice(0, 300)}`)
	return res.body.length ? JSON.parse(res.body) : null
}

export async function create(caller, templateID = TEMPLATE) {
	return good(await caller.call('POST', '/sandboxes', { templateID, timeout: 3600 }), 201)
}

export async function execute(caller, sbx, code) {
	const headers = {
		'E2b-Sandbox-Id': sbx.sandboxID,
		'E2b-Sandbox-Port': '49999',
		...(sbx.envdAccessToken && { 'X-Access-Token': sbx.envdAccessToken }),
	}
	const res = await caller.call('POST', '/execute', { code }, headers)
	const text = res.body.toString()
	if (res.status !== 200 || text.includes('"type":"error"') || text.includes('"type": "error"'))
		throw new Error(`${code}: ${res.status} ${text.slice(0, 300)}`)
	return text
}

export async function kill(caller, sbx) {
	good(await caller.call('DELETE', `/sandboxes/${sbx.sandboxID}`), 204)
}

// round(side) returns { what: ms }; the sides take turns in going first.
export async function versus(buildDir, otherDir, config, rounds, round, prepare = warm, warmUp = WARM_UP) {
	const sides = []
	let clean = true
	try {
		for (const dir of [buildDir, otherDir]) {
			const server = serverOf(dir, config)
			await server.start()
			sides.push({ server, caller: new Caller(server, 32), samples: {} })
			await prepare(sides.at(-1))
		}
		for (let i = -warmUp; i < rounds; i++) {
			for (const side of i % 2 ? sides : sides.toReversed()) {
				for (const [what, ms] of Object.entries(await round(side)))
					i >= 0 && (side.samples[what] ??= []).push(ms)
			}
		}
	} finally {
		for (const { server, caller } of sides) {
			caller.close()
			clean = (await server.stop()).clean && clean
		}
	}
	const [ours, theirs] = sides.map((s) => s.samples)
	return {
		clean,
		...Object.fromEntries(
			Object.keys(ours).map((what) => [
				what,
				{
					ours: stats(ours[what]),
					theirs: stats(theirs[what]),
					ratio: ratioOf(ours[what], theirs[what]),
				},
			]),
		),
	}
}

// What warms itself after a start of the server takes some seconds: until some new sandboxes in a row come from the
// template's warm interpreter. That one has pandas loaded; one that a sandbox starts for itself has not.
export async function warm({ caller }, onSample = () => {}) {
	let row = 0
	const ready = await until(
		async () => {
			const began = performance.now()
			const sbx = await create(caller)
			const text = await execute(caller, sbx, "import sys; 'pandas' in sys.modules")
			onSample(performance.now() - began)
			await kill(caller, sbx)
			row = /"text": ?"True"/.test(text) ? row + 1 : 0
			return row === WARM_ROW
		},
		WARM_MS,
		10,
	)
	if (!ready) throw new Error('the server does not get warm')
}

// Create to the first result without a pool.
export const firstResult = async ({ caller }) => {
	const began = performance.now()
	const sbx = await create(caller)
	const created = performance.now()
	await execute(caller, sbx, '1+1')
	const done = performance.now()
	await kill(caller, sbx)
	return { create: created - began, first: done - began }
}

// A sandbox that comes from a snapshot with its memory: what a resume from disk does, without the restart of the
// server.
export const prepareSnapshot = async (side) => {
	await warm(side)
	const sbx = await create(side.caller)
	await execute(side.caller, sbx, 'import pandas\nx = 1')
	side.snapshot = good(
		await side.caller.call('POST', `/sandboxes/${sbx.sandboxID}/snapshots`, {}),
		201,
	).snapshotID
	await kill(side.caller, sbx)
}

export const fromSnapshot = async ({ caller, snapshot }) => {
	const began = performance.now()
	const sbx = await create(caller, snapshot)
	const resumed = performance.now()
	await execute(caller, sbx, 'x')
	const done = performance.now()
	await kill(caller, sbx)
	return { resume: resumed - began, 'resume and result': done - began }
}
