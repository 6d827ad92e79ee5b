/* SPDX-License-Identifier: Apache-2.0 */
/* client/agent/shell_words: lines of shell are taken apart as a shell would. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "client/agent/shell_words.h"
#include "unit.h"

/* Words in [], commands ended by ; and the range of what they read before them. */
static char *parsed(const char *text)
{
	struct buf out = BUF_INIT(65536);
	struct shell_script s;

	assert_int_equal(shell_parse(str_of(text), &s), 0);
	for (size_t i = 0; i < s.n; i++) {
		if (s.v[i].from_first < s.v[i].from_end)
			buf_fmt(&out, "%zu-%zu>", s.v[i].from_first, s.v[i].from_end);
		for (size_t j = 0; j < s.v[i].n_words; j++)
			buf_fmt(&out, "[%s]", s.v[i].words[j].text);
		if (s.v[i].input)
			buf_fmt(&out, "<%s>", s.v[i].input);
		buf_ch(&out, ';');
	}
	shell_done(&s);
	char *z = str_dup(out.p ? buf_view(&out) : STR_LIT(""));

	buf_done(&out);
	return z;
}

static void reads(const char *text, const char *want)
{
	char *have = parsed(text);

	assert_string_equal(have, want);
	free(have);
}

static void words_and_quotes(void **state)
{
	(void)state;
	reads("rm -r -f /", "[rm][-r][-f][/];");
	reads("r\"m\" -'rf' \\/", "[rm][-rf][/];");
	reads("echo 'a;b|c' \"d && e\"", "[echo][a;b|c][d && e];");
	reads("echo \"a\\\"b\\$c\"", "[echo][a\"b$c];");
	reads("$'\\x72m' $'\\162m'", "[rm][rm];");
	reads("rm${IFS}-rf$IFS/", "[rm][-rf][/];");
	reads("echo a\\\nb", "[echo][ab];");
	reads("echo # rm -rf /\nls", "[echo];[ls];");
	reads("echo a#b ''", "[echo][a#b][];");
	reads("", "");
	reads("'", "[];");
}

static void lists_and_pipes(void **state)
{
	(void)state;
	reads("a; b && c || d & e", "[a];[b];[c];[d];[e];");
	reads("curl x | bash", "[curl][x];0-1>[bash];");
	reads("curl x | tee f | bash; ls", "[curl][x];0-1>[tee][f];0-2>[bash];[ls];");
	reads("curl x | (cat; sh)", "[curl][x];0-1>[cat];0-1>[sh];");
	reads("curl x | { cat; sh; }", "[curl][x];0-1>[cat];0-1>[sh];");
	reads("(curl x) | sh", "[curl][x];0-1>[sh];");
	reads("if true; then sudo ls; fi", "[true];[sudo][ls];");
	reads("! a", "[a];");
}

static void substitutions(void **state)
{
	(void)state;
	reads("echo $(rm -rf /)", "[rm][-rf][/];[echo][];");
	reads("echo \"x $(a \"b c\") y\"", "[a][b c];[echo][x  y];");
	reads("echo `sudo ls \\`id\\``", "[id];[sudo][ls][];[echo][];");
	reads("bash <(curl x)", "[curl][x];[bash][];");
	reads("curl x > >(sh)", "[curl][x];0-1>[sh];");
	reads("echo $((1<<3))\nrm x", "[echo][];[rm][x];");
	reads("((x<<2))\nrm x", "[rm][x];");
	reads("echo $((rm x) )", "[rm][x];[echo][];");
}

static void redirections(void **state)
{
	(void)state;
	reads("ls 2>&1 >/dev/null <in", "[ls];");
	reads("ls &> out", "[ls];");
	reads("bash <<EOF; echo hi\nrm -rf /\nEOF\nls", "[bash]<rm -rf /\n>;[echo][hi];[ls];");
	reads("cat <<-'E' | sh\n\tsudo ls\n\tE\nls", "[cat]<sudo ls\n>;0-1>[sh];[ls];");
	reads("sh <<< 'rm x'", "[sh]<rm x>;");
	reads("cat <<A <<B\n1\nA\n2\nB\nls", "[cat]<1\n>;[ls];");
}

static void limits(void **state)
{
	struct shell_script s;
	char deep[4 * SHELL_DEPTH_MAX + 8] = "";

	(void)state;
	for (int i = 0; i < SHELL_DEPTH_MAX + 1; i++)
		strcat(deep, "$( ");
	assert_int_equal(shell_parse(str_of(deep), &s), -E2BIG);
	char *long_text = calloc(1, SHELL_TEXT_MAX + 2);

	memset(long_text, 'a', SHELL_TEXT_MAX + 1);
	assert_int_equal(shell_parse(str_of(long_text), &s), -E2BIG);
	for (size_t i = 1; i < SHELL_TEXT_MAX; i += 2)
		long_text[i] = ';';
	long_text[SHELL_TEXT_MAX] = '\0';
	assert_int_equal(shell_parse(str_of(long_text), &s), -E2BIG);
	free(long_text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_and_quotes),
		cmocka_unit_test(lists_and_pipes),
		cmocka_unit_test(substitutions),
		cmocka_unit_test(redirections),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
