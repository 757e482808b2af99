// Twin of examples/25_fft.py.
#include <cuComplex.h>

#define N 1024
#define BLOCK (N / 4)

static __device__ void transform4(cuFloatComplex &a, cuFloatComplex &b, cuFloatComplex &c, cuFloatComplex &d)
{
    cuFloatComplex even = cuCaddf(a, c), odd = cuCaddf(b, d);
    cuFloatComplex difference = cuCsubf(a, c), other = cuCsubf(b, d);
    cuFloatComplex turned = make_cuFloatComplex(other.y, -other.x);
    a = cuCaddf(even, odd);
    b = cuCaddf(difference, turned);
    c = cuCsubf(even, odd);
    d = cuCsubf(difference, turned);
}

extern "C" __global__ void fft(const cuFloatComplex *x, cuFloatComplex *out)
{
    __shared__ cuFloatComplex data[N];
    int i = threadIdx.x;
    x += blockIdx.x * N;
    out += blockIdx.x * N;
    cuFloatComplex a = x[i], b = x[i + BLOCK], c = x[i + 2 * BLOCK], d = x[i + 3 * BLOCK];
    transform4(a, b, c, d);
    data[4 * i] = a;
    data[4 * i + 1] = b;
    data[4 * i + 2] = c;
    data[4 * i + 3] = d;
#pragma unroll
    for (int done = 4; done <= BLOCK; done *= 4) {
        __syncthreads();
        float sine, cosine;
        sincospif((i % done) * (-0.5f / done), &sine, &cosine);
        cuFloatComplex turn = make_cuFloatComplex(cosine, sine);
        cuFloatComplex turn2 = cuCmulf(turn, turn);
        a = data[i];
        b = cuCmulf(data[i + BLOCK], turn);
        c = cuCmulf(data[i + 2 * BLOCK], turn2);
        d = cuCmulf(data[i + 3 * BLOCK], cuCmulf(turn2, turn));
        transform4(a, b, c, d);
        if (done < BLOCK) {
            __syncthreads();
            int place = i / done * (4 * done) + i % done;
            data[place] = a;
            data[place + done] = b;
            data[place + 2 * done] = c;
            data[place + 3 * done] = d;
        } else {
            out[i] = a;
            out[i + BLOCK] = b;
            out[i + 2 * BLOCK] = c;
            out[i + 3 * BLOCK] = d;
        }
    }
}
