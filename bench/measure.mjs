// SPDX-License-Identifier: Apache-2.0
// What all measurements share: samples, processes and memory of a server, plain calls over keep-alive.
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import { execFileSync } from 'node:child_process'
import { cgroupsOf, childrenOf, nameOf, processesOf, rssOf } from '../tests/lib/host.mjs'

function read(file) {
	try {
		return fs.readFileSync(file, 'utf8')
	} catch {
		return ''
	}
}

export function stats(samples) {
	const sorted = [...samples].sort((a, b) => a - b)
	const at = (q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]
	return { n: sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: sorted.at(-1) }
}

// How two things compare that were measured in turns, a[i] right beside b[i]. What else runs on the machine changes
// from second to second and by more than what is to be
// found out: the medians of two series may come from different seconds, the two halves of a pair do not. So the pairs
// are compared, and the median taken of that.
export function ratioOf(a, b) {
	return stats(a.map((value, i) => value / b[i])).p50
}

export async function timed(fn) {
	const began = performance.now()
	await fn()
	return performance.now() - began
}

export function frontOf(server) {
	return childrenOf(server.pid).find((pid) => nameOf(pid) === 'atoll-front')
}

// Resident memory of the daemons.
export function daemonRss(server) {
	const pids = Object.fromEntries(childrenOf(server.pid).map((pid) => [nameOf(pid), pid]))
	return {
		front: rssOf(pids['atoll-front']),
		warden: rssOf(server.pid),
		egress: pids['atoll-egress'] ? rssOf(pids['atoll-egress']) : 0,
	}
}

// The host's pids of the first process of every sandbox.
export function initsOf(server) {
	return processesOf(server.slot).filter(
		(pid) =>
			/^NSpid:.*\t1$/m.test(read(`/proc/${pid}/status`)) &&
			new RegExp(`/atoll${server.slot}/i[a-z0-9]{19}\\b`).test(read(`/proc/${pid}/cgroup`)),
	)
}

function pssOf(pid) {
	return Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) * 1024
}

// What one sandbox costs: the share of its atoll-init, and all that its cgroup is charged with.
export function sandboxMemory(server) {
	const inits = initsOf(server)
	const groups = cgroupsOf(server.slot)
		.filter((dir) => /\/i[a-z0-9]{19}$/.test(dir))
		.map((dir) => read(`${dir}/memory.usage_in_bytes`) || read(`${dir}/memory.current`))
		.filter(Boolean)
		.map(Number)
	return { initRss: stats(inits.map(rssOf)), initPss: stats(inits.map(pssOf)), cgroup: stats(groups) }
}

// What sandboxes cost with all that runs in them: the shares of all their processes, and what their cgroups are
// charged with.
export function pssOfGroup(server) {
	const sums = new Map()
	for (const pid of processesOf(server.slot)) {
		const id = new RegExp(`/atoll${server.slot}/(i[a-z0-9]{19})\\b`).exec(read(`/proc/${pid}/cgroup`))?.[1]
		if (id) sums.set(id, (sums.get(id) ?? 0) + pssOf(pid))
	}
	return { sandboxes: sums.size, pss: stats([...sums.values()]), cgroup: sandboxMemory(server).cgroup }
}

// CPU seconds that a process has used.
export function cpuSeconds(pid) {
	const fields = read(`/proc/${pid}/stat`)
		.replace(/^.*\) /, '')
		.split(' ')
	return (Number(fields[11]) + Number(fields[12])) / 100
}

// The same in nanoseconds, of the first thread.
export function cpuNs(pid) {
	return Number(read(`/proc/${pid}/schedstat`).split(' ')[0])
}

export function memAvailable() {
	return Number(/^MemAvailable:\s+(\d+)/m.exec(read('/proc/meminfo'))?.[1] ?? 0) * 1024
}

// Control API calls on kept connections; the time to the last byte of the answer comes with it.
export class Caller {
	constructor(server, connections) {
		this.url = new URL(server.url)
		this.key = server.key
		this.agent = new http.Agent({ keepAlive: true, maxSockets: connections })
	}

	call(method, path, body, more = {}) {
		const bytes = body === undefined ? '' : JSON.stringify(body)
		return this.send(method, path, bytes, { ...(bytes && { 'Content-Type': 'application/json' }), ...more })
	}

	send(method, path, bytes, more = {}) {
		const headers = { 'X-API-Key': this.key, 'Content-Length': Buffer.byteLength(bytes), ...more }
		return new Promise((done, fail) => {
			const began = performance.now()
			const req = http.request({
				host: this.url.hostname,
				port: this.url.port,
				method,
				path,
				headers,
				agent: this.agent,
			})
			req.once('error', fail)
			req.once('response', (res) => {
				const parts = []
				res.on('data', (part) => parts.push(part))
				res.once('error', fail)
				res.once('end', () =>
					done({
						status: res.statusCode,
						ms: performance.now() - began,
						body: Buffer.concat(parts),
					}),
				)
			})
			req.end(bytes)
		})
	}

	close() {
		this.agent.destroy()
	}
}

// Runs work(i) for 0..n-1, `width` at a time, until all are done or `stop` says so.
export async function inParallel(n, width, work, stop = () => false) {
	let next = 0
	await Promise.all(
		Array.from({ length: Math.min(width, n) }, async () => {
			while (next < n && !stop()) await work(next++)
		}),
	)
}

function git(dir, ...args) {
	try {
		return execFileSync('git', ['-C', dir, ...args], {
			encoding: 'utf8',
			stdio: ['ignore', 'pipe', 'ignore'],
		}).trim()
	} catch {
		return null
	}
}

export function machine(dir) {
	const changed = git(dir, 'status', '--porcelain')
	return {
		kernel: os.release(),
		cpus: os.cpus().length,
		cpu: os.cpus()[0]?.model.trim(),
		memory: os.totalmem(),
		node: process.versions.node,
		commit: git(dir, 'rev-parse', 'HEAD'),
		changed: changed === null ? null : changed !== '',
		load: os.loadavg(),
	}
}
