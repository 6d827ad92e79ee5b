// SPDX-License-Identifier: Apache-2.0
// Every generation of the JavaScript SDK, with its code interpreter, held to docs/compatibility.md.
import { CLIENTS } from './clients.mjs'
import { holdToTable } from './hold.mjs'

for (const client of CLIENTS.filter((one) => one.kind === 'js')) holdToTable(client)
