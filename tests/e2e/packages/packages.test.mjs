// SPDX-License-Identifier: Apache-2.0
// What of the Debian packages can be told without building them: versions, licences, and what a purge removes.
// tests/packages/run (make test-packages) builds, installs, upgrades and purges them.
import { test, after, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { server } from '../../lib/client.mjs'

const TOP = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..')
const read = (name) => fs.readFileSync(path.join(TOP, name), 'utf8')
const SCRIPTS = ['debian/atoll.postinst', 'debian/atoll.prerm', 'debian/atoll.postrm', 'packaging/end-left']
const root = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-purge-'))

test('the packages have the version of the programs', () => {
	const version = /version: '([^']+)'/.exec(read('meson.build'))[1]
	assert.equal(/^atoll \(([^)]+)\)/.exec(read('debian/changelog'))[1], version)
})

test('maintainer scripts and install.sh are of the POSIX shell', () => {
	for (const name of [...SCRIPTS, 'packaging/install.sh.in']) {
		const run = spawnSync('dash', ['-n', path.join(TOP, name)], { encoding: 'utf8' })
		assert.equal(run.status, 0, run.stderr)
		assert.match(read(name), /^#!\/bin\/sh\n/, name)
	}
})

test('debian/copyright names every package that the console contains', (t) => {
	const file = path.join(server.buildDir, 'console/licenses.txt')
	if (!fs.existsSync(file)) return t.skip('the build has no console')
	const bundled = [...fs.readFileSync(file, 'utf8').matchAll(/^-{80}\n\n(\S+) \d[^\n]*\nLicence: (.*)$/gm)]
	assert.ok(bundled.length > 20)
	const stanzas = read('debian/copyright').split(/\n\n/)
	for (const [, name, licence] of bundled) {
		const at = stanzas.find((one) =>
			[...one.matchAll(/console\/node_modules\/(\S+)\/\*/g)].some(
				([, known]) =>
					known === name ||
					(known.endsWith('/*') && name.startsWith(known.slice(0, -1))) ||
					(known.startsWith('@') && !known.includes('/') && name.startsWith(`${known}/`)),
			),
		)
		assert.ok(at, `${name} (${licence}) is in no stanza`)
		const want =
			{ MIT: /^License: Expat$/m, 'Apache-2.0': /^License: Apache-2\.0$/m }[licence] ??
			/^License: .* and /m
		assert.match(at, want, `${name}: ${licence}`)
	}
})

// A root of its own, with the programs of this machine: what a purge deletes is there, and what it must not.
before(() => {
	const sh = spawnSync(
		'sh',
		[
			'-ec',
			`cd ${root}
			mkdir -p dev usr proc tmp etc/atoll var/lib/misc var/lib/atoll/front run/atoll/registry
			mkdir -p run/atoll/main var/cache/atoll/templates/k/rootfs
			mknod -m 666 dev/null c 1 3
			for d in bin sbin lib lib64; do ln -s usr/$d $d; done
			printf 'root:x:0:0::/root:/bin/sh\\natoll:x:101:101::/:/bin/false\\n' >etc/passwd
			printf 'mine:x:102:102::/:/bin/false\\n' >>etc/passwd
			printf 'root:x:0:\\natoll:x:101:\\nmine:x:102:\\n' >etc/group
			echo atoll >var/lib/misc/atoll.users
			echo /nowhere >etc/atoll/template-source
			echo /var/lib/atoll >run/atoll/registry/0
			: >run/atoll/registry/1
			cp ${path.join(TOP, 'debian/atoll.postrm')} postrm`,
		],
		{ encoding: 'utf8' },
	)
	assert.equal(sh.status, 0, sh.stderr)
})
after(() => fs.rmSync(root, { recursive: true, force: true }))

const here = (name) => fs.existsSync(path.join(root, name))

function purge(first = ':') {
	const run = spawnSync(
		'unshare',
		[
			'--mount',
			'sh',
			'-ec',
			`mount --bind -o ro /usr usr; mount --bind /proc proc
			chroot . sh -ec 'export PATH=/usr/sbin:/usr/bin; ${first}; exec sh /postrm purge'`,
		],
		{ cwd: root, encoding: 'utf8' },
	)
	return { code: run.status, said: run.stderr }
}

test('a purge leaves what another server of the machine and the administrator have', () => {
	const mounted = purge('mount -t tmpfs none /var/lib/atoll')
	assert.equal(mounted.code, 1)
	assert.match(mounted.said, /something is mounted in \/var\/lib\/atoll/)
	assert.ok(here('var/cache/atoll/templates'))

	fs.mkdirSync(path.join(root, 'srv/other'), { recursive: true })
	fs.writeFileSync(path.join(root, 'run/atoll/registry/3'), '/srv/other\n')
	fs.writeFileSync(path.join(root, 'etc/atoll/atoll.conf'), '# mine\n')
	const beside = purge()
	assert.equal(beside.code, 0, beside.said)
	assert.match(beside.said, /another server uses \/var\/cache\/atoll and the users/)
	assert.match(beside.said, /\/etc\/atoll has files of yours and stays/)
	assert.ok(!here('var/lib/atoll') && !here('etc/atoll/template-source'))
	assert.ok(here('var/cache/atoll/templates/k/rootfs') && here('etc/atoll/atoll.conf') && here('srv/other'))
	assert.match(fs.readFileSync(path.join(root, 'etc/passwd'), 'utf8'), /^atoll:/m)
})

test('a purge of the only server leaves nothing, and may be repeated', () => {
	fs.rmSync(path.join(root, 'run/atoll/registry/3'))
	fs.rmSync(path.join(root, 'etc/atoll/atoll.conf'))
	for (let i = 0; i < 2; i++) {
		const run = purge()
		assert.equal(run.code, 0, run.said)
		for (const name of [
			'var/lib/atoll',
			'var/cache/atoll',
			'run/atoll',
			'etc/atoll',
			'var/lib/misc/atoll.users',
		])
			assert.ok(!here(name), name)
		const users = fs.readFileSync(path.join(root, 'etc/passwd'), 'utf8')
		assert.ok(!/^atoll:/m.test(users) && /^mine:/m.test(users), users)
	}
})
