// SPDX-License-Identifier: Apache-2.0
// Clock and reset of sq_soc; prints the tokens that it writes, a number a line, and the cycles at the end.
//   sq_soc MOST_CYCLES
#include <cstdio>
#include <cstdlib>

#include "Vsq_soc.h"

int main(int, char **argv)
{
    Vsq_soc soc;
    const unsigned long long most = strtoull(argv[1], nullptr, 10);
    for (unsigned long long cycle = 0; cycle < most; cycle++) {
        soc.rst_ni = cycle > 8;
        soc.clk_i = 0;
        soc.eval();
        if (soc.rst_ni && soc.out_valid_o && !soc.out_end_o)
            printf("%u\n", soc.out_data_o);
        if (soc.rst_ni && soc.out_valid_o && soc.out_end_o) {
            printf("end %u after %llu cycles\n", soc.out_data_o, cycle);
            return soc.out_data_o != 0;
        }
        soc.clk_i = 1;
        soc.eval();
    }
    puts("no end");
    return 2;
}
