import { operations } from '@kinora/contract/operations'

import type { Call } from '../http/call.ts'
import type { ModelConfig } from './model.ts'

/** The time of a date, in UTC, in seconds. */
const secondsOf = (date: string) => Date.parse(date) / 1000

/**
 * Response headers for a model that is deprecated or has a shutdown date: `Deprecation` (RFC 9745), `Sunset` (RFC 8594), and
 * `Link` to the model, which says more, and to its successor. Without a known date it counts as deprecated since it exists.
 */
export const deprecationHeaders = (
  { id, name, state, created, deprecationDate, shutdownDate, successor }: ModelConfig,
  { publicUrl }: Pick<Call, 'publicUrl'>,
): Record<string, string> => {
  const isDeprecated = state === 'deprecated'
  const relations = [
    ...(isDeprecated ? ['deprecation'] : []),
    ...(shutdownDate === undefined ? [] : ['sunset']),
  ]
  if (relations.length === 0) return {}
  const linkTo = (model: string, relation: string) =>
    `<${publicUrl}${operations.getModel.path.replace('{id}', encodeURIComponent(model))}>; rel="${relation}"`
  const since = deprecationDate === undefined ? created : secondsOf(deprecationDate)
  return {
    ...(isDeprecated && { deprecation: `@${since}` }),
    ...(shutdownDate !== undefined && { sunset: new Date(shutdownDate).toUTCString() }),
    link: [
      linkTo(name, relations.join(' ')),
      ...(successor === undefined || successor === id ? [] : [linkTo(successor, 'successor-version')]),
    ].join(', '),
  }
}
