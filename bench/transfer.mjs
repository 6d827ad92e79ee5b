// SPDX-License-Identifier: Apache-2.0
// A large file through the API against the same bytes over plain loopback TCP, to and from the same file system, by
// the same client.
import fs from 'node:fs'
import path from 'node:path'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { mountsOf, rssOf } from '../tests/lib/host.mjs'
import { Caller, cpuSeconds, frontOf, initsOf, stats } from './measure.mjs'

const PROGRAM = path.join(path.dirname(fileURLToPath(import.meta.url)), 'transfer.py')
const FREE_MIN = 8e9

// Room for the file twice, in the pool and in the sandbox; and memory, as the sandbox's page cache counts as its own
// while the plain copy's counts as nobody's.
export const CONFIG = {
	log_level: 'warn',
	pool_size_mb: 4096,
	pool_max_mb: 6144,
	default_disk_mb: 2048,
	default_memory_mb: 3072,
}

export function cannotTransfer(dir) {
	const st = fs.statfsSync(dir)
	const free = st.bavail * st.bsize
	return free < FREE_MIN ? `${(free / 1e9).toFixed(1)} GB free in ${dir}, ${FREE_MIN / 1e9} needed` : null
}

function finished(child) {
	return new Promise((done, fail) => {
		child.once('error', fail)
		child.once('exit', (code, signal) =>
			code === 0 ? done() : fail(new Error(`${child.spawnargs.join(' ')}: ${signal ?? code}`)),
		)
	})
}

async function near(what, port, size, head = '') {
	const child = spawn('python3', [PROGRAM, what, port, size], { stdio: ['pipe', 'pipe', 'inherit'] })
	let text = ''
	child.stdout.on('data', (part) => {
		text += part
	})
	child.stdin.end(head)
	await finished(child)
	const got = JSON.parse(text)
	if (got.bytes !== size || !/^(plain|HTTP\/1\.1 2\d\d\b.*)$/.test(got.status))
		throw new Error(`${what} of ${size} bytes: ${got.status}, ${got.bytes} bytes`)
	return size / got.seconds / 1e6
}

// The pool is mounted in the warden's mount namespace only: the far end joins that, and stays in the host's network.
async function plain(server, what, file, size) {
	const child = spawn(
		'nsenter',
		['--mount', '--target', server.pid, 'python3', '-', what === 'put' ? 'sink' : 'source', file],
		{ stdio: ['pipe', 'pipe', 'inherit'] },
	)
	const over = finished(child)
	child.stdin.end(fs.readFileSync(PROGRAM))
	const port = await new Promise((done, fail) => {
		createInterface(child.stdout).once('line', done)
		over.catch(fail)
	})
	const speed = await near(what, port, size)
	await over
	return speed
}

function throughApi(server, sbx, what, size) {
	const head = [
		`${what === 'put' ? 'POST' : 'GET'} /files?path=/home/user/big&username=user HTTP/1.1`,
		`Host: ${new URL(server.url).host}`,
		`E2b-Sandbox-Id: ${sbx.sandboxID}`,
		'E2b-Sandbox-Port: 49983',
		...(sbx.envdAccessToken ? [`X-Access-Token: ${sbx.envdAccessToken}`] : []),
		...(what === 'put' ? ['Content-Type: application/octet-stream', `Content-Length: ${size}`] : []),
		'',
		'',
	].join('\r\n')
	return near(what, server.port, size, head)
}

function memoryWatch(pids) {
	const now = () => Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, rssOf(pid)]))
	const before = now(),
		most = { ...before }
	const timer = setInterval(() => {
		for (const [name, rss] of Object.entries(now())) most[name] = Math.max(most[name], rss)
	}, 10)
	return () => {
		clearInterval(timer)
		return { before, most, after: now() }
	}
}

// Plain and API copies take turns, so that whatever else the machine does hits both.
export async function transfers(server, size, rounds) {
	const pool = mountsOf(server.pid)
		.map((line) => line.split(' '))
		.find((f) => f.includes('btrfs') && f[4].endsWith('/pool'))?.[4]
	if (!pool) throw new Error('the pool of the server is not found')
	const file = path.join(pool, 'bench-plain-copy')
	const caller = new Caller(server, 1)
	const sbx = JSON.parse((await caller.call('POST', '/sandboxes', { templateID: 'base', timeout: 1800 })).body)
	const speeds = { put: { plain: [], api: [], cpu: [] }, get: { plain: [], api: [], cpu: [] } }
	const pids = { front: frontOf(server), init: initsOf(server)[0] }
	const cpuNow = () => [cpuSeconds(pids.front), cpuSeconds(pids.init)]
	await throughApi(server, sbx, 'put', 1 << 20)
	await throughApi(server, sbx, 'get', 1 << 20)
	const memory = memoryWatch(pids)
	let used
	try {
		for (let i = 0; i < rounds; i++) {
			for (const what of ['put', 'get']) {
				speeds[what].plain.push(await plain(server, what, file, size))
				const before = cpuNow()
				speeds[what].api.push(await throughApi(server, sbx, what, size))
				speeds[what].cpu.push(cpuNow().map((now, k) => ((now - before[k]) * 1e9) / size))
			}
		}
	} finally {
		used = memory()
		await finished(
			spawn('nsenter', ['--mount', '--target', server.pid, 'rm', '-f', file], { stdio: 'inherit' }),
		)
		await caller.call('DELETE', `/sandboxes/${sbx.sandboxID}`)
		caller.close()
	}
	const sum = ({ plain: floor, api, cpu }) => ({
		cpuPerGb: { front: stats(cpu.map((c) => c[0])).p50, init: stats(cpu.map((c) => c[1])).p50 },
		plain: stats(floor),
		api: stats(api),
		ratio: stats(api).p50 / stats(floor).p50,
		rounds: floor.map((mbps, i) => ({ plain: mbps, api: api[i] })),
	})
	return {
		size,
		fileSystem: 'the pool (btrfs), both',
		unit: 'MB/s',
		upload: sum(speeds.put),
		download: sum(speeds.get),
		memory: used,
	}
}
