// npm install e2b; eval "$(atoll env)"; node first.mjs
import { Sandbox } from 'e2b'

const sandbox = await Sandbox.create()
const { stdout } = await sandbox.commands.run('echo "hello from $(whoami) on $(uname -s)"')
console.log(stdout.trim())
await sandbox.files.write('note.txt', 'a note that is kept')
console.log(await sandbox.files.read('/home/user/note.txt'))
await sandbox.kill()
