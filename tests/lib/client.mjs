// SPDX-License-Identifier: Apache-2.0
// Plain HTTP and Connect calls, for what the SDK hides: raw statuses, headers, framing, broken streams.
import http from 'node:http'
import net from 'node:net'
import { sharedServer } from './server.mjs'
import { clientPackage } from './npm.mjs'

export const server = process.env.ATOLL_TEST_SERVER ? sharedServer() : null
export const ENVD_PORT = '49983'

// What every sandbox is shown with, alone and in lists: the clients' parsers need it.
export const INFO_FIELDS = [
	'templateID',
	'sandboxID',
	'clientID',
	'startedAt',
	'endAt',
	'cpuCount',
	'memoryMB',
	'diskSizeMB',
	'state',
	'envdVersion',
]

export function sdk(name) {
	return clientPackage(name)
}

// One HTTP request on a connection of its own. body: string, Buffer or anything JSON; `chunked` sends no length.
// from: the address that it comes from, 127.0.0.x; who sends what is wrong is made to wait by its address.
export function request(
	method,
	path,
	{ headers = {}, body, base = server.url, chunked = false, timeout = 60000, from } = {},
) {
	const url = new URL(base)
	const raw = body === undefined || typeof body === 'string' || Buffer.isBuffer(body)
	const bytes = body === undefined ? null : Buffer.from(raw ? body : JSON.stringify(body))
	const all = { ...(raw ? {} : { 'Content-Type': 'application/json' }), ...headers }
	if (bytes && !chunked) all['Content-Length'] = bytes.length
	return new Promise((done, fail) => {
		const req = http.request({
			host: url.hostname,
			port: url.port,
			method,
			path,
			headers: all,
			agent: false,
			timeout,
			...(from && { localAddress: from }),
		})
		req.once('timeout', () => req.destroy(new Error(`no answer to ${method} ${path} within ${timeout} ms`)))
		req.once('error', fail)
		req.once('response', (res) => {
			const parts = []
			res.on('data', (part) => parts.push(part))
			res.once('error', fail)
			res.once('end', () => done(answer(res, Buffer.concat(parts))))
		})
		if (bytes) req.write(bytes)
		req.end()
	})
}

function answer(res, body) {
	const text = body.toString()
	let json
	try {
		json = JSON.parse(text)
	} catch {
		json = undefined
	}
	return { status: res.statusCode, headers: res.headers, body, text, json }
}

// A control API call with the server's key.
export function api(method, path, body, { headers = {}, key = server.key, ...rest } = {}) {
	return request(method, path, { body, headers: { ...(key && { 'X-API-Key': key }), ...headers }, ...rest })
}

export function routeHeaders(sbx, port = ENVD_PORT) {
	return {
		'E2b-Sandbox-Id': sbx.sandboxID,
		'E2b-Sandbox-Port': String(port),
		...(sbx.envdAccessToken && { 'X-Access-Token': sbx.envdAccessToken }),
	}
}

// A call to the envd port of a sandbox, header-routed.
export function envd(sbx, method, path, body, { headers = {}, port, ...rest } = {}) {
	return request(method, path, { body, headers: { ...routeHeaders(sbx, port), ...headers }, ...rest })
}

// A unary Connect call.
export function rpc(sbx, method, message, { user, headers = {}, ...rest } = {}) {
	return envd(sbx, 'POST', `/${method}`, message, {
		headers: { 'Connect-Protocol-Version': '1', ...asUser(user), ...headers },
		...rest,
	})
}

export function asUser(user) {
	return user ? { Authorization: `Basic ${Buffer.from(`${user}:`).toString('base64')}` } : {}
}

export function envelope(message, flag = 0) {
	const body = Buffer.isBuffer(message) ? message : Buffer.from(JSON.stringify(message))
	const head = Buffer.alloc(5)
	head[0] = flag
	head.writeUInt32BE(body.length, 1)
	return Buffer.concat([head, body])
}

function* envelopes(state) {
	while (state.rest.length >= 5) {
		const len = state.rest.readUInt32BE(1)
		if (state.rest.length < 5 + len) return
		const flag = state.rest[0]
		const json = JSON.parse(state.rest.subarray(5, 5 + len).toString())
		state.rest = state.rest.subarray(5 + len)
		yield { flag, json }
	}
}

// A server-streaming Connect call. Resolves when the head is there; `events` fills up, `ended` tells how it stopped:
// { how: 'end', trailer } for an end-of-stream envelope, 'clean' for a body that just ended, 'cut' for a broken one.
export function stream(sbx, method, message, { user, headers = {}, body, base = server.url } = {}) {
	const url = new URL(base)
	return new Promise((done, fail) => {
		const req = http.request({
			host: url.hostname,
			port: url.port,
			method: 'POST',
			path: `/${method}`,
			agent: false,
			headers: {
				...routeHeaders(sbx),
				'Content-Type': 'application/connect+json',
				'Connect-Protocol-Version': '1',
				...asUser(user),
				...headers,
			},
		})
		req.once('error', fail)
		req.once('response', (res) => {
			const state = { rest: Buffer.alloc(0) }
			const self = {
				status: res.statusCode,
				headers: res.headers,
				events: [],
				trailer: null,
				close: () => req.destroy(),
			}
			self.ended = new Promise((over) => {
				const finish = (how) => over({ how: self.trailer ? 'end' : how, trailer: self.trailer })
				res.once('end', () => finish(res.complete ? 'clean' : 'cut'))
				res.once('aborted', () => finish('cut'))
				res.once('error', () => finish('cut'))
				res.once('close', () => finish(res.complete ? 'clean' : 'cut'))
			})
			res.on('data', (part) => {
				state.rest = Buffer.concat([state.rest, part])
				for (const { flag, json } of envelopes(state)) {
					if (flag & 2) self.trailer = json
					else self.events.push(json)
				}
			})
			done(self)
		})
		req.end(body ?? envelope(message))
	})
}

export function start(sbx, command, { user, headers, base, ...process } = {}) {
	return stream(
		sbx,
		'process.Process/Start',
		{ process: { cmd: '/bin/bash', args: ['-l', '-c', command], ...process }, stdin: false },
		{ user, headers, base },
	)
}

// A command to its end.
export async function shell(sbx, command, opt) {
	const got = await start(sbx, command, opt)
	await got.ended
	return {
		stdout: outputOf(got.events),
		stderr: outputOf(got.events, 'stderr'),
		code: endOf(got.events)?.exitCode ?? 0,
	}
}

// The address of a sandbox in its instance's range.
export async function addressOf(sbx, base = server.url) {
	const run = await stream(
		sbx,
		'process.Process/Start',
		{ process: { cmd: 'hostname', args: ['-I'] }, stdin: false },
		{ base },
	)
	await run.ended
	return outputOf(run.events).trim().split(' ')[0]
}

export function outputOf(events, channel = 'stdout') {
	return Buffer.concat(events.map((e) => Buffer.from(e.event?.data?.[channel] ?? '', 'base64'))).toString()
}

export function endOf(events) {
	return events.map((e) => e.event?.end).find(Boolean)
}

// Bytes in, bytes out, on a bare socket: for requests that no HTTP library would send.
export function exchange(bytes, { wait = 5000, base = server.url } = {}) {
	const url = new URL(base)
	return new Promise((done, fail) => {
		const parts = []
		const sock = net.connect(Number(url.port), url.hostname, () => sock.write(bytes))
		const timer = setTimeout(() => sock.destroy(), wait)
		sock.on('data', (part) => parts.push(part))
		sock.once(
			'error',
			(err) => parts.length === 0 && err.code !== 'ECONNRESET' && err.code !== 'EPIPE' && fail(err),
		)
		sock.once('close', () => {
			clearTimeout(timer)
			done(Buffer.concat(parts).toString('latin1'))
		})
	})
}

// Creates a sandbox by raw HTTP; the caller kills it (killRaw), also when its test fails.
export async function createRaw(body = {}, { version = 'v2', ...rest } = {}) {
	const path = version === 'v2' ? '/v2/sandboxes' : '/sandboxes'
	const res = await api('POST', path, { templateID: 'base', ...body }, rest)
	if (res.status !== 201) throw new Error(`create answered ${res.status}: ${res.text}`)
	return res.json
}

export function killRaw(sbx, opt) {
	return api('DELETE', `/sandboxes/${sbx.sandboxID}`, undefined, opt)
}

export async function withRaw(body, use, opt) {
	const sbx = await createRaw(body, opt)
	try {
		return await use(sbx)
	} finally {
		await killRaw(sbx, opt)
	}
}

export async function withSandbox(opt, use) {
	const { Sandbox } = sdk()
	const sbx = await Sandbox.create('base', { timeoutMs: 120000, ...opt })
	try {
		return await use(sbx)
	} finally {
		await sbx.kill().catch(() => {})
	}
}

// The SDK throws on a non-zero exit; this returns the result either way.
export async function runAny(sbx, command, opt) {
	const { CommandExitError } = sdk()
	try {
		return await sbx.commands.run(command, opt)
	} catch (err) {
		if (err instanceof CommandExitError)
			return { exitCode: err.exitCode, stdout: err.stdout, stderr: err.stderr, error: err.error }
		throw err
	}
}
