// SPDX-License-Identifier: Apache-2.0
// A server of one's own with TLS, and its certificate from `atoll tls init`.
import fs from 'node:fs'
import https from 'node:https'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { freePort, newServer } from './server.mjs'

export const DOMAIN = 'atoll.localhost'
const NAMES = path.join(path.dirname(fileURLToPath(import.meta.url)), 'names.cjs')

export function tlsInit(server, ...args) {
	fs.mkdirSync(server.stateDir, { recursive: true })
	return spawnSync(server.atoll(), ['tls', 'init', '--state', server.stateDir, ...args], { encoding: 'utf8' })
}

// Listens on both loopback addresses: libnss-myhostname gives clients both.
export async function newTlsServer(buildDir, config = {}) {
	const server = newServer(buildDir, config)
	const made = tlsInit(server)
	if (made.status !== 0) throw new Error(`atoll tls init: ${made.stderr}`)
	server.tlsPort = await freePort()
	server.config = { tls_listen: `127.0.0.1:${server.tlsPort} [::1]:${server.tlsPort}`, ...config }
	server.caFile = path.join(server.stateDir, 'tls/ca.pem')
	server.ca = fs.readFileSync(server.caFile)
	server.domain = `${DOMAIN}:${server.tlsPort}`
	return server
}

// What `atoll env --tls` says, as an environment without traces of other ways to reach a server.
export function tlsEnv(server) {
	const got = spawnSync(server.atoll(), ['env', '--json', '--state', server.stateDir], { encoding: 'utf8' })
	if (got.status !== 0) throw new Error(`atoll env: ${got.stderr}`)
	const env = { ...process.env, ...JSON.parse(got.stdout).tls }
	for (const name of ['E2B_API_URL', 'E2B_SANDBOX_URL', 'E2B_DEBUG', 'E2B_ACCESS_TOKEN']) delete env[name]
	return env
}

// What `eval "$(atoll env)"` makes of the environment, of a server with its defaults.
export function shellEnv(server) {
	const got = spawnSync(
		path.join(server.buildDir, 'src/cli/atoll'),
		['env', '--json', '--state', server.stateDir],
		{ encoding: 'utf8' },
	)
	if (got.status !== 0) throw new Error(`atoll env: ${got.stderr}`)
	const env = { ...process.env, ...JSON.parse(got.stdout).url }
	for (const name of ['E2B_DEBUG', 'E2B_ACCESS_TOKEN']) delete env[name]
	return env
}

// Lets a Node client find a domain and all names below it at an address.
export function namesEnv(domain, address) {
	return { ATOLL_TEST_NAMES: `${domain}=${address}`, NODE_OPTIONS: `--require ${NAMES}` }
}

// One HTTP/1.1 request over TLS to a host name below the domain.
export function secureRequest(server, name, method, target, { headers = {}, body, ...tls } = {}) {
	return new Promise((done, fail) => {
		const req = https.request({
			host: '127.0.0.1',
			port: server.tlsPort,
			servername: `${name}.${DOMAIN}`,
			ca: server.ca,
			method,
			path: target,
			headers: { Host: `${name}.${server.domain}`, ...headers },
			agent: false,
			...tls,
		})
		req.once('error', fail)
		req.once('response', (res) => {
			const parts = []
			res.on('data', (part) => parts.push(part))
			res.once('error', fail)
			res.once('end', () =>
				done({
					status: res.statusCode,
					headers: res.headers,
					text: Buffer.concat(parts).toString(),
					cert: res.socket.getPeerCertificate?.(),
					reused: res.socket.isSessionReused?.(),
				}),
			)
		})
		req.end(body)
	})
}
