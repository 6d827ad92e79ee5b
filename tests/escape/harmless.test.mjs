// SPDX-License-Identifier: Apache-2.0
// The other side of the walls: ordinary programs must not notice them.
import { test, after, before } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { runAny, sdk } from '../lib/client.mjs'

let sbx

before(async () => {
	sbx = await sdk().Sandbox.create('base', { timeoutMs: 300000 })
})
after(() => sbx?.kill())

const FINE = {
	'threads and subprocesses in python': `python3 -c "
import threading, subprocess, multiprocessing as mp
t=[threading.Thread(target=lambda: None) for _ in range(20)]; [x.start() for x in t]; [x.join() for x in t]
assert subprocess.check_output(['echo','x'])==b'x\\n'
with mp.Pool(2) as p: assert p.map(abs,[-1,-2])==[1,2]"`,
	'node workers and child processes': `node -e "
const {Worker}=require('worker_threads'),cp=require('child_process');
cp.execSync('true'); new Worker('1',{eval:true}).on('exit',c=>process.exit(c))"`,
	'git repository':
		'cd $(mktemp -d) && git init -q && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m ' +
		'x && git log --oneline',
	'tar with ownership':
		'cd $(mktemp -d) && mkdir d && echo x > d/f && tar cf a.tar d && rm -r d && tar xf a.tar && cat d/f',
	'low ports without root': 'python3 -c "import socket; socket.create_server((\'127.0.0.1\', 80)).close()"',
	'unix sockets and socketpairs':
		"python3 -c \"import socket; a,b=socket.socketpair(); a.send(b'x'); assert b.recv(1)==b'x'\"",
	'pty': "python3 -c \"import pty,os; m,s=pty.openpty(); os.write(s,b'x'); assert os.read(m,1)==b'x'\"",
	'settings of a terminal': `python3 -c "import pty,termios,tty,fcntl,array
m,s=pty.openpty(); a=termios.tcgetattr(s); tty.setraw(s); termios.tcsetattr(s,termios.TCSANOW,a)
d=array.array('i',[9]); fcntl.ioctl(s,0x5424,d,True); assert d[0]==0"`, // TIOCGETD: the usual line discipline
	'shared memory':
		'python3 -c "from multiprocessing import shared_memory as s; m=s.SharedMemory(create=True,' +
		'size=1<<20); m.close(); m.unlink()"',
	'file locks and inotify':
		"python3 -c \"import fcntl,ctypes; f=open('/tmp/l','w'); fcntl.flock(f,fcntl.LOCK_EX); assert " +
		'ctypes.CDLL(None).inotify_init()>=0"',
	'interfaces are listed': 'python3 -c "import socket; assert \'eth0\' in [n for _,n in socket.if_nameindex()]"',
	'random and time': 'python3 -c "import os,time,uuid; os.urandom(8); time.clock_gettime(7); uuid.uuid4()"',
	'useradd and su': 'sudo useradd -m fine && sudo su fine -c "id -un"',
	'setuid in the template': 'test -u /usr/bin/sudo && sudo -n true',
	'xattrs':
		"cd $(mktemp -d) && touch f && python3 -c \"import os; os.setxattr('f','user.x',b'1'); assert " +
		"os.getxattr('f','user.x')==b'1'\"",
	'hard links, renames of template directories':
		'sudo mv /usr/share/man /usr/share/man2 && sudo ln /etc/hosts /etc/hosts2',
	'dpkg database': 'dpkg -l bash >/dev/null && sudo dpkg --configure -a',
	'strace-free gdb-free self inspection':
		'cat /proc/self/maps >/dev/null && ls /proc/self/task && ' +
		'cat /proc/meminfo /proc/cpuinfo /proc/stat >/dev/null',
}
for (const [name, cmd] of Object.entries(FINE)) {
	test(name, async () => {
		const got = await runAny(sbx, cmd, { timeoutMs: 60000 })
		assert.equal(got.exitCode, 0, got.stderr)
	})
}
