// SPDX-License-Identifier: Apache-2.0
// What a sandbox of gVisor may do with its own kernel if it asks for it: Docker with a registry, and FUSE mounts.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { api, createRaw, envd, killRaw, server, shell } from '../lib/client.mjs'
import { newServer } from '../lib/server.mjs'

const RUNSC = path.join(process.env.ATOLL_CACHE ?? '/var/cache/atoll', 'engines/gvisor/runsc')
const noEngine = !fs.existsSync(RUNSC) && 'GVISOR IS NOT TESTED: atoll engine install gvisor'
const noApt = spawnSync('apt-get', ['-qq', 'download', '--print-uris', 'hello']).status !== 0 && 'no Debian mirror'
const skip = noEngine || noApt
const root = { user: 'root' }
let own, opt

before(async () => {
	if (skip) return
	own = newServer(server.buildDir, {
		pool_size_mb: 2048,
		pool_max_mb: 4096,
		max_sandboxes: 8,
		default_memory_mb: 2048,
		max_memory_mb: 2048,
	})
	await own.start()
	opt = { base: own.url, key: own.key }
})
after(async () => {
	const end = await own?.stop()
	assert.ok(!end || end.clean, JSON.stringify(end?.left))
})

const asked = (needs) => ({ templateID: 'base', engine: 'gvisor', timeout: 900, needs })
async function run(sbx, command) {
	const got = await shell(sbx, command, { ...opt, ...root })
	assert.equal(got.code, 0, `${command}: ${got.stderr}${got.stdout}`)
	return got.stdout.trim()
}
const install = (sbx, ...packages) =>
	run(
		sbx,
		`export DEBIAN_FRONTEND=noninteractive; (apt-get update -qq && apt-get install -y -qq ` +
			`--no-install-recommends ${packages.join(' ')}) >/tmp/apt.log 2>&1 || ` +
			'{ cat /tmp/apt.log; exit 1; }',
	)
async function put(sbx, name, bytes) {
	const got = await envd(sbx, 'POST', `/files?path=${name}&username=root`, bytes, {
		...opt,
		headers: { 'Content-Type': 'application/octet-stream' },
	})
	assert.equal(got.status, 200)
}

test('needs are names of the engine, and no power over the kernel of the host', async () => {
	for (const [body, want] of [
		[
			{ engine: 'namespaces', needs: ['docker'] },
			/requires the engine 'gvisor', and this sandbox has 'namespaces'/,
		],
		[{ needs: ['fuse'] }, /requires the engine 'gvisor'/],
		[{ needs: 'docker' }, /must be a list/],
		[{ needs: ['kvm'] }, /must list 'docker' or 'fuse'/],
		[{ needs: [1] }, /must list 'docker' or 'fuse'/],
	]) {
		const no = await api('POST', '/sandboxes', { templateID: 'base', ...body })
		assert.equal(no.status, 400)
		assert.match(no.json.message, want)
	}
	const none = await createRaw({ needs: [] })
	assert.equal((await api('GET', `/sandboxes/${none.sandboxID}`)).json.needs, undefined)
	await killRaw(none)
})

test('a sandbox that has not asked cannot mount', { skip }, async () => {
	const sbx = await createRaw(asked([]), opt)
	const no = await shell(sbx, 'mount -t tmpfs tmpfs /mnt', { ...opt, ...root })
	assert.notEqual(no.code, 0)
	assert.match(await run(sbx, 'grep CapBnd /proc/self/status'), /00000000a00405fb$/)
	await killRaw(sbx, opt)
})

// A static program, as the only file of an image.
function image() {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-image-'))
	fs.writeFileSync(path.join(dir, 'hello.c'), '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n')
	for (const argv of [
		['gcc', '-static', '-O1', '-o', 'hello', 'hello.c'],
		['tar', 'cf', 'hello.tar', 'hello'],
	])
		assert.equal(spawnSync(argv[0], argv.slice(1), { cwd: dir }).status, 0)
	const bytes = fs.readFileSync(path.join(dir, 'hello.tar'))
	fs.rmSync(dir, { recursive: true })
	return bytes
}

const REGISTRY = `version: 0.1
storage: {filesystem: {rootdirectory: /var/tmp/registry}}
http: {addr: 127.0.0.1:5000}
`

test('Docker runs an image from a registry inside', { skip, timeout: 240000 }, async () => {
	const sbx = await createRaw(asked(['docker']), opt)
	assert.deepEqual((await api('GET', `/sandboxes/${sbx.sandboxID}`, undefined, opt)).json.needs, ['docker'])
	await install(sbx, 'docker.io', 'docker-cli', 'docker-registry')
	await put(sbx, '/tmp/hello.tar', image())
	await put(sbx, '/tmp/registry.yml', Buffer.from(REGISTRY))
	await run(sbx, 'setsid -f docker-registry serve /tmp/registry.yml >/tmp/registry.log 2>&1')
	await run(sbx, 'setsid -f dockerd --iptables=false --ip6tables=false >/tmp/dockerd.log 2>&1')
	await run(
		sbx,
		'for i in $(seq 200); do docker version >/dev/null 2>&1 && exit; sleep 0.1; done; ' +
			'cat /tmp/dockerd.log; exit 1',
	)
	assert.equal(await run(sbx, 'docker info -f "{{.Driver}}" 2>/dev/null'), 'overlay2')
	const ref = '127.0.0.1:5000/hello:1'
	await run(sbx, `docker import /tmp/hello.tar ${ref} && docker push -q ${ref} && docker rmi -f ${ref}`)
	for (const network of ['none', 'bridge', 'host'])
		assert.equal(await run(sbx, `docker run --rm --network ${network} ${ref} /hello 2>/dev/null`), 'hello')
	await run(sbx, `mkdir /tmp/b && printf 'FROM ${ref}\\nRUN ["/hello"]\\n' >/tmp/b/Dockerfile`)
	await run(sbx, 'DOCKER_BUILDKIT=0 docker build -q /tmp/b')
	// The powers are over its own kernel: init keeps its secrets, and the link its address.
	for (const file of ['environ', 'maps', 'mem'])
		assert.notEqual((await shell(sbx, `head -c 1 /proc/1/${file}`, { ...opt, ...root })).code, 0)
	await killRaw(sbx, opt)
})

test('a FUSE file system is mounted, written and read', { skip, timeout: 240000 }, async () => {
	const sbx = await createRaw(asked(['fuse']), opt)
	await install(sbx, 'sshfs', 'openssh-server', 'openssh-client')
	await run(
		sbx,
		'mkdir -p /run/sshd /root/.ssh /tmp/far /tmp/near && ' +
			"ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519 && " +
			'cp /root/.ssh/id_ed25519.pub /root/.ssh/authorized_keys && /usr/sbin/sshd -p 2222',
	)
	await run(sbx, 'sshfs -o StrictHostKeyChecking=no -p 2222 root@127.0.0.1:/tmp/far /tmp/near 2>/tmp/sshfs.log')
	assert.match(await run(sbx, 'grep /tmp/near /proc/mounts'), /fuse/)
	await run(sbx, 'seq 1000000 >/tmp/seq && cp /tmp/seq /tmp/near/seq && cmp /tmp/seq /tmp/near/seq')
	await run(sbx, 'cmp /tmp/seq /tmp/far/seq')
	assert.equal(await run(sbx, 'ls /tmp/near'), 'seq')
	await run(sbx, 'mv /tmp/near/seq /tmp/near/moved && rm /tmp/near/moved && umount /tmp/near')
	await killRaw(sbx, opt)
})
