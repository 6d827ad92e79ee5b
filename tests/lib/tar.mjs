// SPDX-License-Identifier: Apache-2.0
// Archives that no tar would write: each entry is put down as it is said.

function header({ name, type, link = '', data, size, mode, uid = 0 }) {
	const b = Buffer.alloc(512)
	type ??= data !== undefined || size !== undefined ? '0' : '5'
	b.write(name, 0, 100)
	b.write(`${(mode ?? (type === '5' ? 0o755 : 0o644)).toString(8).padStart(7, '0')}\0`, 100)
	b.write(`${uid.toString(8).padStart(7, '0')}\0`, 108)
	b.write(`${uid.toString(8).padStart(7, '0')}\0`, 116)
	const n = size ?? (data ? Buffer.byteLength(data) : 0)
	if (n < 8 ** 11) {
		b.write(`${n.toString(8).padStart(11, '0')}\0`, 124)
	} else {
		b.writeUInt8(0x80, 124)
		b.writeBigUInt64BE(BigInt(n), 128)
	}
	b.write('00000001000\0', 136)
	b.write('        ', 148)
	b.write(type, 156)
	b.write(link, 157, 100)
	b.write('ustar\0' + '00', 257, 'latin1')
	b.write(
		`${b
			.reduce((s, x) => s + x, 0)
			.toString(8)
			.padStart(6, '0')}\0 `,
		148,
	)
	return b
}

// entries: { name, type = '0', data, link, size, mode, uid }; end: with the two empty blocks that close an archive.
export function tarOf(entries, { end = true } = {}) {
	const parts = []
	for (const e of entries) {
		const data = Buffer.from(e.data ?? '')
		parts.push(header(e), data, Buffer.alloc(-data.length & 511))
	}
	if (end) parts.push(Buffer.alloc(1024))
	return Buffer.concat(parts)
}
