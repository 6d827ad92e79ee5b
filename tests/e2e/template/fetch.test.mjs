// SPDX-License-Identifier: Apache-2.0
// atoll template pack and fetch, see docs/templates.md: what arrives is what was packed, and nothing of what was
// tampered with.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { spawn, spawnSync } from 'node:child_process'
import { ATOLL } from '../../lib/cli.mjs'
import { until } from '../../lib/host.mjs'

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-fetch-'))
const at = (...names) => path.join(dir, ...names)
const KEYS = { one: '1'.repeat(32), two: '2'.repeat(32) }
const ARCH = { x64: 'amd64', arm64: 'arm64' }[process.arch]
const SHARED = crypto.randomBytes(6 << 20)

function sh(script) {
	const run = spawnSync('sh', ['-ec', script], { cwd: dir, encoding: 'utf8' })
	assert.equal(run.status, 0, run.stderr)
	return run.stdout
}

// Recipes whose keys are known, and built templates that belong to them.
function makeTemplates() {
	fs.mkdirSync(at('recipes'))
	fs.writeFileSync(
		at('recipes/build'),
		`#!/bin/sh
		[ "$1" = --key ] || exit 1
		case $2 in one) echo ${KEYS.one};; two) echo ${KEYS.two};; *) exit 1;; esac\n`,
		{ mode: 0o755 },
	)
	for (const [name, key] of Object.entries(KEYS)) {
		const root = at('built/templates', key, 'rootfs')
		fs.mkdirSync(root, { recursive: true })
		fs.writeFileSync(path.join(root, '..', 'info'), `name=${name}\n`)
		fs.writeFileSync(path.join(root, `a-${name}`), crypto.randomBytes(700000))
		fs.writeFileSync(path.join(root, 'shared'), SHARED)
		fs.utimesSync(path.join(root, 'shared'), 1000000000, 1000000000)
		sh(`cd ${root} && ln shared link && ln -s /nowhere/at/all sym && mkdir -m 1777 tmp &&
			mkfifo fifo && cp /bin/true su && chown 7:8 su && chmod 4755 su`)
	}
}

const listing = (root) =>
	sh(`cd ${root} && find . -mindepth 1 ! -type d -printf '%P %y %m %U:%G %s %n %l %T@\\n' | sort;
		find . -mindepth 1 -type d -printf '%P %m\\n' | sort
		find . -type f ! -name info | sort | xargs sha256sum`)

// name: of a template; opt.from, opt.key, opt.cache, opt.env
function atoll(args, opt = {}) {
	const run = spawnSync(ATOLL, ['template', ...args], {
		encoding: 'utf8',
		timeout: 120000,
		env: { ...process.env, ATOLL_TEMPLATES: at('recipes'), ...opt.env },
	})
	return { code: run.status, out: run.stdout, err: run.stderr }
}

const fetchTo = (cache, from, names = ['one', 'two'], key = at('trusted')) =>
	atoll(['fetch', ...names, '--from', from, '--key', key, '--cache', at(cache)])

const isEmpty = (cache) => !Object.values(KEYS).some((key) => fs.existsSync(at(cache, 'templates', key)))

// An HTTP server of a directory: it counts, and can spoil answers.
async function serve(root, use, spoil = () => false) {
	const asked = []
	const server = http.createServer((req, res) => {
		asked.push(req.url)
		if (spoil(req, res)) return
		fs.readFile(path.join(root, req.url), (err, bytes) => {
			res.writeHead(err ? 404 : 200, err ? {} : { 'Content-Length': bytes.length })
			res.end(err ? '' : bytes)
		})
	})
	await new Promise((done) => server.listen(0, '127.0.0.1', done))
	try {
		return await use(`http://127.0.0.1:${server.address().port}`, asked)
	} finally {
		server.closeAllConnections()
		server.close()
	}
}

// As fetchTo(), while this process serves.
function fetchFrom(cache, url, names = ['one', 'two']) {
	const child = spawn(
		ATOLL,
		['template', 'fetch', ...names, '--from', url, '--key', at('trusted'), '--cache', at(cache)],
		{ env: { ...process.env, ATOLL_TEMPLATES: at('recipes') } },
	)
	let out = '',
		err = ''
	child.stdout.on('data', (part) => (out += part))
	child.stderr.on('data', (part) => (err += part))
	const ended = new Promise((done) => child.on('close', (code) => done({ code, out, err })))
	return { child, ended }
}

before(() => {
	makeTemplates()
	sh(`for k in good other; do 
			openssl genpkey -algorithm ed25519 -out $k.key
			openssl pkey -in $k.key -pubout -out $k.pem
		done
		mkdir trusted && cp good.pem trusted/`)
	const run = atoll(['pack', 'one', 'two', '-o', at('store'), '--key', at('good.key'), '--cache', at('built')])
	assert.equal(run.code, 0, run.err)
})
after(() => fs.rmSync(dir, { recursive: true, force: true }))

test('a fetched template is the packed one, from a directory; what is there is left alone', () => {
	const run = fetchTo('plain', at('store'))
	assert.equal(run.code, 0, run.err)
	for (const key of Object.values(KEYS)) {
		assert.equal(listing(at('plain/templates', key)), listing(at('built/templates', key)))
		assert.equal(fs.statSync(at('plain/templates', key)).mode & 0o777, 0o700)
	}
	assert.deepEqual(fs.readdirSync(at('plain')).sort(), ['build.lock', 'templates'])
	const again = fetchTo('plain', '/nowhere')
	assert.equal(again.code, 0, again.err)
	assert.match(again.out, /one: is there already\ntwo: is there already/)
})

test('over HTTP, blocks that templates share are fetched once; packing again gives the same bytes', () =>
	serve(at('store'), async (url, asked) => {
		const run = await fetchFrom('http', url).ended
		assert.equal(run.code, 0, run.err)
		const blocks = asked.filter((u) => u.startsWith('/blocks/'))
		assert.equal(new Set(blocks).size, blocks.length)
		const named = ['one', 'two'].flatMap((n) =>
			[
				...fs
					.readFileSync(at('store', ARCH, `${KEYS[n]}.manifest`), 'utf8')
					.matchAll(/^block (\w+)/gm),
			].map((m) => m[1]),
		)
		assert.ok(blocks.length < named.length, `${blocks.length} of ${named.length}`)
		assert.equal(new Set(named).size, blocks.length)
		const packed = atoll([
			'pack',
			'one',
			'-o',
			at('again'),
			'--key',
			at('good.key'),
			'--cache',
			at('built'),
		])
		assert.equal(packed.code, 0, packed.err)
		const manifest = `${ARCH}/${KEYS.one}.manifest`
		assert.equal(
			fs.readFileSync(at('again', manifest), 'utf8'),
			fs.readFileSync(at('store', manifest), 'utf8'),
		)
	}))

test('a fetch that is killed goes on where it was', () => {
	let held
	return serve(
		at('store'),
		async (url, asked) => {
			const first = fetchFrom('resumed', url)
			assert.ok(
				await until(
					() => held !== undefined && fs.readdirSync(at('resumed/blocks')).length > 2,
				),
			)
			first.child.kill('SIGKILL')
			await first.ended
			assert.ok(isEmpty('resumed'))
			const had = fs.readdirSync(at('resumed/blocks')).filter((n) => !n.endsWith('.new'))
			held = asked.length
			const second = await fetchFrom('resumed', url).ended
			assert.equal(second.code, 0, second.err)
			for (const name of had)
				assert.ok(!asked.slice(held).some((u) => u.endsWith(name)), 'it is not fetched again')
			assert.equal(
				listing(at('resumed/templates', KEYS.two)),
				listing(at('built/templates', KEYS.two)),
			)
		},
		(req) => {
			if (held !== undefined || !req.url.startsWith('/blocks/')) return false
			const there =
				fs.existsSync(at('resumed/blocks')) && fs.readdirSync(at('resumed/blocks')).length > 2
			if (there) held = 0
			return there // never answered
		},
	)
})

function refused(what, cache, run, pattern) {
	assert.equal(run.code, 1, what)
	assert.match(run.err, pattern, what)
	assert.ok(isEmpty(cache), what)
	const left = fs.existsSync(at(cache)) ? fs.readdirSync(at(cache)).filter((n) => n.startsWith('tmp.')) : []
	assert.deepEqual(left, [], what)
}

test('bad input: another key, changed or truncated files, another architecture, no space', async () => {
	refused('other key', 'bad', fetchTo('bad', at('store'), ['one'], at('other.pem')), /wrong signature/)
	sh('mkdir none')
	refused('no key', 'bad', fetchTo('bad', at('store'), ['one'], at('none')), /no public ed25519 key/)
	refused('empty source', 'bad', fetchTo('bad', at('none'), ['one']), /has no template 'one' of atoll/)
	refused('no source', 'bad', fetchTo('bad', '/nowhere/at/all', ['one']), /No such file/)

	const manifest = `${ARCH}/${KEYS.one}.manifest`
	sh(`cp -r store changed && sed -i 's/^version .*/version 9.9/' changed/${manifest}`)
	refused('changed manifest', 'bad', fetchTo('bad', at('changed'), ['one']), /wrong signature/)
	sh(`cp -r store cut && truncate -s 100 cut/${manifest}`)
	refused('truncated manifest', 'bad', fetchTo('bad', at('cut'), ['one']), /wrong signature/)
	sh(`cp -r store short && for f in short/blocks/*/*; do truncate -s -1 $f; done`)
	refused(
		'truncated block',
		'bad',
		fetchTo('bad', at('short'), ['one']),
		/block \w+ of '.*' is truncated or changed/,
	)
	sh(`cp -r store gone && rm -r gone/blocks`)
	refused('missing block', 'bad', fetchTo('bad', at('gone'), ['one']), /No such file/)

	// Signed by the right key, but for another purpose.
	const sign = (name) => `openssl pkeyutl -sign -rawin -inkey good.key -in ${name} -out ${name}.sig`
	sh(`cp -r store arch && sed -i 's/^arch .*/arch sparc/' arch/${manifest} && ${sign(`arch/${manifest}`)}`)
	refused('architecture', 'bad', fetchTo('bad', at('arch'), ['one']), /is for sparc, and this machine is/)
	sh(`cp -r store swapped && cp swapped/${ARCH}/${KEYS.two}.manifest swapped/${manifest} &&
		cp swapped/${ARCH}/${KEYS.two}.manifest.sig swapped/${manifest}.sig`)
	refused('another template', 'bad', fetchTo('bad', at('swapped'), ['one']), /is of 'two' .* not of 'one'/)
	sh(`cp -r store odd && sed -i 's/^name .*/name ..\\/x/' odd/${manifest} && ${sign(`odd/${manifest}`)}`)
	refused('a name that is a path', 'bad', fetchTo('bad', at('odd'), ['one']), /no valid name/)

	sh('mkdir small && mount -t tmpfs -o size=8m small small')
	try {
		refused('no space', 'small', fetchTo('small', at('store'), ['two']), /no space: .* free, .* need/)
	} finally {
		sh('umount small')
	}
	refused('unknown recipe', 'bad', fetchTo('bad', at('store'), ['three']), /printed no key/)
	await serve(
		at('store'),
		async (url) => {
			const run = await fetchFrom('bad', url, ['one']).ended
			refused('broken connections', 'bad', run, /partial file|broke|transfer/i)
		},
		(req, res) => {
			if (!req.url.startsWith('/blocks/')) return false
			res.writeHead(200, { 'Content-Length': 1000 })
			res.write('xyz', () => res.destroy())
			return true
		},
	)
})

test('HTTP is spoken by processes without privileges', async () => {
	let seen
	await serve(
		at('store'),
		async (url) => {
			const { child, ended } = fetchFrom('jailed', url, ['one'])
			assert.ok(await until(() => seen))
			const status = fs
				.readdirSync('/proc')
				.filter((pid) => /^\d+$/.test(pid))
				.map((pid) => {
					try {
						return fs.readFileSync(`/proc/${pid}/status`, 'utf8')
					} catch {
						return ''
					}
				})
				.filter((text) => new RegExp(`^PPid:\\s${child.pid}$`, 'm').test(text))
			assert.ok(status.length > 0)
			for (const text of status) {
				assert.match(text, /^Uid:\s65534\s65534\s65534\s65534$/m)
				assert.match(text, /^CapPrm:\s0+$/m)
				assert.match(text, /^NoNewPrivs:\s1$/m)
			}
			child.kill('SIGKILL')
			await ended
		},
		() => (seen = true), // never answered
	)
})
