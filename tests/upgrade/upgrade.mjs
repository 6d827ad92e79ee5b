// SPDX-License-Identifier: Apache-2.0
// The test behind tests/upgrade/run. Each thing is a pair: make() on the old server, check() on the new one.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { api, createRaw, envd, outputOf, request, rpc, start } from '../lib/client.mjs'
import { runCode } from '../lib/interp.mjs'
import { until } from '../lib/host.mjs'
import { Server } from '../lib/server.mjs'

const ROOT = path.dirname(path.dirname(path.dirname(fileURLToPath(import.meta.url))))
// image_packages: older servers do not know it
const CONFIG = {
	max_sandboxes: 2000,
	on_stop: 'keep',
	pool_size_mb: 3072,
	checkpoint_after_s: 0,
	warm_pool_size: 2,
	image_packages: undefined,
}

function usage(text) {
	console.error(`${text}\nusage: tests/upgrade/run --from REVISION [--build-dir DIR] [--from-build DIR] [--keep]`)
	process.exit(2)
}

function options(argv) {
	const opt = { buildDir: path.join(ROOT, 'build'), from: null, fromBuild: null, keep: false }
	for (let i = 0; i < argv.length; i++) {
		const value = () => argv[++i] ?? usage(`${argv[i - 1]} needs a value`)
		if (argv[i] === '--build-dir') opt.buildDir = path.resolve(value())
		else if (argv[i] === '--from') opt.from = value()
		else if (argv[i] === '--from-build') opt.fromBuild = path.resolve(value())
		else if (argv[i] === '--keep') opt.keep = true
		else usage(`unknown option '${argv[i]}'`)
	}
	return opt.from || opt.fromBuild ? opt : usage('--from is missing')
}

function must(command, args, cwd) {
	const run = spawnSync(command, args, { cwd, encoding: 'utf8', maxBuffer: 64 << 20 })
	if (run.status !== 0)
		throw new Error(`${command} ${args.join(' ')}: ${run.error ?? (run.stdout + run.stderr).slice(-4000)}`)
	return run.stdout
}

// The old revision, built in a directory of its own.
function buildOld(from, dir) {
	const source = path.join(dir, 'source'),
		build = path.join(source, 'build')
	fs.mkdirSync(source, { recursive: true })
	must('sh', ['-ec', 'git archive "$1" | tar x -C "$2"', 'sh', from, source], ROOT)
	must('meson', ['setup', build], source)
	must('ninja', ['-C', build], source)
	return build
}

// Calls to a server, by its address and key.
function via(server) {
	const opt = { base: server.url, key: server.key }
	const call = async (method, what, body, status) => {
		const got = await api(method, what, body, opt)
		if (status) assert.equal(got.status, status, `${method} ${what}: ${got.status} ${got.text}`)
		return got.json
	}
	const at = {
		call,
		url: server.url,
		create: (body) => createRaw({ templateID: 'code-interpreter-v1', timeout: 3600, ...body }, opt),
		code: (sbx, code) => runCode(sbx, code, {}, server.url),
		sh: async (sbx, command) => {
			const run = await start(sbx, command, { base: server.url })
			await run.ended
			return outputOf(run.events).trim()
		},
		put: (sbx, file, text) =>
			envd(sbx, 'POST', `/files?path=${file}`, text, {
				base: server.url,
				headers: { 'Content-Type': 'application/octet-stream' },
			}),
		list: (sbx) => rpc(sbx, 'process.Process/List', {}, { base: server.url }),
		background: async (sbx, command) => {
			const run = await start(sbx, command, { base: server.url })
			assert.ok(await until(() => run.events.length > 0), `${command} does not start`)
			return run.events[0].event.start.pid
		},
	}
	return at
}

// A sandbox with a variable in its interpreter, a file and a process.
async function makeLived(at, more) {
	const sbx = await at.create(more)
	assert.equal((await at.code(sbx, 'kept = 6 * 7')).error, undefined)
	await at.put(sbx, '/home/user/kept', 'kept on disk')
	const pid = await at.background(sbx, 'while :; do date +%s%N > /tmp/beat; sleep 0.1; done')
	return { sbx, pid }
}

async function checkLived(at, { sbx, pid }, { memory = true } = {}) {
	assert.equal(await at.sh(sbx, 'cat /home/user/kept'), 'kept on disk')
	if (!memory) return
	assert.equal((await at.code(sbx, 'kept')).text, '42')
	assert.ok(
		(await at.list(sbx)).json.processes.some((p) => p.pid === pid),
		'its background process is gone',
	)
	const beat = await at.sh(sbx, 'cat /tmp/beat')
	assert.ok(
		await until(async () => (await at.sh(sbx, 'cat /tmp/beat')) !== beat, 20000),
		'its background process stands still',
	)
}

const resume = (at, sbx) => at.call('POST', `/sandboxes/${sbx.sandboxID}/connect`, { timeout: 3600 }, 201)

const THINGS = {
	'a running sandbox': {
		make: (at) => makeLived(at, { metadata: { who: 'upgrade' }, envVars: { KEPT: 'yes' } }),
		check: async (at, it) => {
			await checkLived(at, it)
			const info = await at.call('GET', `/sandboxes/${it.sbx.sandboxID}`, undefined, 200)
			assert.deepEqual([info.state, info.metadata], ['running', { who: 'upgrade' }])
			assert.equal(await at.sh(it.sbx, 'echo $KEPT'), 'yes')
		},
	},
	'a sandbox of the warm pool': {
		make: (at) => makeLived(at),
		check: checkLived,
	},
	'a paused sandbox': {
		make: async (at) => {
			const it = await makeLived(at)
			await at.call('POST', `/sandboxes/${it.sbx.sandboxID}/pause`, {}, 204)
			return it
		},
		check: async (at, it) => {
			await resume(at, it.sbx)
			await checkLived(at, it)
		},
	},
	'a sandbox paused without its memory': {
		make: async (at) => {
			const it = await makeLived(at)
			await at.call('POST', `/sandboxes/${it.sbx.sandboxID}/pause`, { memory: false }, 204)
			return it
		},
		check: async (at, it) => {
			await resume(at, it.sbx)
			await checkLived(at, it, { memory: false })
		},
	},
	'a snapshot': {
		make: async (at) => {
			const it = await makeLived(at)
			const made = await at.call('POST', `/sandboxes/${it.sbx.sandboxID}/snapshots`, {}, 201)
			return { ...it, snapshot: made.snapshotID }
		},
		check: async (at, it) => checkLived(at, { ...it, sbx: await at.create({ templateID: it.snapshot }) }),
	},
	'a volume and a sandbox that has it': {
		make: async (at) => {
			const volume = await at.call('POST', '/volumes', { name: 'upgrade' }, 201)
			const sbx = await at.create({
				templateID: 'base',
				volumeMounts: [{ name: 'upgrade', path: '/v' }],
			})
			assert.equal(await at.sh(sbx, 'echo in a volume > /v/kept; cat /v/kept'), 'in a volume')
			return { volume, sbx }
		},
		check: async (at, { volume, sbx }) => {
			assert.equal(await at.sh(sbx, 'cat /v/kept'), 'in a volume')
			const other = await at.create({
				templateID: 'base',
				volumeMounts: [{ name: 'upgrade', path: '/v' }],
			})
			assert.equal(await at.sh(other, 'cat /v/kept'), 'in a volume')
			const got = await request('GET', `/volumecontent/${volume.volumeID}/file?path=/kept`, {
				base: at.url,
				headers: { Authorization: `Bearer ${volume.token}` },
			})
			assert.equal(got.text, 'in a volume\n')
		},
	},
	'a template that was built': {
		make: async (at) => {
			const { templateID, buildID } = await at.call(
				'POST',
				'/v3/templates',
				{ name: 'upgraded', cpuCount: 1, memoryMB: 512 },
				202,
			)
			await at.call(
				'POST',
				`/v2/templates/${templateID}/builds/${buildID}`,
				{
					fromTemplate: 'base',
					steps: [{ type: 'RUN', args: ['echo built > /built', 'root'] }],
				},
				202,
			)
			const state = async () =>
				(
					await at.call(
						'GET',
						`/templates/${templateID}/builds/${buildID}/status?logsOffset=0`,
						undefined,
						200,
					)
				).status
			assert.ok(
				await until(async () => ['ready', 'error'].includes(await state()), 120000, 250),
				'the build does not end',
			)
			assert.equal(await state(), 'ready')
			return {}
		},
		check: async (at) =>
			assert.equal(await at.sh(await at.create({ templateID: 'upgraded' }), 'cat /built'), 'built'),
	},
	'an API key': {
		make: (at) => at.call('POST', '/api-keys', { name: 'upgrade' }, 201),
		check: async (at, key) => {
			const got = await api('GET', '/v2/sandboxes', undefined, { base: at.url, key: key.key })
			assert.equal(got.status, 200)
			assert.ok(
				(await at.call('GET', '/api-keys', undefined, 200)).some(
					(one) => one.name === 'upgrade',
				),
			)
		},
	},
	'a secret': {
		make: (at) => at.call('POST', '/secrets', { name: 'upgrade', value: 'a value that is kept' }, 201),
		check: async (at) =>
			assert.deepEqual(
				(await at.call('GET', '/secrets', undefined, 200)).map((s) => s.name),
				['upgrade'],
			),
	},
	'a session of an agent': {
		make: async (at) => {
			const made = await at.call('POST', '/agent/sessions', { agentId: 'upgrade' }, 201)
			const run = await at.call(
				'POST',
				`/agent/sessions/${made.sessionId}/execute`,
				{ code: 'kept = 43' },
				200,
			)
			assert.equal(run.success, true, JSON.stringify(run))
			return made
		},
		check: async (at, { sessionId }) => {
			const run = await at.call('POST', `/agent/sessions/${sessionId}/execute`, { code: 'kept' }, 200)
			assert.ok(run.success && JSON.stringify(run).includes('43'), JSON.stringify(run))
		},
	},
	'a webhook': {
		make: (at) =>
			at.call(
				'POST',
				'/events/webhooks',
				{
					name: 'upgrade',
					url: 'https://example.org/hook',
					events: ['sandbox.lifecycle.created'],
					signatureSecret: 'a secret of sixteen',
				},
				201,
			),
		check: async (at) =>
			assert.deepEqual(
				(await at.call('GET', '/events/webhooks', undefined, 200)).map((w) => w.name),
				['upgrade'],
			),
	},
	'the audit trail': {
		make: async () => ({}),
		check: async (at, _, server) => {
			const run = spawnSync(server.atoll(), ['audit', 'verify', '--state', server.stateDir], {
				encoding: 'utf8',
			})
			assert.equal(run.status, 0, run.stdout + run.stderr)
		},
	},
}

async function main() {
	const opt = options(process.argv.slice(2))
	const base = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-upgrade-'))
	const had = {},
		bad = []
	let server
	try {
		const old = new Server(opt.fromBuild ?? buildOld(opt.from, base), base, CONFIG)
		server = await old.start()
		for (const [name, thing] of Object.entries(THINGS)) had[name] = await thing.make(via(server))
		old.signal('SIGTERM')
		assert.equal(await old.exited, 0, 'exit status of the old server')
		// what it starts gets places that the old version did not have
		server = new Server(opt.buildDir, base, CONFIG, { args: ['--first-place', '1999'] })
		await server.start()
		for (const [name, thing] of Object.entries(THINGS)) {
			try {
				await thing.check(via(server), had[name], server)
				console.log(`ok   ${name}`)
			} catch (err) {
				bad.push(name)
				console.log(`FAIL ${name}: ${err.message}`)
			}
		}
		for (const sbx of await via(server).call('GET', '/v2/sandboxes?state=running,paused', undefined, 200))
			await via(server).call('DELETE', `/sandboxes/${sbx.sandboxID}`, undefined, 204)
	} finally {
		const end = server && (await server.stop({ remove: !opt.keep }))
		if (end && !end.clean) {
			bad.push('nothing is left behind')
			console.log(`FAIL nothing is left behind: ${JSON.stringify(end.left)}`)
		}
		if (!opt.keep) fs.rmSync(base, { recursive: true, force: true })
	}
	console.log(`${Object.keys(THINGS).length - bad.length} passed, ${bad.length} failed`)
	process.exit(bad.length ? 1 : 0)
}

await main()
