import type { Random } from './random.ts'

export function smoothstep(low: number, high: number, value: number): number {
  const position = Math.min(1, Math.max(0, (value - low) / (high - low)))
  return position * position * (3 - 2 * position)
}

/** Smooth one-dimensional noise in [-1, 1] that repeats after `cells` lattice points. */
export function periodicNoise(random: Random, cells: number): (position: number) => number {
  const values = Float64Array.from({ length: cells }, () => random.next() * 2 - 1)
  return (position) => {
    const cell = Math.floor(position)
    const fraction = position - cell
    const blend = fraction * fraction * fraction * (fraction * (6 * fraction - 15) + 10)
    const left = values[((cell % cells) + cells) % cells] ?? 0
    const right = values[(((cell + 1) % cells) + cells) % cells] ?? 0
    return left + (right - left) * blend
  }
}

const latticeSize = 256
const latticeMask = latticeSize - 1

/** Smooth noise in [0, 1] over a plane, repeating every 256 units. */
export function planeNoise(random: Random): (x: number, y: number) => number {
  const lattice = new Float32Array(latticeSize * latticeSize)
  for (let index = 0; index < lattice.length; index++) lattice[index] = random.next()
  return (x, y) => {
    const column = Math.floor(x)
    const row = Math.floor(y)
    const acrossFraction = x - column
    const downFraction = y - row
    const across = acrossFraction * acrossFraction * (3 - 2 * acrossFraction)
    const down = downFraction * downFraction * (3 - 2 * downFraction)
    const left = column & latticeMask
    const right = (column + 1) & latticeMask
    const upperRow = (row & latticeMask) * latticeSize
    const lowerRow = ((row + 1) & latticeMask) * latticeSize
    const upperLeft = lattice[upperRow + left]!
    const lowerLeft = lattice[lowerRow + left]!
    const upper = upperLeft + (lattice[upperRow + right]! - upperLeft) * across
    const lower = lowerLeft + (lattice[lowerRow + right]! - lowerLeft) * across
    return upper + (lower - upper) * down
  }
}
