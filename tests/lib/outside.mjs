// SPDX-License-Identifier: Apache-2.0
// A network behind the host with servers in it: what a sandbox sees as the internet. Addresses are of TEST-NET-2.
import fs from 'node:fs'
import path from 'node:path'
import { execFileSync, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { selfSigned } from './certificate.mjs'

const SERVER = path.join(path.dirname(fileURLToPath(import.meta.url)), 'outside_server.mjs')

function ip(...args) {
	return execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

// The first of 16 small networks that no other run of the tests uses.
function claim(dev) {
	for (let i = 0; i < 16; i++) {
		const base = i * 16
		try {
			ip('route', 'add', `198.51.100.${base}/28`, 'dev', dev)
			return base
		} catch (err) {
			if (!/File exists/.test(String(err.stderr))) throw err
		}
	}
	throw new Error('all test networks are taken')
}

// hosts: how many addresses answer, from `at(2)` on. Every host has: TCP echo on 7, 7000 and 8443, UDP echo on 7 and
// 443, HTTP on 80 and 8080 that answers with what it got, and with `tls` the same by HTTPS on 443 and 8443.
// dns: { name: [address, ...] } served by all on port 53. The last `bare` hosts have nothing of it.
export async function outside({ hosts = 3, bare = 0, tls, dns = {} } = {}) {
	const ns = `atoll-out-${process.pid}`
	const dev = `ato${process.pid % 10000000}`
	ip('netns', 'add', ns)
	ip('link', 'add', dev, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', ns)
	ip('link', 'set', dev, 'up')
	const base = claim(dev)
	const at = (i) => `198.51.100.${base + i}`
	ip('addr', 'add', `${at(1)}/32`, 'dev', dev)
	const inside = (...args) => ip('-n', ns, ...args)
	inside('link', 'set', 'lo', 'up')
	inside('link', 'set', 'eth0', 'up')
	const addresses = Array.from({ length: hosts }, (_, i) => at(2 + i))
	for (const a of addresses) inside('addr', 'add', `${a}/32`, 'dev', 'eth0')
	inside('route', 'add', at(1), 'dev', 'eth0')
	inside('route', 'add', 'default', 'via', at(1))
	const child = spawn(
		'ip',
		[
			'netns',
			'exec',
			ns,
			process.execPath,
			SERVER,
			JSON.stringify({ addresses: addresses.slice(0, hosts - bare), tls, dns }),
		],
		{ stdio: ['pipe', 'pipe', 'inherit'] },
	)
	const self = {
		ns,
		at,
		addresses,
		requests: [], // HTTP requests that arrived: { address, port, method, url, headers, name }
		queries: [], // names that were asked for
		touches: [], // "tcp ADDRESS PORT" or "udp ADDRESS PORT" of all that came
		setDns: (map) => child.stdin.write(`${JSON.stringify(map)}\n`),
		end: () => {
			child.kill('SIGKILL')
			ip('link', 'del', dev)
			ip('netns', 'del', ns)
		},
	}
	try {
		await ready(child, self)
	} catch (err) {
		self.end()
		throw err
	}
	return self
}

function ready(child, self) {
	return new Promise((done, fail) => {
		let rest = ''
		child.once('exit', (code) => fail(new Error(`the outside ended with ${code}`)))
		child.stdout.on('data', (part) => {
			const lines = (rest + part).split('\n')
			rest = lines.pop()
			for (const line of lines) {
				const ev = JSON.parse(line)
				if (ev.ready) done()
				else if (ev.touch) self.touches.push(ev.touch)
				else if (ev.query) self.queries.push(ev.query)
				else self.requests.push(ev)
			}
		})
	})
}

// A certificate authority and a server certificate for these names, made by openssl in dir.
export function certificates(dir, names) {
	const run = (...args) => execFileSync('openssl', args, { cwd: dir, stdio: ['ignore', 'ignore', 'pipe'] })
	selfSigned({ key: path.join(dir, 'ca.key'), cert: path.join(dir, 'ca.pem'), name: 'Test root' })
	run(
		'req',
		'-new',
		'-newkey',
		'ec',
		'-pkeyopt',
		'ec_paramgen_curve:P-256',
		'-nodes',
		'-subj',
		`/CN=${names[0]}`,
		'-keyout',
		'tls.key',
		'-out',
		'tls.csr',
	)
	fs.writeFileSync(path.join(dir, 'ext'), `subjectAltName=${names.map((n) => `DNS:${n}`).join(',')}\n`)
	run(
		'x509',
		'-req',
		'-in',
		'tls.csr',
		'-CA',
		'ca.pem',
		'-CAkey',
		'ca.key',
		'-CAcreateserial',
		'-days',
		'2',
		'-extfile',
		'ext',
		'-out',
		'tls.pem',
	)
	const file = (name) => path.join(dir, name)
	return { ca: file('ca.pem'), cert: file('tls.pem'), key: file('tls.key') }
}
