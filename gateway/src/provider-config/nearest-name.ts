const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '')

/** How many letters must be put in, taken out or replaced to make one text of the other. */
const distance = (one: string, other: string): number => {
  let above = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (const [row, letter] of [...one].entries()) {
    const line = [row + 1]
    for (let column = 0; column < other.length; column += 1) {
      const replaced = (above[column] ?? 0) + (letter === other[column] ? 0 : 1)
      line.push(Math.min(replaced, (above[column + 1] ?? 0) + 1, (line[column] ?? 0) + 1))
    }
    above = line
  }
  return above.at(-1) ?? 0
}

/** The name somebody may have meant; undefined where none is near. */
const nearestName = (given: string, names: string[]): string | undefined => {
  const wanted = plain(given)
  const [nearest] = names
    .map((name) => ({ name, far: distance(wanted, plain(name)) }))
    .filter(({ name, far }) => far <= Math.max(1, Math.floor(plain(name).length / 3)))
    .toSorted((a, b) => a.far - b.far)
  return nearest?.name
}

/** `; did you mean slots?`, or nothing where no name is near. */
export const didYouMean = (given: string, names: string[]): string => {
  const nearest = nearestName(given, names)
  return nearest === undefined ? '' : `; did you mean ${nearest}?`
}
