const emoji =
  /(?![©®™])[\p{Extended_Pictographic}\p{Regional_Indicator}\p{Emoji_Modifier}]\u200D?|\uFE0F|\u20E3/gu
/** Control characters, some of which are commands to espeak-ng. */
const control = /(?![\n\t])\p{Cc}/gu
/** espeak-ng reads text in these brackets as phonemes. */
const phonemeBracket = /\[(?=\[)/gu
/**
 * Letters and digits of other widths and styles, such as 𝗯𝗼𝗹𝗱 and ｗｉｄｅ; raised and lowered digits are read as they are. Not
 * the micro sign, which would become a Greek letter, nor the one letter that would become eighteen.
 */
const styled = /(?![\u00B5\uFDFA])[\p{L}\p{Nl}\p{Nd}①-⓿]/gu
/** Latin letters that espeak-ng reads by their code in English, which makes it spell the whole word. */
const accented = /(?![\0-\u017F])\p{Script=Latin}/gu

/** The speakable part of a text: no emoji, no engine commands, and letters in their plain form. */
export function spokenText(input: string): string {
  return input
    .toWellFormed()
    .replaceAll(control, ' ')
    .replaceAll(emoji, ' ')
    .replaceAll(phonemeBracket, '[ ')
    .normalize('NFC')
    .replaceAll(styled, (letter) => letter.normalize('NFKC'))
    .replaceAll(accented, (letter) => letter.normalize('NFD').replaceAll(/\p{M}/gu, ''))
    .replaceAll('ı', 'i')
}

export function hasWords(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text)
}
