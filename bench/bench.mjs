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
import { client, CONFIG as clientConfig } from './client.mjs'
import { mcp, CONFIG as mcpConfig } from './mcp.mjs'
import { commands } from './commands.mjs'
import { egress } from './egress.mjs'
import { cannotForm, compareForms } from './forms.mjs'
import { fairness, CONFIG as fairnessConfig } from './fairness.mjs'
import { images } from './images.mjs'
import { audit } from './audit.mjs'
import { coldConfig, interpreter, poolConfig, poolHits } from './interp.mjs'
import { kills, killsAgainst, config as killsConfig } from './kills.mjs'
import { Caller, machine, timed } from './measure.mjs'
import { density, config as densityConfig } from './density.mjs'
import { many, config as manyConfig } from './many.mjs'
import { pausing, CONFIG as pauseConfig } from './pause.mjs'
import { peers } from './peers.mjs'
import { ports, CONFIG as portsConfig } from './ports.mjs'
import { restarts, CONFIG as restartConfig } from './restart.mjs'
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
	'pause',
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
	'uploads',
	'view',
]

function options(argv) {
	const opt = { buildDir: path.join(path.dirname(HERE), 'build'), quick: false, parts: PARTS }
	for (let i = 0; i < argv.length; i++) {
		if (argv[i] === '--build-dir' && argv[i + 1]) opt.buildDir = path.resolve(argv[++i])
		else if (argv[i] === '--quick') opt.quick = true
		else if (argv[i] === '--against' && argv[i + 1]) opt.against = path.resolve(argv[++i])
		else if (argv[i] === '--sandboxes' && Number(argv[i + 1]) > 0) opt.sandboxes = Number(argv[++i])
		else if (argv[i] === '--only' && PARTS.includes(argv[i + 1])) opt.parts = [argv[++i]]
		else {
			console.error(
				`usage: bench/run [--build-dir DIR] [--quick] [--only ${PARTS.join('|')}] ` +
					`[--against BUILD_DIR] [--sandboxes N]`,
			)
			process.exit(2)
		}
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
		await part('density', densityConfig(dense), async (server) => {
			result.density = await density(server, dense, opt)
		})
	if (wanted('interpreter')) {
		await part('interpreter', coldConfig, async (server) => {
			result.interpreter = await interpreter(server, opt.quick)
		})
		await part('interpreter, with a pool', poolConfig, async (server) => {
			result.pool = await poolHits(server, opt.quick ? 10 : 50)
		})
		process.stderr.write('bench: others\n')
		result.peers = peers(rootfsOf('code-interpreter-v1'), opt.quick)
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
	result.clean = await measure(opt, result)
	const good = print(result)
	const dir = path.join(HERE, 'results')
	fs.mkdirSync(dir, { recursive: true })
	const file = path.join(dir, `${result.when.replace(/[:.]/g, '-')}.json`)
	fs.writeFileSync(file, JSON.stringify(result, null, '\t') + '\n')
	const m = result.machine
	const commit = `${m.commit?.slice(0, 12) ?? 'unknown'}${m.changed ? ' with changes' : ''}`
	console.log(
		`\n${m.cpus} × ${m.cpu}, ${(m.memory / 2 ** 30).toFixed(0)} GiB, Linux ${m.kernel}, commit ${commit}`,
	)
	console.log(`written to ${path.relative(process.cwd(), file)}`)
	if (!result.clean) console.log('the server left something behind')
	process.exitCode = good && result.clean ? 0 : 1
}

await main()
