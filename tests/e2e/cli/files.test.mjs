// SPDX-License-Identifier: Apache-2.0
// atoll cp: files and trees in both directions come out the same, and a hostile sandbox cannot write elsewhere.
import { after, before, test } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawn } from 'node:child_process'
import { ATOLL, atoll, ok } from '../../lib/cli.mjs'
import { until } from '../../lib/host.mjs'

let id, dir

before(() => {
	id = ok(['create', '--timeout', '300']).trim()
	dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-cp-'))
})
after(() => {
	atoll(['kill', id])
	fs.rmSync(dir, { recursive: true, force: true })
})

const here = (...parts) => path.join(dir, ...parts)
const sh = (script, ...args) => ok(['exec', id, '--', 'bash', '-c', script, 'sh', ...args])

// Every file below, with a checksum, its mode and where it links to.
function listing(root) {
	const lines = []
	for (const name of fs.readdirSync(root, { recursive: true }).sort()) {
		const at = path.join(root, name)
		const st = fs.lstatSync(at)
		let what = 'dir'
		if (st.isSymbolicLink()) what = `-> ${fs.readlinkSync(at)}`
		else if (!st.isDirectory()) {
			const sum = crypto.createHash('sha256').update(fs.readFileSync(at)).digest('hex')
			what = `${sum} ${(st.mode & 0o777).toString(8)} ${Math.floor(st.mtimeMs / 1000)}`
		}
		lines.push(`${name} ${what}`)
	}
	return lines
}

function makeTree(root) {
	fs.mkdirSync(path.join(root, 'sub/deep'), { recursive: true })
	fs.mkdirSync(path.join(root, 'n'.repeat(150), 'm'.repeat(150)), { recursive: true })
	fs.writeFileSync(path.join(root, 'big'), crypto.randomBytes(3_000_001))
	fs.writeFileSync(path.join(root, 'block'), Buffer.alloc(512, 7))
	fs.writeFileSync(path.join(root, 'empty'), '')
	fs.writeFileSync(path.join(root, 'with space and \n newline é'), 'text')
	fs.writeFileSync(path.join(root, 'sub/run.sh'), '#!/bin/sh\n', { mode: 0o755 })
	fs.writeFileSync(path.join(root, 'sub/secret'), 'x', { mode: 0o600 })
	fs.writeFileSync(path.join(root, 'n'.repeat(150), 'm'.repeat(150), 'f'), 'far down')
	fs.symlinkSync('sub/run.sh', path.join(root, 'link'))
	fs.symlinkSync('../big', path.join(root, 'sub/up'))
	fs.utimesSync(path.join(root, 'block'), 1000000000, 1000000000)
}

test('a file goes in and comes out the same, with its mode', () => {
	fs.writeFileSync(here('data'), crypto.randomBytes(5_000_000))
	fs.chmodSync(here('data'), 0o750)
	ok(['cp', here('data'), `${id}:/tmp/data`])
	assert.equal(sh('stat -c %a /tmp/data').trim(), '750')
	ok(['cp', `${id}:/tmp/data`, here('back')])
	assert.ok(fs.readFileSync(here('data')).equals(fs.readFileSync(here('back'))))
	assert.equal(fs.statSync(here('back')).mode & 0o777, 0o750)
})

test('into a directory, below the home, and over what is there', () => {
	fs.writeFileSync(here('a.txt'), 'one')
	ok(['cp', here('a.txt'), `${id}:`])
	assert.equal(sh('cat ~/a.txt'), 'one')
	ok(['cp', here('a.txt'), `${id}:new/dir/`])
	assert.equal(sh('cat ~/new/dir/a.txt'), 'one')
	ok(['cp', here('a.txt'), `${id}:~/b.txt`])
	assert.equal(sh('cat ~/b.txt'), 'one')
	sh('echo -n two > ~/a.txt')
	fs.mkdirSync(here('to'))
	ok(['cp', `${id}:a.txt`, here('to')])
	assert.equal(fs.readFileSync(here('to/a.txt'), 'utf8'), 'two')
	ok(['cp', `${id}:b.txt`, here('to/a.txt')])
	assert.equal(fs.readFileSync(here('to/a.txt'), 'utf8'), 'one')
	ok(['cp', '--user', 'root', here('a.txt'), `${id}:/root/x`])
	assert.equal(ok(['exec', '-u', 'root', id, '--', 'stat', '-c', '%U', '/root/x']).trim(), 'root')
})

test('standard input and output', () => {
	const bytes = crypto.randomBytes(1_000_000)
	ok(['cp', '-', `${id}:/tmp/from-stdin`], { input: bytes })
	assert.ok(ok(['cp', `${id}:/tmp/from-stdin`, '-'], { encoding: 'buffer' }).equals(bytes))
	assert.equal(ok(['cp', `${id}:/proc/sys/kernel/ostype`, '-']), 'Linux\n')
	assert.match(atoll(['cp', '-', `${id}:/tmp`], { input: 'x' }).err, /directory/)
	assert.match(atoll(['cp', `${id}:/tmp`, '-']).err, /directory/)
})

test('a tree goes in and comes out the same', () => {
	makeTree(here('tree'))
	ok(['cp', here('tree'), `${id}:/tmp/there`])
	const inside = sh(
		'cd /tmp/there && find . -type f -print0 | sort -z | xargs -0 sha256sum -z | cut -zd" " -f1 | tr ' +
			'"\\0" "\\n"',
	)
		.trim()
		.split('\n')
		.sort()
	const outside = listing(here('tree'))
		.map((l) => /([0-9a-f]{64}) \d+ \d+$/.exec(l)?.[1])
		.filter(Boolean)
		.sort()
	assert.deepEqual(inside, outside)
	ok(['cp', `${id}:/tmp/there`, here('again')])
	assert.deepEqual(listing(here('again')), listing(here('tree')))
	// Into directories that are there, both get a place of their own.
	ok(['cp', here('tree'), `${id}:/tmp/there`])
	assert.equal(sh('cat /tmp/there/tree/empty; ls /tmp/there/tree | head -1'), 'big\n')
	ok(['cp', `${id}:/tmp/there/tree`, here('again')])
	assert.deepEqual(listing(here('again/tree')), listing(here('tree')))
})

test('what is missing or cannot be is told in words, and leaves nothing', () => {
	for (const [args, words] of [
		[['cp', `${id}:/no/such`, here('x')], /'\/no\/such' does not exist/],
		[['cp', here('nothing'), `${id}:x`], /nothing/],
		[['cp', here('a.txt'), 'i0000000000000000000:x'], /no sandbox/],
		[['cp', `${id}:/etc/passwd`, here('no/dir/')], /does not exist|No such/],
		[['cp', here('tree'), `${id}:/etc/passwd`], /is a directory/],
		[['cp', `${id}:/etc`, here('a.txt')], /is a directory/],
		[['cp', here('a.txt'), `${id}:/proc/nope/x`], /./],
	]) {
		const got = atoll(args)
		assert.equal(got.code, 1, args.join(' '))
		assert.match(got.err, words)
	}
	for (const args of [
		['cp'],
		['cp', 'a'],
		['cp', 'a', 'b'],
		['cp', `${id}:a`, `${id}:b`],
		['cp', 'Not An Id:x', 'y'],
	])
		assert.equal(atoll(args).code, 2, args.join(' '))
	assert.ok(!fs.existsSync(here('x')))
})

test('unreadable files and odd ones are told, and the rest is copied', () => {
	sh(
		'mkdir -p /tmp/odd && cd /tmp/odd && echo ok > file && mkfifo fifo && ln -s /etc/passwd abs && ln ' +
			'-s ../../etc up && ln -s file in',
	)
	const got = atoll(['cp', `${id}:/tmp/odd`, here('odd')])
	assert.equal(got.code, 1)
	assert.match(got.err, /fifo/)
	assert.match(got.err, /abs/)
	assert.deepEqual(fs.readdirSync(here('odd')).sort(), ['file', 'in'])
	assert.equal(fs.readFileSync(here('odd/in'), 'utf8'), 'ok\n')
})

test('a sandbox whose tar lies cannot write outside of the target', () => {
	const script = [
		'import io, os, sys, tarfile',
		'out = tarfile.open(fileobj=sys.stdout.buffer, mode="w|")',
		'def add(name, kind=tarfile.REGTYPE, link="", data=b"evil\\n"):',
		'    t = tarfile.TarInfo(name); t.type = kind; t.linkname = link; t.mode = 0o6755',
		'    t.size = len(data) if kind == tarfile.REGTYPE else 0',
		'    out.addfile(t, io.BytesIO(data) if t.size else None)',
		'exec(open("/tmp/attack").read())',
		'out.close()',
	].join('\n')
	ok(['cp', '-', `${id}:/tmp/lie.py`], { input: script })
	ok([
		'exec',
		'-u',
		'root',
		id,
		'--',
		'bash',
		'-c',
		'mv "$(readlink -f "$(command -v tar)")" /usr/local/bin/real-tar 2>/dev/null;' +
			" printf '#!/bin/sh\\nexec python3 /tmp/lie.py\\n' > /usr/bin/tar; chmod 755 /usr/bin/tar",
	])
	fs.writeFileSync(here('victim'), 'mine\n')
	const attacks = {
		'add("../victim")': /outside the directory/,
		[`add("${here('victim')}")`]: /outside the directory/,
		'add("a/../../victim")': /outside the directory/,
		[`add("d", tarfile.SYMTYPE, "${dir}"); add("d/victim")`]: /outside the directory|way|write/,
		'add("d", tarfile.SYMTYPE, ".."); add("d/victim")': /outside the directory|way|write/,
		'add("s", tarfile.DIRTYPE); add("l", tarfile.SYMTYPE, "s"); add("l/../../victim")':
			/outside the directory/,
		'add("h", tarfile.LNKTYPE, "../victim"); add("h")': /outside the directory/,
		'sys.stdout.buffer.write(b"\\0" * 100 + b"garbage" * 1000); sys.stdout.buffer.flush()': /archive/,
		'sys.stdout.buffer.flush(); os._exit(0)': /archive/,
	}
	for (const [attack, words] of Object.entries(attacks)) {
		ok(['cp', '-', `${id}:/tmp/attack`], { input: attack })
		const got = atoll(['cp', `${id}:/tmp/odd`, here('trap')])
		assert.notEqual(got.code, 0, attack)
		assert.match(got.err, words, attack)
		assert.equal(fs.readFileSync(here('victim'), 'utf8'), 'mine\n', attack)
		fs.rmSync(here('trap'), { recursive: true, force: true })
	}
	ok(['cp', '-', `${id}:/tmp/attack`], {
		input: 'add("setuid"); add("dev", tarfile.BLKTYPE); add("\\x1b[2Jname", tarfile.CHRTYPE)',
	})
	const got = atoll(['cp', `${id}:/tmp/odd`, here('trap')])
	assert.equal(got.code, 1)
	assert.ok(!got.err.includes('\x1b'), got.err)
	assert.deepEqual(fs.readdirSync(here('trap')), ['setuid'])
	assert.equal(fs.statSync(here('trap/setuid')).mode & 0o7000, 0)
})

test('Ctrl-C ends a copy and what runs for it inside', async () => {
	ok(['cp', '-', `${id}:/tmp/attack`], {
		input: 'import time\nadd("x")\nout.fileobj.write\nsys.stdout.buffer.flush()\ntime.sleep(100)',
	})
	const child = spawn(ATOLL, ['cp', `${id}:/tmp/odd`, here('stopped')], { stdio: 'ignore' })
	assert.ok(await until(() => sh('pgrep -cf [l]ie.py || true').trim() === '1', 30000))
	child.kill('SIGINT')
	const how = await new Promise((done) => child.once('exit', (code, signal) => done(signal ?? code)))
	assert.equal(how, 'SIGINT')
	assert.ok(await until(() => sh('pgrep -cf [l]ie.py || true').trim() === '0', 30000))
})
