// SPDX-License-Identifier: Apache-2.0
// Reverse proxies, set up as docs/reverse-proxy.md says: the snippets are read out of the document and run.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { selfSigned } from './certificate.mjs'
import { until } from './host.mjs'
import { freePort } from './server.mjs'

const DOC = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../docs/reverse-proxy.md')
export const DOMAIN = 'sbx.test'

// A program of this machine, or its package unpacked below the build directory: to install it would start a server on
// port 80.
function find(buildDir, { name, packages, places, version }) {
	const own = path.join(buildDir, `test-${name}`)
	const found = () =>
		[...places, ...places.map((file) => path.join(own, file))].find(
			(file) => spawnSync(file, version).status === 0,
		)
	if (found()) return found()
	fs.mkdirSync(own, { recursive: true })
	for (const one of packages) {
		spawnSync('apt-get', ['-q', 'download', one], { cwd: own, timeout: 60000 })
		const deb = fs.readdirSync(own).find((file) => file.startsWith(`${one}_`))
		if (deb) spawnSync('dpkg-deb', ['-x', deb, '.'], { cwd: own })
		if (found()) return found()
	}
	return null
}

// The snippet with our names, ports and files instead of the example's. Each has to occur, or the test would not test
// the document.
class Snippet {
	constructor(language) {
		this.text = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'm').exec(fs.readFileSync(DOC, 'utf8'))[1]
	}

	put(from, to) {
		assert.ok(this.text.includes(from), `the snippet of the document has no '${from}'`)
		this.text = this.text.replaceAll(from, to)
		return this
	}

	names(server, dir) {
		return this.put('127.0.0.1:8080', new URL(server.url).host)
			.put('/etc/ssl/sbx.example.com.crt', `${dir}/cert.pem`)
			.put('/etc/ssl/sbx.example.com.key', `${dir}/key.pem`)
			.put('sbx.example.com', DOMAIN)
	}
}

const nginx = {
	name: 'nginx',
	packages: ['nginx', 'nginx-core'], // which of the two holds the program depends on the release
	places: ['nginx', '/usr/sbin/nginx'],
	version: ['-v'],
	command(program, { dir, port, server }) {
		const [major, minor, patch] = /nginx\/(\d+)\.(\d+)\.(\d+)/
			.exec(spawnSync(program, ['-v'], { encoding: 'utf8' }).stderr)
			.slice(1)
			.map(Number)
		const snippet = new Snippet('nginx').names(server, dir)
		if (major * 1e6 + minor * 1e3 + patch < 1025001)
			// what the document says about older ones
			snippet.put('http2 on;', '').put('listen 443 ssl;', 'listen 443 ssl http2;')
		snippet.put('listen 443', `listen 127.0.0.1:${port}`)
		const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
			.map((kind) => `${kind}_temp_path ${dir}/${kind};`)
			.join('\n')
		fs.writeFileSync(
			`${dir}/nginx.conf`,
			`daemon off;\nworker_processes 1;\npid ${dir}/nginx.pid;\nerror_log ${dir}/log info;\n` +
				`events {}\nhttp {\naccess_log off;\n${temp}\n${snippet.text}}\n`,
		)
		return [program, '-p', dir, '-e', `${dir}/log`, '-c', `${dir}/nginx.conf`]
	},
	kept: (dir) => ['client_body', 'proxy'].flatMap((kind) => fs.readdirSync(`${dir}/${kind}`)),
}

const caddy = {
	name: 'caddy',
	packages: ['caddy'],
	places: ['caddy', '/usr/bin/caddy'],
	version: ['version'],
	command(program, { dir, port, server }) {
		const snippet = new Snippet('caddyfile').names(server, dir)
		fs.writeFileSync(
			`${dir}/Caddyfile`,
			`{\n\tadmin off\n\thttps_port ${port}\n\tauto_https disable_redirects\n\tgrace_period 1s\n` +
				`\tstorage file_system ${dir}/caddy\n}\n${snippet.text}`,
		)
		return [program, 'run', '--config', `${dir}/Caddyfile`, '--adapter', 'caddyfile']
	},
	endsBroken: 'complete', // what was cut, it ends like any other answer; the document says so
	kept: () => [],
}

export const PROXIES = [nginx, caddy]

function certificate(dir) {
	const san = `DNS:${DOMAIN},DNS:*.${DOMAIN}`
	selfSigned({ key: `${dir}/key.pem`, cert: `${dir}/cert.pem`, name: DOMAIN, san, rsa: true })
}

const listens = (port) =>
	new Promise((done) => {
		const sock = net.connect(port, '127.0.0.1', () => {
			sock.destroy()
			done(true)
		})
		sock.once('error', () => done(false))
	})

// { missing: why } or { port, ca, caFile, dir, endsBroken, kept(), log(), stop() }
export async function startProxy(proxy, server) {
	const program = find(server.buildDir, proxy)
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), `atoll-${proxy.name}-`))
	const discard = () => fs.rmSync(dir, { recursive: true, force: true })
	fs.chmodSync(dir, 0o755) // nginx's workers are another user
	if (!program) {
		discard()
		return { missing: `${proxy.name} is not installed and its package could not be had` }
	}
	certificate(dir)
	const port = await freePort()
	const command = proxy.command(program, { dir, port, server })
	const out = fs.openSync(`${dir}/log`, 'a')
	const child = spawn('setpriv', ['--pdeathsig', 'TERM', ...command], {
		stdio: ['ignore', out, out],
		env: { ...process.env, HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir },
	})
	fs.closeSync(out)
	const log = () => fs.readFileSync(`${dir}/log`, 'utf8')
	const ready = await until(async () => child.exitCode !== null || (await listens(port)), 60000, 50)
	assert.ok(ready && child.exitCode === null, `${proxy.name} does not start:\n${log()}`)
	return {
		port,
		dir,
		endsBroken: proxy.endsBroken ?? 'cut',
		caFile: `${dir}/cert.pem`,
		ca: fs.readFileSync(`${dir}/cert.pem`),
		kept: () => proxy.kept(dir),
		log,
		async stop() {
			if (child.exitCode === null) {
				const gone = new Promise((done) => child.once('exit', done))
				child.kill('SIGTERM')
				await gone
			}
			discard()
		},
	}
}
