// SPDX-License-Identifier: Apache-2.0
// What a database of a server holds on disk, seen from outside while the server runs.
import { execFileSync } from 'node:child_process'

const ASK = `import json, sqlite3, sys
db = sqlite3.connect('file:%s?mode=ro' % sys.argv[1], uri=True, timeout=30)
print(json.dumps(db.execute(sys.argv[2], sys.argv[3:]).fetchall()))`

// The rows of a query, each a list.
export function rows(file, sql, ...params) {
	return JSON.parse(execFileSync('python3', ['-c', ASK, file, sql, ...params], { encoding: 'utf8' }))
}
