// SPDX-License-Identifier: Apache-2.0
// The first program for any generation of the JS SDK: node first.cjs PACKAGE
const { createRequire } = require('node:module')
const path = require('node:path')
const { Sandbox } = createRequire(path.join(process.env.ATOLL_TEST_NPM, 'package.json'))(process.argv[2])
const assert = require('node:assert/strict')

async function main() {
	const sbx = await Sandbox.create('base', {
		timeoutMs: 60000,
		metadata: { by: process.argv[2] },
		envs: { A: 'b' },
	})
	try {
		const run = await sbx.commands.run('echo "$A"; echo e >&2')
		assert.deepEqual([run.exitCode, run.stdout, run.stderr], [0, 'b\n', 'e\n'])
		await assert.rejects(sbx.commands.run('exit 3'), (err) => err.exitCode === 3)
		const info = await sbx.files.write('dir/f.txt', 'ä "x"')
		assert.equal(info.path, '/home/user/dir/f.txt')
		assert.equal(await sbx.files.read('dir/f.txt'), 'ä "x"')
		assert.deepEqual(
			(await sbx.files.list('dir')).map((e) => e.name),
			['f.txt'],
		)
		assert.equal(await sbx.files.exists('none'), false)
		const bg = await sbx.commands.run('cat', { background: true, stdin: true })
		await sbx.commands.sendStdin(bg.pid, 'x')
		assert.ok((await sbx.commands.list()).some((p) => p.pid === bg.pid))
		assert.equal(await bg.kill(), true)
		await sbx.setTimeout(30000)
		const again = await Sandbox.connect(sbx.sandboxId)
		assert.equal((await again.commands.run('whoami')).stdout, 'user\n')
		assert.equal(await sbx.isRunning(), true)
	} finally {
		assert.notEqual(await sbx.kill(), false) /* 1.x returns nothing */
	}
	assert.equal(await sbx.isRunning(), false)
	console.log('done')
}

main().catch((err) => {
	console.error(err)
	process.exit(1)
})
