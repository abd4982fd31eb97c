import { active, type AudioModel, type TranscriptionModel } from './model.ts'

const created = 1_765_756_800

const recognition = (
  id: string,
  pricePerMinuteMicros: number,
  { answersJsonOnly }: { answersJsonOnly: boolean },
): TranscriptionModel => ({
  ...active,
  kind: 'transcription',
  id,
  created,
  endpoints: [
    '/v1/audio/transcriptions',
    // Models that only support JSON do not translate either.
    ...(answersJsonOnly ? [] : ['/v1/audio/translations']),
    '/v1/audio/transcription-tasks',
  ],
  answersJsonOnly,
  pricePerMinuteMicros,
})

const voicesA = ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer']
const voicesB = ['Aoede', 'Charon', 'Fenrir', 'Kore', 'Puck']

export const audioModels: AudioModel[] = [
  recognition('asr-1', 6_000, { answersJsonOnly: false }),
  recognition('asr-large-v3', 6_000, { answersJsonOnly: false }),
  recognition('asr-large-v3-turbo', 3_000, { answersJsonOnly: false }),
  recognition('chat-4o-mini-transcribe', 3_000, { answersJsonOnly: true }),
  recognition('chat-4o-transcribe', 6_000, { answersJsonOnly: true }),
  {
    ...active,
    kind: 'speech',
    id: 'chat-4o-mini-tts-2025-12-15',
    created,
    endpoints: ['/v1/audio/speech'],
    voices: voicesA,
    followsInstructions: true,
    pricePerMillionCharactersMicros: 15_000_000,
  },
  {
    ...active,
    kind: 'speech',
    id: 'ttsB-3.1-flash-tts-preview',
    created,
    endpoints: ['/v1/audio/speech'],
    voices: voicesB,
    followsInstructions: false,
    pricePerMillionCharactersMicros: 20_000_000,
  },
  {
    ...active,
    kind: 'chat',
    id: 'chat-4o-audio-preview',
    created,
    endpoints: ['/v1/chat/completions'],
    voices: voicesA,
    contextTokens: 128_000,
    outputTokensMax: 16_384,
    outputTokensDefault: 2_048,
    audioTokensPerSecond: 10,
    prices: {
      textInputMicros: 2_500_000,
      audioInputMicros: 40_000_000,
      textOutputMicros: 10_000_000,
      audioOutputMicros: 80_000_000,
    },
  },
]
