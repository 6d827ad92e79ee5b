// SPDX-License-Identifier: Apache-2.0
// Who runs with which power: each daemon's uid, capabilities, filter and what is linked into it.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { execFileSync } from 'node:child_process'
import { server } from '../lib/client.mjs'
import { childrenOf, nameOf } from '../lib/host.mjs'

function statusOf(pid) {
	return Object.fromEntries(fs.readFileSync(`/proc/${pid}/status`, 'utf8').trim().split('\n').map((line) => line.split(/:\s+/, 2)))
}

function pidOf(name) {
	const pid = childrenOf(server.pid).find((child) => nameOf(child) === name)
	assert.ok(pid, `no ${name} below the warden`)
	return pid
}

const uidOf = (user) => execFileSync('id', ['-u', user], { encoding: 'utf8' }).trim()
const NOTHING = '0'.repeat(16)

for (const [name, user, own] of [
	['atoll-front', 'atoll', /\/atoll\.db(-wal|-shm)?$|^\/proc\/(\d+\/statm|meminfo)$/],	/* its store, how large it is, what memory is left */
	['atoll-egress', 'atoll-egress', /^\/etc$/],	/* to see a new resolv.conf */
]) {
	test(`${name} has a uid of its own, no capability, a filter`, () => {
		const pid = pidOf(name)
		const s = statusOf(pid)
		const uid = uidOf(user)
		assert.notEqual(uid, '0')
		assert.deepEqual(s.Uid.split(/\s+/), [uid, uid, uid, uid])
		assert.ok(!s.Gid.split(/\s+/).includes('0'))
		assert.ok(!(s.Groups ?? '').split(/\s+/).includes('0'))
		for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
			assert.equal(s[set], NOTHING, set)
		assert.equal(s.NoNewPrivs, '1')
		assert.equal(s.Seccomp, '2')
		assert.equal(s.Threads, '1')
	})

	test(`${name} holds no fd but its own`, () => {
		const dir = `/proc/${pidOf(name)}/fd`
		const odd = fs.readdirSync(dir).map((fd) => {
			try {
				return fs.readlinkSync(path.join(dir, fd))
			} catch {
				return ''		/* closed meanwhile */
			}
		}).filter((to) => to && !/^(socket:|pipe:|anon_inode:|\/dev\/(null|urandom)$)/.test(to) && !own.test(to))
		assert.deepEqual(odd, [])
	})

	test(`${name} sees no variable of the one who started the server`, () => {
		const env = fs.readFileSync(`/proc/${pidOf(name)}/environ`, 'utf8')
		assert.ok(!env.includes('canary-of-the-host'), env)
	})
}

test('the front cannot read what is root\'s in the state directory', () => {
	const uid = Number(uidOf('atoll'))
	const st = fs.statSync(path.join(server.stateDir, 'pool.img'))
	assert.equal(st.uid, 0)
	assert.equal(st.mode & 0o077, 0)
	assert.equal(fs.statSync(path.join(server.stateDir, 'key')).mode & 0o077, 0)
	assert.notEqual(uid, 0)
})

test('the warden is filtered and not dumpable', () => {
	const s = statusOf(server.pid)
	assert.equal(s.Seccomp, '2')
	assert.equal(s.Threads, '1')
	assert.notEqual(s.CapEff, '000001ffffffffff')
})

test('the privileged program contains no parser of what comes from outside', () => {
	/* what it names itself: libnftables brings jansson along, for an output format that nobody asks for */
	const linked = execFileSync('readelf', ['-dW', path.join(server.buildDir, 'src/warden/atolld')], { encoding: 'utf8' })
		.split('\n').filter((line) => line.includes('NEEDED')).join('\n')
	for (const lib of ['llhttp', 'jansson', 'sqlite', 'curl', 'ssl', 'crypto', 'nghttp2', 'expat', 'xml'])
		assert.ok(!linked.includes(`lib${lib}`), `atolld links ${lib}`)
	const names = execFileSync('nm', ['-a', path.join(server.buildDir, 'src/warden/atolld')], { encoding: 'utf8' })
	assert.ok(!/\b(llhttp_|json_loads|sqlite3_|http_server_)/.test(names), 'a parser is linked into atolld')
})

test('atoll-init is static', () => {
	const head = execFileSync('readelf', ['-lW', path.join(server.buildDir, 'src/init/atoll-init')], { encoding: 'utf8' })
	assert.ok(!/INTERP/.test(head))
})
