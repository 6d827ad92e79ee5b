/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any text is read as shell within its limits, ranges point to commands that are there, and the policy
 * comes to a verdict. */
#include "client/agent/shell_words.h"
#include "client/atoll.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct shell_script s;
	struct atoll_policy *p = NULL;
	struct atoll_verdict v;
	struct atoll_error e;

	if (shell_parse((struct str) { (const char *)data, size }, &s) == 0) {
		for (size_t i = 0; i < s.n; i++) {
			MUST(s.v[i].n_words > 0);
			MUST(s.v[i].from_first <= s.v[i].from_end && s.v[i].from_end <= i);
			for (size_t j = 0; j < s.v[i].n_words; j++)
				MUST(s.v[i].words[j].text && s.v[i].words[j].sub_first <= s.v[i].words[j].sub_end &&
				    s.v[i].words[j].sub_end <= i);
		}
		shell_done(&s);
	}
	char *text = strndup((const char *)data, size);

	MUST(text && atoll_policy_new(&p, &e) == 0);
	atoll_policy_command(p, NULL, text, &v);
	MUST(v.allowed == (v.severity == ATOLL_SEVERITY_NONE));
	atoll_policy_code(p, NULL, "python", text, &v);
	atoll_policy_code(p, NULL, "javascript", text, &v);
	atoll_policy_file(p, NULL, "write", text, &v);
	atoll_policy_free(p);
	free(text);
	return 0;
}
