// SPDX-License-Identifier: Apache-2.0
// Every call of the control API that an installed client has in it leads somewhere: taken out of the published bundles,
// so that a newer client with a new call makes this fail.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { api, sdk, server, withRaw, withSandbox } from '../lib/client.mjs'
import { CLIENTS, install } from './clients.mjs'
import { installCli, PROGRAM } from './e2b_cli.mjs'

const BUNDLES = ['e2b', 'e2b-v1calls', 'e2b-old'].map((name) =>
	path.join(process.env.ATOLL_TEST_NPM, 'node_modules', name, 'dist/index.js'),
)
const ELSEWHERE = /^\/(files|health|volumecontent)\b/ // ports of a sandbox; not in the table of routes

function calls(file) {
	const text = fs.readFileSync(file, 'utf8')
	return [...text.matchAll(/\.(GET|POST|PUT|PATCH|DELETE)\((["'`])(\/[^"'`]*)\2/g)]
		.map(([, method, , route]) => `${method} ${route}`)
		.filter((call) => !ELSEWHERE.test(call.split(' ')[1]))
}

const PYTHON_VERSION = '2.63.0' // what a later one has in it was not there to be looked at when this was written

// The Python client has a module for each call that the published description of the API knows, used by it or not.
function pythonCalls(dir) {
	const names = fs.readdirSync(dir, { recursive: true })
	if (!names.some((name) => name.endsWith(`/e2b-${PYTHON_VERSION}.dist-info`))) return []
	const files = names.filter((name) => /e2b\/api\/client\/api\/\w+\/\w+\.py$/.test(name))
	return files.flatMap((name) => {
		const text = fs.readFileSync(path.join(dir, name), 'utf8')
		const method = /"method": "(\w+)"/.exec(text)?.[1],
			route = /"url": f?"([^"]+)"/.exec(text)?.[1]
		if (!method || !route) return []
		const called = route.replace(/\{(\w+?)_id\}/g, '{$1ID}').replace('{hash_}', '{hash}')
		return [`${method.toUpperCase()} ${called}`]
	})
}

const noCli = installCli()
if (!noCli) BUNDLES.push(PROGRAM)
const python = install(
	CLIENTS.find((one) => one.id === 'py'),
	server.buildDir,
)
const PYTHON = python.why ? [] : pythonCalls(python.dir)
const ALL = [...new Set([...BUNDLES.flatMap(calls), ...PYTHON])].sort()

test('the bundles have calls in them', () => {
	assert.ok(ALL.length > 25, ALL.join('\n'))
	for (const one of ['POST /v2/sandboxes', 'POST /sandboxes', 'GET /sandboxes', 'DELETE /sandboxes/{sandboxID}'])
		assert.ok(ALL.includes(one), one)
})

test('those of the command line client are among them', (t) => {
	if (noCli) return t.skip(noCli)
	assert.ok(calls(PROGRAM).length > 5, calls(PROGRAM).join('\n'))
})

test('those of the Python client are among them', (t) => {
	if (python.why) return t.skip(python.why)
	if (PYTHON.length === 0) return t.skip(`the newest is not ${PYTHON_VERSION}`)
	for (const one of ['GET /templates/{templateID}/tags/groups', 'GET /default-templates', 'POST /v2/sandboxes'])
		assert.ok(PYTHON.includes(one), PYTHON.join('\n'))
})

for (const call of ALL) {
	test(`${call} is known`, async () => {
		const [method, route] = call.split(' ')
		await withRaw({}, async (sbx) => {
			const ids = {
				sandboxID: sbx.sandboxID,
				templateID: 'base',
				alias: 'base',
				hash: 'a'.repeat(64),
			}
			const where = route.replace(/\{(\w+)\}/g, (_, name) => ids[name] ?? 'none')
			const res = await api(method, where, method === 'GET' || method === 'DELETE' ? undefined : {})
			assert.notEqual(res.status, 405, res.text)
			assert.notEqual(res.json?.message, 'no such path')
			if (res.status >= 400) {
				assert.equal(res.json.code, res.status)
				assert.ok(res.json.message)
			}
			assert.notEqual(
				(await api(method, where, undefined, { key: null })).status,
				404,
				'without a key',
			)
		})
	})
}

test('what is not there yet says so in words, and takes nothing away', async () => {
	const { Sandbox, Template, Volume } = sdk()
	await withSandbox({}, async (sbx) => {
		assert.ok(Array.isArray(await Sandbox.listSnapshots().nextItems()))
		assert.deepEqual(await Template.getTags('base').then((tags) => tags.map((t) => t.tag)), ['default'])
		assert.equal(await Template.exists('base'), true)
		assert.equal(await Template.exists('no-such-template'), false)
		assert.equal(await Sandbox.deleteSnapshot('no-such-snapshot'), false)
		if (Volume) {
			assert.equal(await Volume.destroy('no-such-volume'), false)
		}
		assert.equal(await sbx.isRunning(), true)
		const base = await api('DELETE', '/templates/base')
		assert.equal(base.status, 400)
		assert.match(base.json.message, /belongs to the server/)
	})
	for (const route of ['/templates', '/v2/templates']) {
		const [{ teamID }] = (await api('GET', '/teams')).json
		assert.equal((await api('GET', `${route}?teamID=${teamID}`)).status, 200)
		assert.equal((await api('GET', `${route}?teamID=00000000-0000-0000-0000-000000000000`)).status, 400)
	}
	const gone = await api('POST', '/sandboxes/i0000000000000000000/fork', {})
	assert.equal(gone.status, 404)
})
