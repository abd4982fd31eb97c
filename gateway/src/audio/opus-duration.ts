/**
 * The duration of Opus audio from the headers of its packets, without decoding it. A packet states its own duration in its
 * first bytes (RFC 6716, section 3), and a decoder takes it from there as well.
 */
const pageHeaderBytes = 27
const samplesPerMs = 48
/**
 * If a timestamp in an Ogg file is more than 10 s late or 0.1 s early, compared to what it has decoded, ffmpeg replaces it.
 * Within half of these limits it never does.
 */
const stepSamplesMax = 5_000 * samplesPerMs
const earlySamplesMax = 50 * samplesPerMs
/** The frame sizes of the configurations of each mode, in samples at 48 kHz. */
const silk = [10, 20, 40, 60].map((ms) => ms * samplesPerMs)
const hybrid = [10, 20].map((ms) => ms * samplesPerMs)
const celt = [2.5, 5, 10, 20].map((ms) => ms * samplesPerMs)
const frameSamples = [silk, silk, silk, hybrid, hybrid, celt, celt, celt, celt].flat()

/** The samples at 48 kHz of a packet that begins with these two bytes. */
const samplesInPacket = (toc: number, next: number): number => {
  const code = toc & 3
  const frames = code === 0 ? 1 : code === 3 ? next & 63 : 2
  return frames * (frameSamples[toc >> 3] ?? 0)
}

/**
 * Reads an Ogg stream with one Opus stream and a page per packet, as ffmpeg writes it, in chunks of any size. The
 * difference between the positions of two pages is the time from the start of one packet to the start of the next. If it is
 * longer than the packet, there is a gap, which a decoder fills with silence.
 */
export const createOpusDuration = () => {
  let rest: Buffer = Buffer.alloc(0)
  let packets = 0
  /** The first two bytes of the current packet, and how many of its bytes were read. */
  let first = 0
  let second = 0
  let packetBytes = 0
  let pageSamples = 0
  let firstPosition: number | undefined
  let lastPosition = 0
  let lastSamples = 0
  let endSamples = 0
  let isRegular = true

  const readPage = (page: Buffer, segments: number) => {
    let at = pageHeaderBytes + segments
    for (let index = 0; index < segments; index += 1) {
      const size = page[pageHeaderBytes + index] ?? 0
      if (packetBytes === 0 && size > 0) first = page[at] ?? 0
      if (packetBytes === 0 && size > 1) second = page[at + 1] ?? 0
      packetBytes += size
      at += size
      if (size === 255) continue
      // The first two packets are headers.
      if (packets >= 2 && packetBytes > 0) pageSamples += samplesInPacket(first, second)
      packets += 1
      packetBytes = 0
      second = 0
    }
    const position = Number(page.readBigInt64LE(6))
    // No packet ends on this page, or it is a header.
    if (position === -1 || packets <= 2) return
    if (firstPosition === undefined) firstPosition = position
    else {
      const step = position - lastPosition
      isRegular &&= step <= stepSamplesMax && step >= lastSamples - earlySamplesMax
    }
    endSamples = Math.max(endSamples, position - firstPosition) + pageSamples
    lastPosition = position
    lastSamples = pageSamples
    pageSamples = 0
  }

  return {
    read: (chunk: Buffer): void => {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      let at = 0
      while (bytes.length - at >= pageHeaderBytes) {
        const segments = bytes[at + pageHeaderBytes - 1] ?? 0
        const bodyAt = at + pageHeaderBytes + segments
        if (bytes.length < bodyAt) break
        let end = bodyAt
        for (let index = at + pageHeaderBytes; index < bodyAt; index += 1) end += bytes[index] ?? 0
        if (bytes.length < end) break
        readPage(bytes.subarray(at, end), segments)
        at = end
      }
      rest = bytes.subarray(at)
    },
    /** Undefined if the timeline goes back or jumps. Then the duration depends on the decoder. */
    seconds: (): number | undefined => (isRegular ? endSamples / (samplesPerMs * 1000) : undefined),
  }
}
