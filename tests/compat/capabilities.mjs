// SPDX-License-Identifier: Apache-2.0
// What a client may want to do. Each id is tried by js/*.cjs and py/*.py with every client that has the call; the rows
// of docs/compatibility.md.

export const GROUPS = [
	[
		'Sandboxes',
		{
			'sandbox.create': 'create with template, timeout, metadata and variables',
			'sandbox.connect': 'connect by id',
			'sandbox.list': 'list, by metadata',
			'sandbox.info': 'information',
			'sandbox.timeout': 'set the timeout; expiry',
			'sandbox.kill': 'kill; killing an ended one is reported',
			'sandbox.metrics': 'metrics',
			'sandbox.pause': 'pause and resume, processes included',
			'sandbox.secure': 'access tokens: requests without one are refused',
			'sandbox.snapshot': 'snapshots',
			'sandbox.fork': 'fork',
		},
	],
	[
		'Ports and addresses',
		{
			'ports.host': 'a server inside by its host name',
			'urls.download': 'signed download address',
			'urls.upload': 'signed upload address',
		},
	],
	[
		'Commands',
		{
			'commands.run': 'run: output, user, directory, variables',
			'commands.error': 'a failing command: exit code and output',
			'commands.stream': 'output while it runs',
			'commands.background': 'background commands: list, wait',
			'commands.kill': 'kill',
			'commands.stdin': 'input',
			'commands.eof': 'end of input',
			'commands.input-stream': 'input as a stream',
			'commands.connect': 'connect to a running one',
			'commands.timeout': 'time limit',
		},
	],
	[
		'Terminals',
		{
			'pty.create': 'create, type, read, exit',
			'pty.resize': 'resize',
			'pty.kill': 'kill',
			'pty.connect': 'connect to an open one',
		},
	],
	[
		'Files',
		{
			'files.text': 'write and read text',
			'files.bytes': 'write and read bytes',
			'files.stream': 'read as a stream',
			'files.many': 'write many at once',
			'files.list': 'list, in depth',
			'files.info': 'information; exists',
			'files.dirs': 'make directories',
			'files.rename': 'rename',
			'files.remove': 'remove',
			'files.watch': 'watch a directory',
			'files.watch-tree': 'watch a tree',
			'files.metadata': 'metadata of files',
			'files.gzip': 'compressed transfer',
		},
	],
	[
		'Code',
		{
			'code.python': 'Python with state',
			'code.error': 'errors as data',
			'code.stream': 'output and results while it runs',
			'code.javascript': 'JavaScript',
			'code.typescript': 'TypeScript',
			'code.bash': 'bash',
			'code.r': 'R',
			'code.java': 'Java',
			'code.context': 'separate contexts',
			'code.contexts': 'list, restart and remove contexts',
			'code.table': 'tables',
			'code.png': 'pictures',
			'code.chart': 'charts as data',
			'code.env': 'variables for one run',
			'code.timeout': 'time limit; the next run works',
		},
	],
	[
		'Network',
		{
			'sandbox.offline': 'no internet',
			'network.rules': 'rules by address, changed while it runs',
		},
	],
	[
		'Git',
		{
			'git.work': 'init, add, commit, status, branches',
			'git.remote': 'clone, push, pull',
		},
	],
	[
		'Templates and volumes',
		{
			'template.build': 'build a template',
			'volume.create': 'make and remove a volume, write and read a file',
		},
	],
]

// What the server does not do yet, and says so.
export const LATER = ['template.build']

export const IDS = GROUPS.flatMap(([, rows]) => Object.keys(rows))
