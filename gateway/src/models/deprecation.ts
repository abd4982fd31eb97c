import type { ModelConfig } from './model.ts'

/**
 * Response headers for a deprecated model: `Deprecation` is a date as in RFC 9745, and `Sunset` one as in RFC 8594. Without
 * a known date it counts as deprecated since it exists.
 */
export const deprecationHeaders = ({
  state,
  created,
  deprecationDate,
  shutdownDate,
}: ModelConfig): Record<string, string> =>
  state === 'deprecated'
    ? {
        deprecation: `@${deprecationDate === undefined ? created : Date.parse(deprecationDate) / 1000}`,
        ...(shutdownDate !== undefined && { sunset: new Date(shutdownDate).toUTCString() }),
      }
    : {}
