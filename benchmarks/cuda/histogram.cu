// Twin of examples/07_histogram.py.
const int BINS = 256;

extern "C" __global__ void histogram(const unsigned char *data, int *bins, int n)
{
    __shared__ int counts[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        counts[b] = 0;
    __syncthreads();

    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        atomicAdd(&counts[data[i]], 1);
    __syncthreads();

    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        atomicAdd(&bins[b], counts[b]);
}
