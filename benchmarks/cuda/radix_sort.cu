// Twin of the kernel `move` in examples/12_radix_sort.py.
const int BLOCK = 256;
const int WARPS = BLOCK / 32;
const int BITS = 4;
const int RADIX = 1 << BITS;

static __device__ unsigned lanemask_lt()
{
    unsigned mask;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
    return mask;
}

extern "C" __global__ void move(
    const unsigned *keys, const int *values, unsigned *keys_out, int *values_out, const int *offsets, int shift, int n)
{
    __shared__ int ranks[WARPS][RADIX];
    int t = threadIdx.x;
    int warp = t / 32;
    if (t < RADIX)
        for (int w = 0; w < WARPS; w++)
            ranks[w][t] = 0;
    __syncthreads();

    int i = blockIdx.x * blockDim.x + t;
    int digit = i < n ? (int)(keys[i] >> shift & (RADIX - 1)) : RADIX;
    unsigned peers = __match_any_sync(0xffffffffu, digit);
    int rank = __popc(peers & lanemask_lt());
    if (rank == 0 && i < n)
        ranks[warp][digit] = __popc(peers);
    __syncthreads();

    if (t < RADIX) {
        int total = 0;
        for (int w = 0; w < WARPS; w++) {
            int count = ranks[w][t];
            ranks[w][t] = total;
            total += count;
        }
    }
    __syncthreads();

    if (i < n) {
        int place = offsets[digit * gridDim.x + blockIdx.x] + ranks[warp][digit] + rank;
        keys_out[place] = keys[i];
        values_out[place] = values[i];
    }
}
