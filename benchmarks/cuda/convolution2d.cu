// Twin of examples/17_convolution2d.py.
const int RADIUS = 2;
const int SIDE = 2 * RADIUS + 1;
const int TILE = 16;
const int WIDE = TILE + 2 * RADIUS;

#define ROW(s, a, b, c, d, e) \
    {(s) * (a) / 256.0f, (s) * (b) / 256.0f, (s) * (c) / 256.0f, (s) * (d) / 256.0f, (s) * (e) / 256.0f}
#define SMOOTH(s) ROW(s, 1, 4, 6, 4, 1)
#define SLOPE(s) ROW(s, 1, 2, 0, -2, -1)

__constant__ float filters[3][SIDE][SIDE] = {
    {SMOOTH(1), SMOOTH(4), SMOOTH(6), SMOOTH(4), SMOOTH(1)},
    {SLOPE(1), SLOPE(4), SLOPE(6), SLOPE(4), SLOPE(1)},
    {SMOOTH(1), SMOOTH(2), SMOOTH(0), SMOOTH(-2), SMOOTH(-1)},
};

extern "C" __global__ void convolve(const float *image, float *out, int height, int width, int chosen)
{
    __shared__ float tile[WIDE][WIDE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;

    for (int row = ty; row < WIDE; row += TILE)
        for (int column = tx; column < WIDE; column += TILE) {
            int y = blockIdx.y * TILE + row - RADIUS;
            int x = blockIdx.x * TILE + column - RADIUS;
            bool within = 0 <= y && y < height && 0 <= x && x < width;
            tile[row][column] = within ? image[y * width + x] : 0.0f;
        }
    __syncthreads();

    float total = 0.0f;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            total += filters[chosen][i][j] * tile[ty + 2 * RADIUS - i][tx + 2 * RADIUS - j];
    int y = blockIdx.y * TILE + ty;
    int x = blockIdx.x * TILE + tx;
    if (y < height && x < width)
        out[y * width + x] = total;
}
