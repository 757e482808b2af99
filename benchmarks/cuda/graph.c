/* How long the host takes for cuGraphLaunch, as a C program pays it.

   Built as a shared library without CUDA headers: the caller hands over the driver's functions. */
#include <time.h>

typedef int (*launch_graph)(void *executable, void *stream);
typedef int (*synchronize_stream)(void *stream);

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

/* Seconds per launch, the wait afterwards not counted; negative: minus the driver's error code. */
double graph_seconds(launch_graph launch, synchronize_stream synchronize, void *executable, void *stream, int launches)
{
    double start = seconds();
    for (int i = 0; i < launches; ++i) {
        int error = launch(executable, stream);
        if (error)
            return -error;
    }
    double elapsed = seconds() - start;
    int error = synchronize(stream);
    return error ? -error : elapsed / launches;
}
