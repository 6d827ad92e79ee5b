// SPDX-License-Identifier: Apache-2.0
// Credentials of clouds: the password that AWS gives for a signed request, and the key file of Google; against
// stand-ins that check them.
import { after, test } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawn } from 'node:child_process'
import { sdk, server } from '../../lib/client.mjs'
import { newServer } from '../../lib/server.mjs'
import { debianTar, imageOf, liar, missing, serve } from '../../lib/registry.mjs'
import { tarOf } from '../../lib/tar.mjs'

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-clouds-'))
after(() => fs.rmSync(dir, { recursive: true, force: true }))

const KEY = {
	type: 'aws',
	awsAccessKeyId: 'AKIDEXAMPLE',
	awsSecretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
	awsRegion: 'eu-west-1',
}
const ACCOUNT = '123456789012.dkr.ecr.eu-west-1.localhost'
const PASSWORD = Buffer.from('AWS:for-a-while').toString('base64')

function pull(port, name, auth, more = []) {
	const file = path.join(dir, `auth-${crypto.randomUUID()}`)
	fs.writeFileSync(file, JSON.stringify(auth))
	return new Promise((done) => {
		const child = spawn(
			path.join(server.buildDir, 'src/oci/atoll-pull'),
			[
				'--cache',
				path.join(dir, 'cache'),
				'--stall-s',
				'2',
				'--registry',
				`http://${ACCOUNT}:${port}`,
				'--auth-file',
				file,
				...more,
				name,
			],
			{ stdio: ['ignore', 'pipe', 'inherit'] },
		)
		let text = ''
		child.stdout.on('data', (d) => (text += d))
		child.once('close', (code) => done({ code, text, error: /"message":"((\\.|[^"])*)"/.exec(text)?.[1] }))
	})
}

// Signature of version 4, computed from what has arrived.
function isSigned(req, body) {
	const pattern = new RegExp(
		'^AWS4-HMAC-SHA256 Credential=(\\S+)/(\\d{8})/(\\S+)/ecr/aws4_request, ' +
			'SignedHeaders=(\\S+), Signature=([0-9a-f]{64})$',
	)
	const m = pattern.exec(req.headers.authorization ?? '')
	if (!m || m[1] !== KEY.awsAccessKeyId || m[3] !== KEY.awsRegion) return false
	const hex = (text) => crypto.createHash('sha256').update(text).digest('hex')
	const mac = (key, text) => crypto.createHmac('sha256', key).update(text).digest()
	const names = m[4].split(';')
	for (const needed of ['host', 'x-amz-date', 'x-amz-target'])
		assert.ok(names.includes(needed), `${needed} is signed`)
	const canonical = [
		req.method,
		req.url,
		'',
		...names.map((n) => `${n}:${req.headers[n]}`),
		'',
		m[4],
		hex(body),
	].join('\n')
	const text = [
		'AWS4-HMAC-SHA256',
		req.headers['x-amz-date'],
		`${m[2]}/${m[3]}/ecr/aws4_request`,
		hex(canonical),
	].join('\n')
	const key = [m[2], m[3], 'ecr', 'aws4_request'].reduce(
		(k, part) => mac(k, part),
		`AWS4${KEY.awsSecretAccessKey}`,
	)
	const at = Date.parse(req.headers['x-amz-date'].replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'))
	return mac(key, text).toString('hex') === m[5] && Math.abs(at - Date.now()) < 300000
}

// A registry of AWS and its API, at one address by two names.
function cloud(image, { refuse = false, answer } = {}) {
	return serve(image, (req, res) => {
		if (req.headers.host.startsWith('api.ecr.')) {
			let body = ''
			req.on('data', (d) => (body += d))
			req.on('end', () => {
				const good =
					!refuse &&
					isSigned(req, body) &&
					req.headers['x-amz-target'] ===
						'AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken'
				res.statusCode = good ? 200 : 400
				res.end(
					good
						? (answer ??
								JSON.stringify({
									authorizationData: [
										{
											authorizationToken: PASSWORD,
											expiresAt: 1,
										},
									],
								}))
						: JSON.stringify({
								__type: 'UnrecognizedClientException',
								message: 'The security token is invalid.',
							}),
				)
			})
			return true
		}
		if (req.headers.authorization === `Basic ${PASSWORD}`) return false
		res.statusCode = 401
		res.setHeader('www-authenticate', 'Basic realm="it",service="ecr"')
		res.end()
		return true
	})
}

const image = () => imageOf([tarOf([{ name: `f-${crypto.randomUUID()}`, data: 'x' }])])
const both = (port) => ['--registry', `http://api.ecr.eu-west-1.localhost:${port}`]

test('AWS gives a password for a signed request', async () => {
	await liar(cloud(image()), async (reg) => {
		const port = reg.url.split(':').pop()
		const name = `${ACCOUNT}:${port}/team/app:1`
		const good = await pull(port, name, KEY, both(port))
		assert.equal(good.code, 0, good.text)
		assert.equal(reg.seen.filter((s) => s.auth?.startsWith('AWS4')).length, 1, 'it is asked once')
		assert.ok(!reg.seen.some((s) => JSON.stringify(s).includes(KEY.awsSecretAccessKey)))
		assert.match(
			(await pull(port, name, { ...KEY, awsSecretAccessKey: 'wrong' }, both(port))).error,
			/AWS refuses these credentials \(status 400\): .*UnrecognizedClientException/,
		)
		assert.match(
			(await pull(port, name, { ...KEY, awsRegion: 'us-east-1' }, both(port))).error,
			/field 'awsRegion' is 'us-east-1', but the registry is in 'eu-west-1'/,
		)
		assert.match(
			(await pull(port, name, { ...KEY, awsRegion: 'a\r\nb' }, both(port))).error,
			/field 'awsRegion'/,
		)
		assert.match(
			(await pull(port, name, { ...KEY, awsAccessKeyId: undefined }, both(port))).error,
			/'awsAccessKeyId'/,
		)
		// The API is no more allowed to be anywhere than the registry is.
		assert.match(
			(await pull(port, name, KEY)).error,
			/ask AWS for a password: 'api\.ecr\.eu-west-1\.localhost:\d+' would be asked without TLS/,
		)
		assert.match(
			(await pull(port, `127.0.0.1:${port}/x`, KEY, ['--registry', reg.url])).error,
			/credentials are those of AWS/,
		)
	})
	for (const answer of [
		'{}',
		'[]',
		'no',
		JSON.stringify({ authorizationData: [{ authorizationToken: 'a\r\nX: y' }] }),
	]) {
		await liar(cloud(image(), { answer }), async (reg) => {
			const port = reg.url.split(':').pop()
			assert.match(
				(await pull(port, `${ACCOUNT}:${port}/x`, KEY, both(port))).error,
				/AWS (gave no password|did not answer)/,
			)
		})
	}
})

test('Google takes the key of a service account as a password', async () => {
	const key = JSON.stringify({ type: 'service_account', private_key: '-----BEGIN\nx:y\n' })
	const want = `Basic ${Buffer.from(`_json_key:${key}`).toString('base64')}`
	await liar(
		serve(image(), (req, res) => {
			if (req.headers.authorization === want) return false
			res.statusCode = 401
			res.setHeader('www-authenticate', 'Basic realm="it"')
			res.end()
			return true
		}),
		async (reg) => {
			const port = reg.url.split(':').pop()
			const good = await pull(port, `${reg.host}/x`, { type: 'gcp', serviceAccountJson: key }, [
				'--registry',
				reg.url,
			])
			assert.equal(good.code, 0, good.text)
			assert.match(
				(
					await pull(port, `${reg.host}/x`, { type: 'gcp', serviceAccountJson: '{}' }, [
						'--registry',
						reg.url,
					])
				).error,
				/refuses access .* with these credentials/,
			)
		},
	)
})

test(
	'fromAWSRegistry and fromGCPRegistry of the SDK',
	{ timeout: 240000, skip: missing.length ? `${missing.join(', ')}: not installed` : false },
	async () => {
		const { Template } = sdk()
		await liar(cloud(imageOf([fs.readFileSync(debianTar())])), async (reg) => {
			const port = reg.url.split(':').pop()
			const own = await newServer(server.buildDir, {
				registries: `http://${ACCOUNT}:${port}, http://api.ecr.eu-west-1.localhost:${port}`,
			}).start()
			const opts = { apiKey: own.key, apiUrl: own.url, cpuCount: 1, memoryMB: 512 }
			const {
				awsAccessKeyId: accessKeyId,
				awsSecretAccessKey: secretAccessKey,
				awsRegion: region,
			} = KEY
			try {
				const lines = []
				await Template.build(
					Template()
						.fromAWSRegistry(`${ACCOUNT}:${port}/app:1`, {
							accessKeyId,
							secretAccessKey,
							region,
						})
						.runCmd('true'),
					'of-aws',
					{ ...opts, onBuildLogs: (l) => lines.push(l.message) },
				)
				assert.ok(lines.some((l) => /is sha256:/.test(l)))
				assert.ok(!lines.join('\n').includes(secretAccessKey))
				await assert.rejects(
					Template.build(
						Template().fromAWSRegistry(`${ACCOUNT}:${port}/app:1`, {
							accessKeyId,
							secretAccessKey: 'no',
							region,
						}),
						'of-bad',
						opts,
					),
					/AWS refuses these credentials/,
				)
				await assert.rejects(
					Template.build(
						Template().fromGCPRegistry(`${ACCOUNT}:${port}/app:1`, {
							serviceAccountJSON: { type: 'service_account' },
						}),
						'of-gcp',
						opts,
					),
					/refuses access .* with these credentials/,
				)
			} finally {
				await own.stop()
			}
		})
	},
)
