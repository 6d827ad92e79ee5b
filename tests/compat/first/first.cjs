// SPDX-License-Identifier: Apache-2.0
// What anybody tries first, on any generation of the JS SDK: node first.cjs DIRECTORY_OF_PACKAGES
const { createRequire } = require('node:module')
const path = require('node:path')
const { Sandbox } = createRequire(path.join(path.resolve(process.argv[2]), 'package.json'))('@e2b/code-interpreter')
const assert = require('node:assert/strict')

async function fetchSoon(url) {
	for (let tries = 0; ; tries++) {
		try {
			const got = await fetch(url)
			if (got.ok || tries === 100) return got
		} catch (err) {
			if (tries === 100) throw err
		}
		await new Promise((done) => setTimeout(done, 100))
	}
}

async function main() {
	const sbx = await Sandbox.create()
	try {
		assert.equal((await sbx.runCode('6 * 7')).text, '42')
		assert.equal((await sbx.commands.run('echo hello')).stdout, 'hello\n')
		await sbx.files.write('/home/user/site/index.html', 'a page')
		assert.equal(await sbx.files.read('/home/user/site/index.html'), 'a page')
		await sbx.commands.run('python3 -m http.server 8000 -d /home/user/site', { background: true })
		const host = sbx.getHost(8000)
		assert.equal(host, `8000-${sbx.sandboxId}.${process.env.E2B_DOMAIN}`)
		for (const scheme of ['https', 'http'])
			assert.equal(await (await fetchSoon(`${scheme}://${host}/`)).text(), 'a page')
		if (sbx.downloadUrl)
			assert.equal(
				await (await fetch(await sbx.downloadUrl('/home/user/site/index.html'))).text(),
				'a page',
			)
	} finally {
		await sbx.kill()
	}
	console.log('done')
}

main().catch((err) => {
	console.error(err)
	process.exit(1)
})
