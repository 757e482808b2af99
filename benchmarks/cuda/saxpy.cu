// Twin of examples/03_saxpy.py.
extern "C" __global__ void saxpy(float a, const float *x, float *y, int n)
{
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        y[i] = a * x[i] + y[i];
}
