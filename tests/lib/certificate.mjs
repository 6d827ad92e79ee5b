// SPDX-License-Identifier: Apache-2.0
// Certificates that sign themselves, made by openssl.
import { execFileSync } from 'node:child_process'

// Writes a key and a certificate for name, and for the alternative names san ('DNS:a.test,IP:127.0.0.1') if given.
// rsa: an RSA key; otherwise it is on the curve P-256.
export function selfSigned({ key, cert, name, san, rsa = false }) {
	const kind = rsa ? ['rsa:2048'] : ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
	const more = san ? ['-addext', `subjectAltName=${san}`] : []
	const what = ['-days', '9', '-subj', `/CN=${name}`, ...more, '-keyout', key, '-out', cert]
	execFileSync('openssl', ['req', '-x509', '-nodes', '-newkey', ...kind, ...what], { stdio: 'pipe' })
}
