import { execFile } from 'node:child_process'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'

const run = promisify(execFile)

const samplesPerSecond = 24_000

export async function bytesOf(stream: Readable): Promise<Buffer> {
  return Buffer.concat((await stream.toArray()) as Buffer[])
}

/** The decoded samples, as values from -1 to 1. */
export async function decode(bytes: Buffer, format: string): Promise<Float32Array> {
  if (format.startsWith('pcm'))
    return Float32Array.from({ length: bytes.length / 2 }, (_, at) => bytes.readInt16LE(2 * at) / 0x8000)
  const output = ['-f', 'f32le', '-ar', String(samplesPerSecond), 'pipe:1']
  const stdout = await feed('ffmpeg', ['-v', 'error', ...inputArgs(format), '-i', 'pipe:0', ...output], bytes)
  return new Float32Array(new Uint8Array(stdout).buffer)
}

export async function secondsOf(bytes: Buffer, format: string): Promise<number> {
  return (await decode(bytes, format)).length / samplesPerSecond
}

export interface ProbedSound {
  codec_name: string
  sample_rate: string
  channels: number
}

export async function probe(bytes: Buffer, format: string): Promise<ProbedSound | undefined> {
  const args = ['-v', 'error', ...inputArgs(format), '-show_streams', '-of', 'json', 'pipe:0']
  const found = JSON.parse((await feed('ffprobe', args, bytes)).toString()) as { streams: ProbedSound[] }
  return found.streams[0]
}

/** Raw samples have no header, so their format must be given. */
function inputArgs(format: string): string[] {
  return format.startsWith('pcm') ? ['-f', 's16le', '-ar', String(samplesPerSecond), '-ac', '1'] : []
}

async function feed(program: string, args: string[], bytes: Buffer): Promise<Buffer> {
  const running = run(program, args, { encoding: 'buffer', maxBuffer: 512 * 1024 * 1024 })
  // A probe closes its input early.
  running.child.stdin?.on('error', () => {})
  running.child.stdin?.end(bytes)
  return (await running).stdout
}

/** The character of a voice, independent of its level: pitch in hertz and spectrum in decibels. */
export interface Timbre {
  pitch: number
  spectrum: number[]
}

const frameSize = 1024
const frequencies = Array.from({ length: 40 }, (_, place) => 120 * (8000 / 120) ** (place / 39))
const waves = frequencies.map((frequency) => windowedWaveOf(frequency))

export function timbreOf(samples: Float32Array): Timbre {
  const frames: Float32Array[] = []
  for (let from = 0; from + frameSize <= samples.length; from += frameSize / 2) {
    frames.push(samples.subarray(from, from + frameSize))
  }
  const energies = frames.map((frame) => frame.reduce((sum, value) => sum + value * value, 0))
  const loudest = Math.max(...energies)
  const spoken = frames.filter((_, place) => energies[place]! > loudest * 0.01)
  const spectrum = waves.map(
    (wave) =>
      10 * Math.log10(1e-9 + spoken.reduce((sum, frame) => sum + powerOf(frame, wave), 0) / spoken.length),
  )
  const mean = spectrum.reduce((sum, value) => sum + value, 0) / spectrum.length
  const pitches = spoken.map(framePitch).filter((pitch) => pitch !== undefined)
  return { pitch: median(pitches), spectrum: spectrum.map((value) => value - mean) }
}

/** The distance of the spectra in decibels plus the distance of the pitches in semitones. */
export function timbreDistance(one: Timbre, other: Timbre): number {
  const squares = one.spectrum.map((value, band) => (value - other.spectrum[band]!) ** 2)
  const decibels = Math.sqrt(squares.reduce((sum, value) => sum + value, 0) / squares.length)
  return decibels + Math.abs(12 * Math.log2(one.pitch / other.pitch))
}

export function levelOf(samples: Float32Array): number {
  const frames: number[] = []
  for (let from = 0; from + 480 <= samples.length; from += 480) {
    frames.push(samples.subarray(from, from + 480).reduce((sum, value) => sum + value * value, 0) / 480)
  }
  const spoken = frames.filter((energy) => energy > Math.max(...frames) * 0.001)
  return Math.sqrt(spoken.reduce((sum, energy) => sum + energy, 0) / spoken.length)
}

export function median(values: number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN
}

interface WindowedWave {
  cosine: Float64Array
  sine: Float64Array
}

/** A wave of a frequency that begins and ends gently. */
function windowedWaveOf(frequency: number): WindowedWave {
  const step = (2 * Math.PI * frequency) / samplesPerSecond
  const along = (valueAt: (place: number) => number) =>
    Float64Array.from(
      { length: frameSize },
      (_, place) => (0.5 - 0.5 * Math.cos((2 * Math.PI * place) / frameSize)) * valueAt(place),
    )
  return {
    cosine: along((place) => Math.cos(step * place)),
    sine: along((place) => Math.sin(step * place)),
  }
}

function powerOf(frame: Float32Array, { cosine, sine }: WindowedWave): number {
  let real = 0
  let imaginary = 0
  for (let place = 0; place < frameSize; place++) {
    real += frame[place]! * cosine[place]!
    imaginary += frame[place]! * sine[place]!
  }
  return real * real + imaginary * imaginary
}

/** The pitch by autocorrelation, or undefined if the frame has none. */
function framePitch(frame: Float32Array): number | undefined {
  const energy = frame.reduce((sum, value) => sum + value * value, 0)
  let best = { likeness: 0.3, lag: 0 }
  for (let lag = Math.floor(samplesPerSecond / 400); lag <= samplesPerSecond / 60; lag++) {
    let sum = 0
    for (let place = lag; place < frameSize; place++) sum += frame[place]! * frame[place - lag]!
    const likeness = sum / energy
    if (likeness > best.likeness) best = { likeness, lag }
  }
  return best.lag === 0 ? undefined : samplesPerSecond / best.lag
}

const silenceFrame = 240

export interface Silence {
  startSeconds: number
  endSeconds: number
}

/** The silences between the first and the last sound. */
export function silencesOf(samples: Float32Array): Silence[] {
  const limit = (levelOf(samples) * 0.02) ** 2
  const silences: Silence[] = []
  let lastSound: number | undefined
  for (let from = 0; from + silenceFrame <= samples.length; from += silenceFrame) {
    const energy = samples.subarray(from, from + silenceFrame).reduce((sum, value) => sum + value * value, 0)
    if (energy / silenceFrame < limit) continue
    if (lastSound !== undefined && lastSound < from)
      silences.push({ startSeconds: lastSound / samplesPerSecond, endSeconds: from / samplesPerSecond })
    lastSound = from + silenceFrame
  }
  return silences
}
