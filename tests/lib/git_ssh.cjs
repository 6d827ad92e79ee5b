// SPDX-License-Identifier: Apache-2.0
// Git over SSH for a test: one key may run git's two programs on the repositories below ROOT. Runs inside a sandbox.
// Usage: node git_ssh.cjs PORT ROOT HOST_KEY AUTHORIZED_KEY
const fs = require('fs'),
	path = require('path'),
	{ spawn } = require('child_process')
const { Server, utils } = require('ssh2')

const [port, root, hostKey, authorized] = process.argv.slice(2)
const allowed = utils.parseKey(fs.readFileSync(authorized))

function mayEnter(ctx) {
	return (
		ctx.method === 'publickey' &&
		ctx.key.data.equals(allowed.getPublicSSH()) &&
		(!ctx.signature || allowed.verify(ctx.blob, ctx.signature, ctx.hashAlgo) === true)
	)
}

function run(accept, reject, { command }) {
	const m = /^(git-upload-pack|git-receive-pack) '\/?([\w.-]+)'$/.exec(command)
	if (!m) return reject()
	const stream = accept()
	const child = spawn('git', [m[1].slice(4), path.join(root, m[2])])
	stream.pipe(child.stdin)
	child.stdout.pipe(stream, { end: false })
	child.stderr.pipe(stream.stderr, { end: false })
	child.on('close', (code) => {
		stream.exit(code ?? 1)
		stream.end()
	})
}

new Server({ hostKeys: [fs.readFileSync(hostKey)] }, (client) => {
	client.on('authentication', (ctx) => (mayEnter(ctx) ? ctx.accept() : ctx.reject(['publickey'])))
	client.on('ready', () =>
		client.on('session', (accept) => {
			const session = accept()
			session.on('env', (accept) => accept && accept())
			session.on('exec', run)
		}),
	)
	client.on('error', () => {})
}).listen(Number(port), '127.0.0.1', () => console.log('listening'))
