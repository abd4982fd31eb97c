/** The words of a text without case and punctuation. */
const wordsOf = (text: string): string[] =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s']/gu, ' ')
    .split(/\s+/u)
    .filter((word) => word !== '')

/** The number of missing, inserted and substituted words per spoken word. */
export function wordErrorRate(said: string, heard: string): number {
  const [expected, found] = [wordsOf(said), wordsOf(heard)]
  let row = Array.from({ length: found.length + 1 }, (_, index) => index)
  for (const [index, word] of expected.entries()) {
    const next = [index + 1]
    for (const [at, other] of found.entries()) {
      next.push(Math.min(row[at]! + (word === other ? 0 : 1), row[at + 1]! + 1, next[at]! + 1))
    }
    row = next
  }
  return row[found.length]! / expected.length
}
