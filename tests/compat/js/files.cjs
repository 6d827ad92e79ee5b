// SPDX-License-Identifier: Apache-2.0
// Files.
const assert = require('node:assert/strict')

const TEXT = 'ä "quoted" \\ back\r\n\u{1f600} $HOME `x`\n'

async function watched(c, dir, options, act, want) {
	const sbx = await c.shell()
	const seen = []
	await sbx.files.makeDir(dir)
	const handle = await sbx.files.watchDir(
		dir,
		(event) => {
			seen.push(`${event.type} ${event.name}`)
		},
		options,
	)
	await act(sbx)
	await c.until(() => want.every((one) => seen.includes(one)), `${want} in ${seen}`)
	await handle.stop()
}

module.exports = {
	'files.text': async (c) => {
		const sbx = await c.shell()
		const info = await sbx.files.write('text/new dir/a.txt', TEXT)
		assert.equal((Array.isArray(info) ? info[0] : info).path, '/home/user/text/new dir/a.txt')
		assert.equal(await sbx.files.read('text/new dir/a.txt'), TEXT)
		await sbx.files.write('text/empty', '')
		assert.equal(await sbx.files.read('text/empty'), '')
		await assert.rejects(sbx.files.read('text/none'), c.core.NotFoundError)
	},
	'files.bytes': async (c) => {
		const sbx = await c.shell()
		const data = Uint8Array.from({ length: 300000 }, (_, i) => (i * 7 + (i >> 8)) & 255)
		await sbx.files.write('bytes.bin', data.buffer)
		assert.deepEqual(Buffer.from(await sbx.files.read('bytes.bin', { format: 'bytes' })), Buffer.from(data))
		const blob = await sbx.files.read('bytes.bin', { format: 'blob' })
		assert.equal(blob.size, data.length)
	},
	'files.stream': async (c) => {
		const sbx = await c.shell()
		await sbx.commands.run('head -c 3000000 /dev/zero | tr "\\0" x > stream.txt')
		let n = 0
		for await (const part of await sbx.files.read('stream.txt', { format: 'stream' })) n += part.length
		assert.equal(n, 3000000)
	},
	'files.many': async (c) => {
		const sbx = await c.shell()
		const files = [0, 1, 2].map((i) => ({ path: `many/${i}.txt`, data: `file ${i}` }))
		const infos = await sbx.files.write(files)
		assert.deepEqual(
			infos.map((one) => one.path),
			files.map((one) => `/home/user/${one.path}`),
		)
		assert.equal(await sbx.files.read('many/2.txt'), 'file 2')
	},
	'files.list': async (c) => {
		const sbx = await c.shell()
		await sbx.files.write('tree/a/b.txt', 'x')
		await sbx.files.write('tree/c.txt', 'x')
		assert.deepEqual(
			(await sbx.files.list('tree')).map((e) => [e.name, e.type]),
			[
				['a', 'dir'],
				['c.txt', 'file'],
			],
		)
		assert.deepEqual(
			(await sbx.files.list('tree', { depth: 2 })).map((e) => e.path),
			['/home/user/tree/a', '/home/user/tree/a/b.txt', '/home/user/tree/c.txt'],
		)
		await assert.rejects(sbx.files.list('none'), c.core.NotFoundError)
	},
	'files.info': async (c) => {
		const sbx = await c.shell()
		c.needs(sbx.files.exists)
		await sbx.files.write('info.txt', '12345')
		assert.deepEqual([await sbx.files.exists('info.txt'), await sbx.files.exists('none')], [true, false])
		if (typeof sbx.files.getInfo !== 'function') return
		const info = await sbx.files.getInfo('info.txt')
		assert.deepEqual(
			[info.name, info.path, info.type, info.size, info.owner, info.permissions],
			['info.txt', '/home/user/info.txt', 'file', 5, 'user', '-rw-r--r--'],
		)
	},
	'files.dirs': async (c) => {
		const sbx = await c.shell()
		assert.equal(await sbx.files.makeDir('dirs/a/b'), true)
		assert.equal(await sbx.files.makeDir('dirs/a/b'), false)
	},
	'files.rename': async (c) => {
		const sbx = await c.shell()
		await sbx.files.write('old.txt', 'x')
		assert.equal((await sbx.files.rename('old.txt', 'new.txt')).path, '/home/user/new.txt')
		assert.equal(await sbx.files.exists('old.txt'), false)
		await assert.rejects(sbx.files.rename('old.txt', 'newer.txt'), c.core.NotFoundError)
	},
	'files.remove': async (c) => {
		const sbx = await c.shell()
		await sbx.files.write('gone/f', 'x')
		await sbx.files.remove('gone')
		assert.equal(await sbx.files.exists('gone'), false)
	},
	'files.watch': (c) =>
		watched(c, '/home/user/watched', {}, (sbx) => sbx.files.write('watched/f', 'x'), [
			'create f',
			'write f',
		]),
	'files.watch-tree': (c) =>
		watched(
			c,
			'/home/user/watched-tree',
			{ recursive: true },
			async (sbx) => {
				await sbx.files.makeDir('watched-tree/sub')
				await sbx.files.write('watched-tree/sub/f', 'x')
			},
			['create sub', 'write sub/f'],
		),
	'files.metadata': async (c) => {
		const sbx = await c.shell()
		c.knows('X-Metadata')
		await sbx.files.write('meta.txt', 'x', { metadata: { author: 'somebody' } })
		assert.deepEqual((await sbx.files.getInfo('meta.txt')).metadata, { author: 'somebody' })
	},
	'files.gzip': async (c) => {
		const sbx = await c.shell()
		c.knows('gzip')
		const text = 'again and '.repeat(50000)
		await sbx.files.write('zip.txt', text, { gzip: true })
		assert.equal(await sbx.files.read('zip.txt', { gzip: true }), text)
	},
}
