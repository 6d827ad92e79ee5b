// SPDX-License-Identifier: Apache-2.0
// What the proxy of domain rules costs: the same bytes to and from a host outside, by name through it and directly,
// in turns.
import path from 'node:path'
import fs from 'node:fs'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { outside } from '../tests/lib/outside.mjs'
import { createRaw, endOf, envd, killRaw, outputOf, stream } from '../tests/lib/client.mjs'
import { newServer } from '../tests/lib/server.mjs'
import { childrenOf, nameOf } from '../tests/lib/host.mjs'
import { cpuSeconds, ratioOf, stats } from './measure.mjs'

const PROGRAM = path.join(path.dirname(fileURLToPath(import.meta.url)), 'egress.py')
const HOST = 'bytes.example.com'

function serve(ns, address) {
	const child = spawn('ip', ['netns', 'exec', ns, 'python3', PROGRAM, 'serve', address], {
		stdio: ['ignore', 'pipe', 'inherit'],
	})
	return new Promise((done, fail) => {
		child.stdout.once('data', () => done(child))
		child.once('exit', (code) => fail(new Error(`the server outside ended with ${code}`)))
	})
}

async function inside(server, sbx, what, port, size) {
	const run = await stream(
		sbx,
		'process.Process/Start',
		{
			process: { cmd: 'python3', args: ['/tmp/egress.py', what, HOST, String(port), String(size)] },
			stdin: false,
		},
		{ base: server.url },
	)
	await run.ended
	if (endOf(run.events)?.exitCode) throw new Error(`${what}: ${outputOf(run.events, 'stderr')}`)
	return size / Number(outputOf(run.events)) / 1e6
}

async function sandbox(server, network) {
	const sbx = await createRaw({ timeout: 1800, network }, { base: server.url, key: server.key })
	const put = await envd(sbx, 'POST', '/files?path=/tmp/egress.py&username=user', fs.readFileSync(PROGRAM), {
		base: server.url,
		headers: { 'Content-Type': 'application/octet-stream' },
	})
	if (put.status !== 200) throw new Error(`upload of the program: ${put.status}`)
	return sbx
}

// Its own server, because that must ask the name server outside.
export async function egress(buildDir, size, rounds) {
	const out = await outside({ hosts: 2, bare: 1 })
	const [dns, host] = out.addresses
	out.setDns({ [HOST]: [host] })
	const far = await serve(out.ns, host)
	const server = newServer(buildDir, { log_level: 'warn', dns_servers: dns })
	const parts = [
		['get', 443, 'download, TLS'],
		['put', 443, 'upload, TLS'],
		['web', 80, 'download, HTTP'],
	]
	const result = { size, unit: 'MB/s', parts: [] }
	try {
		await server.start()
		const opt = { base: server.url, key: server.key }
		const direct = await sandbox(server),
			ruled = await sandbox(server, { denyOut: ['0.0.0.0/0'], allowOut: [HOST] })
		const pid = childrenOf(server.pid).find((p) => nameOf(p) === 'atoll-egress')
		for (const [what, port, name] of parts) {
			const speeds = { plain: [], api: [] }
			let cpu = 0
			for (let i = 0; i <= rounds; i++) {
				const plain = await inside(server, direct, what, port, size)
				const before = cpuSeconds(pid)
				const api = await inside(server, ruled, what, port, size)
				if (i === 0) continue // caches and windows
				speeds.plain.push(plain)
				speeds.api.push(api)
				cpu += cpuSeconds(pid) - before
			}
			const [plain, api] = [stats(speeds.plain), stats(speeds.api)]
			result.parts.push({
				name,
				plain,
				api,
				ratio: ratioOf(speeds.api, speeds.plain),
				cpuPerGb: (cpu * 1e9) / size / rounds,
			})
		}
		await killRaw(direct, opt)
		await killRaw(ruled, opt)
	} finally {
		far.removeAllListeners('exit')
		far.kill('SIGKILL')
		result.clean = server.pid ? (await server.stop()).clean : true
		out.end()
	}
	return result
}
