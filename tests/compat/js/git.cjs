// SPDX-License-Identifier: Apache-2.0
// Git, copies of sandboxes, network rules, templates and volumes.
const assert = require('node:assert/strict')

async function repository(c, dir) {
	const sbx = await c.shell()
	c.needs(sbx.git?.init)
	await sbx.git.init(dir, { initialBranch: 'main' })
	await sbx.git.configureUser('Some Body', 'some@example.test', { scope: 'local', path: dir })
	await sbx.files.write(`${dir}/a file`, 'one')
	await sbx.git.add(dir)
	await sbx.git.commit(dir, 'first; "quoted"')
	return sbx
}

module.exports = {
	'git.work': async (c) => {
		const dir = '/home/user/repo'
		const sbx = await repository(c, dir)
		await sbx.files.write(`${dir}/b`, 'two')
		const status = await sbx.git.status(dir)
		assert.deepEqual([status.currentBranch, status.fileStatus.map((one) => one.name)], ['main', ['b']])
		await sbx.git.createBranch(dir, 'other')
		assert.deepEqual((await sbx.git.branches(dir)).branches.sort(), ['main', 'other'])
		assert.equal((await sbx.commands.run('git log --format=%s', { cwd: dir })).stdout, 'first; "quoted"\n')
	},
	'git.remote': async (c) => {
		const dir = '/home/user/origin'
		const sbx = await repository(c, dir)
		await sbx.commands.run('git clone -q --bare /home/user/origin /home/user/bare.git')
		await sbx.git.clone('file:///home/user/bare.git', { path: '/home/user/copy' })
		await sbx.git.configureUser('Some Body', 'some@example.test', {
			scope: 'local',
			path: '/home/user/copy',
		})
		await sbx.files.write('/home/user/copy/c', 'three')
		await sbx.git.add('/home/user/copy')
		await sbx.git.commit('/home/user/copy', 'second')
		await sbx.git.push('/home/user/copy')
		await sbx.git.remoteAdd(dir, 'up', '/home/user/bare.git')
		await sbx.git.pull(dir, { remote: 'up', branch: 'main' })
		assert.equal(await sbx.files.read(`${dir}/c`), 'three')
	},
	'sandbox.snapshot': async (c) => {
		const sbx = await c.shell()
		c.needs(sbx.createSnapshot)
		const { snapshotId } = await sbx.createSnapshot()
		const copy = await c.create({}, c.core, snapshotId)
		assert.ok(await copy.isRunning())
		assert.equal(await c.core.Sandbox.deleteSnapshot(snapshotId), true)
	},
	'sandbox.fork': async (c) => {
		const sbx = await c.shell()
		c.needs(sbx.fork)
		const copies = [await sbx.fork()].flat()
		c.made.push(...copies)
		assert.equal((await copies[0].commands.run('echo copy')).stdout, 'copy\n')
	},
	'network.rules': async (c) => {
		c.needs((await c.shell()).updateNetwork)
		const sbx = await c.create({ network: { denyOut: ['192.0.2.0/24'] } })
		const refused = 'timeout 5 bash -c "</dev/tcp/192.0.2.1/80" 2>/dev/null || echo refused'
		assert.equal((await sbx.commands.run(refused)).stdout, 'refused\n')
		await sbx.updateNetwork({ denyOut: ['198.51.100.0/24'], allowOut: ['198.51.100.7'] })
		assert.equal((await sbx.commands.run('echo up')).stdout, 'up\n')
	},
	'template.build': async (c) => {
		c.needs(c.core.Template?.build)
		const name = `compat-${process.pid}`
		await c.core.Template.build(
			c.core.Template().fromTemplate('base').runCmd('echo made > /home/user/made'),
			{ alias: name },
		)
		const sbx = await c.create({}, c.core, name)
		assert.equal(await sbx.files.read('made'), 'made\n')
	},
	'volume.create': async (c) => {
		c.needs(c.core.Volume?.create)
		const volume = await c.core.Volume.create(`compat-${process.pid}`)
		const at = { apiUrl: process.env.E2B_API_URL }
		try {
			await volume.writeFile('/made', 'made\n', at)
			assert.equal(await volume.readFile('/made', at), 'made\n')
		} finally {
			await c.core.Volume.destroy(volume.volumeId)
		}
	},
}
