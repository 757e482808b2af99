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

extern "C" __global__ void softmax(const float4 *x, float4 *out, int rows, int columns)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row < rows) {
        x += row * columns;
        out += row * columns;
        float largest = -CUDART_INF_F;
        for (int column = lane; column < columns; column += 32) {
            float4 v = x[column];
            largest = fmaxf(fmaxf(fmaxf(fmaxf(largest, v.x), v.y), v.z), v.w);
        }
        largest = warp_max(largest);

        float total = 0.0f;
        for (int column = lane; column < columns; column += 32) {
            float4 v = x[column];
            float4 power = make_float4(
                expf(v.x - largest), expf(v.y - largest), expf(v.z - largest), expf(v.w - largest));
            out[column] = power;
            total += power.x + power.y + power.z + power.w;
        }
        float scale = 1.0f / warp_sum(total);
        for (int column = lane; column < columns; column += 32) {
            float4 power = out[column];
            out[column] = make_float4(power.x * scale, power.y * scale, power.z * scale, power.w * scale);
        }
    }
}
