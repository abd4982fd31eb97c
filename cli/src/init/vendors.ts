/** Vendors whose keys `kinora init` finds in the environment, by the variables that the vendors' own packages read. */

interface Vendor {
  variable: string
  /** The name of the provider in the file. */
  name: string
  provider: Record<string, string>
  /** What a model of the catalog is with this vendor. Without entries, the operator chooses among the vendor's models. */
  models: Record<string, { model: string; settings?: string }>
}

const soraSettings = 'seconds: [4, 8, 12], sizes: [720x1280, 1280x720]'

export const vendors: Vendor[] = [
  {
    variable: 'OPENAI_API_KEY',
    name: 'openai',
    provider: { kind: 'openai', baseUrl: 'https://api.openai.com/v1' },
    models: {
      'vidB-2': { model: 'sora-2', settings: soraSettings },
      'vidB-2-pro': { model: 'sora-2-pro', settings: soraSettings },
      'asr-1': { model: 'whisper-1' },
      'chat-4o-transcribe': { model: 'gpt-4o-transcribe' },
      'chat-4o-mini-transcribe': { model: 'gpt-4o-mini-transcribe' },
      'chat-4o-mini-tts-2025-12-15': { model: 'gpt-4o-mini-tts-2025-12-15' },
      'chat-4o-audio-preview': { model: 'gpt-4o-audio-preview' },
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
