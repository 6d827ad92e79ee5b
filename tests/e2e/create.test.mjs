// SPDX-License-Identifier: Apache-2.0
// POST /sandboxes and /v2/sandboxes: options, defaults, refusals.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import {
	INFO_FIELDS,
	api,
	createRaw,
	envd,
	killRaw,
	request,
	routeHeaders,
	rpc,
	sdk,
	server,
	withRaw,
	withSandbox,
} from '../lib/client.mjs'

const seconds = (info) => (Date.parse(info.endAt) - Date.parse(info.startedAt)) / 1000

async function info(sbx) {
	const res = await api('GET', `/sandboxes/${sbx.sandboxID}`)
	assert.equal(res.status, 200, res.text)
	return res.json
}

test('v2 answers with every field a client needs', async () => {
	await withRaw({}, async (sbx) => {
		assert.match(sbx.sandboxID, /^i[a-z0-9]{19,20}$/)
		assert.equal(typeof sbx.templateID, 'string')
		assert.equal(typeof sbx.clientID, 'string')
		assert.match(sbx.envdVersion, /^\d+\.\d+\.\d+$/)
		assert.ok(sbx.envdAccessToken.length >= 20)
		const got = await info(sbx)
		for (const key of INFO_FIELDS) assert.ok(key in got, key)
		assert.equal(got.state, 'running')
		assert.ok(Math.abs(seconds(got) - 300) <= 1, 'a v2 sandbox lives 300 s unless told otherwise')
		assert.equal(got.envdAccessToken, sbx.envdAccessToken)
	})
})

test('v1 without secure: no token, 15 s, envd open', async () => {
	await withRaw(
		{},
		async (sbx) => {
			assert.equal(sbx.envdAccessToken ?? null, null)
			assert.ok(Math.abs(seconds(await info(sbx)) - 15) <= 1)
			const res = await rpc(sbx, 'filesystem.Filesystem/Stat', { path: '/' })
			assert.equal(res.status, 200, res.text)
		},
		{ version: 'v1' },
	)
})

test('v1 with secure: token is demanded on envd', async () => {
	await withRaw(
		{ secure: true, timeout: 60 },
		async (sbx) => {
			assert.ok(sbx.envdAccessToken)
			const bare = { sandboxID: sbx.sandboxID }
			const refused = await rpc(bare, 'process.Process/List', {})
			assert.equal(refused.status, 401)
			assert.equal(refused.json.code, 401)
			const wrong = await rpc(
				{ ...bare, envdAccessToken: 'x'.repeat(sbx.envdAccessToken.length) },
				'process.Process/List',
				{},
			)
			assert.equal(wrong.status, 401)
			assert.equal((await rpc(sbx, 'process.Process/List', {})).status, 200)
			assert.equal((await envd(bare, 'GET', '/health')).status, 204)
		},
		{ version: 'v1' },
	)
})

for (const timeout of [60, 300, 600, 1800, 86400]) {
	test(`timeout ${timeout} s is kept`, async () => {
		await withRaw({ timeout }, async (sbx) => {
			assert.ok(Math.abs(seconds(await info(sbx)) - timeout) <= 1)
		})
	})
}

for (const timeout of [0, -1, 86401, 1e12]) {
	test(`timeout ${timeout} is refused`, async () => {
		for (const path of ['/sandboxes', '/v2/sandboxes']) {
			const res = await api('POST', path, { templateID: 'base', timeout })
			assert.equal(res.status, 400, res.text)
			assert.equal(res.json.code, 400)
			assert.match(res.json.message, /timeout/i)
		}
	})
}

test('metadata, envs and timeout through the SDK', async () => {
	const metadata = { team: 'blue', 'odd key &=%': 'ä "quoted" & = %' }
	await withSandbox({ metadata, envs: { FOO: 'bar baz' }, timeoutMs: 61000 }, async (sbx) => {
		const got = await sbx.getInfo()
		assert.deepEqual(got.metadata, metadata)
		assert.ok(Math.abs(got.endAt - got.startedAt - 61000) <= 1000)
		assert.equal((await sbx.commands.run('echo "$FOO"')).stdout, 'bar baz\n')
		assert.equal(
			(await sbx.commands.run('python3 -c "import os; print(os.environ[\'FOO\'])"')).stdout,
			'bar baz\n',
		)
	})
})

test('envVars cannot replace the E2B_ names, a command can', async () => {
	await withSandbox({ envs: { E2B_SANDBOX_ID: 'forged', E2B_SANDBOX: 'no' } }, async (sbx) => {
		const env = await sbx.commands.run('echo "$E2B_SANDBOX_ID $E2B_SANDBOX"')
		assert.equal(env.stdout, `${sbx.sandboxId} true\n`)
		const own = await sbx.commands.run('echo "$E2B_SANDBOX_ID"', { envs: { E2B_SANDBOX_ID: 'mine' } })
		assert.equal(own.stdout, 'mine\n')
		assert.equal((await sbx.commands.run('cat /run/e2b/.E2B_SANDBOX_ID')).stdout.trim(), sbx.sandboxId)
	})
})

for (const templateID of ['base', 'code-interpreter-v1', 'python3', 'node-js', 'python-datascience', 'base:default']) {
	test(`template ${templateID} resolves`, async () => {
		await withRaw({ templateID }, async (sbx) => {
			assert.ok(sbx.sandboxID)
		})
	})
}

// The clients' own part of it: they make a sandbox of the template 'mcp-gateway' and run the program of that name in
// it, with a token. Which servers that starts is the program's business.
test('the option mcp of clients: what is missing is said, and with a template of that name it works', async () => {
	const { Sandbox } = sdk(),
		GATEWAY = `#!/bin/bash
mkdir -p /etc/mcp-gateway; echo -n "$GATEWAY_ACCESS_TOKEN" > /etc/mcp-gateway/.token; echo "$@" > /tmp/config
mkdir -p /srv/mcp; cd /srv; echo up > mcp/index.html
python3 -m http.server 50005 > /dev/null 2>&1 &
for i in $(seq 200); do (exec 3<>/dev/tcp/127.0.0.1/50005) 2>/dev/null && exit 0; sleep 0.1; done; exit 1
`
	await assert.rejects(
		Sandbox.create({ mcp: { time: {} } }),
		new RegExp(
			"template 'mcp-gateway' not found: the option 'mcp' of clients wants one of that name " +
				'with the program mcp-gateway.*at /mcp',
		),
	)
	const made = await Sandbox.create('base', { timeoutMs: 120000 })
	let snapshot, sbx
	try {
		await made.files.write('/usr/local/bin/mcp-gateway', GATEWAY, { user: 'root' })
		await made.commands.run('chmod 755 /usr/local/bin/mcp-gateway', { user: 'root' })
		snapshot = (await api('POST', `/sandboxes/${made.sandboxId}/snapshots`, { name: 'mcp-gateway' })).json
		sbx = await Sandbox.create({ mcp: { time: { zone: "it's" } }, timeoutMs: 120000 })
		assert.equal((await sbx.files.read('/tmp/config')).trim(), `--config {"time":{"zone":"it's"}}`)
		const token = await sbx.getMcpToken()
		assert.match(token, /^[0-9a-f-]{36}$/)
		assert.equal(await (await Sandbox.connect(sbx.sandboxId)).getMcpToken(), token, 'read from the file')
		assert.match(sbx.getMcpUrl(), new RegExp(`50005-${sbx.sandboxId}\\..*/mcp$`))
		const page = await request('GET', '/mcp/', {
			headers: routeHeaders({ sandboxID: sbx.sandboxId }, 50005),
		})
		assert.deepEqual([page.status, page.text], [200, 'up\n'])
	} finally {
		await sbx?.kill()
		await made.kill()
		if (snapshot)
			assert.equal(
				(await api('DELETE', `/templates/${encodeURIComponent(snapshot.snapshotID)}`)).status,
				204,
			)
	}
})

test('an unknown template is 404 and named', async () => {
	for (const path of ['/sandboxes', '/v2/sandboxes']) {
		const res = await api('POST', path, { templateID: 'no-such-thing' })
		assert.equal(res.status, 404)
		assert.equal(res.json.code, 404)
		assert.match(res.json.message, /template 'no-such-thing' not found/)
	}
	const { Sandbox } = sdk()
	await assert.rejects(Sandbox.create('no-such-thing'), /no-such-thing/)
})

test('unknown and null fields are ignored, a chunked body is read', async () => {
	const sbx = await createRaw(
		{ somethingNew: { a: [1] }, mcp: null, metadata: null, envVars: null },
		{ chunked: true },
	)
	assert.equal((await killRaw(sbx)).status, 204)
})

const wrong = [
	['templateID', { templateID: 5 }],
	['templateID', { templateID: '' }],
	['templateID', { templateID: null }],
	['timeout', { timeout: '60' }],
	['timeout', { timeout: 1.5 }],
	['timeout', { timeout: {} }],
	['metadata', { metadata: { a: 1 } }],
	['metadata', { metadata: [] }],
	['metadata', { metadata: 'x' }],
	['envVars', { envVars: { A: 1 } }],
	['envVars', { envVars: 'A=1' }],
	['envVars', { envVars: { 'A=B': 'x' } }],
	['envVars', { envVars: { 'A': 'nul\u0000byte' } }],
	['autoPause', { autoPause: 'yes' }],
]
for (const [field, body] of wrong) {
	test(`a wrong ${field} is named: ${JSON.stringify(body)}`, async () => {
		const res = await api('POST', '/v2/sandboxes', { templateID: 'base', ...body })
		if (res.status === 201) await killRaw(res.json)
		assert.equal(res.status, 400, res.text)
		assert.equal(res.json.code, 400)
		assert.match(res.json.message, new RegExp(field))
	})
}

test('no key and a wrong key are 401', async () => {
	for (const key of [null, 'e2b_' + '0'.repeat(40), server.key + '0', server.key.slice(0, -1), '']) {
		const res = await api('POST', '/v2/sandboxes', { templateID: 'base' }, { key })
		assert.equal(res.status, 401, String(key))
		assert.equal(res.json.code, 401)
		assert.equal(typeof res.json.message, 'string')
	}
	assert.equal((await request('GET', '/sandboxes')).status, 401)
})

test('the key is of the form that all SDKs accept, and private', async () => {
	const fs = await import('node:fs')
	assert.match(server.key, /^e2b_[0-9a-f]{40}$/)
	assert.equal(fs.statSync(`${server.stateDir}/key`).mode & 0o777, 0o600)
})

test('ten creations at once get ten ids', async () => {
	const all = await Promise.all(Array.from({ length: 10 }, () => createRaw({})))
	try {
		assert.equal(new Set(all.map((s) => s.sandboxID)).size, 10)
		const health = await Promise.all(all.map((s) => envd(s, 'GET', '/health')))
		assert.deepEqual(
			health.map((h) => h.status),
			Array(10).fill(204),
		)
	} finally {
		await Promise.all(all.map((s) => killRaw(s)))
	}
})

test('a create with a key is done once, also when both come together', async () => {
	const once = { headers: { 'Idempotency-Key': `once-${process.pid}` } }
	const make = (path, more = once) => api('POST', path, { templateID: 'base', timeout: 60 }, more)
	const all = await Promise.all([make('/v2/sandboxes'), make('/v2/sandboxes'), make('/sandboxes')])
	all.push(await make('/v2/sandboxes'))
	const other = await make('/v2/sandboxes', { headers: { 'Idempotency-Key': `once-${process.pid}-b` } })
	try {
		assert.deepEqual(
			all.map((res) => res.status),
			[201, 201, 201, 201],
		)
		assert.equal(new Set(all.map((res) => res.text)).size, 1, 'tokens and all')
		assert.notEqual(other.json.sandboxID, all[0].json.sandboxID)
	} finally {
		await killRaw(all[0].json)
		await killRaw(other.json)
	}
	const after = await make('/v2/sandboxes')
	assert.notEqual(after.json.sandboxID, all[0].json.sandboxID, 'one that is gone is not given again')
	await killRaw(after.json)
	for (const bad of ['', 'Capital', 'a b', 'x'.repeat(256)])
		assert.equal((await make('/v2/sandboxes', { headers: { 'Idempotency-Key': bad } })).status, 400, bad)
})
