// Generated from gateway/models.yaml by `npm run generate`. Do not edit.

/** A video model of the reference, or any other that the service has. */
export type KinoraVideoModelId =
  | 'vidA2'
  | 'vidA2-fast'
  | 'vidA2-pro'
  | 'vidA2-fast-frames'
  | 'vidA2-fast-components'
  | 'vidA3'
  | 'vidA3-fast'
  | 'vidA3-pro'
  | 'vidA3-pro-frames'
  | 'vidA3.1'
  | 'vidA3.1-fast'
  | 'vidA_3_1'
  | 'vidA_3_1-fast'
  | 'vidB-2'
  | 'vidB-2-pro'
  | (string & {})

/** A speech model of the reference, or any other that the service has. */
export type KinoraSpeechModelId =
  | 'chat-4o-mini-tts-2025-12-15'
  | 'ttsB-3.1-flash-tts-preview'
  | (string & {})

/** A transcription model of the reference, or any other that the service has. */
export type KinoraTranscriptionModelId =
  | 'asr-1'
  | 'asr-large-v3'
  | 'asr-large-v3-turbo'
  | 'chat-4o-mini-transcribe'
  | 'chat-4o-transcribe'
  | (string & {})
