// SPDX-License-Identifier: Apache-2.0
// Uploads: 1,000 small files in one call, new and again, and one large file; time, and processor time of the front and
// atoll-init; with --against also of another build, in turns.
import crypto from 'node:crypto'
import { Caller, cpuNs, frontOf, initsOf, ratioOf, stats, timed } from './measure.mjs'
import { create, kill, serverOf } from './versus.mjs'

const CONFIG = {
	log_level: 'warn',
	pool_size_mb: 4096,
	pool_max_mb: 6144,
	default_disk_mb: 2048,
	default_memory_mb: 3072,
}
const FILES = 1000
const FILE_BYTES = 1024
const BOUNDARY = 'atoll-bench-boundary'
const LARGE = crypto.randomBytes(128 << 20)

function parts(folder) {
	const data = 'x'.repeat(FILE_BYTES)
	const one = (i) =>
		`--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="${folder}/${i}"\r\n` +
		`Content-Type: application/octet-stream\r\n\r\n${data}\r\n`
	return Buffer.from(`${Array.from({ length: FILES }, (_, i) => one(i)).join('')}--${BOUNDARY}--\r\n`)
}

async function post({ caller, sbx }, path, body, type) {
	const res = await caller.send('POST', path, body, {
		'E2b-Sandbox-Id': sbx.sandboxID,
		'E2b-Sandbox-Port': '49983',
		...(sbx.envdAccessToken && { 'X-Access-Token': sbx.envdAccessToken }),
		'Content-Type': type,
	})
	if (res.status !== 200) throw new Error(`an upload answers ${res.status}: ${res.body.toString().slice(0, 200)}`)
	return JSON.parse(res.body)
}

async function many(side, folder) {
	const body = parts(folder)
	const ms = await timed(async () => {
		const made = await post(side, '/files?username=user', body, `multipart/form-data; boundary=${BOUNDARY}`)
		if (made.length !== FILES) throw new Error(`${made.length} of ${FILES} files were written`)
	})
	return ms
}

const large = (side) =>
	timed(() => post(side, '/files?path=/home/user/large&username=user', LARGE, 'application/octet-stream'))

const WORK = {
	'1,000 new files': (side) => many(side, `/home/user/new/${side.n++}`),
	'1,000 files again': (side) => many(side, '/home/user/again'),
	[`${LARGE.length >> 20} MiB`]: large,
}

async function begin(buildDir) {
	const server = await serverOf(buildDir, CONFIG).start()
	const side = { server, caller: new Caller(server, 1), n: 0, samples: {} }
	side.sbx = await create(side.caller, 'base')
	side.pids = [frontOf(server), initsOf(server)[0]]
	for (const work of Object.values(WORK)) await work(side)
	return side
}

async function sample(side, name) {
	const cpu = () => side.pids.reduce((sum, pid) => sum + cpuNs(pid), 0)
	const before = cpu()
	const ms = await WORK[name](side)
	side.samples[name] ??= { ms: [], cpuMs: [] }
	side.samples[name].ms.push(ms)
	side.samples[name].cpuMs.push((cpu() - before) / 1e6)
}

export async function uploads(buildDir, otherDir, quick) {
	const sides = [],
		result = { clean: true, work: {} }
	try {
		for (const dir of otherDir ? [buildDir, otherDir] : [buildDir]) sides.push(await begin(dir))
		for (let i = 0; i < (quick ? 8 : 30); i++) {
			for (const name of Object.keys(WORK)) {
				for (const side of i % 2 ? sides : sides.toReversed()) await sample(side, name)
			}
		}
		for (const { caller, sbx } of sides) await kill(caller, sbx)
	} finally {
		for (const { server, caller } of sides) {
			caller.close()
			result.clean = (await server.stop()).clean && result.clean
		}
	}
	for (const name of Object.keys(WORK)) {
		const [ours, theirs] = sides.map((side) => side.samples[name])
		result.work[name] = {
			ms: sides.map((side) => stats(side.samples[name].ms)),
			cpuMs: sides.map((side) => stats(side.samples[name].cpuMs)),
			...(theirs && {
				ratio: ratioOf(ours.ms, theirs.ms),
				cpuRatio: ratioOf(ours.cpuMs, theirs.cpuMs),
			}),
		}
	}
	return result
}
