// SPDX-License-Identifier: Apache-2.0
// Networks that are made before their sandbox: nobody can tell them from fresh ones, none is used twice, and nothing of
// them is left.
import { after, afterEach, before, test } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { execFileSync } from 'node:child_process'
import { addressOf, api, createRaw, killRaw, server, shell } from '../../lib/client.mjs'
import { newServer } from '../../lib/server.mjs'
import { alive, childrenOf, commOf, initOf, linksOf, openOf, preparedOf, traceOf, until } from '../../lib/host.mjs'

const STORE = 4
let own, opt

before(async () => {
	own = await newServer(server.buildDir, { prepared_networks: STORE, warm_pool_size: 0 }).start()
	opt = { base: own.url, key: own.key }
})

after(async () => {
	const end = await own.stop()
	assert.ok(end.clean, JSON.stringify(end.left))
})

const live = new Set()

async function create(body = {}) {
	const sbx = await createRaw({ timeout: 600, ...body }, opt)
	live.add(sbx)
	return sbx
}

async function kill(sbx) {
	live.delete(sbx)
	assert.equal((await killRaw(sbx, opt)).status, 204)
}

afterEach(() => Promise.all([...live].map(kill)))

// The link, the slot and the host's pid of pid 1.
async function placeOf(sbx) {
	const trace = traceOf(own.slot, await addressOf(sbx, own.url))
	return { ...trace, pid: initOf(trace) }
}

// The links that no sandbox has, once there are so many and no others.
async function waiting(n, taken = []) {
	const links = () => linksOf(own.slot).filter((name) => !taken.includes(name))
	assert.ok(
		await until(() => links().length === n && preparedOf(own.pid) === n, 30000),
		`${links()} wait, not ${n}`,
	)
	return links()
}

async function fill() {
	for (let i = 0; i < STORE / 2; i++) await kill(await create())
	return waiting(STORE)
}

const sh = (...argv) => execFileSync(argv[0], argv.slice(1), { encoding: 'utf8' })

const firstUid = (place) => 0x10000000 + own.slot * 0x08000000 + (place + 1) * 65536

// What differs between any two sandboxes: addresses, MACs, uids, and the number of the host's end.
const plain = (text, { place, link }) =>
	text
		.replaceAll(String(firstUid(place)), 'FIRST')
		.replaceAll(String(firstUid(place) + 65535), 'LAST')
		.replace(/^ +0 +(\d+) +65536$/gm, (line, first) =>
			Number(first) === (place + 1) * 65536 ? 'MAP' : line,
		)
		.replaceAll(`10.${200 + own.slot}.${(place + 256) >> 8}.${place & 255}`, 'ADDRESS')
		.replace(/02:a7:(\w\w):0([01]):\w\w:\w\w/g, '02:a7:$1:0$2:SLOT')
		.replace(/@if\d+|link-netnsid \d+/g, 'PEER')
		.replace(/\b(preferred_lft|valid_lft) \S+/g, '')
		.replaceAll(link, 'LINK')

const OWNERS = `
import fcntl, json, os, sys
USERNS, PARENT, OWNER = 0xb701, 0xb702, 0xb704
pid = sys.argv[1]
ns = lambda of, name: os.open(f"/proc/{of}/ns/{name}", os.O_RDONLY)
ino = lambda fd: os.fstat(fd).st_ino
user = ns(pid, "user")
uid = bytearray(4)
fcntl.ioctl(user, OWNER, uid)
print(json.dumps({
	"owned by its user namespace": {n: ino(fcntl.ioctl(ns(pid, n), USERNS)) == ino(user) for n in
		("net", "mnt", "pid", "ipc", "uts", "cgroup")},
	"below Z": any(ino(fcntl.ioctl(user, PARENT)) == ino(ns(z, "user")) for z in sys.argv[2:]),
	"owner": int.from_bytes(uid, "little"),
}))`

function holders() {
	const dir = path.join(own.runDir, 'holders')
	return fs
		.readdirSync(dir)
		.filter((name) => /^[0-9a-f]{32}$/.test(name))
		.map((name) => Number(fs.readFileSync(path.join(dir, name), 'utf8').split(' ')[0]))
		.filter(alive)
}

// As the host sees its namespaces.
function outside(place) {
	const { pid, link } = place
	const net = (command) => plain(sh('nsenter', `--net=/proc/${pid}/ns/net`, 'sh', '-c', command), place)
	const owners = JSON.parse(sh('python3', '-c', OWNERS, String(pid), ...holders().map(String)))
	owners.owner -= place.place
	return {
		owners,
		maps: ['uid_map', 'gid_map', 'setgroups', 'limits'].map((f) =>
			plain(sh('cat', `/proc/${pid}/${f}`), place),
		),
		links: net('ip -d link show'),
		addresses: net('ip addr show'),
		routes: net('ip -N route show table all; ip -6 -N route show table all; ip rule; ip -6 rule'),
		neighbours: net('ip neigh show'),
		rest: net(
			'ip netns list-id; ip mroute; ip xfrm state; ip tunnel; tc qdisc; nft list ruleset; ' +
				'cat /proc/net/packet',
		),
		groups: net('cut -d" " -f1-3 /proc/net/dev_mcast; ip maddress'),
		sysctls: net(
			'cd /proc/sys/net; find . -type f | sort | while read f; do echo "$f $(cat $f 2>&1)"; done',
		),
		modes: net('cd /proc/sys/net; find . -printf "%p %m\\n" | sort'),
		host: plain(
			sh(
				'sh',
				'-c',
				`ip -d link show ${link}; ip addr show ${link}; ip route show dev ${link}; ` +
					`ip neigh show dev ${link}; ` +
					`grep -rs . /proc/sys/net/ipv?/conf/${link} ` +
					`/proc/sys/net/ipv?/neigh/${link}; true`,
			),
			place,
		).replace(/^\d+: |\blink-netnsid \d+|expires.*/gm, ''),
	}
}

// As root inside sees them.
async function inside(sbx, place) {
	const { stdout } = await shell(
		sbx,
		'cd /proc/sys; find net user -printf "%p %m %u %g\\n" | sort; ' +
			'find net user -type f | sort | while read f; do echo "$f $(cat $f 2>&1)"; done; ' +
			'stat -c "%n %a %u %g" /proc/net/* /sys/class/net/*/*; cat /proc/1/uid_map /proc/1/gid_map; ' +
			'cat /proc/net/if_inet6 /proc/net/route /proc/net/ipv6_route /proc/net/igmp6 /proc/net/arp; ' +
			'cut -d: -f1 /proc/net/dev; ulimit -a; ulimit -Ha',
		{ user: 'root', base: own.url },
	)
	assert.ok(stdout.length > 10000, stdout)
	return plain(stdout, place).split('\n')
}

test('a sandbox with a prepared network cannot be told from one with a fresh one, inside or outside', async () => {
	assert.deepEqual(linksOf(own.slot), [])
	const fresh = await create()
	const a = await placeOf(fresh)
	const ready = await waiting(2, [a.link])
	const prepared = await create()
	const b = await placeOf(prepared)
	assert.ok(ready.includes(b.link), `${b.link} is none of ${ready}`)
	const [outA, outB] = [outside(a), outside(b)]
	assert.deepEqual(outB, outA)
	assert.ok(Object.values(outA.owners['owned by its user namespace']).every(Boolean))
	assert.ok(outA.owners['below Z'])
	const [inA, inB] = [await inside(fresh, a), await inside(prepared, b)]
	assert.deepEqual(
		inB.filter((line) => !inA.includes(line)),
		inA.filter((line) => !inB.includes(line)),
	)
	assert.equal(inA.length, inB.length)
	await kill(fresh)
	await kill(prepared)
})

test('nothing is in a network that waits', async () => {
	await fill()
	const held = new Set(openOf(own.pid).filter((to) => to.startsWith('net:')))
	for (const pid of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
		let its
		try {
			its = fs.readlinkSync(`/proc/${pid}/ns/net`)
		} catch {
			continue // it has ended
		}
		assert.ok(!held.has(its) || its === fs.readlinkSync(`/proc/${own.pid}/ns/net`), `${pid} is in ${its}`)
	}
})

test('more at once than are prepared: each has a network of its own, and the store fills again', async () => {
	await fill()
	const all = await Promise.all(Array.from({ length: 3 * STORE }, () => create()))
	const places = await Promise.all(all.map(placeOf))
	const nets = places.map(({ pid }) => fs.readlinkSync(`/proc/${pid}/ns/net`))
	assert.equal(new Set(nets).size, all.length)
	assert.equal(new Set(places.map(({ link }) => link)).size, all.length)
	for (const sbx of all)
		assert.match(
			(await shell(sbx, 'ip route 2>/dev/null || cat /proc/net/route', { base: own.url })).stdout,
			/eth0/,
		)
	await waiting(
		STORE,
		places.map(({ link }) => link),
	)
	await Promise.all(all.map(kill))
	await waiting(STORE)
})

test('a start that fails uses its network up', async () => {
	const ready = await fill()
	const { json: volume, status } = await api('POST', '/volumes', { name: 'late' }, opt)
	assert.equal(status, 201)
	const refused = await api(
		'POST',
		'/sandboxes',
		{ templateID: 'base', volumeMounts: [{ name: volume.name, path: '/etc/passwd' }] },
		opt,
	)
	assert.ok(refused.status >= 400, `${refused.status}`)
	const old = () => linksOf(own.slot).filter((link) => ready.includes(link)).length
	assert.ok(await until(() => linksOf(own.slot).length === STORE && old() === STORE - 1, 30000), `${ready}`)
	assert.equal((await api('DELETE', `/volumes/${volume.volumeID}`, undefined, opt)).status, 204)
})

test('without internet and with rules: a prepared network is bound as a fresh one is', async () => {
	const ready = await fill()
	const sbx = await create({ allow_internet_access: false })
	const { link } = await placeOf(sbx)
	assert.ok(ready.includes(link))
	assert.match(sh('nft', 'list', 'set', 'inet', `atoll${own.slot}`, 'silent'), new RegExp(`"${link}"`))
	await kill(sbx)
	assert.ok(await until(() => !sh('nft', 'list', 'set', 'inet', `atoll${own.slot}`, 'silent').includes(link)))
	const ruled = await create({ network: { denyOut: ['8.8.8.8'] } })
	const place = await placeOf(ruled)
	assert.match(sh('nft', 'list', 'map', 'inet', `atoll${own.slot}`, 'ruled'), new RegExp(`"${place.link}"`))
	await kill(ruled)
})

test('the process that prepares them is killed: starts go on, and it is replaced', async () => {
	await fill()
	const preparer = () => childrenOf(own.pid).find((pid) => commOf(pid) === 'atoll-pairs')
	const first = preparer()
	process.kill(first, 'SIGKILL')
	const all = await Promise.all(Array.from({ length: STORE + 1 }, () => create()))
	await Promise.all(all.map(kill))
	assert.ok(await until(() => preparer() && preparer() !== first, 30000), 'there is another')
	await waiting(STORE)
})

test('the holder of the template is killed: the networks below it are not used any more', async () => {
	const ready = await fill()
	const old = holders()
	for (const pid of old) process.kill(pid, 'SIGKILL')
	assert.ok(await until(() => !old.some(alive), 30000))
	const sbx = await create()
	const place = await placeOf(sbx)
	assert.ok(outside(place).owners['below Z'], 'it is below the new holder')
	assert.match((await shell(sbx, 'echo works', { base: own.url })).stdout, /works/)
	assert.ok(ready.includes(place.link), 'it has the slot all the same')
	await kill(sbx)
})

test('the warden is killed: the networks are gone with it, sandboxes keep theirs', async () => {
	await fill()
	const sbx = await create()
	const { link, pid } = await placeOf(sbx)
	own.signal('SIGKILL')
	await own.exited
	assert.ok(await until(() => linksOf(own.slot).length === 1, 30000), `${linksOf(own.slot)}`)
	assert.deepEqual(linksOf(own.slot), [link])
	await own.start()
	opt = { base: own.url, key: own.key }
	assert.equal((await placeOf(sbx)).pid, pid)
	await kill(sbx)
	await fill()
})

test('0 turns it off', async () => {
	const none = await newServer(server.buildDir, { prepared_networks: 0, warm_pool_size: 0 }).start()
	try {
		const sbx = await createRaw({ timeout: 60 }, { base: none.url, key: none.key })
		assert.equal(linksOf(none.slot).length, 1)
		assert.equal(childrenOf(none.pid).filter((pid) => commOf(pid) === 'atoll-pairs').length, 0)
		await killRaw(sbx, { base: none.url, key: none.key })
	} finally {
		const end = await none.stop()
		assert.ok(end.clean, JSON.stringify(end.left))
	}
})
