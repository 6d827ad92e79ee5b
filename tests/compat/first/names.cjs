// SPDX-License-Identifier: Apache-2.0
// Preloaded into a client's Node: writes each name that is looked up to ATOLL_TEST_LOOKUPS, and leads to nobody but
// this machine.
const dns = require('node:dns')
const fs = require('node:fs')

const real = dns.lookup

dns.lookup = (host, opt, cb) => {
	fs.appendFileSync(process.env.ATOLL_TEST_LOOKUPS, `${host}\n`)
	if (host === 'localhost' || String(host).endsWith('.localhost') || /^[0-9.]+$|:/.test(host))
		return real.call(dns, host, opt, cb)
	const fail = typeof opt === 'function' ? opt : cb
	process.nextTick(() => fail(Object.assign(new Error(`no look-up of ${host}`), { code: 'ENOTFOUND' })))
}
