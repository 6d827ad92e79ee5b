// SPDX-License-Identifier: Apache-2.0
// The runner behind tests/run: lanes side by side, each with a server of its own for the files that share one; one node
// process per test file, one summary line.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { execFileSync, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { built } from '../ckpt/drive.mjs'
import { isFirst, queues } from './lanes.mjs'
import { newRun, reap, reapDeadRuns, recordFile } from './ledger.mjs'
import { installClients } from './npm.mjs'
import { Reports } from './reports.mjs'
import { newServer, tail } from './server.mjs'
import { lockMachine, waitForSlots } from './slots.mjs'
import { Times, cpuOfServer } from './times.mjs'

const HERE = path.dirname(fileURLToPath(import.meta.url))
const TESTS = path.dirname(HERE)
const SUITES = ['smoke', 'docs', 'e2e', 'console', 'escape', 'compat', 'ckpt', 'torture', 'soak']
// for hangs alone: the longest takes 3 minutes on a busy machine
const FILE_MS = (process.env.ATOLL_LONG ? 600 : process.argv.includes('--asan') ? 30 : 15) * 60 * 1000
const STOP_MS = 20000 // for a file to end by itself after SIGTERM
const FILE_SLOTS = 3 // instance slots that are free when a file begins: most start one or two servers
// ... and when a lane does, beside the first: lanes of several runs must not take all that their files need
const LANE_SLOTS = 6
const PROGRAMS = [
	'src/cli/atoll',
	'src/warden/atolld',
	'src/front/atoll-front',
	'src/init/atoll-init',
	'src/egress/atoll-egress',
	'src/agent/atoll-agent',
	'src/refusals/atoll-refusals',
	'src/webhooks/atoll-webhooks',
	'src/oidc/atoll-oidc',
]

function usage(text) {
	console.error(
		`${text}\nusage: tests/run [--build-dir DIR] [--only PATTERN] [--except PATTERN] [--jobs N] ` +
			`[--asan] [--keep]`,
	)
	process.exit(2)
}

// Files wait more than they compute, so there are more lanes than processors; a lane wants two gigabytes of memory.
function defaultJobs() {
	return Math.max(1, Math.min(os.availableParallelism() + 2, Math.floor(os.totalmem() / 2 ** 31), 6))
}

function options(argv) {
	const opt = {
		buildDir: path.join(path.dirname(TESTS), 'build'),
		only: '',
		except: null,
		jobs: defaultJobs(),
		asan: false,
		keep: false,
	}
	for (let i = 0; i < argv.length; i++) {
		if (argv[i] === '--build-dir')
			opt.buildDir = path.resolve(argv[++i] ?? usage('--build-dir wants a directory'))
		else if (argv[i] === '--only') opt.only = argv[++i] ?? usage('--only wants a pattern')
		else if (argv[i] === '--except') opt.except = argv[++i] ?? usage('--except wants a pattern')
		else if (argv[i] === '--jobs' && /^[1-9]$/.test(argv[i + 1])) opt.jobs = Number(argv[++i])
		else if (argv[i] === '--asan') opt.asan = true
		else if (argv[i] === '--keep') opt.keep = true
		else usage(`unknown option '${argv[i]}'`)
	}
	return opt
}

function testFiles({ only, except }) {
	const all = SUITES.flatMap((suite) =>
		fs
			.readdirSync(path.join(TESTS, suite), { recursive: suite === 'e2e' })
			.filter((name) => name.endsWith('.test.mjs'))
			.sort()
			.map((name) => `${suite}/${name}`),
	)
	return all.filter((file) => file.includes(only) && !(except && new RegExp(except).test(file)))
}

const STOPPED = new Promise(() => {}) // stopNow() ends the process
const running = new Set() // the files whose turn it is

// A group of its own: a file that hangs is ended with all that it started.
function endFile(child, signal) {
	try {
		process.kill(-child.pid, signal)
	} catch (err) {
		if (err.code !== 'ESRCH') throw err
	}
}

// One that has not ended after a while, because it stops servers of its own, is killed.
async function endFileSoon(child) {
	if (child.exitCode !== null || child.signalCode !== null) return
	const gone = new Promise((done) => child.once('exit', done))
	endFile(child, 'SIGTERM')
	const timer = setTimeout(() => endFile(child, 'SIGKILL'), STOP_MS)
	await gone
	clearTimeout(timer)
}

function readCases(out) {
	const text = fs.existsSync(out) ? fs.readFileSync(out, 'utf8') : ''
	return text
		.split('\n')
		.filter(Boolean)
		.map((line) => JSON.parse(line))
}

function playFile(file, env, out, log) {
	return new Promise((done) => {
		const child = spawn(
			process.execPath,
			[
				'--no-warnings',
				'--import',
				path.join(HERE, 'cost.mjs'),
				`--test-reporter=${path.join(HERE, 'reporter.mjs')}`,
				`--test-reporter-destination=${out}`,
				path.join(TESTS, file),
			],
			{ env, detached: true, stdio: ['ignore', fs.openSync(log, 'w'), fs.openSync(log, 'a')] },
		)
		running.add(child)
		recordFile(path.dirname(out), child.pid)
		let late = false
		const timer = setTimeout(() => {
			late = true
			endFile(child, 'SIGKILL')
		}, FILE_MS)
		child.once('exit', (code, signal) => {
			clearTimeout(timer)
			running.delete(child)
			done({ code, signal, late })
		})
	})
}

// Runs a file to its end, and ends what it left. Returns its cases and its processor time.
async function runFile(file, env, lane) {
	const out = path.join(lane.dir, file.replace(/\W/g, '_') + '.jsonl')
	const [log, cost] = ['log', 'cost'].map((end) => out.replace(/jsonl$/, end))
	const { code, signal, late } = await playFile(
		file,
		{ ...env, ATOLL_TEST_COST: cost, ATOLL_TEST_LEDGER: lane.dir },
		out,
		log,
	)
	const cases = readCases(out),
		left = await reap(lane.dir)
	if (signal || cases.length === 0 || (code !== 0 && !cases.some((c) => c.outcome === 'fail')))
		cases.push({
			name: `${file} runs to its end`,
			outcome: 'fail',
			why:
				(late ? `killed after ${FILE_MS / 60000} minutes` : (signal ?? `exit ${code}`)) +
				`\n${tail(log)}`,
		})
	if (left.length > 0)
		cases.push({
			name: `${file} stops its servers`,
			outcome: 'fail',
			why: `ended what it left: ${left.join(', ')}`,
		})
	return { cases, cpu: fs.existsSync(cost) ? Number(fs.readFileSync(cost, 'utf8')) : 0 }
}

const HEAD_LINES = 30,
	TAIL_LINES = 30

// The message of a failure begins with what was expected and often ends with what a program printed.
function ends(lines) {
	const left = lines.length - HEAD_LINES - TAIL_LINES
	if (left <= 0) return lines
	return [...lines.slice(0, HEAD_LINES), `... ${left} lines ...`, ...lines.slice(-TAIL_LINES)]
}

function print(label, cases, ms) {
	const n = (outcome) => cases.filter((c) => c.outcome === outcome).length
	const [pass, fail, skip] = ['pass', 'fail', 'skip'].map(n)
	const head = fail ? 'FAIL' : pass ? 'ok  ' : 'skip'
	const parts = [pass && `${pass} passed`, fail && `${fail} failed`, skip && `${skip} skipped`].filter(Boolean)
	console.log(`${head} ${label.padEnd(34)} ${parts.join(', ').padEnd(32)} ${(ms / 1000).toFixed(1)} s`)
	for (const c of cases) {
		if (c.outcome === 'fail')
			console.log(
				`       failed: ${c.name}\n${ends(c.why.split('\n'))
					.map((l) => `          ${l}`)
					.join('\n')}`,
			)
		else if (c.outcome === 'skip') console.log(`       skipped: ${c.name}${c.why ? `: ${c.why}` : ''}`)
	}
	return { pass, fail, skip }
}

// What is never a reason to skip: without these nothing would be tested, and green would be a lie.
function cannotRun(opt) {
	const [major, minor] = process.versions.node.split('.').map(Number)
	if (process.getuid() !== 0) return 'the server needs root'
	const missing = PROGRAMS.map((name) => path.join(opt.buildDir, name)).find((file) => !fs.existsSync(file))
	if (missing) return `${missing} is missing: make build`
	if (major < 20 || (major === 20 && minor < 18))
		return `the official SDK needs node 20.18 or later, this is ${process.versions.node}`
	return null
}

// Why a test was skipped, without what differs from one to the next.
function reasonOf({ why }) {
	return (why || 'no reason given').split('\n')[0]
}

// What was not tested is told last, as nobody reads it in the middle; that CRIU is missing most of all, as so much
// hangs on it.
function tellSkips(skips, noCriu) {
	const rows = [...skips].sort((a, b) => b[1] - a[1]),
		without = rows.filter(([why]) => /CRIU/.test(why))
	if (rows.length > 0)
		console.log(
			`skipped, by reason:\n${rows.map(([why, n]) => `${String(n).padStart(6)}  ${why}`).join('\n')}`,
		)
	if (without.length === 0 && !noCriu) return
	const count = without.reduce((sum, [, n]) => sum + n, 0),
		bar = '!'.repeat(100)
	console.log(
		`${bar}\n` +
			`!!! CRIU IS MISSING ON THIS MACHINE: ${count} TESTS WERE SKIPPED FOR IT.\n` +
			`!!! ${noCriu ?? without[0][0]}\n` +
			'!!! Pauses to disk, snapshots with memory, forks and restores are NOT tested. ' +
			`\`make template\` says why.\n${bar}`,
	)
}

function writeTimes(times, file, uid, gid) {
	times.write(file)
	fs.chownSync(file, uid, gid)
	console.log(`times of all files: ${file}`)
}

async function main() {
	const opt = options(process.argv.slice(2))
	const files = testFiles(opt),
		skips = new Map(),
		times = new Times()
	const sum = { pass: 0, fail: 0, skip: 0 }
	// cases of tests/escape that are one attempt each; one that could not be made is none
	const escapes = { tried: 0, won: 0 }
	const note = (label, cases, ms) => {
		const got = print(label, cases, ms)
		const attempts = cases.filter((c) => c.name.startsWith('attempt: ') && c.outcome !== 'skip')
		escapes.tried += attempts.length
		escapes.won += attempts.filter((c) => c.outcome === 'fail').length
		for (const c of cases.filter((one) => one.outcome === 'skip'))
			skips.set(reasonOf(c), (skips.get(reasonOf(c)) ?? 0) + 1)
		for (const k of Object.keys(sum)) sum[k] += got[k]
	}
	const npmDir = path.join(opt.buildDir, 'test-npm')
	const { uid, gid } = fs.statSync(path.dirname(npmDir), { throwIfNoEntry: false }) ?? { uid: 0, gid: 0 }
	const why = cannotRun(opt) ?? (files.length === 0 ? `no test file matches '${opt.only}'` : null)
	if (why) note('set-up', [{ name: 'the tests can run', outcome: 'fail', why }], 0)
	else await runAll(opt, files, npmDir, note, times)
	if (uid !== 0 && fs.existsSync(npmDir))
		// we are root, and the clone is somebody's
		execFileSync('chown', ['-R', '-h', `${uid}:${gid}`, npmDir])
	if (times.rows.length > 1) console.log(`\n${times.table().join('\n')}\n`)
	if (times.rows.length > 0) writeTimes(times, path.join(opt.buildDir, 'test-times.json'), uid, gid)
	tellSkips(skips, why ? null : built('tools').why)
	if (escapes.tried) console.log(`escape suite: attempts: ${escapes.tried}, succeeded: ${escapes.won}`)
	console.log(`${sum.pass} passed, ${sum.fail} failed, ${sum.skip} skipped`)
	process.exitCode = sum.fail ? 1 : 0
}

function usesClients(file) {
	return /\b(sdk|withSandbox)\(|first\.cjs/.test(fs.readFileSync(path.join(TESTS, file), 'utf8'))
}

// Also those that can do a part of their work without.
function wantsClients(file) {
	return usesClients(file) || file.startsWith('docs/pages') || file.startsWith('console/ui_')
}

// What every lane needs, and all that is left of it at the end.
class Run {
	constructor(opt, files, npmDir, note, times) {
		Object.assign(this, { opt, npmDir, note, times, lanes: [], stopping: false })
		this.noClients = files.some(wantsClients) ? installClients(npmDir) : null
		this.tmp = newRun()
		process.env.ATOLL_TEST_LEDGER = path.join(this.tmp, 'shared')
		fs.mkdirSync(process.env.ATOLL_TEST_LEDGER)
		this.reports = new Reports()
		Object.assign(process.env, this.reports.env(), opt.keep && { ATOLL_TEST_KEEP: '1' })
	}

	remove() {
		this.reports.remove()
		fs.rmSync(this.tmp, { recursive: true, force: true })
	}

	// Ends the files, then the servers that they or the lanes have started or are starting, which the ledgers name.
	async stopNow(code) {
		if (this.stopping) return
		this.stopping = true
		await Promise.all([...running].map(endFileSoon))
		const dirs = [...this.lanes.map((lane) => lane.dir), process.env.ATOLL_TEST_LEDGER]
		const ends = await Promise.allSettled(dirs.map((dir) => reap(dir, !this.opt.keep)))
		for (const { reason } of ends.filter((end) => end.status === 'rejected')) console.error(reason)
		// what is left is for the next run to find
		if (ends.every((end) => end.status === 'fulfilled')) this.remove()
		process.exit(code)
	}
}

function envOf(run, server) {
	const env = {
		...process.env,
		...server.env(),
		ATOLL_TEST_SERVER: server.share(),
		ATOLL_TEST_NPM: run.npmDir,
		...(run.opt.asan && { ATOLL_TEST_ASAN: '1' }),
	}
	delete env.E2B_DEBUG
	delete env.E2B_DOMAIN
	delete env.E2B_ACCESS_TOKEN
	return env
}

async function startServer(run, { label, number }, over) {
	const server = newServer(run.opt.buildDir),
		began = Date.now()
	try {
		if (!(await waitForSlots(number === 1 ? FILE_SLOTS + 1 : LANE_SLOTS, console.log, over))) {
			server.discard()
			return null
		}
		if (run.stopping) await STOPPED
		await server.start()
	} catch (err) {
		if (run.stopping) await STOPPED
		run.note(
			`${label} starts`,
			[{ name: `${label} starts`, outcome: 'fail', why: err.message }, ...run.reports.fresh()],
			Date.now() - began,
		)
		server.discard()
		return null
	}
	run.note(`${label} starts`, [{ name: `${label} starts`, outcome: 'pass' }], Date.now() - began)
	return server
}

async function stopServer(run, server, label) {
	const began = Date.now(),
		log = server.log,
		end = await server.stop({ remove: !run.opt.keep })
	run.note(
		`${label} stops`,
		[
			{
				name: 'stops on SIGTERM',
				outcome: end.how === 0 ? 'pass' : 'fail',
				why: `ended with ${end.how}, log ${log}\n${tail(log)}`,
			},
			{
				name: 'leaves nothing behind',
				outcome: end.clean ? 'pass' : 'fail',
				why: `${JSON.stringify(end.left)}, log ${log}`,
			},
			...run.reports.fresh(),
		],
		Date.now() - began,
	)
}

// One file, with what it wants of the machine.
async function turn(run, lane, file, env) {
	if (run.noClients && usesClients(file))
		return run.note(file, [{ name: file, outcome: 'skip', why: run.noClients }], 0)
	try {
		await waitForSlots(FILE_SLOTS, console.log)
	} catch (err) {
		return run.note(file, [{ name: file, outcome: 'fail', why: `not run: ${err.message}` }], 0)
	}
	const unlock = isFirst(file) ? await lockMachine() : () => {}
	if (run.stopping) await STOPPED
	const began = Date.now(),
		before = cpuOfServer(lane.server)
	const { cases, cpu } = await runFile(file, env, lane)
	await unlock()
	if (run.stopping) await STOPPED
	run.times.add(file, lane.number, began, cases, cpu + Math.max(0, cpuOfServer(lane.server) - before))
	return run.note(file, [...cases, ...run.reports.fresh()], Date.now() - began)
}

function newLane(run, number, label) {
	const lane = { number, label, dir: path.join(run.tmp, `lane${number}`), server: null }
	fs.mkdirSync(lane.dir)
	run.lanes.push(lane)
	return lane
}

// next() gives the file whose turn it is, or undefined; over() tells whether there is none left.
async function runLane(run, lane, next, over) {
	lane.server ??= await startServer(run, lane, over)
	if (!lane.server) return
	const env = envOf(run, lane.server)
	for (let file; (file = next());) await turn(run, lane, file, env)
}

async function stopLane(run, lane) {
	if (lane.server) await stopServer(run, lane.server, lane.label)
	lane.server = null
}

async function runAll(opt, files, npmDir, note, times) {
	const dead = await reapDeadRuns()
	if (dead.length > 0) console.log(`ended what a run that was killed had left: ${dead.join(', ')}`)
	const run = new Run(opt, files, npmDir, note, times),
		{ alone, first, rest } = queues(files, opt.jobs)
	process.on('SIGINT', () => run.stopNow(130))
	process.on('SIGTERM', () => run.stopNow(143))
	const count = Math.min(opt.jobs, files.length)
	const lanes = Array.from({ length: count }, (_, i) =>
		newLane(run, i + 1, count > 1 ? `server ${i + 1}` : 'server'),
	)
	await Promise.all(
		lanes.map(async (lane, i) => {
			await runLane(
				run,
				lane,
				() => (i === 0 && first.shift()) || rest.shift(),
				() => i > 0 && rest.length === 0,
			)
			if (i > 0) await stopLane(run, lane)
		}),
	)
	await runLane(
		run,
		lanes[0],
		() => alone.shift(),
		() => alone.length === 0,
	)
	await stopLane(run, lanes[0])
	await reap(process.env.ATOLL_TEST_LEDGER) // servers of lanes that did not stop
	for (const file of [...first, ...rest, ...alone])
		// no server to run them with
		note(file, [{ name: file, outcome: 'fail', why: 'not run: no server has started' }], 0)
	if (!opt.keep || run.reports.seen.size === 0) run.reports.remove()
	if (!opt.keep) fs.rmSync(run.tmp, { recursive: true, force: true })
}

await main()
