import type { SpeechFormat } from '@kinora/contract/operations/audio'

/** Bytes per second of speech: the highest among vendors, so that the charge is rather too low than too high. */
const bytesPerSecond: Record<SpeechFormat, number> = {
  mp3: 20_000,
  opus: 8_000,
  aac: 16_000,
  flac: 32_000,
  wav: 48_000,
  pcm: 48_000,
}
const charactersPerSecond = 15

/** A character of these scripts is at least a syllable and takes about as long as three letters. */
const isDense = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u

const usualSeconds = (input: string, speed: number): number => {
  let letters = 0
  for (const character of input) letters += isDense.test(character) ? 3 : 1
  return letters / charactersPerSecond / speed
}

/**
 * The share of an interrupted speech that was sent, in tenths, rounded up, at most 1. The full duration is unknown, so it
 * is estimated from the length of the text.
 */
export const shareSent = (
  { input, speed, format }: { input: string; speed: number; format: SpeechFormat },
  sentBytes: number,
): number => {
  const wholeBytes = usualSeconds(input, speed) * bytesPerSecond[format]
  return Math.min(1, Math.ceil((10 * sentBytes) / wholeBytes) / 10)
}
