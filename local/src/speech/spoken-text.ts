const emoji =
  /(?![©®™])[\p{Extended_Pictographic}\p{Regional_Indicator}\p{Emoji_Modifier}]|\u200D|\uFE0F|\u20E3/gu
/** Some of them are commands to espeak-ng. */
const control = /(?![\n\t])\p{Cc}/gu
/** Text in such brackets is taken for phonemes by espeak-ng. */
const phonemeBracket = /\[(?=\[)/gu

/** What of a text is to be said: no pictures, nothing that an engine takes for a command. */
export function spokenText(input: string): string {
  return input.toWellFormed().replaceAll(control, ' ').replaceAll(emoji, ' ').replaceAll(phonemeBracket, '[ ')
}

export function hasWords(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text)
}
