/** Transforms in place. */
export type Fourier = (real: Float64Array, imaginary: Float64Array) => void

/** A discrete Fourier transform of a fixed size, which must be a product of fours and fives. */
export function createFourier(size: number): Fourier {
  const passes = factors(size).map((radix) => (radix === 4 ? passOfFour : passOfFive))
  const cosines = Float64Array.from({ length: size }, (_, index) => Math.cos((2 * Math.PI * index) / size))
  const sines = Float64Array.from({ length: size }, (_, index) => -Math.sin((2 * Math.PI * index) / size))
  const spareReal = new Float64Array(size)
  const spareImaginary = new Float64Array(size)

  return (real, imaginary) => {
    let from: Complex = { real, imaginary }
    let to: Complex = { real: spareReal, imaginary: spareImaginary }
    let groups = 1
    for (const pass of passes) {
      groups *= pass(from, to, groups, { real: cosines, imaginary: sines })
      ;[from, to] = [to, from]
    }
    if (from.real === real) return
    real.set(from.real)
    imaginary.set(from.imaginary)
  }
}

interface Complex {
  real: Float64Array
  imaginary: Float64Array
}

/*
 * Passes of Stockham's self-sorting algorithm: `groups` interleaved transforms become four or five times as many with a
 * fourth or fifth of the length. Unrolled, because a spectrogram spends most of its time here.
 */

function passOfFour(from: Complex, to: Complex, groups: number, twiddles: Complex): 4 {
  const { real: x, imaginary: y } = from
  const { real: u, imaginary: v } = to
  const quarter = x.length / 4
  const points = quarter / groups
  for (let point = 0; point < points; point++) {
    const step = point * groups
    const [c1, s1] = [twiddles.real[step]!, twiddles.imaginary[step]!]
    const [c2, s2] = [twiddles.real[2 * step]!, twiddles.imaginary[2 * step]!]
    const [c3, s3] = [twiddles.real[3 * step]!, twiddles.imaginary[3 * step]!]
    for (let group = 0; group < groups; group++) {
      const source = step + group
      const sumX = x[source]! + x[source + 2 * quarter]!
      const sumY = y[source]! + y[source + 2 * quarter]!
      const differenceX = x[source]! - x[source + 2 * quarter]!
      const differenceY = y[source]! - y[source + 2 * quarter]!
      const oddSumX = x[source + quarter]! + x[source + 3 * quarter]!
      const oddSumY = y[source + quarter]! + y[source + 3 * quarter]!
      const oddDifferenceX = x[source + quarter]! - x[source + 3 * quarter]!
      const oddDifferenceY = y[source + quarter]! - y[source + 3 * quarter]!
      const target = 4 * step + group
      u[target] = sumX + oddSumX
      v[target] = sumY + oddSumY
      const firstX = differenceX + oddDifferenceY
      const firstY = differenceY - oddDifferenceX
      u[target + groups] = firstX * c1 - firstY * s1
      v[target + groups] = firstX * s1 + firstY * c1
      const secondX = sumX - oddSumX
      const secondY = sumY - oddSumY
      u[target + 2 * groups] = secondX * c2 - secondY * s2
      v[target + 2 * groups] = secondX * s2 + secondY * c2
      const thirdX = differenceX - oddDifferenceY
      const thirdY = differenceY + oddDifferenceX
      u[target + 3 * groups] = thirdX * c3 - thirdY * s3
      v[target + 3 * groups] = thirdX * s3 + thirdY * c3
    }
  }
  return 4
}

const fifth = { cosine: Math.cos((2 * Math.PI) / 5), sine: Math.sin((2 * Math.PI) / 5) }
const twoFifths = { cosine: Math.cos((4 * Math.PI) / 5), sine: Math.sin((4 * Math.PI) / 5) }

function passOfFive(from: Complex, to: Complex, groups: number, twiddles: Complex): 5 {
  const { real: x, imaginary: y } = from
  const { real: u, imaginary: v } = to
  const part = x.length / 5
  const points = part / groups
  for (let point = 0; point < points; point++) {
    const step = point * groups
    const [c1, s1] = [twiddles.real[step]!, twiddles.imaginary[step]!]
    const [c2, s2] = [twiddles.real[2 * step]!, twiddles.imaginary[2 * step]!]
    const [c3, s3] = [twiddles.real[3 * step]!, twiddles.imaginary[3 * step]!]
    const [c4, s4] = [twiddles.real[4 * step]!, twiddles.imaginary[4 * step]!]
    for (let group = 0; group < groups; group++) {
      const source = step + group
      const startX = x[source]!
      const startY = y[source]!
      const outerSumX = x[source + part]! + x[source + 4 * part]!
      const outerSumY = y[source + part]! + y[source + 4 * part]!
      const outerDifferenceX = x[source + part]! - x[source + 4 * part]!
      const outerDifferenceY = y[source + part]! - y[source + 4 * part]!
      const innerSumX = x[source + 2 * part]! + x[source + 3 * part]!
      const innerSumY = y[source + 2 * part]! + y[source + 3 * part]!
      const innerDifferenceX = x[source + 2 * part]! - x[source + 3 * part]!
      const innerDifferenceY = y[source + 2 * part]! - y[source + 3 * part]!
      const oneX = startX + fifth.cosine * outerSumX + twoFifths.cosine * innerSumX
      const oneY = startY + fifth.cosine * outerSumY + twoFifths.cosine * innerSumY
      const twoX = startX + twoFifths.cosine * outerSumX + fifth.cosine * innerSumX
      const twoY = startY + twoFifths.cosine * outerSumY + fifth.cosine * innerSumY
      const oneTurnX = fifth.sine * outerDifferenceY + twoFifths.sine * innerDifferenceY
      const oneTurnY = fifth.sine * outerDifferenceX + twoFifths.sine * innerDifferenceX
      const twoTurnX = twoFifths.sine * outerDifferenceY - fifth.sine * innerDifferenceY
      const twoTurnY = twoFifths.sine * outerDifferenceX - fifth.sine * innerDifferenceX
      const target = 5 * step + group
      u[target] = startX + outerSumX + innerSumX
      v[target] = startY + outerSumY + innerSumY
      u[target + groups] = (oneX + oneTurnX) * c1 - (oneY - oneTurnY) * s1
      v[target + groups] = (oneX + oneTurnX) * s1 + (oneY - oneTurnY) * c1
      u[target + 2 * groups] = (twoX + twoTurnX) * c2 - (twoY - twoTurnY) * s2
      v[target + 2 * groups] = (twoX + twoTurnX) * s2 + (twoY - twoTurnY) * c2
      u[target + 3 * groups] = (twoX - twoTurnX) * c3 - (twoY + twoTurnY) * s3
      v[target + 3 * groups] = (twoX - twoTurnX) * s3 + (twoY + twoTurnY) * c3
      u[target + 4 * groups] = (oneX - oneTurnX) * c4 - (oneY + oneTurnY) * s4
      v[target + 4 * groups] = (oneX - oneTurnX) * s4 + (oneY + oneTurnY) * c4
    }
  }
  return 5
}

function factors(size: number): (4 | 5)[] {
  const found: (4 | 5)[] = []
  let rest = size
  for (const radix of [4, 5] as const) {
    for (; rest % radix === 0; rest /= radix) found.push(radix)
  }
  if (rest !== 1) throw new Error(`${size} is not a product of fours and fives.`)
  return found
}
