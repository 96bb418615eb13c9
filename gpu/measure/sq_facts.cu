// SPDX-License-Identifier: Apache-2.0
// Asks device, driver, libraries and compiler for what all records of a run share (sq_facts.cuh).
#include "gpu/measure/sq_facts.cuh"

#include <cstdio>
#include <cstring>
#include <ctime>

#include "gpu/measure/sq_vendor.cuh"

namespace
{

#ifdef SQ_EMULATE
constexpr const char *kNvcc = "none";
#else
#define SQ_TEXT_(x) #x
#define SQ_TEXT(x) SQ_TEXT_(x)
constexpr const char *kNvcc = SQ_TEXT(__CUDACC_VER_MAJOR__) "." SQ_TEXT(
    __CUDACC_VER_MINOR__) "." SQ_TEXT(__CUDACC_VER_BUILD__);
#endif

std::string first_line_of(const char *command)
{
    char text[256] = "";
    FILE *p = popen(command, "r");
    if (p && !fgets(text, sizeof text, p))
        text[0] = 0;
    if (p)
        pclose(p);
    text[strcspn(text, "\n")] = 0;
    return text[0] ? text : "unknown";
}

} // namespace

SqFacts sq_facts_of(const cudaDeviceProp &p)
{
    SqFacts f;
    char text[64];
    const time_t now = time(nullptr);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    f.ts = text;
    f.revision = SQ_REVISION;
    f.device = p.name;
    f.cc = std::to_string(p.major) + "." + std::to_string(p.minor);
    f.driver = sq_driver_version();
    f.cublaslt = sq_cublaslt_version();
    f.cusparselt = sq_cusparselt_version();
    f.nvcc = kNvcc;
    f.sha256 = first_line_of("sha256sum /proc/$PPID/exe | cut -d' ' -f1");
    for (char c : f.device)
        f.slug += isalnum(static_cast<unsigned char>(c))
                      ? static_cast<char>(tolower(static_cast<unsigned char>(c)))
                      : '_';
    return f;
}

void sq_facts_fill(struct sq_record_run *run, const SqFacts &f, const cudaDeviceProp &p)
{
    run->ts_utc = f.ts.c_str();
    run->revision = f.revision.c_str();
    run->is_dirty = strstr(f.revision.c_str(), "-dirty") != nullptr;
    run->device = f.device.c_str();
    run->cc = f.cc.c_str();
    run->driver = f.driver.c_str();
    run->sms = p.multiProcessorCount;
    run->l2_mb = p.l2CacheSize >> 20;
    run->mem_gib = static_cast<int>(p.totalGlobalMem >> 30);
    run->nvcc = f.nvcc.c_str();
    run->flags = SQ_NVCC_FLAGS;
    run->cublaslt = f.cublaslt.c_str();
    run->cusparselt = f.cusparselt.c_str();
    run->binary_sha256 = f.sha256.c_str();
}
