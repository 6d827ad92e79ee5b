// SPDX-License-Identifier: Apache-2.0
// The runner behind tests/run: lanes side by side, each with a server of its own for the files that share one; one node process per test
// file, one summary line.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { execFileSync, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { installClients } from './npm.mjs'
import { Reports } from './reports.mjs'
import { newServer, tail } from './server.mjs'

const HERE = path.dirname(fileURLToPath(import.meta.url))
const TESTS = path.dirname(HERE)
const SUITES = ['docs', 'e2e', 'escape', 'compat', 'ckpt', 'torture', 'soak']
const FILE_MS = (process.env.ATOLL_LONG ? 600 : process.argv.includes('--asan') ? 30 : 15) * 60 * 1000	// for hangs alone: the longest takes 3 minutes on a busy machine
const PROGRAMS = ['src/cli/atoll', 'src/warden/atolld', 'src/front/atoll-front', 'src/init/atoll-init', 'src/egress/atoll-egress', 'src/agent/atoll-agent', 'src/refusals/atoll-refusals', 'src/webhooks/atoll-webhooks']

function usage(text) {
	console.error(`${text}\nusage: tests/run [--build-dir DIR] [--only PATTERN] [--jobs N] [--asan] [--keep]`)
	process.exit(2)
}

function options(argv) {
	const opt = { buildDir: path.join(path.dirname(TESTS), 'build'), only: '', jobs: 2, asan: false, keep: false }
	for (let i = 0; i < argv.length; i++) {
		if (argv[i] === '--build-dir')
			opt.buildDir = path.resolve(argv[++i] ?? usage('--build-dir wants a directory'))
		else if (argv[i] === '--only')
			opt.only = argv[++i] ?? usage('--only wants a pattern')
		else if (argv[i] === '--jobs' && /^[1-9]$/.test(argv[i + 1]))
			opt.jobs = Number(argv[++i])
		else if (argv[i] === '--asan')
			opt.asan = true
		else if (argv[i] === '--keep')
			opt.keep = true
		else
			usage(`unknown option '${argv[i]}'`)
	}
	return opt
}

function testFiles(only) {
	const all = SUITES.flatMap((suite) => fs.readdirSync(path.join(TESTS, suite))
		.filter((name) => name.endsWith('.test.mjs')).sort().map((name) => `${suite}/${name}`))
	return all.filter((file) => file.includes(only))
}

// Files that want something of the machine for themselves: the default directories and ports, or all of its memory. One lane has these.
const FIRST_LANE = [/^docs\//, /^compat\/(debug_ports|make_run)/, /^e2e\/(capacity|instances|start|systemd)/]
// Those that take minutes begin early, so that no lane is left alone with one at the end.
const SLOW = [/^torture\//, /^soak\//, /^e2e\/(pause|restart|template_build|images_build|snapshots)/, /^escape\/(selftest|shared)/, /^compat\/clients/]

function queues(files, jobs) {
	const first = jobs > 1 ? files.filter((file) => FIRST_LANE.some((like) => like.test(file))) : []
	const rest = files.filter((file) => !first.includes(file))
	const slow = jobs > 1 ? rest.filter((file) => SLOW.some((like) => like.test(file))) : []
	return { first, rest: [...slow, ...rest.filter((file) => !slow.includes(file))] }
}

const running = new Set()	// the files whose turn it is

function runFile(file, env, tmp) {
	const out = path.join(tmp, file.replace(/\W/g, '_') + '.jsonl')
	const log = out.replace(/jsonl$/, 'log')
	return new Promise((done) => {
		const child = spawn(process.execPath, ['--no-warnings', `--test-reporter=${path.join(HERE, 'reporter.mjs')}`,
			`--test-reporter-destination=${out}`, path.join(TESTS, file)],
		{ env, stdio: ['ignore', fs.openSync(log, 'w'), fs.openSync(log, 'a')] })
		running.add(child)
		const timer = setTimeout(() => child.kill('SIGKILL'), FILE_MS)
		child.once('exit', (code, signal) => {
			clearTimeout(timer)
			running.delete(child)
			const text = fs.existsSync(out) ? fs.readFileSync(out, 'utf8') : ''
			const cases = text.split('\n').filter(Boolean).map((line) => JSON.parse(line))
			const broken = signal || cases.length === 0 || (code !== 0 && !cases.some((c) => c.outcome === 'fail'))
			if (broken)
				cases.push({ name: `${file} runs to its end`, outcome: 'fail', why: `${signal ?? `exit ${code}`}\n${tail(log)}` })
			done(cases)
		})
	})
}

function print(label, cases, ms) {
	const n = (outcome) => cases.filter((c) => c.outcome === outcome).length
	const [pass, fail, skip] = ['pass', 'fail', 'skip'].map(n)
	const head = fail ? 'FAIL' : pass ? 'ok  ' : 'skip'
	const parts = [pass && `${pass} passed`, fail && `${fail} failed`, skip && `${skip} skipped`].filter(Boolean)
	console.log(`${head} ${label.padEnd(34)} ${parts.join(', ').padEnd(32)} ${(ms / 1000).toFixed(1)} s`)
	for (const c of cases) {
		if (c.outcome === 'fail')
			console.log(`       failed: ${c.name}\n${c.why.split('\n').slice(0, 12).map((l) => `          ${l}`).join('\n')}`)
		else if (c.outcome === 'skip')
			console.log(`       skipped: ${c.name}${c.why ? `: ${c.why}` : ''}`)
	}
	return { pass, fail, skip }
}

// What is never a reason to skip: without these nothing would be tested, and green would be a lie.
function cannotRun(opt) {
	const [major, minor] = process.versions.node.split('.').map(Number)
	if (process.getuid() !== 0)
		return 'the server needs root'
	const missing = PROGRAMS.map((name) => path.join(opt.buildDir, name)).find((file) => !fs.existsSync(file))
	if (missing)
		return `${missing} is missing: make build`
	if (major < 20 || (major === 20 && minor < 18))
		return `the official SDK needs node 20.18 or later, this is ${process.versions.node}`
	return null
}

async function main() {
	const opt = options(process.argv.slice(2))
	const files = testFiles(opt.only)
	const sum = { pass: 0, fail: 0, skip: 0 }
	const escapes = { tried: 0, won: 0 }	// cases of tests/escape that are one attempt each; one that could not be made is none
	const note = (label, cases, ms) => {
		const got = print(label, cases, ms)
		const attempts = cases.filter((c) => c.name.startsWith('attempt: ') && c.outcome !== 'skip')
		escapes.tried += attempts.length
		escapes.won += attempts.filter((c) => c.outcome === 'fail').length
		for (const k of Object.keys(sum))
			sum[k] += got[k]
	}
	const npmDir = path.join(opt.buildDir, 'test-npm')
	const { uid, gid } = fs.statSync(path.dirname(npmDir), { throwIfNoEntry: false }) ?? { uid: 0, gid: 0 }
	const why = cannotRun(opt) ?? (files.length === 0 ? `no test file matches '${opt.only}'` : null)
	if (why)
		note('set-up', [{ name: 'the tests can run', outcome: 'fail', why }], 0)
	else
		await runAll(opt, files, npmDir, note)
	if (uid !== 0)	// we are root, and the clone is somebody's
		execFileSync('chown', ['-R', '-h', `${uid}:${gid}`, npmDir])
	if (escapes.tried)
		console.log(`escape suite: attempts: ${escapes.tried}, succeeded: ${escapes.won}`)
	console.log(`${sum.pass} passed, ${sum.fail} failed, ${sum.skip} skipped`)
	process.exitCode = sum.fail ? 1 : 0
}

function usesClients(file) {
	return /\b(sdk|withSandbox)\(|first\.cjs/.test(fs.readFileSync(path.join(TESTS, file), 'utf8'))
}

// What every lane needs, and all that is left of it at the end.
class Run {
	constructor(opt, npmDir, note) {
		Object.assign(this, { opt, npmDir, note, lanes: [], stopping: false })
		this.noClients = installClients(npmDir)
		this.tmp = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-run-'))
		this.reports = new Reports()
		Object.assign(process.env, this.reports.env())
	}

	remove() {
		this.reports.remove()
		fs.rmSync(this.tmp, { recursive: true, force: true })
	}

	async stopNow() {
		this.stopping = true
		await Promise.all([...running].filter((child) => child.exitCode === null && child.signalCode === null)
			.map((child) => new Promise((done) => child.once('exit', done) && child.kill('SIGTERM'))))
		await Promise.all(this.lanes.map((server) => server.stop()))
		this.remove()
		process.exit(130)
	}
}

function envOf(run, server) {
	const env = { ...process.env, ...server.env(), ATOLL_TEST_SERVER: server.share(), ATOLL_TEST_NPM: run.npmDir,
		...(run.opt.asan && { ATOLL_TEST_ASAN: '1' }) }
	delete env.E2B_DEBUG
	delete env.E2B_DOMAIN
	delete env.E2B_ACCESS_TOKEN
	return env
}

async function startServer(run, label) {
	const server = newServer(run.opt.buildDir), began = Date.now()
	try {
		await server.start()
	} catch (err) {
		run.note(`${label} starts`, [{ name: `${label} starts`, outcome: 'fail', why: err.message }, ...run.reports.fresh()], Date.now() - began)
		server.discard()
		return null
	}
	run.lanes.push(server)
	run.note(`${label} starts`, [{ name: `${label} starts`, outcome: 'pass' }], Date.now() - began)
	return server
}

async function stopServer(run, server, label) {
	const began = Date.now(), log = server.log, end = await server.stop({ remove: !run.opt.keep })
	run.lanes = run.lanes.filter((one) => one !== server)
	run.note(`${label} stops`, [
		{ name: 'stops on SIGTERM', outcome: end.how === 0 ? 'pass' : 'fail', why: `ended with ${end.how}, log ${log}\n${tail(log)}` },
		{ name: 'leaves nothing behind', outcome: end.clean ? 'pass' : 'fail', why: `${JSON.stringify(end.left)}, log ${log}` },
		...run.reports.fresh(),
	], Date.now() - began)
}

// next() gives the file whose turn it is, or undefined.
async function runLane(run, label, next) {
	const server = await startServer(run, label)
	if (!server)
		return
	const env = envOf(run, server)
	for (let file; (file = next());) {
		if (run.noClients && usesClients(file)) {
			run.note(file, [{ name: file, outcome: 'skip', why: run.noClients }], 0)
			continue
		}
		const began = Date.now(), cases = await runFile(file, env, run.tmp)
		if (run.stopping)
			await new Promise(() => {})	// stopNow() ends the process
		run.note(file, [...cases, ...run.reports.fresh()], Date.now() - began)
	}
	await stopServer(run, server, label)
}

async function runAll(opt, files, npmDir, note) {
	const run = new Run(opt, npmDir, note), { first, rest } = queues(files, opt.jobs)
	process.once('SIGINT', () => run.stopNow())
	process.once('SIGTERM', () => run.stopNow())
	const lanes = Math.min(opt.jobs, files.length)
	await Promise.all(Array.from({ length: lanes }, (_, i) =>
		runLane(run, lanes > 1 ? `server ${i + 1}` : 'server', () => (i === 0 && first.shift()) || rest.shift())))
	for (const file of [...first, ...rest])		// no server to run them with
		note(file, [{ name: file, outcome: 'fail', why: 'not run: no server has started' }], 0)
	if (!opt.keep || run.reports.seen.size === 0)
		run.reports.remove()
	if (!opt.keep)
		fs.rmSync(run.tmp, { recursive: true, force: true })
}

await main()
