// SPDX-License-Identifier: Apache-2.0
// Which servers a test file has started. Each one that runs has a record in the directory that ATOLL_TEST_LEDGER names.
// A file that is killed cannot stop its servers: the runner ends what the records name. A process is named by pid and
// start time, so that a pid that the kernel has given to another is left alone.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawn } from 'node:child_process'
import { alive, processesOf, slotOwner, startTimeOf, until } from './host.mjs'
import { endStateInKernel, reapLost } from './lost.mjs'
import { thin } from './thin.mjs'

const STOP_MS = 60000
const RUNS = /^atoll-run-/

function read(file) {
	try {
		return JSON.parse(fs.readFileSync(file, 'utf8'))
	} catch {
		return null
	}
}

const fileOf = (server) => path.join(process.env.ATOLL_TEST_LEDGER, `${path.basename(server.base)}.json`)

// Once it is started, and again when the pid of one that a wrapper started is known.
export function record(server, pid) {
	if (process.env.ATOLL_TEST_LEDGER)
		fs.writeFileSync(
			fileOf(server),
			JSON.stringify({
				pid,
				start: startTimeOf(pid),
				base: server.base,
				stateDir: server.inside?.state ?? server.stateDir,
				runDir: server.inside?.run ?? server.runDir,
				buildDir: server.buildDir,
			}),
		)
}

export function strike(server) {
	if (process.env.ATOLL_TEST_LEDGER) fs.rmSync(fileOf(server), { force: true })
}

const runs = ({ pid, start }) => alive(pid) && startTimeOf(pid) === start

// Whether there was something to end.
async function end(one) {
	if (!runs(one)) return false
	process.kill(one.pid, 'SIGTERM')
	if (!(await until(() => !runs(one), STOP_MS))) {
		process.kill(one.pid, 'SIGKILL')
		await until(() => !runs(one), STOP_MS)
	}
	return true
}

// The sandboxes of a server that was killed live on, and hold its slot. The server ends them itself when it starts
// and stops once more.
async function endSandboxes(one) {
	const slot = slotOwner(one.stateDir)
	if (slot === undefined || processesOf(slot).length === 0) return false
	const conf = path.join(one.base, 'atoll.conf')
	if (!fs.existsSync(conf) || !fs.existsSync(one.stateDir)) return endStateInKernel(one.stateDir)
	fs.writeFileSync(conf, fs.readFileSync(conf, 'utf8').replace(/^on_stop = .*$/m, 'on_stop = kill'))
	const child = spawn(
		path.join(one.buildDir, 'src/cli/atoll'),
		['serve', '--listen', '127.0.0.1:0', '--state', one.stateDir, '--run', one.runDir, '--config', conf],
		{ stdio: ['ignore', 'pipe', 'pipe'] },
	)
	let text = ''
	for (const out of [child.stdout, child.stderr])
		out.on('data', (chunk) => {
			text += chunk
		})
	const ended = new Promise((done) => child.once('close', done))
	await until(
		() => /^atoll: ready on/m.test(text) || child.exitCode !== null || child.signalCode !== null,
		STOP_MS,
	)
	child.kill('SIGTERM')
	await ended
	if (processesOf(slot).length > 0) await endStateInKernel(one.stateDir) // it could not start
	return true
}

// Ends all servers that are on record in `dir` and returns those of which anything was left: ['atoll-test-x (pid 1)'].
// Of the directory of one that had ended, the logs are kept for whoever looks for the reason, unless removeAll is set.
export async function reap(dir, removeAll = false) {
	const all = fs
		.readdirSync(dir)
		.filter((name) => name.endsWith('.json'))
		.map((name) => ({ name, ...read(path.join(dir, name)) }))
	const found = await Promise.all(
		all
			.filter((one) => one.pid)
			.map(async (one) => {
				const was = [await end(one), await endSandboxes(one)].some(Boolean)
				if (was || removeAll) fs.rmSync(one.base, { recursive: true, force: true })
				else thin(one.base)
				return was ? `${path.basename(one.base)} (pid ${one.pid})` : null
			}),
	)
	for (const { name } of all) fs.rmSync(path.join(dir, name), { force: true })
	return found.filter(Boolean)
}

// The process of a test file, which leads a group of its own.
export function recordFile(dir, pid) {
	fs.writeFileSync(path.join(dir, 'file'), JSON.stringify({ pid, start: startTimeOf(pid) }))
}

async function endFileOf(dir) {
	const file = read(path.join(dir, 'file'))
	if (!file || !runs(file)) return
	process.kill(-file.pid, 'SIGKILL')
	await until(() => !runs(file), STOP_MS)
}

// The directory of a run, with a mark by which others can tell whether the run goes on.
export function newRun() {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-run-'))
	fs.writeFileSync(
		path.join(dir, 'runner'),
		JSON.stringify({ pid: process.pid, start: startTimeOf(process.pid) }),
	)
	return dir
}

// Runs of which the runner is gone: what they left holds slots. Returns what was ended.
export async function reapDeadRuns() {
	const ended = await reapLost()
	for (const name of fs.readdirSync(os.tmpdir()).filter((one) => RUNS.test(one))) {
		const dir = path.join(os.tmpdir(), name),
			runner = read(path.join(dir, 'runner'))
		if (!runner || runs(runner)) continue
		const mine = path.join(os.tmpdir(), `atoll-dead-${process.pid}-${name}`)
		try {
			fs.renameSync(dir, mine) // of several runs that see it, one has it
		} catch {
			continue
		}
		for (const entry of fs.readdirSync(mine, { withFileTypes: true }).filter((one) => one.isDirectory())) {
			await endFileOf(path.join(mine, entry.name))
			ended.push(...(await reap(path.join(mine, entry.name), true)))
		}
		fs.rmSync(mine, { recursive: true, force: true })
	}
	return ended
}
