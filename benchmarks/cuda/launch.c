/* How long the host takes for cuLaunchKernel, as a C program pays it: the floor that every Python launch stands on.

   Built as a shared library without CUDA headers: the caller hands over the driver's functions. */
#include <time.h>

typedef int (*launch_kernel)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                             unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream,
                             void **parameters, void **extra);
typedef int (*synchronize_stream)(void *stream);

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

/* Seconds per launch, the wait afterwards not counted; negative: minus the driver's error code. */
double launch_seconds(launch_kernel launch, synchronize_stream synchronize, void *function, unsigned grid,
                      unsigned block, void *stream, unsigned long long a, unsigned long long b, unsigned long long c,
                      int n, int launches)
{
    double start = seconds();
    for (int i = 0; i < launches; ++i) {
        /* Inside the loop, as nvcc's host stub does it: a program's arguments are not packed in advance. */
        void *parameters[] = {&a, &b, &c, &n};
        int error = launch(function, grid, 1, 1, block, 1, 1, 0, stream, parameters, 0);
        if (error)
            return -error;
    }
    double elapsed = seconds() - start;
    int error = synchronize(stream);
    return error ? -error : elapsed / launches;
}
