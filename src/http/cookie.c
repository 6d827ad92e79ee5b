/* SPDX-License-Identifier: Apache-2.0 */
/* http/cookie: splits at semicolons. */
#include "http/cookie.h"

bool cookie_next(struct str *field, struct str *ret_name, struct str *ret_value)
{
	while (field->n > 0) {
		struct str value = str_trim(str_cut(field, ';'));

		if (value.n == 0)
			continue;
		*ret_name = str_cut(&value, '=');
		if (value.p) {
			*ret_name = str_trim(*ret_name);
			*ret_value = str_trim(value);
		} else {
			*ret_value = *ret_name;
			*ret_name = (struct str) { ret_name->p, 0 };
		}
		return true;
	}
	return false;
}
