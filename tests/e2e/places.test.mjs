// SPDX-License-Identifier: Apache-2.0
// Sandboxes in places beyond the first 2000, whose user ids are in areas that the servers of a machine share.
import { test, before, after } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { addressOf, api, createRaw, envd, killRaw, server, shell } from '../lib/client.mjs'
import { built } from '../ckpt/drive.mjs'
import { alive, areasOf, childrenOf, fdsOf, nameOf, traceOf, until } from '../lib/host.mjs'
import { newServer, tail } from '../lib/server.mjs'

const HOME = 2000
const tools = built('tools')
const noDisk = tools.why && `CRIU is not there: ${tools.why}`
let own, opt

// Its first sandbox gets the last place of the home, so the next ones are beyond it.
before(async () => {
	own = await newServer(
		server.buildDir,
		{ max_sandboxes: 2100, pool_size_mb: 512, on_stop: 'keep' },
		{ args: ['--first-place', String(HOME - 1)] },
	).start()
	opt = { base: own.url, key: own.key }
})

after(async () => {
	for (const { sandboxID } of (await api('GET', '/sandboxes', undefined, opt)).json)
		await killRaw({ sandboxID }, opt)
	const end = await own.stop()
	assert.ok(end.clean, JSON.stringify(end.left))
	assert.deepEqual(areasOf(own.slot), [], 'the areas are free again')
})

const create = (body = {}) => createRaw({ timeout: 600, ...body }, opt)
const run = async (sbx, command) => {
	const got = await shell(sbx, command, { base: own.url, user: 'root' })
	assert.equal(got.code, 0, JSON.stringify(got))
	return got.stdout.trim()
}
const whereIs = async (sbx) => traceOf(own.slot, await addressOf(sbx, own.url))
const uidsOf = (pids) =>
	pids.map((pid) => Number(/^Uid:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]))

// One in the home, and one beyond.
async function two(body) {
	const pair = [await create(body), await create(body)]
	let at = await Promise.all(pair.map(whereIs))
	for (; at[1].place < HOME; at[1] = await whereIs(pair[1])) {
		await killRaw(pair[1], opt)
		pair[1] = await create(body)
	}
	return { near: pair[0], far: pair[1], at: at[1] }
}

test('a far sandbox has user ids of an area of its server, and works as any other', async () => {
	const { near, far, at } = await two()
	assert.deepEqual(areasOf(own.slot).length, 1)
	assert.ok(at.place >= HOME && at.pids.length > 0)
	for (const uid of uidsOf(at.pids)) assert.ok(uid >= 0x90000000, `${uid}`)
	assert.equal(await run(far, 'id -u; echo x > /tmp/f; chown 1000 /tmp/f; stat -c %u /tmp/f'), '0\n1000')
	assert.equal(await run(far, 'cat /proc/self/uid_map | wc -l'), '1')
	assert.equal(await run(far, 'touch /root/of-root && echo made'), 'made')
	// its network is its own, and the firewall knows its address
	assert.equal(await run(far, 'ip route | grep -c default'), '1')
	assert.notEqual((await shell(far, `ping -c1 -W1 ${await addressOf(near, own.url)}`, { base: own.url })).code, 0)
	assert.equal(await run(far, `getent hosts localhost | wc -l`), '1')
	await killRaw(near, opt)
	await killRaw(far, opt)
	assert.ok(await until(() => at.pids.every((pid) => !alive(pid)), 30000))
})

test('a far sandbox is paused, resumed, saved and forked', { skip: noDisk }, async () => {
	const { near, far } = await two()
	await run(far, 'echo kept > /tmp/f; mkdir /dev/mine; echo d > /dev/mine/d; chown -R 1000 /dev/mine')
	assert.equal((await api('POST', `/sandboxes/${far.sandboxID}/pause`, undefined, opt)).status, 204)
	assert.equal((await api('POST', `/sandboxes/${far.sandboxID}/resume`, { timeout: 600 }, opt)).status, 201)
	assert.equal(await run(far, 'cat /tmp/f'), 'kept')
	const saved = await api('POST', `/sandboxes/${far.sandboxID}/snapshots`, {}, opt)
	assert.equal(saved.status, 201, saved.text)
	assert.ok(saved.json.memory)
	const copy = await create({ templateID: saved.json.snapshotID })
	assert.equal(await run(copy, 'cat /tmp/f /dev/mine/d; stat -c %u /dev/mine/d'), 'kept\nd\n1000')
	assert.notEqual((await whereIs(copy)).place, (await whereIs(far)).place)
	for (const sbx of [near, far, copy]) await killRaw(sbx, opt)
})

test('it outlives its daemons, with its place', async () => {
	const { near, far, at } = await two()
	const areas = areasOf(own.slot)
	const front = childrenOf(own.pid).find((pid) => nameOf(pid) === 'atoll-front')
	process.kill(front, 'SIGKILL')
	assert.ok(
		await until(
			async () => (await envd(far, 'GET', '/health', undefined, { base: own.url })).status === 204,
		),
	)
	own.signal('SIGKILL')
	await own.exited
	assert.deepEqual(areasOf(own.slot), areas, 'they stay while sandboxes live')
	await own.start()
	opt = { base: own.url, key: own.key }
	assert.deepEqual(areasOf(own.slot), areas)
	const { pids, ...now } = await whereIs(far)
	const { pids: were, ...then } = at
	assert.deepEqual(now, then, 'the same place')
	assert.deepEqual(
		were.filter((pid) => !pids.includes(pid)),
		[],
		'the same processes; its interpreter may have come later',
	)
	assert.equal(await run(far, 'echo on'), 'on')
	const more = await two()
	for (const sbx of [near, far, more.near, more.far]) await killRaw(sbx, opt)
})

test('what the warden keeps for a sandbox is out of the way of its children', async () => {
	const { near, far } = await two()
	const links = fs.readdirSync(`/proc/${own.pid}/fd`).map(Number)
	assert.ok(links.filter((fd) => fd >= 4096).length >= 2, 'a descriptor of each')
	const n = fdsOf(own.pid)
	for (const sbx of [near, far]) await killRaw(sbx, opt)
	assert.ok(await until(() => fdsOf(own.pid) <= n - 2, 30000))
})

test('a server that cannot have its places says so', async () => {
	const others = []
	try {
		for (let i = 0; i < 4; i++) {
			const one = newServer(server.buildDir, { max_sandboxes: 10000, pool_size_mb: 256 })
			try {
				others.push(await one.start())
			} catch (err) {
				one.discard()
				assert.match(err.message, /max_sandboxes = 10000 needs 6 areas of user ids/)
				assert.match(err.message, /lower it to \d+, or stop one of them/)
				return
			}
		}
		assert.fail(`three servers of 10000 cannot fit: ${tail(others.at(-1).log)}`)
	} finally {
		for (const one of others) await one.stop()
	}
})
