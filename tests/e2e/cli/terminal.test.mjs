// SPDX-License-Identifier: Apache-2.0
// atoll shell and exec -t: a real terminal on both sides. atoll top: a screen that leaves no trace.
import { after, before, test } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import { ATOLL, atoll, ok, onTerminal } from '../../lib/cli.mjs'

const PROMPT = '$ '
let id

before(() => {
	id = ok(['create', '--timeout', '300']).trim()
})
after(() => {
	atoll(['kill', id])
})

const processes = () => ok(['exec', id, '--', 'ps', '-e', '-o', 'args='])

test('a shell has a terminal of the right size, follows its changes, and tells its exit status', () => {
	const got = onTerminal(
		['shell', id],
		[
			{ expect: PROMPT },
			{ send: 'stty size; echo "term=$TERM"; tty\r' },
			{ expect: '24 80' },
			{ expect: 'term=xterm' },
			{ expect: '/dev/pts/' },
			{ expect: PROMPT },
			{ resize: [50, 132] },
			{ send: 'until [ "$(stty size)" = "50 132" ]; do sleep 0.1; done; echo "now $(stty size)"\r' },
			{ expect: 'now 50 132' },
			{ expect: PROMPT },
			{ send: 'exit 7\r' },
		],
	)
	assert.deepEqual([got.code, got.ended, got.restored], [7, true, true])
})

test('Ctrl-C and Ctrl-D are keys of the shell, not ends of the session', () => {
	const got = onTerminal(
		['shell', id, '--user', 'root', '--cwd', '/tmp', '--env', 'A=it is set'],
		[
			{ expect: '# ' },
			{ send: `bash -c 'echo be""gun; exec sleep 100'\r` },
			{ expect: 'begun' },
			{ send: '\x03' },
			{ expect: '# ' },
			{ send: 'echo "$(pwd) $(id -u) $A"\r' },
			{ expect: '/tmp 0 it is set' },
			{ expect: '# ' },
			{ send: 'echo rea""dy; cat\r' },
			{ expect: 'ready' },
			{ send: 'line\r' },
			{ expect: 'line\r\nline' },
			{ send: '\x04' },
			{ expect: '# ' },
			{ send: '\x04' },
		],
	)
	assert.deepEqual([got.ended, got.restored], [true, true])
	assert.ok(!processes().includes('sleep 100'))
})

test('a large paste arrives whole', () => {
	const text = 'x'.repeat(3000)
	const got = onTerminal(
		['shell', id],
		[
			{ expect: PROMPT },
			{ send: 'wc -c <<E\r' },
			...Array.from({ length: 40 }, () => ({ send: `${text}\r` })),
			{ send: 'E\r' },
			{ expect: String(40 * 3001) },
			{ send: 'exit\r' },
		],
	)
	assert.deepEqual([got.code, got.restored], [0, true])
})

test('the escape keys leave, the terminal is restored, and the shell is gone', () => {
	const got = onTerminal(
		['shell', id],
		[
			{ expect: PROMPT },
			{ send: 'vi() { echo be""gun; sleep 1000; }; vi\r' },
			{ expect: 'begun' },
			{ send: '\r~.' },
		],
	)
	assert.deepEqual([got.code, got.ended, got.restored], [1, true, true])
	assert.ok(!processes().includes('bash -i -l'), processes())
})

test('a signal ends the session as it ends a program, and leaves neither shell nor raw mode', () => {
	for (const signal of ['SIGTERM', 'SIGHUP']) {
		const got = onTerminal(['shell', id], [{ expect: PROMPT }, { signal }])
		assert.equal(got.restored, true)
		assert.ok(got.code < 0, `${signal}: ${got.code}`)
	}
	assert.ok(!processes().includes('bash -i -l'), processes())
})

test('the end of the sandbox ends the shell and is told', () => {
	const other = ok(['create', '--timeout', '120']).trim()
	const got = onTerminal(['shell', other], [{ expect: PROMPT }, { run: [ATOLL, 'kill', other] }])
	assert.deepEqual([got.code, got.ended, got.restored], [1, true, true])
	assert.match(got.screen, /was killed/)
})

test('exec -t: a terminal for one command', () => {
	const got = onTerminal(
		[
			'exec',
			'-t',
			id,
			'--',
			'bash',
			'-c',
			'test -t 0 && test -t 1 && read -p "name? " x; echo "got $x"; exit 3',
		],
		[{ expect: 'name? ' }, { send: 'abc\r' }, { expect: 'got abc' }],
	)
	assert.deepEqual([got.code, got.restored], [3, true])
})

test('without a terminal, shell and exec -t say so', () => {
	for (const args of [
		['shell', id],
		['exec', '-t', id, '--', 'true'],
	]) {
		const got = atoll(args)
		assert.equal(got.code, 1)
		assert.match(got.err, /terminal/)
	}
	assert.equal(atoll(['exec', '-t', '-n', id, '--', 'true']).code, 2)
	assert.match(onTerminal(['shell', 'i0000000000000000000'], []).screen, /no sandbox/)
})

test('top shows the sandboxes on a screen of its own, and q leaves it', () => {
	const got = onTerminal(
		['top', '--interval', '1'],
		[
			{ expect: '\x1b[?1049h' },
			{ expect: 'CPU%' },
			{ expect: id },
			{ resize: [10, 40] },
			{ expect: '\x1b[J' },
			{ expect: '\x1b[J' },
			{ send: 'm' }, // drawn once more, whole
			{ expect: 'running' },
			{ send: 'q' },
		],
	)
	assert.deepEqual([got.code, got.ended, got.restored], [0, true, true])
	assert.match(got.screen, /\x1b\[\?1049l/)
	for (const end of [{ send: '\x03' }, { signal: 'SIGTERM' }]) {
		const other = onTerminal(['top'], [{ expect: id }, end])
		assert.deepEqual([other.ended, other.restored], [true, true])
		assert.match(other.screen, /\x1b\[\?1049l/)
	}
	assert.match(atoll(['top']).err, /terminal/)
})
