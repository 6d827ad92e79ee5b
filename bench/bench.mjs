// SPDX-License-Identifier: Apache-2.0
// The numbers that atoll promises, measured over its public HTTP API with the official SDK.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { clientPackage, installClients } from '../tests/lib/npm.mjs'
import { newServer } from '../tests/lib/server.mjs'
import { linksOf, remains, rssOf, sleep, traceOf } from '../tests/lib/host.mjs'
import { daemonRss, machine, stats, timed } from './measure.mjs'
import { many, config as manyConfig } from './many.mjs'
import { cannotTransfer, transfers, CONFIG as transferConfig } from './transfer.mjs'

const HERE = path.dirname(fileURLToPath(import.meta.url))
const FLAT = 8 << 20	// how much a process may grow by while a file goes through, whatever its size

function options(argv) {
	const opt = { buildDir: path.join(path.dirname(HERE), 'build'), quick: false }
	for (let i = 0; i < argv.length; i++) {
		if (argv[i] === '--build-dir' && argv[i + 1])
			opt.buildDir = path.resolve(argv[++i])
		else if (argv[i] === '--quick')
			opt.quick = true
		else {
			console.error('usage: bench/run [--build-dir DIR] [--quick]')
			process.exit(2)
		}
	}
	return opt
}

async function addressOf(sbx) {
	return (await sbx.commands.run('hostname -I')).stdout.trim().split(' ')[0]
}

async function firstCommand(Sandbox, n) {
	const total = [], create = []
	for (let i = 0; i < n; i++) {
		let sbx
		total.push(await timed(async () => {
			create.push(await timed(async () => { sbx = await Sandbox.create('base', { timeoutMs: 60000 }) }))
			await sbx.commands.run('true')
		}))
		await sbx.kill()
	}
	return { create: stats(create), total: stats(total) }
}

async function commandTrip(Sandbox, n) {
	const sbx = await Sandbox.create('base', { timeoutMs: 300000 })
	try {
		const trip = []
		for (let i = 0; i < n + 5; i++) {
			const ms = await timed(() => sbx.commands.run('true'))
			if (i >= 5)
				trip.push(ms)
		}
		const code = `
import os, time, sys
for i in range(${n} + 5):
    t = time.perf_counter()
    p = os.posix_spawn("/bin/bash", ["/bin/bash", "-l", "-c", "true"], os.environ)
    os.waitpid(p, 0)
    if i >= 5: print((time.perf_counter() - t) * 1000)
`
		await sbx.files.write('/tmp/floor.py', code)
		const floor = (await sbx.commands.run('python3 /tmp/floor.py', { timeoutMs: 120000 })).stdout.trim().split('\n').map(Number)
		return { trip: stats(trip), floor: stats(floor) }
	} finally {
		await sbx.kill()
	}
}

// kill → processes and cgroups gone (mounts live in the sandbox's mount namespace and go with its last process).
async function killTimes(server, Sandbox, n) {
	const answer = [], gone = [], link = []
	for (let i = 0; i < n; i++) {
		const sbx = await Sandbox.create('base', { timeoutMs: 60000 })
		await sbx.commands.run('sleep 300', { background: true })
		const trace = traceOf(server.slot, await addressOf(sbx))
		if (!trace.pids.length || !trace.cgroups.length)
			throw new Error(`nothing found of ${sbx.sandboxId} on the host`)
		const began = performance.now()
		await sbx.kill()
		answer.push(performance.now() - began)
		while (remains(trace).length) {
			if (performance.now() - began > 10000)
				throw new Error(`still there: ${remains(trace)}`)
			await sleep(1)
		}
		gone.push(performance.now() - began)
		while (linksOf(server.slot).includes(trace.link) && performance.now() - began < 10000)
			await sleep(2)
		link.push(performance.now() - began)
	}
	return { answer: stats(answer), gone: stats(gone), link: stats(link) }
}

async function crowd(server, Sandbox, n) {
	const began = performance.now()
	const each = []
	const made = await Promise.allSettled(Array.from({ length: n }, async () => {
		const t = performance.now()
		const sbx = await Sandbox.create('base', { timeoutMs: 300000 })
		each.push(performance.now() - t)
		return sbx
	}))
	const createMs = performance.now() - began
	const all = made.filter((m) => m.status === 'fulfilled').map((m) => m.value)
	const answers = await Promise.allSettled(all.map((sbx) => sbx.commands.run('echo "$E2B_SANDBOX_ID"')))
	const good = answers.filter((a, i) => a.status === 'fulfilled' && a.value.stdout.trim() === all[i].sandboxId).length
	const rss = daemonRss(server)
	const inits = all.length ? traceOf(server.slot, await addressOf(all[0])).pids : []
	const init = inits.length ? rssOf(inits[0]) : 0
	const killMs = await timed(() => Promise.allSettled(all.map((sbx) => sbx.kill())))
	return { asked: n, created: all.length, good, createMs, create: stats(each), killMs, rss, initRss: init }
}

function row(name, value, goal = '', ok = null) {
	console.log(`${name.padEnd(54)} ${value.padStart(34)}   ${goal.padEnd(12)} ${ok === null ? '' : ok ? 'ok' : 'MISSED'}`)
	return ok !== false
}

const ms = (x) => `${x.toFixed(1)} ms`
const mb = (x) => `${(x / 1048576).toFixed(1)} MB`
const pair = (s) => `p50 ${ms(s.p50)}  p99 ${ms(s.p99)}`
const speed = (t) => `${t.ratio.toFixed(2)} (${t.api.p50.toFixed(0)} of ${t.plain.p50.toFixed(0)} MB/s)`
const count = (x) => Math.round(x).toLocaleString('en')

function printFirst(r) {
	let good = true
	good &= row('create → first commands.run', pair(r.first.total), '≤ 40 ms', r.first.total.p50 <= 40)
	good &= row('  of it create', pair(r.first.create))
	good &= row('commands.run("true")', pair(r.command.trip), '≤ 6 ms', r.command.trip.p50 <= 6)
	good &= row('  bash -l -c true alone, inside', pair(r.command.floor))
	good &= row('kill → processes, cgroups, mounts gone', pair(r.kill.gone), '≤ 50 ms', r.kill.gone.p50 <= 50)
	good &= row('  of it the answer to DELETE', pair(r.kill.answer))
	good &= row('  network link gone', pair(r.kill.link))
	good &= row(`${r.crowd.asked} sandboxes at once: all answer`, `${r.crowd.good} of ${r.crowd.asked}`,
		`${r.crowd.asked}`, r.crowd.good === r.crowd.asked)
	good &= row('  all created within', ms(r.crowd.createMs))
	good &= row(`front memory with ${r.crowd.created} sandboxes`, mb(r.crowd.rss.front), '≤ 30 MB', r.crowd.rss.front <= 30 * 1048576)
	good &= row('  warden, egress, one atoll-init', [r.crowd.rss.warden, r.crowd.rss.egress, r.crowd.initRss].map(mb).join(', '))
	return good
}

function printTransfer(t) {
	if (t.skipped)
		return row('upload, download', `skipped: ${t.skipped}`)
	let good = true
	const size = `${t.size >> 20} MiB`
	good &= row(`upload of ${size} against a plain loopback copy`, speed(t.upload), '≥ 0.5', t.upload.ratio >= 0.5)
	good &= row(`download of ${size} against a plain loopback copy`, speed(t.download), '≥ 0.5', t.download.ratio >= 0.5)
	row('  CPU seconds per GB of front and atoll-init, up', ['front', 'init'].map((name) => t.upload.cpuPerGb[name].toFixed(2)).join(', '))
	row('  CPU seconds per GB of front and atoll-init, down', ['front', 'init'].map((name) => t.download.cpuPerGb[name].toFixed(2)).join(', '))
	for (const name of ['front', 'init']) {
		const grown = t.memory.most[name] - t.memory.before[name]
		good &= row(`  ${name === 'init' ? 'atoll-init' : name} memory before, most, after`,
			[t.memory.before, t.memory.most, t.memory.after].map((m) => mb(m[name])).join(', '), `+ ≤ ${FLAT >> 20} MB`, grown <= FLAT)
	}
	return good
}

function printRate(name, r, least) {
	const good = row(`${name} (${r.client}, ${r.connections} connections)`, `${count(r.perSecond)} /s`,
		least ? `≥ ${count(least)} /s` : '', least ? r.perSecond >= least : null)
	row('  per second of CPU time of the front', `${count(r.perCpuSecond)} /s`)
	return good
}

function printMany(m) {
	let good = true
	good &= printRate('GET /health', m.health, 20000)
	good &= printRate(`GET /sandboxes, ${m.listRate.live} live`, m.listRate)
	for (const s of m.steps) {
		if (s.why)
			row(`  ${s.live} of ${s.asked} sandboxes only`, s.why)
		good &= row(`list of ${s.live} sandboxes`, pair(s.list), '≤ 10 ms', s.list.p50 <= 10)
		if (s.live !== 1000)
			row('  the same per 1,000', ms(s.list.p50 * 1000 / s.live))
		const limit = s.live <= 500 ? '≤ 60 MB' : ''	/* promised for 500 */
		good &= row(`front memory with ${s.live} sandboxes`, mb(s.rss.front), limit, limit ? s.rss.front <= 60 * 1048576 : null)
		row('  before they started, after the lists', [s.before, s.listRss].map((r) => mb(r.front)).join(', '))
		row('  warden, egress', [s.rss.warden, s.rss.egress].map(mb).join(', '))
		row('  per sandbox: PSS of atoll-init, its cgroup', [s.sandbox.initPss, s.sandbox.cgroup].map((x) => mb(x.p50)).join(', '))
	}
	return good
}

function print(r) {
	console.log(`\n${'what'.padEnd(54)} ${'measured'.padStart(34)}   ${'must'.padEnd(12)}`)
	return Boolean(printFirst(r) & printTransfer(r.transfer) & printMany(r.many))
}

let running = null

// A server of its own for each part; tells whether it left nothing behind.
async function withServer(opt, config, use) {
	running = newServer(opt.buildDir, config)
	let clean = false
	try {
		await running.start()
		await use(running)
	} finally {
		const server = running
		running = null
		if (server.pid)
			clean = (await server.stop()).clean
		else
			server.discard()
	}
	return clean
}

async function measure(opt, result) {
	const { Sandbox } = clientPackage()
	const clean = []
	result.seconds = {}
	const part = async (name, config, use) => {
		process.stderr.write(`bench: ${name}\n`)
		result.seconds[name] = await timed(async () => { clean.push(await withServer(opt, config, use)) }) / 1000
	}
	await part('commands', { log_level: 'warn' }, async (server) => {
		Object.assign(process.env, server.env())
		await firstCommand(Sandbox, 3)	/* warm-up */
		result.first = await firstCommand(Sandbox, opt.quick ? 10 : 50)
		result.command = await commandTrip(Sandbox, opt.quick ? 50 : 300)
		result.kill = await killTimes(server, Sandbox, opt.quick ? 5 : 30)
		result.crowd = await crowd(server, Sandbox, opt.quick ? 20 : 100)
	})
	const why = cannotTransfer(os.tmpdir())
	if (why)
		result.transfer = { skipped: why }
	else
		await part('files', transferConfig, async (server) => {
			result.transfer = await transfers(server, opt.quick ? 128 << 20 : 1 << 30, 5)
		})
	const numbers = opt.quick ? [100] : [500, 1000]
	await part('many sandboxes', manyConfig(numbers.at(-1)), async (server) => {
		result.many = await many(server, numbers, opt)
	})
	return clean.every(Boolean)
}

async function main() {
	const opt = options(process.argv.slice(2))
	const npmDir = path.join(opt.buildDir, 'test-npm')
	const why = installClients(npmDir)
	if (why) {
		console.error(`bench: ${why}`)
		process.exit(2)
	}
	process.env.ATOLL_TEST_NPM = npmDir
	for (const name of ['SIGINT', 'SIGTERM']) {
		process.once(name, async () => {
			if (running?.pid)
				await running.stop()
			process.exit(130)
		})
	}
	const result = { when: new Date().toISOString(), quick: opt.quick, machine: machine(path.dirname(HERE)) }
	result.clean = await measure(opt, result)
	const good = print(result)
	const dir = path.join(HERE, 'results')
	fs.mkdirSync(dir, { recursive: true })
	const file = path.join(dir, `${result.when.replace(/[:.]/g, '-')}.json`)
	fs.writeFileSync(file, JSON.stringify(result, null, '\t') + '\n')
	const m = result.machine
	const commit = `${m.commit?.slice(0, 12) ?? 'unknown'}${m.changed ? ' with changes' : ''}`
	console.log(`\n${m.cpus} × ${m.cpu}, ${(m.memory / 2 ** 30).toFixed(0)} GiB, Linux ${m.kernel}, commit ${commit}`)
	console.log(`written to ${path.relative(process.cwd(), file)}`)
	if (!result.clean)
		console.log('the server left something behind')
	process.exitCode = good && result.clean ? 0 : 1
}

await main()
