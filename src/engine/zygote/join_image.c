/* SPDX-License-Identifier: Apache-2.0 */
/* join_image: the library join_lib as bytes: a template need not contain it, and cannot have another version of
 * it. */
#include "engine/join_image.h" /* made by the build: JOIN_IMAGE, the path of the built library, unquoted */
#include "engine/zygote/zygote.h"

#define QUOTE_(x) #x
#define QUOTE(x) QUOTE_(x)

__asm__(".section .rodata\n"
	".balign 16\n"
	".global join_image\n"
	"join_image:\n"
	".incbin \"" QUOTE(JOIN_IMAGE) "\"\n"
				       ".global join_image_end\n"
				       "join_image_end:\n"
				       ".previous\n");
