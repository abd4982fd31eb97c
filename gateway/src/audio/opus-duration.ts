/**
 * The duration of Opus audio from the headers of its packets, without decoding it. A packet states its own duration in its
 * first bytes (RFC 6716, section 3), and a decoder takes it from there as well.
 */
const pageHeaderBytes = 27
const samplesPerMs = 48
/** Rounded timestamps differ by less from each other. Smaller gaps count if they add up. */
const jitterSamples = 30 * samplesPerMs
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
 * Reads an Ogg stream with one Opus stream and a page per packet, as ffmpeg writes it, in chunks of any size. The position
 * of a page is the end of its packet in the timeline. A packet that begins later than the previous one ends leaves a gap,
 * which a decoder fills with silence, also after the timeline went back.
 */
export const createOpusDuration = () => {
  let rest: Buffer = Buffer.alloc(0)
  let packets = 0
  /** The first two bytes of the current packet, and how many of its bytes were read. */
  let first = 0
  let second = 0
  let packetBytes = 0
  let pageSamples = 0
  let lastPosition = 0
  let endSamples = 0

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
    // On a page on which no packet ends.
    if (position === -1) return
    const gapSamples = position - lastPosition - pageSamples
    if (gapSamples > jitterSamples) endSamples += gapSamples
    endSamples = Math.max(endSamples + pageSamples, position)
    lastPosition = position
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
    seconds: (): number => endSamples / (samplesPerMs * 1000),
  }
}
