// Twin of examples/13_hash_map.py.
#include <cuda/atomic>

typedef unsigned long long u64;
const u64 EMPTY = ~0ull;
const unsigned ABSENT = 0;

static __device__ unsigned first_slot(unsigned key, unsigned mask)
{
    unsigned spread = key * 0x9E3779B1u;
    return (spread ^ spread >> 15) & mask;
}

static __device__ void insert(u64 *table, unsigned mask, unsigned key, unsigned value)
{
    u64 pair = (u64)key << 32 | value;
    unsigned slot = first_slot(key, mask);
    while (true) {
        u64 old = atomicCAS(&table[slot], EMPTY, pair);
        if (old == EMPTY)
            return;
        if (old >> 32 == key) {
            atomicMax(&table[slot], pair);
            return;
        }
        slot = (slot + 1) & mask;
    }
}

static __device__ unsigned find(u64 *table, unsigned mask, unsigned key)
{
    unsigned slot = first_slot(key, mask);
    while (true) {
        cuda::atomic_ref<u64, cuda::thread_scope_device> place(table[slot]);
        u64 pair = place.load(cuda::memory_order_relaxed);
        if (pair == EMPTY)
            return ABSENT;
        if (pair >> 32 == key)
            return (unsigned)pair;
        slot = (slot + 1) & mask;
    }
}

extern "C" __global__ void insert_and_find(
    u64 *table, unsigned mask, const unsigned *keys, const unsigned *values, unsigned *seen, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        insert(table, mask, keys[i], values[i]);
        seen[i] = find(table, mask, keys[i]);
    }
}
