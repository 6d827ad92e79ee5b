// SPDX-License-Identifier: Apache-2.0
// C4: what the README promises. After `make run` and `eval "$(atoll env)"` every generation of the SDKs works without
// any further set-up, for a user who is not root, getHost() leads to this server, and nothing asks for anybody else's
// name.
import { after, before, test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { server } from '../lib/client.mjs'
import { Visitor } from '../lib/console.mjs'
import { freePort, READY_MS } from '../lib/server.mjs'
import { CLIENTS, install } from './clients.mjs'

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')
const FIRST = path.join(ROOT, 'tests/compat/first')
const ATOLL = path.join(server.buildDir, 'src/cli/atoll')
const NOBODY = 65534
const LIMIT_MS = 120000
const resolves = spawnSync('getent', ['ahosts', 'x.atoll.localhost']).status === 0
const options = { skip: resolves ? false : 'libnss-myhostname is not installed', timeout: LIMIT_MS + 300000 }

const base = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-run-'))
const state = path.join(base, 'state')
let demo,
	port,
	said = ''

before(async () => {
	fs.chmodSync(base, 0o755)
	port = await freePort()
	demo = spawn(
		path.join(ROOT, 'scripts/run-demo'),
		[
			'--build-dir',
			server.buildDir,
			'--state',
			state,
			'--run',
			path.join(base, 'run'),
			'--listen',
			`127.0.0.1:${port}`,
		],
		{ stdio: ['ignore', 'pipe', 'pipe'] },
	)
	await new Promise((done, fail) => {
		const timer = setTimeout(() => fail(new Error(`not ready: ${said}`)), READY_MS)
		const onText = (part) => {
			said += part
			if (said.includes('--- press Ctrl-C to stop the server')) {
				clearTimeout(timer)
				done()
			}
		}
		demo.stdout.on('data', onText)
		demo.stderr.on('data', onText)
		demo.once('close', () => fail(new Error(`make run ended: ${said}`)))
	})
})

after(async () => {
	const ended = new Promise((done) => demo.once('close', done))
	demo.kill('SIGTERM')
	await ended
	assert.equal(fs.existsSync(path.join(base, 'run')), false)
	fs.rmSync(base, { recursive: true })
})

// In a shell, as the README has it; the program itself runs as a user who has no rights to the server's files.
async function inShell(command, env = {}) {
	const lookups = path.join(base, 'lookups')
	fs.writeFileSync(lookups, '')
	fs.chmodSync(lookups, 0o666)
	const clean = Object.fromEntries(
		Object.entries(process.env).filter(([name]) => !/^(E2B_|ATOLL_|SSL_CERT|NODE_)/.test(name)),
	)
	const child = spawn(
		'bash',
		[
			'-ec',
			`eval "$("$0" env --state ${state})"; exec setpriv --reuid ${NOBODY} --regid ${NOBODY} ` +
				`--clear-groups -- "$@"`,
			ATOLL,
			...command,
		],
		{
			env: {
				...clean,
				HOME: base,
				PYTHONDONTWRITEBYTECODE: '1',
				...env,
				ATOLL_TEST_LOOKUPS: lookups,
			},
			timeout: LIMIT_MS,
			killSignal: 'SIGKILL',
		},
	)
	let text = ''
	child.stdout.on('data', (part) => {
		text += part
	})
	child.stderr.on('data', (part) => {
		text += part
	})
	const code = await new Promise((done) => child.once('close', done))
	return { code, text, names: new Set(fs.readFileSync(lookups, 'utf8').split('\n').filter(Boolean)) }
}

test('the printed link logs a browser in to the console', async () => {
	const [, url, code] = /^ +(http:\/\/\S+)\/console\/#login=(\S+)$/m.exec(said) ?? []
	assert.ok(code, said)
	const v = new Visitor({ base: url })
	assert.equal((await v.login({ link: code })).json.role, 'admin')
	assert.equal((await v.ask('GET', '/nodes')).status, 200)
})

test('C4: what it says of itself', options, () => {
	assert.match(
		said,
		new RegExp(
			`^atoll: ready on http://127\\.0\\.0\\.1:${port} and https://127\\.0\\.0\\.1:${port} ` +
				`\\(E2B_DOMAIN=atoll\\.localhost:${port}\\)$`,
			'm',
		),
	)
	assert.match(said, new RegExp(`export E2B_DOMAIN='atoll\\.localhost:${port}'`))
})

for (const client of CLIENTS) {
	test(
		`C4: after make run, ${client.title} ${client.id}: the first program and getHost()`,
		options,
		async (t) => {
			const { dir, why } = install(client, server.buildDir)
			if (why) {
				t.skip(why)
				return
			}
			const got =
				client.kind === 'js'
					? await inShell(
							[
								process.execPath,
								'--no-warnings',
								path.join(FIRST, 'first.cjs'),
								dir,
							],
							{ NODE_OPTIONS: `--require ${path.join(FIRST, 'names.cjs')}` },
						)
					: await inShell(
							[
								path.join(dir, 'bin/python'),
								path.join(FIRST, 'first.py'),
								client.mode,
							],
							{ PYTHONPATH: path.join(FIRST, 'names') },
						)
			assert.equal(got.code, 0, got.text)
			assert.match(got.text, /^done$/m)
			const foreign = [...got.names].filter(
				(name) => !/^(127\.0\.0\.1|::1|localhost|.*\.atoll\.localhost)$/.test(name),
			)
			assert.deepEqual(foreign, [])
			assert.ok(
				[...got.names].some(
					(name) => name.startsWith('8000-') && name.endsWith('.atoll.localhost'),
				),
				[...got.names].join(' '),
			)
		},
	)
}
