/* SPDX-License-Identifier: Apache-2.0 */
/* criu_preload_image: the library criu_preload as bytes, so that the tools' root need not have it. */
#include "engine/criu_preload_image.h" /* made by the build: CRIU_PRELOAD, the path of the built library, unquoted */
#include "engine/ckpt/criu.h"

#define QUOTE_(x) #x
#define QUOTE(x) QUOTE_(x)

__asm__(".section .rodata\n"
	".balign 16\n"
	".global criu_preload\n"
	"criu_preload:\n"
	".incbin \"" QUOTE(CRIU_PRELOAD) "\"\n"
					 ".global criu_preload_end\n"
					 "criu_preload_end:\n"
					 ".previous\n");
