/** Is told what the provider does, for metrics. */
export interface Observer {
  requestEnded: (endpoint: Endpoint, status: number, ms: number) => void
  renderEnded: (outcome: 'done' | 'failed' | 'stopped', ms: number) => void
  /** Takes the function that reads how many videos are rendered and wait. */
  renders: (read: () => { running: number; waiting: number }) => void
}

export type Endpoint =
  | 'jobs'
  | 'result'
  | 'speech'
  | 'transcriptions'
  | 'translations'
  | 'chat'
  | 'engines'
  | 'other'

const audioEndpoints: Record<string, Endpoint> = {
  '/v1/audio/speech': 'speech',
  '/v1/audio/transcriptions': 'transcriptions',
  '/v1/audio/translations': 'translations',
  '/v1/chat/completions': 'chat',
}

export const endpointOf = (path: string): Endpoint => {
  const [, area, , part] = path.split('/')
  if (area === 'jobs') return part === 'result' ? 'result' : 'jobs'
  return area === 'engines' ? 'engines' : (audioEndpoints[path] ?? 'other')
}
