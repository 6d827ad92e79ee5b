/* SPDX-License-Identifier: Apache-2.0 */
/* client/mock_load: a program that asks for a mock does not have to be linked with it. */
#include "client/mock_load.h"

#include <dlfcn.h>
#include <errno.h>

#include "client/client.h"
#include "client/mock/mock.h"

#define LIBRARY "libatoll-mock.so.0"

extern const struct mock_ops atoll_mock __attribute__((weak)); /* NULL unless the program links it */

int mock_load(const struct mock_ops **ret, struct atoll_error *e)
{
	const struct mock_ops *ops = &atoll_mock;

	if (!ops) {
		/* Stays loaded: its threads may still run when the last client is freed. */
		void *lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

		ops = lib ? dlsym(lib, "atoll_mock") : NULL;
	}
	if (!ops || ops->size < sizeof *ops)
		return client_fail(e, ENOENT, 0,
		    "the mock is in %s, which cannot be loaded: is libatoll-mock installed?", LIBRARY);
	*ret = ops;
	return 0;
}
