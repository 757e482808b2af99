// Twin of examples/05_matmul_tiled.py.
const int TILE = 16;

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int rows, int inner, int columns)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int column = blockIdx.x * TILE + tx;

    float total = 0.0f;
    for (int start = 0; start < inner; start += TILE) {
        tile_a[ty][tx] = row < rows && start + tx < inner ? a[row * inner + start + tx] : 0.0f;
        tile_b[ty][tx] = start + ty < inner && column < columns ? b[(start + ty) * columns + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k)
            total += tile_a[ty][k] * tile_b[k][tx];
        __syncthreads();
    }
    if (row < rows && column < columns)
        c[row * columns + column] = total;
}
