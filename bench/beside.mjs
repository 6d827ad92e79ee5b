// SPDX-License-Identifier: Apache-2.0
// atoll beside others on the same machine, in turns: the first Python result, a cell, a command, an upload. Each round
// measures all of them once, so that what else the machine does meets all of them; ratios are taken within a round.
import crypto from 'node:crypto'
import http from 'node:http'
import path from 'node:path'
import { until, mountsOf, sleep } from '../tests/lib/host.mjs'
import { newServer } from '../tests/lib/server.mjs'
import { envelope, headersOf } from './calls.mjs'
import { coldConfig, poolConfig, poolIsFull } from './interp.mjs'
import { Caller, ratioOf, stats } from './measure.mjs'
import * as peers from './peers.mjs'
import { BOUNDARY, parts } from './uploads.mjs'
import { create, execute, kill, warm } from './versus.mjs'

const POOL_MS = 60000
const UPLOADS = { '1 kB': 1000, '1 MB': 1e6, '100 MB': 100e6 }
const COMMAND = envelope({ process: { cmd: '/bin/bash', args: ['-l', '-c', 'true'] }, stdin: false })

const OURS = 'atoll, through its front',
	GO = 'Go io.Copy, no proxy, no overlay'

const fails = (err) => ({ skipped: err.message.slice(0, 200) })

// What somebody has put beside atoll: a server that speaks E2B's protocol at a URL. Calls are those that atoll gets.
class Peer {
	constructor(url, headers) {
		this.url = new URL(url)
		this.headers = headers
		this.agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
	}

	post(where, body, type) {
		const { hostname: host, port } = this.url
		const headers = { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body), ...this.headers }
		return new Promise((done, fail) => {
			const began = performance.now()
			const req = http.request({
				host,
				port,
				method: 'POST',
				path: where,
				headers,
				agent: this.agent,
			})
			req.once('error', fail)
			req.once('response', (res) => {
				const parts = []
				res.on('data', (part) => parts.push(part))
				res.once('error', fail)
				res.once('end', () => {
					const text = Buffer.concat(parts).toString()
					if (res.statusCode === 200) done({ ms: performance.now() - began, text })
					else fail(new Error(`${where}: ${res.statusCode} ${text.slice(0, 100)}`))
				})
			})
			req.end(body)
		})
	}

	async cell() {
		const { ms, text } = await this.post('/execute', JSON.stringify({ code: '1+1' }), 'application/json')
		if (!/"text": ?"2"/.test(text)) throw new Error(`/execute: ${text.slice(0, 100)}`)
		return ms
	}

	async command() {
		const { ms, text } = await this.post('/process.Process/Start', COMMAND, 'application/connect+json')
		if (!text.includes('"exited":true')) throw new Error(`a command: ${text.slice(0, 100)}`)
		return ms
	}

	async upload(data, name) {
		const where = `/files?path=${encodeURIComponent(name)}&username=user`
		return (await this.post(where, data, 'application/octet-stream')).ms
	}

	// 1,000 files of 1 kB as one multipart body. The folder in the query is for servers that keep the last element
	// of a name alone.
	async bulk(folder) {
		const where = `/files?username=user&folder=${encodeURIComponent(folder)}`
		return (await this.post(where, parts(folder), `multipart/form-data; boundary=${BOUNDARY}`)).ms
	}

	close() {
		this.agent.destroy()
	}
}

// Measures all actors ({ name: async () => ms }) in turns. One that fails is left out, with the reason. The first
// of them is what the others are compared with.
async function inTurns(actors, rounds) {
	const samples = {},
		skipped = {}
	for (let i = -1; i < rounds; i++) {
		const names = Object.keys(actors).filter((name) => !skipped[name])
		for (const name of i % 2 ? names.reverse() : names) {
			try {
				if (typeof actors[name] !== 'function') throw new Error(actors[name].skipped)
				const ms = await actors[name]()
				if (i >= 0) (samples[name] ??= []).push(ms)
			} catch (err) {
				skipped[name] = fails(err)
			}
		}
	}
	const [first] = Object.keys(actors)
	if (skipped[first]) throw new Error(`${first}: ${skipped[first].skipped}`)
	return Object.fromEntries(
		Object.keys(actors).map((name) => [
			name,
			skipped[name] ?? { ...stats(samples[name]), ratio: ratioOf(samples[name], samples[first]) },
		]),
	)
}

async function open(buildDir, config) {
	const server = await newServer(buildDir, config).start()
	const side = { server, caller: new Caller(server, 4) }
	await warm(side)
	return side
}

async function close(side) {
	side.caller.close()
	return (await side.server.stop()).clean
}

async function firstResult({ caller }) {
	const began = performance.now()
	const sbx = await create(caller)
	await execute(caller, sbx, '1+1')
	const ms = performance.now() - began
	await kill(caller, sbx)
	return ms
}

function ofTemplate(view, opt) {
	const has = (name, make) => (peers.has(name) ? make() : { skipped: 'not installed' })
	const pod = has('podman', () => peers.podman(view))
	return {
		pod,
		first: {
			'bubblewrap, new python3, libraries imported': has('bwrap', () =>
				peers.bwrap(view, peers.IMPORTS),
			),
			'bubblewrap, new python3, no libraries': has('bwrap', () => peers.bwrap(view, 'print(1+1)')),
			[`podman${pod.runtime ? ` with ${pod.runtime}` : ''}, libraries imported`]: pod.first ?? pod,
			'gVisor (runsc do), libraries imported': has(opt.runsc, () => peers.runsc(opt.runsc, view)),
		},
	}
}

async function firstResults(pool, cold, kernel, others, rounds) {
	const hit = async () => {
		if (!(await until(() => poolIsFull(pool.caller), POOL_MS, 20)))
			throw new Error('the pool does not fill')
		await sleep(50)
		return firstResult(pool)
	}
	return inTurns(
		{
			'atoll, from the warm pool': hit,
			'atoll, no pool': () => firstResult(cold),
			'ipykernel (jupyter_client), new kernel, libraries imported': kernel.child
				? () => kernel.say('start')
				: kernel,
			...others,
		},
		rounds,
	)
}

const peerOf = (url, opt, work) => {
	if (!url) return {}
	const peer = new Peer(url, opt.peerHeaders)
	return { [url]: () => work(peer) }
}

// One sandbox of atoll as such a peer, too: the same client and the same calls for both.
const ourselves = ({ server }, sbx, port) => new Peer(server.url, headersOf(sbx, port))

async function uploadSpeeds(side, sbx, opt, rounds) {
	const storage = mountsOf(side.server.pid)
		.map((line) => line.split(' '))
		.find((f) => f.includes('btrfs') && f[4].endsWith('/pool'))[4]
	const folder = path.join(storage, 'bench-io-copy')
	let copy
	try {
		copy = peers.has('go') ? await new peers.GoCopy().open(side.server, folder) : { skipped: 'no go' }
	} catch (err) {
		copy = fails(err)
	}
	const ours = ourselves(side, sbx, 49983)
	const go = copy.port && new Peer(`http://127.0.0.1:${copy.port}`, {})
	const result = {}
	for (const [name, size] of Object.entries(UPLOADS)) {
		const data = crypto.randomBytes(size)
		let n = 0
		const where = () => `/home/user/bench-${size}-${n++ % 4}`
		result[name] = await inTurns(
			{
				[OURS]: () => ours.upload(data, where()),
				[GO]: go ? () => go.upload(data, where()) : copy,
				...peerOf(opt.peerEnvd, opt, (peer) => peer.upload(data, where())),
			},
			size > 1e7 ? rounds : 5 * rounds,
		)
	}
	let n = 0
	const fresh = () => `/home/user/bench-bulk/${n++}`
	result['1,000 files of 1 kB'] = await inTurns(
		{
			[OURS]: () => ours.bulk(fresh()),
			[GO]: go ? () => go.bulk(fresh()) : copy,
			...peerOf(opt.peerEnvd, opt, (peer) => peer.bulk(fresh())),
		},
		rounds * 2,
	)
	go?.close()
	await copy.close?.(folder)
	return result
}

async function trips(side, kernel, view, pod, opt, rounds) {
	const sbx = await create(side.caller)
	await execute(side.caller, sbx, '0')
	if (kernel.child) await kernel.say('start')
	const result = { cell: {}, command: {} }
	const interpreter = ourselves(side, sbx, 49999),
		envd = ourselves(side, sbx, 49983)
	result.cell = await inTurns(
		{
			atoll: () => interpreter.cell(),
			'ipykernel (jupyter_client)': kernel.child ? () => kernel.say('trip') : kernel,
			...peerOf(opt.peerInterpreter, opt, (peer) => peer.cell()),
		},
		rounds * 10,
	)
	const container = pod.runtime ? peers.podmanCommand(pod.runtime, view) : pod
	result.command = await inTurns(
		{
			atoll: () => envd.command(),
			'podman exec': container.run ?? container,
			...peerOf(opt.peerEnvd, opt, (peer) => peer.command()),
		},
		rounds * 4,
	)
	container.close?.()
	result.upload = await uploadSpeeds(side, sbx, opt, rounds)
	for (const peer of [interpreter, envd]) peer.close()
	await kill(side.caller, sbx)
	return result
}

// opt: { buildDir, quick, runsc, peerEnvd, peerInterpreter, peerHeaders }
export async function besideOthers(opt, rootfs) {
	const rounds = opt.quick ? 5 : 10
	const large = { default_disk_mb: 2048, pool_max_mb: 6144, default_memory_mb: 2048 }
	const kernel = await new peers.Kernel().open(rootfs).catch(fails)
	const view = peers.viewOf(rootfs)
	const sides = []
	let result
	try {
		sides.push(await open(opt.buildDir, poolConfig), await open(opt.buildDir, { ...coldConfig, ...large }))
		const { pod, first } = ofTemplate(view, opt)
		result = { first: await firstResults(...sides, kernel, first, rounds) }
		Object.assign(result, await trips(sides[1], kernel, view, pod, opt, rounds))
	} finally {
		await kernel.close?.()
		for (const side of sides) result = { ...result, clean: (await close(side)) && result?.clean !== false }
		peers.dropView(view)
	}
	return result
}
