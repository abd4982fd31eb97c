import { type Upstream, upstreamAt } from '../kit/http/upstream-http.ts'
import { ProviderFailure } from '../port/failure.ts'
import { failureOfGemini } from './gemini-failure.ts'
import { serviceAccountTokens } from './service-account.ts'

export const developerUrl = 'https://generativelanguage.googleapis.com'

export interface GeminiSettings {
  /** With or without the version at the end. */
  baseUrl: string
  /** For the enterprise API an access token or the JSON of a service account. */
  apiKey: string | undefined
  api: 'developer' | 'enterprise'
  /** For the enterprise API. */
  project?: string | undefined
  location: string
  connections?: number | undefined
  traceparent?: boolean | undefined
  resultOrigins?: string[] | undefined
}

/** The parts shared by video and speech. */
export interface GeminiApi {
  upstream: Upstream
  /** The host of the calls. */
  host: string
  /** The path of a method of a model. */
  pathOf: (model: string, verb: string) => string
  /** The path of the list of models. */
  modelsPath: () => string
  /** Additional headers of a call. */
  authorization: (signal: AbortSignal) => Promise<Record<string, string>>
}

export function geminiApi(settings: GeminiSettings): GeminiApi {
  const { api, apiKey, connections, traceparent, resultOrigins } = settings
  const common = { connections, traceparent, resultOrigins, failureOf: failureOfGemini }
  if (api === 'developer') {
    return {
      host: new URL(settings.baseUrl).host,
      upstream: upstreamAt({
        ...common,
        baseUrl: settings.baseUrl.replace(/\/v1(beta)?\/*$/, ''),
        credential: apiKey === undefined ? {} : { 'x-goog-api-key': apiKey },
      }),
      pathOf: (model, verb) => `/v1beta/models/${nameOf(model)}:${verb}`,
      modelsPath: () => '/v1beta/models',
      authorization: async () => ({}),
    }
  }
  const isAccount = apiKey?.trimStart().startsWith('{') === true
  const tokens = isAccount ? serviceAccountTokens(apiKey) : undefined
  const place = () => {
    const { project, location } = settings
    if (project === undefined) {
      const message = 'the enterprise API is asked on behalf of a project: set project for this provider'
      throw new ProviderFailure('rejected', message, { code: 'upstream_error' })
    }
    return `projects/${encodeURIComponent(project)}/locations/${encodeURIComponent(location)}`
  }
  return {
    host: new URL(enterpriseUrl(settings)).host,
    upstream: upstreamAt({
      ...common,
      baseUrl: enterpriseUrl(settings).replace(/\/v1\/*$/, ''),
      ...(!isAccount && { apiKey }),
    }),
    pathOf: (model, verb) => `/v1/${place()}/publishers/google/models/${nameOf(model)}:${verb}`,
    modelsPath: () => `/v1/${place()}/models`,
    authorization: async (signal) =>
      tokens === undefined ? {} : { authorization: `Bearer ${await tokens(signal)}` },
  }
}

function nameOf(model: string): string {
  return encodeURIComponent(model.replace(/^(publishers\/google\/)?models\//, ''))
}

/** The enterprise API has one URL per location, unless a base URL is configured. */
function enterpriseUrl({ baseUrl, location }: GeminiSettings): string {
  if (baseUrl !== developerUrl) return baseUrl
  const region = location === 'global' ? '' : `${encodeURIComponent(location)}-`
  return `https://${region}aiplatform.googleapis.com`
}
