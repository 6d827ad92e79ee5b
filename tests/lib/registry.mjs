// SPDX-License-Identifier: Apache-2.0
// Images and a real registry for them on loopback: Debian's docker-registry, umoci and skopeo.
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { freePort } from './server.mjs'
import { until } from './host.mjs'

export const missing = ['docker-registry', 'skopeo', 'umoci', 'tar', 'mmdebstrap'].filter(
	(p) => spawnSync('sh', ['-c', `command -v ${p}`]).status !== 0,
)

function run(cmd, args, opts = {}) {
	return execFileSync(cmd, args, {
		encoding: 'utf8',
		stdio: ['ignore', 'pipe', 'pipe'],
		maxBuffer: 64 << 20,
		...opts,
	})
}

export const sha256 = (b) => `sha256:${crypto.createHash('sha256').update(b).digest('hex')}`

// For a file of passwords. Perl is on every Debian, and its crypt is that of the C library.
export const bcrypt = (password) =>
	run('perl', ['-e', 'print crypt($ARGV[0], q{$2b$05$abcdefghijklmnopqrstuu})', password])

export class Registry {
	constructor(dir) {
		this.dir = dir
	}

	// htpasswd: lines of users and bcrypt'ed passwords; then everything asks for one of them.
	async start({ htpasswd } = {}) {
		this.port = await freePort()
		const auth = htpasswd ? `auth: {htpasswd: {realm: test, path: ${this.dir}/htpasswd}}\n` : ''
		fs.mkdirSync(`${this.dir}/data`, { recursive: true })
		if (htpasswd) fs.writeFileSync(`${this.dir}/htpasswd`, htpasswd)
		fs.writeFileSync(
			`${this.dir}/registry.yml`,
			`version: 0.1
log: {level: error, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: ${this.dir}/data}}
http: {addr: 127.0.0.1:${this.port}}
${auth}`,
		)
		this.child = spawn('docker-registry', ['serve', `${this.dir}/registry.yml`], { stdio: 'ignore' })
		const up = () =>
			fetch(`http://127.0.0.1:${this.port}/v2/`).then(
				() => true,
				() => false,
			)
		assert.ok(
			(await until(async () => this.child.exitCode !== null || (await up()), 60000)) &&
				this.child.exitCode === null,
			'docker-registry does not start',
		)
		return this
	}

	get host() {
		return `127.0.0.1:${this.port}`
	}

	get url() {
		return `http://${this.host}`
	}

	// from: as skopeo names it ("oci:DIR:TAG"); to: "library/debian:12"
	push(from, to, more = []) {
		run('skopeo', ['copy', '-q', '--dest-tls-verify=false', ...more, from, `docker://${this.host}/${to}`])
	}

	async stop() {
		this.child?.kill()
		await new Promise((done) => (this.child?.exitCode === null ? this.child.once('exit', done) : done()))
	}
}

// An image in an OCI layout, a layer for each tar.
export function makeImage(layout, tag, tars, config = []) {
	if (!fs.existsSync(layout)) run('umoci', ['init', '--layout', layout])
	run('umoci', ['new', '--image', `${layout}:${tag}`])
	for (const tar of tars) run('umoci', ['raw', 'add-layer', '--image', `${layout}:${tag}`, tar])
	if (config.length) run('umoci', ['config', '--image', `${layout}:${tag}`, ...config])
	return `oci:${layout}:${tag}`
}

// A small Debian as an archive; made once, and kept in the cache.
export function debianTar() {
	const dir = path.join(process.env.ATOLL_CACHE ?? '/var/cache/atoll', 'test-images')
	const file = path.join(dir, 'debian.tar')
	if (!fs.existsSync(file)) {
		const suite = /VERSION_CODENAME=(\w+)/.exec(fs.readFileSync('/etc/os-release', 'utf8'))[1]
		fs.mkdirSync(dir, { recursive: true })
		run('mmdebstrap', ['--variant=minbase', '--quiet', '--format=tar', suite, `${file}.${process.pid}`])
		fs.renameSync(`${file}.${process.pid}`, file)
	}
	return file
}

// --- a registry that says whatever it is told ---------------------------------------------------------------

export async function liar(answer, use) {
	const seen = []
	const s = http.createServer((req, res) => {
		seen.push({ url: req.url, auth: req.headers.authorization, range: req.headers.range })
		answer(req, res)
	})
	await new Promise((done) => s.listen(0, '127.0.0.1', done))
	const host = `127.0.0.1:${s.address().port}`
	try {
		return await use({ host, url: `http://${host}`, seen })
	} finally {
		s.closeAllConnections()
		s.close()
	}
}

// Documents of an image with these layers (bytes of tars, plain or not).
export function imageOf(layers, { diffIds, sizes, digests, platform = {} } = {}) {
	const config = Buffer.from(
		JSON.stringify({
			os: 'linux',
			architecture: { x64: 'amd64' }[process.arch] ?? process.arch,
			config: {},
			...platform,
			rootfs: { type: 'layers', diff_ids: diffIds ?? layers.map((l) => sha256(l)) },
		}),
	)
	const manifest = Buffer.from(
		JSON.stringify({
			schemaVersion: 2,
			mediaType: 'application/vnd.oci.image.manifest.v1+json',
			config: {
				mediaType: 'application/vnd.oci.image.config.v1+json',
				digest: sha256(config),
				size: config.length,
			},
			layers: layers.map((l, i) => ({
				mediaType: 'application/vnd.oci.image.layer.v1.tar',
				digest: digests?.[i] ?? sha256(l),
				size: sizes?.[i] ?? l.length,
			})),
		}),
	)
	return { config, manifest, layers }
}

// Serves it as any registry would; `odd` may answer in its place by returning true.
export function serve(image, odd = () => false) {
	return (req, res) => {
		if (odd(req, res)) return
		if (req.url.includes('/manifests/')) {
			res.setHeader('content-type', 'application/vnd.oci.image.manifest.v1+json')
			res.end(image.manifest)
			return
		}
		const want = req.url.split('/blobs/')[1]
		const blob = [image.config, ...image.layers].find(
			(b, i) => sha256(b) === want || (i > 0 && image.digests?.[i - 1] === want),
		)
		if (!blob) {
			res.statusCode = 404
			res.end()
			return
		}
		const from = Number(/bytes=(\d+)-/.exec(req.headers.range ?? '')?.[1] ?? 0)
		if (from) {
			res.statusCode = 206
			res.setHeader('content-range', `bytes ${from}-${blob.length - 1}/${blob.length}`)
		}
		res.setHeader('content-length', blob.length - from)
		res.end(blob.subarray(from))
	}
}
