// Twin of examples/20_softmax.py.
#include <math_constants.h>

static __device__ float warp_max(float value)
{
#pragma unroll
    for (int bit = 16; bit > 0; bit /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, bit));
    return value;
}

static __device__ float warp_sum(float value)
{
#pragma unroll
    for (int bit = 16; bit > 0; bit /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, bit);
    return value;
}

extern "C" __global__ void softmax(const float *x, float *out, int rows, int columns)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row < rows) {
        x += row * columns;
        out += row * columns;
        float largest = -CUDART_INF_F;
        for (int column = lane; column < columns; column += 32)
            largest = fmaxf(largest, x[column]);
        largest = warp_max(largest);

        float total = 0.0f;
        for (int column = lane; column < columns; column += 32) {
            float power = expf(x[column] - largest);
            out[column] = power;
            total += power;
        }
        float scale = 1.0f / warp_sum(total);
        for (int column = lane; column < columns; column += 32)
            out[column] *= scale;
    }
}
