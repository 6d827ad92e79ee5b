// SPDX-License-Identifier: Apache-2.0
// Loaded into the process of a test file: writes the processor time of it and of what it waited for, for
// tests/lib/run.mjs.
import fs from 'node:fs'
import { cpuOf } from './host.mjs'

const file = process.env.ATOLL_TEST_COST
delete process.env.ATOLL_TEST_COST // what the file starts has no part in it
if (file) process.once('exit', () => fs.writeFileSync(file, String(cpuOf('self').all)))
