// SPDX-License-Identifier: Apache-2.0
// The exact inventory of a sandbox, taken from inside, against the committed list in inventory.txt.
// A change of the list is a change of what untrusted code gets; ATOLL_UPDATE_INVENTORY=1 rewrites it. A line that
// begins with "?" may be missing: it covers something that not every host has.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { sdk, server, withSandbox } from '../lib/client.mjs'
import { initOf, openOf, traceOf } from '../lib/host.mjs'

const FILE = path.join(path.dirname(fileURLToPath(import.meta.url)), 'inventory.txt')

const PROBE = String.raw`
import os, re, stat
def status(pid):
    return dict(l.rstrip("\n").split(":\t", 1) for l in open(f"/proc/{pid}/status") if ":\t" in l)
def fds(pid):
    out = []
    for fd in sorted(os.listdir(f"/proc/{pid}/fd"), key=int):
        try: to = os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError: continue
        if to.startswith(f"/proc/{os.getpid()}/fd"): continue
        out.append(re.sub(r"\[\d+\]", "[N]", to))
    return out
who = "root" if os.getuid() == 0 else "user"
s = status("self")
for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"):
    print(f"{who} {key} {s[key].strip()}")
for fd in fds("self"):
    print(f"{who} fd {fd}")
for name in sorted(os.environ):
    if name not in ("SHLVL", "_", "OLDPWD"): print(f"{who} env {name}")
import resource
# A soft limit of 1 is the only value that also keeps cores from a pipe.
print(f"{who} rlimit CORE {resource.getrlimit(resource.RLIMIT_CORE)}")
for name, most in (("NOFILE", 1 << 20), ("MEMLOCK", 64 << 20), ("SIGPENDING", 16384), ("MSGQUEUE", 1 << 20)):
    soft, hard = resource.getrlimit({"SIGPENDING": 11}.get(name) or getattr(resource, "RLIMIT_" + name))
    within = 0 <= soft <= most and (hard <= most or name == "NOFILE")
    print(f"{who} rlimit {name} {'at most %d' % most if within else (soft, hard)}")
if who == "root":
    s = status(1)
    for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Threads"):
        print(f"init {key} {s[key].strip()}")
    try: print(f"init fds seen from inside {fds(1)}")
    except OSError as e: print(f"init fds: {e.strerror}")
    for name in ("uid_map", "gid_map"):
        for line in open(f"/proc/1/{name}"):
            inside, outside, count = line.split()
            print(f"{name} {inside} HOST {count}")
    print("setgroups", open("/proc/1/setgroups").read().strip())
    own = re.compile(r"(lowerdir|upperdir|workdir|uid|gid|size|nr_inodes|inode64|uuid)")
    for line in open("/proc/self/mountinfo"):
        left, right = line.rstrip("\n").split(" - ")
        f, r = left.split(" "), right.split(" ")
        sup = ",".join(sorted(o for o in r[2].split(",") if not own.match(o)))
        print(f"mount {f[4]} {r[0]} {f[5]} {sup}")
    for base, dirs, files in os.walk("/dev"):
        for name in sorted(dirs + files):
            p = os.path.join(base, name)
            st = os.lstat(p)
            number = f"{os.major(st.st_rdev)}:{os.minor(st.st_rdev)}"
            mode = f"{stat.S_IMODE(st.st_mode):o}"
            if stat.S_ISCHR(st.st_mode): print(f"dev {p} c {number} {mode}")
            elif stat.S_ISBLK(st.st_mode): print(f"dev {p} b {number}")
            elif stat.S_ISLNK(st.st_mode): print(f"dev {p} -> {os.readlink(p)}")
            elif not p.startswith("/dev/pts/"): print(f"dev {p} {'dir' if stat.S_ISDIR(st.st_mode) else 'file'} {mode}")
    for name in sorted(os.listdir("/sys/class/net")):
        print(f"net {name}")
    for path in ("net/ipv4/ip_unprivileged_port_start", "net/ipv4/ping_group_range", "kernel/hostname"):
        print("sysctl", path, open("/proc/sys/" + path).read().split())
`

async function take() {
	return withSandbox({ envs: { GIVEN: 'x' } }, async (sbx) => {
		await sbx.files.write('/tmp/probe.py', PROBE)
		const lines = []
		for (const user of ['user', 'root']) {
			const got = await sbx.commands.run('exec python3 /tmp/probe.py', { user })
			lines.push(...got.stdout.trim().split('\n'))
		}
		const address = (await sbx.commands.run('hostname -I')).stdout.trim().split(' ')[0]
		return [...lines, ...fdsOfInit(traceOf(server.slot, address))]
	})
}

// Pid 1 cannot be looked at from inside; sockets and pipes of its requests come and go, so they are not counted.
function fdsOfInit(trace) {
	const kinds = openOf(initOf(trace)).map((to) => to.replace(/\[\d+\]/, '[N]'))
	const count = (kind) => kinds.filter((k) => k === kind).length
	return [...new Set(kinds)]
		.sort()
		.map((kind) => `init fd ${kind}${/^(pipe|socket):/.test(kind) ? '' : ` x${count(kind)}`}`)
}

// Covers of files that depend on the host's kernel, and variables that depend on its certificates.
const OPTIONAL = /^(mount \/(proc|sys)\/|(user|root) env (NODE_EXTRA_CA_CERTS|REQUESTS_CA_BUNDLE|SSL_CERT_FILE)$)/
const MUST = /^mount \/proc\/(sys|sys\/kernel\/random\/boot_id) |^mount \/sys\/fs\/btrfs /

test('the inventory from inside is exactly the committed one', async () => {
	const now = await take()
	if (process.env.ATOLL_UPDATE_INVENTORY === '1')
		fs.writeFileSync(
			FILE,
			now.map((line) => `${OPTIONAL.test(line) && !MUST.test(line) ? '? ' : ''}${line}\n`).join(''),
		)
	const list = fs.readFileSync(FILE, 'utf8').trimEnd().split('\n')
	const want = list.map((line) => line.replace(/^\? /, ''))
	const added = now.filter((line) => !want.includes(line))
	const lost = list.filter((line) => !line.startsWith('? ') && !now.includes(line))
	assert.deepEqual({ added, lost }, { added: [], lost: [] })
})

test("the namespaces are not the host's", async () => {
	const mine = (ns) => fs.readlinkSync(`/proc/self/ns/${ns}`)
	await withSandbox({}, async (sbx) => {
		for (const ns of ['user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup']) {
			const inside = (
				await sbx.commands.run(`readlink /proc/self/ns/${ns}`, { user: 'root' })
			).stdout.trim()
			assert.match(inside, /^\w+:\[\d+\]$/)
			assert.notEqual(inside, mine(ns), ns)
		}
	})
})

test('capabilities are the twelve of the design, no more', async () => {
	const names = [
		'chown',
		'dac_override',
		'fowner',
		'fsetid',
		'kill',
		'setgid',
		'setuid',
		'setpcap',
		'net_bind_service',
		'sys_chroot',
		'audit_write',
		'setfcap',
	]
	const bit = {
		chown: 0,
		dac_override: 1,
		fowner: 3,
		fsetid: 4,
		kill: 5,
		setgid: 6,
		setuid: 7,
		setpcap: 8,
		net_bind_service: 10,
		sys_chroot: 18,
		audit_write: 29,
		setfcap: 31,
	}
	const want = names.reduce((sum, name) => sum | (1n << BigInt(bit[name])), 0n)
	await withSandbox({}, async (sbx) => {
		for (const user of ['user', 'root']) {
			const got = await sbx.commands.run('grep CapBnd /proc/self/status', { user })
			assert.equal(BigInt('0x' + got.stdout.split('\t')[1].trim()), want, user)
		}
		assert.match((await sbx.commands.run('grep CapEff /proc/self/status')).stdout, /\t0+\n/)
	})
	assert.ok(sdk())
})
