// SPDX-License-Identifier: Apache-2.0
// What a template should be on disk: one tree as a plain directory, as an erofs image, and as one with lz4 inside. For
// each a server of its own whose sandboxes have it as their lower layer: how long it takes to make, how much it takes,
// how fast sandboxes are made and run on it.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { execFileSync, spawnSync } from 'node:child_process'
import { newServer } from '../tests/lib/server.mjs'
import { timed } from './measure.mjs'

const CONFIG = { log_level: 'warn', warm_pool_size: 0, pool_size_mb: 2048 }

// Run inside, by root: microseconds of each, with nothing in memory and then at its best of two.
const SCRIPT = `
now() { date +%s%N; }
clock() { local name=$1 t; shift; t=$(now); "$@" >/dev/null 2>&1; echo "$name $(( ($(now) - t) / 1000 ))"; }
ops() {
	clock "$1.find" find /usr -xdev
	clock "$1.python" python3 -c pass
	clock "$1.import" python3 -c 'import IPython, json, asyncio, email, http.client'
	clock "$1.node" node -e 0
	clock "$1.read" sh -c 'tar -C / -cf - usr | cat'
}
ops first; ops again; ops again`

const run = (cmd, args) => execFileSync(cmd, args, { stdio: ['ignore', 'ignore', 'pipe'], maxBuffer: 64 << 20 })

// bench/run gives us a mount namespace of our own, so what is mounted here is nobody else's, and gone with us.
// form: makes cache/templates/KEY/rootfs out of the tree; returns the bytes that it takes.
const forms = {
	directory: (tree, at) => {
		run('cp', ['-a', tree, `${at}/rootfs`])
		return Number(
			execFileSync('du', ['-s', '--block-size=1', `${at}/rootfs`], { encoding: 'utf8' }).split(
				'\t',
			)[0],
		)
	},
	erofs: (tree, at) => image(tree, at, []),
	'erofs, lz4': (tree, at) => image(tree, at, ['-zlz4']),
}

function image(tree, at, more) {
	run('mkfs.erofs', ['--quiet', ...more, `${at}/image`, tree])
	fs.mkdirSync(`${at}/rootfs`)
	run('mount', ['-t', 'erofs', '-o', 'ro,loop', `${at}/image`, `${at}/rootfs`])
	return fs.statSync(`${at}/image`).blocks * 512
}

// The other templates that a server wants to see, as they are.
function borrow(from, to, key) {
	for (const other of fs.readdirSync(from)) {
		const info = path.join(from, other, 'info')
		if (other === key || !fs.existsSync(info) || !fs.readFileSync(info, 'utf8').startsWith('name='))
			continue
		fs.mkdirSync(path.join(to, other))
		run('mount', ['--bind', path.join(from, other), path.join(to, other)])
	}
}

// Nothing is removed through a mount.
function remove(dir) {
	const mounts = fs
		.readFileSync('/proc/self/mountinfo', 'utf8')
		.split('\n')
		.map((l) => l.split(' ')[4])
		.filter((m) => m?.startsWith(`${dir}/`))
	if (mounts.length && spawnSync('umount', ['--lazy', ...mounts]).status !== 0) return false
	fs.rmSync(dir, { recursive: true, force: true })
	return true
}

const cold = () => {
	execFileSync('sync')
	fs.writeFileSync('/proc/sys/vm/drop_caches', '3')
}

const median = (v) => [...v].sort((a, b) => a - b)[v.length >> 1]

async function inside(server, Sandbox, into) {
	cold()
	const sbx = await Sandbox.create('base', { ...client(server), timeoutMs: 600000 })
	const best = {}
	for (const [, name, us] of (
		await sbx.commands.run(SCRIPT, { user: 'root', timeoutMs: 600000 })
	).stdout.matchAll(/^(\S+) (\d+)$/gm))
		best[name] = Math.min(best[name] ?? Infinity, Number(us) / 1000)
	await sbx.kill()
	for (const [name, ms] of Object.entries(best)) (into[name] ??= []).push(ms)
}

const client = (server) => ({ apiKey: server.key, apiUrl: server.url, sandboxUrl: server.url })

// By turns, so that whatever else the machine does meets all of them alike.
async function measure(servers, Sandbox, quick) {
	const samples = Object.fromEntries(Object.keys(servers).map((name) => [name, { create: [] }]))
	for (let i = 0; i < (quick ? 10 : 50); i++) {
		for (const [name, server] of Object.entries(servers)) {
			let sbx
			samples[name].create.push(
				await timed(async () => {
					sbx = await Sandbox.create('base', client(server))
				}),
			)
			await sbx.kill()
		}
	}
	for (let i = 0; i < (quick ? 3 : 7); i++) {
		for (const [name, server] of Object.entries(servers)) await inside(server, Sandbox, samples[name])
	}
	return Object.fromEntries(
		Object.entries(samples).map(([name, s]) => [
			name,
			Object.fromEntries(Object.entries(s).map(([k, v]) => [k, median(v)])),
		]),
	)
}

export function cannotForm() {
	if (spawnSync('mkfs.erofs', ['--version']).error) return 'mkfs.erofs is not installed (erofs-utils)'
	return fs.readFileSync('/proc/filesystems', 'utf8').includes('erofs') ? null : 'this kernel has no erofs'
}

function prepare(name, make, rootfs, dir) {
	const template = path.dirname(rootfs),
		key = path.basename(template)
	const cache = path.join(dir, name.replace(/\W+/g, '-')),
		at = path.join(cache, 'templates', key)
	fs.mkdirSync(at, { recursive: true, mode: 0o700 })
	fs.copyFileSync(path.join(template, 'info'), path.join(at, 'info'))
	borrow(path.dirname(template), path.dirname(at), key)
	const began = performance.now()
	const bytes = make(rootfs, at)
	return { cache, bytes, made: performance.now() - began }
}

export async function compareForms(buildDir, rootfs, Sandbox, quick) {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-bench-forms-'))
	const servers = {},
		made = {}
	let clean = true,
		measured
	try {
		for (const [name, make] of Object.entries(forms)) {
			made[name] = prepare(name, make, rootfs, dir)
			servers[name] = await newServer(buildDir, CONFIG, {
				env: { ATOLL_CACHE: made[name].cache },
			}).start()
		}
		measured = await measure(servers, Sandbox, quick)
	} finally {
		for (const server of Object.values(servers)) clean = (await server.stop()).clean && clean
		clean = remove(dir) && clean
	}
	return {
		forms: Object.fromEntries(
			Object.keys(forms).map((n) => [
				n,
				{ bytes: made[n].bytes, made: made[n].made, ...measured[n] },
			]),
		),
		clean,
	}
}
