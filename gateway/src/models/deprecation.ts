import type { ModelConfig } from './model.ts'

/** Response headers for a deprecated model. */
export const deprecationHeaders = ({ state, shutdownDate }: ModelConfig): Record<string, string> =>
  state === 'deprecated'
    ? {
        deprecation: 'true',
        ...(shutdownDate !== undefined && { sunset: new Date(shutdownDate).toUTCString() }),
      }
    : {}
