// SPDX-License-Identifier: Apache-2.0
// Starts and stops a real atoll server with its own state and run directory on a free port.
import crypto from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawn } from 'node:child_process'
import { record, strike } from './ledger.mjs'
import { freePort } from './ports.mjs'
import { waitForSlots } from './slots.mjs'
import { leftovers, nameOf, processesOf, slotOf, until, alive } from './host.mjs'

export { freePort }
export const READY_MS = 20 * 60 * 1000 // the first start may have to build the template

const DEFAULTS = {
	pool_size_mb: 1024,
	pool_max_mb: 8192,
	on_stop: 'kill',
	log_level: 'info',
	max_sandboxes: 300,
	// what is there is then what a test has made; ATOLL_TEST_POOL=4 runs tests on pooled sandboxes, and
	// ATOLL_TEST_THREADS=3 with a front of three threads
	warm_pool_size: 0,
	default_memory_mb: 512,
	default_pids: 512,
	default_disk_mb: 512,
	image_packages: 'none', // nothing is fetched from outside unless a test is about that
}

function configText(config) {
	const pool = process.env.ATOLL_TEST_POOL ? { warm_pool_size: process.env.ATOLL_TEST_POOL } : {}
	const threads = process.env.ATOLL_TEST_THREADS ? { front_threads: process.env.ATOLL_TEST_THREADS } : {}
	return Object.entries({ ...DEFAULTS, ...pool, ...threads, ...config })
		.filter(([, value]) => value !== undefined)
		.map(([key, value]) => `${key} = ${value}\n`)
		.join('')
}

function waitReady(child, log, ms) {
	return new Promise((done, fail) => {
		let text = ''
		const timer = setTimeout(() => fail(new Error(`not ready after ${ms} ms, see ${log}`)), ms)
		const onData = (chunk) => {
			text += chunk
			const m = /^atoll: ready on (http:\/\/\S+)/m.exec(text)
			if (!m) return
			clearTimeout(timer)
			done(m[1])
		}
		child.stdout.on('data', onData)
		child.stderr.on('data', onData)
		child.once('close', (code, signal) => {
			/* not 'exit': the last words may come after it */
			clearTimeout(timer)
			const last = text.trimEnd().split('\n').slice(-25).join('\n')
			fail(new Error(`server ended before it was ready (${signal ?? code}):\n${last}`))
		})
	})
}

// For one that cannot say it.
async function waitHealthy(child, url) {
	const ended = () => child.exitCode !== null || child.signalCode !== null
	const ok = () =>
		fetch(`${url}/health`).then(
			(got) => got.ok,
			() => false,
		)
	if (!(await until(() => ended() || ok(), 60000)) || ended())
		throw new Error(`server is not ready (${child.signalCode ?? child.exitCode})`)
	return url
}

export function tail(file, lines = 25) {
	try {
		return fs.readFileSync(file, 'utf8').trimEnd().split('\n').slice(-lines).join('\n')
	} catch {
		return ''
	}
}

const CACHE = process.env.ATOLL_CACHE ?? '/var/cache/atoll'

// All servers of a machine share a cache of images. Those that only a server whose state is gone has pulled nobody
// needs: it goes without a trace, too.
export function dropImages(buildDir, stateDir) {
	const user = crypto.createHash('sha256').update(stateDir).digest('hex').slice(0, 32)
	if (!fs.existsSync(path.join(CACHE, 'images/users', user))) return undefined
	return new Promise((done) => {
		const child = spawn(path.join(buildDir, 'src/oci/atoll-pull'), ['--cache', CACHE, '--gc', '--images'], {
			stdio: ['ignore', 'pipe', 'ignore'],
			detached: true,
		})
		child.once('error', done)
		child.once('close', done)
		child.stdout.once('data', () => {
			// they are out of sight; it goes on by itself until they are deleted
			child.stdout.destroy()
			child.unref()
			done()
		})
	})
}

export class Server {
	constructor(buildDir, base, config, { nofile, args = [], env = {}, inside, by } = {}) {
		// { before, script, env, silent }: words before the command, shell text before its exec, its whole
		// environment, no output
		this.by = by
		this.nofile = nofile // open files that it may have; default: ours
		this.more = { args, env } // for 'atoll serve'
		// { mounts, state, run }: in mounts of its own, which that script makes, with these names of its
		// directories
		this.inside = inside
		this.buildDir = buildDir
		this.base = base
		this.config = config
		this.stateDir = path.join(base, 'state')
		this.runDir = path.join(base, 'run')
		this.log = path.join(base, 'server.log')
	}

	atoll() {
		return path.join(this.buildDir, 'src/cli/atoll')
	}

	async start() {
		this.port ??= await freePort()
		fs.mkdirSync(this.stateDir, { recursive: true })
		fs.mkdirSync(this.runDir, { recursive: true })
		const file = path.join(this.base, 'atoll.conf')
		fs.writeFileSync(file, configText(this.config))
		const limit = this.nofile ? `ulimit -n ${this.nofile}; ` : ''
		const { mounts = '', state = this.stateDir, run = this.runDir } = this.inside ?? {}
		const { before = [], script = '', silent = false } = this.by ?? {}
		const [first, ...rest] = [
			...before,
			...(this.inside ? ['unshare', '-m'] : []),
			'sh',
			'-ec',
			`${limit}${script}${mounts}\nexec "$0" "$@"`,
			this.atoll(),
			'serve',
			'--listen',
			`127.0.0.1:${this.port}`,
			'--state',
			state,
			'--run',
			run,
			'--config',
			file,
			...this.more.args,
		]
		this.url = await this.launch(first, rest, silent)
		this.pid = this.by ? processesOf(-1, run).find((pid) => nameOf(pid) === 'atolld') : this.child.pid
		record(this, this.pid)
		this.slot = slotOf(this.pid)
		this.key = fs.readFileSync(path.join(this.stateDir, 'key'), 'utf8').trim()
		return this
	}

	// The machine has a fixed number of instance slots, which all runs of tests on it share: waits for one if
	// none is free.
	async launch(first, rest, silent) {
		for (;;) {
			try {
				return await this.launchOnce(first, rest, silent)
			} catch (err) {
				if (this.child.exitCode !== null || this.child.signalCode !== null) strike(this)
				if (!/instance slots of this machine are taken/.test(err.message)) throw err
				await waitForSlots(1, console.error)
			}
		}
	}

	async launchOnce(first, rest, silent) {
		this.child = spawn(first, rest, {
			stdio: ['ignore', 'pipe', 'pipe'],
			env: this.by?.env ?? { ...process.env, HOST_CANARY: 'canary-of-the-host', ...this.more.env },
		})
		record(this, this.child.pid)
		const out = fs.createWriteStream(this.log, { flags: 'a' })
		this.child.stdout.on('data', (chunk) => out.write(chunk))
		this.child.stderr.on('data', (chunk) => out.write(chunk))
		this.exited = new Promise((done) => this.child.once('exit', (code, signal) => done(signal ?? code)))
		return silent
			? waitHealthy(this.child, `http://127.0.0.1:${this.port}`)
			: waitReady(this.child, this.log, READY_MS)
	}

	env() {
		return { E2B_API_KEY: this.key, E2B_API_URL: this.url, E2B_SANDBOX_URL: this.url }
	}

	// What a test file needs to reach this server and look at it from outside.
	share() {
		return JSON.stringify({
			pid: this.pid,
			slot: this.slot,
			stateDir: this.stateDir,
			runDir: this.runDir,
			url: this.url,
			key: this.key,
			log: this.log,
			buildDir: this.buildDir,
		})
	}

	signal(name) {
		process.kill(this.pid, name)
	}

	// For a server that did not start.
	discard() {
		strike(this)
		fs.rmSync(this.base, { recursive: true, force: true })
	}

	// Ends the server by SIGTERM and returns what it left behind (all zero when it is clean).
	async stop({ wait = 30000, remove = true } = {}) {
		if (this.child.exitCode === null && this.child.signalCode === null && alive(this.pid))
			this.signal('SIGTERM')
		let timer
		const late = new Promise((done) => {
			timer = setTimeout(done, wait, 'timeout')
		})
		const how = await Promise.race([this.exited, late])
		clearTimeout(timer)
		if (how === 'timeout') {
			this.signal('SIGKILL')
			await this.exited
		}
		let left
		const clean = await until(() => {
			left = leftovers(this.slot, this.stateDir, this.runDir, this.pid)
			return Object.values(left).every((n) => n === 0)
		}, 60000)
		if (clean) strike(this)
		if (remove && clean) {
			fs.rmSync(this.base, { recursive: true, force: true })
			await dropImages(this.buildDir, this.inside?.state ?? this.stateDir)
		}
		return { how, clean, left }
	}
}

export function newServer(buildDir, config = {}, options = {}) {
	return new Server(buildDir, fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-test-')), config, options)
}

// The shared server of tests/run, as described by the environment of a test file.
export function sharedServer() {
	const text = process.env.ATOLL_TEST_SERVER
	if (!text) throw new Error('run this through tests/run')
	return JSON.parse(text)
}
