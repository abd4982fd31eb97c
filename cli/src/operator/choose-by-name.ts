/** Finds what a person names: by id, by name, or by a beginning of either that nothing else has. */
import { exitCodes } from '../frame/exit-code.ts'
import { didYouMean } from '../frame/suggest.ts'
import { UsageError } from '../frame/usage-error.ts'
import { cleanText } from '../terminal/print.ts'

interface Candidate {
  id: string
  name: string
}

const idLengthMin = 6
const shownMax = 5

export const isWholeId = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)

/** Whether it can be the beginning of an id. */
export const isPartOfId = (text: string): boolean =>
  text.length >= idLengthMin && /^[0-9a-f]+(-[0-9a-f]*)*$/i.test(text)

/** The secret of a key is neither an id nor a name, and an error would repeat it. */
export const refuseSecret = (text: string): void => {
  if (/^sk-\S{20}/.test(text)) {
    throw new UsageError(
      'This is the secret of a key. Use its name or its id, and keep the secret to yourself.',
    )
  }
}

const describeCandidate = ({ id, name }: Candidate) => `${cleanText(name)} (${id})`

const findMatches = <Item extends Candidate>(given: string, candidates: readonly Item[]): readonly Item[] => {
  const lower = given.toLowerCase()
  const sameId = candidates.filter(({ id }) => id === lower)
  if (sameId.length > 0) return sameId
  const isNamed = (item: Item) => item.name === given
  const hasId = ({ id }: Item) => isPartOfId(given) && id.startsWith(lower)
  // A name that looks like the beginning of another id is ambiguous, because people choose names.
  const exact = candidates.filter((item) => isNamed(item) || hasId(item))
  if (exact.length > 0) return exact
  const sameLetters = candidates.filter(({ name }) => name.toLowerCase() === lower)
  if (sameLetters.length > 0) return sameLetters
  return candidates.filter(({ name }) => name.toLowerCase().startsWith(lower))
}

/** `noun` is what the candidates are, such as `account`. */
export const chooseByName = <Item extends Candidate>(
  noun: string,
  given: string,
  candidates: readonly Item[],
): Item => {
  const matches = findMatches(given, candidates)
  const [only] = matches
  if (only !== undefined && matches.length === 1) return only
  if (only === undefined) {
    const hint = didYouMean(
      given,
      candidates.map(({ name }) => name),
    )
    throw Object.assign(
      new Error(`There is no ${noun} "${given}".${hint} kinora ${noun}s list shows them.`),
      {
        exitCode: exitCodes.failed,
      },
    )
  }
  const shown = matches.slice(0, shownMax).map(describeCandidate)
  const more = matches.length > shownMax ? ` and ${matches.length - shownMax} more` : ''
  throw new UsageError(`"${given}" can be several ${noun}s: ${shown.join(', ')}${more}. Use the id.`)
}
