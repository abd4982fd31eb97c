import { createFourier } from './fourier.ts'

export const samplesPerSecond = 16_000
export const windowSeconds = 30
export const melBands = 80
export const melFrames = 3000
/** One frame of the spectrogram is 10 ms. */
const hop = 160
const frameSize = 400
const bins = frameSize / 2 + 1

const fourier = createFourier(frameSize)
const hann = Float64Array.from(
  { length: frameSize },
  (_, index) => 0.5 - 0.5 * Math.cos((2 * Math.PI * index) / frameSize),
)
const bank = melBank()

/**
 * The logarithmic mel spectrogram that Whisper was trained on: `melBands` rows of `melFrames` values. Shorter sound is
 * padded with silence, longer sound is cut off.
 */
export function logMel(samples: Float32Array): Float32Array {
  const sound = samples.subarray(0, windowSeconds * samplesPerSecond)
  const mel = new Float32Array(melBands * melFrames).fill(-10)
  const real = new Float64Array(frameSize)
  const imaginary = new Float64Array(frameSize)
  // Later frames contain only silence.
  const soundFrames = Math.min(melFrames, Math.ceil((sound.length + frameSize / 2) / hop) + 1)
  let loudest = -10
  // The imaginary part of the input is free, so each transform processes two frames.
  for (let frame = 0; frame < soundFrames; frame += 2) {
    cutFrame(sound, frame, real)
    cutFrame(sound, frame + 1, imaginary)
    fourier(real, imaginary)
    const [first, second] = powers(real, imaginary)
    for (let band = 0; band < melBands; band++) {
      const row = band * melFrames + frame
      mel[row] = bandLevel(band, first)
      mel[row + 1] = bandLevel(band, second)
      loudest = Math.max(loudest, mel[row], mel[row + 1]!)
    }
  }
  for (let index = 0; index < mel.length; index++) mel[index] = (Math.max(mel[index]!, loudest - 8) + 4) / 4
  return mel
}

/** Frames are centred on their time. The sound is mirrored at its start. */
function cutFrame(sound: Float32Array, frame: number, into: Float64Array): void {
  const start = frame * hop - frameSize / 2
  for (let index = 0; index < frameSize; index++) {
    into[index] = (sound[Math.abs(start + index)] ?? 0) * hann[index]!
  }
}

const firstPowers = new Float64Array(bins)
const secondPowers = new Float64Array(bins)

/** Separates the two frames: one is the symmetric part of the spectrum, the other the antisymmetric part. */
function powers(real: Float64Array, imaginary: Float64Array): [Float64Array, Float64Array] {
  for (let bin = 0; bin < bins; bin++) {
    const mirror = (frameSize - bin) % frameSize
    const evenReal = (real[bin]! + real[mirror]!) / 2
    const evenImaginary = (imaginary[bin]! - imaginary[mirror]!) / 2
    const oddReal = (imaginary[bin]! + imaginary[mirror]!) / 2
    const oddImaginary = (real[mirror]! - real[bin]!) / 2
    firstPowers[bin] = evenReal * evenReal + evenImaginary * evenImaginary
    secondPowers[bin] = oddReal * oddReal + oddImaginary * oddImaginary
  }
  return [firstPowers, secondPowers]
}

function bandLevel(band: number, power: Float64Array): number {
  const { firstBin, weights } = bank[band]!
  let sum = 0
  for (let index = 0; index < weights.length; index++) sum += weights[index]! * power[firstBin + index]!
  return Math.log10(Math.max(sum, 1e-10))
}

interface Band {
  firstBin: number
  weights: Float64Array
}

/** Triangles of equal area, evenly spread on Slaney's scale: linear up to 1 kHz, logarithmic above. */
function melBank(): Band[] {
  const logStep = Math.log(6.4) / 27
  const melOf = (hertz: number) => (hertz < 1000 ? (hertz * 3) / 200 : 15 + Math.log(hertz / 1000) / logStep)
  const hertzOf = (mel: number) => (mel < 15 ? (mel * 200) / 3 : 1000 * Math.exp((mel - 15) * logStep))
  const top = melOf(samplesPerSecond / 2)
  const corner = (index: number) => hertzOf((index * top) / (melBands + 1))
  return Array.from({ length: melBands }, (_, band) => {
    const [low, middle, high] = [corner(band), corner(band + 1), corner(band + 2)]
    const weights = Array.from({ length: bins }, (__, bin) => {
      const hertz = (bin * samplesPerSecond) / frameSize
      const slope = Math.min((hertz - low) / (middle - low), (high - hertz) / (high - middle))
      return (Math.max(0, slope) * 2) / (high - low)
    })
    const firstBin = Math.max(
      0,
      weights.findIndex((weight) => weight > 0),
    )
    const lastBin = weights.findLastIndex((weight) => weight > 0)
    return { firstBin, weights: Float64Array.from(weights.slice(firstBin, lastBin + 1)) }
  })
}
