/** Changes recordings so that they state one duration and contain another, and damages them at random. */
import { changeOggPages, delayPackets, placesOf, removeEditList } from './packet-times.ts'
import type { SampleRecording } from './sample-recordings.ts'
import type { Random } from './seeded-random.ts'

const numbers = [
  0, 1, 2, 3, 0x7f, 0x80, 0xff, 0x100, 1_000, 8_000, 96_000, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff,
]

const writeNumber = (bytes: Buffer, at: number, value: number, isLittleEndian: boolean) => {
  if (at < 0 || at + 4 > bytes.length) return
  if (isLittleEndian) bytes.writeUInt32LE(value >>> 0, at)
  else bytes.writeUInt32BE(value >>> 0, at)
}

/** A number that a header might contain: a well-known one, or a multiple of the one that is there. */
const otherNumber = (random: Random, now: number): number => {
  const factor = random.pick([0.01, 0.1, 0.5, 2, 10, 100])
  return random.below(2) === 0 ? random.pick(numbers) : Math.min(0xffffffff, Math.round(now * factor))
}

const changeNumberAt = (random: Random, bytes: Buffer, at: number, isLittleEndian: boolean) => {
  if (at < 0 || at + 4 > bytes.length) return
  const now = isLittleEndian ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at)
  writeNumber(bytes, at, otherNumber(random, now), isLittleEndian)
}

type Mutate = (random: Random, bytes: Buffer, all: SampleRecording[]) => Buffer

const changeBytes: Mutate = (random, bytes) => {
  for (let left = 1 + random.below(12); left > 0; left -= 1)
    bytes[random.below(bytes.length)] = random.below(256)
  return bytes
}

/** Headers are short, so most random places are not in them. */
const changeHeaderNumber: Mutate = (random, bytes) => {
  const end = Math.min(bytes.length, random.pick([64, 256, 2_048]))
  changeNumberAt(random, bytes, random.below(end), random.below(2) === 0)
  return bytes
}

const truncate: Mutate = (random, bytes) => bytes.subarray(0, 64 + random.below(bytes.length))

const repeatPart: Mutate = (random, bytes) => {
  const from = random.below(bytes.length)
  const part = bytes.subarray(from, from + 1 + random.below(bytes.length - from))
  const times = 1 + random.below(6)
  return Buffer.concat([
    bytes.subarray(0, from),
    ...Array.from({ length: times }, () => part),
    bytes.subarray(from),
  ])
}

const removePart: Mutate = (random, bytes) => {
  const from = random.below(bytes.length)
  return Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + 1 + random.below(400))])
}

const appendAnother: Mutate = (random, bytes, all) => {
  const other = random.pick(all).bytes
  const middle = Buffer.alloc(random.pick([0, 0, 1, 300]))
  return Buffer.concat([bytes, middle, other, ...(random.below(3) === 0 ? [bytes] : [])])
}

/** Tags are skipped by some programs before they detect the format. */
const prependTags: Mutate = (random, bytes) => {
  const tags = Buffer.alloc(10 + random.below(120))
  tags.write('ID3\x04\0\0\0\0\0', 'latin1')
  tags[9] = tags.length - 10
  return Buffer.concat([tags, bytes])
}

const anywhere: Mutate[] = [
  ...[changeBytes, changeHeaderNumber, truncate, repeatPart, removePart, appendAnother, prependTags],
]

const waveChunk = (name: string, bytes: Buffer, statedBytes = bytes.length) => {
  const head = Buffer.alloc(8)
  head.write(name, 'latin1')
  head.writeUInt32LE(statedBytes >>> 0, 4)
  return Buffer.concat([head, bytes])
}

const waveFormat = (random: Random) => {
  const [channels, bits] = [1 + random.below(2), random.pick([8, 16, 16, 16, 24, 32])]
  const rate = random.pick([8_000, 16_000, 48_000, 192_000])
  const frameBytes = random.below(8) === 0 ? random.pick([1, 2, 4, 8]) : (channels * bits) / 8
  const isExtensible = random.below(3) === 0
  const format = Buffer.alloc(isExtensible ? 40 : 16)
  format.writeUInt16LE(isExtensible ? 0xfffe : random.pick([1, 1, 1, 1, 3, 6, 7]), 0)
  format.writeUInt16LE(channels, 2)
  format.writeUInt32LE(rate, 4)
  format.writeUInt32LE(random.below(4) === 0 ? random.pick(numbers) : rate * frameBytes, 8)
  format.writeUInt16LE(frameBytes, 12)
  format.writeUInt16LE(bits, 14)
  if (isExtensible) {
    format.writeUInt16LE(22, 16)
    format.writeUInt16LE(random.below(2) === 0 ? bits : random.pick([8, 16, 24, 32]), 18)
    Buffer.from('0100000000001000800000aa00389b71', 'hex').copy(format, 24)
  }
  return format
}

/** A WAV file of several chunks, some of them with a wrong length. */
const buildWave: Mutate = (random, _bytes, all) => {
  const sound = random.pick(all.filter(({ format }) => format === 'wav')).bytes.subarray(60)
  const data = () => {
    const bytes = sound.subarray(0, random.pick([64, 1_000, 8_001, sound.length]))
    return waveChunk('data', bytes, random.below(3) === 0 ? random.pick([0, 64, ...numbers]) : bytes.length)
  }
  const other = () =>
    waveChunk(
      random.pick(['LIST', 'fact', 'JUNK', 'bext', 'abcd', 'fmt ']),
      Buffer.alloc(random.pick([4, 16, 602])),
    )
  const chunks = [waveChunk('fmt ', waveFormat(random)), data()]
  for (let left = random.below(4); left > 0; left -= 1) {
    chunks.splice(random.below(chunks.length + 1), 0, random.below(3) === 0 ? other() : data())
  }
  const body = Buffer.concat(chunks)
  return Buffer.concat([Buffer.from('RIFF'), waveChunk('', body).subarray(4, 8), Buffer.from('WAVE'), body])
}

/** Compressed audio inside 16-bit stereo, more densely packed than it may be (IEC 61937). */
const buildBursts: Mutate = (_random, _bytes, all) => {
  const mpeg = all.find(({ name }) => name === 'd.mp3')?.bytes ?? Buffer.alloc(0)
  const bursts: Buffer[] = []
  for (let at = 0; at + 1_253 <= mpeg.length; at += 1_253) {
    const frame = mpeg.subarray(at, at + 1_253 + 1)
    const burst = Buffer.alloc(8 + frame.length)
    Buffer.from('72f81f4e', 'hex').copy(burst)
    burst.writeUInt16LE(5, 4)
    burst.writeUInt16LE(frame.length * 8, 6)
    Buffer.from(frame).swap16().copy(burst, 8)
    bursts.push(burst)
  }
  const format = Buffer.from('0100020080bb000000ee020004001000', 'hex')
  const body = Buffer.concat([waveChunk('fmt ', format), waveChunk('data', Buffer.concat(bursts))])
  return Buffer.concat([Buffer.from('RIFF'), waveChunk('', body).subarray(4, 8), Buffer.from('WAVE'), body])
}

const changeWave: Mutate = (random, bytes) => {
  changeNumberAt(random, bytes, 4 + 4 * random.below(12), true)
  return bytes
}

const tableBoxes = [
  'mdhd',
  'mvhd',
  'stts',
  'stsz',
  'stsc',
  'stco',
  'elst',
  'stsd',
  'trun',
  'tfhd',
  'trex',
  'tkhd',
  'tfdt',
  'esds',
  'dOps',
]

const changeBox: Mutate = (random, bytes) => {
  for (let left = 1 + random.below(3); left > 0; left -= 1) {
    const places = placesOf(bytes, random.pick(tableBoxes))
    if (places.length > 0) changeNumberAt(random, bytes, random.pick(places) + 4 + random.below(48), false)
  }
  return bytes
}

/** Every sample of the file lasts one tick of the clock, or as long as another one. */
const changeClock: Mutate = (random, bytes) => {
  for (const at of placesOf(bytes, 'mdhd'))
    writeNumber(bytes, at + 16, random.pick([1_000, 16_000, 4_800_000]), false)
  for (const at of placesOf(bytes, 'stts')) {
    const count = Math.min(1_000, bytes.readUInt32BE(at + 8))
    const ticks = random.pick([0, 1, 20, 100_000])
    for (let index = 0; index < count; index += 1) writeNumber(bytes, at + 16 + 8 * index, ticks, false)
  }
  return bytes
}

/** Several packets become one, which a decoder may read to its end. */
const mergePackets: Mutate = (random, bytes) => {
  const at = bytes.indexOf('stsz')
  if (at === -1) return bytes
  const count = bytes.readUInt32BE(at + 12)
  if (at + 16 + 4 * count > bytes.length || count < 8) return bytes
  const sizes = Array.from({ length: count }, (_, index) => bytes.readUInt32BE(at + 16 + 4 * index))
  const merged: number[] = []
  const together = random.pick([2, 5, 20, count])
  for (const [index, size] of sizes.entries()) {
    if (index % together === 0) merged.push(size)
    else merged[merged.length - 1] = (merged.at(-1) ?? 0) + size
  }
  bytes.writeUInt32BE(merged.length, at + 12)
  for (const [index, size] of merged.entries()) bytes.writeUInt32BE(size, at + 16 + 4 * index)
  const chunks = bytes.indexOf('stsc')
  const entries = chunks === -1 ? 0 : bytes.readUInt32BE(chunks + 8)
  for (let index = 0; index < Math.min(entries, 100); index += 1) {
    const place = chunks + 12 + 12 * index + 4
    if (place + 4 <= bytes.length) {
      writeNumber(bytes, place, Math.max(1, Math.ceil(bytes.readUInt32BE(place) / together)), false)
    }
  }
  return bytes
}

/** Packets are presented later than they are decoded. */
const changePresentation: Mutate = (random, bytes) => {
  const offsets = Array.from({ length: 1 + random.below(40) }, () =>
    random.below(3) === 0 ? random.below(random.pick([1_000, 8_000, 600_000])) : 0,
  )
  return delayPackets(random.below(2) === 0 ? removeEditList(bytes) : bytes, offsets)
}

const changePages: Mutate = (random, bytes) => {
  const kind = random.below(4)
  return changeOggPages(bytes, (at) => {
    const isChanged = random.below(3) === 0
    if (isChanged && kind === 0)
      writeNumber(bytes, at + 6, random.pick([0, 1, 48_000 * 30, ...numbers]), true)
    if (isChanged && kind === 1) writeNumber(bytes, at + 14, 7, true)
    if (isChanged && kind === 2) bytes[at + 5] = random.below(8)
    if (isChanged && kind === 3) bytes[at + 27 + (bytes[at + 26] ?? 0)] = random.below(256)
  })
}

/** The clock of the file, the default duration of a block, and the times of its blocks. */
const changeElements: Mutate = (random, bytes) => {
  const scale = bytes.indexOf(Buffer.from('2ad7b1', 'hex'))
  if (scale !== -1 && random.below(2) === 0)
    writeNumber(bytes, scale + 3, random.pick([0x83000001, 0x8300ffff, 0x83ffffff]), false)
  const rate = bytes.indexOf(Buffer.from('b588', 'hex'))
  if (rate !== -1 && random.below(3) === 0)
    bytes.writeDoubleBE(random.pick([1, 8_000, 48_000, 768_000]), rate + 2)
  for (const at of placesOf(bytes, Buffer.from('a3', 'hex')).slice(0, 200)) {
    if (random.below(6) === 0 && at + 6 < bytes.length)
      bytes.writeUInt16BE(random.pick([0, 1, 500, 0x7fff, 0xffff]), at + 4)
  }
  return bytes
}

const mpegFrames = (bytes: Buffer) =>
  placesOf(bytes, Buffer.from('ff', 'hex')).filter((at) => ((bytes[at + 1] ?? 0) & 0xe0) === 0xe0)

/** The rate of each frame is in its header. */
const changeFrameRates: Mutate = (random, bytes) => {
  for (const at of mpegFrames(bytes)) {
    if (random.below(4) === 0 && at + 2 < bytes.length)
      bytes[at + 2] = ((bytes[at + 2] ?? 0) & 0xf3) | (random.below(3) << 2)
  }
  return bytes
}

const changeStreamInfo: Mutate = (random, bytes) => {
  for (const at of [8, 10, 18, 20, 22]) if (random.below(3) === 0) changeNumberAt(random, bytes, at, false)
  return bytes
}

const packetStart = Buffer.from('000001', 'hex')

const changePacketTimes: Mutate = (random, bytes) => {
  for (const at of placesOf(bytes, packetStart)) {
    if (random.below(5) === 0 && at + 14 < bytes.length) bytes[at + 9 + random.below(5)] = random.below(256)
  }
  return bytes
}

const ofFormat: Partial<Record<string, Mutate[]>> = {
  wav: [buildWave, buildWave, buildBursts, changeWave],
  mp4: [changeBox, changeClock, mergePackets, changePresentation],
  m4a: [changeBox, changeClock, mergePackets, changePresentation],
  ogg: [changePages],
  webm: [changeElements],
  mp3: [changeFrameRates],
  mpeg: [changeFrameRates, changePacketTimes],
  flac: [changeStreamInfo],
}

export interface MutatedRecording {
  /** Which sample, and how it was changed. */
  name: string
  format: string
  isChanged: boolean
  bytes: Buffer
}

/** One in ten recordings stays as it is. */
export const mutateRecording = (random: Random, all: SampleRecording[]): MutatedRecording => {
  const { name, format, bytes: original } = random.pick(all)
  const own = ofFormat[format] ?? []
  let bytes: Buffer = Buffer.from(original)
  const names = [name]
  if (random.below(10) > 0) {
    for (let left = random.pick([1, 1, 1, 2, 3]); left > 0 && bytes.length > 100; left -= 1) {
      const mutate = random.pick(random.below(2) === 0 ? own : anywhere)
      bytes = mutate(random, Buffer.from(bytes), all)
      names.push(mutate.name)
    }
  }
  return { name: names.join(' '), format, isChanged: names.length > 1, bytes }
}
