// SPDX-License-Identifier: Apache-2.0
// As much of the CUDA runtime as the host code that nvcc makes of gpu/*.cu asks for, on a device
// that is the interpreter: programs linked with this instead of the runtime library run kernels
// from the PTX that they carry (nvcc --no-compress). Device memory is host memory; everything is
// done at once.
//
// SQ_PTX_EDIT="REGEX=>TEXT" changes the PTX of every module before it is used; one that is nowhere
// in a module that is used ends the program: for tests that plant a mistake.
#include "tests/gpu/ptx.h"

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime_api.h>
#include <map>
#include <regex>
#include <vector>

namespace
{

struct Module {
    const void *image;
    std::string text;
};
struct Function {
    Module *module;
    std::string name;
    PtxKernel kernel;
    bool is_parsed = false;
};
struct Configuration {
    dim3 grid, block;
    size_t nbytes_shared;
    cudaStream_t stream;
};

std::map<const void *, Function> &functions()
{
    static std::map<const void *, Function> all;
    return all;
}
std::vector<Configuration> pending;

[[noreturn]] void refuse(const char *why)
{
    fprintf(stderr, "ptx: %s\n", why);
    abort();
}

// The PTX of a fat binary: a header of 16 bytes, then entries (kind, its header's size, its size).
std::string ptx_of(const uint8_t *image)
{
    uint16_t header;
    uint64_t total;
    memcpy(&header, image + 6, sizeof header);
    memcpy(&total, image + 8, sizeof total);
    for (size_t at = header; at < header + total;) {
        uint16_t kind;
        uint32_t start;
        uint64_t nbytes;
        memcpy(&kind, image + at, sizeof kind);
        memcpy(&start, image + at + 4, sizeof start);
        memcpy(&nbytes, image + at + 8, sizeof nbytes);
        const char *text = reinterpret_cast<const char *>(image + at + start);
        if (kind == 1) {
            const std::string ptx(text, strnlen(text, nbytes));
            if (ptx.find(".version") == std::string::npos)
                refuse("the PTX is compressed: compile with --no-compress");
            return ptx;
        }
        at += start + nbytes;
    }
    refuse("a program without PTX");
}

// SQ_PTX_EDIT, and whether it was ever found.
struct Edit {
    const char *const rule = getenv("SQ_PTX_EDIT");
    bool is_found = rule == nullptr;
    ~Edit()
    {
        if (!is_found)
            refuse("SQ_PTX_EDIT changes nothing");
    }
    void apply(std::string *text)
    {
        if (!rule)
            return;
        const std::string all = rule;
        const size_t arrow = all.find("=>");
        if (arrow == std::string::npos)
            refuse("SQ_PTX_EDIT is REGEX=>TEXT");
        const std::string changed =
            std::regex_replace(*text, std::regex(all.substr(0, arrow)), all.substr(arrow + 2));
        is_found = is_found || changed != *text;
        *text = changed;
    }
};
Edit edit;

cudaError_t launch(const void *host_function, dim3 grid, dim3 block, void **args,
                   size_t nbytes_shared)
{
    Function &f = functions().at(host_function);
    if (!f.is_parsed) {
        if (f.module->text.empty()) {
            f.module->text = ptx_of(static_cast<const uint8_t *>(f.module->image));
            edit.apply(&f.module->text);
        }
        f.kernel = ptx_parse(f.module->text, f.name);
        f.is_parsed = true;
    }
    ptx_launch(f.kernel, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, nbytes_shared,
               args);
    return cudaSuccess;
}

} // namespace

extern "C" {

void **__cudaRegisterFatBinary(void *wrapper)
{
    // magic, version, image
    const void *image;
    memcpy(&image, static_cast<const uint8_t *>(wrapper) + 8, sizeof image);
    return reinterpret_cast<void **>(new Module{image, ""});
}
void __cudaRegisterFatBinaryEnd(void **)
{
}
void __cudaUnregisterFatBinary(void **module)
{
    delete reinterpret_cast<Module *>(module);
}
void __cudaRegisterFunction(void **module, const char *host_function, char *, const char *name, int,
                            void *, void *, void *, void *, int *)
{
    Function &f = functions()[host_function];
    f.module = reinterpret_cast<Module *>(module);
    f.name = name;
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t nbytes_shared,
                                     cudaStream_t stream)
{
    pending.push_back({grid, block, nbytes_shared, stream});
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *nbytes_shared, void *stream)
{
    const Configuration c = pending.back();
    pending.pop_back();
    *grid = c.grid;
    *block = c.block;
    *nbytes_shared = c.nbytes_shared;
    memcpy(stream, &c.stream, sizeof c.stream);
    return cudaSuccess;
}
// CUDA 13 launches by handle, those before by function.
cudaError_t __cudaGetKernel(const void **kernel, const void *host_function)
{
    *kernel = host_function;
    return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **args,
                               size_t nbytes_shared, cudaStream_t)
{
    return launch(kernel, grid, block, args, nbytes_shared);
}
cudaError_t cudaLaunchKernel(const void *host_function, dim3 grid, dim3 block, void **args,
                             size_t nbytes_shared, cudaStream_t)
{
    return launch(host_function, grid, block, args, nbytes_shared);
}

cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute, int)
{
    return cudaSuccess;
}
cudaError_t cudaGetLastError()
{
    return cudaSuccess;
}
const char *cudaGetErrorString(cudaError_t)
{
    return "interpreted";
}
cudaError_t cudaStreamSynchronize(cudaStream_t)
{
    return cudaSuccess;
}
cudaError_t cudaMallocAsync(void **p, size_t nbytes, cudaStream_t)
{
    *p = aligned_alloc(1024, (nbytes + 1023) / 1024 * 1024);
    return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFreeAsync(void *p, cudaStream_t)
{
    free(p);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t nbytes, cudaStream_t)
{
    memset(to, value, nbytes);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t nbytes, cudaMemcpyKind, cudaStream_t)
{
    memcpy(to, from, nbytes);
    return cudaSuccess;
}
}
