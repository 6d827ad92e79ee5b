// SPDX-License-Identifier: Apache-2.0
// Runs attempts.py inside, as user and as root: every attempt must fail, some with one exact error.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { runAny, sdk } from '../lib/client.mjs'

const HERE = path.dirname(fileURLToPath(import.meta.url))

const EXACT = {
	'io_uring_setup': 'ENOSYS', 'clone3': 'ENOSYS',
	'AF_VSOCK': 'EAFNOSUPPORT', 'AF_ALG': 'EAFNOSUPPORT', 'AF_PACKET': 'EAFNOSUPPORT', 'AF_KEY': 'EAFNOSUPPORT', 'AF_BLUETOOTH': 'EAFNOSUPPORT',
	'AF_CAN': 'EAFNOSUPPORT', 'AF_XDP': 'EAFNOSUPPORT', 'AF_TIPC': 'EAFNOSUPPORT', 'AF_RDS': 'EAFNOSUPPORT',
	'NETLINK_AUDIT': 'EAFNOSUPPORT', 'NETLINK_NETFILTER': 'EAFNOSUPPORT', 'NETLINK_XFRM': 'EAFNOSUPPORT',
}

// What root of the sandbox may do because it concerns only its own sandbox.
const ROOT_MAY = new Set(['write /proc/1/oom_score_adj'])
const USER_MAY = new Set([])

let sbx

before(async () => {
	sbx = await sdk().Sandbox.create('base', { timeoutMs: 300000 })
	await sbx.files.write('/tmp/attempts.py', fs.readFileSync(path.join(HERE, 'attempts.py'), 'utf8'))
})
after(() => sbx?.kill())

for (const user of ['user', 'root']) {
	test(`every attempt fails as ${user}`, async () => {
		const got = await runAny(sbx, 'python3 /tmp/attempts.py', { user })
		const rows = got.stdout.trim().split('\n').map((line) => JSON.parse(line))
		assert.equal(got.exitCode, 0, got.stderr)
		assert.ok(rows.length > 115, `only ${rows.length} attempts`)
		const may = user === 'root' ? ROOT_MAY : USER_MAY
		const won = rows.filter((r) => r.result >= 0 && !may.has(r.name)).map((r) => r.name)
		assert.deepEqual(won, [])
		const other = rows.filter((r) => EXACT[r.name] && r.result < 0 && r.errno !== EXACT[r.name]).map((r) => `${r.name}: ${r.errno}, want ${EXACT[r.name]}`)
		assert.deepEqual(other, [])
	})
}

test('the sandbox is whole after all of them', async () => {
	assert.equal((await sbx.commands.run('echo whole; hostname')).stdout, 'whole\ne2b.local\n')
})

const SHELL = [
	'mount -t tmpfs none /mnt', 'unshare -U true', 'unshare -Ur true', 'unshare -n true', 'ip link del eth0', 'ip link add dummy0 type dummy',
	'tc qdisc add dev eth0 root tbf rate 1kbit burst 1k latency 1s', 'nsenter -t 1 -n true', 'chattr +i /etc/passwd', 'swapon -a /etc/passwd', 'date -s 2001-01-01', 'dmesg',
	'echo c > /proc/sysrq-trigger', 'modprobe dummy', 'insmod /tmp/x.ko', 'losetup -f', 'mknod /tmp/sda b 8 0',
]
for (const cmd of SHELL) {
	test(`root's \`${cmd}\` is refused`, async () => {
		const got = await runAny(sbx, cmd, { user: 'root' })
		assert.notEqual(got.exitCode, 0, got.stdout)
	})
}

test('setuid programs gain root of the sandbox only', async () => {
	const got = await sbx.commands.run('sudo cat /proc/self/uid_map')
	const [inside, outside, count] = got.stdout.trim().split(/\s+/).map(Number)
	assert.equal(inside, 0)
	assert.notEqual(outside, 0)
	assert.ok(count <= 65536)
})
