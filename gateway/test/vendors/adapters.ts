/** Every video adapter in a realistic configuration, each with its own model. */
import type { Vendor } from '../../../dev/vendor/vendor.ts'

export interface Adapter {
  /** The name of its provider. */
  name: string
  kind: string
  model: string
  own: Record<string, unknown>
  /** The path below the vendor's URL. */
  path?: string
  /** How the job of a submit without a response is found; `nothing` leaves it to the deadline. */
  finds: 'a repeat' | 'a lookup' | 'its webhook' | 'nothing'
}

export const adaptersAt = (vendor: Vendor): Adapter[] => [
  {
    ...{ name: 'openai', kind: 'openai', model: 'vidA3.1', finds: 'a repeat' },
    own: { idempotentSubmits: true },
  },
  {
    ...{ name: 'openai-lookup', kind: 'openai', model: 'vidA3.1-fast', finds: 'a lookup' },
    own: { lookup: true },
  },
  { name: 'openai-plain', kind: 'openai', model: 'vidA3-pro', finds: 'nothing', own: {} },
  { name: 'kinora', kind: 'kinora', model: 'vidA2', finds: 'a repeat', own: { endpoints: 'create' } },
  { name: 'gemini', kind: 'gemini', model: 'vidA2-fast', finds: 'nothing', own: {} },
  {
    ...{ name: 'fal', kind: 'fal', model: 'vidA2-pro', finds: 'its webhook' },
    own: { webhooks: true, jwksUrl: `${vendor.url}/.well-known/jwks.json` },
  },
  { name: 'replicate', kind: 'replicate', model: 'vidA3', finds: 'nothing', own: {} },
  {
    ...{ name: 'ai-sdk', kind: 'ai-sdk', model: 'vidA3-fast', finds: 'nothing', path: '/ai-sdk/v1' },
    own: { package: '@ai-sdk/replicate' },
  },
]

/** The patterns of the vendors' model names. */
export const upstreamModelOf = ({ kind, model }: Adapter): string =>
  kind === 'fal' || kind === 'replicate' || kind === 'ai-sdk' ? `owner/${model}` : model
