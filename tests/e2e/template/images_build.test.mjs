// SPDX-License-Identifier: Apache-2.0
// Templates of images: of a registry, of layouts and archives that the CLI sends, and of the example with a password.
import { after, before, test } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { api, sdk, server } from '../../lib/client.mjs'
import { newServer } from '../../lib/server.mjs'
import { cgroupsOf, commandOf, commOf, processesOf, until } from '../../lib/host.mjs'
import { Registry, bcrypt, debianTar, makeImage, missing, sha256 } from '../../lib/registry.mjs'
import { tarOf } from '../../lib/tar.mjs'

const skip = missing.length ? `${missing.join(', ')}: not installed` : false
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-image-builds-'))
const SHARED = process.env.ATOLL_CACHE ?? '/var/cache/atoll'
let registry

// Keys of the images that a server has pinned.
function pinsOf(stateDir) {
	const user = path.join(
		SHARED,
		'images/users',
		crypto.createHash('sha256').update(stateDir).digest('hex').slice(0, 32),
	)
	return fs.existsSync(user) ? fs.readdirSync(user).filter((name) => name !== 'state' && name !== 'above') : []
}

before(async () => {
	if (!skip) registry = await new Registry(path.join(dir, 'registry')).start()
})

after(async () => {
	await registry?.stop()
	fs.rmSync(dir, { recursive: true, force: true })
})

function write(name, bytes) {
	const file = path.join(dir, name)
	fs.writeFileSync(file, bytes)
	return file
}

test('a template from an image, by the SDK', { skip, timeout: 300000 }, async () => {
	const { Sandbox, Template } = sdk()
	const image = makeImage(
		path.join(dir, 'layout'),
		'debian',
		[debianTar(), write('once.tar', tarOf([{ name: 'once', data: crypto.randomUUID() }]))],
		[
			'--config.env',
			'FROM_IMAGE=yes',
			'--config.env',
			'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
		],
	)
	registry.push(image, 'library/ubuntu:22.04')
	const ended = path.join(SHARED, 'images/trash', `of-an-ended-server.${process.pid}`)
	fs.mkdirSync(path.join(ended, 'rootfs/usr'), { recursive: true, mode: 0o700 })
	const own = await newServer(server.buildDir, { registry_mirrors: `docker.io=${registry.url}` }).start()
	try {
		assert.ok(
			await until(() => !fs.existsSync(ended), 30000),
			'a server deletes at its start what another has left',
		)
		const opts = { apiKey: own.key, apiUrl: own.url, sandboxUrl: own.url }
		const lines = []
		await Template.build(
			Template().fromImage('ubuntu:22.04').runCmd('echo built > /tmp/built'),
			'of-image',
			{ ...opts, cpuCount: 1, memoryMB: 512, onBuildLogs: (l) => lines.push(l.message) },
		)
		assert.ok(
			lines.some((l) => /ubuntu:22.04 is sha256:/.test(l)),
			lines.join('\n'),
		)
		const sbx = await Sandbox.create('of-image', { ...opts, timeoutMs: 60000 })
		const out = await sbx.commands.run(
			'cat /tmp/built; . /etc/os-release; echo $ID; whoami; echo $FROM_IMAGE',
		)
		assert.deepEqual(out.stdout.trim().split('\n'), ['built', 'debian', 'user', 'yes'])
		await sbx.kill()
		// Steps that leave no layer are found in the cache, too, and what an image lacks is brought along all
		// the same.
		const env = Template().fromImage('ubuntu:22.04').setEnvs({ ADDED: 'yes', PATH: '${PATH}:/opt/own' })
		for (const more of ['true', 'id -un >/tmp/who; echo "$PATH" >/tmp/path']) {
			await Template.build(env.runCmd(more), 'of-env', { ...opts, cpuCount: 1, memoryMB: 512 })
		}
		const second = await Sandbox.create('of-env', { ...opts, timeoutMs: 60000 })
		const seen = (await second.commands.run('cat /tmp/who /tmp/path; echo "$PATH"')).stdout
			.trim()
			.split('\n')
		assert.equal(seen[0], 'user')
		assert.match(seen[1], /:\/opt\/own/, 'the path of the template, while it is built')
		assert.match(seen[2], /:\/opt\/own/, 'and when it is used')
		await second.kill()
		assert.equal(
			(await api('DELETE', '/templates/of-env', undefined, { base: own.url, key: own.key })).status,
			204,
		)
		const info = (k) => {
			try {
				return fs.readFileSync(path.join(SHARED, 'templates', k, 'info'), 'utf8')
			} catch (err) {
				assert.equal(err.code, 'ENOENT') // another server has just dropped it
				return ''
			}
		}
		const keys = () =>
			fs
				.readdirSync(path.join(SHARED, 'templates'))
				.filter((k) => /^image=docker.io\/library\/ubuntu:22.04$/m.test(info(k)))
		const pinners = (k) =>
			fs
				.readdirSync(path.join(SHARED, 'images/users'))
				.filter((u) => fs.existsSync(path.join(SHARED, 'images/users', u, k)))
		const [key] = keys().filter((k) =>
			pinners(k).some(
				(u) =>
					fs.readFileSync(path.join(SHARED, 'images/users', u, 'state'), 'utf8') ===
					own.stateDir,
			),
		)
		assert.ok(key, 'the pull has left a pin for its server')
		const gc = async () =>
			(
				await api(
					'POST',
					'/admin/templates/gc',
					{ maxMB: 0 },
					{ base: own.url, key: own.key, timeout: 200000 },
				)
			).json
		await gc()
		assert.ok(keys().includes(key), 'a template needs it')
		assert.equal(
			(await api('DELETE', '/templates/of-image', undefined, { base: own.url, key: own.key })).status,
			204,
		)
		const other = path.join(SHARED, 'images/users', 'f'.repeat(32))
		fs.mkdirSync(other, { recursive: true })
		fs.writeFileSync(path.join(other, 'state'), dir)
		fs.writeFileSync(path.join(other, key), '')
		await gc()
		assert.ok(keys().includes(key), 'another server needs it')
		fs.rmSync(other, { recursive: true })
		assert.ok((await gc()).images >= 1)
		assert.ok(!keys().includes(key), 'nobody needs it')
		await assert.rejects(
			Template.build(Template().fromImage('no-such-image:1'), 'of-none', {
				...opts,
				cpuCount: 1,
				memoryMB: 512,
			}),
			/no such tag of 'library\/no-such-image'/,
		)
		await assert.rejects(
			Template.build(Template().fromImage(`${registry.host}/x:1`), 'of-private', {
				...opts,
				cpuCount: 1,
				memoryMB: 512,
			}),
			/not a public address/,
		)
		await assert.rejects(
			Template.build(Template().fromImage('Bad Name'), 'of-bad', {
				...opts,
				cpuCount: 1,
				memoryMB: 512,
			}),
			/not the name of an image/,
		)
	} finally {
		await own.stop()
	}
})

// The ways in which an image can have files at the places of the server's own runtime. In the place of Python it has a
// program that stays and needs nothing else, so that what it runs with can be looked at.
const FOLDERS = ['', 'atoll/', 'atoll/runtimes/', 'atoll/runtimes/python/']
const LOOKALIKES = {
	files: (program) => [
		...FOLDERS.map((name) => ({ name: `opt/${name}`, type: '5' })),
		{ name: 'opt/atoll/runtimes/python/zygote.py', data: 'pass\n' },
		{ name: 'usr/bin/python3', data: program, mode: 0o755 },
	],
	links: (program) => [
		...FOLDERS.map((name) => ({ name: `srv/own/${name}`, type: '5' })),
		{ name: 'srv/own/atoll/runtimes/python/zygote.py', data: 'pass\n' },
		{ name: 'srv/own/python', data: program, mode: 0o755 },
		{ name: 'opt', type: '2', link: '/srv/own' },
		{ name: 'usr/bin/python3', type: '2', link: '/srv/own/python' },
	],
}
const PLACES = ['dev', 'proc', 'sys', 'etc', 'tmp', 'usr', 'usr/bin', 'srv', 'srv/own'].map((name) => ({
	name: `${name}/`,
	type: '5',
}))

const boundsOf = (pid) => BigInt(`0x${/^CapBnd:\s+(\S+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]}`)

// Processes of the server that could do more than pid 1 of a sandbox, but for the holders and the zygotes of its own
// templates.
function powerful({ slot, pid: warden }) {
	const command = fs.readFileSync(`/proc/${warden}/cmdline`, 'latin1')
	const own = [...command.matchAll(/\0--template\0[^=\0]+=([0-9a-f]{16})/g)].map((m) => `_zygote-${m[1]}`)
	assert.equal(own.length, 2)
	const all = processesOf(slot)
	const isFirst = (pid) => /^NSpid:.*\t1$/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))
	const kept = boundsOf(all.find((pid) => commOf(pid) !== 'atoll-holder' && isFirst(pid)))
	return all
		.filter((pid) => {
			try {
				const cgroup = fs.readFileSync(`/proc/${pid}/cgroup`, 'utf8')
				return (
					(boundsOf(pid) & ~kept) !== 0n &&
					!['_holder', ...own].some((name) => cgroup.includes(`/${name}\n`))
				)
			} catch {
				return false // it has just ended
			}
		})
		.map(commandOf)
}

test(
	'W2: no byte of an image runs with more power than a sandbox, whatever paths it has',
	{ skip, timeout: 300000 },
	async () => {
		const { Sandbox, Template } = sdk()
		const own = await newServer(server.buildDir, { registry_mirrors: `docker.io=${registry.url}` }).start()
		const opts = { apiKey: own.key, apiUrl: own.url, sandboxUrl: own.url }
		const program = fs.readFileSync(path.join(server.buildDir, 'src/engine/atoll-holder'))
		try {
			for (const [name, entries] of Object.entries(LOOKALIKES)) {
				const layer = write(`${name}.tar`, tarOf([...PLACES, ...entries(program)]))
				registry.push(
					makeImage(path.join(dir, 'lookalikes'), name, [layer]),
					`library/lookalike:${name}`,
				)
				await Template.build(Template().fromImage(`lookalike:${name}`), `lookalike-${name}`, {
					...opts,
					cpuCount: 1,
					memoryMB: 512,
				})
				// Each start is a cold one. After the second, what the first has begun is under way.
				for (let i = 0; i < 2; i++) {
					const sbx = await Sandbox.create(`lookalike-${name}`, {
						...opts,
						timeoutMs: 60000,
					})
					let found // who makes a sandbox may be there for a moment longer
					assert.ok(
						await until(() => (found = powerful(own)).length === 0, 10000),
						found.join('\n'),
					)
					await sbx.kill()
				}
				const images = pinsOf(own.stateDir)
				assert.ok(images.length >= 1)
				for (const key of images)
					assert.ok(
						!cgroupsOf(own.slot).some(
							(at) => path.basename(at) === `_zygote-${key.slice(0, 16)}`,
						),
						'a zygote of the image',
					)
				assert.deepEqual(
					fs
						.readdirSync(path.join(own.runDir, 'zygotes'))
						.filter((f) => images.some((key) => f.includes(key))),
					[],
				)
			}
		} finally {
			await own.stop()
		}
	},
)

// A repository of packages in the image itself: the real sudo, and one that is made here.
function packagesLayer() {
	const repo = path.join(dir, 'repo')
	fs.mkdirSync(path.join(repo, 'jq/DEBIAN'), { recursive: true })
	fs.mkdirSync(path.join(repo, 'jq/usr/bin'), { recursive: true })
	fs.writeFileSync(
		path.join(repo, 'jq/DEBIAN/control'),
		'Package: jq\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@localhost>\n' +
			'Description: a test\n',
	)
	fs.writeFileSync(path.join(repo, 'jq/usr/bin/jq'), '#!/bin/sh\necho jq of the test\n', { mode: 0o755 })
	execFileSync('dpkg-deb', ['--build', '--root-owner-group', 'jq', 'jq.deb'], { cwd: repo, stdio: 'ignore' })
	if (spawnSync('apt-get', ['download', 'sudo'], { cwd: repo, stdio: 'ignore' }).status !== 0) return null
	const debs = fs.readdirSync(repo).filter((name) => name.endsWith('.deb'))
	const index = debs
		.map((name) => {
			const bytes = fs.readFileSync(path.join(repo, name))
			const control = execFileSync('dpkg-deb', ['-f', path.join(repo, name)], {
				encoding: 'utf8',
			}).trimEnd()
			const sum = sha256(bytes).slice('sha256:'.length)
			return `${control}\nFilename: ./${name}\nSize: ${bytes.length}\nSHA256: ${sum}\n`
		})
		.join('\n')
	return write(
		'packages.tar',
		tarOf([
			{ name: 'etc/apt/sources.list', data: 'deb [trusted=yes] file:/repo ./\n' },
			{ name: 'repo/Packages', data: index },
			...debs.map((name) => ({ name: `repo/${name}`, data: fs.readFileSync(path.join(repo, name)) })),
		]),
	)
}

test('C3: an image gets the packages that every image has, once', { skip, timeout: 300000 }, async (t) => {
	const { Sandbox, Template } = sdk()
	const layer = packagesLayer()
	if (!layer) {
		t.skip('apt cannot download sudo')
		return
	}
	registry.push(makeImage(path.join(dir, 'layout'), 'packages', [debianTar(), layer]), 'library/packages:1')
	registry.push(
		makeImage(path.join(dir, 'layout'), 'bare', [
			debianTar(),
			write('bare.tar', tarOf([{ name: 'usr/bin/.wh.apt-get', data: '' }])),
		]),
		'library/bare:1',
	)
	const own = await newServer(server.buildDir, {
		registry_mirrors: `docker.io=${registry.url}`,
		image_packages: 'sudo jq',
	}).start()
	try {
		const opts = { apiKey: own.key, apiUrl: own.url, sandboxUrl: own.url, cpuCount: 1, memoryMB: 512 }
		const build = async (template, name) => {
			const lines = []
			await Template.build(template, name, { ...opts, onBuildLogs: (l) => lines.push(l.message) })
			return lines.join('\n')
		}
		const first = await build(
			Template().fromImage('packages:1').runCmd('sudo apt-get update').runCmd('jq > /tmp/jq'),
			'with-packages',
		)
		assert.match(first, /\[base\] packages of every image: sudo jq/)
		assert.match(first, /installing sudo jq/)
		assert.match(first, /\[builder 1\/2\] RUN sudo apt-get update/)
		const sbx = await Sandbox.create('with-packages', { ...opts, timeoutMs: 60000 })
		assert.equal(
			(await sbx.commands.run('whoami; sudo id -u; cat /tmp/jq')).stdout,
			'user\n0\njq of the test\n',
		)
		await sbx.kill()
		assert.match(
			await build(Template().fromImage('packages:1').runCmd('true'), 'with-packages-too'),
			/CACHED \[base\] packages of every image/,
		)
		let told
		await assert.rejects(
			build(Template().fromImage('packages:1').runCmd('true').runCmd('exit 9'), 'failing'),
			(err) => {
				told = err
				return /exit/.test(err.message)
			},
		)
		assert.match(
			told.stack,
			/images_build\.test\.mjs/,
			'a step that fails is told as the client has numbered it',
		)
		// Without apt it goes on, and says so.
		const bare = await build(Template().fromImage('bare:1').runCmd('true'), 'bare')
		assert.match(bare, /this image has no apt-get/)
		assert.match(bare, /going on without the packages of every image/)
	} finally {
		await own.stop()
	}
})

// What `docker save a b` writes: two images, which share a layer.
function saveTwo(file) {
	const config = (layers) =>
		Buffer.from(
			JSON.stringify({
				os: 'linux',
				architecture: { x64: 'amd64' }[process.arch] ?? process.arch,
				config: { OnBuild: ['RUN echo later'] },
				rootfs: { type: 'layers', diff_ids: layers.map((l) => sha256(l)) },
			}),
		)
	const debian = fs.readFileSync(debianTar()),
		here = tarOf([{ name: 'local', data: 'here\n' }]),
		there = tarOf([{ name: 'local', data: 'there\n' }])
	const out = fs.openSync(file, 'w')
	const put = (name, data) => fs.writeSync(out, tarOf([{ name, data }], { end: false }))
	put('debian.tar', debian)
	const list = [
		[here, 'app:1'],
		[there, 'app:2'],
	].map(([layer, tag], i) => {
		put(`${i}.tar`, layer)
		put(`${i}.json`, config([debian, layer]))
		return { Config: `${i}.json`, RepoTags: [tag], Layers: ['debian.tar', `${i}.tar`] }
	})
	put('manifest.json', Buffer.from(JSON.stringify(list)))
	fs.writeSync(out, Buffer.alloc(1024))
	fs.closeSync(out)
	return file
}

test('a template from a layout and from archives, sent by the CLI', { skip, timeout: 300000 }, async () => {
	const layout = path.join(dir, 'local')
	makeImage(
		layout,
		'one',
		[debianTar(), write('local.tar', tarOf([{ name: 'local', data: 'here\n' }]))],
		['--config.env', 'FROM_LAYOUT=yes'],
	)
	const own = await newServer(server.buildDir, { template_upload_max_mb: 400 }).start()
	const { Sandbox } = sdk()
	let mine
	const cli = (args) =>
		spawnSync(
			path.join(server.buildDir, 'src/cli/atoll'),
			[
				'template',
				'build',
				...args,
				'--cpus',
				'1',
				'--memory-mb',
				'512',
				'--api-url',
				own.url,
				'--api-key',
				own.key,
			],
			{ encoding: 'utf8' },
		)
	const sh = async (name, cmd) => {
		const sbx = await Sandbox.create(name, {
			apiKey: own.key,
			apiUrl: own.url,
			sandboxUrl: own.url,
			timeoutMs: 60000,
		})
		try {
			return (await sbx.commands.run(cmd)).stdout.trim()
		} finally {
			await sbx.kill()
		}
	}
	try {
		const ociArchive = path.join(dir, 'oci.tar'),
			dockerArchive = path.join(dir, 'docker.tar')
		execFileSync('tar', ['-C', layout, '-cf', ociArchive, '.'])
		execFileSync('skopeo', ['copy', '-q', `oci:${layout}:one`, `docker-archive:${dockerArchive}:local:one`])
		for (const [name, source] of Object.entries({ layout, oci: ociArchive, docker: dockerArchive })) {
			const run = cli([source, '-t', name])
			assert.equal(run.status, 0, run.stderr.slice(-300))
			assert.equal(await sh(name, 'cat /local; echo $FROM_LAYOUT'), 'here\nyes', name)
		}
		// Several images: one must be named, by its tag or by its name.
		makeImage(layout, 'two', [
			debianTar(),
			write('second.tar', tarOf([{ name: 'local', data: 'there\n' }])),
		])
		const saved = path.join(dir, 'saved.tar')
		saveTwo(saved)
		for (const [source, list, name, wrong] of [
			[layout, /one, two/, 'two', 'three'],
			[saved, /app:1, app:2/, 'app:2', 'app:3'],
		]) {
			const which = cli([source, '-t', 'several'])
			assert.equal(which.status, 1)
			assert.match(which.stderr, /there are .* say which one: /)
			assert.match(which.stderr, list)
			const none = cli([source, '-t', 'several', '--image', wrong])
			assert.match(none.stderr, new RegExp(`no image '${wrong}'`))
			assert.match(none.stderr, list)
			const chosen = cli([source, '-t', 'several', '--image', name])
			assert.equal(chosen.status, 0, chosen.stderr.slice(-300))
			assert.equal(
				/ONBUILD of the image is not carried out: RUN echo later/.test(chosen.stderr),
				source === saved,
			)
			assert.equal(await sh('several', 'cat /local'), 'there')
		}
		assert.match(
			cli(['e2bdev/base', '-t', 'several', '--image', 'x']).stderr,
			/--image applies to archives and layouts/,
		)

		const run = cli([debianTar(), '-t', 'rootfs'])
		assert.equal(run.status, 0, run.stderr.slice(-300))
		assert.equal(await sh('rootfs', '. /etc/os-release; echo $ID; whoami'), 'debian\nuser')

		const bad = cli([write('cut.tar', fs.readFileSync(ociArchive).subarray(0, 100000)), '-t', 'cut'])
		assert.equal(bad.status, 1)
		assert.match(bad.stderr, /the archive/)
		assert.match(
			cli([write('evil.tar', tarOf([{ name: '../../evil', data: 'x' }])), '-t', 'evil']).stderr,
			/evil/,
		)
		// What a client says is never taken for a path of the server.
		const asked = (await api('POST', '/v3/templates', { name: 'path' }, { base: own.url, key: own.key }))
			.json
		const start = (body) =>
			api('POST', `/v2/templates/${asked.templateID}/builds/${asked.buildID}`, body, {
				base: own.url,
				key: own.key,
			})
		for (const body of [
			{ fromUpload: '/etc/passwd' },
			{ fromUpload: 'a'.repeat(64), fromImage: 'ubuntu' },
		]) {
			const answer = await start({ ...body, steps: [] })
			assert.equal(answer.status, 400)
			assert.match(answer.text, /fromUpload/)
		}
		assert.equal((await start({ fromUpload: 'a'.repeat(64), steps: [] })).status, 202)
		const status = `/templates/${asked.templateID}/builds/${asked.buildID}/status`
		const reason = async () =>
			(await api('GET', status, undefined, { base: own.url, key: own.key })).json.reason?.message
		assert.ok(await until(async () => /not uploaded/.test(await reason()), 10000))
		mine = pinsOf(own.stateDir)
		assert.ok(mine.length >= 1)
	} finally {
		await own.stop()
	}
	const users = fs.readdirSync(path.join(SHARED, 'images/users'))
	assert.deepEqual(pinsOf(own.stateDir), [], 'a server whose state is gone needs nothing')
	for (const key of mine.filter(
		(k) => !users.some((u) => fs.existsSync(path.join(SHARED, 'images/users', u, k))),
	))
		assert.ok(!fs.existsSync(path.join(SHARED, 'templates', key)), `${key} is left`)
})

test('examples/private-registry runs unchanged', { skip, timeout: 300000 }, async (t) => {
	const hash = bcrypt('secret')
	if (!hash.startsWith('$2')) {
		t.skip('perl has no bcrypt')
		return
	}
	const locked = await new Registry(path.join(dir, 'private')).start({ htpasswd: `user:${hash}\n` })
	let own
	try {
		locked.push(makeImage(path.join(dir, 'private-layout'), 'one', [debianTar()]), 'team/image:1', [
			'--dest-creds',
			'user:secret',
		])
		own = await newServer(server.buildDir, { registries: locked.url }).start()
		const copy = path.join(process.env.ATOLL_TEST_NPM, 'private-registry.mjs')
		fs.copyFileSync(
			fileURLToPath(new URL('../../../examples/private-registry/build.mjs', import.meta.url)),
			copy,
		)
		const run = (password) =>
			new Promise((done) => {
				const child = spawn(process.execPath, [copy], {
					env: {
						...process.env,
						...own.env(),
						IMAGE: `${locked.host}/team/image:1`,
						REGISTRY_USER: 'user',
						REGISTRY_PASSWORD: password,
					},
				})
				let out = ''
				child.stdout.on('data', (d) => (out += d))
				child.stderr.on('data', (d) => (out += d))
				child.once('close', (code) => done({ code, out }))
			})
		const good = await run('secret')
		assert.equal(good.code, 0, good.out)
		assert.match(good.out, /Debian GNU\/Linux[^\n]*\n*$/)
		const bad = await run('wrong')
		assert.equal(bad.code, 1)
		assert.match(bad.out, /refuses access/)
		assert.ok(!fs.readFileSync(own.log, 'utf8').includes('secret'), 'the password is in the log')
	} finally {
		await own?.stop()
		await locked.stop()
	}
})
