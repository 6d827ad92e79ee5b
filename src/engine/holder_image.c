/* SPDX-License-Identifier: Apache-2.0 */
/* holder_image: the program atoll-holder as bytes, so that it runs from memory and keeps no file of the host open. */
#include "engine/holder_image.h" /* made by the build: HOLDER_IMAGE, the path of the built program, unquoted */
#include "engine/holder.h"

#define QUOTE_(x) #x
#define QUOTE(x) QUOTE_(x)

__asm__(".section .rodata\n"
	".balign 16\n"
	".global holder_image\n"
	"holder_image:\n"
	".incbin \"" QUOTE(HOLDER_IMAGE) "\"\n"
					 ".global holder_image_end\n"
					 "holder_image_end:\n"
					 ".previous\n");
