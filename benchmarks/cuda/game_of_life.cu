// Twin of examples/15_game_of_life.py.
static __device__ int wrapped(int i, int length)
{
    return i < 0 ? length - 1 : i == length ? 0 : i;
}

extern "C" __global__ void generation(const unsigned char *board, unsigned char *after, int height, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (y < height && x < width) {
        int alive = board[y * width + x];
        int around = -alive;
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++)
                around += board[wrapped(y + dy, height) * width + wrapped(x + dx, width)];
        after[y * width + x] = around == 3 || (alive == 1 && around == 2);
    }
}
