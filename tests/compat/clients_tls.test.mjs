// SPDX-License-Identifier: Apache-2.0
// The newest clients once more, by host names over TLS, where they must settle on HTTP/2 by themselves: all that the
// table says must hold there, too.
import { CLIENTS } from './clients.mjs'
import { holdToTable } from './hold.mjs'

for (const client of CLIENTS.filter((one) => ['js', 'py', 'py-async'].includes(one.id)))
	holdToTable({ ...client, tls: true, h2: 100, again: 'over TLS' })
