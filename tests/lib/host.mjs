// SPDX-License-Identifier: Apache-2.0
// What one atoll instance holds on this host, seen from outside: processes, cgroups, links, tables, loops.
import fs from 'node:fs'
import path from 'node:path'
import { execFileSync, spawn } from 'node:child_process'

const UID_BASE = 0x10000000
const UID_STEP = 0x08000000
const AREA_BASE = 0x90000000 // uids of places from HOME on
const HOME = 2000
const AREA_PLACES = 2048

function read(file) {
	try {
		return fs.readFileSync(file, 'utf8')
	} catch {
		return ''
	}
}

function list(dir) {
	try {
		return fs.readdirSync(dir)
	} catch {
		return []
	}
}

function link(file) {
	try {
		return fs.readlinkSync(file)
	} catch {
		return ''
	}
}

// The slot (0..15) that a warden holds: it keeps the registry file of that number open and locked.
export function slotOf(wardenPid) {
	for (const fd of list(`/proc/${wardenPid}/fd`)) {
		const m = /\/atoll\/registry\/(\d+)$/.exec(link(`/proc/${wardenPid}/fd/${fd}`))
		if (m) return Number(m[1])
	}
	throw new Error(`warden ${wardenPid} holds no registry slot`)
}

// Whether another instance has taken the slot of one that has stopped: then what is numbered by the slot is not ours
// any more.
export function slotTaken(slot, notPid) {
	return list('/proc').some(
		(pid) =>
			/^\d+$/.test(pid) &&
			Number(pid) !== notPid &&
			nameOf(pid) === 'atolld' &&
			list(`/proc/${pid}/fd`).some((fd) =>
				link(`/proc/${pid}/fd/${fd}`).endsWith(`/atoll/registry/${slot}`),
			),
	)
}

// When a process began, in clock ticks since the machine did: pid and this name one process for ever.
export function startTimeOf(pid) {
	return statOf(pid)[19]
}

// /proc/PID/stat from its third field on: the name before it may hold anything.
function statOf(pid) {
	return read(`/proc/${pid}/stat`)
		.replace(/^.*\) /s, '')
		.split(' ')
}

const TICKS = 100

// Processor time in seconds: its own, and with that of the children it has waited for.
export function cpuOf(pid) {
	const [user, system, childUser, childSystem] = statOf(pid)
		.slice(11, 15)
		.map((ticks) => Number(ticks) / TICKS)
	return { own: user + system || 0, all: user + system + childUser + childSystem || 0 }
}

// Processor time of all that has ever run in the cgroup of a slot, in seconds.
export function cpuOfCgroups(slot) {
	const tops = walk('/sys/fs/cgroup', 4, (name) => name === `atoll${slot}`, [])
	const used = tops.map(
		(top) =>
			Number(read(path.join(top, 'cpuacct.usage'))) / 1e9 ||
			Number(/^usage_usec (\d+)/m.exec(read(path.join(top, 'cpu.stat')))?.[1] ?? 0) / 1e6,
	)
	return Math.max(0, ...used)
}

const REGISTRY = '/run/atoll/registry'

// The slot whose registry file names this state directory, or undefined.
export function slotOwner(stateDir) {
	return list(REGISTRY)
		.filter((name) => /^\d+$/.test(name))
		.map(Number)
		.find((slot) => read(path.join(REGISTRY, String(slot))).split('\n')[0] === stateDir)
}

// The areas of uids that a slot has, in their order.
export function areasOf(slot) {
	const line = /^areas (.*)$/m.exec(read(path.join(REGISTRY, String(slot))))
	return line ? line[1].split(' ').map(Number) : []
}

// The first of a sandbox's 65536 uids.
export function firstUidOf(slot, place) {
	if (place < HOME) return UID_BASE + slot * UID_STEP + (place + 1) * 65536
	const area = areasOf(slot)[Math.floor((place - HOME) / AREA_PLACES)]
	return AREA_BASE + area * UID_STEP + ((place - HOME) % AREA_PLACES) * 65536
}

// Slots that cannot be taken: a warden has the file locked, or sandboxes of one that is gone live on.
export function slotHolders() {
	const wardens = new Map()
	for (const pid of list('/proc').filter((name) => /^\d+$/.test(name)))
		for (const fd of nameOf(pid) === 'atolld' || commOf(pid) === 'ckpt-drive'
			? list(`/proc/${pid}/fd`)
			: []) {
			const m = /\/atoll\/registry\/(\d+)$/.exec(link(`/proc/${pid}/fd/${fd}`))
			if (m) wardens.set(Number(m[1]), Number(pid))
		}
	return list(REGISTRY)
		.filter((name) => /^\d+$/.test(name))
		.map(Number)
		.sort((a, b) => a - b)
		.map((slot) => ({
			slot,
			stateDir: read(path.join(REGISTRY, String(slot))).split('\n')[0],
			pid: wardens.get(slot),
		}))
		.filter(({ slot, pid }) => pid || processesOf(slot).length > 0)
}

// Host pids that belong to the slot: by their uid range, or by being one of the daemons of runDir.
export function processesOf(slot, runDir) {
	const low = UID_BASE + slot * UID_STEP
	const found = []
	for (const pid of list('/proc')) {
		if (!/^\d+$/.test(pid)) continue
		const uid = /^Uid:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))
		const mapped =
			uid &&
			((Number(uid[1]) >= low && Number(uid[1]) < low + UID_STEP) ||
				// in an area, which need not be known any more
				(Number(uid[1]) >= AREA_BASE && read(`/proc/${pid}/cgroup`).includes(`/atoll${slot}/`)))
		const daemon =
			runDir &&
			/(^|\/)atoll(d|-[a-z]+)?\0/.test(read(`/proc/${pid}/cmdline`)) &&
			read(`/proc/${pid}/cmdline`).includes(runDir)
		if (mapped || daemon) found.push(Number(pid))
	}
	return found
}

function walk(dir, depth, hit, out) {
	for (const name of list(dir)) {
		const full = path.join(dir, name)
		let st
		try {
			st = fs.lstatSync(full)
		} catch {
			continue
		}
		if (!st.isDirectory()) continue
		if (hit(name, full)) out.push(full)
		if (depth > 0) walk(full, depth - 1, hit, out)
	}
	return out
}

// All cgroup directories of a slot: the parent `atoll<N>` in every hierarchy and all below it.
export function cgroupsOf(slot) {
	const tops = walk('/sys/fs/cgroup', 4, (name) => name === `atoll${slot}`, [])
	return tops.flatMap((top) => [top, ...walk(top, 6, () => true, [])])
}

// What one live sandbox holds on the host, found by its address: the slot of a sandbox decides address, uids and link.
export function traceOf(slot, address) {
	const [, , high, low] = address.split('.').map(Number)
	const place = high * 256 + low - 256
	const uids = firstUidOf(slot, place)
	const pids = []
	for (const pid of list('/proc')) {
		const uid = /^\d+$/.test(pid) && /^Uid:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))
		if (uid && Number(uid[1]) >= uids && Number(uid[1]) < uids + 65536) pids.push(Number(pid))
	}
	const paths = new Set(
		pids.flatMap((pid) =>
			read(`/proc/${pid}/cgroup`)
				.split('\n')
				.map((line) => line.split(':').slice(2).join(':'))
				.filter((cg) => cg.includes(`atoll${slot}/`)),
		),
	)
	const cgroups = cgroupsOf(slot).filter((dir) => [...paths].some((cg) => dir.endsWith(cg)))
	return { place, pids, cgroups, link: `at${slot}s${place}` }
}

// The host's pid of a sandbox's pid 1.
export function initOf(trace) {
	return trace.pids.find((pid) => /^NSpid:.*\t1$/m.test(read(`/proc/${pid}/status`)))
}

// Processes and cgroups of a trace that are still there.
export function remains(trace) {
	return [...trace.pids.filter(alive), ...trace.cgroups.filter((dir) => fs.existsSync(dir))]
}

export function linksOf(slot) {
	return list('/sys/class/net').filter((name) => name.startsWith(`at${slot}s`))
}

export function tablesOf(slot) {
	let out = ''
	try {
		out = execFileSync('nft', ['list', 'tables'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
	} catch {
		return []
	}
	return out.split('\n').filter((line) => new RegExp(`\\batoll${slot}$`).test(line.trim()))
}

export function loopsOf(stateDir) {
	return list('/sys/block').filter(
		(dev) =>
			dev.startsWith('loop') &&
			read(`/sys/block/${dev}/loop/backing_file`).startsWith(stateDir + '/'),
	)
}

// Mounts in the warden's private mount namespace; a mount of the host's own namespace would show in hostMounts.
export function mountsOf(pid) {
	return read(`/proc/${pid}/mountinfo`).split('\n').filter(Boolean)
}

export function hostMounts(dir) {
	return mountsOf('self').filter((line) => line.includes(dir))
}

export function netnsOf(pids) {
	return new Set(pids.map((pid) => link(`/proc/${pid}/ns/net`)).filter(Boolean))
}

export function fdsOf(pid) {
	return list(`/proc/${pid}/fd`).length
}

// What it has open, by name. One that is closed meanwhile is none.
export function openOf(pid) {
	return list(`/proc/${pid}/fd`)
		.map((fd) => link(`/proc/${pid}/fd/${fd}`))
		.filter(Boolean)
}

// How many prepared networks wait: the warden holds the user namespace of each, and no other.
export function preparedOf(wardenPid) {
	return openOf(wardenPid).filter((to) => to.startsWith('user:')).length
}

export function childrenOf(pid) {
	return read(`/proc/${pid}/task/${pid}/children`).trim().split(/\s+/).filter(Boolean).map(Number)
}

export function commandOf(pid) {
	return read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim()
}

export function nameOf(pid) {
	return path.basename(read(`/proc/${pid}/cmdline`).split('\0')[0])
}

// What the kernel calls it; empty for one that has ended since it was listed.
export function commOf(pid) {
	return read(`/proc/${pid}/comm`).trim()
}

export function rssOf(pid) {
	return Number(/^VmRSS:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024
}

// R, S, D, T, Z, ...; empty for one that is gone.
export function stateOf(pid) {
	return /^State:\s+(\S)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? ''
}

export function alive(pid) {
	return !['', 'Z', 'X'].includes(stateOf(pid))
}

// The children of the warden that change a firewall or limits are copies of it; its helpers have names of their own.
export function copiesOf(pid) {
	return childrenOf(pid).filter((child) => commOf(child) === 'atolld')
}

export function gatewayOf(slot) {
	return `10.${200 + slot}.0.1`
}

export function addressesOfLoopback() {
	try {
		return execFileSync('ip', ['-o', '-4', 'addr', 'show', 'dev', 'lo'], { encoding: 'utf8' })
	} catch {
		return ''
	}
}

// Everything an instance may leave behind, as counts: all of it must be zero once the instance has stopped.
export function leftovers(slot, stateDir, runDir, wardenPid) {
	const own = {
		mounts: hostMounts(stateDir).length + hostMounts(runDir).length,
		loops: loopsOf(stateDir).length,
		sandboxes: list(path.join(runDir, 'sandboxes')).length,
	}
	if (slotTaken(slot, wardenPid)) return own
	const procs = processesOf(slot, runDir)
	return {
		...own,
		processes: procs.length,
		cgroups: cgroupsOf(slot).length,
		netns: netnsOf(procs).size,
		tables: tablesOf(slot).length,
		links: linksOf(slot).length,
		addresses: addressesOfLoopback().includes(`${gatewayOf(slot)}/`) ? 1 : 0,
		swaps: swapsOf(slot).length,
	}
}

// The compressed swap devices of a slot: they carry its label. Those of other servers come and go meanwhile.
export function swapsOf(slot) {
	return list('/sys/block').filter((name) => {
		if (!name.startsWith('zram') || !(Number(read(`/sys/block/${name}/disksize`)) > 0)) return false
		const head = Buffer.alloc(4096)
		try {
			const fd = fs.openSync(`/dev/${name}`, 'r')
			try {
				fs.readSync(fd, head, 0, head.length, 0)
			} finally {
				fs.closeSync(fd)
			}
		} catch {
			return false
		}
		return head.toString('latin1', 1052, 1068).split('\0')[0] === `atoll-${slot}`
	})
}

// What the pool of a server has: disks of sandboxes, checkpoints and volumes. It is mounted for the warden alone. Names
// with a dot are parts of the pool itself.
export function poolOf({ pid, runDir }) {
	const names = fs.readdirSync(`/proc/${pid}/root${runDir}/private/pool`)
	return names.filter((name) => !name.startsWith('.')).sort()
}

// The disks and checkpoints of what is paused, or was kept.
export const keptBy = (server) => poolOf(server).filter((name) => /\+[dm]$/.test(name))

// The state of a live instance that must come back to the same numbers after any amount of work. A prepared network has
// a link and two descriptors; how many there are depends on the work.
export function counts(server) {
	const { pid, slot, stateDir, runDir } = server
	const procs = processesOf(slot, runDir)
	const prepared = preparedOf(pid)
	return {
		processes: procs.length,
		cgroups: cgroupsOf(slot).length,
		mounts: mountsOf(pid).length,
		netns: netnsOf(procs).size,
		loops: loopsOf(stateDir).length,
		links: linksOf(slot).length - prepared,
		wardenFds: fdsOf(pid) - 2 * prepared,
		sandboxes: list(path.join(runDir, 'sandboxes')).length,
	}
}

// Runs a program to its end. text: what it wrote to both of its outputs.
export function outcomeOf(program, args) {
	return new Promise((done, fail) => {
		const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
		let text = ''
		for (const out of [child.stdout, child.stderr])
			out.on('data', (part) => {
				text += part
			})
		child.once('error', fail)
		child.once('close', (code) => done({ code, text }))
	})
}

// A test waits for a condition: until() below. This is for what is about time itself: something must not happen for a
// while, or is hit at one moment or another. Each use says which in a comment; tests/e2e/runner holds the tree to it.
export const sleep = (ms) => new Promise((done) => setTimeout(done, ms))

// Polls until check() returns something truthy; the last value comes back either way.
export async function until(check, ms = 10000, step = 50) {
	const end = Date.now() + ms
	for (;;) {
		const value = await check()
		if (value || Date.now() > end) return value
		await sleep(step)
	}
}
