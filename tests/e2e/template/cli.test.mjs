// SPDX-License-Identifier: Apache-2.0
// atoll template: builds of Dockerfiles and images from the command line, and the examples of the tree. See
// docs/templates.md.
import { test } from '../../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { api, sdk } from '../../lib/client.mjs'
import { ATOLL, atoll as runAtoll } from '../../lib/cli.mjs'
import { spawn, spawnSync } from 'node:child_process'
import { until } from '../../lib/host.mjs'

const { Sandbox } = sdk()
const EXAMPLES = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../examples')
let count = 0
const nameOf = (what) => `cli-${what}-${process.pid}-${++count}`

// for hangs alone: hundreds of megabytes take their time on a busy machine
const atoll = (...args) => runAtoll(args, { timeout: 220000 })

function ok(...args) {
	const run = atoll(...args)
	assert.equal(run.code, 0, run.err)
	return run
}

async function context(files, use) {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-context-'))
	try {
		for (const [name, text] of Object.entries(files)) {
			fs.mkdirSync(path.dirname(path.join(dir, name)), { recursive: true })
			fs.writeFileSync(path.join(dir, name), text)
		}
		return await use(dir)
	} finally {
		fs.rmSync(dir, { recursive: true })
	}
}

async function sh(name, cmd) {
	const sbx = await Sandbox.create(name, { timeoutMs: 60000 })
	try {
		return (await sbx.commands.run(cmd)).stdout.trim()
	} finally {
		await sbx.kill()
	}
}

const probe = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-pip-'))
const noPip =
	spawnSync('pip', ['download', '--quiet', '--no-deps', '--dest', probe, 'six'], { timeout: 20000 }).status !==
		0 && 'no registry of Python packages can be reached'
fs.rmSync(probe, { recursive: true })
const SMALL = ['--memory-mb', '512', '--cpus', '1']

test('a Dockerfile with stages, arguments, heredocs and ignored files becomes a template', () =>
	context(
		{
			Dockerfile: `# escape=\\
ARG WHO=nobody
FROM e2bdev/base AS builder
ARG WHO
ENV GREETING="hello \${WHO}"
WORKDIR /build
RUN <<SCRIPT
echo "$GREETING" > out.txt
SCRIPT

FROM builder AS later
RUN pwd > where.txt; echo "$WHO" >> where.txt

FROM e2bdev/base
ARG UID=4711
RUN useradd --uid $UID numbered
COPY --from=later /build/out.txt /build/where.txt /srv/
COPY app/ /srv/app/
COPY <<EOT /srv/inline.txt
inline
EOT
RUN ["sh", "-c", "cat /srv/out.txt \\
  > /srv/copy.txt"]
USER user
WORKDIR /srv/app
`,
			'app/a.txt': 'a',
			'app/skip.log': 'x',
			'app/keep.log': 'y',
			'.dockerignore': '**/*.log\n!app/keep.log\n',
		},
		async (dir) => {
			const name = nameOf('stages')
			const first = ok('template', 'build', dir, '-t', name, '--build-arg', 'WHO=you', ...SMALL)
			assert.match(first.out, /^[a-z0-9]{20}\n$/)
			assert.equal(
				await sh(name, 'cat /srv/copy.txt /srv/inline.txt; ls; pwd; id -un'),
				'hello you\ninline\na.txt\nkeep.log\n/srv/app\nuser',
			)
			assert.equal(await sh(name, 'cat /srv/where.txt; id -u numbered'), '/build\nyou\n4711')
			fs.utimesSync(path.join(dir, 'app/a.txt'), 1, 1) // touched, not changed
			const again = ok('template', 'build', dir, '-t', name, '--build-arg', 'WHO=you', ...SMALL)
			assert.match(again.err, /CACHED \[finalize\]/)
			assert.doesNotMatch(again.err, /^\[builder/m)
			// stands for the other
			fs.writeFileSync(path.join(dir, 'Dockerfile.dockerignore'), 'app/keep.log\n')
			ok('template', 'build', dir, '-t', name, '--build-arg', 'WHO=you', ...SMALL)
			assert.equal(await sh(name, 'ls'), 'a.txt\nskip.log')
			const tags = JSON.parse(ok('template', 'inspect', name).out).tags.map((t) => t.tag)
			assert.deepEqual(tags, ['default'])
			ok('template', 'tag', name, 'v1', 'stable')
			assert.equal(await sh(`${name}:stable`, 'cat /srv/inline.txt'), 'inline')
			ok('template', 'tag', name, 'stable', '--remove')
			assert.ok(
				JSON.parse(ok('template', 'list', '--json').out).some(
					(t) => t.aliases[0] === name && t.spawnCount >= 2,
				),
			)
			assert.match(ok('template', 'list').out, new RegExp(`^${name} `, 'm'))
			ok('template', 'rm', name)
			assert.match(atoll('template', 'inspect', name).err, /there is no template/)
		},
	))

test(
	'a Dockerfile keeps directories, leaves files out, has triggers, and modes as chmod has them',
	{ timeout: 240000 },
	() =>
		context(
			{
				Dockerfile: `FROM e2bdev/base AS under
ONBUILD RUN echo "$PWD" > /triggered
ONBUILD COPY <<TEXT /by-trigger.txt
from below
TEXT
RUN mkdir -p /made/deep/er && echo 1 > /made/deep/er/one
FROM under
ENV A=old
ENV A=new B=$A
COPY --parents ./x/a.txt ./y/a.txt /kept/
COPY --parents x/./sub/*.txt /pivot/
COPY --parents x/**/*.txt /deep/
COPY --parents --from=under /made/./deep /staged/
COPY --exclude=*.txt --exclude=sub x /left/
COPY --exclude=*.md *.* /top/
COPY --chmod=u=rwX,go= x /modes/
COPY --chmod=+x x/a.txt /plus
RUN --mount=type=cache,target=/var/cache/some/where test -d /var/cache/some/where
HEALTHCHECK CMD true
STOPSIGNAL SIGINT
USER root
`,
				'x/a.txt': 'xa',
				'x/b.md': 'xb',
				'x/sub/c.txt': 'c',
				'x/sub/deeper/d.txt': 'd',
				'y/a.txt': 'ya',
				'top.txt': 't',
				'top.md': 'm',
				'.dockerignore': 'Dockerfile\n',
			},
			async (dir) => {
				fs.chmodSync(path.join(dir, 'x/a.txt'), 0o640)
				const name = nameOf('more')
				const run = ok('template', 'build', dir, '-t', name, ...SMALL)
				assert.match(run.err, /^line 19: HEALTHCHECK has no effect/m)
				assert.match(run.err, /^line 20: STOPSIGNAL has no effect/m)
				assert.equal(
					await sh(name, 'cat /triggered /by-trigger.txt; echo $A $B'),
					'/\nfrom below\nnew old',
				)
				const files = async (at) => sh(name, `cd ${at} && find . -type f | sort | xargs`)
				assert.equal(await files('/kept'), './x/a.txt ./y/a.txt')
				assert.equal(await files('/pivot'), './sub/c.txt')
				assert.equal(await files('/deep'), './x/a.txt ./x/sub/c.txt ./x/sub/deeper/d.txt')
				assert.equal(await files('/staged'), './deep/er/one')
				assert.equal(await files('/left'), './b.md')
				assert.equal(await files('/top'), './top.txt')
				assert.equal(
					await sh(name, 'stat -c %a /modes/sub /modes/a.txt /plus | xargs'),
					'700 600 751',
				)
				fs.writeFileSync(
					path.join(dir, 'Dockerfile'),
					'FROM e2bdev/base\nADD https://no-such-host.invalid/r.git#v1:docs /r\n',
				)
				assert.match(atoll('template', 'build', dir, '-t', name, ...SMALL).err, /resolve host/i)
				ok('template', 'rm', name)
			},
		),
)

test('a Dockerfile means what it means to Docker', { timeout: 240000 }, () =>
	context(
		{
			Dockerfile:
				`ARG SECRET=none
FROM e2bdev/base AS made
RUN mkdir -p /out/deep && echo 1 > /out/a.bin && echo 2 > /out/b.bin && echo 3 > /out/c.txt
FROM e2bdev/base
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
ARG SECRET
ARG TARGETARCH
ENV HOME_OF="$PATH" KIND=$TARGETARCH
RUN (false | true) && exit 1 || echo "$SECRET $BASH_VERSION" | grep -q "^hush 5" && echo ok > /piped
RUN <<EOF
#!/usr/bin/env python3
open('/script', 'w').write('by python')
EOF
COPY --from=made /out/*.bin /bins/
COPY --from=made /out/*.txt /single.txt
COPY pl?in.* /named.txt
COPY many/*/same.txt many/on* /flat/
WORKDIR /mounted
RUN echo own > plain.txt
RUN --mount=type=bind,source=plain.txt,target=plain.txt --mount=type=cache,target=/root/.cache/x --mount=from=made,` +
				`source=/out,target=/opt/out cat plain.txt /opt/out/c.txt > /seen
RUN --mount=target=. --mount=type=tmpfs,target=/gone cp plain.txt /gone/ && cat ` +
				`/gone/plain.txt >> /seen && touch here
WORKDIR /
ADD --chown=user:user files.tar.gz /unpacked/
ADD plain.txt /added.txt
COPY --chown=1234:0 <<TEXT <<'RAW' /docs/
arch $TARGETARCH
TEXT
arch $TARGETARCH
RAW
HEALTHCHECK CMD true
EXPOSE 80/tcp
LABEL a=b
VOLUME /data "/data two"
STOPSIGNAL SIGINT
USER 4321
RUN id -u > /tmp/who; touch ~/mine
USER 1000
`,
			'plain.txt': 'plain',
			'many/one/same.txt': '1',
			'many/one/deep/x': 'x',
			'many/two/same.txt': '2',
			'files.tar.gz': '',
		},
		async (dir) => {
			const packed = path.join(dir, 'packed')
			fs.mkdirSync(packed)
			fs.writeFileSync(path.join(packed, 'inner'), 'inner')
			assert.equal(
				spawnSync('tar', ['-C', packed, '-czf', path.join(dir, 'files.tar.gz'), '.']).status,
				0,
			)
			const name = nameOf('docker')
			ok('template', 'build', dir, '-t', name, '--build-arg', 'SECRET=hush', ...SMALL)
			assert.equal(
				await sh(
					name,
					'cat /piped; cat /script; echo; ls /bins; cat /unpacked/inner; stat -c " ' +
						'%U" /unpacked/inner; cat /added.txt; echo; cat /docs/TEXT ' +
						'/docs/RAW; stat -c "%u:%g" /docs/RAW',
				),
				'ok\nby python\na.bin\nb.bin\ninner user\nplain\n' +
					`arch ${{ x64: 'amd64', arm64: 'arm64' }[process.arch]}\n` +
					'arch $TARGETARCH\n1234:0',
			)
			assert.equal(
				await sh(
					name,
					'echo "[$SECRET]$KIND"; [ "$HOME_OF" ] && echo path; cat /tmp/who; id -u; ' +
						'stat -c %u ~4321/mine',
				),
				`[]${{ x64: 'amd64', arm64: 'arm64' }[process.arch]}\npath\n4321\n1000\n4321`,
			)
			assert.equal(
				await sh(name, 'cat /single.txt /named.txt; echo; find /flat -type f | sort'),
				'3\nplain\n/flat/deep/x\n/flat/same.txt',
			)
			assert.equal(
				await sh(name, 'stat -c "%F %U %n" /data*'),
				'directory root /data\ndirectory root /data two',
			)
			assert.equal(
				await sh(
					name,
					'cat /seen; echo; ls -A /mounted /opt/out /gone /.atoll-mount 2>&1; cat ' +
						'/mounted/plain.txt',
				),
				"plain3\nplain\nls: cannot access '/opt/out': No such file or directory\n" +
					"ls: cannot access '/gone': No such file or directory\n" +
					"ls: cannot access '/.atoll-mount': No such file or directory\n" +
					'/mounted:\nplain.txt\nown',
			)
			for (const [text, why] of [
				['ONBUILD ONBUILD RUN true', /line 2: ONBUILD ONBUILD is not allowed/],
				['ADD git@example.com:x.git /x', /over SSH is not supported/],
				[
					'RUN --mount=type=secret,id=a true',
					/line 2: RUN --mount=type=secret,id=a is not supported/,
				],
				['USER 99999999', /cannot be the number of a user/],
			]) {
				fs.writeFileSync(path.join(dir, 'Dockerfile'), `FROM e2bdev/base\n${text}\n`)
				const run = atoll('template', 'build', dir, '-t', name, ...SMALL)
				assert.equal(run.code, 1)
				assert.match(run.err, why)
			}
		},
	),
)

test('an image or a template as it is, with a start command', async () => {
	const name = nameOf('image')
	ok(
		'template',
		'build',
		'e2bdev/base',
		'-t',
		name,
		'--start',
		'sleep 12345',
		'--ready',
		'pgrep -f "^sleep 12345"',
		...SMALL,
	)
	assert.equal(await sh(name, 'pgrep -fc "^sleep 12345"'), '1')
	ok('template', 'build', name, '--from-template', '-t', `${name}-up`, '--no-cache', ...SMALL)
	assert.equal(await sh(`${name}-up`, 'pgrep -fc "^sleep 12345"'), '1')
})

test('what is wrong is told with its line, and nothing is built', () =>
	context(
		{
			one: 'FROM e2bdev/base\nFROBNICATE x\n',
			two: 'FROM e2bdev/base\nCOPY ../x y\n',
			three: 'FROM e2bdev/base\nCOPY nothing y\n',
			four: 'FROM e2bdev/base\nRUN echo out; exit 3\n',
			five: 'FROM no.such/image\n',
			six: 'FROM e2bdev/base\nCOPY link/passwd /x\n',
		},
		async (dir) => {
			fs.symlinkSync('/etc', path.join(dir, 'link'))
			const cases = {
				one: /line 2: unknown instruction 'FROBNICATE'/,
				two: /line 2: '\.\.\/x' is outside the build context/,
				three: /line 2: 'nothing' is not in the build context/,
				four: /step 3: failed to run command 'echo out; exit 3': exit status 3/,
				five: /no\.such\/image/,
				six: /outside the build context/,
			}
			for (const [file, why] of Object.entries(cases)) {
				const run = atoll(
					'template',
					'build',
					path.join(dir, file),
					'-t',
					nameOf('bad'),
					...SMALL,
				)
				assert.equal(run.code, 1, file)
				assert.match(run.err, why)
			}
			assert.equal(atoll('template', 'build', dir).code, 2)
		},
	))

test('Ctrl-C calls the build off', () =>
	context({ Dockerfile: 'FROM e2bdev/base\nRUN sleep 1000\n' }, async (dir) => {
		const name = nameOf('off')
		const child = spawn(ATOLL, ['template', 'build', dir, '-t', name, '--no-cache', ...SMALL], {
			stdio: ['ignore', 'ignore', 'pipe'],
		})
		let said = ''
		child.stderr.on('data', (data) => (said += data))
		const exited = new Promise((done) => child.once('exit', done))
		assert.ok(await until(() => said.includes('RUN sleep 1000'), 20000), said)
		child.kill('SIGINT')
		await exited
		const [last] = (await api('GET', `/templates/${name}`)).json.builds
		assert.equal(last.status, 'error')
	}))

test('a template goes to a file and comes back under another name', { timeout: 240000 }, () =>
	context(
		{
			Dockerfile:
				'FROM e2bdev/base\nENV COLOUR=blue\nRUN useradd -m guest && mkdir /srv/app && ' +
				'echo kept > /srv/app/file && chown guest /srv/app/file\n' +
				'WORKDIR /srv/app\nUSER guest\n',
		},
		async (dir) => {
			const name = nameOf('out'),
				file = path.join(dir, 'out.tar.gz'),
				back = nameOf('back')
			ok(
				'template',
				'build',
				dir,
				'-t',
				name,
				'--start',
				'sleep 54321',
				'--ready',
				'pgrep -f "^sleep 54321"',
				...SMALL,
			)
			ok('template', 'export', name, '-o', file)
			assert.deepEqual(fs.readdirSync(dir).sort(), ['Dockerfile', 'out.tar.gz'])
			ok('template', 'import', file, '-t', back, ...SMALL)
			assert.equal(
				await sh(
					back,
					'cat file; stat -c %U file; pwd; whoami; echo $COLOUR; ' +
						'pgrep -fc "^sleep 54321"',
				),
				'kept\nguest\n/srv/app\nguest\nblue\n1',
			)

			const none = atoll('template', 'export', 'no-such-template', '-o', path.join(dir, 'none'))
			assert.equal(none.code, 1)
			assert.match(none.err, /no-such-template/)
			assert.deepEqual(fs.readdirSync(dir).sort(), ['Dockerfile', 'out.tar.gz'])
			assert.match(
				atoll('template', 'import', path.join(dir, 'Dockerfile'), '-t', back).err,
				/was not written by 'atoll template export'/,
			)
			assert.equal(atoll('template', 'export', name).code, 2)
		},
	),
)

test('the web app of the examples answers in every sandbox', async () => {
	const name = nameOf('web')
	ok(
		'template',
		'build',
		path.join(EXAMPLES, 'web-app'),
		'-t',
		name,
		'--ready',
		'curl -fs http://localhost:3000/health',
		...SMALL,
	)
	assert.match(await sh(name, 'curl -s --compressed http://localhost:3000/'), /Hello from a sandbox/)
})

test('examples/data-science runs unchanged', { timeout: 240000, skip: noPip }, () => {
	const copy = path.join(process.env.ATOLL_TEST_NPM, 'data-science.mjs')
	fs.copyFileSync(path.join(EXAMPLES, 'data-science/build.mjs'), copy)
	const run = spawnSync(process.execPath, [copy], { encoding: 'utf8', timeout: 200000 })
	assert.equal(run.status, 0, run.stderr + run.stdout)
	assert.match(run.stdout, /1,234,567 pandas\n*$/)
})
