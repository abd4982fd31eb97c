/** Languages that the models recognize, by their codes. */
import { locale } from '../../i18n/language.ts'

const codes =
  'af ar az be bg bs ca cs cy da de el en es et fa fi fr gl he hi hr hu hy id is it ja kk kn ko lt lv mi mk mr ms ne nl no pl pt ro ru sk sl sr sv sw ta th tl tr uk ur vi zh'

const names = new Intl.DisplayNames([locale], { type: 'language' })

export const languageOptions = codes
  .split(' ')
  .map((code) => ({ value: code, label: names.of(code) ?? code }))
  .toSorted((one, other) => one.label.localeCompare(other.label, locale))
