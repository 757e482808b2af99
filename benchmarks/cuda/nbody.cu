// Twin of examples/14_nbody.py.
const int TILE = 128;
const float SOFTENING = 0.05f * 0.05f;

extern "C" __global__ void accelerations(const float *bodies, float *out, int n)
{
    __shared__ float tile[4][TILE];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int t = threadIdx.x;
    int mine = min(i, n - 1);
    float x = bodies[mine];
    float y = bodies[n + mine];
    float z = bodies[2 * n + mine];

    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int start = 0; start < n; start += TILE) {
        for (int row = 0; row < 4; row++)
            tile[row][t] = start + t < n ? bodies[row * n + start + t] : 0.0f;
        __syncthreads();
        for (int j = 0; j < TILE; j++) {
            float dx = tile[0][j] - x;
            float dy = tile[1][j] - y;
            float dz = tile[2][j] - z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + SOFTENING);
            float pull = tile[3][j] * inverse * inverse * inverse;
            ax += pull * dx;
            ay += pull * dy;
            az += pull * dz;
        }
        __syncthreads();
    }
    if (i < n) {
        out[i] = ax;
        out[n + i] = ay;
        out[2 * n + i] = az;
    }
}
