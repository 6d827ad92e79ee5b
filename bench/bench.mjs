// SPDX-License-Identifier: Apache-2.0
// The numbers that atoll promises, measured over its public HTTP API with the official SDK.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { clientPackage, installClients } from '../tests/lib/npm.mjs'
import { newServer } from '../tests/lib/server.mjs'
import { newTlsServer } from '../tests/lib/tls.mjs'
import { bombs, CONFIG as bombsConfig } from './bombs.mjs'
import { calls, cannotCount } from './calls.mjs'
import { cores } from './cores.mjs'
import { client, CONFIG as clientConfig } from './client.mjs'
import { mcp, CONFIG as mcpConfig } from './mcp.mjs'
import { commands } from './commands.mjs'
import { egress } from './egress.mjs'
import { cannotForm, compareForms } from './forms.mjs'
import { fairness, CONFIG as fairnessConfig } from './fairness.mjs'
import { growth } from './growth.mjs'
import { images } from './images.mjs'
import { audit } from './audit.mjs'
import { besideOthers } from './beside.mjs'
import { consoles, CONFIG as consoleConfig } from './console.mjs'
import { burstConfig, bursts, coldConfig, interpreter, poolConfig, poolHits } from './interp.mjs'
import { kills, killsAgainst, config as killsConfig } from './kills.mjs'
import { Caller, machine, timed } from './measure.mjs'
import { disk } from './disk.mjs'
import { density, config as densityConfig } from './density.mjs'
import { many, config as manyConfig } from './many.mjs'
import { pausing, CONFIG as pauseConfig } from './pause.mjs'
import { ports, CONFIG as portsConfig } from './ports.mjs'
import { restarts, CONFIG as restartConfig } from './restart.mjs'
import { PAGE_PARTS, publish } from './report.mjs'
import { print } from './table.mjs'
import { templates, CONFIG as templatesConfig } from './templates.mjs'
import { against, walls, CONFIG as wallsConfig } from './walls.mjs'
import { firstResult, fromSnapshot, prepareSnapshot, versus } from './versus.mjs'
import { uploads } from './uploads.mjs'
import { view } from './view.mjs'
import { cannotTransfer, transfers, CONFIG as transferConfig } from './transfer.mjs'

const HERE = path.dirname(fileURLToPath(import.meta.url))
const PARTS = [
	'commands',
	'files',
	'ports',
	'many',
	'density',
	'interpreter',
	'beside',
	'growth',
	'pause',
	'disk',
	'kills',
	'restart',
	'egress',
	'walls',
	'bombs',
	'fairness',
	'images',
	'templates',
	'forms',
	'client',
	'mcp',
	'audit',
	'calls',
	'cores',
	'uploads',
	'view',
	'console',
]

const USAGE = `usage: bench/run [OPTION...]
  --build-dir DIR          the build that is measured (default: build)
  --quick                  fewer rounds
  --only PART              one of ${PARTS.join(' ')}
  --page                   only what docs/benchmarks.md shows; writes that page, its data and its pictures
  --sandboxes N            growth: up to N sandboxes alive (default: 1000, with --quick 500); density: N (10000, 300)
  --template NAME          density: what the sandboxes start from (default: base)
  --zram MB                density: idle memory goes to a compressed swap device of this size (default: it stays)
  --idle-after S           density: after this time (default: 60)
  --against BUILD_DIR      also this other build, in turns
  --minutes N              console: how long one is left open (default: 5, with --quick 1)
  --runsc PROGRAM          gVisor's runsc (default: the one in PATH)
  --peer-envd URL          beside: a server that speaks the protocol of E2B's envd
  --peer-interpreter URL   beside: one that speaks that of E2B's interpreter server
  --peer-header NAME:VALUE a header for both, any number of times`

function header(text) {
	const [, name, value] = /^([\w-]+): *(.*)$/.exec(text) ?? []
	if (!name) throw new Error(`not a header: '${text}'`)
	return { [name]: value }
}

function count(text) {
	if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`not a number from 1 to 999999: '${text}'`)
	return Number(text)
}

// What an option does with its value.
const VALUES = {
	'--build-dir': (opt, value) => (opt.buildDir = path.resolve(value)),
	'--against': (opt, value) => (opt.against = path.resolve(value)),
	'--sandboxes': (opt, value) => (opt.sandboxes = count(value)),
	'--template': (opt, value) => (opt.template = value),
	'--zram': (opt, value) => (opt.zram = count(value)),
	'--idle-after': (opt, value) => (opt.idleAfter = count(value)),
	'--minutes': (opt, value) => (opt.minutes = count(value)),
	'--runsc': (opt, value) => (opt.runsc = value),
	'--peer-envd': (opt, value) => (opt.peerEnvd = new URL(value).origin),
	'--peer-interpreter': (opt, value) => (opt.peerInterpreter = new URL(value).origin),
	'--peer-header': (opt, value) => Object.assign(opt.peerHeaders, header(value)),
	'--only': (opt, value) => {
		if (!PARTS.includes(value)) throw new Error(`unknown part '${value}'`)
		opt.parts = [value]
	},
}

function options(argv) {
	const buildDir = path.join(path.dirname(HERE), 'build')
	const opt = { buildDir, quick: false, parts: PARTS, runsc: 'runsc', peerHeaders: {} }
	try {
		for (let i = 0; i < argv.length; i++) {
			if (argv[i] === '--help') return void console.log(USAGE) ?? process.exit(0)
			else if (argv[i] === '--quick') opt.quick = true
			else if (argv[i] === '--page') opt.parts = PAGE_PARTS
			else if (VALUES[argv[i]] && argv[i + 1]) VALUES[argv[i]](opt, argv[++i])
			else throw new Error(`unknown option or missing value: '${argv[i]}'`)
		}
	} catch (err) {
		console.error(`bench/run: ${err.message}\n${USAGE}`)
		process.exit(2)
	}
	return opt
}

function rootfsOf(template) {
	const key = execFileSync(path.join(path.dirname(HERE), 'templates/build'), ['--key', template], {
		encoding: 'utf8',
	}).trim()
	return path.join(process.env.ATOLL_CACHE ?? '/var/cache/atoll', 'templates', key, 'rootfs')
}

let running = null

// A server of its own for each part; tells whether it left nothing behind.
async function withServer(opt, config, use, make = newServer) {
	running = await make(opt.buildDir, config)
	let clean = false
	try {
		await running.start()
		await use(running)
	} finally {
		const server = running
		running = null
		if (server.pid) clean = (await server.stop()).clean
		else server.discard()
	}
	return clean
}

async function measure(opt, result) {
	const clean = []
	result.seconds = {}
	const part = async (name, config, use, make) => {
		process.stderr.write(`bench: ${name}\n`)
		result.seconds[name] =
			(await timed(async () => {
				clean.push(await withServer(opt, config, use, make))
			})) / 1000
	}
	const beside = async (name, ...how) => {
		process.stderr.write(`bench: ${name}, against the other build\n`)
		const got = await versus(opt.buildDir, opt.against, ...how)
		clean.push(got.clean)
		result.against = { ...result.against, ...got }
	}
	const wanted = (name) => opt.parts.includes(name)
	if (wanted('commands'))
		await part('commands', { log_level: 'warn' }, async (server) => {
			Object.assign(process.env, server.env())
			Object.assign(result, await commands(server, clientPackage().Sandbox, opt.quick))
		})
	const why = cannotTransfer(os.tmpdir())
	if (wanted('files') && why) result.transfer = { skipped: why }
	else if (wanted('files'))
		await part('files', transferConfig, async (server) => {
			result.transfer = await transfers(server, opt.quick ? 128 << 20 : 1 << 30, 5)
		})
	if (wanted('ports'))
		await part(
			'ports',
			portsConfig,
			async (server) => {
				result.ports = await ports(server, opt.quick)
			},
			newTlsServer,
		)
	const numbers = opt.quick ? [100] : [500, 1000]
	if (wanted('many'))
		await part('many sandboxes', manyConfig(numbers.at(-1)), async (server) => {
			result.many = await many(server, numbers, opt)
		})
	const dense = opt.sandboxes ?? (opt.quick ? 300 : 10000)
	if (wanted('density'))
		await part('density', densityConfig(dense, opt), async (server) => {
			result.density = await density(server, dense, opt)
		})
	if (wanted('interpreter')) {
		await part('interpreter', coldConfig, async (server) => {
			result.interpreter = await interpreter(server, opt.quick)
		})
		await part('interpreter, with a pool', poolConfig, async (server) => {
			result.pool = await poolHits(server, opt.quick ? 10 : 50)
		})
		await part('interpreter, bursts', burstConfig, async (server) => {
			result.bursts = await bursts(server)
		})
	}
	if (wanted('beside')) {
		process.stderr.write('bench: beside others\n')
		result.seconds.beside =
			(await timed(
				async () => (result.beside = await besideOthers(opt, rootfsOf('code-interpreter-v1'))),
			)) / 1000
		clean.push(result.beside.clean)
	}
	if (wanted('growth')) {
		process.stderr.write('bench: growth\n')
		result.seconds.growth = (await timed(async () => (result.growth = await growth(opt)))) / 1000
		clean.push(result.growth.clean)
	}
	if (wanted('interpreter') && opt.against)
		await beside('interpreter', coldConfig, opt.quick ? 20 : 60, firstResult)
	if (wanted('pause'))
		await part('pause', pauseConfig, async (server) => {
			result.pause = await pausing(server, opt.quick)
		})
	if (wanted('pause') && opt.against)
		await beside(
			'pause',
			{ ...pauseConfig, warm_pool_size: 0 },
			opt.quick ? 10 : 30,
			fromSnapshot,
			prepareSnapshot,
		)
	const killed = opt.quick ? 100 : 500
	if (wanted('kills') && opt.against) {
		process.stderr.write('bench: kills, against the other build\n')
		result.killsAgainst = await killsAgainst(opt.buildDir, opt.against, killed, opt.quick)
		clean.push(result.killsAgainst.clean)
	} else if (wanted('kills'))
		await part('kills', killsConfig(killed), async (server) => {
			const caller = new Caller(server, 64)
			result.kills = await kills(server, caller, killed)
			caller.close()
		})
	if (wanted('restart'))
		await part('restart', restartConfig, async (server) => {
			result.restart = await restarts(server, opt.quick)
		})
	if (wanted('templates'))
		await part('templates', templatesConfig, async (server) => {
			result.templates = await templates(server, clientPackage(), opt.quick)
		})
	if (wanted('mcp'))
		await part('mcp', mcpConfig, async (server) => {
			result.mcp = await mcp(server, opt.quick)
		})
	if (wanted('client'))
		await part('client', clientConfig, async (server) => {
			result.client = await client(server, opt.quick)
		})
	if (wanted('bombs'))
		await part('bombs', bombsConfig, async (server) => {
			result.bombs = await bombs(server, opt.quick)
		})
	if (wanted('fairness'))
		await part('fairness', fairnessConfig, async (server) => {
			Object.assign(process.env, server.env())
			result.fairness = await fairness(server, clientPackage().Sandbox, opt.quick)
		})
	if (wanted('egress')) {
		process.stderr.write('bench: egress\n')
		result.egress = await egress(opt.buildDir, opt.quick ? 256 << 20 : 1 << 30, opt.quick ? 7 : 9)
		clean.push(result.egress.clean)
	}
	if (wanted('images')) {
		process.stderr.write('bench: images\n')
		result.images = await images(opt.buildDir, opt.quick ? 256 << 20 : 1 << 30, opt.quick ? 2 : 3)
		clean.push(result.images.clean)
	}
	if (wanted('forms')) {
		process.stderr.write('bench: forms of a template\n')
		result.forms = { skipped: cannotForm() }
		if (!result.forms.skipped) {
			result.forms = await compareForms(
				opt.buildDir,
				rootfsOf('base'),
				clientPackage().Sandbox,
				opt.quick,
			)
			clean.push(result.forms.clean)
		}
	}
	if (wanted('audit')) {
		process.stderr.write('bench: audit\n')
		result.audit = await audit(opt.buildDir, opt.quick)
		clean.push(result.audit.clean)
	}
	if (wanted('calls')) {
		process.stderr.write('bench: calls\n')
		result.calls = { skipped: cannotCount() }
		if (!result.calls.skipped) {
			result.calls = await calls(opt.buildDir, opt.against, opt.quick)
			clean.push(result.calls.clean)
		}
	}
	if (wanted('disk')) {
		process.stderr.write('bench: resume from disk\n')
		result.disk = await disk(opt.buildDir, opt.against, opt.quick)
		clean.push(result.disk.clean)
	}
	if (wanted('cores')) {
		process.stderr.write('bench: cores\n')
		result.cores = { skipped: cannotCount() }
		if (!result.cores.skipped) {
			result.cores = await cores(opt.buildDir, opt.quick)
			clean.push(result.cores.clean)
		}
	}
	if (wanted('uploads')) {
		process.stderr.write('bench: uploads\n')
		result.uploads = await uploads(opt.buildDir, opt.against, opt.quick)
		clean.push(result.uploads.clean)
	}
	if (wanted('view')) {
		process.stderr.write('bench: view\n')
		result.view = await view(opt.buildDir, opt.quick)
		clean.push(result.view.clean)
	}
	if (wanted('console'))
		await part('console', consoleConfig, async (server) => {
			result.console = await consoles(server, opt.quick, opt.minutes)
		})
	if (wanted('walls')) {
		await part('walls', wallsConfig, async (server) => {
			result.walls = await walls(server, opt.quick)
		})
		if (opt.against) {
			process.stderr.write('bench: walls, against the other build\n')
			result.walls.against = await against(opt.buildDir, opt.against, opt.quick)
			clean.push(result.walls.against.clean)
		}
	}
	return clean.every(Boolean)
}

function store(result) {
	const dir = path.join(HERE, 'results')
	fs.mkdirSync(dir, { recursive: true })
	const file = path.join(dir, `${result.when.replace(/[:.]/g, '-')}.json`)
	fs.writeFileSync(file, JSON.stringify(result, null, '\t') + '\n')
	return path.relative(process.cwd(), file)
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
			if (running?.pid) await running.stop()
			process.exit(130)
		})
	}
	const result = { when: new Date().toISOString(), quick: opt.quick, machine: machine(path.dirname(HERE)) }
	try {
		result.clean = await measure(opt, result)
	} catch (err) {
		// what was measured before is kept
		result.failed = err.message
		console.error(`bench: the measurement ended early, the figures are in ${store(result)}`)
		throw err
	}
	const good = print(result)
	const m = result.machine
	const commit = `${m.commit?.slice(0, 12) ?? 'unknown'}${m.changed ? ' with changes' : ''}`
	console.log(
		`\n${m.cpus} × ${m.cpu}, ${(m.memory / 2 ** 30).toFixed(0)} GiB, Linux ${m.kernel}, commit ${commit}`,
	)
	console.log(`written to ${store(result)}`)
	if (PAGE_PARTS.every((part) => opt.parts.includes(part))) console.log(`written ${publish(result).join(', ')}`)
	if (!result.clean) console.log('the server left something behind')
	process.exitCode = good && result.clean ? 0 : 1
}

await main()
