// SPDX-License-Identifier: Apache-2.0
// Preloaded into a client's Node: ATOLL_TEST_NAMES=DOMAIN=ADDRESS resolves the domain and all names below it, as a
// wildcard record would.
const dns = require('node:dns')

const [domain, address] = (process.env.ATOLL_TEST_NAMES ?? '').split('=')
const real = dns.lookup

dns.lookup = (host, opt, cb) => {
	if (typeof opt === 'function') {
		cb = opt
		opt = {}
	}
	if (!domain || (host !== domain && !String(host).endsWith(`.${domain}`))) return real.call(dns, host, opt, cb)
	process.nextTick(() => (opt.all ? cb(null, [{ address, family: 4 }]) : cb(null, address, 4)))
}
