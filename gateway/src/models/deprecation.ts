import type { ModelConfig } from './model.ts'

/** What a reply says of a model that is on its way out. */
export const deprecationHeaders = ({ state, shutdownDate }: ModelConfig): Record<string, string> =>
  state === 'deprecated'
    ? {
        deprecation: 'true',
        ...(shutdownDate !== undefined && { sunset: new Date(shutdownDate).toUTCString() }),
      }
    : {}
