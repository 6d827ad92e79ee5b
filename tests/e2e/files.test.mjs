// SPDX-License-Identifier: Apache-2.0
// files.* of the SDK, GET/POST /files, the Filesystem service.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import zlib from 'node:zlib'
import { createRaw, envd, killRaw, rpc, runAny, sdk, shell } from '../lib/client.mjs'

let sbx, raw
const OCTET = { headers: { 'Content-Type': 'application/octet-stream' } }
const q = (path, user) => `/files?path=${encodeURIComponent(path)}${user ? `&username=${user}` : ''}`
const put = (path, body, user) => envd(raw, 'POST', q(path, user), body, OCTET)
const get = (path, opt) => envd(raw, 'GET', q(path), undefined, opt)
const fsrpc = (method, message, opt) => rpc(raw, `filesystem.Filesystem/${method}`, message, opt)

function multipart(parts, boundary = 'b0undary') {
	const out = []
	for (const { name = 'file', filename, data, type = 'application/octet-stream' } of parts) {
		const file = filename === undefined ? '' : `; filename="${filename}"`
		out.push(
			Buffer.from(
				`--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n` +
					`Content-Type: ${type}\r\n\r\n`,
			),
		)
		out.push(Buffer.from(data), Buffer.from('\r\n'))
	}
	out.push(Buffer.from(`--${boundary}--\r\n`))
	return { body: Buffer.concat(out), headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` } }
}

before(async () => {
	sbx = await sdk().Sandbox.create('base', { timeoutMs: 600000 })
	raw = await createRaw({ timeout: 600 })
})
after(async () => {
	await sbx?.kill()
	await killRaw(raw)
})

const texts = {
	empty: '',
	ascii: 'plain text\n',
	utf8: 'Grüße, 世界 😀 \u0000 nul \u2028',
	quotes: `'single' "double" \`back\` \\ \\n $HOME $(id) %s '''triple''' """x"""`,
	crlf: 'a\r\nb\rc\n\r\n--b0undary--\r\n',
}
for (const [name, text] of Object.entries(texts)) {
	test(`round trip through the SDK: ${name}`, async () => {
		for (const opt of [{}, { useOctetStream: true }, { gzip: true }]) {
			const info = await sbx.files.write(`rt/${name}.txt`, text, opt)
			assert.equal(info.path, `/home/user/rt/${name}.txt`)
			assert.equal(await sbx.files.read(`rt/${name}.txt`), text)
			assert.equal((await sbx.files.getInfo(`rt/${name}.txt`)).size, Buffer.byteLength(text))
		}
	})
}

for (const size of [1, 65535, 65536, 65537, 10 * 1024 * 1024]) {
	test(`round trip of ${size} random bytes, both upload forms`, async () => {
		const data = crypto.randomBytes(size)
		const up = await put(`/tmp/r${size}`, data)
		assert.equal(up.status, 200, up.text)
		assert.deepEqual(up.json, [{ name: `r${size}`, path: `/tmp/r${size}`, type: 'file' }])
		const down = await get(`/tmp/r${size}`)
		assert.equal(down.status, 200)
		assert.equal(down.headers['content-length'], String(size))
		assert.ok(down.body.equals(data))
		const { body, headers } = multipart([{ filename: 'ignored', data }])
		for (const chunked of [false, true]) {
			const form = await envd(raw, 'POST', q(`/tmp/m${size}`), body, { headers, chunked })
			assert.equal(form.status, 200, form.text)
			assert.ok((await get(`/tmp/m${size}`)).body.equals(data))
		}
	})
}

test('an empty file: Content-Length 0 in every format', async () => {
	assert.equal((await put('/tmp/none', '')).status, 200)
	const res = await get('/tmp/none')
	assert.equal(res.status, 200)
	assert.equal(res.headers['content-length'], '0')
	await sbx.files.write('none', '')
	assert.equal(await sbx.files.read('none'), '')
	assert.equal((await sbx.files.read('none', { format: 'bytes' })).length, 0)
	assert.equal((await sbx.files.read('none', { format: 'blob' })).size, 0)
})

test('many files in one request, parents made, order kept', async () => {
	const files = Array.from({ length: 10 }, (_, i) => ({
		path: i % 2 ? `many/deep/${i}/f.txt` : `/m${i}/f.txt`,
		data: `file ${i}`,
	}))
	const infos = await sbx.files.write(files)
	assert.deepEqual(
		infos.map((f) => f.path),
		files.map((f) => (f.path.startsWith('/') ? f.path : `/home/user/${f.path}`)),
	)
	for (const f of files) assert.equal(await sbx.files.read(f.path), f.data)
})

test('part names: query path wins, else the full filename; other fields are ignored', async () => {
	const one = multipart([{ filename: 'undefined', data: 'old client' }])
	assert.deepEqual((await envd(raw, 'POST', q('/tmp/q.txt'), one.body, one)).json, [
		{ name: 'q.txt', path: '/tmp/q.txt', type: 'file' },
	])
	const two = multipart([
		{ name: 'note', data: 'x' },
		{ filename: '/tmp/dir ä/späce.txt', data: 'utf-8 name' },
		{ filename: 'rel/f', data: 'r' },
	])
	const res = await envd(raw, 'POST', '/files', two.body, two)
	assert.equal(res.status, 200, res.text)
	assert.deepEqual(
		res.json.map((f) => f.path),
		['/tmp/dir ä/späce.txt', '/home/user/rel/f'],
	)
	assert.equal((await get('/tmp/dir ä/späce.txt')).text, 'utf-8 name')
	const twice = multipart([
		{ filename: '/tmp/same', data: '1' },
		{ filename: '/tmp/same', data: '2' },
	])
	assert.equal((await envd(raw, 'POST', '/files', twice.body, twice)).status, 400)
})

test('upload: ownership, modes, existing files keep their mode', async () => {
	await put('/tmp/own/a/b/c.txt', 'x')
	await put('/tmp/own/a/b/r.txt', 'x', 'root')
	await sbx.files.write('/tmp/mode.sh', '1')
	await sbx.commands.run('chmod 750 /tmp/mode.sh; sudo chown root:root /tmp/mode.sh')
	await sbx.files.write('/tmp/mode.sh', '22')
	const info = await sbx.files.getInfo('/tmp/mode.sh')
	assert.deepEqual([info.mode, info.owner, info.size], [0o750, 'user', 2])
	const list = await fsrpc('ListDir', { path: '/tmp/own', depth: 5 })
	assert.deepEqual(
		list.json.entries.map((e) => [e.path, e.owner, e.permissions]),
		[
			['/tmp/own/a', 'user', 'drwxr-xr-x'],
			['/tmp/own/a/b', 'user', 'drwxr-xr-x'],
			['/tmp/own/a/b/c.txt', 'user', '-rw-r--r--'],
			['/tmp/own/a/b/r.txt', 'root', '-rw-r--r--'],
		],
	)
})

test('a shorter write leaves no old tail', async () => {
	await put('/tmp/tail', 'a long first content')
	await put('/tmp/tail', 'short')
	assert.equal((await get('/tmp/tail')).text, 'short')
})

test('path rules: empty, ~, relative, .., absolute', async () => {
	await put('/home/user/rules/x', 'x')
	for (const path of [
		'rules/x',
		'./rules/x',
		'~/rules/x',
		'rules/../rules/x',
		'a/../rules/x',
		'/home/user/rules/x',
		'/home/user/../user/rules/x',
	]) {
		const res = await get(path)
		assert.equal(res.status, 200, path)
	}
	assert.equal((await get('../../../../../home/user/rules/x')).status, 200, 'above / is /')
	assert.equal((await get('~other/x')).status, 400)
	assert.equal((await fsrpc('Stat', { path: '~other' })).json.code, 'invalid_argument')
	assert.equal((await fsrpc('Stat', { path: '' })).json.entry.path, '/home/user')
	assert.equal((await fsrpc('Stat', { path: '~' })).json.entry.path, '/home/user')
	assert.equal((await fsrpc('Stat', { path: '..' })).json.entry.path, '/home')
})

test('reading: missing is 404 by path, a directory 400', async () => {
	const missing = await get('/no/such')
	assert.equal(missing.status, 404)
	assert.deepEqual(missing.json, { code: 404, message: "path '/no/such' does not exist" })
	const dir = await get('/tmp')
	assert.equal(dir.status, 400)
	assert.equal(dir.json.code, 400)
	await assert.rejects(sbx.files.read('none-here'), sdk().FileNotFoundError)
	await assert.rejects(sbx.files.read('none-here', { format: 'stream' }), sdk().FileNotFoundError)
})

test('a download is packed for a client that asks for gzip', async () => {
	const text = 'many words, many words\n'.repeat(50000)
	await put('/tmp/words.txt', text)
	const packed = await get('/tmp/words.txt', { headers: { 'Accept-Encoding': 'gzip' } })
	assert.equal(packed.headers['content-encoding'], 'gzip')
	assert.equal(packed.headers['content-type'], 'text/plain; charset=utf-8')
	assert.ok(packed.headers.vary.split(', ').includes('Accept-Encoding'), packed.headers.vary)
	assert.ok(packed.body.length < text.length / 20)
	assert.equal(zlib.gunzipSync(packed.body).toString(), text)
	for (const accept of ['gzip, deflate, br', 'identity', 'br', 'gzip;q=0'])
		assert.equal((await get('/tmp/words.txt', { headers: { 'Accept-Encoding': accept } })).text, text)
	const part = await get('/tmp/words.txt', { headers: { 'Accept-Encoding': 'gzip', Range: 'bytes=0-3' } })
	assert.deepEqual([part.status, part.text, part.headers['content-encoding']], [206, 'many', undefined])
	assert.equal((await get('/tmp/words.txt', { headers: { 'Accept-Encoding': 'br, identity;q=0' } })).status, 406)
	assert.equal(
		(
			await get('/tmp/words.txt', {
				headers: { 'Accept-Encoding': 'gzip, identity;q=0', Range: 'bytes=0-3' },
			})
		).status,
		406,
	)
	await put('/tmp/none.txt', '')
	assert.equal((await get('/tmp/none.txt', { headers: { 'Accept-Encoding': 'gzip' } })).body.length, 0)
	const proc = await get('/proc/self/status', { headers: { 'Accept-Encoding': 'gzip' } })
	assert.match(zlib.gunzipSync(proc.body).toString(), /^Name:/)
	assert.equal(await sbx.files.read('/etc/hostname', { gzip: true }), await sbx.files.read('/etc/hostname'))
})

test('conditions on a read hold', async () => {
	await put('/tmp/cond.txt', 'x')
	const { headers } = await get('/tmp/cond.txt')
	const date = headers['last-modified'],
		before = new Date(Date.parse(date) - 60000).toUTCString()
	const status = async (h) => (await get('/tmp/cond.txt', { headers: h })).status
	assert.equal(await status({ 'If-Modified-Since': date }), 304)
	assert.equal(await status({ 'If-Modified-Since': before }), 200)
	assert.equal(await status({ 'If-None-Match': '*' }), 304)
	assert.equal(await status({ 'If-None-Match': '"abc"', 'If-Modified-Since': date }), 200)
	assert.equal(await status({ 'If-Unmodified-Since': before }), 412)
	assert.equal(await status({ 'If-Unmodified-Since': date }), 200)
	assert.equal(await status({ 'If-Match': '"abc"' }), 412)
	assert.equal(await status({ 'If-Match': '*' }), 200)
	assert.equal(await status({ 'If-Range': before, Range: 'bytes=0-0' }), 200)
	assert.equal(await status({ 'If-Range': date, Range: 'bytes=0-0' }), 206)
})

test('several files are composed into one', async () => {
	const compose = (body, headers) => envd(raw, 'POST', '/files/compose', body, { headers })
	const parts = [1, 2, 3].map((n) => `/tmp/compose/p${n}`)
	const data = [crypto.randomBytes(9 << 20), Buffer.from(''), Buffer.from('end')]
	const upload = async () => {
		for (const [i, path] of parts.entries()) assert.equal((await put(path, data[i])).status, 200)
	}
	await upload()
	await put('/tmp/compose/whole/it', 'old')
	const res = await compose({ source_paths: parts, destination: '/tmp/compose/whole/it' })
	assert.equal(res.status, 200, res.text)
	assert.deepEqual(res.json, { path: '/tmp/compose/whole/it', name: 'it', type: 'file' })
	assert.ok((await get('/tmp/compose/whole/it')).body.equals(Buffer.concat(data)))
	const left = await fsrpc('ListDir', { path: '/tmp/compose', depth: 3 })
	assert.deepEqual(
		left.json.entries.map((e) => e.path),
		['/tmp/compose/whole', '/tmp/compose/whole/it'],
	)
	assert.equal(left.json.entries[1].owner, 'user')
	await upload()
	const refused = async (body, status, words) => {
		const no = await compose(body)
		assert.equal(no.status, status, no.text)
		assert.match(no.json.message, words)
		assert.equal(no.json.code, status)
	}
	await refused({ source_paths: [], destination: 'x' }, 400, /source_paths must not be empty/)
	await refused({ source_paths: parts }, 400, /destination is required/)
	await refused({ source_paths: [...parts, '/tmp/compose/no'], destination: 'x' }, 404, /source file not found/)
	await refused({ source_paths: ['/tmp'], destination: 'x' }, 400, /not a regular file/)
	await refused({ source_paths: parts, destination: parts[0] }, 400, /cannot be the same/)
	await refused({ source_paths: parts, destination: '/tmp' }, 400, /is a directory/)
	await refused({ source_paths: parts, destination: 'x', username: 'nobody-here' }, 401, /unknown user/)
	await refused({ source_paths: 'a', destination: 'x' }, 400, /must be an array/)
	await refused({ source_paths: [5], destination: 'x' }, 400, /array of strings/)
	assert.equal((await compose('junk', { 'Content-Type': 'application/json' })).status, 400)
	for (const path of parts) assert.equal((await get(path)).status, 200) /* a refusal takes nothing away */
	/* another name of the destination is not taken away with the parts */
	await compose({ source_paths: parts, destination: '/tmp/compose/one' })
	const alias = await compose({ source_paths: ['/tmp/compose/./one'], destination: '/tmp/compose/one' })
	assert.equal(alias.status, 200)
	assert.equal((await get('/tmp/compose/one')).body.length, (9 << 20) + 3)
	const stranger = await envd({ ...raw, envdAccessToken: undefined }, 'POST', '/files/compose', {
		source_paths: ['a'],
		destination: 'b',
	})
	assert.equal(stranger.status, 401)
	const root = await compose({
		source_paths: ['/tmp/compose/one'],
		destination: '~/deep/er/two',
		username: 'root',
	})
	assert.equal(root.json.path, '/root/deep/er/two')
})

test('reading: ranges, disposition, proc files', async () => {
	await put('/tmp/range.txt', '0123456789')
	const part = await get('/tmp/range.txt', { headers: { Range: 'bytes=2-4' } })
	assert.equal(part.status, 206)
	assert.equal(part.text, '234')
	assert.equal(part.headers['content-range'], 'bytes 2-4/10')
	const end = await get('/tmp/range.txt', { headers: { Range: 'bytes=-3' } })
	assert.equal(end.text, '789')
	assert.equal((await get('/tmp/range.txt', { headers: { Range: 'bytes=20-' } })).status, 416)
	const whole = await get('/tmp/range.txt')
	assert.match(whole.headers['content-disposition'], /inline; filename="?range\.txt"?/)
	assert.match(whole.headers.vary ?? '', /Accept-Encoding/i)
	assert.match((await get('/proc/self/status')).text, /^Name:/)
	assert.match((await get('/proc/mounts')).text, / \/ /)
})

test('links are followed inside only', async () => {
	await sbx.commands.run(
		'ln -sf /etc/passwd pw; ln -sf /no/where dangling; ln -sfn /tmp tmplink; ln -sf loop loop',
	)
	assert.match(await sbx.files.read('pw'), /^root:x?:0:0/)
	await assert.rejects(sbx.files.read('dangling'), sdk().FileNotFoundError)
	await assert.rejects(sbx.files.read('loop'))
	const info = await sbx.files.getInfo('pw')
	assert.equal(info.symlinkTarget, '/etc/passwd')
	assert.equal(info.type, 'file')
	assert.equal(info.permissions[0], 'L')
	const list = await sbx.files.list('tmplink')
	assert.ok(list.every((e) => e.path.startsWith('/home/user/tmplink/')))
})

test('stat: every field', async () => {
	await put('/tmp/stat.txt', 'test')
	const { entry } = (await fsrpc('Stat', { path: '/tmp/stat.txt' })).json
	assert.equal(entry.name, 'stat.txt')
	assert.equal(entry.type, 'FILE_TYPE_FILE')
	assert.equal(entry.path, '/tmp/stat.txt')
	assert.equal(Number(entry.size), 4)
	assert.equal(entry.mode, 0o644)
	assert.equal(entry.permissions, '-rw-r--r--')
	assert.deepEqual([entry.owner, entry.group], ['user', 'user'])
	assert.match(entry.modifiedTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
	assert.ok(Math.abs(Date.parse(entry.modifiedTime) - Date.now()) < 60000)
	assert.equal(entry.symlinkTarget, undefined)
	const dir = (await fsrpc('Stat', { path: '/tmp' })).json.entry
	assert.equal(dir.type, 'FILE_TYPE_DIRECTORY')
	assert.equal(dir.permissions, 'dtrwxrwxrwx')
	const made = await sbx.files.getInfo((await sbx.files.makeDir('sized'), 'sized'))
	assert.ok(made.size > 0, 'the size of a directory is not 0')
	const none = await fsrpc('Stat', { path: '/none' })
	assert.equal(none.status, 404)
	assert.equal(none.json.code, 'not_found')
})

test('makeDir: new, nested, existing, over a file', async () => {
	assert.equal(await sbx.files.makeDir('d1'), true)
	assert.equal(await sbx.files.makeDir('d1'), false)
	assert.equal(await sbx.files.makeDir('d2/x/y/z'), true)
	assert.equal((await sbx.files.getInfo('d2/x/y')).permissions, 'drwxr-xr-x')
	await put('/tmp/file', 'x')
	assert.equal((await fsrpc('MakeDir', { path: '/tmp/file' })).json.code, 'invalid_argument')
	const below = await fsrpc('MakeDir', { path: '/tmp/file/sub' })
	assert.ok(below.status >= 400)
	assert.equal((await get('/tmp/file')).text, 'x')
})

test('rename: files, directories, over a file, into new parents, missing', async () => {
	await sbx.files.write('mv/a', 'A')
	await sbx.files.write('mv/b', 'B')
	const info = await sbx.files.rename('mv/a', 'mv/b')
	assert.equal(info.path, '/home/user/mv/b')
	assert.equal(await sbx.files.read('mv/b'), 'A')
	await sbx.files.rename('mv', 'moved/deep/mv')
	assert.equal(await sbx.files.read('moved/deep/mv/b'), 'A')
	assert.equal(await sbx.files.exists('mv'), false)
	await assert.rejects(sbx.files.rename('no-such-source', 'x'), sdk().FileNotFoundError)
	await sbx.commands.run('sudo mv /usr/share/doc /usr/share/doc2', {
		timeoutMs: 30000,
	}) /* a template directory */
	assert.equal(await sbx.files.exists('/usr/share/doc2'), true)
})

test('remove: file, tree, missing, link not its target', async () => {
	await sbx.files.write('rm/a/b/c', 'x')
	await sbx.files.remove('rm')
	assert.equal(await sbx.files.exists('rm'), false)
	await sbx.files.remove('rm')
	await sbx.files.write('keep', 'x')
	await sbx.commands.run('ln -s keep lk; mkdir tree; ln -s /etc tree/etc; ln -s /home/user/keep tree/k')
	await sbx.files.remove('lk')
	await sbx.files.remove('tree')
	assert.equal(await sbx.files.read('keep'), 'x')
	assert.equal(await sbx.files.exists('/etc/passwd'), true)
})

test('list: depth, order, missing, not a directory', async () => {
	await sbx.files.write([
		{ path: 'ls/b/c/d.txt', data: '' },
		{ path: 'ls/a.txt', data: '' },
		{ path: 'ls/b/a.txt', data: '' },
	])
	const names = async (depth) =>
		(await sbx.files.list('ls', { depth })).map((e) => e.path.slice('/home/user/ls/'.length))
	assert.deepEqual(await names(1), ['a.txt', 'b'])
	assert.deepEqual(await names(2), ['a.txt', 'b', 'b/a.txt', 'b/c'])
	assert.deepEqual(await names(9), ['a.txt', 'b', 'b/a.txt', 'b/c', 'b/c/d.txt'])
	await assert.rejects(sbx.files.list('no-such'), sdk().FileNotFoundError)
	assert.equal((await fsrpc('ListDir', { path: '/etc/passwd', depth: 1 })).json.code, 'invalid_argument')
	assert.ok((await fsrpc('ListDir', { path: '/etc' })).json.entries.some((e) => e.name === 'passwd'))
	assert.deepEqual(await sbx.files.list((await sbx.files.makeDir('hollow'), 'hollow')), [])
})

test('list: five thousand entries', async () => {
	await sbx.commands.run('mkdir -p big && cd big && seq 5000 | xargs touch')
	assert.equal((await sbx.files.list('big')).length, 5000)
})

test('metadata: kept, listed, replaced, seen from inside', async () => {
	await sbx.files.write('meta', '1', { metadata: { author: 'mish', Purpose: 'Up' } })
	assert.deepEqual((await sbx.files.getInfo('meta')).metadata, { author: 'mish', purpose: 'Up' })
	const got = await sbx.commands.run(`python3 -c "import os; print(sorted(os.listxattr('meta')))"`)
	assert.match(got.stdout, /user\.e2b\.author/)
	await sbx.files.write('meta', '2')
	assert.equal((await sbx.files.getInfo('meta')).metadata, undefined)
	await sbx.commands.run(`python3 -c "import os; os.setxattr('meta', 'user.e2b.late', b'v')"`)
	assert.deepEqual((await sbx.files.getInfo('meta')).metadata, { late: 'v' })
})

test('fifty transfers at once', async () => {
	const all = Array.from({ length: 50 }, (_, i) => crypto.randomBytes(20000 + i))
	await Promise.all(all.map((data, i) => put(`/tmp/par/${i}`, data)))
	const back = await Promise.all(all.map((_, i) => get(`/tmp/par/${i}`)))
	assert.ok(back.every((res, i) => res.body.equals(all[i])))
})

test('an upload that is cut off leaves the old file or none, never waits', async () => {
	const net = await import('node:net')
	const { routeHeaders, server } = await import('../lib/client.mjs')
	const url = new URL(server.url)
	const head = Object.entries(routeHeaders(raw))
		.map(([k, v]) => `${k}: ${v}\r\n`)
		.join('')
	await new Promise((done) => {
		const sock = net.connect(Number(url.port), url.hostname, () => {
			sock.write(
				`POST ${q('/tmp/cut')} HTTP/1.1\r\nHost: localhost\r\n${head}Content-Type: ` +
					`application/octet-stream\r\nContent-Length: 1000000\r\n\r\n`,
			)
			sock.write(Buffer.alloc(1000, 'x'))
			setTimeout(() => {
				sock.destroy()
				done()
			}, 200)
		})
	})
	assert.equal((await put('/tmp/cut', 'after')).status, 200)
	assert.equal((await get('/tmp/cut')).text, 'after')
	assert.equal((await runAny(sbx, 'true')).exitCode, 0)
})

test('F6: a tree that is deeper than paths can be long is told as such', async () => {
	await shell(
		raw,
		`python3 - <<'E'
import os
os.chdir('/tmp')
os.mkdir('far'); os.chdir('far')
for i in range(25):
    os.mkdir('x' * 200); os.chdir('x' * 200)
E`,
	)
	const all = await fsrpc('ListDir', { path: '/tmp/far', depth: 100 })
	assert.deepEqual([all.status, all.json.code], [400, 'invalid_argument'], all.text)
	assert.match(all.json.message, /longer than 4095 bytes.*smaller depth/)
	assert.equal((await fsrpc('ListDir', { path: '/tmp/far', depth: 10 })).json.entries.length, 10)
	assert.equal((await fsrpc('Remove', { path: '/tmp/far' })).status, 200)
})
