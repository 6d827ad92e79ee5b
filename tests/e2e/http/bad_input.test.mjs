// SPDX-License-Identifier: Apache-2.0
// Broken, hostile and oversize input: a clear error, nothing half-written, and the server serves on.
import { test, after, afterEach, before } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import {
	api,
	createRaw,
	envd,
	envelope,
	exchange,
	killRaw,
	outputOf,
	request,
	rpc,
	server,
	start,
	stream,
} from '../../lib/client.mjs'
import { alive, until } from '../../lib/host.mjs'

let sbx
const OCTET = { headers: { 'Content-Type': 'application/octet-stream' } }
const q = (path) => `/files?path=${encodeURIComponent(path)}`

before(async () => {
	sbx = await createRaw({ timeout: 600 })
})
after(() => killRaw(sbx))

afterEach(async () => {
	assert.ok(alive(server.pid), 'the warden is gone')
	assert.equal((await request('GET', '/health')).status, 204, 'the front does not serve on')
	assert.equal((await envd(sbx, 'GET', '/health')).status, 204, 'the sandbox does not serve on')
})

const notJson = [
	'',
	'{',
	'[1,2',
	'null',
	'"x"',
	'[]',
	'{"templateID":"base"} trailing',
	'{"templateID":"base","templateID":"x"',
	'\u0000',
	'{"a":'.repeat(5000),
	'['.repeat(100000),
	'{"templateID":"\ud800"}',
	"{'templateID':1}",
]
for (const body of notJson) {
	test(`malformed create body ${JSON.stringify(body.slice(0, 30))} is 400`, async () => {
		for (const path of ['/sandboxes', '/v2/sandboxes']) {
			const res = await api('POST', path, Buffer.from(body), {
				headers: { 'Content-Type': 'application/json' },
			})
			assert.equal(res.status, 400, res.text)
			assert.equal(res.json.code, 400)
			assert.ok(res.json.message.length > 3)
		}
	})
}

test('invalid UTF-8 in JSON is 400', async () => {
	const body = Buffer.concat([Buffer.from('{"templateID":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')])
	assert.equal(
		(await api('POST', '/v2/sandboxes', body, { headers: { 'Content-Type': 'application/json' } })).status,
		400,
	)
})

test('an oversize API body is refused early', async () => {
	const body = Buffer.alloc(32 * 1024 * 1024, 0x20)
	const res = await api('POST', '/v2/sandboxes', body).catch((err) => ({ status: err.code }))
	assert.ok(
		res.status === 413 || res.status === 400 || res.status === 'EPIPE' || res.status === 'ECONNRESET',
		`${res.status}`,
	)
	const chunked = await api('POST', '/v2/sandboxes', body, { chunked: true }).catch((err) => ({
		status: err.code,
	}))
	assert.ok(
		chunked.status === 413 ||
			chunked.status === 400 ||
			chunked.status === 'EPIPE' ||
			chunked.status === 'ECONNRESET',
		`${chunked.status}`,
	)
})

test('many or long metadata and env values are bounded, not fatal', async () => {
	for (const body of [
		{ metadata: { k: 'v'.repeat(2 << 20) } },
		{ envVars: { k: 'v'.repeat(2 << 20) } },
		{ metadata: Object.fromEntries(Array.from({ length: 20000 }, (_, i) => [`k${i}`, 'v'])) },
	]) {
		const res = await api('POST', '/v2/sandboxes', { templateID: 'base', ...body })
		if (res.status === 201) await killRaw(res.json)
		assert.ok([201, 400, 413].includes(res.status), `${res.status}`)
	}
})

test('oversize headers are 431 or a closed connection', async () => {
	for (const extra of [`X-Big: ${'a'.repeat(1 << 20)}\r\n`, 'X-Many: 1\r\n'.repeat(20000)]) {
		const text = await exchange(`GET /health HTTP/1.1\r\nHost: localhost\r\n${extra}\r\n`)
		assert.ok(text === '' || /^HTTP\/1\.1 4(31|00|13)/.test(text), text.slice(0, 60))
	}
	const long = await exchange(`GET /${'a'.repeat(1 << 20)} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
	assert.ok(long === '' || /^HTTP\/1\.1 4(14|31|00|04)/.test(long), long.slice(0, 60))
})

const garbage = {
	'no HTTP at all': 'hello\r\n\r\n',
	'TLS hello': Buffer.from('16030100a5010000a1030300', 'hex'),
	'binary zeros': Buffer.alloc(4096),
	'two lengths': 'POST /sandboxes HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello',
	'length and chunked':
		'POST /sandboxes HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n' +
		'0\r\n\r\n',
	'negative length': 'POST /sandboxes HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n',
	'huge length': 'POST /sandboxes HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n',
	'bad chunk': 'POST /sandboxes HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
	'huge chunk': 'POST /sandboxes HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n',
	'space in header name': 'GET /health HTTP/1.1\r\nHost : x\r\n\r\n',
	'bare LF header injection': 'GET /health HTTP/1.1\r\nHost: x\r\nX: a\u0000b\r\n\r\n',
	'HTTP/9.9': 'GET /health HTTP/9.9\r\nHost: x\r\n\r\n',
	'unknown method': 'FROB /health HTTP/1.1\r\nHost: x\r\n\r\n',
}
for (const [name, bytes] of Object.entries(garbage)) {
	test(`garbage on the wire: ${name}`, async () => {
		const text = await exchange(bytes, { wait: 1500 })
		assert.ok(text === '' || /^HTTP\/1\.[01] [45]\d\d /.test(text), text.slice(0, 80))
	})
}

test('connections that say nothing, or half a request, cost nothing', async () => {
	const net = await import('node:net')
	const url = new URL(server.url)
	const socks = Array.from({ length: 200 }, (_, i) => {
		const sock = net.connect(Number(url.port), url.hostname)
		sock.on('error', () => {})
		if (i % 2) sock.write('POST /v2/sandboxes HTTP/1.1\r\nHost: localhost\r\nContent-Len')
		return sock
	})
	assert.ok(await until(() => socks.every((s) => !s.connecting), 30000), 'all are connected')
	assert.equal((await request('GET', '/health')).status, 204)
	socks.forEach((s) => s.destroy())
})

test('HEAD and OPTIONS are answered without a body', async () => {
	assert.ok((await request('HEAD', '/health')).status < 500)
	const text = await exchange('OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', {
		wait: 1500,
	})
	assert.match(text, /^HTTP\/1\.1 [2-4]\d\d/)
})

test('NUL in paths is refused everywhere', async () => {
	assert.equal((await envd(sbx, 'GET', '/files?path=/etc/passwd%00.txt')).status, 400)
	assert.equal((await envd(sbx, 'POST', '/files?path=/tmp/a%00b', 'x', OCTET)).status, 400)
	for (const [method, message] of [
		['Stat', { path: '/etc\u0000x' }],
		['MakeDir', { path: '/tmp/d\u0000x' }],
		['Remove', { path: '/tmp\u0000/x' }],
		['ListDir', { path: '/\u0000', depth: 1 }],
		['Move', { source: '/tmp/a\u0000', destination: '/tmp/b' }],
		['Move', { source: '/tmp/a', destination: '/tmp/\u0000b' }],
	]) {
		const res = await rpc(sbx, `filesystem.Filesystem/${method}`, message)
		assert.equal(res.status, 400, `${method}: ${res.text}`)
		assert.equal(res.json.code, 'invalid_argument')
	}
	for (const process of [
		{ cmd: 'id\u0000x' },
		{ cmd: 'id', args: ['a\u0000b'] },
		{ cmd: 'id', cwd: '/tmp\u0000' },
		{ cmd: 'id', envs: { A: 'x\u0000' } },
		{ cmd: 'id', envs: { 'A=B': 'x' } },
	]) {
		const run = await stream(sbx, 'process.Process/Start', { process })
		const over = await run.ended
		assert.equal(over.trailer?.error?.code, 'invalid_argument', JSON.stringify(process))
	}
	assert.equal((await envd(sbx, 'GET', q('/tmp'))).status, 400)
	assert.equal((await envd(sbx, 'GET', q('/tmp/a'))).status, 404, 'a NUL cut the name short')
})

test('bad query escapes and repeated parameters do not confuse', async () => {
	for (const query of [
		'path=%',
		'path=%zz',
		'path=%2',
		'path',
		'',
		'path=/etc/hosts&path=/etc/passwd',
		'path=%ff%fe',
	])
		assert.ok((await envd(sbx, 'GET', `/files?${query}`)).status < 500, query)
})

test('names that are too long are an error, not a crash', async () => {
	for (const path of ['/tmp/' + 'n'.repeat(256), '/tmp' + '/d'.repeat(3000), 'x'.repeat(20000)]) {
		const res = await envd(sbx, 'POST', q(path), 'x', OCTET)
		assert.ok(res.status >= 400 && res.status <= 500, `${res.status}`)
		const stat = await rpc(sbx, 'filesystem.Filesystem/Stat', { path })
		assert.ok(stat.status >= 400 && stat.status <= 500)
	}
})

test('wrong types in RPC messages name the field', async () => {
	const cat = await stream(sbx, 'process.Process/Start', { process: { cmd: 'cat' }, stdin: true })
	assert.ok(await until(() => cat.events.length > 0))
	const { pid } = cat.events[0].event.start
	for (const [method, message, field] of [
		['filesystem.Filesystem/Stat', { path: 5 }, 'path'],
		['filesystem.Filesystem/ListDir', { path: '/', depth: 'deep' }, 'depth'],
		['filesystem.Filesystem/ListDir', { path: '/', depth: -1 }, 'depth'],
		['filesystem.Filesystem/Move', { source: [], destination: '/x' }, 'source'],
		['process.Process/SendSignal', { process: { pid: 'x' }, signal: 'SIGNAL_SIGKILL' }, 'pid'],
		['process.Process/SendInput', { process: { pid }, input: { stdin: '!!' } }, 'stdin'],
	]) {
		const res = await rpc(sbx, method, message)
		assert.equal(res.status, 400, `${method} ${JSON.stringify(message)}: ${res.text}`)
		assert.equal(res.json.code, 'invalid_argument')
		assert.match(res.json.message, new RegExp(field))
	}
	const frob = await rpc(sbx, 'process.Process/SendSignal', { process: { pid }, signal: 'SIGNAL_SIGFROB' })
	assert.deepEqual(
		[frob.status, frob.json],
		[501, { code: 'unimplemented', message: 'invalid signal: SIGNAL_SIGFROB' }],
	)
	assert.equal(
		(await rpc(sbx, 'process.Process/SendSignal', { process: { pid }, signal: 'SIGNAL_SIGKILL' })).status,
		200,
	)
	for (const [message, field] of [
		[{ process: { cmd: 5 } }, 'cmd'],
		[{ process: { cmd: 'id', args: 'x' } }, 'args'],
		[{ process: { cmd: 'id', args: [1] } }, 'args'],
		[{ process: { cmd: 'id', envs: { A: 1 } } }, 'envs'],
		[{ process: { cmd: 'id', cwd: {} } }, 'cwd'],
		[{}, 'process'],
		[{ process: {} }, 'cmd'],
	]) {
		const run = await stream(sbx, 'process.Process/Start', message)
		const over = await run.ended
		assert.equal(over.trailer?.error?.code, 'invalid_argument', JSON.stringify(message))
		assert.match(over.trailer.error.message, new RegExp(field))
	}
})

test('pid 1 and foreign pids cannot be signalled through the API', async () => {
	const run = await start(sbx, 'sleep 36 & echo $!; wait')
	assert.ok(await until(() => outputOf(run.events)))
	const grandchild = Number(outputOf(run.events))
	for (const pid of [0, 1, grandchild, 4294967295]) {
		const res = await rpc(sbx, 'process.Process/SendSignal', { process: { pid }, signal: 'SIGNAL_SIGKILL' })
		assert.ok(res.status === 404 || res.status === 400, `${pid}: ${res.status}`)
	}
	const { pid } = run.events[0].event.start
	assert.equal(
		(await rpc(sbx, 'process.Process/SendSignal', { process: { pid }, signal: 'SIGNAL_SIGKILL' })).status,
		200,
	)
})

test('broken RPC framing is an error', async () => {
	const bodies = [
		Buffer.alloc(0),
		Buffer.from([0]),
		Buffer.from([0, 0, 0, 0, 9]),
		Buffer.from([0, 255, 255, 255, 255, 1]),
		envelope(Buffer.from('{')),
		envelope({ process: { cmd: 'id' } }, 1),
		envelope({ process: { cmd: 'id' } }, 0xff),
		Buffer.concat([envelope({ process: { cmd: 'id' } }), envelope({ process: { cmd: 'id' } })]),
	]
	for (const body of bodies) {
		const run = await stream(sbx, 'process.Process/Start', null, { body })
		const over = await run.ended
		assert.ok(run.status >= 400 || over.trailer?.error || over.trailer, `status ${run.status}, ${over.how}`)
		assert.ok(run.status < 500, `${run.status}`)
	}
	const json = await envd(sbx, 'POST', '/filesystem.Filesystem/Stat', '{"path":', {
		headers: { 'Content-Type': 'application/json' },
	})
	assert.equal(json.status, 400)
	assert.equal(json.json.code, 'invalid_argument')
	const none = await rpc(sbx, 'filesystem.Filesystem/NoSuch', {})
	assert.ok([404, 501].includes(none.status), `${none.status}`)
	const type = await envd(sbx, 'POST', '/filesystem.Filesystem/Stat', 'x', {
		headers: { 'Content-Type': 'text/plain' },
	})
	assert.ok(type.status >= 400 && type.status < 500)
})

test('an oversize RPC message is refused', async () => {
	const res = await rpc(sbx, 'filesystem.Filesystem/Stat', { path: 'x'.repeat(64 << 20) }).catch((err) => ({
		status: err.code,
	}))
	assert.ok(typeof res.status === 'string' || res.status >= 400, `${res.status}`)
})

test('bad uploads: type, boundary, no path, truncated form', async () => {
	const type = await envd(sbx, 'POST', q('/tmp/t'), 'x', { headers: { 'Content-Type': 'text/plain' } })
	assert.equal(type.status, 400)
	assert.equal((await envd(sbx, 'POST', '/files', 'x', OCTET)).status, 400)
	for (const [header, body] of [
		['multipart/form-data', 'x'],
		['multipart/form-data; boundary=', 'x'],
		['multipart/form-data; boundary=b', 'no boundary'],
		[
			'multipart/form-data; boundary=b',
			'--b\r\nContent-Disposition: form-data; name="file"; filename="/tmp/half"\r\n\r\nhalf of it',
		],
		[
			'multipart/form-data; boundary=b',
			`--b\r\nContent-Disposition: form-data; name="file"${'; x=y'.repeat(20000)}\r\n\r\nx\r\n` +
				`--b--\r\n`,
		],
		[`multipart/form-data; boundary=${'b'.repeat(500)}`, 'x'],
	]) {
		const res = await envd(sbx, 'POST', q('/tmp/form'), body, { headers: { 'Content-Type': header } })
		assert.ok(res.status >= 400 && res.status <= 500, `${header}: ${res.status}`)
		assert.equal(res.json.code, res.status)
	}
	const gzip = await envd(sbx, 'POST', q('/tmp/gz'), 'not gzip', {
		headers: { ...OCTET.headers, 'Content-Encoding': 'gzip' },
	})
	assert.ok(gzip.status >= 400 && gzip.status <= 500, `${gzip.status}`)
	const br = await envd(sbx, 'POST', q('/tmp/br'), 'x', {
		headers: { ...OCTET.headers, 'Content-Encoding': 'br' },
	})
	assert.equal(br.status, 400)
})

test('a file where a directory is expected, and the other way round', async () => {
	await envd(sbx, 'POST', q('/tmp/plain'), 'x', OCTET)
	const below = await envd(sbx, 'POST', q('/tmp/plain/child'), 'x', OCTET)
	assert.ok(below.status >= 400 && below.status <= 500, `${below.status}`)
	assert.match(below.json.message, /plain/)
	const over = await envd(sbx, 'POST', q('/tmp'), 'x', OCTET)
	assert.equal(over.status, 400)
	assert.match(over.json.message, /director/)
	assert.equal(
		(await rpc(sbx, 'filesystem.Filesystem/ListDir', { path: '/tmp/plain', depth: 1 })).json.code,
		'invalid_argument',
	)
	assert.equal((await envd(sbx, 'GET', q('/tmp/plain'))).text, 'x')
})

test('a FIFO, a device and a socket do not hang the server', async () => {
	const run = await start(
		sbx,
		'cd /tmp && mkfifo ff && python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\'/tmp/sk\')"',
	)
	await run.ended
	for (const path of ['/tmp/ff', '/tmp/sk']) {
		const read = await envd(sbx, 'GET', q(path), undefined, { timeout: 30000 })
		assert.ok(read.status >= 400 && read.status <= 500, `read ${path}: ${read.status}`)
		const write = await envd(sbx, 'POST', q(path), 'x', { ...OCTET, timeout: 30000 })
		assert.ok(write.status >= 400 && write.status <= 500, `write ${path}: ${write.status}`)
		assert.equal((await rpc(sbx, 'filesystem.Filesystem/Stat', { path }, { timeout: 30000 })).status, 200)
	}
	const endless = await envd(sbx, 'GET', q('/dev/zero'), undefined, {
		headers: { Range: 'bytes=0-9' },
		timeout: 30000,
	}).catch(() => ({ status: 0 }))
	assert.ok(endless.status !== 200 || endless.body.length < 1 << 30)
	const home = await envd(sbx, 'GET', '/health', undefined, { timeout: 30000 })
	assert.equal(home.status, 204)
})

test('the root and system directories cannot be removed into a broken server', async () => {
	const other = await createRaw({ timeout: 60 })
	try {
		await rpc(other, 'filesystem.Filesystem/Remove', { path: '/' }, { timeout: 50000 }).catch(() => {})
		await rpc(other, 'filesystem.Filesystem/Remove', { path: '/proc' }, { timeout: 20000 }).catch(() => {})
	} finally {
		assert.equal((await killRaw(other)).status, 204)
	}
	const next = await createRaw({})
	const run = await start(next, 'test -e /etc/passwd && echo whole')
	await run.ended
	await killRaw(next)
	assert.ok(
		JSON.stringify(run.events).includes(Buffer.from('whole\n').toString('base64')),
		'the template was damaged',
	)
})

test('errors carry no host paths, keys or addresses', async () => {
	const seen = []
	for (const path of ['/no/such', '/tmp', '/dev/mem', '/proc/1/mem'])
		seen.push(
			(
				await envd(sbx, 'GET', q(path), undefined, { timeout: 30000 }).catch((e) => ({
					text: e.message,
				}))
			).text,
		)
	seen.push((await api('POST', '/v2/sandboxes', { templateID: '../../etc' })).text)
	seen.push((await api('GET', '/sandboxes/../../etc/passwd')).text)
	for (const text of seen) {
		assert.ok(
			!text.includes(server.stateDir) && !text.includes(server.runDir) && !text.includes(server.key),
			text.slice(0, 200),
		)
		assert.ok(!/\/var\/cache\/atoll/.test(text), text.slice(0, 200))
	}
})
