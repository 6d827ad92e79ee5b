// SPDX-License-Identifier: Apache-2.0
// What agents are asked for all day: plots, tables, scraping, learning, files, packages, every kind of result. node
// datawork.mjs DIRECTORY
import { createRequire } from 'node:module'
import path from 'node:path'
import assert from 'node:assert/strict'

const { Sandbox } = createRequire(path.join(path.resolve(process.argv[2]), 'package.json'))('@e2b/code-interpreter')
const PNG = /^iVBORw0KGgo/

const sandbox = await Sandbox.create({ timeoutMs: 600000 })

async function run(code, options) {
	const got = await sandbox.runCode(code, options)
	assert.equal(got.error, undefined, got.error?.traceback)
	return { ...got, text: got.text, out: got.logs.stdout.join('') }
}

async function plots() {
	const got = await run(`
import numpy as np
import matplotlib.pyplot as plt

x = np.linspace(0, 10, 100)
plt.figure(figsize=(4, 3))
plt.plot(x, np.sin(x), label="sin")
plt.title("Sine")
plt.legend()
plt.show()
print(f"{np.mean(x):.1f}")`)
	assert.equal(got.out, '5.0\n')
	assert.match(got.results[0].png, PNG)
	assert.equal(got.results[0].chart.type, 'line')
}

async function tables() {
	const got = await run(`
import pandas as pd
import seaborn as sns
import matplotlib.pyplot as plt

df = pd.DataFrame({"product": ["a", "b", "a", "c"], "sales": [3, 1, 4, 1]})
totals = df.groupby("product")["sales"].sum().reset_index()
sns.barplot(data=totals, x="product", y="sales")
plt.show()
totals`)
	assert.match(got.results.find((one) => one.png).png, PNG)
	const table = got.results.find((one) => one.html)
	assert.match(table.html, /<table/)
	assert.deepEqual(table.data, { product: ['a', 'b', 'c'], sales: [7, 1, 1] })
}

async function scraping() {
	await sandbox.files.write(
		'/tmp/site/index.html',
		'<html><title>A title</title><a href="/one">One</a><a href="/two">Two</a></html>',
	)
	await sandbox.commands.run('python3 -m http.server 8080 --directory /tmp/site', {
		background: true,
		timeoutMs: 0,
	})
	const got = await run(`
import time
import requests
from bs4 import BeautifulSoup

for _ in range(300):
    try:
        page = requests.get("http://localhost:8080/", timeout=5)
        break
    except requests.ConnectionError:
        time.sleep(0.1)
soup = BeautifulSoup(page.text, "html.parser")
print(soup.title.string)
[a["href"] for a in soup.find_all("a")]`)
	assert.equal(got.out, 'A title\n')
	assert.deepEqual(got.results[0].json, ['/one', '/two'])
}

async function learning() {
	const got = await run(`
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

X, y = load_iris(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = RandomForestClassifier(n_estimators=20, random_state=0).fit(X_train, y_train)
model.score(X_test, y_test)`)
	assert.ok(Number(got.text.replace(/^np\.float64\((.*)\)$/, '$1')) > 0.9, got.text)
}

async function richResults() {
	const got = await run(
		`
from IPython.display import HTML, JSON, SVG, Latex, Markdown, Image, display
display(HTML("<b>h</b>"), Markdown("# m"), Latex("$x^2$"), SVG('<svg xmlns="http://www.w3.org/2000/svg"/>'), ` +
			`JSON({"a": 1}))
{"k": [1, 2]}`,
	)
	const all = (field) => got.results.map((one) => one[field]).filter((one) => one !== undefined)
	assert.deepEqual([all('html'), all('markdown'), all('latex')], [['<b>h</b>'], ['# m'], ['$x^2$']])
	assert.match(all('svg')[0], /<svg/)
	assert.deepEqual(all('json'), [{ a: 1 }, { k: [1, 2] }])
}

async function packages() {
	assert.match(
		(await run('!pip install numpy pandas matplotlib seaborn requests beautifulsoup4 scikit-learn')).out,
		/already satisfied: scikit-learn/,
	)
	const js = await run(
		'const fs = require("fs"); fs.writeFileSync("output.json", JSON.stringify({ done: true })); ' +
			'console.log("written")',
		{ language: 'js' },
	)
	assert.equal(js.out, 'written\n')
	assert.equal(await sandbox.files.read('output.json'), '{"done":true}')
}

try {
	for (const part of [plots, tables, scraping, learning, richResults, packages]) {
		await part()
		console.log(part.name)
	}
} finally {
	await sandbox.kill()
}
console.log('done')
process.exit(0)
