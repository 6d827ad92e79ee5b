// SPDX-License-Identifier: Apache-2.0
// The numbers that atoll promises, measured over its public HTTP API with the official SDK.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { installClients } from '../tests/lib/npm.mjs'
import { newServer } from '../tests/lib/server.mjs'
import { childrenOf, linksOf, nameOf, remains, rssOf, sleep, traceOf } from '../tests/lib/host.mjs'

const HERE = path.dirname(fileURLToPath(import.meta.url))

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

function stats(samples) {
	const sorted = [...samples].sort((a, b) => a - b)
	const at = (q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]
	return { n: sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: sorted.at(-1) }
}

async function timed(fn) {
	const began = performance.now()
	await fn()
	return performance.now() - began
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
	const pids = Object.fromEntries(childrenOf(server.pid).map((pid) => [nameOf(pid), pid]))
	const rss = { front: rssOf(pids['atoll-front']), warden: rssOf(server.pid), egress: pids['atoll-egress'] ? rssOf(pids['atoll-egress']) : 0 }
	const inits = all.length ? traceOf(server.slot, await addressOf(all[0])).pids : []
	const init = inits.length ? rssOf(inits[0]) : 0
	const killMs = await timed(() => Promise.allSettled(all.map((sbx) => sbx.kill())))
	return { asked: n, created: all.length, good, createMs, create: stats(each), killMs, rss, initRss: init }
}

function row(name, value, goal, ok) {
	console.log(`${name.padEnd(58)} ${value.padStart(26)}   ${goal.padEnd(12)} ${ok === null ? '' : ok ? 'ok' : 'MISSED'}`)
	return ok !== false
}

const ms = (x) => `${x.toFixed(1)} ms`
const mb = (x) => `${(x / 1048576).toFixed(1)} MB`
const pair = (s) => `p50 ${ms(s.p50)}  p99 ${ms(s.p99)}`

function print(r) {
	console.log(`\n${'what'.padEnd(58)} ${'measured'.padStart(26)}   ${'must'.padEnd(12)}`)
	let good = true
	good &= row('create → first commands.run', pair(r.first.total), '≤ 40 ms', r.first.total.p50 <= 40)
	good &= row('  of it create', pair(r.first.create), '', null)
	good &= row('commands.run("true")', pair(r.command.trip), '≤ 6 ms', r.command.trip.p50 <= 6)
	good &= row('  bash -l -c true alone, inside', pair(r.command.floor), '', null)
	good &= row('kill → processes, cgroups, mounts gone', pair(r.kill.gone), '≤ 50 ms', r.kill.gone.p50 <= 50)
	good &= row('  of it the answer to DELETE', pair(r.kill.answer), '', null)
	good &= row('  network link gone', pair(r.kill.link), '', null)
	good &= row(`${r.crowd.asked} sandboxes at once: all answer`, `${r.crowd.good} of ${r.crowd.asked}`, `${r.crowd.asked}`, r.crowd.good === r.crowd.asked)
	good &= row('  all created within', ms(r.crowd.createMs), '', null)
	good &= row(`front memory with ${r.crowd.created} sandboxes`, mb(r.crowd.rss.front), '≤ 30 MB', r.crowd.rss.front <= 30 * 1048576)
	good &= row('  warden, egress, one atoll-init', [r.crowd.rss.warden, r.crowd.rss.egress, r.crowd.initRss].map(mb).join(', '), '', null)
	return Boolean(good)
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
	const server = await newServer(opt.buildDir, { log_level: 'warn' }).start()
	const result = { when: new Date().toISOString(), kernel: os.release(), cpus: os.cpus().length, cpu: os.cpus()[0]?.model }
	try {
		Object.assign(process.env, server.env())
		const { clientPackage } = await import('../tests/lib/npm.mjs')
		const { Sandbox } = clientPackage()
		const n = opt.quick ? 10 : 50
		await firstCommand(Sandbox, 3)	/* warm-up */
		result.first = await firstCommand(Sandbox, n)
		result.command = await commandTrip(Sandbox, opt.quick ? 50 : 300)
		result.kill = await killTimes(server, Sandbox, opt.quick ? 5 : 30)
		result.crowd = await crowd(server, Sandbox, opt.quick ? 20 : 100)
	} finally {
		const end = await server.stop()
		result.clean = end.clean
	}
	const good = print(result)
	const dir = path.join(HERE, 'results')
	fs.mkdirSync(dir, { recursive: true })
	const file = path.join(dir, `${result.when.replace(/[:.]/g, '-')}.json`)
	fs.writeFileSync(file, JSON.stringify(result, null, '\t') + '\n')
	console.log(`\n${result.cpus} × ${result.cpu}, Linux ${result.kernel}; written to ${path.relative(process.cwd(), file)}`)
	if (!result.clean)
		console.log('the server left something behind')
	process.exitCode = good && result.clean ? 0 : 1
}

await main()
