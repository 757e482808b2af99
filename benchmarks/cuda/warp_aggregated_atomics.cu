// Twin of examples/19_warp_aggregated_atomics.py.
static __device__ unsigned lanemask_lt()
{
    unsigned mask;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
    return mask;
}

static __device__ int place_among(unsigned votes, unsigned mask, int *counter)
{
    int leader = __ffs(mask) - 1;
    int first = 0;
    if (threadIdx.x % 32 == leader)
        first = atomicAdd(counter, __popc(votes));
    first = __shfl_sync(mask, first, leader);
    return first + __popc(votes & lanemask_lt());
}

extern "C" __global__ void keep_above(const int *x, int *out, int *kept, int threshold, int n)
{
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        unsigned mask = __activemask();
        int value = x[i];
        bool passes = value > threshold;
        unsigned votes = __ballot_sync(mask, passes);
        if (votes != 0) {
            int place = place_among(votes, mask, kept);
            if (passes)
                out[place] = value;
        }
    }
}
