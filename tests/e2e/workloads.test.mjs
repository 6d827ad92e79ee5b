// SPDX-License-Identifier: Apache-2.0
// Real programs behind the walls: what people run in sandboxes must not notice the system call filter, the
// capabilities, the namespaces. What the template lacks is installed from inside, by sudo apt-get, npm and pip; where
// no registry can be reached, those cases are skipped.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { spawnSync } from 'node:child_process'
import { api, runAny, sdk } from '../lib/client.mjs'

const LIMIT = { timeout: 300000 }
const PACKAGES = 'gdb redis-server postgresql sqlite3'
const offline = (program, args) =>
	spawnSync(program, args, { timeout: 20000 }).status !== 0 && `no registry can be reached: ${program} does not`
const noNpm = offline('npm', ['view', '--silent', 'is-odd', 'version'])
const probe = fs.mkdtempSync(path.join(os.tmpdir(), 'atoll-pip-'))
const noPip = offline('pip', ['download', '--quiet', '--no-deps', '--dest', probe, 'six'])
fs.rmSync(probe, { recursive: true })
const noApt = offline('apt-get', ['-qq', 'download', '--print-uris', 'hello'])
let sbx, servers, installed

before(async () => {
	;[sbx, servers] = await Promise.all(
		[1, 2].map(() => sdk().Sandbox.create('code-interpreter-v1', { timeoutMs: 900000 })),
	)
})
after(() => Promise.all([sbx?.kill(), servers?.kill()]))

async function run(command, on = sbx) {
	const got = await runAny(on, command, { timeoutMs: 240000 })
	assert.equal(got.exitCode, 0, `${got.stderr.slice(-600)}\n${got.stdout.slice(-600)}\n${command}`)
	return got.stdout.trim()
}

async function python(code) {
	await sbx.files.write('/tmp/work.py', code)
	return run('python3 /tmp/work.py')
}

const once = (what) => () => (installed ??= what())
const apt = once(() =>
	run(
		`sudo apt-get -q update && sudo DEBIAN_FRONTEND=noninteractive apt-get -q install -y ` +
			`--no-install-recommends ${PACKAGES} && sudo apt-get clean`,
		servers,
	),
)

// --- what the template has ---

test('numpy, scipy and pandas with as many threads as they like', LIMIT, async () => {
	assert.equal(
		await python(`
import os
os.environ['OPENBLAS_NUM_THREADS'] = '4'
import numpy as np, pandas as pd, scipy.linalg, scipy.optimize
from concurrent.futures import ThreadPoolExecutor, ProcessPoolExecutor
a = np.random.default_rng(1).normal(size=(400, 400))
assert np.allclose(a @ np.linalg.inv(a), np.eye(400), atol=1e-6)
assert scipy.linalg.svd(a, compute_uv=False).shape == (400,)
assert abs(scipy.optimize.minimize(lambda x: (x[0] - 3) ** 2, [0]).x[0] - 3) < 1e-3
with ThreadPoolExecutor(8) as t:
    assert len(list(t.map(lambda i: np.linalg.svd(a[:100, :100]), range(16)))) == 16
with ProcessPoolExecutor(2) as p:
    assert list(p.map(abs, [-1, -2])) == [1, 2]
df = pd.DataFrame({'g': list('ab') * 5000, 'v': range(10000)})
df.to_csv('/tmp/t.csv'); df.to_pickle('/tmp/t.pkl')
print(pd.read_csv('/tmp/t.csv').groupby('g').v.sum().a)
`),
		'24995000',
	)
})

test('OpenMP and pools of workers, as torch and scikit-learn use them', LIMIT, async () => {
	assert.equal(
		await python(`
import numpy as np, multiprocessing as mp, mmap, os, threading
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from multiprocessing import shared_memory
x = np.random.default_rng(0).normal(size=(2000, 8)); y = (x[:, 0] > 0).astype(int)
assert KMeans(4, n_init=2, random_state=0).fit(x).labels_.shape == (2000,)
assert RandomForestClassifier(20, n_jobs=4, random_state=0).fit(x, y).score(x, y) > 0.9
def work(q, name):
    m = shared_memory.SharedMemory(name); q.put(bytes(m.buf[:4])); m.close()
if __name__ == '__main__':
    m = shared_memory.SharedMemory(create=True, size=1 << 20); m.buf[:4] = b'sand'
    ctx = mp.get_context('spawn'); q = ctx.Queue()
    p = [ctx.Process(target=work, args=(q, m.name)) for _ in range(2)]
    [i.start() for i in p]; assert {q.get() for _ in p} == {b'sand'}; [i.join() for i in p]; m.close(); m.unlink()
    big = mmap.mmap(-1, 64 << 20); big.madvise(mmap.MADV_HUGEPAGE); big[0] = 1
    os.sched_setaffinity(0, os.sched_getaffinity(0)); os.nice(1)
    t = [threading.Thread(target=lambda: None) for _ in range(200)]; [i.start() for i in t]; [i.join() for i in t]
    print('fine')
`),
		'fine',
	)
})

test('gcc and g++: threads, OpenMP, a library, sanitizers', LIMIT, async () => {
	await sbx.files.write(
		'/tmp/w.c',
		`
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
extern char **environ;
static void *fn(void *p) { return p; }
int main(void) {
	pthread_t t[16]; long sum = 0; pid_t pid; int st; char *argv[] = { "true", NULL };
	for (int i = 0; i < 16; i++) if (pthread_create(&t[i], NULL, fn, NULL)) return 1;
	for (int i = 0; i < 16; i++) pthread_join(t[i], NULL);
	#pragma omp parallel for reduction(+:sum)
	for (int i = 0; i < 1000; i++) sum += i;
	if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) || waitpid(pid, &st, 0) != pid || st) return 2;
	if (system("true")) return 3;
	printf("%ld\\n", sum); return 0;
}
`,
	)
	assert.equal(await run('cd /tmp && gcc -O2 -fopenmp -pthread -o w w.c && ./w'), '499500')
	assert.equal(
		await run(
			'cd /tmp && gcc -fsanitize=address,undefined -pthread -o ws w.c 2>/dev/null && ' +
				'ASAN_OPTIONS=detect_leaks=1 ./ws',
		),
		'499500',
	)
	assert.equal(
		await run(
			`cd /tmp && printf '#include <iostream>\\n#include <thread>\\nint main(){std::thread ` +
				`t([]{std::cout<<"cxx";});t.join();}' >c.cc && g++ -pthread -o c c.cc && ./c`,
		),
		'cxx',
	)
})

test('git: a repository with history, clone, gc', LIMIT, async () => {
	assert.equal(
		await run(
			`cd $(mktemp -d) && git init -q a && cd a && git config user.email a@b && git config ` +
				(`user.name a && for i in $(seq 30); do echo $i >f$i; git add .; git commit -qm $i; ` +
					`done `) +
				`&&
		git gc -q && git clone -q . ../b && cd ../b && git log --oneline | wc -l ` +
				`&& git fsck --no-progress`,
		),
		'30',
	)
})

test('the JVM: threads, a compiler, a heap that fits', LIMIT, async () => {
	await sbx.files.write(
		'/tmp/W.java',
		`
import java.util.concurrent.*; import java.util.stream.*; import java.nio.file.*; import java.net.*;
public class W { public static void main(String[] a) throws Exception {
	var pool = Executors.newFixedThreadPool(8); var f = IntStream.range(0, 64).mapToObj(i -> pool.submit(() -> ` +
			`i * i)).collect(Collectors.toList());
	int s = 0; for (var x : f) s += x.get(); pool.shutdown();
	s += IntStream.range(0, 1000).parallel().sum();
	try (var l = new ServerSocket(0); var c = new Socket("127.0.0.1", ` +
			`l.getLocalPort()); var d = l.accept()) { c.getOutputStream().write(7); s += ` +
			`d.getInputStream().read(); }
	new ProcessBuilder("true").start().waitFor(); ` +
			`Files.writeString(Path.of("/tmp/j"), "x");
	System.out.println(s); } }
`,
	)
	assert.equal(
		await run(
			'cd /tmp && javac W.java && java -Xmx256m W && java -XX:+UseZGC -Xmx256m W | cmp - <(echo ' +
				'584851) || java -Xmx256m W',
		),
		String((64 * 63 * 127) / 6 + 499500 + 7),
	)
})

test('R: matrices, a fork, a plot', LIMIT, async () => {
	assert.match(
		await run(
			`Rscript -e 'library(parallel); m <- matrix(runif(10000), 100); stopifnot(all(abs(solve(m) ` +
				`%*% m - diag(100)) < 1e-5)); print(sum(unlist(mclapply(1:8, function(i) i^2, ` +
				`mc.cores=2)))); pdf("/tmp/p.pdf"); plot(1:10); invisible(dev.off())'`,
		),
		/204/,
	)
})

test('node: workers, streams, child processes, wasm', LIMIT, async () => {
	await sbx.files.write(
		'/tmp/w.cjs',
		`
const { Worker } = require('worker_threads'), cp = require('child_process'), fs = require('fs'), zlib = ` +
			`require('zlib'), http = require('http'), crypto = require('crypto')
const done = Promise.all([
	...Array.from({ length: 4 }, () => new Promise((ok, no) => new Worker('let n=0; ` +
			`for (let i=0;i<1e6;i++) n+=i', { eval: true }).on('exit', (c) => c ? no(c) : ok()))),
	new Promise((ok) => cp.exec('echo x', (e, out) => ok(out))), ` +
			`fs.promises.writeFile('/tmp/n', zlib.gzipSync(Buffer.alloc(1 << 20))),
	new Promise((ok, no) => crypto.pbkdf2('a', 'b', 1000, 32, 'sha256', (e) => e ? ` +
			`no(e) : ok())),
	new Promise((ok) => { const s = http.createServer((q, r) => ` +
			`r.end('hi')).listen(0, () => http.get({ port: s.address().port }, (r) => { r.resume(); ` +
			`r.on('end', () => { s.close(); ok() }) })) }),
	WebAssembly.compile(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)),
])
done.then(() => console.log('fine'))
`,
	)
	assert.equal(await run('node /tmp/w.cjs'), 'fine')
})

test('sqlite: WAL, two writers, a memory map', LIMIT, async () => {
	assert.equal(
		await python(
			`
import sqlite3, threading
c = sqlite3.connect('/tmp/w.db'); c.execute('pragma journal_mode=wal'); c.execute('pragma mmap_size=67108864'); ` +
				`c.execute('create table t (x)'); c.commit()
def w():
    d = sqlite3.connect('/tmp/w.db', timeout=30)
    for i in range(100):
        d.execute('insert into t values (?)', (i,)); d.commit()
t = [threading.Thread(target=w) for _ in range(2)]; [i.start() for i in t]; [i.join() ` +
				`for i in t]
print(c.execute('select count(*) from t').fetchone()[0], c.execute('pragma ` +
				`integrity_check').fetchone()[0])
`,
		),
		'200 ok',
	)
})

// --- what has to be fetched ---

test('pip installs a package with a compiled part', { ...LIMIT, skip: noPip }, async () => {
	assert.equal(
		await run(
			`pip install --quiet --disable-pip-version-check msgpack && python3 -c "import msgpack; ` +
				`print(msgpack.unpackb(msgpack.packb([1])))"`,
		),
		'[1]',
	)
})

test('npm installs and runs a package, and deno by it', { ...LIMIT, skip: noNpm }, async () => {
	assert.equal(
		await run(
			`mkdir -p ~/n && cd ~/n && npm init -y >/dev/null && npm install --silent --no-audit ` +
				`--no-fund is-odd deno >/dev/null && node -e "console.log(require('is-odd')(3))"`,
		),
		'true',
	)
	await sbx.files.write(
		'/home/user/n/w.ts',
		`
const w = new Worker(URL.createObjectURL(new Blob(['postMessage(1+1)'])), { type: 'module' } as WorkerOptions)
w.onmessage = async (e) => {
	await Deno.writeTextFile('/tmp/deno', String(e.data)); const out = await new Deno.Command('cat', { args: ` +
			`['/tmp/deno'] }).output()
	console.log('deno', new TextDecoder().decode(out.stdout)); Deno.exit(0)
}
`,
	)
	assert.equal(await run('cd ~/n && npx --no-install deno run --allow-all --no-check w.ts'), 'deno 2')
})

test('sudo apt-get installs servers and a debugger', { ...LIMIT, skip: noApt }, async () => {
	await apt()
	await run(
		'gdb --version && redis-server --version && ls /usr/lib/postgresql/*/bin/postgres && dpkg --audit',
		servers,
	)
})

test("gdb: a break point, a core of one's own process, attached and started", { ...LIMIT, skip: noApt }, async () => {
	await apt()
	await servers.files.write(
		'/tmp/g.c',
		'#include <unistd.h>\nint deep(int n) { return n * 2; }\nint main(void) { int r = deep(21); for ' +
			'(int i = 0; i < 300; i++) usleep(100000); return r; }\n',
	)
	await run('cd /tmp && gcc -g -o g g.c', servers)
	assert.match(
		await run(
			`cd /tmp && gdb -q -batch -ex 'break deep' -ex run -ex 'print n' -ex bt -ex kill ./g 2>&1`,
			servers,
		),
		/\$1 = 21[^]*main/,
	)
	assert.match(
		await run(
			`cd /tmp; ./g & sleep 0.5; gdb -q -batch -p $! -ex bt -ex 'frame function main' -ex 'print ` +
				`r' -ex 'generate-core-file /tmp/g.core' -ex detach 2>&1; kill $!`,
			servers,
		),
		/\$1 = 42/,
	)
	await run('test -s /tmp/g.core', servers)
})

test('redis, run by a user: it saves, and is read back', { ...LIMIT, skip: noApt }, async () => {
	await apt()
	assert.equal(
		await run(
			`mkdir -p /tmp/redis && cd /tmp/redis && (redis-server --port 7000 --dir /tmp/redis ` +
				`--daemonize yes --appendonly yes >/dev/null) && for i in $(seq 50); do ` +
				`redis-cli -p 7000 ping >/dev/null 2>&1 && break; sleep 0.1; done
		redis-cli -p 7000 set a 1 && redis-cli -p 7000 bgsave >/dev/null ` +
				`&& sleep 0.5 && redis-benchmark -q -p 7000 -n 2000 -t set,get >/dev/null && ` +
				`redis-cli -p 7000 get a; redis-cli -p 7000 shutdown`,
			servers,
		),
		'OK\n1',
	)
})

test('PostgreSQL, run by a user', { ...LIMIT, skip: noApt }, async () => {
	await apt()
	assert.equal(
		await run(
			`export PATH=$PATH:$(echo /usr/lib/postgresql/*/bin) && initdb -D /tmp/pg >/dev/null && ` +
				`pg_ctl -D /tmp/pg -o '-k /tmp -p 7001' -l /tmp/pg.log -w start >/dev/null &&
		psql -h /tmp -p 7001 -qAt -d postgres -c 'create table t as ` +
				`select generate_series(1,100000) x' -c 'create index on t (x)' -c 'set ` +
				`max_parallel_workers_per_gather=2' -c 'select sum(x) from t' &&
		pgbench -h /tmp -p 7001 -i -q postgres >/dev/null 2>&1 && ` +
				`pgbench -h /tmp -p 7001 -c 4 -j 2 -t 50 postgres >/dev/null 2>&1 && pg_ctl -D ` +
				`/tmp/pg -m fast -w stop >/dev/null`,
			servers,
		),
		'5000050000',
	)
})

test('none of that was refused a system call, but those that are known to be tried', async () => {
	const logs = (
		await Promise.all(
			[sbx, servers].map((s) =>
				api('GET', `/v2/sandboxes/${s.sandboxId}/logs?level=warn&limit=1000`),
			),
		)
	).flatMap((a) => a.json.logs)
	const calls = [
		...new Set(logs.filter((l) => l.fields.call).map((l) => `${l.fields.process}: ${l.fields.call}`)),
	]
	const known = new RegExp(
		'^(java|GC Thread.*|C2 CompilerThre.*|.*): (perf_event_open|mmap|shmget|io_setup|io_uring_.*|keyctl|' +
			'memfd_create|set_mempolicy.*|statmount|listmount)$',
	)
	assert.deepEqual(
		calls.filter((c) => !known.test(c)),
		[],
	)
})
