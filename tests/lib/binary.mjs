// SPDX-License-Identifier: Apache-2.0
// Connect clients of envd that speak protobuf, with the message descriptions that the installed SDK carries.
import fs from 'node:fs'
import path from 'node:path'
import { clientPackage } from './npm.mjs'
import { routeHeaders, asUser, server } from './client.mjs'

// The SDK keeps each .proto file as a base64 descriptor in its bundle; they are not exported.
function descriptors() {
	const file = path.join(process.env.ATOLL_TEST_NPM, 'node_modules/e2b/dist/index.js')
	const text = fs.readFileSync(file, 'utf8')
	return [...text.matchAll(/fileDesc\)?\("([A-Za-z0-9+/=]+)"/g)].map((m) => m[1])
}

function services() {
	const { fileDesc, serviceDesc } = clientPackage('@bufbuild/protobuf/codegenv2')
	const { file_google_protobuf_timestamp: timestamp } = clientPackage('@bufbuild/protobuf/wkt')
	const files = descriptors().map((text) =>
		fileDesc(text, text.startsWith('ChtmaWxlc3lzdGVt') ? [timestamp] : []),
	)
	const named = Object.fromEntries(files.map((file) => [file.proto.package, file]))
	return { Process: serviceDesc(named.process, 0), Filesystem: serviceDesc(named.filesystem, 0) }
}

// { process, filesystem }: generated-style clients. gzip: requests are compressed; json: for comparison.
export function binaryClients(sbx, { user, gzip = false, json = false, base = server.url, timeoutMs } = {}) {
	const { createClient } = clientPackage('@connectrpc/connect')
	const { createConnectTransport, compressionGzip } = clientPackage('@connectrpc/connect-node')
	const head = { ...routeHeaders(sbx), ...asUser(user) }
	const transport = createConnectTransport({
		baseUrl: base,
		httpVersion: '1.1',
		useBinaryFormat: !json,
		defaultTimeoutMs: timeoutMs,
		...(gzip && { sendCompression: compressionGzip, compressMinBytes: 0 }),
		interceptors: [
			(next) => (req) => {
				for (const [name, value] of Object.entries(head)) req.header.set(name, value)
				return next(req)
			},
		],
	})
	const { Process, Filesystem } = services()
	return { process: createClient(Process, transport), filesystem: createClient(Filesystem, transport) }
}
