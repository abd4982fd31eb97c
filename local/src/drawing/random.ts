import { createHash } from 'node:crypto'

export interface Random {
  /** A number in [0, 1). */
  next(): number
  between(low: number, high: number): number
  chance(probability: number): boolean
  pick<T>(choices: readonly [T, ...T[]]): T
}

/**
 * A xoshiro128** stream seeded from text. Every part of a film uses its own stream (`topic`), so that a change in one part
 * does not change the others.
 */
export function randomFrom(seed: string, topic: string): Random {
  const digest = createHash('sha256').update(`${topic}\n${seed}`).digest()
  let a = digest.readUInt32LE(0)
  let b = digest.readUInt32LE(4)
  let c = digest.readUInt32LE(8)
  let d = digest.readUInt32LE(12)

  function next(): number {
    const product = Math.imul(b, 5)
    const result = Math.imul((product << 7) | (product >>> 25), 9)
    const shifted = b << 9
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = (d << 11) | (d >>> 21)
    return (result >>> 0) / 4_294_967_296
  }

  return {
    next,
    between: (low, high) => low + (high - low) * next(),
    chance: (probability) => next() < probability,
    pick: (choices) => choices[Math.floor(next() * choices.length)] ?? choices[0],
  }
}
