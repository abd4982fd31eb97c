/** The model sometimes continues with the next message. The reply ends there. */
const roleMarkers = ['<|system|>', '<|user|>', '<|assistant|>']

export interface ReplyText {
  /** Takes the whole text so far and returns the part that is final and new. */
  add: (text: string) => string
  /** The same at the end of the text. */
  end: (text: string) => string
  isStopped: () => boolean
}

/**
 * Releases a growing text in final chunks. Holds back incomplete characters, surrounding space, and a possible
 * beginning of a stop sequence.
 */
export function createReplyText(stops: string[]): ReplyText {
  const allStops = [...stops, ...roleMarkers]
  let given = 0
  let stopped = false

  function letOut(text: string, isEnd: boolean): string {
    if (stopped) return ''
    const whole = text.trimStart()
    const places = allStops.map((stop) => whole.indexOf(stop)).filter((place) => place !== -1)
    stopped = places.length > 0
    const isLast = isEnd || stopped
    let certain = (stopped ? whole.slice(0, Math.min(...places)) : whole).replace(/\uFFFD+$/u, '')
    if (!isLast) certain = certain.slice(0, certain.length - longestBeginning(certain, allStops))
    certain = certain.trimEnd()
    const added = certain.slice(given)
    given = Math.max(given, certain.length)
    return added
  }

  return {
    add: (text) => letOut(text, false),
    end: (text) => letOut(text, true),
    isStopped: () => stopped,
  }
}

/** The length of the longest end of the text that may begin a stop sequence. */
function longestBeginning(text: string, stops: string[]): number {
  let longest = 0
  for (const stop of stops) {
    for (let length = Math.min(stop.length - 1, text.length); length > longest; length--) {
      if (text.endsWith(stop.slice(0, length))) longest = length
    }
  }
  return longest
}
