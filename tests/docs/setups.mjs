// SPDX-License-Identifier: Apache-2.0
// What readers of a page have before they type a block of it.
export const SETUPS = {
	// A project of one's own, with tests and a report.
	project(stage) {
		stage.file('project/Makefile', 'test:\n\techo "<p>all fine</p>" >report.html\n')
	},
	programs(stage) {
		stage.file(
			'analyse.py',
			'import sys\nprint(sum(float(line.split(",")[int(sys.argv[1]) - 1]) for line in sys.stdin))\n',
		)
		stage.file('input.csv', '1,2\n3,4\n')
		stage.file('script.py', 'print("from a script")\n')
	},
	// The directory that docs/templates.md makes a template of, in both of its forms.
	app(stage) {
		stage.file('app/server.py', 'import flask\n\napp = flask.Flask(__name__)\napp.run(port=8000)\n')
		stage.file(
			'my-app/Dockerfile',
			'FROM e2bdev/base\nRUN mkdir -p /srv\nWORKDIR /srv\nCMD python3 -m http.server 8000\n',
		)
		stage.file('script.py', 'print("from a script")\n')
	},
}
