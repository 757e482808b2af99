// Twin of examples/10_stencil3d.py.
const float FLOW = 0.125f;

extern "C" __global__ void heat(const float *u, float *out, int depth, int height, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (0 < x && x < width - 1 && 0 < y && y < height - 1 && 0 < z && z < depth - 1) {
        int i = (z * height + y) * width + x;
        int plane = height * width;
        float centre = u[i];
        float around = u[i - 1] + u[i + 1] + u[i - width] + u[i + width] + u[i - plane] + u[i + plane];
        out[i] = centre + FLOW * (around - 6.0f * centre);
    }
}
