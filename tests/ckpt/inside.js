// SPDX-License-Identifier: Apache-2.0
// Runs in the sandbox: an inotify watch of node's, whose events go to /tmp/watched.txt. From when on, /tmp/watching tells.
const fs = require('node:fs')
fs.mkdirSync('/tmp/watched')
fs.watch('/tmp/watched', (_, name) => fs.appendFileSync('/tmp/watched.txt', `${process.pid} ${name}\n`))
fs.writeFileSync('/tmp/watching', '')
