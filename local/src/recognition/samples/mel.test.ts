import { expect, test } from 'vitest'

import { createFourier } from './fourier.ts'
import { logMel, melBands, melFrames } from './mel.ts'

function tone(hertz: number, seconds: number): Float32Array {
  return Float32Array.from({ length: seconds * 16_000 }, (_, index) => {
    return 0.5 * Math.sin((2 * Math.PI * hertz * index) / 16_000)
  })
}

function loudestBand(mel: Float32Array, frame: number): number {
  const bands = Array.from({ length: melBands }, (_, band) => mel[band * melFrames + frame]!)
  return bands.indexOf(Math.max(...bands))
}

test('the transform equals the sum that defines it', () => {
  const real = Float64Array.from({ length: 400 }, (_, index) => Math.sin(index * 0.7) + index / 400)
  const imaginary = Float64Array.from({ length: 400 }, (_, index) => Math.cos(index * 1.3))
  const [startReal, startImaginary] = [real.slice(), imaginary.slice()]
  createFourier(400)(real, imaginary)
  for (const bin of [0, 1, 7, 199, 200, 201, 399]) {
    let [sumReal, sumImaginary] = [0, 0]
    for (let index = 0; index < 400; index++) {
      const angle = (-2 * Math.PI * bin * index) / 400
      sumReal += startReal[index]! * Math.cos(angle) - startImaginary[index]! * Math.sin(angle)
      sumImaginary += startReal[index]! * Math.sin(angle) + startImaginary[index]! * Math.cos(angle)
    }
    expect(real[bin]).toBeCloseTo(sumReal, 8)
    expect(imaginary[bin]).toBeCloseTo(sumImaginary, 8)
  }
})

// Bands are 37.2 Hz wide and their centres as far apart, up to 1 kHz.
test.each([
  [111.6, 2],
  [409.2, 10],
  [781.2, 20],
])('a tone of %s Hz is loudest in band %i, in odd and even frames', (hertz, band) => {
  const mel = logMel(tone(hertz, 1))
  expect(loudestBand(mel, 50)).toBe(band)
  expect(loudestBand(mel, 51)).toBe(band)
})

test('short sound is padded with silence, and a spectrogram spans eight orders of magnitude', () => {
  const mel = logMel(tone(400, 1))
  const sorted = mel.toSorted()
  const loudest = sorted.at(-1)!
  expect(sorted[0]).toBeCloseTo(loudest - 2, 5)
  expect(mel[10 * melFrames + 200]).toBeCloseTo(loudest - 2, 5)
  expect([...new Set(logMel(new Float32Array(16_000)))]).toEqual([-1.5])
})
