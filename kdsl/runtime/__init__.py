"""Devices, memory and launches; the only place that imports cuda-python.

A launch
    launch            what `@kernel` objects use: configurations (`config`) and their memo
    launcher          a compiled kernel's, for one device; launcher_code: what is generated for it, of packer and
                      foreign_packer; bound_launch: it with one configuration; enqueue: the last step, of a buffer
                      of parameters, packed as formats says; packer_names: where packers find names
    foreign_launch    the fast ways for other libraries' arrays, by class; array_kinds: what they ask of which,
                      tensor_packer of PyTorch's, interface_packer of those with __cuda_array_interface__
    compiled_limits   what it was compiled for; conditions: what must still be bound; contracts: what it requires
    calls, known      kernels without types of their own; inference, generics, callables, constants: what arguments say
    arguments         arrays as arguments of launch_parameters, and array_advice for those that do not fit; scalars,
                      structs and vectors; markers: In, Out, InOut
    host_arrays       NumPy's arrays, copied in and back; placement: on which device a launch is
    prepared, derived launches made ahead, and without brackets; hooks: watching launches;
                      dynamo: torch.compile leaves them alone; capture_arguments: of those that graphs record
    call_names        what a call says by a name that no parameter has; mistakes: what is told without our frames

Arrays
    memory            DeviceArray; array_making: new ones; layout, array_views, array_copies, array_streams,
                      strided: what is done with one; unlike_numpy: what is not; element_types: what a dtype means
    allocation        who owns memory; memory_pool: where it comes from; host_memory: pinned, mapped and managed;
                      host_values: what may be written to it; pickled_arrays
    interface, dlpack arrays of other libraries, as foreign_array describes them; torch_tensors, jax_arrays;
                      lent_arrays: those of JAX's that were exported
    shared_arrays     from_dlpack; dlpack_export: ours for others; foreign_memory, foreign_streams: in step with theirs

Streams
    stream, event     over any device that has them, as stream_backend says; awaiting: for asyncio
    graph             over any device that records them, as graph_backend says; graph_instance: what its
                      executable holds; graph_nodes; graph_kernels: their arguments

Modules
    images, entries   what an image is, and the kernels in it; elf, cpp_names, image_variables
    linking           through nvJitLink; ptx_linking: of PTX alone, by its ptx_statements
    variables         of loaded modules, by name

The CUDA driver
    driver            a GPU as a `kdsl.backend.Backend`; driver_*, native_call and watched_launches: its parts;
                      machine: what its code depends on
    device            `Device`, a GPU or the emulator; peers: several of them
    cuda_errors       the driver's errors as exceptions; errors: what is raised before the driver is asked

standalone            what `kdsl build` copies into loaders that need no kdsl
"""
