/** The language of the console. Only the texts of one language are loaded, so a change reloads the page. */
export const languages = { en: 'English', zh: '简体中文' } as const
export type Language = keyof typeof languages

const storageKey = 'kinora-language'

const isLanguage = (value: string | null): value is Language =>
  value !== null && Object.hasOwn(languages, value)

const chooseLanguage = (): Language => {
  const stored = localStorage.getItem(storageKey)
  if (isLanguage(stored)) return stored
  return navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en'
}

export const language = chooseLanguage()

/** For `Intl`. */
export const locale =
  language === 'zh' ? 'zh-CN' : navigator.language.startsWith('en') ? navigator.language : 'en'

export const setLanguage = (chosen: Language): void => {
  localStorage.setItem(storageKey, chosen)
  location.reload()
}
