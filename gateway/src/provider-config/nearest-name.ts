const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '')

/** Levenshtein distance. */
const distance = (one: string, other: string): number => {
  let previous = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (const [row, letter] of [...one].entries()) {
    const current = [row + 1]
    for (let column = 0; column < other.length; column += 1) {
      const replaced = (previous[column] ?? 0) + (letter === other[column] ? 0 : 1)
      current.push(Math.min(replaced, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1))
    }
    previous = current
  }
  return previous.at(-1) ?? 0
}

const nearestName = (given: string, names: string[]): string | undefined => {
  const wanted = plain(given)
  const [nearest] = names
    .map((name) => ({ name, far: distance(wanted, plain(name)) }))
    .filter(({ name, far }) => far <= Math.max(1, Math.floor(plain(name).length / 3)))
    .toSorted((a, b) => a.far - b.far)
  return nearest?.name
}

/** Returns `; did you mean slots?`, or an empty text if no known name is similar. */
export const didYouMean = (given: string, names: string[]): string => {
  const nearest = nearestName(given, names)
  return nearest === undefined ? '' : `; did you mean ${nearest}?`
}
