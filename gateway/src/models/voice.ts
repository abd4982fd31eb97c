import type { Voice } from './model.ts'

export const voiceNames = (voices: Voice[]): string[] => voices.map(({ name }) => name)
