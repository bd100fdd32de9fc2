// Bulk copies, tensor maps, clusters and warp groups: what sm_90a adds.
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

__global__ void __cluster_dims__(2) bulk(const float *x, float *y, const __grid_constant__ CUtensorMap map) {
    __shared__ alignas(128) float tile[32][32];
    __shared__ alignas(16) float row[256];
    __shared__ alignas(8) uint64_t ready;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&ready, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    cg::this_cluster().sync();
    if (threadIdx.x == 0) {
        const int32_t corner[2] = {32, 64};
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &map, corner, &ready);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, row, x, sizeof row, &ready);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &ready, sizeof tile + sizeof row);
    }
    while (!ptx::mbarrier_try_wait_parity(&ready, 0)) {}
    float *other = cg::this_cluster().map_shared_rank(row, 1);
    row[threadIdx.x] += tile[threadIdx.x & 31][1] + other[threadIdx.x];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        const int32_t corner[2] = {0, 64};
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y, row, sizeof row);
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &map, corner, tile);
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, y, row, sizeof row);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

__global__ void __launch_bounds__(128, 1) warpgroup(uint64_t a, uint64_t b, float *y) {
    float d[4] = {0, 0, 0, 0};
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{\n.reg .pred scale;\nsetp.ne.b32 scale, %6, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, scale, 1, 1, 0, 0;\n}\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b), "r"(1));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    unsigned elected, r[4];
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.b32 %0, 1, 0, p;\n}\n" : "=r"(elected));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(elected));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%4, %5}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
    y[threadIdx.x] = d[0] + d[1] + d[2] + d[3] + elected;
}
