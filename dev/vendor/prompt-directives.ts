/**
 * Directives in a prompt, written as `vendor:name` or `vendor:name=value`, that make the simulated vendor misbehave, so
 * that one test can mix good and bad jobs. Unknown names are ignored. `vendor:fault=…` injects faults of faults.ts.
 */
export interface PromptDirectives {
  /** Accept the job, then end it with this error code. */
  failCode: string | undefined
  /** Refuse the submit with 400 and this error code. */
  rejectCode: string | undefined
  neverFinishes: boolean
  badMedia: boolean
  durationMs: number | undefined
  /** Begin the job at once, so that it reports progress from the start. */
  beginsAtOnce: boolean
  /** Accept the job and respond after this delay. */
  slowReplyMs: number
  /** Number of first submits with a 429, and of those after them with a 500. */
  busySubmits: number
  failedSubmits: number
  /** Number of submits after those that are accepted, but get no response or an invalid one. */
  droppedReplies: number
  garbageReplies: number
  unavailablePolls: number
  /** Number of first downloads that break off halfway. */
  cutDownloads: number
  /** Report an unknown status. */
  oddStatus: boolean
  /** Complete the job without a result. */
  noOutput: boolean
  /** Put key, host and account into every message. */
  tellsTooMuch: boolean
  /** Deliver this file of the vendor's directory of videos; its name without `.mp4`. */
  video: string | undefined
}

export function directivesIn(prompt: string): PromptDirectives {
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
    beginsAtOnce: given.has('at-once'),
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
    video: given.get('video'),
  }
}

/** Durations may have a unit, as in `50ms`. */
function wholeNumber(text: string | undefined, otherwise: number): number {
  const parsed = Number.parseInt(text ?? '', 10)
  return Number.isNaN(parsed) ? otherwise : Math.max(parsed, 0)
}
