/** Vendors whose keys `kinora init` finds in the environment, by the variables that the vendors' own packages read. */

interface Vendor {
  variable: string
  /** The name of the provider in the file. */
  name: string
  provider: Record<string, string>
  /** What a model of the catalog is with this vendor. Without entries, the operator chooses among the vendor's models. */
  models: Record<string, string>
}

export const vendors: Vendor[] = [
  {
    variable: 'OPENAI_API_KEY',
    name: 'openai',
    provider: { kind: 'openai', baseUrl: 'https://api.openai.com/v1' },
    // No videos: this vendor ended its API for them in September 2026.
    models: {
      'asr-1': 'whisper-1',
      'chat-4o-transcribe': 'gpt-4o-transcribe',
      'chat-4o-mini-transcribe': 'gpt-4o-mini-transcribe',
      'chat-4o-mini-tts-2025-12-15': 'gpt-4o-mini-tts-2025-12-15',
      'chat-4o-audio-preview': 'gpt-4o-audio-preview',
    },
  },
  {
    variable: 'GEMINI_API_KEY',
    name: 'gemini',
    provider: { kind: 'gemini' },
    models: {},
  },
  { variable: 'FAL_KEY', name: 'fal', provider: { kind: 'fal' }, models: {} },
  { variable: 'REPLICATE_API_TOKEN', name: 'replicate', provider: { kind: 'replicate' }, models: {} },
]
