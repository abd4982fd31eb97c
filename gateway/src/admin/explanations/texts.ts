/** Durations, amounts and quoted texts as parts of sentences. */

/** The end of a sentence: a reason, which may have colons and sentences of its own. */
export const quote = (text: string): string => `"${text.replace(/\.+$/, '')}".`

const unitsMs = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
] as const

/** Such as `1 h 3 min`, `12 s` or `0.4 s`: the two largest units. */
export const durationText = (ms: number): string => {
  const found = unitsMs.findIndex(([, each]) => ms >= each)
  if (found === -1)
    return ms < 10_000 ? `${Math.round(Math.max(0, ms) / 100) / 10} s` : `${Math.floor(ms / 1000)} s`
  const [name, unitMs] = unitsMs[found] ?? ['min', 60_000]
  const [next, nextMs] = unitsMs[found + 1] ?? ['s', 1_000]
  const rest = Math.floor((ms % unitMs) / nextMs)
  return `${Math.floor(ms / unitMs)} ${name}${rest === 0 ? '' : ` ${rest} ${next}`}`
}

/** All digits of an amount, at least two decimals. */
export const amountText = (micros: number, currency: string): string => {
  const exact = BigInt(micros)
  const absolute = exact < 0n ? -exact : exact
  const decimals = String(absolute % 1_000_000n)
    .padStart(6, '0')
    .replace(/0{1,4}$/, '')
  return `${exact < 0n ? '-' : ''}${absolute / 1_000_000n}.${decimals} ${currency}`
}
