// SPDX-License-Identifier: Apache-2.0
// Text from the chip alone: a loop over tokens on a small processor beside sq_top (rv32im, no library). A job says the
// prompt's tokens and how many follow; each token goes through the program of a token in memory (sq_driver_token), and
// what was written leaves by one register.
//
//     0x00000000  this program, its stack below the job
//     0x0000f000  the job: tokens of the prompt, tokens to write, the prompt
//     0x10000000  a write is a token that was written; at 4: the end, with what it was (0: all was written)
//     0x20000000  registers of sq_top
//     0x80000000  memory that the chip shares: the image of `sqsim image --token --base 0x80000000`
#include "lib/sq_driver.h"

#define WORDS(address) ((volatile uint32_t *)(uintptr_t)(address))

enum { JOB = 0xf000, OUTPUT = 0x10000000, CHIP = 0x20000000 };

__attribute__((naked, noreturn, section(".start"))) void start(void)
{
    __asm__("lui sp, 0xf\n\tj run");
}

// The two functions that a compiler calls of itself.
void *memset(void *to, int value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((volatile unsigned char *)to)[i] = (unsigned char)value;
    return to;
}

void *memcpy(void *to, const void *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((volatile unsigned char *)to)[i] = ((const unsigned char *)from)[i];
    return to;
}

static uint32_t read32(void *ctx, uint32_t offset)
{
    return ((volatile uint32_t *)ctx)[offset / 4];
}

static void write32(void *ctx, uint32_t offset, uint32_t value)
{
    ((volatile uint32_t *)ctx)[offset / 4] = value;
}

// 0, or what failed: enum sq_driver_result, and the slot above its low byte.
static uint32_t write_text(void)
{
    const struct sq_driver chip = {(void *)(uintptr_t)CHIP, read32, write32, NULL};
    struct sq_driver_token token = {.word = WORDS(0x80000000u)};
    const volatile uint32_t *const job = WORDS(JOB);
    uint32_t next = 0;
    enum sq_driver_result result = sq_driver_probe(&chip, NULL);
    for (uint32_t i = 0; result == SQ_DRIVER_OK && i + 1 < job[0] + job[1]; i++) {
        result = sq_driver_token(&chip, &token, i < job[0] ? job[2 + i] : next, i, &next);
        if (result == SQ_DRIVER_OK && i + 1 >= job[0])
            WORDS(OUTPUT)[0] = next;
    }
    return result == SQ_DRIVER_OK ? 0 : (uint32_t)result | token.failed << 8;
}

__attribute__((noreturn, used)) void run(void)
{
    WORDS(OUTPUT)[1] = write_text();
    for (;;)
        ;
}
