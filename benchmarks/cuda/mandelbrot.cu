// Twin of examples/08_mandelbrot.py.
// nvcc: --fmad=false
extern "C" __global__ void mandelbrot(int *steps, int height, int width, float left, float top, float pixel, int limit)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (y < height && x < width) {
        float c_real = left + x * pixel;
        float c_imaginary = top - y * pixel;
        float real = 0.0f;
        float imaginary = 0.0f;
        int count = 0;
        while (count < limit && real * real + imaginary * imaginary <= 4.0f) {
            float next = real * real - imaginary * imaginary + c_real;
            imaginary = 2.0f * real * imaginary + c_imaginary;
            real = next;
            ++count;
        }
        steps[y * width + x] = count;
    }
}
