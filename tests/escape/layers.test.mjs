// SPDX-License-Identifier: Apache-2.0
// Layers of images that are made to get out, through the whole way of a build: registry, builder, status. Each must end
// the build at its base with a reason, touch nothing of the host, leave nothing in the cache, and leave the version
// before in use.
import { after, before, test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { api, sdk, server } from '../lib/client.mjs'
import { newServer } from '../lib/server.mjs'
import { until } from '../lib/host.mjs'
import { imageOf, liar, serve, sha256 } from '../lib/registry.mjs'
import { tarOf } from '../lib/tar.mjs'

const { Sandbox, Template } = sdk()
const CACHE = process.env.ATOLL_CACHE ?? '/var/cache/atoll'
const MARK = `atoll-evil-${process.pid}`
const OUT = `../../../../../../../../../../tmp/${MARK}`
const data = 'evil'
const link = (target) => ({ name: 'l', type: '2', link: target })
const zeroes = () =>
	Buffer.concat([
		gzipSync(tarOf([{ name: 'zeroes', size: 10 * 2 ** 30 }], { end: false })),
		...Array(160).fill(gzipSync(Buffer.alloc(64 << 20))),
	])
const good = tarOf([{ name: 'good', data }])

// what it tries: [layers, what is said of it, what the registry sends instead of a blob]
const attempts = {
	'an absolute name': [[[{ name: `/tmp/${MARK}`, data }]], /absolute name/],
	'a name with ..': [[[{ name: OUT, data }]], /leads out/],
	'a file through a link to the host': [[[link('/tmp'), { name: `l/${MARK}`, data }]], /symbolic link/],
	'a file through a link upwards': [
		[[link('../../../../../../tmp'), { name: `l/${MARK}`, data }]],
		/symbolic link/,
	],
	'a link in one layer, a file through it in the next': [
		[[link('/tmp')], [{ name: `l/${MARK}`, data }]],
		/symbolic link/,
	],
	'a whiteout through a link': [[[link('/tmp'), { name: `l/.wh.${MARK}-keep`, data: '' }]], /symbolic link/],
	'an opaque mark through a link': [[[link('/tmp'), { name: 'l/.wh..wh..opq', data: '' }]], /symbolic link/],
	'a whiteout of what is above': [
		[
			[
				{ name: 'a/', type: '5' },
				{ name: 'a/.wh...', data: '' },
			],
		],
		/whiteout of nothing/,
	],
	'a hard link to a file of the host': [[[{ name: 'h', type: '1', link: '/etc/shadow' }]], /absolute/],
	'a hard link upwards': [[[{ name: 'h', type: '1', link: '../../../../../../etc/shadow' }]], /leads out/],
	'a hard link through a link': [[[link('/etc'), { name: 'h', type: '1', link: 'l/shadow' }]], /symbolic link/],
	'a disk of the host': [[[{ name: 'sda', type: '4' }]], /is a device/],
	'ten gigabytes of zeroes': [[zeroes()], /bomb|larger than/],
	'another layer than the digest says': [[good], /digest mismatch/, tarOf([{ name: 'evil', data }])],
	'half a layer': [[good], /ended after|broke off|layer 1/, good.subarray(0, 700)],
}

// All servers of the machine share the cache: what another has pulled may go at any moment.
function infoOf(key) {
	try {
		return fs.readFileSync(path.join(CACHE, 'templates', key, 'info'), 'utf8')
	} catch (err) {
		assert.ok(['ENOENT', 'ENOTDIR'].includes(err.code), err.message)
		return ''
	}
}

let own, registry, images, registryEnds

before(async () => {
	images = Object.fromEntries(
		Object.entries(attempts).map(([what, [layers, , instead]], i) => {
			const bytes = layers.map((l) =>
				Buffer.isBuffer(l) ? l : tarOf([{ name: 'before', data: `${MARK} ${i}` }, ...l]),
			)
			const image = imageOf(bytes, what.includes('zeroes') ? { diffIds: [sha256('')] } : {})
			return [
				`a${i}`,
				serve(
					image,
					(req, res) =>
						Boolean(instead) &&
						req.url.includes(sha256(bytes[0])) &&
						(res.end(instead), true),
				),
			]
		}),
	)
	const up = new Promise((ready) => {
		void liar(
			(req, res) => images[/^\/v2\/(\w+)\//.exec(req.url)?.[1]](req, res),
			(reg) =>
				new Promise((end) => {
					registryEnds = end
					ready(reg)
				}),
		)
	})
	registry = await up
	fs.writeFileSync(`/tmp/${MARK}-keep`, 'keep')
	own = await newServer(server.buildDir, { registries: registry.url }).start()
	await Template.build(Template().fromTemplate('base').runCmd('echo first > /home/user/version'), 'victim', {
		apiKey: own.key,
		apiUrl: own.url,
		cpuCount: 1,
		memoryMB: 512,
	})
})

after(async () => {
	registryEnds?.()
	fs.rmSync(`/tmp/${MARK}-keep`, { force: true })
	const end = await own?.stop()
	assert.ok(end.clean, JSON.stringify(end.left))
})

for (const [i, [what, [, why]]] of Object.entries(attempts).entries()) {
	test(`attempt: a layer with ${what}`, async () => {
		const opt = { base: own.url, key: own.key }
		const { templateID, buildID } = (
			await api('POST', '/v3/templates', { name: 'victim', cpuCount: 1, memoryMB: 512 }, opt)
		).json
		const shadow = fs.statSync('/etc/shadow').nlink
		assert.equal(
			(
				await api(
					'POST',
					`/v2/templates/${templateID}/builds/${buildID}`,
					{ fromImage: `${registry.host}/a${i}:1`, steps: [] },
					opt,
				)
			).status,
			202,
		)
		let last
		await until(
			async () =>
				['ready', 'error'].includes(
					(last = (
						await api(
							'GET',
							`/templates/${templateID}/builds/${buildID}/status`,
							undefined,
							opt,
						)
					).json).status,
				),
			120000,
		)
		assert.equal(last.status, 'error')
		assert.match(last.reason.message, why)
		assert.equal(last.reason.step, 'base')
		assert.ok(
			last.logEntries.some((l) => l.level === 'error' && why.test(l.message)),
			JSON.stringify(last.logEntries),
		)
		assert.ok(!fs.existsSync(`/tmp/${MARK}`), 'it has written to the host')
		assert.equal(fs.readFileSync(`/tmp/${MARK}-keep`, 'utf8'), 'keep')
		assert.equal(fs.statSync('/etc/shadow').nlink, shadow)
		for (const key of fs.readdirSync(path.join(CACHE, 'templates')))
			assert.ok(!infoOf(key).includes(`${registry.host}/a${i}:1`), 'it became an image')
	})
}

test('after all of them the template is what it was', async () => {
	const sbx = await Sandbox.create('victim', {
		apiKey: own.key,
		apiUrl: own.url,
		sandboxUrl: own.url,
		timeoutMs: 60000,
	})
	assert.equal((await sbx.commands.run('cat version')).stdout.trim(), 'first')
	await sbx.kill()
})
