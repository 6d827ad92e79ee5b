// SPDX-License-Identifier: Apache-2.0
// Serves public/, compressed files to clients that take them.
const fs = require('node:fs')
const http = require('node:http')
const path = require('node:path')

http.createServer((req, res) => {
	if (req.url === '/health')
		return res.end('ok\n')
	const name = path.basename(req.url === '/' ? 'index.html' : req.url)
	const file = path.join(__dirname, 'public', name)
	const zipped = /\bgzip\b/.test(req.headers['accept-encoding'] ?? '') && fs.existsSync(file + '.gz')
	if (!fs.existsSync(file)) {
		res.statusCode = 404
		return res.end('not found\n')
	}
	res.setHeader('Content-Type', 'text/html')
	if (zipped)
		res.setHeader('Content-Encoding', 'gzip')
	fs.createReadStream(zipped ? file + '.gz' : file).pipe(res)
}).listen(Number(process.env.PORT ?? 3000), () => console.log('listening'))
