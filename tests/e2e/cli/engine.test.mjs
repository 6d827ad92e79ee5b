// SPDX-License-Identifier: Apache-2.0
// atoll engine: which files are accepted as the program of an engine, and what is left of those that are not.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { ATOLL } from '../../lib/cli.mjs'

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-engine-'))
const cache = path.join(dir, 'cache')
const place = path.join(cache, 'engines/gvisor')
let pinned

const atoll = (args, how = {}) => {
	const r = spawnSync(ATOLL, args, {
		encoding: 'utf8',
		env: { ...process.env, ATOLL_CACHE: how.cache ?? cache },
		...how.spawn,
	})
	return { code: r.status, out: r.stdout, err: r.stderr }
}
const list = (how) => JSON.parse(atoll(['engine', 'list', '--json'], how).out).find((e) => e.name === 'gvisor')

// A program that Go would link: an ELF head, an interpreter or a note, and a writable segment with the build info.
const text = (z) => Buffer.concat([Buffer.from([0x80 | (z.length & 0x7f), z.length >> 7]), Buffer.from(z)])
function binary({ version, sum, interp = false, machine = 62, pkg = 'gvisor.dev/gvisor/runsc', pad = 0 } = {}) {
	const info = Buffer.alloc(32)
	const fence = '0123456789abcdef'
	info.write('\xff Go buildinf:\x08\x02', 'latin1')
	const lines = `path\t${pkg}\nmod\tgvisor.dev/gvisor\t${version ?? pinned.version}\t${sum ?? pinned.sum}\n`
	const data = Buffer.concat([info, text('go1.26.8'), text(fence + lines + fence), Buffer.alloc(pad)])
	const head = Buffer.alloc(192)
	head.write('\x7fELF\x02\x01\x01', 'latin1')
	head.writeUInt16LE(2, 16)
	head.writeUInt16LE(machine, 18)
	head.writeBigUInt64LE(64n, 32)
	head.writeUInt16LE(56, 54)
	head.writeUInt16LE(2, 56)
	head.writeUInt32LE(interp ? 3 : 4, 64)
	head.writeUInt32LE(1, 120)
	head.writeUInt32LE(6, 124)
	head.writeBigUInt64LE(192n, 128)
	head.writeBigUInt64LE(BigInt(data.length), 152)
	return Buffer.concat([head, data])
}
const sumOf = (bytes) => crypto.createHash('sha256').update(bytes).digest('hex')
function install(bytes, { sum = sumOf(bytes), ...how } = {}) {
	const file = path.join(dir, 'given')
	fs.writeFileSync(file, bytes)
	return atoll(['engine', 'install', 'gvisor', '--from', file, '--sha256', sum], how)
}
const entries = () => fs.readdirSync(place).filter((name) => name !== '.lock')

before(() => {
	const modules = fs.readFileSync(new URL('../../../engines/gvisor/go.sum', import.meta.url), 'utf8')
	const [, version, sum] = modules.match(/^gvisor\.dev\/gvisor (v\S+[0-9a-f]) (h1:\S+)$/m)
	pinned = { version, sum }
})
after(() => fs.rmSync(dir, { recursive: true, force: true }))

test('the version that the program wants is the one that the recipe builds', () => {
	assert.equal(list().wanted, pinned.version)
	assert.equal(list().status, 'not installed')
	assert.match(atoll(['engine', 'list']).out, /^namespaces +built in +-$/m)
})

test('a static program of that version is installed', () => {
	const good = binary()
	const got = install(good)
	assert.equal(got.code, 0, got.err)
	assert.match(got.err, new RegExp(`SHA-256 ${sumOf(good)}`))
	const e = list()
	assert.equal(e.status, 'installed')
	assert.equal(e.version, pinned.version)
	assert.equal(e.path, path.join(place, 'runsc'))
	const st = fs.statSync(e.path)
	assert.equal(st.uid, 0)
	assert.equal(st.mode & 0o7777, 0o755)
	assert.deepEqual(fs.readFileSync(e.path), good)
	assert.match(atoll(['doctor']).out, new RegExp(`engines +namespaces; gvisor ${pinned.version}`))
})

test('what is not that program is refused with the reason, and changes nothing', () => {
	const was = fs.readFileSync(path.join(place, 'runsc'))
	const good = binary()
	const cases = [
		[good, /its SHA-256 is [0-9a-f]{64}, not 0{64}/, '0'.repeat(64)],
		[binary({ interp: true }), /dynamically linked.*CGO_ENABLED=0/],
		[binary({ machine: 183 }), /another processor/],
		[
			binary({ version: 'v0.0.0-20200101000000-000000000000' }),
			/it is version v0\.0\.0-2020.*works with v/,
		],
		[binary({ sum: 'h1:other=' }), /built from changed sources/],
		[binary({ pkg: 'example.com/runsc' }), /it is 'example\.com\/runsc'/],
		[good.subarray(0, 200), /cut off|build info/],
		[Buffer.from('#!/bin/sh\nexit 0\n'.repeat(10)), /not a 64-bit ELF program/],
		[Buffer.alloc(0), /0 bytes/],
	]
	for (const [bytes, reason, sum] of cases) {
		const got = install(bytes, sum ? { sum } : {})
		assert.equal(got.code, 1)
		assert.match(got.err, reason)
		assert.deepEqual(fs.readFileSync(path.join(place, 'runsc')), was)
		assert.deepEqual(entries().sort(), ['runsc', `runsc-${pinned.version}`])
	}
})

test('a replaced program is a new file: who runs the old one keeps it', () => {
	const fd = fs.openSync(path.join(place, 'runsc'))
	const ino = fs.fstatSync(fd).ino
	assert.equal(install(binary({ pad: 16 })).code, 0)
	assert.notEqual(fs.statSync(path.join(place, 'runsc')).ino, ino)
	assert.deepEqual(fs.readFileSync(fd), binary())
	fs.closeSync(fd)
})

test('a program that others can write is not used', () => {
	fs.chmodSync(path.join(place, 'runsc'), 0o777)
	assert.equal(list().status, 'unusable')
	assert.match(list().problem, /root alone can write/)
	assert.match(atoll(['doctor']).out, /warn +engines +.*cannot be used[\s\S]*-> sudo atoll engine install gvisor/)
	assert.equal(install(binary()).code, 0)
	assert.equal(list().status, 'installed')
})

test('a cache that others can write is refused', () => {
	const loose = path.join(dir, 'loose')
	fs.mkdirSync(loose)
	fs.chmodSync(loose, 0o777)
	const got = install(binary(), { cache: loose })
	assert.equal(got.code, 1)
	assert.match(got.err, /must belong to root and be writable by root alone/)
	assert.deepEqual(fs.readdirSync(loose), [])
})

test('a full disk is reported, and nothing is left', () => {
	const small = path.join(dir, 'small')
	fs.mkdirSync(small)
	assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=755', 'tmpfs', small]).status, 0)
	try {
		const got = install(binary({ pad: 200_000 }), { cache: small })
		assert.equal(got.code, 1)
		assert.match(got.err, /No space left/)
		assert.deepEqual(
			fs.readdirSync(path.join(small, 'engines/gvisor')).filter((name) => name !== '.lock'),
			[],
		)
	} finally {
		spawnSync('umount', [small])
	}
})

test('usage errors say what is wanted', () => {
	for (const [args, want] of [
		[['install', 'qemu'], /no engine 'qemu'/],
		[['install', 'gvisor', '--from', '/x'], /belong together/],
		[['install', 'gvisor', '--build', '--from', '/x', '--sha256', 'a'], /exclude each other/],
		[['install', 'gvisor', '--from', '/x', '--sha256', 'a'], /64 digits/],
		[['remove'], /an engine/],
	]) {
		const got = atoll(['engine', ...args])
		assert.equal(got.code, 2)
		assert.match(got.err, want)
	}
	const missing = atoll(['engine', 'install', 'gvisor', '--from', '/nonexistent/x', '--sha256', '0'.repeat(64)])
	assert.equal(missing.code, 1)
	assert.match(missing.err, /'\/nonexistent\/x'.*No such file/)
})

test('remove removes it, once', () => {
	assert.equal(atoll(['engine', 'remove', 'gvisor']).code, 0)
	assert.deepEqual(entries(), [])
	assert.equal(list().status, 'not installed')
	const again = atoll(['engine', 'remove', 'gvisor'])
	assert.equal(again.code, 1)
	assert.match(again.err, /gvisor is not installed/)
})
