/* SPDX-License-Identifier: Apache-2.0 */
/* criu_preload_image: the libraries criu_preload and criu_unused as bytes, so that the tools' root need not have them.
 */
#include "engine/criu_preload_image.h" /* made by the build: the paths of the built libraries, unquoted */
#include "engine/ckpt/criu.h"

#define QUOTE_(x) #x
#define QUOTE(x) QUOTE_(x)

/* clang-format off */
#define EMBED(name, path) \
	__asm__(".section .rodata\n" \
		".balign 16\n" \
		".global " name "\n" \
		name ":\n" \
		".incbin \"" path "\"\n" \
		".global " name "_end\n" \
		name "_end:\n" \
		".previous\n")
/* clang-format on */

EMBED("criu_preload", QUOTE(CRIU_PRELOAD));
EMBED("criu_unused", QUOTE(CRIU_UNUSED));
