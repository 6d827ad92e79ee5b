// SPDX-License-Identifier: Apache-2.0
// Which test files run side by side, and in which order.

// Files that want something of the machine for themselves: the default directories and ports, or all of its memory.
// One lane has these.
const FIRST = [/^docs\//, /^compat\/(debug_ports|make_run)/, /^e2e\/(capacity|instances|start|systemd)/]

// Files that measure what the machine gives: they run at the end, with no other beside them.
const ALONE = []

// Those that take longest begin first, so that no lane is left alone with one at the end.
const SLOW = [
	/^e2e\/template\/(images_build|build|cli|recipe)\./,
	/^e2e\/(pause|pool|snapshots|volumes)\./,
	/^torture\//,
	/^e2e\/(restart|zygote|backup|notebook)\./,
	/^escape\/(selftest|shared|restore)/,
	/^compat\/(clients|programs)/,
	/^e2e\/(template\/|network\/|webhooks|workloads|audit|view)/,
	/^soak\//,
]

const is = (list) => (file) => list.some((like) => like.test(file))

export const isFirst = is(FIRST)

// With one lane the order is that of the names.
export function queues(files, jobs) {
	if (jobs === 1) return { first: [], rest: files, alone: [] }
	const first = files.filter(isFirst),
		alone = files.filter(is(ALONE)),
		rest = files.filter((file) => !isFirst(file) && !is(ALONE)(file))
	const place = (file) => {
		const at = SLOW.findIndex((like) => like.test(file))
		return at < 0 ? SLOW.length : at
	}
	return {
		first,
		alone,
		rest: rest
			.map((file, i) => [place(file), i, file])
			.sort((a, b) => a[0] - b[0] || a[1] - b[1])
			.map(([, , file]) => file),
	}
}
