// SPDX-License-Identifier: Apache-2.0
// A template of an image in a registry that wants a password. IMAGE, REGISTRY_USER and REGISTRY_PASSWORD come from
// the environment.
import { Sandbox, Template, defaultBuildLogger } from 'e2b'

const { IMAGE, REGISTRY_USER, REGISTRY_PASSWORD } = process.env

if (!IMAGE || !REGISTRY_USER || !REGISTRY_PASSWORD) {
	console.error('set IMAGE, REGISTRY_USER and REGISTRY_PASSWORD')
	process.exit(2)
}

const template = Template()
	.fromImage(IMAGE, { username: REGISTRY_USER, password: REGISTRY_PASSWORD })
	.runCmd('cat /etc/os-release')

await Template.build(template, 'private-image', { cpuCount: 1, memoryMB: 512, onBuildLogs: defaultBuildLogger() })
const sandbox = await Sandbox.create('private-image')
console.log((await sandbox.commands.run('. /etc/os-release; echo $PRETTY_NAME')).stdout.trim())
await sandbox.kill()
