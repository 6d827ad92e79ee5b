// SPDX-License-Identifier: Apache-2.0
// A node:test reporter that writes one JSON line per test case, for tests/lib/run.mjs to add up.
function reason(error) {
	const cause = error?.cause ?? error
	return String(cause?.stack ?? cause?.message ?? cause ?? '')
}

export default async function* report(source) {
	for await (const { type, data } of source) {
		if (type !== 'test:pass' && type !== 'test:fail') continue
		if (data.details?.type === 'suite' && type === 'test:pass') continue
		const skip = data.skip !== undefined && data.skip !== false
		yield (
			JSON.stringify({
				name: data.name,
				outcome: skip ? 'skip' : type === 'test:pass' ? 'pass' : 'fail',
				why: skip
					? data.skip === true
						? ''
						: data.skip
					: type === 'test:fail'
						? reason(data.details?.error)
						: '',
				ms: Math.round(data.details?.duration_ms ?? 0),
			}) + '\n'
		)
	}
}
