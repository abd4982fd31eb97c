import { defineTexts } from './texts.ts'

/** Texts of the shell and of the components that every screen uses. */
export const commonTexts = defineTexts<typeof import('./common.en.ts').texts>({
  en: () => import('./common.en.ts'),
  zh: () => import('./common.zh.ts'),
})
