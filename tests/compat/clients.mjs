// SPDX-License-Identifier: Apache-2.0
// The clients that try the capabilities: which versions, how they are installed, how they reach the server.
import path from 'node:path'
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { installPackages } from '../lib/npm.mjs'
import { installPython } from '../lib/pip.mjs'
import { DOMAIN, newTlsServer, tlsEnv } from '../lib/tls.mjs'
import { counts } from './programs/run.mjs'

const HERE = path.dirname(fileURLToPath(import.meta.url))
const LIMIT_MS = 240000

const js = (id, e2b, interpreter, opt = {}) => ({
	id,
	kind: 'js',
	title: 'JS',
	packages: { e2b, '@e2b/code-interpreter': interpreter },
	pinned: !e2b.startsWith('^'),
	...opt,
})
const py = (id, mode, packages, opt = {}) => ({ id, kind: 'py', mode, title: `Python, ${mode}`, packages, ...opt })

const PY_NEW = ['e2b', 'e2b-code-interpreter']
const PY_OLD = ['e2b<2', 'e2b-code-interpreter<2']

// tls: a client that knows no routing headers, but host names over TLS only.
export const CLIENTS = [
	js('js', '^2.51.0', '^2.8.0'),
	js('js-2.45', '2.45.0', '2.7.2'),
	js('js-2.0', '2.0.1', '2.0.0', { tls: true }),
	js('js-1', '1.13.2', '1.5.1', { tls: true }),
	py('py', 'sync', PY_NEW),
	py('py-async', 'async', PY_NEW),
	py('py-1', 'sync', PY_OLD, { tls: true }),
	py('py-1-async', 'async', PY_OLD, { tls: true }),
]

// { dir, why }: why it could not be installed, else null.
export function install(client, buildDir) {
	const dir = path.join(buildDir, 'test-clients', client.id.replace(/-async$/, ''))
	const why =
		client.kind === 'js'
			? installPackages(
					dir,
					client.packages,
					client.pinned ? { overrides: { e2b: client.packages.e2b } } : {},
				)
			: installPython(dir, client.packages)
	return { dir, why }
}

function run(command, args, env) {
	return new Promise((done) => {
		const child = spawn(command, args, {
			env: { ...env, PYTHONDONTWRITEBYTECODE: '1' },
			timeout: LIMIT_MS,
			killSignal: 'SIGKILL',
		})
		let out = '',
			err = ''
		child.stdout.on('data', (part) => {
			out += part
		})
		child.stderr.on('data', (part) => {
			err += part
		})
		child.once('close', (code, signal) => done({ code: signal ?? code, out, err }))
	})
}

// { skip: why } or { h2: requests by HTTP/2, versions: { package: version }, results: { id: { outcome, why } } }
export async function tryClient(client, server) {
	const { dir, why } = install(client, server.buildDir)
	if (why) return { skip: why }
	if (client.tls && spawnSync('getent', ['ahosts', `x.${DOMAIN}`]).status !== 0)
		return { skip: 'libnss-myhostname is not installed' }
	const own = client.tls ? await (await newTlsServer(server.buildDir)).start() : null
	const [command, ...args] =
		client.kind === 'js'
			? [process.execPath, '--no-warnings', path.join(HERE, 'js/main.cjs'), dir]
			: [path.join(dir, 'bin/python'), path.join(HERE, 'py/main.py'), client.mode]
	const got = await run(command, args, own ? tlsEnv(own) : process.env)
	const h2 = own ? (await counts(own)).h2 : 0
	await own?.stop()
	const lines = got.out
		.split('\n')
		.filter(Boolean)
		.map((line) => JSON.parse(line))
	if (got.code !== 0)
		throw new Error(`${client.id} ended with ${got.code} after ${lines.at(-1)?.id}:\n${got.err}`)
	return {
		h2,
		versions: lines[0].versions,
		results: Object.fromEntries(lines.slice(1).map(({ id, ...rest }) => [id, rest])),
	}
}
