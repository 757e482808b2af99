// Twin of examples/01_hello_constant.py.
extern "C" __global__ void hello(int *out)
{
    out[0] = 42;
}
