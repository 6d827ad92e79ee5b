// SPDX-License-Identifier: Apache-2.0
// Images of registries, layouts and archives: what atoll-pull makes of good ones, and that it makes nothing of bad
// ones.
import { after, before, test } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { execFileSync, spawn } from 'node:child_process'
import zlib, { gzipSync } from 'node:zlib'
import { server } from '../../lib/client.mjs'
import { until } from '../../lib/host.mjs'
import { Registry, bcrypt, imageOf, liar, makeImage, missing, serve, sha256 } from '../../lib/registry.mjs'
import { tarOf } from '../../lib/tar.mjs'

const skip = missing.length ? `${missing.join(', ')}: not installed` : false
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-images-'))
const cache = path.join(dir, 'cache')
let registry

before(async () => {
	if (!skip) registry = await new Registry(path.join(dir, 'registry')).start()
})

after(async () => {
	await registry?.stop()
	fs.rmSync(dir, { recursive: true, force: true })
})

function pull(args, opts = {}) {
	return new Promise((done) => {
		const child = spawn(
			path.join(server.buildDir, 'src/oci/atoll-pull'),
			['--cache', opts.cache ?? cache, '--stall-s', '20', ...args],
			{ stdio: ['ignore', 'pipe', 'pipe'] },
		)
		let text = ''
		child.stdout.on('data', (d) => (text += d))
		opts.onChild?.(child)
		child.once('close', (code) => {
			const events = text
				.split('\n')
				.filter(Boolean)
				.map((l) => JSON.parse(l))
			const find = (name) => events.find((e) => e.event === name)
			done({
				code,
				events,
				find,
				error: find('error')?.message,
				key: find('done')?.key,
				root:
					find('done') &&
					path.join(opts.cache ?? cache, 'templates', find('done').key, 'rootfs'),
			})
		})
	})
}

// Everything about a tree that an image decides.
function listing(root) {
	const out = execFileSync('find', ['.', '-printf', '%P|%y|%m|%U:%G|%l|%T@|%s\n'], {
		cwd: root,
		encoding: 'utf8',
		maxBuffer: 64 << 20,
	})
	return out
		.trim()
		.split('\n')
		.map((l) => (l.split('|')[1] === 'd' ? l.replace(/\|\d+$/, '') : l))
		.sort()
}

// Nothing of an image that did not come to be: no directory, no half-written file.
function assertNothingLeft(at = cache) {
	assert.deepEqual(fs.readdirSync(path.join(at, 'images/work')), [])
	for (const blob of fs.readdirSync(path.join(at, 'images/blobs')))
		assert.equal(sha256(fs.readFileSync(path.join(at, 'images/blobs', blob))), `sha256:${blob}`)
	const mounts = fs.readFileSync('/proc/self/mountinfo', 'utf8')
	assert.ok(!mounts.includes(at), 'a mount is left')
}

function write(name, bytes) {
	const file = path.join(dir, name)
	fs.writeFileSync(file, bytes)
	return file
}

// --- a registry that says whatever it is told ---------------------------------------------------------------

const pullFrom = (reg, args = [], opts) => pull(['--registry', reg.url, ...args, `${reg.host}/x`], opts)

async function refuses(image, why, { odd, args } = {}) {
	const r = await liar(serve(image, odd), (reg) => pullFrom(reg, args))
	assert.equal(r.code, 1, JSON.stringify(r.events))
	assert.match(r.error, why)
	assertNothingLeft()
	return r
}

// --- what must work -----------------------------------------------------------------------------------------

test('an image of a registry becomes the tree that it is', { skip }, async () => {
	const tree = path.join(dir, 'tree')
	fs.mkdirSync(path.join(tree, 'etc'), { recursive: true })
	fs.mkdirSync(path.join(tree, 'home/u'), { recursive: true })
	fs.writeFileSync(path.join(tree, 'etc/hosts'), 'hello')
	fs.writeFileSync(path.join(tree, 'etc', 'n'.repeat(200)), 'long')
	fs.linkSync(path.join(tree, 'etc/hosts'), path.join(tree, 'etc/hosts2'))
	fs.symlinkSync('/etc/hosts', path.join(tree, 'link'))
	fs.copyFileSync('/bin/true', path.join(tree, 'su'))
	fs.chmodSync(path.join(tree, 'su'), 0o4755)
	fs.writeFileSync(path.join(tree, 'home/u/f'), 'x')
	fs.chownSync(path.join(tree, 'home/u/f'), 1000, 1000)
	fs.chmodSync(path.join(tree, 'home/u'), 0o700)
	execFileSync('truncate', ['-s', '5M', path.join(tree, 'sparse')])
	fs.appendFileSync(path.join(tree, 'sparse'), 'end')
	execFileSync('tar', ['-S', '--format=pax', '-cf', `${dir}/tree.tar`, '-C', tree, '.'])
	const image = makeImage(
		path.join(dir, 'layout'),
		'tree',
		[`${dir}/tree.tar`],
		[
			'--config.env',
			'A=b',
			'--config.cmd',
			'sh',
			'--config.user',
			'u',
			'--config.workingdir',
			'/w',
			'--config.exposedports',
			'80/tcp',
			'--config.entrypoint',
			'/x',
		],
	)
	registry.push(image, 'library/tree:1')
	const r = await pull(['--mirror', `docker.io=${registry.url}`, 'tree:1'])
	assert.equal(r.code, 0, JSON.stringify(r.events))
	assert.deepEqual(listing(r.root), listing(tree))
	assert.deepEqual(r.find('config').config, {
		Env: ['A=b'],
		Cmd: ['sh'],
		Entrypoint: ['/x'],
		WorkingDir: '/w',
		User: 'u',
		ExposedPorts: { '80/tcp': {} },
	})
	assert.equal(
		fs.statSync(path.dirname(r.root)).mode & 0o777,
		0o700,
		'set-uid programs below must be out of reach',
	)
	const again = await pull(['--mirror', `docker.io=${registry.url}`, `tree@${r.find('resolved').digest}`])
	assert.equal(again.key, r.key)
	assert.equal(again.find('done').cached, true)
	assertNothingLeft()
})

test('the same tree comes from a layout, archives and compressed layers', { skip }, async () => {
	const key = (await pull(['--mirror', `docker.io=${registry.url}`, 'tree:1'])).key
	const others = [`oci:${dir}/layout:tree`]
	execFileSync('skopeo', ['copy', '-q', `oci:${dir}/layout:tree`, `oci-archive:${dir}/a.tar:tree`])
	execFileSync('skopeo', ['copy', '-q', `oci:${dir}/layout:tree`, `docker-archive:${dir}/d.tar:x:tree`])
	others.push(`archive:${dir}/a.tar`, `archive:${dir}/d.tar:tree`, `archive:${dir}/tree.tar`)
	execFileSync('sh', ['-c', `gzip -k ${dir}/tree.tar`])
	others.push(`archive:${dir}/tree.tar.gz`)
	for (const name of others) {
		const r = await pull([name], { cache: path.join(dir, 'cache2') })
		assert.equal(r.key, key, `${name}: ${JSON.stringify(r.events)}`)
	}
	fs.rmSync(path.join(dir, 'cache2'), { recursive: true })
	registry.push(`oci:${dir}/layout:tree`, 'library/zst:1', ['--dest-compress-format', 'zstd', '--dest-compress'])
	registry.push(`oci:${dir}/layout:tree`, 'library/v2:1', ['--format', 'v2s2'])
	for (const name of ['zst:1', 'v2:1']) {
		const r = await pull(['--mirror', `docker.io=${registry.url}`, name], {
			cache: path.join(dir, 'cache2'),
		})
		assert.equal(r.key, key, JSON.stringify(r.events))
		fs.rmSync(path.join(dir, 'cache2'), { recursive: true })
	}
})

test('layers lie over each other as umoci lays them', { skip }, async () => {
	const one = write(
		'l1.tar',
		tarOf([
			{ name: 'keep/a', data: 'a' },
			{ name: 'gone/x', data: 'x' },
			{ name: 'opaque/old', data: 'old' },
			{ name: 'file', data: 'one' },
			{ name: 'usr/lib/', type: '5' },
			{ name: 'lib', type: '2', link: 'usr/lib' },
		]),
	)
	const two = write(
		'l2.tar',
		tarOf([
			{ name: 'opaque/new', data: 'new' },
			{ name: 'opaque/.wh..wh..opq', data: '' },
			{ name: '.wh.gone', data: '' },
			{ name: 'file/', type: '5' },
			{ name: 'file/now', data: 'a directory' },
			{ name: 'usr/lib/so', data: 'so' },
		]),
	)
	const image = makeImage(path.join(dir, 'layout'), 'over', [one, two])
	registry.push(image, 'over:1')
	execFileSync('umoci', ['unpack', '--image', `${dir}/layout:over`, `${dir}/bundle`])
	const r = await pull(['--registry', registry.url, `${registry.host}/over:1`])
	assert.equal(r.code, 0, JSON.stringify(r.events))
	const files = (root) =>
		execFileSync('find', ['.', '-printf', '%P|%y|%l\n'], { cwd: root, encoding: 'utf8' }).split('\n').sort()
	assert.deepEqual(files(r.root), files(`${dir}/bundle/rootfs`))
})

test('of an index the image for this machine is taken', { skip }, async () => {
	const layer = tarOf([{ name: 'mine', data: 'x' }])
	const mine = imageOf([layer]),
		other = imageOf([tarOf([{ name: 'other', data: 'y' }])], { platform: { architecture: 's390x' } })
	const arch = JSON.parse(mine.config).architecture
	const index = Buffer.from(
		JSON.stringify({
			schemaVersion: 2,
			mediaType: 'application/vnd.oci.image.index.v1+json',
			manifests: [
				[other, 's390x'],
				[mine, arch],
			].map(([i, a]) => ({
				mediaType: 'application/vnd.oci.image.manifest.v1+json',
				digest: sha256(i.manifest),
				size: i.manifest.length,
				platform: { os: 'linux', architecture: a },
			})),
		}),
	)
	const answer = serve(mine, (req, res) => {
		if (!req.url.includes('/manifests/latest')) return false
		res.end(index)
		return true
	})
	await liar(answer, async (reg) => {
		const r = await pullFrom(reg)
		assert.equal(r.code, 0, JSON.stringify(r.events))
		assert.ok(fs.existsSync(path.join(r.root, 'mine')))
		const no = await pullFrom(reg, ['--platform', 'linux/riscv64'])
		assert.match(no.error, /no image for linux\/riscv64 in the index; there is: linux\/s390x/)
	})
})

test('a registry with passwords, and one with tokens', { skip }, async () => {
	const hash = bcrypt('secret')
	const auth = write('auth.json', JSON.stringify({ type: 'registry', username: 'user', password: 'secret' }))
	const wrong = write('wrong.json', JSON.stringify({ type: 'registry', username: 'user', password: 'Secret' }))
	if (hash.startsWith('$2')) {
		const locked = await new Registry(path.join(dir, 'locked')).start({ htpasswd: `user:${hash}\n` })
		try {
			locked.push(`oci:${dir}/layout:over`, 'a/b:1', ['--dest-creds', 'user:secret'])
			const name = `${locked.host}/a/b:1`
			assert.equal((await pull(['--registry', locked.url, '--auth-file', auth, name])).code, 0)
			assert.match(
				(await pull(['--registry', locked.url, name])).error,
				/wants a user name and a password/,
			)
			assert.match(
				(await pull(['--registry', locked.url, '--auth-file', wrong, name])).error,
				/refuses access .* with these credentials/,
			)
		} finally {
			await locked.stop()
		}
	}
	const image = imageOf([tarOf([{ name: 'tokened', data: 'x' }])])
	const basic = `Basic ${Buffer.from('user:secret').toString('base64')}`
	let host
	await liar(
		serve(image, (req, res) => {
			if (req.url.startsWith('/token?')) {
				res.end(
					JSON.stringify({
						token:
							req.headers.authorization === basic &&
							req.url.includes('scope=repository%3Ax%3Apull')
								? 'good'
								: 'bad',
					}),
				)
				return true
			}
			if (req.headers.authorization === 'Bearer good') return false
			res.statusCode = 401
			res.setHeader(
				'www-authenticate',
				`Bearer realm="http://${host}/token",service="it",scope="repository:x:pull"`,
			)
			res.end()
			return true
		}),
		async (reg) => {
			host = reg.host
			const r = await pullFrom(reg, ['--auth-file', auth])
			assert.equal(r.code, 0, JSON.stringify(r.events))
			assert.match((await pullFrom(reg)).error, /refuses access/)
			// A mirror is not told who the user is.
			const m = await pull(['--mirror', `docker.io=${reg.url}`, '--auth-file', auth, 'x/x'])
			assert.equal(m.code, 1)
			assert.ok(
				reg.seen.slice(-3).every((s) => !s.auth?.startsWith('Basic')),
				JSON.stringify(reg.seen),
			)
		},
	)
})

test('a download that breaks off is taken up again', { skip }, async () => {
	const big = tarOf([{ name: 'big', data: crypto.randomBytes(3 << 20) }])
	let breaks = 0
	await liar(
		serve(imageOf([big]), (req, res) => {
			if (!req.url.includes(sha256(big)) || ++breaks > 3) return false
			const from = Number(/bytes=(\d+)-/.exec(req.headers.range ?? '')?.[1] ?? 0)
			if (from) {
				res.statusCode = 206
				res.setHeader('content-range', `bytes ${from}-${big.length - 1}/${big.length}`)
			}
			res.setHeader('content-length', big.length - from)
			res.write(big.subarray(from, from + 700000), () => res.destroy())
			return true
		}),
		async (reg) => {
			const r = await pullFrom(reg)
			assert.equal(r.code, 0, JSON.stringify(r.events))
			assert.ok(
				reg.seen.some((s) => s.range),
				'it begins where it was',
			)
		},
	)
})

test('layers are downloaded side by side', { skip }, async () => {
	const layers = [1, 2, 3].map((i) => tarOf([{ name: `f${i}`, data: crypto.randomBytes(64 << 10) }]))
	const image = imageOf(layers),
		plain = serve(image),
		held = []
	let most = 0
	await liar(
		serve(image, (req, res) => {
			if (!layers.some((l) => req.url.includes(sha256(l))) || most === layers.length) return false
			held.push([req, res])
			most = held.length
			if (most === layers.length)
				// none is answered before all have been asked for
				held.forEach((one) => plain(...one))
			return true
		}),
		async (reg) => {
			const r = await pullFrom(reg)
			assert.equal(r.code, 0, JSON.stringify(r.events))
			assert.equal(held.length, layers.length)
		},
	)
})

test('two pulls of one image at once, and a cache with a limit', { skip }, async () => {
	const at = path.join(dir, 'cache3')
	const layers = [1, 2, 3].map((i) => tarOf([{ name: `f${i}`, data: crypto.randomBytes(600 << 10) }]))
	await liar(serve(imageOf(layers)), async (reg) => {
		const both = await Promise.all([1, 2, 3].map(() => pullFrom(reg, [], { cache: at })))
		for (const r of both) assert.equal(r.code, 0, JSON.stringify(r.events))
		assert.equal(new Set(both.map((r) => r.key)).size, 1)
		assertNothingLeft(at)
		assert.equal(fs.readdirSync(path.join(at, 'images/blobs')).length, 3)
		const gc = await pull(['--cache-mb', '1', '--gc'], { cache: at })
		assert.ok(gc.find('collected').bytes > 1 << 20)
		assert.equal(fs.readdirSync(path.join(at, 'images/blobs')).length, 1)
		const key = both[0].key
		await pull(['--gc', '--images', '--keep', key], { cache: at })
		assert.ok(fs.existsSync(path.join(at, 'templates', key)))
		const all = await pull(['--gc', '--images'], { cache: at })
		assert.equal(all.find('collected').images, 1)
		assert.ok(!fs.existsSync(path.join(at, 'templates', key)))
	})
})

// Whoever holds the lock of the trash empties it: the test, so that nobody does.
test('an image is removed at once, and deleted when there is time for it', async () => {
	const at = path.join(dir, 'cache4'),
		trash = path.join(at, 'images/trash')
	const r = await pull([`archive:${write('gone.tar', tarOf([{ name: 'a/b/c', data: 'x' }]))}`], { cache: at })
	assert.equal(r.code, 0, JSON.stringify(r.events))
	const lock = spawn('flock', [trash, 'sh', '-c', 'echo held; read end'], { stdio: ['pipe', 'pipe', 'inherit'] })
	await new Promise((done) => lock.stdout.once('data', done))
	const gc = await pull(['--gc', '--images'], { cache: at })
	assert.equal(gc.find('collected').images, 1)
	assert.ok(!fs.existsSync(path.join(at, 'templates', r.key)))
	assert.ok(fs.existsSync(path.join(trash, `${r.key}.0/rootfs/a/b/c`)), 'left to the one that has the lock')
	lock.stdin.end()
	await new Promise((done) => lock.once('close', done))
	const next = await pull(['--gc'], { cache: at })
	assert.equal(next.find('collected').images, 0, 'it was counted once')
	assert.deepEqual(fs.readdirSync(trash), [])
})

// --- what must not ------------------------------------------------------------------------------------------

const hostile = [
	['an absolute name', [{ name: '/etc/evil', data: 'x' }], /absolute name/],
	['a name with ..', [{ name: 'a/../../evil', data: 'x' }], /leads out/],
	[
		'a file through a link',
		[
			{ name: 'l', type: '2', link: '/tmp' },
			{ name: 'l/evil', data: 'x' },
		],
		/symbolic link/,
	],
	[
		'a directory through a link',
		[
			{ name: 'l', type: '2', link: '..' },
			{ name: 'l/d/', type: '5' },
		],
		/symbolic link/,
	],
	[
		'a whiteout through a link',
		[
			{ name: 'l', type: '2', link: '/tmp' },
			{ name: 'l/.wh.x', data: '' },
		],
		/symbolic link/,
	],
	[
		'an opaque mark through a link',
		[
			{ name: 'l', type: '2', link: '/' },
			{ name: 'l/.wh..wh..opq', data: '' },
		],
		/symbolic link/,
	],
	['a hard link to the outside', [{ name: 'h', type: '1', link: '../../../../etc/shadow' }], /leads out/],
	['an absolute hard link', [{ name: 'h', type: '1', link: '/etc/shadow' }], /absolute/],
	[
		'a hard link through a link',
		[
			{ name: 'l', type: '2', link: '/etc' },
			{ name: 'h', type: '1', link: 'l/shadow' },
		],
		/symbolic link/,
	],
	['a device', [{ name: 'sda', type: '4' }], /is a device/],
	['a device that is a whiteout of overlays', [{ name: 'bin/x', type: '3' }], /is a device/],
	['a name below a whiteout', [{ name: '.wh.a/b', data: 'x' }], /below a whiteout/],
	[
		'a whiteout of ..',
		[
			{ name: 'a/', type: '5' },
			{ name: 'a/.wh...', data: '' },
		],
		/whiteout of nothing/,
	],
	['an entry of no known type', [{ name: 'x', type: 'Q' }], /unknown type/],
]

for (const [what, entries, why] of hostile) {
	test(`a layer with ${what} is refused`, { skip }, async () => {
		const places = ['/etc/evil', '/tmp/evil', '/evil', '/tmp/d', '/d'].filter(
			(place) => !fs.existsSync(place),
		)
		await refuses(imageOf([tarOf([{ name: 'before', data: 'x' }, ...entries])]), why)
		assert.deepEqual(
			places.filter((place) => fs.existsSync(place)),
			[],
		)
	})
}

test('two layers that work together are refused, too', { skip }, async () => {
	await refuses(
		imageOf([tarOf([{ name: 'x', type: '2', link: '/etc' }]), tarOf([{ name: 'x/evil', data: 'x' }])]),
		/layer 2: .*symbolic link/,
	)
})

test('bombs are stopped by size, by ratio and by number', { skip }, async () => {
	// 10 GiB of zeroes in some kilobytes: frames of zstd, or members of gzip, one after the other
	const head = tarOf([{ name: 'zeroes', size: 10 * 2 ** 30 }], { end: false })
	const piece = gzipSync(Buffer.alloc(64 << 20))
	const bomb = Buffer.concat([gzipSync(head), ...Array(160).fill(piece)])
	await refuses(imageOf([bomb], { diffIds: [sha256('')] }), /bomb|larger than/)
	await refuses(imageOf([bomb], { diffIds: [sha256('')] }), /larger than/, { args: ['--max-mb', '64'] })
	if (zlib.zstdCompressSync) {
		const frame = zlib.zstdCompressSync(Buffer.alloc(64 << 20))
		await refuses(
			imageOf([Buffer.concat([zlib.zstdCompressSync(head), ...Array(160).fill(frame)])], {
				diffIds: [sha256('')],
			}),
			/bomb|larger than/,
		)
	}
	await refuses(
		imageOf([tarOf(Array.from({ length: 300 }, (_, i) => ({ name: `f${i}`, data: '' })))]),
		/more than 200 files/,
		{ args: ['--max-files', '200'] },
	)
	await refuses(imageOf([tarOf([{ name: 'x', data: 'x' }])], { sizes: [2 ** 40] }), /more than 8192 MiB/)
})

test('what is not what its digest says is refused', { skip }, async () => {
	const good = tarOf([{ name: 'good', data: crypto.randomBytes(2000) }]),
		evil = tarOf([{ name: 'evil', data: crypto.randomBytes(2000) }])
	const swap = (image, blob, by) => ({ odd: (req, res) => req.url.includes(sha256(blob)) && (res.end(by), true) })
	const image = imageOf([good])
	await refuses(image, /digest mismatch: a layer/, swap(image, good, evil))
	await refuses(image, /longer than/, swap(image, good, Buffer.concat([good, evil])))
	await refuses(image, /ended after|broke off|layer 1/, swap(image, good, good.subarray(0, 700)))
	const other = imageOf([evil])
	await refuses(
		image,
		/digest mismatch: the configuration|configuration has/,
		swap(image, image.config, other.config),
	)
	await refuses(imageOf([good], { diffIds: [sha256(evil)] }), /does not unpack to what/)
	await refuses(imageOf([good], { diffIds: [] }), /1 layers, but its configuration speaks of 0/)
	await refuses(imageOf([gzipSync(good).subarray(0, 900)], { diffIds: [sha256(good)] }), /cut off/)
	await refuses(imageOf([good.subarray(0, 1200)]), /cut off/)
	// By digest, the manifest itself is checked.
	const r = await liar(serve(other), (reg) =>
		pull(['--registry', reg.url, `${reg.host}/x@${sha256(image.manifest)}`]),
	)
	assert.match(r.error, /digest mismatch: the manifest/)
	assertNothingLeft()
})

test('a registry that is silent, or answers nonsense, is given up', { skip }, async () => {
	const image = imageOf([tarOf([{ name: 'x', data: 'x'.repeat(1000) }])])
	await refuses(image, /does not answer/, {
		odd: (req) => req.url.includes(sha256(image.layers[0])),
		args: ['--stall-s', '1'],
	})
	const says = (text) => ({ odd: (req, res) => req.url.includes('/manifests/') && (res.end(text), true) })
	await refuses(image, /not valid JSON/, says('<html>'))
	await refuses(image, /schema 1/, says('{"schemaVersion":1}'))
	await refuses(image, /both manifests and layers/, says('{"schemaVersion":2,"manifests":[],"layers":[]}'))
	await refuses(image, /larger than/, says(' '.repeat(5 << 20)))
	await refuses(image, /no such tag/, {
		odd: (req, res) => req.url.includes('/manifests/') && ((res.statusCode = 404), res.end(), true),
	})
})

test('a redirect leads neither to private addresses nor takes credentials along', { skip }, async () => {
	const layer = tarOf([{ name: 'x', data: 'x' }]),
		image = imageOf([layer])
	const auth = write('auth2.json', JSON.stringify({ type: 'registry', username: 'user', password: 'secret' }))
	await liar(
		(req, res) => res.end(layer),
		async (elsewhere) => {
			const odd = (req, res) => {
				if (req.headers.authorization === undefined) {
					res.statusCode = 401
					res.setHeader('www-authenticate', 'Basic realm="x"')
					res.end()
					return true
				}
				if (!req.url.includes(sha256(layer))) return false
				res.statusCode = 307
				res.setHeader('location', `${elsewhere.url}/blob`)
				res.end()
				return true
			}
			// Nobody has allowed that other host.
			await refuses(image, /without TLS/, { odd, args: ['--auth-file', auth] })
			assert.equal(elsewhere.seen.length, 0)
			// W7: nor does it help that it is a registry of the operator's, or a mirror: it was not asked
			// for.
			for (const args of [
				['--registry', elsewhere.url],
				['--mirror', `docker.io=${elsewhere.url}`],
			]) {
				await refuses(image, /not a public address/, {
					odd,
					args: [...args, '--auth-file', auth],
				})
				assert.equal(elsewhere.seen.length, 0)
			}
			const r = await liar(
				serve(image, (req, res) => req.headers.authorization === undefined && odd(req, res)),
				(reg) => pullFrom(reg, ['--auth-file', auth]),
			)
			assert.equal(r.code, 0, JSON.stringify(r.events))
			const loop = (req, res) =>
				req.url.includes(sha256(layer)) &&
				((res.statusCode = 302), res.setHeader('location', req.url), res.end(), true)
			fs.rmSync(path.join(cache, 'images/blobs', sha256(layer).slice(7)), { force: true })
			fs.rmSync(path.join(cache, 'templates', r.key), { recursive: true })
			await refuses(image, /redirects more than/, { odd: loop })
		},
	)
})

test('a registry that talks without end is given up', { skip }, async () => {
	const image = imageOf([tarOf([{ name: 'x', data: 'x'.repeat(1000) }])])
	const endless = (status) => (req, res) => {
		if (!req.url.includes('/manifests/')) return false
		res.statusCode = status
		const more = () => {
			while (!res.destroyed && res.write('x'.repeat(16 << 10)));
		}
		res.on('drain', more).on('error', () => {})
		more()
		return true
	}
	await refuses(image, /answers with status 404 and more than/, { odd: endless(404) })
	await refuses(image, /larger than/, { odd: endless(200) })
	// Never silent for long, and never done.
	const drip = (req, res) => {
		if (!req.url.includes('/manifests/')) return false
		const timer = setInterval(() => res.write(' '.repeat(200)), 200)
		res.on('close', () => clearInterval(timer))
		return true
	}
	await refuses(image, /too slowly/, { odd: drip, args: ['--stall-s', '2'] })
})

test('a registry that is never content with who we are is asked no more', { skip }, async () => {
	const image = imageOf([tarOf([{ name: 'x', data: 'x'.repeat(1000) }])])
	const auth = write('auth3.json', JSON.stringify({ type: 'registry', username: 'user', password: 'secret' }))
	for (const [realm, why] of [
		[(host) => `http://${host}/token`, /refuses access to 'x' with these credentials/],
		[() => 'https://169.254.169.254/token', /not a public address/],
		[() => 'http://127.0.0.1:1/token', /without TLS/],
		[() => 'https://127.0.0.1:1/token', /not a public address/],
		[() => 'file:///etc/passwd', /no proper address/],
		[() => 'https://user@127.0.0.1/', /no proper address/],
	]) {
		let asked = 0
		const r = await liar(
			(req, res) => {
				asked++
				if (req.url.startsWith('/token')) {
					res.end('{"token":"abc"}')
					return
				}
				res.statusCode = 401
				res.setHeader(
					'www-authenticate',
					`Bearer realm="${realm(req.headers.host)}",service="s"`,
				)
				res.end()
			},
			(reg) => pullFrom(reg, ['--auth-file', auth]),
		)
		assert.match(r.error, why)
		assert.ok(asked <= 3, `asked ${asked} times`)
	}
	for (const [to, why] of [
		['http://169.254.169.254/latest', /without TLS/],
		['https://169.254.169.254/latest', /not a public address/],
		['https://[::ffff:169.254.169.254]/', /not a public address|no address/],
		['https://2130706433/', /not a public address|no address/],
		['https://0x7f.1/', /not a public address|no address/],
		['file:///etc/passwd', /no address|redirect|status/],
		['gopher://127.0.0.1/', /no address|redirect|status/],
		[`https://x.invalid/${'x'.repeat(9000)}`, /redirects to an address of more than/],
	])
		await refuses(image, why, {
			odd: (req, res) =>
				req.url.includes(sha256(image.layers[0])) &&
				((res.statusCode = 307), res.setHeader('location', to), res.end(), true),
		})
})

test('registries at private addresses are for the operator to allow', { skip }, async () => {
	for (const host of [
		registry.host,
		`localhost:${registry.port}`,
		'169.254.169.254',
		'10.0.0.1:5000',
		'[::1]:5000',
		'[::ffff:7f00:1]:5000',
	]) {
		const r = await pull([`${host}/x`])
		assert.match(r.error, /not a public address/, host)
	}
	const r = await pull(['--mirror', `docker.io=${registry.url}`, `${registry.host}/tree:1`])
	assert.match(r.error, /not a public address/, 'a mirror is not a registry that users may name')
})

test('an interrupted pull leaves nothing', { skip }, async () => {
	const layer = tarOf([{ name: 'slow', data: crypto.randomBytes(1 << 20) }]),
		image = imageOf([tarOf([{ name: 'first', data: 'x' }]), layer])
	for (const signal of ['SIGTERM', 'SIGKILL']) {
		await liar(
			serve(
				image,
				(req, res) =>
					req.url.includes(sha256(layer)) && (res.write(layer.subarray(0, 5000)), true),
			),
			async (reg) => {
				let child
				const ended = pullFrom(reg, ['--stall-s', '60'], { onChild: (c) => (child = c) })
				assert.ok(
					await until(() => reg.seen.some((s) => s.url.includes(sha256(layer))), 30000),
					'the layer is asked for',
				)
				let kids // the request may be faster than the processes that its answer is for
				assert.ok(
					await until(
						() =>
							(kids = fs
								.readFileSync(
									`/proc/${child.pid}/task/${child.pid}/children`,
									'utf8',
								)
								.trim()
								.split(' ')
								.map(Number)).length >= 2,
						30000,
					),
				)
				child.kill(signal)
				await ended
				assert.ok(
					await until(() => kids.every((p) => !fs.existsSync(`/proc/${p}`)), 30000),
					'they end with it',
				)
				if (signal === 'SIGTERM') assertNothingLeft()
			},
		)
	}
	await pull(['--gc']) // what SIGKILL has left goes with the next one
	assertNothingLeft()
})

test('the processes that read what strangers wrote have no power', { skip }, async () => {
	const layer = tarOf([{ name: 'x', data: crypto.randomBytes(1 << 20) }]),
		image = imageOf([tarOf([{ name: 'first', data: 'x' }]), layer])
	// a sanitizer makes calls of its own, so such a build has no filter
	const filtered = process.env.ATOLL_TEST_ASAN ? '0' : '2'
	await liar(
		serve(
			image,
			(req, res) => req.url.includes(sha256(layer)) && (res.write(layer.subarray(0, 5000)), true),
		),
		async (reg) => {
			let child
			const ended = pullFrom(reg, ['--stall-s', '60'], { onChild: (c) => (child = c) })
			assert.ok(
				await until(() => reg.seen.some((s) => s.url.includes(sha256(layer))), 30000),
				'the layer is asked for',
			)
			const below = (pid) =>
				fs
					.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
					.trim()
					.split(' ')
					.filter(Boolean)
					.map(Number)
					.flatMap((p) => [p, ...below(p)])
			const status = (pid) =>
				Object.fromEntries(
					fs
						.readFileSync(`/proc/${pid}/status`, 'utf8')
						.split('\n')
						.map((l) => l.split(':\t')),
				)
			let readers
			await until(() => {
				try {
					readers = below(child.pid)
						.map(status)
						.filter((s) => Number(s.Uid.split('\t')[0]) !== 0)
					return (
						readers.length >= 3 &&
						readers.every((s) => s.Seccomp.trim() === filtered)
					) // fetcher, its worker, applier
				} catch {
					return false // one has just ended
				}
			}, 30000)
			assert.ok(readers.length >= 3)
			for (const s of readers) {
				assert.equal(s.NoNewPrivs.trim(), '1')
				assert.equal(s.Seccomp.trim(), filtered)
				assert.ok(Number(s.Uid.split('\t')[0]) >= 0x0eff0000)
			}
			const keep = BigInt(`0x${status(child.pid).CapEff.trim()}`)
			assert.equal(
				keep,
				(1n << 1n) | (1n << 3n) | (1n << 5n),
				'the keeper can override permissions and end its children, no more',
			)
			child.kill()
			await ended
		},
	)
})
