/** "Did you mean" for commands, options and values. */

const distanceBetween = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let index = 1; index <= one.length; index += 1) {
    const next = [index]
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[index - 1] === other[column - 1]
      next[column] = Math.min(
        (row[column] ?? 0) + 1,
        (next[column - 1] ?? 0) + 1,
        (row[column - 1] ?? 0) + (isSame ? 0 : 1),
      )
    }
    row = next
  }
  return row[other.length] ?? 0
}

/** The most similar candidate; undefined if none is similar. */
export const findSimilar = (given: string, candidates: readonly string[]): string | undefined => {
  const ranked = candidates
    .map((candidate) => ({
      candidate,
      distance: candidate.startsWith(given) && given.length > 1 ? 0.5 : distanceBetween(given, candidate),
    }))
    .toSorted((one, other) => one.distance - other.distance)
  const [best] = ranked
  return best !== undefined && best.distance <= Math.max(1, Math.floor(given.length / 3))
    ? best.candidate
    : undefined
}

export const didYouMean = (given: string, candidates: readonly string[]): string => {
  const similar = findSimilar(given, candidates)
  return similar === undefined ? '' : ` Did you mean ${similar}?`
}
