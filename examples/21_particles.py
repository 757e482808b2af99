"""Particles that bounce in a box: structs with methods and operators, in arrays of NumPy's structured dtype."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import kdsl
from kdsl import Array, address_of, atomic, f32, grid, i32, kernel, struct

BLOCK = 128
STEP = 0.01


@struct
class Vec3:
    x: f32
    y: f32
    z: f32

    def __add__(self, other: Vec3) -> Vec3:
        return Vec3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __mul__(self, factor: f32) -> Vec3:
        return Vec3(self.x * factor, self.y * factor, self.z * factor)

    def dot(self, other: Vec3) -> f32:
        return self.x * other.x + self.y * other.y + self.z * other.z


@struct
class Particle:
    position: Vec3
    velocity: Vec3
    mass: f32 = 1.0
    bounces: i32 = 0

    def energy(self) -> f32:
        return 0.5 * self.mass * self.velocity.dot(self.velocity)


@struct
class World:
    """What holds for all particles: passed by value, as C's structs are."""

    gravity: Vec3
    size: f32 = 1.0


@struct
class Totals:
    energy: f32
    bounces: i32


def reflected(position: f32, velocity: f32, size: f32) -> tuple[f32, f32, i32]:
    """A coordinate and its velocity after the walls at 0 and ``size``, and whether there was one."""
    if position < 0.0:
        return -position, -velocity, 1
    if position > size:
        return 2.0 * size - position, -velocity, 1
    return position, velocity, 0


@kernel(fmad=False)
def advance(particles: Array[Particle, 1], world: World, steps: i32) -> None:
    i = grid(1)
    if i < len(particles):
        # A struct is a value: `p` is a copy in registers, and the element changes when it is stored.
        p = particles[i]
        for _ in range(steps):
            p.velocity += world.gravity * STEP
            p.position += p.velocity * STEP
            p.position.x, p.velocity.x, hit_x = reflected(p.position.x, p.velocity.x, world.size)
            p.position.y, p.velocity.y, hit_y = reflected(p.position.y, p.velocity.y, world.size)
            p.position.z, p.velocity.z, hit_z = reflected(p.position.z, p.velocity.z, world.size)
            p.bounces += hit_x + hit_y + hit_z
        particles[i] = p


@kernel
def summed(particles: Array[Particle, 1], totals: Array[Totals, 1]) -> None:
    i = grid(1)
    if i < len(particles):
        atomic.add(address_of(totals[0].energy), 0, particles[i].energy())
        atomic.add(address_of(totals[0].bounces), 0, particles[i].bounces)


def reference(
    position: NDArray[np.float32], velocity: NDArray[np.float32], gravity: NDArray[np.float32], steps: int
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
    """Positions, velocities and bounces after the steps, in f32 and in the kernel's order: the same bits."""
    bounces = np.zeros(len(position), np.int64)
    step = np.float32(STEP)
    for _ in range(steps):
        velocity = velocity + gravity * step
        position = position + velocity * step
        below, above = position < 0, position > 1
        position = np.where(below, -position, np.where(above, np.float32(2) - position, position))
        velocity = np.where(below | above, -velocity, velocity)
        bounces += (below | above).sum(1)
    return position, velocity, bounces


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="particles that bounce in a box")
    parser.add_argument("--n", type=int, default=5000)
    parser.add_argument("--steps", type=int, default=200)
    size = parser.parse_args(argv)

    rng = np.random.default_rng(21)
    position = rng.random((size.n, 3), np.float32)
    velocity = 4 * rng.standard_normal((size.n, 3), np.float32)
    host = np.zeros(size.n, np.dtype(Particle))
    host["mass"] = rng.integers(1, 4, size.n)
    for axis, name in enumerate("xyz"):
        host["position"][name], host["velocity"][name] = position[:, axis], velocity[:, axis]

    particles = kdsl.to_device(host)
    totals = np.zeros(1, np.dtype(Totals))
    blocks = (size.n + BLOCK - 1) // BLOCK
    advance[blocks, BLOCK](particles, World(Vec3(0.0, -9.81, 0.0)), size.steps)
    summed[blocks, BLOCK](particles, totals)
    host = particles.to_host()

    gravity = np.array([0, -9.81, 0], np.float32)
    position, velocity, bounces = reference(position, velocity, gravity, size.steps)
    same = all(
        np.array_equal(host["position"][name], position[:, axis])
        and np.array_equal(host["velocity"][name], velocity[:, axis])
        for axis, name in enumerate("xyz")
    )
    # Atomics add in any order: each of n additions is off by half an ulp (2^-24) of the sum at most.
    energy = (0.5 * host["mass"].astype(np.float64) * (velocity.astype(np.float64) ** 2).sum(1)).sum()
    close = abs(totals["energy"][0] - energy) <= (size.n + 6) * 2.0**-24 * energy
    counted = np.array_equal(host["bounces"], bounces) and totals["bounces"][0] == bounces.sum()
    if not (same and close and counted):
        print("particles: MISMATCH")
        return 1
    print(f"particles: {size.n} particles, {size.steps} steps, {bounces.sum()} bounces verified")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
