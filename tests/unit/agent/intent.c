/* SPDX-License-Identifier: Apache-2.0 */
/* agent/intent, arith: what a message asks for, and above all what it does not. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/arith.h"
#include "agent/intent.h"
#include "unit.h"

/* Each intent as one line of text. */
static void asks(const char *message, const char *want)
{
	struct intents *l = calloc(1, sizeof *l);
	char have[4096] = "";
	size_t n = 0;

	assert_int_equal(intents_parse(str_of(message), l), 0);
	for (size_t k = 0; k < l->n; k++) {
		const struct intent *i = &l->v[k];
		static const char *const kinds[] = { "code", "sum", "create", "list", "kill", "install", "git" };

		n += (size_t)snprintf(have + n, sizeof have - n, "%s%s", k ? "; " : "", kinds[i->kind]);
		if (i->language)
			n += (size_t)snprintf(have + n, sizeof have - n, " %s", i->language);
		if (i->code && i->kind == INTENT_CODE)
			n += (size_t)snprintf(have + n, sizeof have - n, " <%s>", i->code);
		if (i->value || i->why)
			n += (size_t)snprintf(have + n, sizeof have - n, " %s", i->value ? i->value : "none");
		if (i->timeout_s)
			n += (size_t)snprintf(have + n, sizeof have - n, " %us", i->timeout_s);
		if (i->manager || i->verb)
			n += (size_t)snprintf(have + n, sizeof have - n, " %s", i->manager ? i->manager : i->verb);
		for (size_t j = 0; j < i->n_names; j++)
			n += (size_t)snprintf(have + n, sizeof have - n, " %s", i->names[j]);
		if (i->url || i->dir || i->text)
			n += (size_t)snprintf(have + n, sizeof have - n, " %s|%s|%s", i->url ? i->url : "",
			    i->dir ? i->dir : "", i->text ? i->text : "");
	}
	if (strcmp(have, want) != 0)
		fail_msg("'%s': '%s', not '%s'", message, have, want);
	intents_done(l);
	free(l);
}

static void all_fences_in_their_order(void **state)
{
	(void)state;
	asks("```python\nprint(1)\n```", "code python <print(1)\n>");
	asks("First:\n```py\nx = 1\n```\nand then\n~~~js\nconsole.log(2)\n~~~\nthanks",
	    "code py <x = 1\n>; code js <console.log(2)\n>");
	asks("```\nls\n```", "code <ls\n>");
	asks("````md\n```\nnot this\n```\n````", "code md <```\nnot this\n```\n>");
	asks("```python\nprint('unended')", "code python <print('unended')>");
	asks("```python title=\"x\"\r\n1\r\n```\r\n", "code python <1\r\n>");
	asks("Install numpy, then run\n```python\nimport numpy\n```",
	    "install pip numpy; code python <import numpy\n>");
}

static void code_without_a_fence(void **state)
{
	(void)state;
	asks("print('hi')", "code <print('hi')>");
	asks("x = 5", "code <x = 5>");
	asks("import math\nmath.sqrt(2)", "code <import math\nmath.sqrt(2)>");
	asks("Run print(1+1)", "code <print(1+1)>");
	asks("please execute `len('abc')` for me", "code <len('abc')>");
	asks("for i in range(3):\n    print(i)", "code <for i in range(3):\n    print(i)>");
	asks("const a = 1;\nconsole.log(a);", "code <const a = 1;\nconsole.log(a);>");
}

static void words_ask_but_bring_no_code(void **state)
{
	(void)state;
	asks("Can you run some python code?", "code");
	asks("execute it", "code");
	asks("calculate the mean", "code");
	asks("run this for me", "code");
	asks("I wrote code in python", "code");
}

static void plain_talk_asks_for_nothing(void **state)
{
	static const char *const all[] = {
		"Hello, how are you?",
		"I went for a run this morning",
		"If you like, we can talk",
		"for now that is all",
		"",
		"   \n",
		"We run a small shop",
		"it was 2024-11-15",
		"I am running late",
		"while we wait: how is the weather",
		"from here it looks fine",
		"a = b means they are equal, I think (or do they)",
	};

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		asks(all[i], "");
}

static void sums_by_a_parser(void **state)
{
	(void)state;
	asks("What is 15 * 23?", "sum 345");
	asks("what is 2+2", "sum 4");
	asks("Calculate (1 + 2) * 3 - 4 / 2", "sum 7");
	asks("compute 2^10 please", "sum 1024");
	asks("what is 10 divided by 4?", "sum 2.5");
	asks("What's 7 times 6", "sum 42");
	asks("How much is 1,000 + 1?", "sum 1001");
	asks("15 * 23", "sum 345");
	asks("15*23 =", "sum 345");
	asks("what is 1/0?", "sum none");
	asks("what is -2^2", "sum -4");
	asks("what is sqrt(16) + 1", "sum 5");
	asks("what is 9223372036854775807 + 1", "sum 9.22337203685478e+18");
	asks("what is the answer", "");
	asks("What is python 3.11-dev?", "code");
}

static void sandboxes_by_their_names(void **state)
{
	(void)state;
	asks("Create a new sandbox with 10 minute timeout", "create 600s");
	asks("Please create a sandbox", "create");
	asks("spin up a sandbox for 2 hours", "create 7200s");
	asks("Show me all active sandboxes", "list");
	asks("list sandboxes", "list");
	asks("Kill sandbox iabc123def456ghi789jk", "kill iabc123def456ghi789jk");
	asks("kill sandbox `sb-1234`.", "kill sb-1234");
	asks("Kill sandbox foo", "kill foo");
	asks("Kill the sandbox", "kill");
	asks("kill all sandboxes", "kill");
	asks("kill sandbox now", "kill");
	asks("Terminate sandboxes i11111111111111111111 and i22222222222222222222",
	    "kill i11111111111111111111 i22222222222222222222");
	asks("Don't kill sandbox iabc123def456ghi789jk", "");
	asks("How do I create a sandbox?", "");
	asks("Should I kill sandbox iabc123def456ghi789jk", "");
}

static void packages_and_git(void **state)
{
	(void)state;
	asks("Install numpy and pandas", "install pip numpy pandas");
	asks("pip install requests==2.31.0", "install pip requests==2.31.0");
	asks("please install the npm package lodash", "install npm lodash");
	asks("npm install left-pad,chalk", "install npm left-pad chalk");
	asks("install x; rm -rf /", "install pip x rm -rf /"); /* refused by name, later */
	asks("don't install numpy", "");
	asks("Clone https://example.com/a/b.git into /tmp/b", "git clone https://example.com/a/b.git|/tmp/b|");
	asks("git status in /tmp/b", "git status |/tmp/b|");
	asks("git commit in /tmp/b with message \"it's done; rm -rf /\"", "git commit |/tmp/b|it's done; rm -rf /");
	asks("git push", "git push");
	asks("I like git", "");
}

static void limits(void **state)
{
	struct intents *l = calloc(1, sizeof *l);
	char *text = calloc(1, INTENT_TEXT_MAX + 2);

	(void)state;
	memset(text, 'a', INTENT_TEXT_MAX + 1);
	assert_int_equal(intents_parse(str_of(text), l), -E2BIG);
	text[0] = '\0';
	for (int i = 0; i < INTENTS_MAX + 1; i++)
		strcat(text, "```sh\ntrue\n```\n");
	assert_int_equal(intents_parse(str_of(text), l), 0);
	assert_int_equal(l->n, INTENTS_MAX);
	assert_true(l->more);
	intents_done(l);
	free(text);
	free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_fences_in_their_order),
		cmocka_unit_test(code_without_a_fence),
		cmocka_unit_test(words_ask_but_bring_no_code),
		cmocka_unit_test(plain_talk_asks_for_nothing),
		cmocka_unit_test(sums_by_a_parser),
		cmocka_unit_test(sandboxes_by_their_names),
		cmocka_unit_test(packages_and_git),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
