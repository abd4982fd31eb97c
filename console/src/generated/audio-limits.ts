// Generated from the contract by `npm run generate`. Do not edit.
export const speechCharactersMax = 4096
export const speechFormats = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const
export const speechSpeed = { min: 0.25, max: 4 } as const
export const instructionsCharactersMax = 4096
export const transcriptionPromptCharactersMax = 10000
export const recordingBytesMax = 26214400
export const taskRecordingBytesMax = 1073741824
