// Twin of examples/06_transpose.py.
const int TILE = 32;
const int ROWS = 8;

extern "C" __global__ void transpose(const float *source, float *destination, int height, int width)
{
    __shared__ float tile[TILE][TILE + 1];

    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < width && y + j < height)
            tile[threadIdx.y + j][threadIdx.x] = source[(y + j) * width + x];
    __syncthreads();

    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < height && y + j < width)
            destination[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}
