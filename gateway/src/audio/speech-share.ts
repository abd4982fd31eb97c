import type { SpeechFormat } from '@kinora/contract/operations/audio'

/** What a second of speech has. Where vendors differ the most counts, so that rather less is charged than more. */
const bytesPerSecond: Record<SpeechFormat, number> = {
  mp3: 20_000,
  opus: 8_000,
  aac: 16_000,
  flac: 32_000,
  wav: 48_000,
  pcm: 48_000,
}
const charactersPerSecond = 15

/** One such character is a syllable or more, and takes as long to say as three letters. */
const isDense = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u

const usualSeconds = (input: string, speed: number): number => {
  let letters = 0
  for (const character of input) letters += isDense.test(character) ? 3 : 1
  return letters / charactersPerSecond / speed
}

/**
 * Which share of a speech that broke off was sent, in tenths and rounded up. How long it would have become nobody can
 * know, so it is what a text of this length usually becomes; a speech cannot be more than whole.
 */
export const shareSent = (
  { input, speed, format }: { input: string; speed: number; format: SpeechFormat },
  sentBytes: number,
): number => {
  const wholeBytes = usualSeconds(input, speed) * bytesPerSecond[format]
  return Math.min(1, Math.ceil((10 * sentBytes) / wholeBytes) / 10)
}
