// SPDX-License-Identifier: Apache-2.0
// The console: log in, then the page that the address names.
import { render } from 'preact'
import { begin, session } from './lib/session'
import { Login } from './pages/login'
import { Shell } from './ui/shell'
import { Toasts } from './ui/toast'
import { Confirm } from './ui/dialog'
import './ui/theme'

function App() {
	if (session.value === undefined) return null
	return (
		<>
			{session.value ? <Shell /> : <Login />}
			<Confirm />
			<Toasts />
		</>
	)
}

render(<App />, document.getElementById('app')!)
void begin()
