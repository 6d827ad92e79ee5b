// SPDX-License-Identifier: Apache-2.0
// What pages tell to type to start a server: in a network of its own, with nothing there before.
import { test } from '../lib/case.mjs'
import assert from 'node:assert/strict'
import { server } from '../lib/client.mjs'
import { all, needsNone, playAll } from './play.mjs'
import { somebodysServer } from './stage.mjs'

playAll(all.filter(needsNone), () => ({ buildDir: server.buildDir }), await somebodysServer())

test('pages tell how a server is started', () => assert.ok(all.some(needsNone)))
