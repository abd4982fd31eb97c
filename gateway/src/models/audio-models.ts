import { active, type AudioModel } from './model.ts'

const created = 1_765_756_800
const recognition = ['/v1/audio/transcriptions', '/v1/audio/translations']

export const audioModels: AudioModel[] = [
  { ...active, kind: 'transcription', id: 'asr-1', created, endpoints: recognition },
  { ...active, kind: 'transcription', id: 'asr-large-v3', created, endpoints: recognition },
  { ...active, kind: 'transcription', id: 'asr-large-v3-turbo', created, endpoints: recognition },
  {
    ...active,
    kind: 'transcription',
    id: 'chat-4o-mini-transcribe',
    created,
    endpoints: ['/v1/audio/transcriptions'],
    answersJsonOnly: true,
  },
  {
    ...active,
    kind: 'transcription',
    id: 'chat-4o-transcribe',
    created,
    endpoints: ['/v1/audio/transcriptions'],
    answersJsonOnly: true,
  },
  {
    ...active,
    kind: 'speech',
    id: 'chat-4o-mini-tts-2025-12-15',
    created,
    endpoints: ['/v1/audio/speech'],
    voices: ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer'],
  },
  {
    ...active,
    kind: 'speech',
    id: 'ttsB-3.1-flash-tts-preview',
    created,
    endpoints: ['/v1/audio/speech'],
    voices: ['Aoede', 'Charon', 'Fenrir', 'Kore', 'Puck'],
  },
  { ...active, kind: 'chat', id: 'chat-4o-audio-preview', created, endpoints: ['/v1/chat/completions'] },
]
