// Twin of examples/04_reduction.py.
static __device__ float warp_sum(float value)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_down_sync(0xffffffffu, value, distance);
    return value;
}

extern "C" __global__ void block_sums(const float *x, float *sums, int n)
{
    __shared__ float partial[32];
    int lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32;

    float total = 0.0f;
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        total += x[i];

    total = warp_sum(total);
    if (lane == 0)
        partial[warp] = total;
    __syncthreads();

    if (warp == 0) {
        total = lane < blockDim.x / 32 ? partial[lane] : 0.0f;
        total = warp_sum(total);
        if (lane == 0)
            sums[blockIdx.x] = total;
    }
}
