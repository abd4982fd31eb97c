/**
 * What a prompt asks the simulated vendor to do wrong, written as `vendor:word` or `vendor:word=value`,
 * so that one test can send good and bad jobs side by side. Words that nobody knows are ignored. Faults of the
 * connection are asked for with `vendor:fault=…`, see faults.ts.
 */
export interface PromptWords {
  /** Accept the job, then end it with this error code. */
  failCode: string | undefined
  /** Refuse the submit with 400 and this error code. */
  rejectCode: string | undefined
  neverFinishes: boolean
  badMedia: boolean
  durationMs: number | undefined
  /** Accept the job and answer this much later. */
  slowReplyMs: number
  /** How many of the first submits are answered 429, and after those, how many 500. */
  busySubmits: number
  failedSubmits: number
  /** How many of the first submits after those are accepted, but answered with nothing or with nonsense. */
  droppedReplies: number
  garbageReplies: number
  unavailablePolls: number
  /** How many of the first downloads break off halfway. */
  cutDownloads: number
  /** Say of the job that it stands in a way nobody has heard of. */
  oddStatus: boolean
  /** Complete it with nothing to fetch. */
  noOutput: boolean
  /** Put our key, address and account into every sentence. */
  tellsTooMuch: boolean
}

export function wordsIn(prompt: string): PromptWords {
  const given = new Map<string, string | undefined>()
  for (const [, word = '', value] of prompt.matchAll(/\bvendor:([a-z0-9-]+)(?:=([\w.-]+))?/g))
    given.set(word, value)
  const times = (word: string): number => (given.has(word) ? wholeNumber(given.get(word), 1) : 0)
  return {
    failCode: given.has('fail') ? (given.get('fail') ?? 'server_error') : undefined,
    rejectCode: given.has('reject') ? (given.get('reject') ?? 'invalid_value') : undefined,
    neverFinishes: given.has('never'),
    badMedia: given.has('bad-media'),
    durationMs: given.has('duration') ? wholeNumber(given.get('duration'), 0) : undefined,
    slowReplyMs: wholeNumber(given.get('slow-reply'), 0),
    busySubmits: times('busy'),
    failedSubmits: given.has('500-then-ok') ? 1 : 0,
    droppedReplies: times('drop-reply'),
    garbageReplies: times('garbage'),
    unavailablePolls: times('poll-503'),
    cutDownloads: times('cut-media'),
    oddStatus: given.has('odd-status'),
    noOutput: given.has('no-output'),
    tellsTooMuch: given.has('tells-too-much'),
  }
}

/** Durations may carry their unit, as in `50ms`. */
function wholeNumber(text: string | undefined, otherwise: number): number {
  const parsed = Number.parseInt(text ?? '', 10)
  return Number.isNaN(parsed) ? otherwise : Math.max(parsed, 0)
}
