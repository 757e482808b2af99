// Twin of examples/11_scan.py.
#include <cuda/atomic>

const int BLOCK = 128;
const int TILE = 2 * BLOCK;
const int EMPTY = 0, SUM = 1, PREFIX = 2;

static __device__ int blelloch(int *values)
{
    int t = threadIdx.x;
    int distance = 1;
    while (distance < TILE) {
        __syncthreads();
        int right = (2 * t + 2) * distance - 1;
        if (right < TILE)
            values[right] += values[right - distance];
        distance *= 2;
    }
    __syncthreads();
    int total = values[TILE - 1];
    __syncthreads();
    if (t == 0)
        values[TILE - 1] = 0;
    while (distance > 1) {
        distance /= 2;
        __syncthreads();
        int right = (2 * t + 2) * distance - 1;
        if (right < TILE) {
            int left = values[right - distance];
            values[right - distance] = values[right];
            values[right] += left;
        }
    }
    __syncthreads();
    return total;
}

typedef cuda::atomic_ref<int, cuda::thread_scope_device> Status;

static __device__ int look_back(int tile, int total, int *status, int *sums, int *prefixes)
{
    int before = 0;
    if (tile > 0) {
        sums[tile] = total;
        Status(status[tile]).store(SUM, cuda::memory_order_release);
        int other = tile - 1;
        int state = EMPTY;
        while (state != PREFIX) {
            state = Status(status[other]).load(cuda::memory_order_acquire);
            if (state == SUM) {
                before += sums[other];
                other -= 1;
            }
        }
        before += prefixes[other];
    }
    prefixes[tile] = before + total;
    Status(status[tile]).store(PREFIX, cuda::memory_order_release);
    return before;
}

extern "C" __global__ void scan(
    const int *x, int *out, int *ticket, int *status, int *sums, int *prefixes, int n)
{
    __shared__ int values[TILE];
    __shared__ int tile_of_block;
    __shared__ int before_tile;
    int t = threadIdx.x;
    if (t == 0)
        tile_of_block = atomicAdd(ticket, 1);
    __syncthreads();
    int tile = tile_of_block;

    int start = tile * TILE;
    for (int k = t; k < TILE; k += BLOCK)
        values[k] = start + k < n ? x[start + k] : 0;
    int total = blelloch(values);
    if (t == 0)
        before_tile = look_back(tile, total, status, sums, prefixes);
    __syncthreads();
    for (int k = t; k < TILE; k += BLOCK)
        if (start + k < n)
            out[start + k] = before_tile + values[k];
}
