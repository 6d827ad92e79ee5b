// SPDX-License-Identifier: Apache-2.0
// An image from a registry on loopback until it can be used: atoll-pull, and skopeo with umoci for the same image.
import crypto from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { execFileSync } from 'node:child_process'
import { Registry, makeImage, missing } from '../tests/lib/registry.mjs'
import { tarOf } from '../tests/lib/tar.mjs'
import { stats } from './measure.mjs'

const LAYERS = 4
const SMALL = 1000 // small files per layer; the rest are of 1 MiB

// Half of every file is noise, half repeats itself: gzip makes some 55% of it, as of the usual image.
function content(n) {
	const noise = crypto.randomBytes(n / 2)
	return Buffer.concat([noise, Buffer.alloc(n - noise.length, 'what repeats itself ')])
}

function makeLayer(file, layer, bytes) {
	const out = fs.openSync(file, 'w')
	for (let i = 0; i < SMALL; i++)
		fs.writeSync(
			out,
			tarOf([{ name: `l${layer}/small/${i % 20}/f${i}`, data: content(4096) }], { end: false }),
		)
	for (let done = SMALL * 4096; done < bytes; done += 1 << 20)
		fs.writeSync(out, tarOf([{ name: `l${layer}/big/${done}`, data: content(1 << 20) }], { end: false }))
	fs.writeSync(out, Buffer.alloc(1024))
	fs.closeSync(out)
}

function timed(fn) {
	const began = performance.now()
	fn()
	return (performance.now() - began) / 1000
}

export async function images(buildDir, bytes, rounds) {
	if (missing.length) return { skipped: `${missing.join(', ')}: not installed`, clean: true }
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-bench-images-'))
	const registry = await new Registry(path.join(dir, 'registry')).start()
	const run = (cmd, args) => execFileSync(cmd, args, { stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 64 << 20 })
	const remove = (...names) =>
		names.forEach((n) => fs.rmSync(path.join(dir, n), { recursive: true, force: true }))
	try {
		for (let i = 0; i < LAYERS; i++) makeLayer(`${dir}/${i}.tar`, i, bytes / LAYERS)
		registry.push(
			makeImage(
				`${dir}/layout`,
				'big',
				Array.from({ length: LAYERS }, (_, i) => `${dir}/${i}.tar`),
			),
			'big:1',
		)
		remove('layout', ...Array.from({ length: LAYERS }, (_, i) => `${i}.tar`))
		const ours = [],
			theirs = []
		let clean = true
		for (let i = 0; i < rounds; i++) {
			execFileSync('sync', ['-f', dir])
			ours.push(
				timed(() =>
					run(path.join(buildDir, 'src/oci/atoll-pull'), [
						'--cache',
						`${dir}/cache`,
						'--registry',
						registry.url,
						`${registry.host}/big:1`,
					]),
				),
			)
			clean &&= fs.readdirSync(`${dir}/cache/images/work`).length === 0
			remove('cache')
			execFileSync('sync', ['-f', dir])
			theirs.push(
				timed(() => {
					run('skopeo', [
						'copy',
						'-q',
						'--src-tls-verify=false',
						`docker://${registry.host}/big:1`,
						`oci:${dir}/copy:big`,
					])
					run('umoci', ['unpack', '--image', `${dir}/copy:big`, `${dir}/bundle`])
				}),
			)
			remove('copy', 'bundle')
		}
		const a = stats(ours),
			b = stats(theirs)
		return { bytes, ours: a, theirs: b, ratio: b.p50 / a.p50, clean }
	} finally {
		await registry.stop()
		fs.rmSync(dir, { recursive: true, force: true })
	}
}
