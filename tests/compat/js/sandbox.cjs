// SPDX-License-Identifier: Apache-2.0
// Sandboxes themselves, their ports and addresses.
const assert = require('node:assert/strict')

const items = async (list) => (Array.isArray(list) ? list : list.nextItems()) // 1.x gives an array, 2.x pages
const listed = async (c, query) => items(await c.core.Sandbox.list({ query }))

module.exports = {
	'sandbox.create': async (c) => {
		const sbx = await c.create({ timeoutMs: 120000, metadata: { mark: c.mark }, envs: { A: 'b c' } })
		assert.match(sbx.sandboxId, /^[a-z0-9]{20}$/)
		assert.equal((await sbx.commands.run('printf %s "$A"')).stdout, 'b c')
		c.marked = sbx
	},
	'sandbox.connect': async (c) => {
		const again = await c.core.Sandbox.connect(c.marked.sandboxId)
		await again.files.write('/tmp/shared', 'seen')
		assert.equal(await c.marked.files.read('/tmp/shared'), 'seen')
	},
	'sandbox.list': async (c) => {
		assert.deepEqual(
			(await listed(c, { metadata: { mark: c.mark } })).map((one) => one.sandboxId),
			[c.marked.sandboxId],
		)
		assert.deepEqual(await listed(c, { metadata: { mark: `${c.mark}x` } }), [])
	},
	'sandbox.info': async (c) => {
		c.needs(c.marked.getInfo)
		const sbx = await c.create({ timeoutMs: 120000, metadata: { a: 'b' } })
		const info = await sbx.getInfo()
		assert.deepEqual([info.sandboxId, info.metadata], [sbx.sandboxId, { a: 'b' }])
		assert.ok(Math.abs(info.endAt - info.startedAt - 120000) < 2000, `${info.startedAt} to ${info.endAt}`)
	},
	'sandbox.timeout': async (c) => {
		const sbx = await c.create()
		await sbx.setTimeout(1000)
		await c.until(async () => !(await sbx.isRunning()), 'expired')
		assert.ok(await c.marked.isRunning())
	},
	'sandbox.kill': async (c) => {
		const sbx = await c.create()
		assert.equal(await c.core.Sandbox.kill(sbx.sandboxId), true)
		assert.equal(await c.core.Sandbox.kill(sbx.sandboxId), false)
		assert.equal(await sbx.isRunning(), false)
		await assert.rejects(sbx.commands.run('true'))
	},
	'sandbox.metrics': async (c) => {
		c.needs(c.marked.getMetrics)
		const [first] = await c.until(async () => {
			const got = await c.marked.getMetrics()
			return got.length && got
		}, 'metrics')
		assert.ok(
			first.cpuCount > 0 && first.memTotal > 0 && first.timestamp instanceof Date,
			JSON.stringify(first),
		)
	},
	'sandbox.pause': async (c) => {
		const pause = c.core.Sandbox.prototype.pause ?? c.core.Sandbox.prototype.betaPause
		c.needs(pause)
		const sbx = await c.create()
		const run = await sbx.commands.run('sleep 300', { background: true })
		await pause.call(sbx)
		assert.equal(await sbx.isRunning(), false)
		const again = await c.core.Sandbox.connect(sbx.sandboxId)
		assert.ok((await again.commands.list()).some((p) => p.pid === run.pid))
	},
	'sandbox.secure': async (c) => {
		const sbx = await c.create({ secure: true })
		assert.equal((await sbx.commands.run('echo in')).stdout, 'in\n')
		const bare = await c.fetch(`https://${sbx.getHost(49983)}/files?path=/etc/hostname&username=user`)
		assert.equal(bare.status, 401)
		c.secured = sbx
	},
	'sandbox.offline': async (c) => {
		const sbx = await c.create({ allowInternetAccess: false })
		const out = await sbx.commands.run(
			'timeout 5 bash -c "</dev/tcp/192.0.2.1/80" 2>/dev/null || echo refused',
		)
		assert.equal(out.stdout, 'refused\n')
	},
	'ports.host': async (c) => {
		const sbx = await c.shell()
		await sbx.files.write('/tmp/www/page', 'from inside')
		await sbx.commands.run('python3 -m http.server 8123 --directory /tmp/www', {
			background: true,
			timeoutMs: 0,
		})
		await sbx.commands.run('until (</dev/tcp/127.0.0.1/8123) 2>/dev/null; do sleep 0.1; done')
		const got = await c.fetch(`https://${sbx.getHost(8123)}/page`)
		assert.deepEqual(got, { status: 200, text: 'from inside' })
	},
	'urls.download': async (c) => {
		c.needs(c.secured.downloadUrl)
		await c.secured.files.write('down.txt', 'signed')
		const url = await c.secured.downloadUrl('down.txt', { useSignatureExpiration: 60 })
		assert.deepEqual(await c.fetch(url), { status: 200, text: 'signed' })
		const forged = url.replace(/signature=[^&]*/, 'signature=v1_x')
		assert.notEqual(forged, url)
		assert.equal((await c.fetch(forged)).status, 401)
	},
	'urls.upload': async (c) => {
		c.needs(c.secured.uploadUrl)
		const url = await c.secured.uploadUrl('up.txt', { useSignatureExpiration: 60 })
		const form =
			'--b\r\nContent-Disposition: form-data; name="file"; filename="up.txt"\r\n\r\nbrought\r\n' +
			'--b--\r\n'
		const got = await c.fetch(url, {
			method: 'POST',
			body: form,
			headers: { 'Content-Type': 'multipart/form-data; boundary=b' },
		})
		assert.equal(got.status, 200, got.text)
		assert.equal(await c.secured.files.read('up.txt'), 'brought')
	},
}
