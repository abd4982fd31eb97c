/** A reply that begins to play the other side of the conversation is over. */
const marksOfTurns = ['<|system|>', '<|user|>', '<|assistant|>']

export interface ReplyText {
  /** Takes all of the text so far and answers what of it is certain and new. */
  add: (text: string) => string
  /** The same, when nothing will follow. */
  end: (text: string) => string
  isStopped: () => boolean
}

/**
 * Lets a growing text out in pieces that need never be taken back: without half characters, space around the whole, and
 * what may yet become a stop.
 */
export function createReplyText(stops: string[]): ReplyText {
  const allStops = [...stops, ...marksOfTurns]
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

/** How much of the text's end may be the beginning of a stop. */
function longestBeginning(text: string, stops: string[]): number {
  let longest = 0
  for (const stop of stops) {
    for (let length = Math.min(stop.length - 1, text.length); length > longest; length--) {
      if (text.endsWith(stop.slice(0, length))) longest = length
    }
  }
  return longest
}
