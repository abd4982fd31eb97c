import { defineTexts } from '../i18n/texts.ts'

export const errorTexts = defineTexts<typeof import('./texts.en.ts').texts>({
  en: () => import('./texts.en.ts'),
  zh: () => import('./texts.zh.ts'),
})
