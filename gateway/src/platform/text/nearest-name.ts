const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '')

/** Levenshtein distance, or Infinity if it is more than `most`. A file can have thousands of names. */
const distance = (one: string, other: string, most: number): number => {
  if (Math.abs(one.length - other.length) > most) return Infinity

  let previous = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (const [row, letter] of [...one].entries()) {
    const current = [row + 1]
    for (let column = 0; column < other.length; column += 1) {
      const replaced = (previous[column] ?? 0) + (letter === other[column] ? 0 : 1)
      current.push(Math.min(replaced, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1))
    }
    previous = current
    if (Math.min(...current) > most) return Infinity
  }
  const far = previous.at(-1) ?? 0
  return far > most ? Infinity : far
}

/** The most similar of the names, whatever their case and punctuation; undefined if none is similar. */
export const nearestName = (given: string, names: string[]): string | undefined => {
  const wanted = plain(given)
  const [nearest] = names
    .map((name) => {
      const known = plain(name)
      return { name, far: distance(wanted, known, Math.max(1, Math.floor(known.length / 3))) }
    })
    .filter(({ far }) => far !== Infinity)
    .toSorted((a, b) => a.far - b.far)
  return nearest?.name
}

/** Returns `; did you mean slots?`, or an empty text if no known name is similar. */
export const didYouMean = (given: string, names: string[]): string => {
  const nearest = nearestName(given, names)
  return nearest === undefined ? '' : `; did you mean ${nearest}?`
}
