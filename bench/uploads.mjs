// SPDX-License-Identifier: Apache-2.0
// Uploads: 1,000 small files in one call, new and again, and one large file; time, and processor time of the front and
// atoll-init; beside them the same small files made by a program inside, which is what the kernel alone takes; with
// --against also of another build, in turns.
import crypto from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { envelope, headersOf } from './calls.mjs'
import { Caller, cpuNs, frontOf, initsOf, ratioOf, stats, timed } from './measure.mjs'
import { create, kill, serverOf } from './versus.mjs'

const CONFIG = {
	log_level: 'warn',
	pool_size_mb: 4096,
	pool_max_mb: 6144,
	default_disk_mb: 2048,
	default_memory_mb: 3072,
}
export const FILES = 1000
const FILE_BYTES = 1024
export const BOUNDARY = 'atoll-bench-boundary'
const LARGE = crypto.randomBytes(128 << 20)

export function parts(folder) {
	const data = 'x'.repeat(FILE_BYTES)
	const one = (i) =>
		`--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="${folder}/${i}"\r\n` +
		`Content-Type: application/octet-stream\r\n\r\n${data}\r\n`
	return Buffer.from(`${Array.from({ length: FILES }, (_, i) => one(i)).join('')}--${BOUNDARY}--\r\n`)
}

async function post({ caller, sbx }, path, body, type) {
	const res = await caller.send('POST', path, body, {
		...headersOf(sbx, 49983),
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

// Linked statically: the template need not have the libraries of this machine.
function smallFiles() {
	const source = path.join(path.dirname(fileURLToPath(import.meta.url)), 'small_files.c')
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-bench-'))
	const made = spawnSync('cc', ['-O2', '-static', '-o', `${dir}/small_files`, source], { encoding: 'utf8' })
	if (made.status !== 0) throw new Error(`cc: ${made.stderr || made.error?.message}`)
	const program = fs.readFileSync(`${dir}/small_files`)
	fs.rmSync(dir, { recursive: true })
	return program
}

async function inside({ caller, sbx }, command) {
	const message = envelope({ process: { cmd: '/bin/sh', args: ['-c', command] }, stdin: false })
	const res = await caller.send('POST', '/process.Process/Start', message, {
		...headersOf(sbx, 49983),
		'Content-Type': 'application/connect+json',
	})
	const parts = [...res.body.toString('latin1').matchAll(/"stdout":"([^"]*)"/g)]
	return parts.map((part) => Buffer.from(part[1], 'base64').toString()).join('')
}

async function byProgram(side) {
	const said = await inside(side, `/home/user/small_files /home/user/new/p${side.n++} ${FILES} ${FILE_BYTES}`)
	const [ms, cpuMs] = said.split(' ').map(Number)
	if (!(cpuMs > 0)) throw new Error(`small_files: '${said}'`)
	return { ms, cpuMs }
}

const WORK = {
	'1,000 new files, by a program inside': byProgram,
	'1,000 new files': (side) => many(side, `/home/user/new/${side.n++}`),
	'1,000 files again': (side) => many(side, '/home/user/again'),
	[`${LARGE.length >> 20} MiB`]: large,
}

async function begin(buildDir) {
	const server = await serverOf(buildDir, CONFIG).start()
	const side = { server, caller: new Caller(server, 1), n: 0, samples: {} }
	side.sbx = await create(side.caller, 'base')
	side.pids = [frontOf(server), initsOf(server)[0]]
	await post(side, '/files?path=/home/user/small_files&username=user', smallFiles(), 'application/octet-stream')
	await inside(side, 'mkdir -p /home/user/new; chmod +x /home/user/small_files')
	for (const work of Object.values(WORK)) await work(side)
	return side
}

async function sample(side, name) {
	const cpu = () => side.pids.reduce((sum, pid) => sum + cpuNs(pid), 0)
	const before = cpu()
	const done = await WORK[name](side)
	side.samples[name] ??= { ms: [], cpuMs: [] }
	side.samples[name].ms.push(done.ms ?? done)
	side.samples[name].cpuMs.push(done.cpuMs ?? (cpu() - before) / 1e6)
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
