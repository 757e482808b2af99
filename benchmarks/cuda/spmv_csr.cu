// Twin of examples/16_spmv_csr.py.
static __device__ float warp_sum(float value)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_down_sync(0xffffffffu, value, distance);
    return value;
}

extern "C" __global__ void spmv(
    const int *starts, const int *columns, const float *values, const float *x, float *y, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row < rows) {
        float total = 0.0f;
        for (int k = starts[row] + lane; k < starts[row + 1]; k += 32)
            total += values[k] * x[columns[k]];
        total = warp_sum(total);
        if (lane == 0)
            y[row] = total;
    }
}
