// SPDX-License-Identifier: Apache-2.0
// Three generations of the JS SDK side by side: v2 calls, v1 calls, and 1.x with host names over TLS only.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import os from 'node:os'
import path from 'node:path'
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { server } from '../lib/client.mjs'

const FIRST = path.join(path.dirname(fileURLToPath(import.meta.url)), 'first.cjs')
const DOMAIN = 'sbx.test'

function first(name, env = {}) {
	return new Promise((done) => {
		const child = spawn(process.execPath, ['--no-warnings', FIRST, name], { env: { ...process.env, ...env } })
		let text = ''
		child.stdout.on('data', (part) => { text += part })
		child.stderr.on('data', (part) => { text += part })
		const timer = setTimeout(() => child.kill('SIGKILL'), 90000)
		child.once('exit', (code) => {
			clearTimeout(timer)
			done({ code, text })
		})
	})
}

for (const name of ['e2b', 'e2b-v1calls']) {
	test(`first program on ${name}`, async () => {
		const got = await first(name)
		assert.equal(got.code, 0, got.text)
	})
}

// A TLS terminator in front of the server, and a resolver hook that sends *.sbx.test to it.
function tlsFront(dir) {
	const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', `${dir}/key.pem`, '-out', `${dir}/cert.pem`,
		'-days', '2', '-subj', `/CN=${DOMAIN}`, '-addext', `subjectAltName=DNS:${DOMAIN},DNS:*.${DOMAIN}`], { stdio: 'ignore' })
	if (made.status !== 0)
		return null
	fs.writeFileSync(`${dir}/dns.cjs`, `
const dns = require('node:dns'), real = dns.lookup
dns.lookup = (host, opt, cb) => {
	if (typeof opt === 'function') { cb = opt; opt = {} }
	if (!String(host).endsWith('${DOMAIN}')) return real.call(dns, host, opt, cb)
	process.nextTick(() => opt.all ? cb(null, [{ address: '127.0.0.1', family: 4 }]) : cb(null, '127.0.0.1', 4))
}
`)
	const up = new URL(server.url)
	const front = https.createServer({ key: fs.readFileSync(`${dir}/key.pem`), cert: fs.readFileSync(`${dir}/cert.pem`) }, (req, res) => {
		const out = http.request({ host: up.hostname, port: up.port, method: req.method, path: req.url, headers: req.headers, agent: false })
		out.once('response', (back) => {
			res.writeHead(back.statusCode, back.headers)
			back.pipe(res)
			back.once('close', () => back.complete || res.destroy())
			back.once('error', () => res.destroy())
		})
		out.once('error', () => res.destroy())
		req.pipe(out)
		res.once('close', () => out.destroy())
	})
	return new Promise((done) => front.listen(0, '127.0.0.1', () => done(front)))
}

test('first program on e2b 1.x: api.DOMAIN and PORT-ID.DOMAIN over TLS, no headers', async (t) => {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-tls-'))
	const front = await tlsFront(dir)
	if (!front) {
		t.skip('openssl is missing')
		return
	}
	try {
		const got = await first('e2b-old', {
			E2B_DOMAIN: `${DOMAIN}:${front.address().port}`, E2B_API_URL: '', E2B_SANDBOX_URL: '',
			NODE_EXTRA_CA_CERTS: `${dir}/cert.pem`, NODE_OPTIONS: `--require ${dir}/dns.cjs`,
		})
		assert.equal(got.code, 0, got.text)
	} finally {
		front.closeAllConnections?.()
		front.close()
		fs.rmSync(dir, { recursive: true, force: true })
	}
})
