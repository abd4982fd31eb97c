import recordedExamples from './examples.json' with { type: 'json' }

/** A request and its response from a real run. `npm run examples` records them. */
export interface Example {
  request: { parameters: Record<string, string>; contentType?: string; body?: unknown }
  response: { contentType: string; body: unknown }
}

export const examples: Record<string, Example> = recordedExamples
