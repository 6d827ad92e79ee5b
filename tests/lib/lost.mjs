// SPDX-License-Identifier: Apache-2.0
// Servers of tests of which only the kernel still knows: they or their sandboxes run, and the directories that the
// ledger names are gone, or no server can start on them. A slot is that of its owner in the registry, and nobody's
// while no server has it locked; the lock is held meanwhile, so no new server takes it.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawn, spawnSync } from 'node:child_process'
import {
	alive,
	cgroupsOf,
	gatewayOf,
	processesOf,
	slotHolders,
	slotOf,
	slotOwner,
	startTimeOf,
	tablesOf,
	until,
} from './host.mjs'

const REGISTRY = '/run/atoll/registry'
const END_MS = 60000

const ownerOf = (slot) => {
	try {
		return fs.readFileSync(path.join(REGISTRY, String(slot)), 'utf8').split('\n')[0]
	} catch {
		return ''
	}
}

// Holds the lock of a slot while use() runs. False: a server has it.
async function withLock(slot, use) {
	const child = spawn('flock', ['-n', path.join(REGISTRY, String(slot)), 'sh', '-c', 'echo held; exec cat'], {
		stdio: ['pipe', 'pipe', 'ignore'],
	})
	const ended = new Promise((done) => child.once('exit', done))
	const held = await Promise.race([
		new Promise((done) => child.stdout.once('data', () => done(true))),
		ended.then(() => false),
	])
	try {
		return held && (await use())
	} finally {
		child.stdin.end()
		await ended
	}
}

function write(file, text) {
	try {
		fs.writeFileSync(file, text)
	} catch {
		// not of this version of cgroups, or gone by now
	}
}

function pidsIn(cgroup) {
	try {
		return fs
			.readFileSync(path.join(cgroup, 'cgroup.procs'), 'utf8')
			.split('\n')
			.filter(Boolean)
			.map(Number)
	} catch {
		return []
	}
}

function kill(pid) {
	try {
		process.kill(pid, 'SIGKILL')
	} catch (err) {
		if (err.code !== 'ESRCH') throw err
	}
}

// One round; true once nothing is left. What is frozen does not die before it is thawed.
function endOnce(slot, runDir) {
	const cgroups = cgroupsOf(slot)
	for (const dir of cgroups) {
		if (fs.existsSync(path.join(dir, 'freezer.state'))) write(path.join(dir, 'freezer.state'), 'THAWED')
		if (fs.existsSync(path.join(dir, 'cgroup.freeze'))) write(path.join(dir, 'cgroup.freeze'), '0')
	}
	const pids = new Set([...processesOf(slot, runDir), ...cgroups.flatMap(pidsIn)])
	pids.forEach(kill)
	for (const dir of cgroups.sort((a, b) => b.length - a.length)) {
		try {
			fs.rmdirSync(dir)
		} catch {
			// somebody is still in it
		}
	}
	return pids.size === 0 && cgroupsOf(slot).length === 0
}

// Ends all that the owner of a slot has left in the kernel, and gives the slot back. False: the slot has another owner,
// or a server.
export async function endInKernel(slot, stateDir) {
	return withLock(slot, async () => {
		if (ownerOf(slot) !== stateDir) return false
		const gone = await until(() => endOnce(slot, path.join(path.dirname(stateDir), 'run')), END_MS)
		if (tablesOf(slot).length > 0) spawnSync('nft', ['delete', 'table', 'inet', `atoll${slot}`])
		spawnSync('ip', ['addr', 'del', `${gatewayOf(slot)}/32`, 'dev', 'lo'])
		if (gone) fs.truncateSync(path.join(REGISTRY, String(slot)))
		return gone
	})
}

export async function endStateInKernel(stateDir) {
	const slot = slotOwner(stateDir)
	return slot !== undefined && (await endInKernel(slot, stateDir))
}

// A directory that newServer() has made, and that is gone: no run can still want what is in its slot.
function isLost({ stateDir }) {
	const base = path.dirname(stateDir)
	return (
		path.basename(stateDir) === 'state' &&
		path.dirname(base) === os.tmpdir() &&
		/^atoll-test-\w{6}$/.test(path.basename(base)) &&
		!fs.existsSync(base)
	)
}

// A warden that still has the slot.
async function endWarden({ slot, pid }) {
	const start = startTimeOf(pid),
		runs = () => alive(pid) && startTimeOf(pid) === start
	if (!runs() || slotOf(pid) !== slot) return
	process.kill(pid, 'SIGTERM')
	if (await until(() => !runs(), END_MS)) return
	process.kill(pid, 'SIGKILL')
	await until(() => !runs(), END_MS)
}

// Returns the names of the servers of which something was ended.
export async function reapLost() {
	const ended = []
	const holders = slotHolders().map((one) => ({ ...one, stateDir: one.stateDir.split('\n')[0] }))
	for (const one of holders.filter(isLost)) {
		if (one.pid) await endWarden(one)
		const left = ownerOf(one.slot) === one.stateDir // else the warden has ended all by itself
		if (!left || (await endInKernel(one.slot, one.stateDir)))
			ended.push(path.basename(path.dirname(one.stateDir)))
	}
	return ended
}
