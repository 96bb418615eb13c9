// SPDX-License-Identifier: Apache-2.0
// In place of libFuzzer's main: every file of the directories once through the harness. Prints one
// line of TAP. A finding ends the program, as it does under libFuzzer.
#include <dirent.h>

#include "tests/fuzz/fuzz.h"

enum { INPUT_MAX = 1 << 22 };

static void replay(const char *path, uint8_t *buffer)
{
    FILE *f = fopen(path, "rb");
    FUZZ_CHECK(f);
    const size_t n = fread(buffer, 1, INPUT_MAX, f);
    fclose(f);
    uint8_t *exact = malloc(n ? n : 1); // AddressSanitizer sees the first byte beyond
    FUZZ_CHECK(exact);
    memcpy(exact, buffer, n);
    (void)LLVMFuzzerTestOneInput(exact, n);
    free(exact);
}

int main(int argc, char **argv)
{
    unsigned long n = 0;
    uint8_t *buffer = malloc(INPUT_MAX);
    FUZZ_CHECK(buffer);
    for (int i = 1; i < argc; i++) {
        struct dirent **entry;
        const int n_entries = scandir(argv[i], &entry, NULL, alphasort);
        FUZZ_CHECK(n_entries >= 0);
        for (int j = 0; j < n_entries; j++) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%s", argv[i], entry[j]->d_name);
            if (entry[j]->d_name[0] != '.') {
                replay(path, buffer);
                n++;
            }
            free(entry[j]);
        }
        free(entry);
    }
    free(buffer);
    fuzz_forget_written();
    printf("%lu inputs\n", n);
    return n > 0 ? 0 : 1;
}
