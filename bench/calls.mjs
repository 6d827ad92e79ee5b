// SPDX-License-Identifier: Apache-2.0
// What one execution and one command cost the front: system calls and processor time, with one client and with four;
// with --against also of another build, in turns.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { once } from 'node:events'
import { spawn, spawnSync } from 'node:child_process'
import { until } from '../tests/lib/host.mjs'
import { Caller, cpuNs, frontOf, inParallel, ratioOf, stats } from './measure.mjs'
import { create, kill, serverOf, warm } from './versus.mjs'

// As a default server: log, audit trail and notebooks are part of what a request costs.
export const CONFIG = { default_memory_mb: 1024 }
const ROUND = 200 /* requests of one sample of processor time */
const COUNTED = 400 /* requests whose system calls are counted */

export const headersOf = (sbx, port) => ({
	'E2b-Sandbox-Id': sbx.sandboxID,
	'E2b-Sandbox-Port': String(port),
	...(sbx.envdAccessToken && { 'X-Access-Token': sbx.envdAccessToken }),
})

async function execute({ caller, sbx }) {
	const res = await caller.call('POST', '/execute', { code: '1+1' }, headersOf(sbx, 49999))
	if (res.status !== 200 || !res.body.toString().includes('"text":"2"'))
		throw new Error(`execute answers ${res.status}: ${res.body.toString().slice(0, 200)}`)
}

export function envelope(message) {
	const body = Buffer.from(JSON.stringify(message)),
		head = Buffer.alloc(5)
	head.writeUInt32BE(body.length, 1)
	return Buffer.concat([head, body])
}

const COMMAND = envelope({ process: { cmd: '/bin/true', args: [] }, stdin: false })

async function command({ caller, sbx }) {
	const res = await caller.send('POST', '/process.Process/Start', COMMAND, {
		...headersOf(sbx, 49983),
		'Content-Type': 'application/connect+json',
		'Connect-Protocol-Version': '1',
	})
	if (res.status !== 200 || !res.body.toString().includes('"exited":true'))
		throw new Error(`a command answers ${res.status}: ${res.body.toString().slice(0, 200)}`)
}

const WORK = { execute, command }
const CLIENTS = [1, 4]

export function cannotCount() {
	return spawnSync('strace', ['-V']).status === 0 ? null : 'strace is missing'
}

// What strace has counted, by name.
function callsIn(file) {
	const calls = {}
	for (const line of fs.readFileSync(file, 'utf8').split('\n')) {
		const f = /^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?([a-z]\w*)$/.exec(line)
		if (f && f[2] !== 'total') calls[f[2]] = Number(f[1])
	}
	return calls
}

async function counted(side, work, width) {
	const file = path.join(os.tmpdir(), `atoll-bench-calls-${process.pid}`)
	const strace = spawn(
		'strace',
		['-c', '-f', '-U', 'time-percent,total-time,avg-time,calls,name', '-o', file, '-p', side.front],
		{
			stdio: ['ignore', 'ignore', 'inherit'],
		},
	)
	const over = once(strace, 'exit')
	const traced = () => !/^TracerPid:\t0$/m.test(fs.readFileSync(`/proc/${side.front}/status`, 'utf8'))
	try {
		if (!(await until(traced, 10000, 10))) throw new Error('strace does not attach')
		await inParallel(COUNTED, width, () => work(side))
		strace.kill('SIGINT')
		await over
		const all = Object.entries(callsIn(file)).map(([name, n]) => [name, n / COUNTED])
		return {
			sum: all.reduce((sum, [, n]) => sum + n, 0),
			by: Object.fromEntries(all.filter(([, n]) => n >= 0.05).sort((a, b) => b[1] - a[1])),
		}
	} finally {
		strace.kill('SIGINT')
		fs.rmSync(file, { force: true })
	}
}

async function cpuOf(side, work, width) {
	const before = cpuNs(side.front)
	await inParallel(ROUND, width, () => work(side))
	return (cpuNs(side.front) - before) / ROUND / 1000
}

async function begin(buildDir) {
	const server = await serverOf(buildDir, CONFIG).start()
	const side = { server, caller: new Caller(server, 8), front: frontOf(server) }
	await warm(side)
	side.sbx = await create(side.caller)
	for (const work of Object.values(WORK)) await inParallel(50, 4, () => work(side))
	return side
}

async function measure(sides, work, width, rounds) {
	const cpu = sides.map(() => [])
	for (let i = 0; i < rounds; i++) {
		for (const k of i % 2 ? sides.keys() : [...sides.keys()].reverse())
			cpu[k].push(await cpuOf(sides[k], work, width))
	}
	const calls = []
	for (const side of sides) calls.push(await counted(side, work, width))
	return {
		clients: width,
		cpuUs: cpu.map((v) => stats(v)),
		calls,
		...(sides.length > 1 && { cpuRatio: ratioOf(cpu[0], cpu[1]), callsRatio: calls[0].sum / calls[1].sum }),
	}
}

export async function calls(buildDir, otherDir, quick) {
	const sides = [],
		result = { clean: true }
	try {
		for (const dir of otherDir ? [buildDir, otherDir] : [buildDir]) sides.push(await begin(dir))
		for (const [name, work] of Object.entries(WORK)) {
			result[name] = []
			for (const width of CLIENTS)
				result[name].push(await measure(sides, work, width, quick ? 6 : 20))
		}
		for (const { caller, sbx } of sides) await kill(caller, sbx)
	} finally {
		for (const { server, caller } of sides) {
			caller.close()
			result.clean = (await server.stop()).clean && result.clean
		}
	}
	return result
}
