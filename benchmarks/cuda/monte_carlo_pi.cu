// Twin of examples/18_monte_carlo_pi.py.
// nvcc: --fmad=false
static __device__ uint4 philox4x32(uint4 counter, uint2 key)
{
#pragma unroll
    for (int round = 0; round < 10; round++) {
        unsigned high0 = __umulhi(counter.x, 0xD2511F53u), low0 = counter.x * 0xD2511F53u;
        unsigned high1 = __umulhi(counter.z, 0xCD9E8D57u), low1 = counter.z * 0xCD9E8D57u;
        counter = make_uint4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
        key.x += 0x9E3779B9u;
        key.y += 0xBB67AE85u;
    }
    return counter;
}

static __device__ float uniform(unsigned word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

static __device__ int inside(float x, float y)
{
    return x * x + y * y < 1.0f ? 1 : 0;
}

extern "C" __global__ void count_inside(unsigned long long *hits, unsigned seed, int pairs)
{
    int count = 0;
    int stride = gridDim.x * blockDim.x;
#pragma unroll 4
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += stride) {
        uint4 words = philox4x32(make_uint4(i, 0, 0, 0), make_uint2(seed, 0));
        count += inside(uniform(words.x), uniform(words.y)) + inside(uniform(words.z), uniform(words.w));
    }
    count = __reduce_add_sync(0xffffffffu, count);
    if (threadIdx.x % 32 == 0)
        atomicAdd(hits, (unsigned long long)count);
}
