// SPDX-License-Identifier: Apache-2.0
// The Python SDKs, synchronous and asynchronous, held to docs/compatibility.md. They come from PyPI.
import { CLIENTS } from './clients.mjs'
import { holdToTable } from './hold.mjs'

for (const client of CLIENTS.filter((one) => one.kind === 'py' && !one.tls)) holdToTable(client)
