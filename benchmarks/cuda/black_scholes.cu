// Twin of examples/09_black_scholes.py.
static __device__ float normal_cdf(float x)
{
    return 0.5f + 0.5f * erff(x * 0.70710678118654752440f);
}

extern "C" __global__ void black_scholes(const float *spot, const float *strike, const float *years, float *call,
                                         float *put, float rate, float sigma, int n)
{
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        float s = spot[i];
        float k = strike[i];
        float t = years[i];
        float spread = sigma * sqrtf(t);
        float d1 = (logf(s / k) + (rate + 0.5f * sigma * sigma) * t) / spread;
        float d2 = d1 - spread;
        float discounted = k * expf(-rate * t);
        call[i] = s * normal_cdf(d1) - discounted * normal_cdf(d2);
        put[i] = discounted * normal_cdf(-d2) - s * normal_cdf(-d1);
    }
}
