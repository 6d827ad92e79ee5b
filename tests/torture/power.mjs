// SPDX-License-Identifier: Apache-2.0
// The power fails: what was acknowledged a moment before is there afterwards, and what was ended stays so.
//
// The state directory is on a disk in a file, of which a copy is taken in no time after each answer. The copy has what
// was written to the disk by then and nothing of what the kernel was still to write: as if the machine had stopped
// there. A server is started on each.
//
// Run by tests/torture/power.test.mjs, in a mount namespace of its own: whoever starts another server meanwhile would
// hold these disks.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { api, createRaw, endOf, outputOf, request, start } from '../lib/client.mjs'
import { Server } from '../lib/server.mjs'
import { until } from '../lib/host.mjs'
import { runCode } from '../lib/interp.mjs'
import { built } from '../ckpt/drive.mjs'

const buildDir = path.resolve(process.argv[2])
const noMemory = built('tools').why
const CONFIG = { pool_size_mb: 2048, pool_max_mb: 2048, checkpoint_after_s: 0, default_disk_mb: 512 }

function run(...argv) {
	const done = spawnSync(argv[0], argv.slice(1), { encoding: 'utf8' })
	assert.equal(done.status, 0, `${argv.join(' ')}: ${done.stderr}`)
	return done.stdout
}

class Machine {
	constructor() {
		this.base = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-test-'))
		const at = (name) => path.join(this.base, name)
		this.shelf = at('shelf') // copies in no time need a file system that can
		this.disk = at('disk')
		this.image = path.join(this.shelf, 'disk.img')
		this.cuts = []
		for (const dir of [this.shelf, this.disk]) fs.mkdirSync(dir)
		run('truncate', '-s', '10G', at('shelf.img'))
		run('mkfs.btrfs', '-q', at('shelf.img'))
		run('mount', '-o', 'loop', at('shelf.img'), this.shelf)
		run('truncate', '-s', '4G', this.image)
		run('mkfs.ext4', '-q', '-F', '-m', '0', this.image)
	}

	async up(image = this.image) {
		run('mount', '-o', 'loop', image, this.disk)
		const own = new Server(buildDir, path.join(this.base, `of-${path.basename(image)}`), CONFIG)
		fs.mkdirSync(own.base)
		own.stateDir = path.join(this.disk, 'state')
		this.own = own
		await own.start()
		return reach(own)
	}

	async down() {
		const end = this.own?.pid ? await this.own.stop({ remove: false }) : { clean: true }
		this.own = null
		spawnSync('umount', [this.disk])
		assert.ok(end.clean, JSON.stringify(end.left))
	}

	fails(what, look) {
		const image = path.join(this.shelf, `cut${this.cuts.length}.img`)
		run('cp', '--reflink=always', this.image, image)
		this.cuts.push({ what, image, look })
	}

	remove() {
		spawnSync('umount', [this.disk])
		spawnSync('umount', [this.shelf])
		fs.rmSync(this.base, { recursive: true, force: true })
	}
}

function reach(own) {
	const call = (method, where, body, key = own.key) => api(method, where, body, { base: own.url, key })
	const good = async (status, ...args) => {
		const res = await call(...args)
		assert.equal(res.status, status, `${args[0]} ${args[1]}: ${res.text}`)
		return res.json
	}
	return {
		own,
		call,
		good,
		create: (templateID = 'code-interpreter-v1') =>
			createRaw({ templateID, timeout: 600 }, { base: own.url, key: own.key }),
		wake: (sbx, body) =>
			good(201, 'POST', `/sandboxes/${sbx.sandboxID}/connect`, { timeout: 600, ...body }),
		pause: (sbx, body = {}) => good(204, 'POST', `/sandboxes/${sbx.sandboxID}/pause`, body),
		info: (sbx) => call('GET', `/sandboxes/${sbx.sandboxID}`),
		code: async (sbx, code) => (await runCode(sbx, code, {}, own.url)).text,
		file: (v, method, name, body) =>
			request(method, `/volumecontent/${v.volumeID}/file?path=${name}`, {
				base: own.url,
				body,
				headers: { Authorization: `Bearer ${v.token}` },
			}),
		sh: async (sbx, command) => {
			const got = await start(sbx, command, { base: own.url, user: 'user' })
			await got.ended
			assert.equal(endOf(got.events)?.status, 'exit status 0', outputOf(got.events, 'stderr'))
			return outputOf(got.events).trim()
		},
	}
}

async function sandboxes(machine, at) {
	const a = await at.create(),
		b = await at.create()
	assert.equal(await at.code(a, 'x = 41; x'), '41')
	await at.sh(a, 'echo A >f')
	await at.sh(b, 'echo B >f')
	await at.pause(a)
	machine.fails('after a pause', async (then) => {
		assert.equal((await then.info(a)).json.state, 'paused')
		await then.wake(a, { memory: false })
		assert.equal(await then.sh(a, 'cat f'), 'A')
	})
	if (!noMemory) {
		assert.ok(
			await until(async () => (await at.info(a)).json.pausedMemory === 'ram+disk', 60000),
			'its memory does not get to disk',
		)
		machine.fails('after its memory was told to be on disk', async (then) => {
			assert.equal((await then.info(a)).json.pausedMemory, 'disk')
			await then.wake(a)
			assert.equal(await then.code(a, 'x + 1'), '42')
		})
	}
	await at.pause(b, { memory: false })
	machine.fails('after a pause without memory', async (then) => {
		await then.wake(b)
		assert.equal(await then.sh(b, 'cat f'), 'B')
	})
	await at.good(204, 'DELETE', `/sandboxes/${b.sandboxID}`)
	machine.fails('after the end of a paused one', async (then) => assert.equal((await then.info(b)).status, 404))
	return a
}

async function kept(machine, at, a) {
	await at.wake(a)
	const snapshot = await at.good(201, 'POST', `/sandboxes/${a.sandboxID}/snapshots`, { name: 's' })
	machine.fails('after a snapshot', async (then) => {
		const c = await then.create(snapshot.snapshotID)
		assert.equal(await then.sh(c, 'cat f'), 'A')
		if (snapshot.memory) assert.equal(await then.code(c, 'x'), '41')
	})
	const v = await at.good(201, 'POST', '/volumes', { name: 'v', sizeMB: 50 })
	assert.equal((await at.file(v, 'PUT', '/x', 'in the volume')).status, 201)
	machine.fails('after a file of a volume', async (then) =>
		assert.equal((await then.file(v, 'GET', '/x')).text, 'in the volume'),
	)
}

async function settings(machine, at) {
	const tool = path.join(machine.base, 'tool'),
		{ own } = at
	fs.mkdirSync(tool)
	fs.writeFileSync(path.join(tool, 'Dockerfile'), 'FROM e2bdev/base\nRUN echo built >/etc/built\n')
	const done = spawnSync(own.atoll(), ['template', 'build', tool, '-t', 'tool', '--no-start'], {
		encoding: 'utf8',
		env: { ...process.env, ...own.env() },
	})
	assert.equal(done.status, 0, done.stderr)
	machine.fails('after a template was told to be ready', async (then) =>
		assert.equal(await then.sh(await then.create('tool'), 'cat /etc/built'), 'built'),
	)
	const hook = await at.good(201, 'POST', '/events/webhooks', {
		name: 'w',
		url: 'https://example.com/x',
		events: ['sandbox.lifecycle.created'],
		signatureSecret: 'x'.repeat(32),
	})
	machine.fails('after a webhook', async (then) =>
		assert.deepEqual(
			(await then.good(200, 'GET', '/events/webhooks')).map((h) => h.id),
			[hook.id],
		),
	)
}

async function main() {
	const machine = new Machine()
	let bad = 0
	try {
		const at = await machine.up()
		const a = await sandboxes(machine, at)
		await kept(machine, at, a)
		await settings(machine, at)
		await machine.down()
		for (const { what, image, look } of machine.cuts) {
			try {
				await look(await machine.up(image))
				await machine.down()
				console.log(`ok: ${what}`)
			} catch (err) {
				bad++
				console.log(`LOST: ${what}: ${err.message}`)
				await machine.down()
			}
		}
	} finally {
		await machine.down()
		machine.remove()
	}
	console.log(`power: ${machine.cuts.length} failures, ${bad} took something back`)
	return bad
}

process.exitCode = (await main()) ? 1 : 0
