/** "Did you mean" for commands, options and values. */

/** How many letters are added, left out, replaced or swapped with the next one. */
const distanceBetween = (one: string, other: string): number => {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, index) => index)]
  const at = (row: number, column: number) => rows[row]?.[column] ?? Infinity
  for (let row = 1; row <= one.length; row += 1) {
    rows.push([row])
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1]
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      rows[row]?.push(
        Math.min(
          at(row - 1, column) + 1,
          at(row, column - 1) + 1,
          at(row - 1, column - 1) + (isSame ? 0 : 1),
          isSwapped ? at(row - 2, column - 2) + 1 : Infinity,
        ),
      )
    }
  }
  return at(one.length, other.length)
}

/** The most similar candidate; undefined if none is similar. */
const findSimilar = (given: string, candidates: readonly string[]): string | undefined => {
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
