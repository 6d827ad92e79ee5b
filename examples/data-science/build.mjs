// SPDX-License-Identifier: Apache-2.0
// A template for data work: the interpreter of the server with more packages, installed once instead of in every
// sandbox.
import { Template, defaultBuildLogger } from 'e2b'
import { Sandbox } from '@e2b/code-interpreter'

const template = Template()
	.fromTemplate('code-interpreter-v1')
	.setEnvs({ PIP_DISABLE_PIP_VERSION_CHECK: '1' })
	.runCmd('sudo pip install --no-cache-dir tabulate==0.9.0 humanize==4.9.0')

await Template.build(template, 'data-science', { cpuCount: 2, memoryMB: 1024, onBuildLogs: defaultBuildLogger() })

const sandbox = await Sandbox.create('data-science')
const { logs } = await sandbox.runCode(
	'import humanize, pandas, tabulate\nprint(humanize.intcomma(1234567), pandas.__name__)',
)
console.log(logs.stdout.join('').trim())
await sandbox.kill()
