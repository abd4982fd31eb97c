/**
 * A sound that plays while it arrives. The browser decodes what is there so far from the beginning, so the parts fit
 * together in every format.
 */
import { findPeaks } from './peaks.ts'
import { createSoundState, takeTurn, type Sound } from './sound.ts'

export interface GrowingSound extends Sound {
  /** Resolves when the sound is ready for more. */
  append: (bytes: Uint8Array<ArrayBuffer>) => Promise<void>
  /** No more bytes follow. */
  finish: () => Promise<void>
}

const rate = 24_000
/** The sound starts with this much, so that it does not stop at once. */
const startS = 0.25
/** More is decoded when less than this is left to play. */
const reserveS = 2
/** Otherwise when there is a quarter more. */
const growth = 1.25
const firstBytes = 2_048
/** The end of a part may change with the bytes that follow. */
const unsureS = 0.06
/** So many bytes may wait for the decoder. */
const waitingBytesMax = 1_048_576

let shared: AudioContext | undefined

/** Call it in the handler of a press, otherwise the browser keeps it silent. */
const openAudio = (): AudioContext => {
  shared ??= new AudioContext({ sampleRate: rate })
  if (shared.state === 'suspended') void shared.resume()
  return shared
}

/** 16 bit, mono. */
const readSamples = (bytes: Uint8Array<ArrayBuffer>): AudioBuffer => {
  const length = Math.max(1, Math.floor(bytes.length / 2))
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const buffer = new AudioBuffer({ length, sampleRate: rate })
  const samples = buffer.getChannelData(0)
  for (let at = 0; at < Math.floor(bytes.length / 2); at += 1)
    samples[at] = view.getInt16(at * 2, true) / 32_768
  return buffer
}

const join = (parts: Uint8Array<ArrayBuffer>[], length: number): Uint8Array<ArrayBuffer> => {
  const joined = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    joined.set(part, at)
    at += part.length
  }
  return joined
}

export const createGrowingSound = (format: string): GrowingSound => {
  const context = openAudio()
  const state = createSoundState()
  state.set({ isGrowing: true, isPlaying: true })
  const parts: Uint8Array<ArrayBuffer>[] = []
  let bytes = 0
  let decodedBytes = 0
  let buffer: AudioBuffer | undefined
  let isFinished = false
  let isFinal = false
  let decoding: Promise<void> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let sources: AudioBufferSourceNode[] = []
  /** Where playing began, in the time of the context. Undefined while nothing sounds. */
  let begin: { at: number; fromS: number } | undefined
  /** Where it stands while nothing sounds. */
  let standsS = 0

  const endS = () => state.get().durationS
  const getPosition = () =>
    begin === undefined
      ? standsS
      : Math.min(endS(), Math.max(begin.fromS, begin.fromS + context.currentTime - begin.at))

  const silenceSources = () => {
    const silenced = sources
    // So that their ends are not taken for the end of the sound.
    sources = []
    for (const source of silenced) {
      source.stop()
      source.disconnect()
    }
  }

  const schedule = (at: number, fromS: number) => {
    if (buffer === undefined) return
    const source = context.createBufferSource()
    source.buffer = buffer
    source.connect(context.destination)
    source.start(at, fromS, Math.max(0, endS() - fromS))
    sources.push(source)
    source.addEventListener('ended', () => {
      if (!sources.includes(source)) return
      sources = sources.filter((other) => other !== source)
      if (sources.length > 0) return
      standsS = endS()
      begin = undefined
      if (isFinal) state.set({ isPlaying: false })
      else void decode()
    })
  }

  const start = (fromS: number) => {
    silenceSources()
    const at = context.currentTime + 0.02
    begin = { at, fromS }
    schedule(at, fromS)
  }

  const continueWith = (previousS: number) => {
    if (!state.get().isPlaying) return
    if (begin === undefined) {
      if (isFinal || endS() - standsS >= startS) start(standsS)
      return
    }
    const at = begin.at + previousS - begin.fromS
    if (at > context.currentTime) schedule(at, previousS)
    else start(previousS)
  }

  const accept = (decoded: AudioBuffer, final: boolean) => {
    const previousS = endS()
    buffer = decoded
    isFinal = final
    const durationS = final ? decoded.duration : Math.max(previousS, decoded.duration - unsureS)
    state.set({
      durationS,
      isGrowing: !final,
      peaks: findPeaks(decoded.getChannelData(0), decoded.sampleRate),
    })
    if (durationS > previousS) continueWith(previousS)
    if (final && begin === undefined && standsS >= durationS) state.set({ isPlaying: false })
    clearTimeout(timer)
    // Decodes what waits before the rest has been played.
    if (!final) timer = setTimeout(() => void decode(), Math.max(0, durationS - getPosition() - 1) * 1_000)
  }

  const isDue = () => {
    if (isFinished) return !isFinal
    if (bytes === decodedBytes) return false
    if (decodedBytes === 0) return bytes >= firstBytes
    return endS() - getPosition() < reserveS || bytes >= decodedBytes * growth
  }

  const decodeOnce = async () => {
    const isLast = isFinished
    const joined = join(parts, bytes)
    const length = joined.length
    try {
      const decoded =
        format === 'pcm'
          ? readSamples(joined)
          : await new OfflineAudioContext(1, 1, rate).decodeAudioData(joined.buffer)
      accept(decoded, isLast)
    } catch {
      // A part of a format may be too short to be read. The whole must be readable.
      if (isLast) {
        isFinal = true
        state.set({ isGrowing: false, isPlaying: false, isUnplayable: buffer === undefined })
      }
    }
    decodedBytes = length
  }

  const decode = async (): Promise<void> => {
    if (decoding !== undefined) return await decoding
    const run = async () => {
      while (isDue()) await decodeOnce()
    }
    decoding = run()
    try {
      await decoding
    } finally {
      decoding = undefined
    }
  }

  const sound: GrowingSound = {
    subscribe: state.subscribe,
    getState: state.get,
    getPosition,
    append: async (part) => {
      parts.push(part)
      bytes += part.length
      const decoded = decode()
      if (bytes - decodedBytes > waitingBytesMax) await decoded
    },
    finish: async () => {
      isFinished = true
      await decode()
      // A decoding that was under way may have ended before this was known.
      await decode()
    },
    play: () => {
      takeTurn(sound)
      openAudio()
      const fromS = getPosition()
      standsS = isFinal && fromS >= endS() - 0.02 ? 0 : fromS
      state.set({ isPlaying: true })
      if (endS() > standsS) start(standsS)
    },
    pause: () => {
      standsS = getPosition()
      begin = undefined
      silenceSources()
      state.set({ isPlaying: false })
    },
    seek: (positionS) => {
      standsS = Math.min(endS(), Math.max(0, positionS))
      begin = undefined
      silenceSources()
      if (state.get().isPlaying && endS() > standsS) start(standsS)
      state.set({})
    },
    close: () => {
      clearTimeout(timer)
      sound.pause()
    },
  }
  takeTurn(sound)
  return sound
}
